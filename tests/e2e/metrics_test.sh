#!/bin/sh
# Metrics: what Prometheus makes of them, whether they agree with the status,
# and the alerts and the dashboard that use them.

file_setup() {
	{
		echo "counter = { \"unix:$DIR/counter.sock\" }"
		app web <<-EOF
		min_processes = 2
		max_processes = 2
		max_queue = 5
		on_full = close
		limit = "local web 2 50 10"
		EOF
		app plain </dev/null
		app broken --exit-at-once 3 <<-EOF
		start_limit = 1
		EOF
		cat <<-EOF
		app "job" { handoff = none command = { "/bin/sleep", "1000" } }
		app "own" { handoff = listen listen = "unix:own.sock"
			command = { "/bin/sleep", "1000" } }
		EOF
	} | conf
	pool_run
	for name in web plain job own; do
		ctl wait "$name" >"$DIR/wait" 2>&1 ||
		    fail "$name is not ready: $(cat "$DIR/wait")"
	done
}

# metrics [OPTION]: the answer, into $DIR/metrics.
metrics() {
	ctl metrics "$@" >"$DIR/metrics" 2>"$DIR/error" || fail "$(cat "$DIR/error")"
}

# metric SAMPLE: its value.
metric() {
	awk -v name="$1" '$1 == name { print $2 }' "$DIR/metrics"
}

# promtool ARGUMENT...: 127 if there is none.
promtool() {
	for place in /usr/bin "$PWD/build/peers/usr/bin"; do
		if [ -x "$place/promtool" ]; then
			"$place/promtool" "$@"
			return
		fi
	done
	return 127
}

has_promtool() {
	promtool --version >/dev/null 2>&1 && return
	skip 'no promtool'
	return 1
}

# ---------------------------------------------------------------- format

