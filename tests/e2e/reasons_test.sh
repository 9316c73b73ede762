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

have_reasons() {
	[ "$(log_reasons)" = "$1" ]
}

testTheLogGivesTheReasonsThatTheStatusCounts() {
	app web <<-EOF | conf
	max_processes = 1
	max_requests = 2
	restart_delay = 10ms
	min_server_life = 0
	kill_timeout = 1s
	EOF
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
}

. tests/e2e/lib.sh
