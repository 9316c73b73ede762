#!/bin/sh
# Dead processes, of which somebody holds what they have not received.

# freezing TIMES [OPTION...]: app evil; its first so many processes are those of
# freeze-channel.
freezing() {
	freezing_times=$1
	shift
	rm -rf "$DIR/frozen"
	mkdir -m 1777 "$DIR/frozen"
	printf '%s\n' 'user = root' 'kill_timeout = 500ms' \
	    'min_server_life = 0' "$@" |
	    hostile evil freeze-channel "$DIR/frozen" "$freezing_times" "$TWORKER"
}

# visit COUNT: so many clients of app evil.
visit() {
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/evil.sock" \
	    --timeout "$LIMIT" --count "$1" --together >"$DIR/visitors" 2>&1
	VISITORS=$STARTED
}

# retake_web: a connection that a process of app web has not received when it
# is killed is served by the other one; the keeper may be at app evil for a second
# before.
retake_web() {
	first=$(pid_of "$(web)")
	await status_is 0 apps web sessions
	pause_process "$first"
	ask_behind hello
	await status_is 1 apps web active
	begun=$(now_ms)
	kill -KILL "$first"
	behind
	assertEquals "$ANSWER" 0 "$RC"
	took=$(($(now_ms) - begun))
	assertTrue "took $took ms" "[ $took -lt $((2000 * SLOW)) ]"
}

# A keeper is asked, waits for a second, and another one takes over.
testTakingBackInOneAppWaitsForNoOther() {
	is_root || { skip 'userfaultfd is for root'; return; }
	{
		app_b
		app web <<-EOF
		min_processes = 2
		max_processes = 2
		output = null
		EOF
		freezing 2 'concurrency = 2' 'output = null' \
		    'min_processes = 2' 'max_processes = 2' \
		    'restart_delay = 10ms'
	} | conf
	pool_start
	quiet_b
	watch_b 3
	visit 4
	await keepers_answer 'false true'
	retake_web
	await has_said 2 'what it left unread could not be taken back'
	assert_b_is_served
	await status_is 2 apps evil idle
	assertContains "$(ask "unix:$DIR/evil.sock")" hello
	finish "$VISITORS"
	await status_is 4 apps evil lost
	assert_accounts evil
	keepers=$(status apps evil keepers '*' pid)
	stops_within 2000
	end_pages
	await are_gone "$keepers"
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
