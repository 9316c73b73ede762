#!/bin/sh
# The end of the daemon: gracefully, at once, or without any grace.

completed() {
	[ "$(status apps web completed)" -ge "$1" ]
}

# stop_under_load SIGNAL OPTION-OF-flood...: at 2,000 connects a second. Each
# client that was connected is answered, and after a refused one none is
# connected.
stop_under_load() {
	pool_start
	signal=$1
	shift
	flood_behind "$@" --rate $((2000 / SLOW)) \
	    --count 100000 --timeout 30 --stop-on-refused --max lost=0 \
	    --max late=0 --min refused=1
	await completed 500
	kill -"$signal" "$POOL"
	finish "$POOL" 30
	assertEquals 'exit status' 0 "$RC"
	finish "$FLOOD" 40
	assertEquals "$(cat "$DIR/flood")" 0 "$RC"
	await no_leftovers
}

# listens_at ADDRESS: app web, with as much work as it can do.
listens_at() {
	conf <<-EOF
	stop_timeout = 1m
	app "web" {
		listen = "$1"
		command = { "$TWORKER", "--work", "2ms" }
		min_processes = 8
		max_processes = 8
		max_queue = 500
	}
	EOF
}

testATcpClientConnectedAtSigtermIsAnswered() {
	port=$(free_port)
	listens_at "127.0.0.1:$port"
	stop_under_load TERM --tcp "127.0.0.1:$port"
}

testAUnixClientConnectedAtSigtermIsAnswered() {
	listens_at unix:web.sock
	stop_under_load TERM --unix "$DIR/web.sock"
	assertFalse 'the socket stays' "[ -e $DIR/web.sock ]"
}

testAUnixClientConnectedAtSigquitIsAnswered() {
	listens_at unix:web.sock
	stop_under_load QUIT --unix "$DIR/web.sock"
}

# The backlog has far more connections than the queue holds.
testAStopServesTheBacklog() {
	starts 'max_processes = 2 max_queue = 4' app web
	occupy all 100
	await status_is '2 4' apps web sessions,waiting
	kill -TERM "$POOL"
	await status_is stopping state
	dismiss all
	assertEquals 100 "$(echo "$ANSWERS" | grep -c hello)"
	ends_well
}

testAClientThatComesAfterSigtermIsRefused() {
	port=$(free_port)
	starts "listen += \"127.0.0.1:$port\"" app web
	occupy before
	await status_is 1 apps web sessions
	kill -TERM "$POOL"
	await is_refused "unix:$DIR/web.sock"
	await is_refused "127.0.0.1:$port"
	assertFalse 'the daemon did not wait for the session' "is_gone $POOL"
	dismiss before
	assertContains "$ANSWERS" hello
}

is_refused() {
	"$BUILD/tests/e2e/ask" --to "$1" --timeout 1 2>&1 | grep -q refused
}

# A worker ends on SIGTERM in the middle of its session.
testAStopSendsNoSignalToAProcessInASession() {
	starts '' app web
	occupy one
	await status_is 1 apps web sessions
	kill -TERM "$POOL"
	await status_is stopping state
	dismiss one
	assertContains "$ANSWERS" hello
	ends_well
}

# chain STOP_TIMEOUT: web needs php, which needs jobs.
chain() {
	{
		echo "stop_timeout = $1"
		app jobs </dev/null
		app php <<-EOF
		needs = jobs
		EOF
		app web <<-EOF
		needs = php
		kill_timeout = 200ms
		EOF
	} | conf
	pool_start
}

testAnAppServesUntilThoseThatNeedItHaveEnded() {
	chain 1m
	hold_at busy
	kill -TERM "$POOL"
	await is_refused "unix:$DIR/web.sock"
	assertContains "$(ask "unix:$DIR/php.sock")" hello
	hold_at later php
	open_gate busy
	await is_refused "unix:$DIR/php.sock"
	assertContains "$(ask "unix:$DIR/jobs.sock")" hello
	open_gate later
	ends_well
	behind
	assertEquals "$ANSWER" 0 "$RC"
}

testAnAppThatIsNeededEndsAtStopTimeout() {
	chain 1s
	ask_behind 'sleep 60s'
	ask_behind 'sleep 60s' php
	stops_well
	await no_leftovers
}

testAnAppThatIsNeededMayEndBeforeThoseThatNeedIt() {
	{
		echo 'stop_timeout = 2s'
		app php <<-EOF
		template = true
		kill_timeout = 1s
		EOF
		app web --ignore-stop --ignore-term <<-EOF
		needs = php
		kill_timeout = 1s
		EOF
	} | conf
	pool_start
	hold_at busy php
	kill -TERM "$POOL"
	await is_refused "unix:$DIR/php.sock"
	ends_well
	await no_leftovers
}

