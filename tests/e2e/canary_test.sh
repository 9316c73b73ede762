#!/bin/sh
# Broken deploys under a canary, and the way back from one.

# generation OPTION-OF-tworker...: the app with a canary and this program, whose
# clients come without a pause from the first generation on.
generation() {
	conf_of "min_processes = 4 max_processes = 4 canary = 1
	    canary_time = ${CANARY_TIME:-60s}
	    start_timeout = ${START_TIMEOUT:-60s}" \
	    app web "$@"
}

serving() {
	generation --text old --work 10ms
	pool_start
	old=$(status apps web workers '*' pid | sort)
	flood_behind --unix "$DIR/web.sock" \
	    --rate 100 --count 100000 --limit $((6 * LIMIT))
	await has_served 100
}

has_served() {
	[ "$(status apps web completed)" -ge "$1" ]
}

only_old_ones_are_left() {
	[ "$(status apps web workers '*' pid | sort)" = "$old" ]
}

# assert_stays REASON: reload fails for that reason, and the old processes serve.
assert_stays() {
	ctl reload >"$DIR/told" 2>&1
	assertEquals 'the status of reload' 1 $?
	assertContains "$(cat "$DIR/told")" "$1"
	assertContains "$(status apps web rollout reason)" "$1"
	await only_old_ones_are_left
	served=$(status apps web completed)
	await has_served $((served + 100))
	assertContains "$(web)" old
	kill -TERM "$FLOOD"
	assertEquals '0 0' "$(status apps web refused,timed_out)"
}

testADeployThatExitsAtOnceFailsNobody() {
	serving
	generation --exit-at-once 3
	assert_stays 'exited with status 3 before it was ready'
	assertEquals 0 "$(status apps web lost)"
}

testADeployThatIsNeverReadyFailsNobody() {
	serving
	START_TIMEOUT=300ms
	generation --never-ready
	START_TIMEOUT=
	assert_stays 'it was not ready within 0.3 s'
	assertEquals 0 "$(status apps web lost)"
}

testADeployThatCrashesInARequestFailsThatRequestAlone() {
	serving
	generation --crash-every 1
	assert_stays 'killed by signal 9'
	assertEquals 1 "$(status apps web lost)"
}

testADeployThatIsManyTimesSlowerFailsNobody() {
	serving
	generation --text slow --work 400ms
	assert_stays 'sessions of the new processes took longer than'
	assertEquals 0 "$(status apps web lost)"
	assertContains "$(ctl status -v)" 'generation 1 given up'
}

testAProcessThatEndsAfterAFailedCanaryHasASuccessorOfTheFormerProgram() {
	serving
	generation --text slow --work 400ms
	assert_stays 'took longer'
	assertEquals true "$(status apps web rolled_back)"
	for pid in $old; do
		kill -KILL "$pid"
	done
	for pid in $old; do
		await is_gone "$pid"
	done
	await status_is 4 apps web idle
	assertContains "$(web)" old
	assertContains "$(ctl rollback web 2>&1)" \
	    'web: there is nothing to go back to: no reload since the start'
}

# The program of the file is broken on disk after it has come into force.
testAFailedCanaryOfARestartKeepsTheProgramOfTheFile() {
	cp "$TWORKER" "$DIR/second"
	CANARY='canary = 1 canary_time = 100ms start_timeout = 300ms'
	starts "min_processes = 2 $CANARY" server web "$TWORKER" --text one
	reloads "min_processes = 2 $CANARY" server web "$DIR/second" --text two
	mv "$DIR/second" "$DIR/saved"
	printf '#!/bin/sh\nexit 3\n' >"$DIR/second"
	chmod +x "$DIR/second"
	ctl restart web >/dev/null 2>&1
	assertEquals 'the status of restart' 1 $?
	mv "$DIR/saved" "$DIR/second"
	ctl restart web >/dev/null
	assertContains "$(web)" two
}

testRollbackEndsACanaryAndTheReloadFails() {
	starts 'min_processes = 2 canary = 1 canary_time = 1h' app web --text one
	before=$(status apps web workers '*' pid | sort)
	conf_of 'min_processes = 2 canary = 1 canary_time = 1h' \
	    app web --text two
	start_process ctl reload >"$DIR/reloaded" 2>&1
	RELOAD=$STARTED
	await status_is 3 apps web idle
	assertContains "$(ctl status -v)" '; generation 1 replaces 2; canary 1, '
	assertEquals 1 "$(status apps web rollout canary)"
	left=$(status apps web rollout canary_left)
	assertTrue "$left s left" "[ ${left%.*} -ge 3500 ]"
	assertContains "$(ctl rollback web)" \
	    'web: rolled back, the new processes leave'
	finish "$RELOAD"
	assertEquals "$(cat "$DIR/reloaded")" 1 "$RC"
	assertContains "$(cat "$DIR/reloaded")" 'web: it was rolled back'
	await has_workers "$before"
	assertContains "$(web)" one
}

# has_workers PIDS: the app has these and no other, dead ones included.
has_workers() {
	[ "$(status apps web workers '*' pid | sort)" = "$1" ]
}

testRollbackDoesNotWaitForACanary() {
	starts 'min_processes = 2 canary = 1 canary_time = 1h' app web --text one
	reloads 'min_processes = 2 canary_time = 1h' app web --text two
	ctl rollback web >/dev/null
	assertContains "$(web)" one
}

testAGoodDeployReplacesAllWhenItsTimeIsOver() {
	CANARY_TIME=300ms
	serving
	generation --text new --work 10ms
	reload
	kill -TERM "$FLOOD"
	assertContains "$(web)" new
	await status_is '{"restarted": 4}' apps web exits
	assertEquals '0 0 0' "$(status apps web refused,timed_out,lost)"
	unset CANARY_TIME
}

testRollbackBringsTheFormerProgramUntilTheNextReload() {
	starts 'min_processes = 2' app web --text one
	reloads 'min_processes = 2' app web --text two
	assertContains "$(web)" two
	assertEquals 'web: rolled back, 2 processes replaced; the next reload '\
'brings what the file says: correct it first' "$(ctl rollback web)"
	assertContains "$(web)" one
	assertEquals true "$(status apps web rolled_back)"
	assertContains "$(ctl status -v)" '; rolled back until the next reload'
	ctl rollback web >/dev/null 2>&1
	assertEquals 'a second rollback' 1 $?
	reload
	assertContains "$(web)" two
	assertEquals false "$(status apps web rolled_back)"
}

testRollbackIsRefusedWhereTheAddressWasAnother() {
	starts '' app web
	conf_of '' app web --text two
	sed -i 's,web.sock,other.sock,' "$DIR/pool.conf"
	reload
	ctl rollback web >"$DIR/told" 2>&1
	assertEquals 1 $?
	assertContains "$(cat "$DIR/told")" 'at the same addresses'
}

. tests/e2e/lib.sh
