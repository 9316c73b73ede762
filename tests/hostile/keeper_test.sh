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

# Ends the pages: no process in state D ends otherwise.
thaw() {
	for file in "$DIR"/frozen/[0-9]*; do
		kill -KILL "$(cat "$file")"
	done
}

# has_printed TIMES: so many processes of app evil have said so in the log.
has_printed() {
	[ "$(grep -cE ' info evil/[a-z0-9]{8}: printed$' "$DIR/log")" -ge "$1" ]
}

# keepers_answer WORD...: whether each keeper of app evil answers, true or false.
keepers_answer() {
	[ "$(status apps evil keepers '*' answers | xargs)" = "$*" ]
}

testAFrozenOutputHoldsUpNoOtherAppAndIsReplaced() {
	is_root || { skip 'userfaultfd is for root'; return; }
	{ app_b; freezing 1 'min_processes = 2'; } | conf
	pool_start
	await has_printed 2
	quiet_b
	watch_b 3
	freeze
	await status_is 2 apps evil exits keeper
	assertTrue 'another keeper answers' 'keepers_answer false true'
	assertContains "$(ctl status evil)" \
	    "keeper (pid $(status apps evil keepers 0 pid)) does not answer"
	assert_b_is_served
	await has_printed 4
	assertContains "$(ask "unix:$DIR/evil.sock")" hello
	keepers=$(status apps evil keepers '*' pid)
	workers=$(status apps evil workers '*' pid)
	begun=$(now_ms)
	pool_stop
	assertEquals 0 "$RC"
	assertTrue 'it stops in time' "[ $(($(now_ms) - begun)) -lt $((2000 * SLOW)) ]"
	await are_gone "$workers"
	thaw
	await are_gone "$keepers"
}

# are_gone PIDS: whether none of them runs.
are_gone() {
	for gone in $1; do
		is_gone "$gone" || return 1
	done
}

testAKeeperEndsWithTheDaemon() {
	app_b | conf
	pool_start
	keepers=$(status apps b keepers 0 pid)
	kill -KILL "$POOL"
	await are_gone "$keepers"
}

testAFrozenKeeperAnswersAgain() {
	is_root || { skip 'userfaultfd is for root'; return; }
	freezing 1 'max_processes = 1' | conf
	pool_start
	freeze
	await said 'does not answer'
	keepers=$(status apps evil keepers 0 pid)
	thaw
	await status_is 1 apps evil exits keeper
	await are_gone "$keepers"
	await keepers_answer true
}

# A session keeps the process whose output it reads until then.
testAKeeperThatAnswersAgainMakesRoomForItsSuccessor() {
	app evil </dev/null | conf
	pool_start
	occupy long 1 evil
	await status_is 1 apps evil sessions
	keeper=$(status apps evil keepers 0 pid)
	pause_process "$keeper"
	await keepers_answer false true
	kill -CONT "$keeper"
	await keepers_answer true true
	dismiss long
	await is_gone "$keeper"
	await keepers_answer true
}

testAnAppWhoseKeepersAreAllFrozenHasFailed() {
	is_root || { skip 'userfaultfd is for root'; return; }
	freezing 9 'max_processes = 2' | conf
	pool_start
	freeze
	await status_is failed apps evil state
	assertTrue 'none answers' 'keepers_answer false false false'
	assertContains "$(status apps evil last_failure)" \
	    'none of its keepers answers'
	keepers=$(status apps evil keepers '*' pid)
	pool_stop
	assertEquals 0 "$RC"
	thaw
	await are_gone "$keepers"
}

testAKilledKeeperIsReplaced() {
	app web --print 'printed\n' </dev/null | conf
	pool_start
	keepers=$(status apps web keepers 0 pid)
	kill -KILL "$keepers"
	await status_is 1 apps web exits keeper
	await are_gone "$keepers"
	await status_is true apps web keepers 0 answers
	assertNotEquals "$keepers" "$(status apps web keepers 0 pid)"
	assertContains "$(web)" hello
}

testAKeeperHasAUserOfItsOwnAndNoOtherDescriptors() {
	is_root || { skip 'needs root'; return; }
	app web </dev/null | conf
	pool_start
	keeper=$(status apps web keepers 0 pid)
	grep -q '^Uid:.65519.65519.65519.65519$' "/proc/$keeper/status" ||
	    fail "$(cat "/proc/$keeper/status")"
	# 0, 1, 2, its socket, its epoll and both ends of two pipes.
	assertEquals 9 "$(fds "$keeper")"
}

# shellcheck source=tests/hostile/hostile_help.sh
. tests/hostile/hostile_help.sh
# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
