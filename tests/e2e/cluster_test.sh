#!/bin/sh
# contrib/cluster: whether the manifests agree with each other, and what their
# queries say in a real Prometheus that looks at two daemons under load.

cluster() {
	"$PYTHON" tests/e2e/cluster.py "$@"
}

# find_prometheus: as it is installed, or as contrib/peers unpacked it.
find_prometheus() {
	for place in /usr/bin "$PWD/build/peers/usr/bin"; do
		PROMETHEUS=$place/prometheus
		[ -x "$PROMETHEUS" ] && return
	done
	return 1
}

has_all() {
	"$PYTHON" -c 'import yaml' 2>/dev/null || { skip 'no yaml'; return 1; }
	find_prometheus || { skip 'no prometheus'; return 1; }
}

testTheManifestsAgreeWithEachOtherAndWithTheImage() {
	has_all || return 0
	said=$(cluster check 2>&1)
	assertEquals "$said" 0 $?
}

testPromtoolFindsNoFaultWithTheConfiguration() {
	has_all || return 0
	cp contrib/cluster/prometheus.yml contrib/monitoring/alerts.yml "$DIR"
	said=$("${PROMETHEUS%prometheus}promtool" check config \
	    "$DIR/prometheus.yml" 2>&1)
	assertEquals "$said" 0 $?
}

# ---------------------------------------------------------------- hosts

# at HOST: the files are of that host, and so is what ctl and status ask.
at() {
	DIR=$TOP/$1
	mkdir -p "$DIR"
	case $1 in a) PORT=$PORT_a ;; b) PORT=$PORT_b ;; esac
}

# hosted IDLE HALF: the configuration of a host, an app for each load. These are
# options of tworker for two of them.
hosted() {
	{
		echo 'control_mode = 0666'
		echo 'defaults { max_processes = 8 start_limit = 1 }'
		# shellcheck disable=SC2086 # words
		app idle $1 </dev/null
		app fits </dev/null
		app small </dev/null
		# shellcheck disable=SC2086 # words
		app half $2 </dev/null
		sed -n '/^app/,$p' etc/examples/status.conf |
		    sed -e "s,127.0.0.1:8079,127.0.0.1:$PORT," \
		    -e "s,/run/apppoold/,$DIR/,"
	} | conf
}

# All that runs is ready, but for the app "half" on the host b, which has failed.
begin_hosts() {
	TOP=$DIR
	PORT_a=$(free_port) PORT_b=$(free_port)
	at a
	hosted '' ''
	pool_start
	at b
	hosted '' '--exit-at-once 3'
	pool_run
	await status_is failed apps half state
	DIR=$TOP
}

# On the host a: a process dies in a session, and a restart is given up.
spoil() {
	at a
	await loses_one
	hosted '--exit-at-once 3' ''
	ctl reload >"$DIR/told" 2>&1
	assertContains "$(cat "$DIR/told")" 'idle'
	DIR=$TOP
}

loses_one() {
	for victim in $(status apps fits workers '*' pid | sed -n '/^[0-9]/{p;q}'); do
		kill -KILL "$victim"
	done
	[ "$(status apps fits lost)" -gt 0 ]
}

begin_prometheus() {
	cp contrib/monitoring/alerts.yml "$DIR"
	cluster prometheus 1s "127.0.0.1:$PORT_a" "127.0.0.1:$PORT_b" \
	    >"$DIR/prometheus.yml"
	at_port=$(free_port)
	URL=http://127.0.0.1:$at_port
	start_process "$PROMETHEUS" --config.file="$DIR/prometheus.yml" \
	    --storage.tsdb.path="$DIR/data" --log.level=warn \
	    --web.listen-address="127.0.0.1:$at_port" >"$DIR/prometheus.log" 2>&1
	wait_for $((3 * LIMIT)) curl -sf -o "$DIR/page" "$URL/-/ready" ||
	    fail "$(cat "$DIR/prometheus.log")"
	await sees_both
}

sees_both() {
	curl -s "$URL/api/v1/query?query=count(up==1)" | grep -q '"2"'
}

# assert_alert NAME APP PORT: it is pending or fires.
assert_alert() {
	assertContains "$1 of $2" "$(cat "$DIR/alerts")" "$1 $2 127.0.0.1:$3"
}

# assert_scaled APP LEAST MOST HOSTS NOMAD: the need is in that range; two hosts
# become so many by KEDA and by Kubernetes, and so many by Nomad.
assert_scaled() {
	said=$(cluster scale "$URL" "$1" 2>&1)
	echo "# $1: $said"
	# shellcheck disable=SC2086 # three numbers, to be split
	set -- "$@" $said
	assertTrue "the need of $1: $said" \
	    "awk 'BEGIN { exit !($6 >= $2 && $6 <= $3) }'"
	assertTrue "hosts for $1: $said, not $4" \
	    "[ $7 -ge ${4%-*} ] && [ $7 -le ${4#*-} ]"
	assertTrue "jobs for $1: $said, not $5" \
	    "[ $8 -ge ${5%-*} ] && [ $8 -le ${5#*-} ]"
}

# probes_say STATUS PORT: readiness and liveness of the host there, which follow
# its processes.
probes_say() {
	[ "$(cluster probes "$2" | xargs)" = "$1" ]
}

# Loads in processes that are busy on average on each host, of 8; on a machine that
# is busy itself sessions last longer, and the need rises with them:
#	idle	none: the least number of hosts is enough
#	fits	1.5: 5 or 6 processes, for then 1 of 100 waits over 20 ms. Two hosts
#		are right: one with 3 would need all its 8
#	small	12: more than there are. Of 24 a host of 8 can take 3 to 5 without
#		long waits: 5 to 9 hosts
#	half	3 on the host a alone: 7 or 8 processes, which one host has;
#		on the host b the app has failed, and gets no connection
testTheQueriesSayWhatAPersonWould() {
	has_all || return 0
	[ -x "$BUILD/libexec/apppool-web" ] || { skip 'no apppool-web'; return; }
	begin_hosts
	await probes_say '200 200' "$PORT_a"
	await probes_say '503 503' "$PORT_b"
	begin_prometheus
	start_process "$PYTHON" tests/e2e/cluster.py load 20 100 \
	    15 "$DIR/a/fits.sock" 15 "$DIR/b/fits.sock" 30 "$DIR/a/half.sock"
	short=$STARTED
	start_process "$PYTHON" tests/e2e/cluster.py load 20 400 \
	    30 "$DIR/a/small.sock" 30 "$DIR/b/small.sock"
	long=$STARTED
	spoil
	finish "$short" $((60 + LIMIT))
	assertEquals 0 "$RC"
	cluster alerts "$URL" >"$DIR/alerts"
	assert_scaled idle 0 2 2 2
	assert_scaled fits 8 16 2-3 2-3
	assert_scaled small 30 57 5-9 5-9
	assert_scaled half 6 12 2 2-4
	assert_alert ApppoolTooSmall small "$PORT_a"
	assert_alert ApppoolTooSmall small "$PORT_b"
	assert_alert ApppoolAppFailed half "$PORT_b"
	assert_alert ApppoolLosses fits "$PORT_a"
	assert_alert ApppoolRolloutGivenUp idle "$PORT_a"
	assertNotContains "$(cat "$DIR/alerts")" 'TooSmall idle'
	assertNotContains "$(cat "$DIR/alerts")" 'TooSmall fits'
	finish "$long"
	assertEquals 0 "$RC"
}

. tests/e2e/lib.sh
