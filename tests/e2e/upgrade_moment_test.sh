#!/bin/sh
# An upgrade in the middle of something: what was under way goes on in the new
# program, or keeps the old one where it is.

. tests/e2e/upgrade_help.sh

testADaemonOnATerminalIsUpgradedAndEndsByCtrlC() {
	app web </dev/null | conf
	start_process "$PYTHON" tests/e2e/terminal.py leader "$DIR/log" \
	    "$DIR/bin/apppoold" -c "$DIR/pool.conf" >"$DIR/terminal"
	TERMINAL=$STARTED
	await grep -q . "$DIR/terminal"
	POOL=$(head -n 1 "$DIR/terminal")
	ctl wait >/dev/null
	input=$(readlink "/proc/$POOL/fd/0")
	upgrade
	assert_upgraded
	upgrade
	assert_upgraded
	assertContains "$input" /dev/
	assertEquals "$input" "$(readlink "/proc/$POOL/fd/0")"
	assertContains "$(web)" hello
	kill -USR2 "$TERMINAL"
	finish "$TERMINAL"
	assertTrue "said 'stopping now, within'"
	assertTrue 'the daemon has ended by itself' 'said stopped'
}

testADetachedProcessEndsItsSessionAndItsClientIsTold() {
	app web <<-EOF | conf
	min_processes = 2
	EOF
	upgradable
	hold_at busy
	worker=$(status apps web workers '*' id,state | sed -n 's/ active$//p')
	start_process ctl detach "$worker" >"$DIR/detached" 2>&1
	DETACH=$STARTED
	await status_is 1 apps web detached
	upgrade
	assert_upgraded
	assertEquals 1 "$(status apps web detached)"
	assertEquals 'its session' 1 "$(status apps web sessions)"
	open_gate busy
	behind
	assertContains "$ANSWER" hello
	finish "$DETACH"
	assertContains "$(cat "$DIR/detached")" \
	    'detached with 1 session; it has ended'
	assertEquals 1 "$(status apps web exits detached)"
	assert_none_lost
	assert_accounts web
	stops_well
}

testThePauseAfterFailuresGoesOn() {
	app bad --exit-at-once 3 <<-EOF | conf
	restart_delay = 1h
	EOF
	upgradable_but_not_ready
	await status_is 1 apps bad spawned
	await pauses_after_a_failure
	before=$(status apps bad backoff_until)
	upgrade
	assert_upgraded
	after=$(status apps bad backoff_until)
	assertTrue "$before, then $after" \
	    "[ ${after%.*} -gt 1000 -a ${after%.*} -le ${before%.*} ]"
	assertEquals 1 "$(status apps bad spawned)"
	assertContains "$(status apps bad last_failure)" 'exited with status 3'
	stops_well
}

upgradable_but_not_ready() {
	APPPOOLD=$DIR/bin/apppoold pool_run "$@"
}

pauses_after_a_failure() {
	backoff=$(status apps bad backoff_until)
	[ "${backoff%.*}" -gt 0 ]
}

testACanaryIsJudgedByTheNewProgram() {
	canary --text old
	upgradable
	canary --text new --crash-every 1
	start_process ctl reload >"$DIR/reloaded" 2>&1
	RELOAD=$STARTED
	await status_is 3 apps web idle
	upgrade
	assert_upgraded
	assertEquals 'two old ones and the canary' 3 "$(status apps web idle)"
	assertEquals rolling "$(status apps web rollout state)"
	await meets_the_canary
	finish "$RELOAD"
	assertEquals 1 "$RC"
	assertContains "$(cat "$DIR/reloaded")" 'killed by signal 9'
	await status_is 2 apps web idle
	assertContains "$(web)" old
	stops_well
}

canary() {
	app web "$@" <<-EOF | conf
	min_processes = 2
	max_processes = 2
	canary = 1
	canary_time = 60s
	EOF
}

# Whether a client has been lost, which the canary alone does.
meets_the_canary() {
	web >/dev/null 2>&1
	[ "$(status apps web lost)" -gt 0 ]
}

testClientsOfTheControlSocketThatWaitSeeNothingOfUpgrades() {
	rm -f "$DIR/start"
	{
		app late --print 'has begun\n' --start-when "$DIR/start" </dev/null
		app web </dev/null
	} | conf
	upgradable_but_not_ready
	for command in wait 'events -f' 'logs -f' 'drain web'; do
		# shellcheck disable=SC2086 # words
		[ "$command" != 'drain web' ] || hold_at busy
		# shellcheck disable=SC2086 # words
		start_process "$APPPOOLCTL" -s "$DIR/control.sock" $command \
		    >"$DIR/told.${command%% *}" 2>&1
		[ "$command" != wait ] || WAIT=$STARTED
	done
	DRAIN=$STARTED
	await status_is draining apps web state
	await grep -q . "$DIR/told.events"
	upgrade
	assert_upgraded
	upgrade
	assert_upgraded
	: >"$DIR/start"
	finish "$WAIT"
	assertEquals "$(cat "$DIR/told.wait")" 0 "$RC"
	open_gate busy
	behind
	assertContains "$ANSWER" hello
	finish "$DRAIN"
	assertEquals "$(cat "$DIR/told.drain")" 0 "$RC"
	await grep -q 'late: ready' "$DIR/told.events"
	assertEquals 'upgrades that events has told' 2 \
	    "$(grep -c 'upgraded from' "$DIR/told.events")"
	await grep -q 'has begun' "$DIR/told.logs"
	stops_well
}

testTwoUpgradesAtOnceAreOne() {
	app web </dev/null | conf
	upgradable
	rm -f "$DIR/go"
	replace_program <<-EOF
	#!/bin/sh
	until [ -e "$DIR/go" ]; do sleep 0.01; done
	exec $BIN/apppoold "\$@"
	EOF
	start_process ctl upgrade >"$DIR/first" 2>&1
	FIRST=$STARTED
	await has_said 1 'upgrading to'
	start_process ctl upgrade >"$DIR/second" 2>&1
	SECOND=$STARTED
	kill -USR2 "$POOL"
	await has_said 2 'control: upgrade'
	: >"$DIR/go"
	finish "$FIRST"
	assertEquals 0 "$RC"
	finish "$SECOND"
	assertEquals 0 "$RC"
	assertContains "$(cat "$DIR/first")" 'upgraded from'
	assertEquals "$(cat "$DIR/first")" "$(cat "$DIR/second")"
	assertEquals 1 "$(times_said 'upgraded from')"
	stops_well
}

testAnAppThatStopsIsStoppedByTheNewProgram() {
	app web </dev/null | conf
	upgradable
	hold_at busy
	start_process ctl stop web >"$DIR/told" 2>&1
	STOP=$STARTED
	await status_is stopping apps web state
	upgrade
	assert_upgraded
	assertEquals stopping "$(status apps web state)"
	open_gate busy
	behind
	assertContains "$ANSWER" hello
	finish "$STOP"
	assertEquals "$(cat "$DIR/told")" 0 "$RC"
	assertEquals stopped "$(status apps web state)"
	stops_well
}

testADaemonThatStopsIsNotUpgraded() {
	app web </dev/null | conf
	upgradable
	hold_at late
	kill -TERM "$POOL"
	await said 'stopping, within'
	kill -USR2 "$POOL"
	upgrade
	assertEquals 1 $?
	assertContains "$(cat "$DIR/upgrade")" 'the daemon is stopping'
	open_gate late
	behind
	assertContains "$ANSWER" hello
	ends_well
}

. tests/e2e/lib.sh
