#!/bin/sh
# Workers that go on with connections which they have parked.

# evil PROGRAM [OPTION...]: app evil, at $PORT, whose processes park.
evil() {
	cp "$BUILD/tests/hostile/$1" "$DIR"
	cat <<-EOF
	app "evil" {
	listen = "127.0.0.1:$PORT"
	command = { "$DIR/$1" }
	user = root
	keep_alive = true
	min_processes = 2
	max_processes = 2
	stop_timeout = 100ms
	EOF
	shift
	printf '%s\n' "$@" '}'
}

# visit COUNT: so many clients that ask, hear, ask once more and leave.
visit() {
	"$PYTHON" -c '
import socket, sys
visitors = []
for _ in range(int(sys.argv[2])):
    visitor = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20)
    visitor.sendall(b"first\n")
    visitors.append(visitor)
for visitor in visitors:
    assert visitor.recv(7) == b"parked\n"
    visitor.sendall(b"second\n")
' "$PORT" "$1" || fail 'the visitors were not answered'
}

testTheLocksOfParkedConnectionsHoldNobodyUp() {
	is_root || { skip 'userfaultfd is for root'; return; }
	PORT=$(free_port)
	{
		app_b
		evil parklock 'keep_alive_timeout = 300ms' 'max_parked = 12' \
		    'request_timeout = 1s'
	} | conf
	pool_start
	quiet_b
	watch_b 3
	visit 16
	visit 8
	assert_b_is_served
	ctl stop evil >"$DIR/told" 2>&1 || fail "$(cat "$DIR/told")"
	assert_accounts evil
	stops_well
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
