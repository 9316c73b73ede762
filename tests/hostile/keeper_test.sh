#!/bin/sh
# Processes that hold the lock of the pipe they print to.

# freezing TIMES [OPTION...]: app evil; its first so many processes freeze their
# output when `freeze` says so.
freezing() {
	freezing_times=$1
	shift
	rm -rf "$DIR/frozen"
	mkdir -m 1777 "$DIR/frozen"
	printf '%s\n' 'user = root' 'kill_timeout = 500ms' "$@" |
	    hostile evil freeze-output "$DIR/frozen" "$freezing_times" \
		"$TWORKER" --print 'printed\n'
}

freeze() {
	: >"$DIR/frozen/go"
}

# has_printed TIMES: so many processes of app evil have said so in the log.
has_printed() {
	[ "$(grep -cE ' info evil/[a-z0-9]{8}: printed$' "$DIR/log")" -ge "$1" ]
}

# app_late: an app whose first process, which prints, comes with its client.
app_late() {
	app late --print 'just a line\n' <<-EOF
	min_processes = 0
	EOF
}

# Only the process that has frozen it is replaced, and another app's line comes
# when the next keeper has taken over.
testAFrozenOutputHoldsUpNoOtherAppAndIsReplaced() {
	is_root || { skip 'userfaultfd is for root'; return; }
	{ app_b; app_late; freezing 1 'min_processes = 2'; } | conf
	pool_start
	await has_printed 2
	quiet_b
	watch_b 3
	freeze
	begun=$(now_ms)
	ask "unix:$DIR/late.sock" >/dev/null
	await said 'just a line'
	took=$(($(now_ms) - begun))
	assertTrue "a line took $took ms" "[ $took -lt $((2500 * SLOW)) ]"
	await status_is 1 apps evil exits keeper
	assertTrue 'another keeper answers' "keepers_answer 'false true'"
	assertEquals true "$(status apps b keepers '*' answers)"
	assertContains "$(ctl status evil)" \
	    "keeper (pid $(status apps evil keepers 0 pid)) does not answer"
	assert_b_is_served
	await has_printed 3
	assertContains "$(ask "unix:$DIR/evil.sock")" hello
	assertEquals 2 "$(status apps b spawned)"
	keepers=$(status apps evil keepers '*' pid)
	workers=$(status apps evil workers '*' pid)
	stops_within 2000
	await are_gone "$workers"
	end_pages
	await are_gone "$keepers"
}

testAKeeperEndsWithTheDaemon() {
	app_b | conf
	pool_start
	keepers=$(status apps b keepers 0 pid)
	kill -KILL "$POOL"
	await are_gone "$keepers"
}

testAFrozenKeeperEndsWhenItCan() {
	is_root || { skip 'userfaultfd is for root'; return; }
	freezing 1 'max_processes = 1' | conf
	pool_start
	freeze
	await said 'does not answer'
	keeper=$(status apps evil keepers 0 pid)
	end_pages
	await is_gone "$keeper"
	await status_is 1 apps evil exits keeper
	await keepers_answer true
}

# The stall is seen when the keeper is to do something.
testAStoppedKeeperIsReplacedAndNoProcessWithIt() {
	{ app evil --print 'printed\n' </dev/null; app_late; } | conf
	pool_start
	keeper=$(status apps evil keepers 0 pid)
	pause_process "$keeper"
	ask "unix:$DIR/late.sock" >/dev/null
	await said 'just a line'
	await is_gone "$keeper"
	assertTrue 'another answers' 'keepers_answer true'
	assertEquals 1 "$(status apps evil spawned)"
}

testAnAppThatStallsEachKeeperHasFailedAndNoOther() {
	is_root || { skip 'userfaultfd is for root'; return; }
	{ app_late; freezing 9 'max_processes = 2'; } | conf
	pool_start
	freeze
	await status_is failed apps evil state
	assertTrue 'none is for it' "keepers_answer 'false false false'"
	assertContains "$(status apps evil last_failure)" \
	    'it has stalled the keeper again and again'
	ask "unix:$DIR/late.sock" >/dev/null
	await said 'just a line'
	keepers=$(status apps evil keepers '*' pid)
	stops_well
	end_pages
	await are_gone "$keepers"
}

testAKilledKeeperIsReplacedAndNoProcessWithIt() {
	{ app web --print 'printed\n' </dev/null; app_late; } | conf
	pool_start
	keeper=$(status apps web keepers 0 pid)
	kill -KILL "$keeper"
	await said "keeper (pid $keeper) died"
	ask "unix:$DIR/late.sock" >/dev/null
	await said 'just a line'
	assertNotEquals "$keeper" "$(status apps web keepers 0 pid)"
	assertContains "$(web)" hello
	assertEquals 1 "$(status apps web spawned)"
}

testAKeeperHasAUserOfItsOwnAndNoOtherDescriptors() {
	is_root || { skip 'needs root'; return; }
	starts '' app web
	keeper=$(status apps web keepers 0 pid)
	uid=$(id -u _apppoold 2>/dev/null || echo 65530)
	assertEquals "Uid:	$uid	$uid	$uid	$uid" \
	    "$(grep '^Uid:' "/proc/$keeper/status")"
	# 0, 1, 2, its socket, its epoll and two pipes.
	assertEquals 7 "$(fds "$keeper")"
	# What it prints to standard error is nothing that it says to the daemon.
	assertEquals "$(readlink "/proc/$POOL/fd/2")" \
	    "$(readlink "/proc/$keeper/fd/2")"
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
