#!/bin/sh
# The attacks of the other tests of this folder, two at a time and all at once:
# each pair for a second, and all for ATTACK_TIME seconds. Without that variable
# a few pairs are tried, and all for two seconds.

# The processors are busy with the attacks, and their daemon with some work for
# each: it waits for a processor as others do. Frozen, it would wait longer.
NOISE=0.5
WORST=3

STOP_TIMEOUT=2
KILL_TIMEOUT=2

# The attacks; for each there is conf_ATTACK, for conf, and begin_ATTACK, which
# starts it when the daemon runs.
ALL='lines frozen held unblocked lingering stats orphans talking shut swapping
    clinging silent locked'

file_setup() {
	PORT=$(free_port)
	export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
}

# as_root: a line for an app whose program uses userfaultfd(2).
as_root() {
	! is_root || echo 'user = root'
}

# client COMMAND...: goes on until the attack ends.
client() {
	start_process nice "$@" >>"$DIR/clients" 2>&1
	CLIENTS="$CLIENTS $STARTED"
}

flood_of() {
	client "$BUILD/tests/e2e/flood" "$@" --count 100000000 \
	    --concurrency 4 --limit 3600 --quiet
}

conf_lines() {
	hostile lines printer <<-EOF
	min_processes = 2
	EOF
}

begin_lines() {
	client "$BUILD/tests/e2e/ask" --to "unix:$DIR/lines.sock" --text '' \
	    --count 2 --timeout 5
}

conf_frozen() {
	rm -rf "$DIR/frozen"
	mkdir -m 1777 "$DIR/frozen"
	as_root | hostile frozen freeze-output "$DIR/frozen" 2 "$TWORKER" \
	    --print 'printed\n'
}

begin_frozen() {
	: >"$DIR/frozen/go"
}

# listening NAME: lines for an app of shared_listener.
listening() {
	as_root
	printf '%s\n' 'handoff = listen' 'ready_after = 50ms'
}

conf_held() {
	listening | hostile held shared_listener hold |
	    at "127.0.0.1:$((PORT + 1))"
}

begin_held() {
	:
}

conf_unblocked() {
	listening | hostile unblocked shared_listener unblock
}

begin_unblocked() {
	flood_of --unix "$DIR/unblocked.sock"
}

conf_lingering() {
	hostile lingering lingerer </dev/null | at "127.0.0.1:$PORT"
}

begin_lingering() {
	client "$DIR/lingerer" "$PORT"
}

conf_stats() {
	:
}

begin_stats() {
	client "$BUILD/tests/hostile/lock_client" "127.0.0.1:$((PORT + 2))" \
	    16 stats
}

conf_orphans() {
	rm -f "$DIR/leave"
	hostile orphans orphans "$DIR/leave" 1000 <<-EOF | sed '/^listen/d'
	handoff = none
	EOF
}

begin_orphans() {
	: >"$DIR/leave"
}

conf_talking() {
	hostile talking talker BLIND </dev/null
}

begin_talking() {
	flood_of --unix "$DIR/talking.sock"
}

conf_shut() {
	listening | hostile shut shutter
}

begin_shut() {
	:
}

conf_swapping() {
	rm -rf "$DIR/out"
	mkdir -m 777 "$DIR/out"
	hostile swapping swapper "$DIR/out/file" "$DIR/pool.conf" <<-EOF |
	output = "$DIR/out/file"
	handoff = none
	EOF
	    sed '/^listen/d'
}

begin_swapping() {
	:
}

conf_clinging() {
	as_root | hostile clinging clinger | at "127.0.0.1:$((PORT + 3))" |
	    sed '/^}/i protocol = http\nqueue_timeout = 100ms'
}

begin_clinging() {
	flood_of --tcp "127.0.0.1:$((PORT + 3))"
}

conf_silent() {
	:
}

begin_silent() {
	client "$PYTHON" -c '
import socket, sys
clients = []
while True:
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    clients = clients[-200:] + [client]
' "$DIR/control.sock"
}

conf_locked() {
	:
}

begin_locked() {
	client flock --no-fork "$DIR" sleep 1000
}

# configure ATTACK...: app b beside these.
configure() {
	{
		cat <<-EOF
		stop_timeout = ${STOP_TIMEOUT}s
		log = "/dev/null"
		control_mode = 0666
		counter = "127.0.0.1:$((PORT + 2))"
		defaults {
			restart_delay = 10ms
			restart_delay_max = 1s
			kill_timeout = ${KILL_TIMEOUT}s
		}
		EOF
		app_b
		for attack; do
			"conf_$attack"
		done
	} | conf
}

# attack SECONDS ATTACK...: app b is served meanwhile, and each connection
# counted once.
attack() {
	CLIENTS=''
	seconds=$1
	shift
	echo "# $*"
	watch_b "$seconds"
	for attack; do
		"begin_$attack"
	done
	assert_b_is_served
	for name in b "$@"; do
		case $(status apps "$name" accepted 2>/dev/null) in
		[0-9]*) assert_accounts "$name" ;;
		esac
	done
	# shellcheck disable=SC2086 # numbers
	stop_process $CLIENTS
}

# end_strays: programs of attacks that have left their session and their daemon.
end_strays() {
	for stray in $(leftovers); do
		case $(readlink "/proc/$stray/exe") in
		"$TWORKER") ;;
		"$DIR"/*) kill -KILL "$stray" ;;
		esac
	done
}

# reload_for ATTACK...
reload_for() {
	configure "$@"
	ctl reload >"$DIR/told" 2>&1 || fail "$(cat "$DIR/told")"
}

# assert_all_ends: the daemon within its time, and what it has started.
assert_all_ends() {
	started=$(status apps '*' workers '*' pid; status apps '*' keepers '*' pid)
	begun=$(now_ms)
	pool_stop
	took=$(($(now_ms) - begun))
	assertEquals 0 "$RC"
	assertTrue "the stop took $took ms" "[ $took -le \
	    $(((STOP_TIMEOUT + KILL_TIMEOUT) * 1000 * SLOW)) ]"
	echo "# stopped after $took ms"
	end_strays
	for pid in $started; do
		await is_gone "$pid"
	done
}

testTwoAttacksAtATimeHoldUpNobody() {
	is_root || { skip 'userfaultfd is for root'; return; }
	configure
	pool_start
	quiet_b
	if [ -n "$ATTACK_TIME" ]; then
		for one in $ALL; do
			for other in $ALL; do
				[ "$one" = "$other" ] && break
				reload_for "$one" "$other"
				attack 1 "$one" "$other"
				# Strays would take processor time for a minute.
				end_strays
			done
		done
	else
		for pair in 'frozen clinging' 'held lines' 'orphans lingering'; do
			# shellcheck disable=SC2086 # words
			reload_for $pair
			# shellcheck disable=SC2086 # words
			attack 1 $pair
		done
	fi
	assert_all_ends
}

testAllAttacksAtOnceHoldUpNobody() {
	is_root || { skip 'userfaultfd is for root'; return; }
	# shellcheck disable=SC2086 # words
	configure $ALL
	pool_run
	quiet_b
	# shellcheck disable=SC2086 # words
	attack "${ATTACK_TIME:-2}" $ALL
	assert_all_ends
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
