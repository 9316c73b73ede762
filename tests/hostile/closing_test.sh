#!/bin/sh
# Connections that are refused while something lies in them whose last close
# takes long.

# refusing [OPTION...]: app evil, which never has room for a second client.
refusing() {
	printf '%s\n' 'max_processes = 1' 'on_full = close' \
	    'queue_timeout = 100ms' "$@" | app evil
}

# smuggle COUNT WHAT: so many clients of the kind, whose descriptors are closed
# as soon as they are refused.
smuggle() {
	smugglers=
	for _ in $(seq "$1"); do
		start_process "$BUILD/tests/hostile/smuggler" "$2" \
		    "$DIR/evil.sock" >>"$DIR/holders"
		smugglers="$smugglers $STARTED"
	done
	for smuggler in $smugglers; do
		finish "$smuggler"
	done
}

# Ends the children: no process in state D ends otherwise.
thaw() {
	# shellcheck disable=SC2046 # numbers
	kill -KILL $(cat "$DIR/holders")
	rm "$DIR/holders"
}

# reload_in MILLISECONDS
reload_in() {
	begun=$(now_ms)
	ctl reload >"$DIR/told" 2>&1 || fail "$(cat "$DIR/told")"
	took=$(($(now_ms) - begun))
	assertTrue "a reload took $took ms" "[ $took -lt $(($1 * SLOW)) ]"
}

# has_descriptors COUNT PID
has_descriptors() {
	[ "$(fds "$2")" -eq "$1" ]
}

testConnectionsInConnectionsThatLingerHoldUpNobody() {
	{ app_b; refusing; } | conf
	pool_start
	hold_at work evil
	keeper=$(status apps evil keepers 0 pid)
	# Meanwhile the daemon has closed the connection of that question.
	quiet_b
	before=$(fds "$POOL")
	kept=$(fds "$keeper")
	watch_b 2
	smuggle 20 socket
	reload_in 1000
	assert_b_is_served
	await status_is 20 apps evil timed_out
	await has_descriptors "$before" "$POOL"
	await has_descriptors "$kept" "$keeper"
	assertTrue 'the keeper answers' 'keepers_answer true'
	open_gate work
	behind
	thaw
}

# A keeper waits at the first of them, and one more where a busy machine brings
# them in two batches; another one closes what comes then.
testAPipeInAConnectionThatSomebodyHoldsCostsItsAppAlone() {
	is_root || { skip 'userfaultfd is for root'; return; }
	{ app_b; refusing; } | conf
	pool_start
	hold_at work evil
	quiet_b
	watch_b 4
	smuggle 10 pipe
	await keepers_answer 'false.*'
	smuggle 5 socket
	await keepers_answer '(false ){1,2}true'
	reload_in 1000
	assert_b_is_served
	await status_is 15 apps evil timed_out
	keepers=$(status apps evil keepers '*' pid)
	begun=$(now_ms)
	open_gate work
	behind
	stops_well
	assertTrue 'it stops in time' "[ $(($(now_ms) - begun)) -lt $((2000 * SLOW)) ]"
	thaw
	await are_gone "$keepers"
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
