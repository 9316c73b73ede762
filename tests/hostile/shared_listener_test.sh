#!/bin/sh
# Programs under handoff = listen share sockets with the daemon, and keep them
# when another handoff is configured.

file_setup() {
	PORT=$(free_port)
}

# evil HOW ADDRESS: the app of shared_listener at that address; what else it
# has comes from stdin.
evil() {
	{
		echo 'handoff = listen'
		echo 'ready_after = 50ms'
		echo 'restart_delay = 10ms'
		echo 'kill_timeout = 500ms'
		# The user must be allowed to use userfaultfd(2).
		if is_root; then echo 'user = "root"'; fi
		cat
	} | hostile evil shared_listener "$1" | at "$2"
}

# tamed ADDRESS: the same app, with another program and handoff.
tamed() {
	app evil </dev/null | at "$1"
}

# started_to WORD: its number, when it has said what it does.
started_to() {
	await grep -q "$1: [0-9]" "$DIR/log" >&2
	sed -n "s/.*$1: \([0-9]*\).*/\1/p" "$DIR/log" | tail -n 1
}

# can_hold: else the test is skipped.
can_hold() {
	"$BUILD/tests/hostile/shared_listener" hold 2>/dev/null 0<&- &
	PROBE=$!
	sleep 0.1
	kill -KILL "$PROBE" 2>/dev/null
	wait "$PROBE"
	[ $? -ne 77 ]
}

is_served() {
	ask "$1" 2>/dev/null | grep -q hello
}

# Clients come in bursts, so that the daemon accepts until there is none. A TCP
# address cannot be had while somebody who will not leave listens there.
testASocketThatAFormerWorkerMakesBlockHoldsUpNothing() {
	for address in "unix:$DIR/evil.sock" "127.0.0.1:$PORT"; do
		{ app_b; evil unblock "$address" </dev/null; } | conf
		pool_start
		quiet_once
		stranger=$(started_to unblocking)
		assertContains "$(ask "$address")" hello
		{ app_b; tamed "$address"; } | conf
		reload
		watch_b 1
		if [ "$address" != "unix:$DIR/evil.sock" ]; then
			await said "evil: processes of the app that had \
$address have it still: it is opened when they end"
			assertFalse "$stranger has ended" "is_gone $stranger"
			kill -KILL "$stranger"
			await is_served "$address"
		fi
		for i in 1 2 3 4 5 6 7 8; do
			timeout "$LIMIT" "$BUILD/tests/e2e/ask" --to "$address" \
			    --count 5 --together >"$DIR/asked" 2>&1
			assertEquals "$address, round $i" 0 $?
		done
		assert_b_is_served
		pool_stop
		kill -KILL "$stranger" 2>/dev/null
		: >"$DIR/log"
	done
}

testASocketWhoseLockAWorkerHoldsHoldsUpNoReload() {
	can_hold || { skip 'no userfaultfd'; return 0; }
	for address in "unix:$DIR/evil.sock" "127.0.0.1:$PORT"; do
		{ app_b; evil hold "$address" </dev/null; } | conf
		pool_start
		quiet_once
		started_to holding >/dev/null
		watch_b 1
		{ app_b; echo 'backlog = 7' | evil hold "$address"; } | conf
		reload
		{ app_b; tamed "$address"; } | conf
		reload
		assertContains "$address" "$(ask "$address")" hello
		assert_b_is_served
		pool_stop
		: >"$DIR/log"
	done
}

testASocketWhoseLockAWorkerHoldsHoldsUpNoStop() {
	can_hold || { skip 'no userfaultfd'; return 0; }
	for address in "unix:$DIR/evil.sock" "127.0.0.1:$PORT"; do
		{ app_b; evil hold "$address" </dev/null; } | conf
		pool_start
		started_to holding >/dev/null
		stops_within 4000
		: >"$DIR/log"
	done
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
