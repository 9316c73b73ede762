# shellcheck shell=sh
#
# Functions for the tests of handoff = accept; see lib.sh.

# A processor that we may use, for taskset -c; in a container not always the
# first.
# shellcheck disable=SC2034 # for those who source this
PROCESSOR=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' \
    /proc/self/status)

# accept NAME OPTION-OF-acceptor...: an app at $DIR/NAME.sock, for conf; what
# else it has comes from stdin.
accept() {
	accept_name=$1
	shift
	accepts "$accept_name" "$DIR/acceptor" "$@"
}

# accepts NAME COMMAND...: the same of another program.
accepts() {
	with 'handoff = accept' with "accept_by = ${ACCEPT_BY:-seccomp}" cat |
	    server "$@"
}

# at_tcp PORT COMMAND...: the app web of that command, and at that port first.
at_tcp() {
	tcp_port=$1
	shift
	"$@" | sed "s/^listen = .*/listen = { \"127.0.0.1:$tcp_port\", \"unix:web.sock\" }/"
}

# accept_tcp PORT OPTION-OF-acceptor...: the app web of accept, there.
accept_tcp() {
	accept_port=$1
	shift
	at_tcp "$accept_port" accept web "$@"
}

# program: the pid of the process that the adapter of app `web` runs.
program() {
	children "$(status apps web workers 0 pid)" | tr -d ' '
}

# nth N TEXT: a word of an answer.
nth() {
	echo "$2" | cut -d ' ' -f "$1"
}

# tcp_client ADDRESS PORT: prints its own address, then the answer.
tcp_client() {
	"$PYTHON" - "$LIMIT" "$@" <<-'PYTHON'
	import socket
	import sys

	limit, host, port = sys.argv[1:]
	with socket.create_connection((host, int(port)), float(limit)) as client:
	    host, port = client.getsockname()[:2]
	    print(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
	    client.sendall(b"hello\n")
	    print(client.recv(1000).decode(), end="")
	PYTHON
}

# assert_told_its_address ADDRESS PORT
assert_told_its_address() {
	tcp_client "$1" "$2" >"$DIR/client"
	read -r own <"$DIR/client"
	assertEquals "$own" "$(nth 3 "$(sed -n 2p "$DIR/client")")"
}

# ask_held [APP]: ask_behind, with a request that lasts until `release`.
ask_held() {
	rm -f "$DIR/released"
	ask_behind "wait $DIR/released" "$@"
}

release() {
	: >"$DIR/released"
}

# has_sessions N
has_sessions() {
	status_is "$1" apps web sessions
}

# assert_flood COUNT [OPTION...]: so many connections are all answered.
assert_flood() {
	flood_count=$1
	shift
	flood --unix "$DIR/web.sock" --count "$flood_count" --timeout "$LIMIT" \
	    --max lost=0 --min "answered=$flood_count" "$@" >"$DIR/flood" 2>&1
	assertEquals "$(cat "$DIR/flood")" 0 $?
}

# flood_on: connections in the background until flood_end, which asserts that
# all were answered.
flood_on() {
	rm -f "$DIR/flooded"
	start_process flood_again_and_again
	FLOODING=$STARTED
}

# 1,000 a second: all at once might be more than a machine can do in time.
flood_again_and_again() {
	until [ -e "$DIR/flooded" ]; do
		flood --unix "$DIR/web.sock" --rate 1000 --count 200 \
		    --timeout "$LIMIT" --max lost=0 --min answered=200 ||
		    return
	done >"$DIR/flood" 2>&1
}

flood_end() {
	: >"$DIR/flooded"
	finish "$FLOODING" $((3 * LIMIT))
	assertEquals "$(cat "$DIR/flood")" 0 "$RC"
}

file_setup() {
	cp "$BUILD/tests/e2e/workers/acceptor" \
	    "$BUILD/tests/e2e/workers/acceptor-static" \
	    "$BUILD/tests/e2e/workers/sandbox" \
	    "$BUILD/libexec/apppool-accept" "$DIR"
	if type more_setup >/dev/null 2>&1; then more_setup; fi
}