testASecondSignalEndsAppsThatAreNeeded() {
	chain 1m
	ask_behind 'sleep 60s'
	kill -TERM "$POOL"
	await is_refused "unix:$DIR/web.sock"
	stops_well
	await no_leftovers
}

testASessionIsCutShortAtStopTimeout() {
	starts 'stop_timeout = 1m kill_timeout = 200ms' \
	    with 'stop_timeout = 1s' app web
	ask_behind 'sleep 60s'
	from=$(now_ms)
	pool_stop
	took=$(($(now_ms) - from))
	assertEquals 0 "$RC"
	assertTrue "took $took ms" "[ $took -ge 700 ]"
	behind
	assertContains "$ANSWER" '0: '
	assertTrue 'it is not told' "grep -q 'in a session of' '$DIR/log'"
	await no_leftovers
}

testProcessesThatIgnoreEverythingAreKilledAtStopTimeout() {
	{
		echo 'stop_timeout = 1s'
		app web --ignore-stop --ignore-term --grandchildren 2 <<-EOF
		min_processes = 3
		stop_timeout = 1m
		kill_timeout = 300ms
		EOF
	} | conf
	pool_start
	stops_well
	await no_leftovers
}

# stops_now SIGNAL...: these end a session of minutes at once.
stops_now() {
	starts 'min_processes = 3 stop_timeout = 1h kill_timeout = 1m' \
	    with 'stop_timeout = 1h' app web
	ask_behind 'sleep 120s'
	for signal; do
		kill -"$signal" "$POOL"
		[ $# -eq 1 ] || await said 'stopping, within'
	done
	ends_well
	behind
	assertContains "$ANSWER" '0: '
	await no_leftovers
}

testSigintOrASecondSignalStopsNow() {
	each stops_now <<-'END'
	INT
	TERM TERM
	TERM INT
	END
}

testASecondSigintKillsAtOnce() {
	starts 'kill_timeout = 1h' app web --ignore-stop --ignore-term
	kill -INT "$POOL"
	await said 'stopping now, within 3600 s; the same signal again kills'
	kill -INT "$POOL"
	ends_well
	assertTrue 'it is not told' "said 'killing what is left'"
	await no_leftovers
}

testApppoolctlStopIsGraceful() {
	starts '' app web
	occupy one
	await status_is 1 apps web sessions
	ctl stop >/dev/null &
	stopping=$!
	await status_is stopping state
	dismiss one
	assertContains "$ANSWERS" hello
	wait "$stopping"
	assertEquals 'what the command says' 0 $?
	ends_well
}

testAStopDuringTheStartLeavesNoProcess() {
	conf_of 'min_processes = 8' app web --start-delay 200ms
	for delay in 0 0.01 0.02 0.05 0.1 0.2 0.25; do
		pool_run
		sleep "$delay"
		pool_stop INT
		assertEquals "after $delay s" 0 "$RC"
		await no_leftovers
	done
}

testASigtermDuringTheStartWaitsForNoStart() {
	begins 'min_processes = 4 start_timeout = 1h stop_timeout = 300ms' \
	    with 'stop_timeout = 1h' app web --never-ready
	stops_well
	await no_leftovers
}

testAStopRefusesClientsThatWaitForAProcessThatNeverComes() {
	begins 'kill_timeout = 200ms' \
	    with 'stop_timeout = 500ms' app web --never-ready
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    >"$DIR/asked" 2>&1
	asked=$STARTED
	await status_is 1 apps web waiting
	stops_well
	finish "$asked"
	assertEquals 1 "$RC"
}

testAKilledDaemonLeavesNoProcess() {
	{
		app web <<-EOF
		min_processes = 4
		EOF
		app other <<-EOF
		min_processes = 4
		EOF
	} | conf
	pool_start
	kill -KILL "$POOL"
	finish "$POOL"
	await no_leftovers
}

testADaemonStartsOnTheSocketsOfAKilledOne() {
	starts '' app web
	kill -KILL "$POOL"
	finish "$POOL"
	assertTrue 'no stale socket to be tried' "[ -S $DIR/web.sock ]"
	pool_start
	assertContains "$(web)" hello
}

testALivingDaemonKeepsItsSocket() {
	starts '' app web
	sed "s,control.sock,control2.sock," "$DIR/pool.conf" >"$DIR/two.conf"
	start_process "$APPPOOLD" -c "$DIR/two.conf" >"$DIR/second" 2>&1
	finish "$STARTED"
	assertEquals "$(cat "$DIR/second")" 73 "$RC"
	assertContains "$(cat "$DIR/second")" web.sock
	assertContains "$(web)" hello
}

. tests/e2e/lib.sh
