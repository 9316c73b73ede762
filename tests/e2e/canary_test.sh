#!/bin/sh
# Broken deploys under a canary, and the way back from one.

# generation OPTION-OF-tworker...: the app with a canary and this program, whose
# clients come without a pause from the first generation on.
generation() {
	conf_of "min_processes = 4 max_processes = 4 canary = 1
	    canary_time = ${CANARY_TIME:-60s} start_timeout = 300ms" \
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
	generation --never-ready
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
	for pid in $old; do
		kill -KILL "$pid"
	done
	for pid in $old; do
		await is_gone "$pid"
	done
	await status_is 4 apps web idle
	assertContains "$(web)" old
	assertEquals 'apppoolctl: web: no reload since the start, or since the '\
'latest rollback, has replaced its processes at the same addresses' \
	    "$(ctl rollback web 2>&1)"
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
	assertEquals 'web: restarted, 2 processes replaced' "$(ctl rollback web)"
	assertContains "$(web)" one
	ctl rollback web >/dev/null 2>&1
	assertEquals 'a second rollback' 1 $?
	reload
	assertContains "$(web)" two
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
