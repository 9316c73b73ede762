#!/bin/sh
# One limit for the apps of three hosts, by a counter on each: network namespaces
# stand for hosts, and a bridge in another one joins them.

LIMIT_OF_ALL=4

# host NUMBER COMMAND...: runs it on that host; 0: where the bridge is.
host() {
	host_number=$1
	shift
	nsenter -n -t "$(cat "$DIR/host.$host_number")" "$@"
}

has_network_of_its_own() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# host_new NUMBER: 10.0.0.NUMBER.
host_new() {
	start_process unshare -n sleep 600
	echo "$STARTED" >"$DIR/host.$1"
	await has_network_of_its_own "$STARTED"
	host "$1" ip link set lo up
	if [ "$1" -eq 0 ]; then
		host 0 ip link add bridge type bridge
		host 0 ip link set bridge up
		return
	fi
	host 0 ip link add "to$1" type veth peer name eth0 netns "$STARTED"
	host 0 ip link set "to$1" master bridge up
	host "$1" ip address add "10.0.0.$1/24" dev eth0
	host "$1" ip link set eth0 up
}

# counter_on NUMBER: its number is in $STARTED.
counter_on() {
	start_process nsenter -n -t "$(cat "$DIR/host.$1")" \
	    "$BUILD/libexec/apppool-counter" -l "10.0.0.$1:7531"
	await grep -q ":$(printf %04X 7531) .* 0A " "/proc/$STARTED/net/tcp"
}

SERVERS=10.0.0.1:7531,10.0.0.2:7531,10.0.0.3:7531

# A key whose servers are those of the hosts 1, 2 and 3, in this order.
key_in_order() {
	"$PYTHON" -c 'import hashlib, sys
servers, n = sys.argv[1].split(","), 0
while sorted(servers, key=lambda server: hashlib.md5(
        f"{server}k{n}".encode()).digest()) != servers:
    n += 1
print(f"k{n}")' "$SERVERS"
}

# daemon_on NUMBER: an app whose sessions are written down, at $DIR/NUMBER.sock.
daemon_on() {
	cat >"$DIR/$1.conf" <<-END
	control = "$DIR/$1.control"
	app "web" {
		listen = "unix:$DIR/$1.sock"
		command = { "$PYTHON", "$PWD/tests/e2e/hosts.py", "serve", "$DIR/sessions", "$1" }
		user = "root"
		min_processes = 6
		max_processes = 6
		limit = "$SERVERS $KEY $LIMIT_OF_ALL 500 20s"
	}
	END
	start_process nsenter -n -t "$(cat "$DIR/host.$1")" \
	    "$APPPOOLD" -c "$DIR/$1.conf" >"$DIR/$1.log" 2>&1 </dev/null
	await "$APPPOOLCTL" -s "$DIR/$1.control" wait >/dev/null 2>&1
}

# figure HOST KEY: of its limit.
figure() {
	"$BUILD/tests/e2e/look" "$DIR/$1.control" "$LIMIT" apps web limit "$2"
}

figure_is() {
	[ "$(figure "$2" "$3")" = "$1" ]
}

# happens NAME: written down among the sessions.
happens() {
	echo "$(date +%s%N) $1" >>"$DIR/sessions"
}

testALimitHoldsForAllHostsWhileACounterIsKilledAndAHostIsCutOff() {
	if ! unshare -n ip link add bridge type bridge 2>/dev/null; then
		skip 'needs root and network namespaces with a bridge'
		return
	fi
	for number in 0 1 2 3; do
		host_new "$number"
	done
	KEY=$(key_in_order)
	: >"$DIR/sessions"
	for number in 1 2 3; do
		counter_on "$number"
		[ "$number" -gt 1 ] || first=$STARTED
	done
	floods=
	for number in 1 2 3; do
		daemon_on "$number"
		"$BUILD/tests/e2e/flood" --unix "$DIR/$number.sock" --count 100000 \
		    --concurrency 8 --limit 14 --timeout $((3 * LIMIT)) \
		    --max lost=0 --max refused=0 --min answered=20 \
		    >"$DIR/flood.$number" 2>&1 &
		floods="$floods $!"
	done
	# For so long all is well.
	sleep 1.5

	happens killed
	kill -KILL "$first"
	await figure_is 1 3 servers_down
	sleep 1.5
	happens restarted
	counter_on 1
	for number in 1 2 3; do
		await figure_is 0 "$number" servers_down
	done
	sleep 1.5

	happens cut
	host 0 ip link set to1 down
	for number in 2 3; do
		await figure_is 1 "$number" servers_down
	done
	sleep 0.5
	happens joined
	host 0 ip link set to1 up
	for number in 1 2 3; do
		await figure_is 0 "$number" servers_down
	done
	for flood in $floods; do
		wait "$flood"
		assertEquals "$(cat "$DIR/flood."*)" 0 $?
	done
	for number in 1 2 3; do
		assertEquals "host $number let nobody in without a lock" 0 \
		    "$(figure "$number" unreachable)"
	done
	said=$("$PYTHON" tests/e2e/hosts.py judge "$DIR/sessions" $LIMIT_OF_ALL)
	assertEquals "$said" 0 $?
	echo "$said"
}

. tests/e2e/lib.sh
