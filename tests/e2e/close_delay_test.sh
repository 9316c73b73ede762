#!/bin/sh
# An app that is about to close serves clients for close_delay, and is not ready.

DELAY=6		# seconds: longer than commands take on a loaded machine

# closes_after TIME [OPTION...]: app web, with that close_delay.
closes_after() {
	closes_delay=$1
	shift
	starts "close_delay = $closes_delay $*" with 'stop_timeout = 2h' app web
}

is_refused() {
	"$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" --timeout 1 2>&1 |
	    grep -q refused
}

# assert_serves STATE: the app, which is not ready.
assert_serves() {
	await status_is "$1 false" apps web state,ready
	assertContains "$(web)" hello
	assertFalse 'it is healthy' "ctl health web 2>'$DIR/why'"
	assertContains "$(cat "$DIR/why")" "${2:-web is $1}"
	assertTrue 'it is not alive' 'ctl health --alive web'
	assertTrue 'closing_in' "[ $(status apps web closing_in | cut -d. -f1) -ge 0 ]"
}

testClientsAreServedAfterSigtermUntilCloseDelayIsOver() {
	closes_after "${DELAY}s"
	assertEquals 'true null' "$(status apps web ready,closing_in)"
	kill -TERM "$POOL"
	await status_is stopping state
	assert_serves stopping 'the daemon is stopping'
	occupy late
	await is_refused
	dismiss late
	assertContains "$ANSWERS" hello
	ends_well
	assertTrue 'not told' "said 'clients are accepted for $DELAY s'"
}

testADeadProcessIsReplacedDuringCloseDelay() {
	closes_after 1h
	kill -TERM "$POOL"
	await status_is stopping state
	kill -KILL "$(status apps web workers 0 pid)"
	await status_is 2 apps web spawned
	assertContains "$(web)" hello
	pool_stop INT
}

stops_during_it() {
	closes_after 1h
	kill -TERM "$POOL"
	await status_is stopping state
	kill -"$1" "$POOL"
	ends_well
	await no_leftovers
}

testASecondSignalDuringCloseDelayStopsNow() {
	each stops_during_it <<-'END'
	TERM
	QUIT
	INT
	END
}

testStopTimeoutIncludesCloseDelay() {
	starts 'close_delay = 500ms kill_timeout = 100ms' \
	    with 'stop_timeout = 1s' app web
	ask_behind 'sleep 60s'
	stops_well
	assertTrue 'the session was not cut' "grep -q 'in a session of' '$DIR/log'"
}

testAllAppsStayOpenForTheLongestCloseDelay() {
	{
		echo 'stop_timeout = 2h'
		app other <<-EOF
		close_delay = 1h
		EOF
		app web </dev/null
	} | conf
	pool_start
	kill -TERM "$POOL"
	await status_is stopping state
	assert_serves stopping 'the daemon is stopping'
	pool_stop INT
}

# hold COMMAND: begins to hold the app; its number is $HOLD.
hold() {
	ctl "$1" web >"$DIR/held" 2>&1 &
	HOLD=$!
}

testADrainServesClientsUntilCloseDelayIsOver() {
	closes_after "${DELAY}s"
	hold drain
	assert_serves draining
	assertContains "$(ctl status web)" 'close_delay: accepts clients for another'
	wait "$HOLD"
	assertEquals 'web: drained, 1 process ended' "$(cat "$DIR/held")"
	assertEquals 'drained null' "$(status apps web state,closing_in)"
	ask_in_backlog
	ctl resume web >/dev/null
	behind
	assertContains "$ANSWER" hello
	pool_stop INT
}

# ask_in_backlog: a client of the drained app waits for its answer.
ask_in_backlog() {
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --timeout $((3 * LIMIT)) >"$DIR/behind" 2>&1
	BEHIND=$STARTED
	await status_is 1 apps web backlog
}

testResumeTakesADrainBackDuringCloseDelay() {
	closes_after 1h
	hold drain
	assert_serves draining
	assertEquals 'web: running, 1 process ready' "$(ctl resume web)"
	wait "$HOLD"
	assertEquals 1 $?
	assertEquals 'apppoolctl: web runs again' "$(cat "$DIR/held")"
	assertEquals 'running true null' \
	    "$(status apps web state,ready,closing_in)"
	pool_stop INT
}

testADrainGoesOnThroughAnUpgradeOfTheDaemon() {
	closes_after 1h
	hold drain
	assert_serves draining
	assertContains "$(ctl upgrade 2>&1)" 'upgraded from'
	assert_serves draining
	assertEquals 'web: running, 1 process ready' "$(ctl resume web)"
	wait "$HOLD"
	assertEquals 'apppoolctl: web runs again' "$(cat "$DIR/held")"
	pool_stop INT
}

testAStoppedAppRefusesClientsAfterCloseDelay() {
	closes_after "${DELAY}s"
	hold stop
	assert_serves stopping
	assertContains "$(ctl resume web 2>&1)" \
	    'web is stopping, and not drained: start has it run again'
	assertEquals 'apppoolctl: web is stopping' "$(ctl drain web 2>&1)"
	await is_refused
	wait "$HOLD"
	assertEquals 'web: stopped, 1 process ended' "$(cat "$DIR/held")"
	ctl start web >/dev/null
	assertContains "$(web)" hello
	pool_stop INT
}

testAnAppToBeDrainedMayBeStoppedInstead() {
	closes_after "${DELAY}s"
	hold drain
	assert_serves draining
	assertEquals 'web: stopped, 1 process ended' "$(ctl stop web)"
	wait "$HOLD"
	assertContains "$(cat "$DIR/held")" 'web'
	pool_stop INT
}

testTheLongerCloseDelayCounts() {
	starts 'close_delay = 1s' with 'close_delay = 1h' \
	    with 'stop_timeout = 2h' app web
	hold drain
	assert_serves draining
	assertTrue "$(status apps web closing_in)" \
	    "[ $(status apps web closing_in | cut -d. -f1) -gt 3000 ]"
	pool_stop INT
}

testAReloadLeavesACloseDelayAlone() {
	closes_after 1h
	hold drain
	assert_serves draining
	echo 'log_level = debug' >>"$DIR/pool.conf"
	reload
	assert_serves draining
	pool_stop INT
}

testAnAppThatLeavesTheFileDuringCloseDelayLeavesAtOnce() {
	closes_after 1h
	hold drain
	assert_serves draining
	app other </dev/null | conf
	reload
	await said 'web: gone'
	pool_stop INT
}

testAJobRunsOnUntilCloseDelayIsOver() {
	starts "handoff = none close_delay = ${DELAY}s" job web /bin/sleep 600
	hold drain
	await status_is 'draining false 1' apps web state,ready,processes
	wait "$HOLD"
	assertEquals 'web: drained, 1 process ended' "$(cat "$DIR/held")"
	pool_stop INT
}

. tests/e2e/lib.sh