# Text format 0.0.4: HELP and TYPE of a family once and before its samples, all
# of which stand together; types of that format alone.
testTheMetricsAreInTheTextFormatOfPrometheus() {
	metrics
	said=$(awk '
	$1 == "#" && $2 == "EOF" { next }
	$1 == "#" && $2 == "HELP" && NF > 3 && !($3 in helped) {
		helped[$3]; next }
	$1 == "#" && $2 == "TYPE" && ($3 in helped) && !($3 in typed) &&
	    $4 ~ /^(counter|gauge|histogram)$/ {
		name = $3; type = $4; typed[$3]; next }
	!/^[a-z_]+({[a-z]+="[^"]*"(,[a-z]+="[^"]*")*})? [-+0-9.einfINF]+$/ {
		print "no sample: " $0; next }
	{ sub(/[{ ].*/, "") }
	type == "histogram" { sub(/_(bucket|sum|count)$/, "") }
	$0 != name || (type == "counter") != /_total$/ {
		print "not of " name ": " $0 }' "$DIR/metrics")
	assertEquals '' "$said"
	assertNotEquals 0 "$(grep -c '^# TYPE.*counter$' "$DIR/metrics")"
}

testPromtoolFindsNoFaultWithTheMetrics() {
	has_promtool || return 0
	metrics
	said=$(promtool check metrics <"$DIR/metrics" 2>&1)
	assertEquals "$said" '0 ' "$? $said"
}

testOpenMetricsHasTheSameSamples() {
	metrics --openmetrics
	for format in openmetrics text; do
		sed 's/ [^ ]*$//; /^#/d' "$DIR/metrics" >"$DIR/$format"
		metrics
	done
	assertEquals '' "$(diff "$DIR/openmetrics" "$DIR/text")"
}

testTheControlSocketKnowsTwoFormatsOfMetrics() {
	assertContains "$(ctl metrics --openmetrics)" \
	    '# TYPE apppool_build info'
	said=$(ctl metrics openmetrics 2>&1)
	assertEquals "$said" 64 $?
	assertContains "$(ctl status --openmetrics 2>&1)" 'is for metrics'
}

testPrometheusReadsOpenMetrics() {
	has_promtool || return 0
	metrics --openmetrics
	# Of files it wants a time in each line.
	awk '!/^#/ { $0 = $0 " 1700000000" } { print }' "$DIR/metrics" \
	    >"$DIR/timed"
	said=$(promtool tsdb create-blocks-from openmetrics -q \
	    "$DIR/timed" "$DIR/blocks" 2>&1)
	assertEquals "$said" 0 $?
}

testEachUnitIsTheEndOfItsName() {
	metrics --openmetrics
	assertEquals '' "$(awk '$2 == "UNIT" && $3 !~ "_" $4 "$"' \
	    "$DIR/metrics")"
	assertNotEquals 0 "$(grep -c '^# UNIT' "$DIR/metrics")"
}

testTheLastLineTellsThatTheMetricsAreWhole() {
	for format in '' --openmetrics; do
		metrics $format
		assertEquals '# EOF' "$(tail -n 1 "$DIR/metrics")"
		assertEquals 1 "$(grep -c EOF "$DIR/metrics")"
	done
}

testNothingIsToldOfSingleProcesses() {
	metrics
	for id in $(status apps web workers '*' id); do
		assertNotContains "$(cat "$DIR/metrics")" "$id"
	done
}

testTheManualHasEachMetric() {
	metrics --openmetrics
	sed -n 's/^# TYPE apppool_\([^ ]*\).*/\1/p' "$DIR/metrics" >"$DIR/names"
	sed '/^\.Sh METRICS/,/^\.Sh SIM/!d' man/apppoolctl.8 >"$DIR/manual"
	while read -r name; do
		assertTrue "$name" "grep -qw '$name\(_info\)*' '$DIR/manual'"
	done <"$DIR/names"
}

testMetricsInJsonAreRefused() {
	said=$(ctl -j metrics 2>&1)
	assertEquals 1 $?
	assertContains "$said" 'metrics has no JSON; status -j has the same'
}

# ---------------------------------------------------------------- figures

# assert_metric SAMPLE KEY...: what status says.
assert_metric() {
	metric_name=$1
	shift
	assertEquals "$metric_name" "$(status "$@")" "$(metric "$metric_name")"
}

# Clients are served, two are in hands, five wait, and others are turned away.
testMetricsAgreeWithTheStatusUnderLoad() {
	for _ in 1 2 3 4 5; do
		web >/dev/null
	done
	occupy load 2
	await status_is '2 0' apps web sessions,waiting
	occupy more 5
	await status_is '2 5' apps web sessions,waiting
	for _ in 1 2 3; do
		web >/dev/null 2>&1
	done
	await status_is 3 apps web refused
	metrics
	for key in min_processes max_processes sessions; do
		assert_metric "apppool_$key{app=\"web\"}" apps web $key
	done
	for state in starting idle active detached retiring stopping stuck; do
		assert_metric "apppool_processes{app=\"web\",state=\"$state\"}" \
		    apps web $state
	done
	for outcome in completed refused timed_out abandoned lost; do
		assert_metric "apppool_connections_ended_total{app=\"web\",\
outcome=\"$outcome\"}" apps web $outcome
	done
	assert_metric 'apppool_connections_accepted_total{app="web"}' \
	    apps web accepted
	assert_metric 'apppool_connections_retaken_total{app="web"}' \
	    apps web retaken
	assert_metric 'apppool_waiting_connections{app="web"}' apps web waiting
	assert_metric 'apppool_max_queue_connections{app="web"}' \
	    apps web max_queue
	assert_metric 'apppool_processes_started_total{app="web"}' \
	    apps web spawned
	assert_metric 'apppool_limit_locks{app="web"}' apps web limit held
	assert_metric 'apppool_limit_requests_total{app="web",answer="granted"}' \
	    apps web limit granted
	assert_metric apppool_daemon_max_processes max_processes
	assert_metric apppool_poolcounter_max_clients counter max_clients
	assertTrue 'the first has waited' \
	    "[ '$(metric 'apppool_oldest_wait_seconds{app="web"}')' != 0 ]"
	dismiss load
	dismiss more
}

# Each connection once: by its wait when it is handed over, by its session when
# that is over. A bucket holds what the ones before it hold.
testHistogramsCountEachConnectionOnce() {
	for _ in 1 2 3 4; do
		ask "unix:$DIR/plain.sock" >/dev/null
	done
	ask "unix:$DIR/plain.sock" 'sleep 300ms' >/dev/null
	await status_is 5 apps plain completed
	metrics
	for name in queue_wait session_time; do
		for sample in '_bucket{app="plain",le="+Inf"}' \
		    '_count{app="plain"}'; do
			assertEquals "$name" 5 \
			    "$(metric "apppool_${name}_seconds${sample}")"
		done
		assertEquals '' "$(grep "^apppool_${name}_seconds_bucket{app=\"plain\"" \
		    "$DIR/metrics" | awk '$2 < last { print } { last = $2 }')"
	done
	assertTrue 'one took longer than 0.25 s' "[ '$(metric \
	    'apppool_session_time_seconds_bucket{app="plain",le="0.25"}')' -lt 5 ]"
	assertEquals 5 "$(metric \
	    'apppool_session_time_seconds_bucket{app="plain",le="60.0"}')"
	assertTrue 'the sum' "awk 'BEGIN { exit !($(metric \
	    'apppool_session_time_seconds_sum{app="plain"}') >= 0.3) }'"
}

testBucketsGoFrom100MicrosecondsToAMinute() {
	metrics
	assertEquals '0.0001 60.0 +Inf' "$(sed -n \
	    's/^apppool_queue_wait_seconds_bucket{app="web",le="\(.*\)"}.*/\1/p' \
	    "$DIR/metrics" | sed -n '1p; $p; 18p' | xargs)"
}

testAFailedAppIsSeen() {
	await status_is failed apps broken state
	metrics
	assertEquals 1 "$(metric 'apppool_state{app="broken",state="failed"}')"
	assertEquals 1 "$(grep -c '^apppool_state{app="broken"' "$DIR/metrics")"
	assert_metric 'apppool_failed_starts_total{app="broken"}' \
	    apps broken spawn_failures
	assert_metric 'apppool_processes_ended_total{app="broken",reason="failure"}' \
	    apps broken exits failure
}

testAnAppWithoutSessionsHasNoFiguresOfThem() {
	metrics
	assertEquals '' "$(grep -E 'app="(job|own)"' "$DIR/metrics" |
	    grep -E '^apppool_(sessions|queue|session|connections|waiting|limit)')"
	assertEquals 1 "$(metric 'apppool_processes{app="job",state="idle"}')"
	assertEquals '' "$(metric 'apppool_backlog_connections{app="job"}')"
	assertEquals '' "$(metric 'apppool_load_ratio{app="job"}')"
	assertNotNull "$(metric 'apppool_load_ratio{app="own"}')"
}

