#!/bin/sh
# Events, as `apppoolctl events` tells them.

# events [OPTION...]: without times and numbers of processes.
events() {
	ctl events "$@" | sed -E 's/^[^ ]* //; s/worker [a-z0-9]{8} /worker ID /
	    s/pid [0-9]+/pid N/; s,/[a-z0-9]{8}:,/ID:,'
}

# follow [OPTION...]: in the background; what comes is in $DIR/followed.
follow() {
	start_process "$APPPOOLCTL" -s "$DIR/control.sock" events -f "$@" \
	    >"$DIR/followed" 2>"$DIR/follow.err"
	FOLLOWER=$STARTED
}

followed() {
	grep -qF -e "$1" "$DIR/followed"
}

testALifeIsToldFromTheStartToTheReasonOfItsEnd() {
	starts 'max_processes = 1 max_requests = 1 restart_delay = 10ms' app web
	first=$(status apps web workers 0 id)
	web hello >/dev/null
	await status_is 1 apps web exits max_requests
	# The successor may be started before or after its end.
	assertEquals "exit     web: worker ID (pid N) exited with status 0 \
(max_requests)
ready    web: ready, 1 of at most 1 processes
spawn    web: worker ID (pid N) started" "$(events web | sort -u)"
	assertEquals "spawn - exit max_requests" "$(ctl -j events web |
	    "$PYTHON" -c '
import json, sys
told = [json.loads(line) for line in sys.stdin]
print(*(word for e in told if e["id"] == sys.argv[1]
        for word in (e["event"], e["reason"] or "-")))' "$first")"
}

testEventsAreTheLinesOfTheLogAtAnyLevel() {
	app web </dev/null | conf
	echo 'log_level = error' >>"$DIR/pool.conf"
	pool_start
	assertFalse 'the log has it' "said 'web: ready'"
	assertContains "$(events)" 'ready    web: ready, 1 of at most 8'
	assertContains "$(events -n 100)" "start    apppoold"
}

testWhatWorkersSayIsAmongTheEvents() {
	starts '' app web --say 'EVENT the cache is warm' --at 1
	web hello >/dev/null
	await said 'the cache is warm'
	assertContains "$(events web)" 'worker   web/ID: the cache is warm'
}

testFailuresRefusalsReloadsAndCommandsAreEvents() {
	{
		app web <<-EOF
		max_processes = 1
		max_queue = 0
		on_full = close
		EOF
		app bad --print-error 'no database' --exit-at-once 3 <<-EOF
		start_limit = 1
		EOF
	} | conf
	pool_run
	await status_is failed apps bad state
	hold_at busy
	web hello >/dev/null 2>&1
	open_gate busy
	behind
	ctl reload >/dev/null
	events >"$DIR/events"
	for each in \
	    'refusal  web: max_queue (0) is reached with 1 of 1 processes' \
	    'failure  bad: failed: exited with status 3 before it was ready: no database' \
	    'command  control: reload, by uid' \
	    "reload   $DIR/pool.conf: reloaded"; do
		assertTrue "$each" "grep -qF '$each' '$DIR/events'"
	done
}

testCommandsAreAmongTheEventsOfTheAppThatTheyChange() {
	{
		app web </dev/null
		app shop </dev/null
	} | conf
	pool_start
	ctl resize web 1 2 >/dev/null
	ctl detach "$(status apps web workers 0 id)" >/dev/null
	ctl restart web shop >/dev/null
	assertEquals 'command  control: resize web 1 2
command  control: detach ID' "$(events web -n 100 |
	    sed -n '/^command/ { s/, by.*//; s/detach .*/detach ID/; p; }')"
	assertNotContains "$(events shop -n 100)" 'command'
	assertContains "$(events -n 100)" 'control: restart web shop, by'
}

testAFollowerSeesWhatHappensUntilTheDaemonEnds() {
	starts 'restart_delay = 10ms' app web
	follow -n 1
	await followed 'ready    web: ready'
	web 'exit 3' >/dev/null 2>&1
	await followed 'exited with status 3'
	await status_is 1 apps web idle
	pool_stop
	finish "$FOLLOWER"
	assertEquals 1 "$RC"
	assertEquals 'apppoolctl: the daemon has stopped' \
	    "$(cat "$DIR/follow.err")"
	assertTrue 'the last event is there' "followed '(shutdown)'"
}

. tests/e2e/lib.sh
