#!/bin/sh
# Health checks by `apppoolctl health`.

# health [APP]: what it says is in $SAID, its exit status in $RC.
health() {
	SAID=$(ctl health "$@" 2>&1)
	RC=$?
}

# is_well [APP]
is_well() {
	health "$@"
	[ "$RC" -eq 0 ]
}

# assert_unwell REASON [APP]: in one line.
assert_unwell() {
	wanted="apppoolctl: $1"
	shift
	health "$@"
	assertEquals "$wanted" "$SAID"
	assertEquals 1 "$RC"
}

testAppsWithAReadyProcessAreWell() {
	{
		app web </dev/null
		app shop </dev/null
	} | conf
	pool_start
	health
	assertEquals well "$SAID"
	assertEquals 0 "$RC"
	health web
	assertEquals 0 "$RC"
	assertEquals '{"message":"well"}' "$(ctl -j health)"
	assert_unwell 'no app wep; is web meant?' wep
}

testAFailedAppIsNotWellAndOthersAre() {
	{
		app web </dev/null
		app bad --print-error 'no database' --exit-at-once 3 <<-EOF
		start_limit = 1
		EOF
	} | conf
	pool_run
	await status_is failed apps bad state
	assert_unwell "bad has failed: $(status apps bad last_failure)"
	assertContains "$SAID" 'no database'
	assert_unwell "$(echo "$SAID" | sed 's/^apppoolctl: //')" bad
	await is_well web
}

testAnAppWithoutAReadyProcessIsNotWell() {
	{
		echo 'stop_timeout = 1s'
		app web </dev/null
		server slow /bin/sleep 600 </dev/null
		app lazy <<-EOF
		min_processes = 0
		EOF
	} | conf
	pool_run
	assert_unwell 'slow has no ready process' slow
	await is_well web
	assert_unwell 'slow has no ready process'
	health lazy
	assertEquals 0 "$RC"
}

testAnAppWithoutAllOfItsMinimumStarts() {
	{
		echo 'stop_timeout = 1s'
		# shellcheck disable=SC2016 # the inner shell's
		server web /bin/sh -c '[ $0 = 0 ] && exec $1; exec sleep 600' \
		    '{slot}' "$TWORKER" <<-EOF
		min_processes = 2
		EOF
	} | conf
	pool_run
	await status_is 1 apps web idle
	assert_unwell 'web is starting: 1 of 2 processes are ready'
	assertTrue 'it is not alive' 'ctl health --alive'
}

testAliveTellsOnlyOfFailedApps() {
	{
		app web </dev/null
		app bad --exit-at-once 3 <<-EOF
		start_limit = 1
		EOF
	} | conf
	pool_run
	await status_is failed apps bad state
	assert_unwell "bad has failed: $(status apps bad last_failure)" --alive
	assert_unwell "bad has failed: $(status apps bad last_failure)" \
	    --alive bad
	ctl drain web >/dev/null
	is_well --alive web || fail "$SAID"
	pause_process "$POOL"
	assert_unwell 'not within 5 s' --alive web
	kill -CONT "$POOL"
}

testADrainedOrStoppedAppIsNotWell() {
	starts '' app web
	ctl drain web >/dev/null
	assert_unwell 'web is drained'
	ctl resume web >/dev/null
	health
	assertEquals 0 "$RC"
	ctl stop web >/dev/null
	assert_unwell 'web is stopped' web
}

testADaemonThatStopsIsNotWell() {
	starts '' app web
	hold_at busy
	kill -TERM "$POOL"
	await said 'stopping, within'
	assert_unwell 'the daemon is stopping'
	open_gate busy
	behind
	ends_well
	health
	assertEquals 69 "$RC"
}

testADaemonThatDoesNotAnswerIsNotWellAfterFiveSeconds() {
	starts '' app web
	pause_process "$POOL"
	assert_unwell 'not within 5 s'
	kill -CONT "$POOL"
}

. tests/e2e/lib.sh