# ---------------------------------------------------------------- users

testTheAlertsComeWhenTheyShould() {
	has_promtool || return 0
	cp contrib/monitoring/alerts.yml "$DIR/alerts.yml"
	said=$(promtool check rules "$DIR/alerts.yml" 2>&1)
	assertEquals "$said" 0 $?
	cp tests/e2e/alerts.yml "$DIR/made-up.yml"
	said=$(promtool test rules "$DIR/made-up.yml" 2>&1)
	assertEquals "$said" 0 $?
}

testEachAlertHasATestThatRaisesIt() {
	sed -n 's/.*- alert: //p' contrib/monitoring/alerts.yml >"$DIR/alerts"
	while read -r alert; do
		assertTrue "$alert" "grep -A 2 'alertname: $alert\$' \
		    tests/e2e/alerts.yml | grep -q exp_labels"
	done <"$DIR/alerts"
}

# expressions: those of the dashboard, a line each, for a time that Grafana
# would choose.
expressions() {
	"$PYTHON" - <<-'EOF'
	import json
	board = json.load(open("contrib/monitoring/dashboard.json"))
	for panel in board["panels"]:
	    for target in panel["targets"]:
	        print(target["expr"].replace("$__rate_interval", "5m"))
	EOF
}

testPrometheusCouldAnswerTheDashboard() {
	has_promtool || return 0
	expressions | awk '
	    BEGIN { print "groups:\n- name: dashboard\n  rules:" }
	    { gsub(/\047/, "&&"); printf "  - record: r%d\n    expr: \047%s\047\n",
		NR, $0 }' >"$DIR/board.yml"
	said=$(promtool check rules "$DIR/board.yml" 2>&1)
	assertEquals "$said" 0 $?
	assertContains "$said" "$(expressions | wc -l) rules found"
}

# After the first session and a second in which a process is busy.
tells_need() {
	metrics
	grep -q '^apppool_needed_processes{app="web"}' "$DIR/metrics"
}

# Names and words that no daemon tells would show nothing, and raise nothing.
testAlertsAndDashboardAskForWhatThereIs() {
	web >/dev/null
	occupy load
	await tells_need
	dismiss load
	{ expressions; cat contrib/monitoring/alerts.yml; } >"$DIR/asking"
	# Those with a colon are made by rules.
	grep -oE '[a-z_:]*apppool_[a-z_]+' "$DIR/asking" | grep -v : |
	    sort -u >"$DIR/names"
	while read -r name; do
		assertTrue "$name" "grep -q '^${name}[ {]' '$DIR/metrics'"
	done <"$DIR/names"
	for label in reason outcome; do
		for word in $(grep -oE "$label=~?\"[a-z_|]+\"" "$DIR/asking" |
		    sed 's/.*="*~*"*//; s/"//g' | tr '|' '\n' | sort -u); do
			assertTrue "$label $word" \
			    "grep -q '$label=\"$word\"' '$DIR/metrics'"
		done
	done
}

testTheDashboardIsOneForGrafana() {
	said=$("$PYTHON" - <<-'EOF' 2>&1
	import json
	board = json.load(open("contrib/monitoring/dashboard.json"))
	assert board["title"] and board["uid"] and board["schemaVersion"] > 0
	taken = set()
	for panel in board["panels"]:
	    at = panel["gridPos"]
	    assert panel["type"] and panel["title"]
	    assert at["x"] + at["w"] <= 24, panel["title"]
	    cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
	        for y in range(at["y"], at["y"] + at["h"])}
	    assert not cells & taken, panel["title"]
	    taken |= cells
	ids = [panel["id"] for panel in board["panels"]]
	assert len(ids) == len(set(ids))
	EOF
	)
	assertEquals "$said" 0 $?
}

. tests/e2e/lib.sh
