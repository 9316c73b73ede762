#!/bin/sh
# Why processes ended: the same word everywhere.

# log_reasons: how often the log gives each reason, a line "NUMBER WORD" each.
log_reasons() {
	sed -nE '/ (exited with status|killed by signal) /s/.*\(([a-z_]+)\)$/\1/p' \
	    "$DIR/log" | sort | uniq -c | awk '{ print $1, $2 }'
}

# status_reasons: the same of the status.
status_reasons() {
	ctl -j status web | "$PYTHON" -c '
import json, sys
exits = json.load(sys.stdin)["apps"][0]["exits"]
for reason in sorted(exits):
    print(exits[reason], reason)'
}

# event_reasons, metric_reasons: likewise.
event_reasons() {
	ctl -j events web -n 100 | "$PYTHON" -c '
import collections, json, sys
told = map(json.loads, sys.stdin)
ends = collections.Counter(e["reason"] for e in told if e["event"] == "exit")
for reason in sorted(ends):
    print(ends[reason], reason)'
}

metric_reasons() {
	ctl metrics | sed -nE 's/^apppool_processes_ended_total\{.*app="web".*\} /& /
	    s/.*reason="([a-z_]+)".*\}  ([1-9].*)$/\2 \1/p' | sort -k 2
}

have_reasons() {
	[ "$(log_reasons)" = "$1" ]
}

testLogEventsAndMetricsGiveTheReasonsThatTheStatusCounts() {
	conf_of 'max_processes = 1 max_requests = 2 restart_delay = 10ms
	    min_server_life = 0 kill_timeout = 1s' app web
	pool_start -v
	web 'exit 0' >/dev/null 2>&1
	web 'exit 3' >/dev/null 2>&1
	web 'kill 9' >/dev/null 2>&1
	web hello >/dev/null
	web hello >/dev/null
	await have_reasons '1 exit
1 failure
1 max_requests
1 signal'
	assertEquals "$(status_reasons)" "$(log_reasons)"
	assertEquals "$(event_reasons)" "$(log_reasons)"
	assertEquals "$(metric_reasons)" "$(log_reasons)"
}

# --- the last line on stderr --------------------------------------------

WHY='exited with status 3 before it was ready: cannot connect to database'

# complains [OPTION...]: the app bad, whose program says why it cannot start.
complains() {
	app bad --print 'starting\n' \
	    --print-error 'Traceback:\ncannot connect to database\n' \
	    --exit-at-once 3
}

testAFailureIsToldWithTheLastLineOnStderr() {
	begins 'start_limit = 2 restart_delay = 10ms' complains
	assertEquals 1 "$(ctl wait 2>"$DIR/wait" >&2; echo $?)"
	assertContains "$(cat "$DIR/wait")" "bad has failed: $WHY"
	assertEquals "$WHY" "$(status apps bad last_failure | cut -d';' -f1)"
	await said "error bad: failed: $WHY"
	assertEquals 2 "$(grep -c "warn bad: worker .* $WHY (failure)" "$DIR/log")"
}

testTheEndOfAProcessIsToldAfterAllThatItPrinted() {
	begins 'start_limit = 1 stderr_level = warn' complains
	await said 'error bad: failed'
	# Standard output has a pipe of its own, and no order with these.
	sed -n '/ info /d;/Traceback/,/failed:/{s/^[^ ]* //;s/ready:.*/ready/
s,bad/[a-z0-9]*,bad/ID,;s/worker.*pid [0-9]*/worker/;p;}' \
	    "$DIR/log" >"$DIR/order"
	assertEquals 'warn bad/ID: Traceback:
warn bad/ID: cannot connect to database
warn bad: worker) exited with status 3 before it was ready
error bad: failed: exited with status 3 before it was ready' \
	    "$(cat "$DIR/order")"
}

testACrashInASessionIsToldWithTheLastLineOnStderr() {
	starts 'restart_delay = 10ms' app web --print-error 'assertion failed'
	web 'kill 6' >/dev/null 2>&1
	await grep -qE "killed by signal 6 \(SIGABRT.*\) in a session of \
[0-9.]+ s: assertion failed \(signal\)$" \
	    "$DIR/log"
	assertContains "$(status apps web last_failure)" ': assertion failed'
}

testTheLastLineOnStderrIsNotBlankAndHasNoBlanksAroundIt() {
	begins 'start_limit = 1' app bad \
	    --print-error '\n\t the reason \r\n \t\n\n' --exit-at-once 3
	await status_is failed apps bad state
	assertEquals 'exited with status 3 before it was ready: the reason' \
	    "$(status apps bad last_failure | cut -d';' -f1)"
}

# Node prints this for a module that is missing.
testTheReasonStandsBeforeATraceAndTheVersionOfNode() {
	begins 'start_limit = 1' app bad --print-error \
	    'node:internal:1\n  throw err;\n\nError: no module\n    at a.js:1 {\n  code: 1\n}\n\nNode.js v20.1.0\n' \
	    --exit-at-once 1
	await status_is failed apps bad state
	assertEquals 'exited with status 1 before it was ready: Error: no module' \
	    "$(status apps bad last_failure | cut -d';' -f1)"
}

testTheLastOfMoreLinesThanAreLoggedIsTold() {
	printf '%s\n' 'seq 1 9000 >&2; echo "the reason" >&2; exit 3' \
	    >"$DIR/bad.sh"
	begins 'handoff = none start_limit = 1' job bad /bin/sh "$DIR/bad.sh"
	await status_is failed apps bad state
	assertContains "$(status apps bad last_failure)" ': the reason'
}

testAKeeperThatIsStuckHoldsUpNoRestart() {
	starts 'restart_delay = 10ms min_server_life = 0' \
	    app web --print-error 'what\n'
	keeper=$(status apps web keepers 0 pid)
	pause_process "$keeper"
	web 'exit 3' >/dev/null 2>&1
	await status_is 1 apps web exits failure
	await grep -q 'exited with status 3 in a session of [0-9.]* s: what (fail' \
	    "$DIR/log"
	kill -CONT "$keeper"
}

. tests/e2e/lib.sh
