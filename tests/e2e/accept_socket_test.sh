#!/bin/sh
# handoff = accept: the listening socket a program is given, what the program is
# told of its clients, and what differs from a socket that clients do connect
# to.

. tests/e2e/accept_help.sh

more_setup() {
	cp tests/e2e/workers/accepting.py "$DIR"
}

# accepting OPTION-OF-accepting.py...: app `web`, for conf; its `listen` and
# what else it has comes from stdin.
accepting() {
	{ echo 'handoff = accept accept_by = seccomp'; cat; } | job web "$PYTHON" accepting.py "$@"
}

# told WORD: of what the last client was told.
told() {
	nth "$1" "$ANSWER"
}

# ask_named NAME: asks `web` from a socket that is bound to that name; the
# answer is in $ANSWER.
ask_named() {
	ANSWER=$("$PYTHON" -c '
import socket, sys
with socket.socket(socket.AF_UNIX) as client:
    client.settimeout(float(sys.argv[3]))
    client.bind(sys.argv[2].replace("@", "\0"))
    client.connect(sys.argv[1])
    client.sendall(b"hello\n")
    print(client.recv(999).decode(), end="")' "$DIR/web.sock" "$1" "$LIMIT")
}

# ---------------------------------------------------------------- names

testAtAUnixAddressTheProgramsSocketIsAnAbstractUnixSocket() {
	starts 'listen = "unix:web.sock"' accepting
	ANSWER=$(web)
	assertContains "$ANSWER" '@'
	assertEquals '@' "$(told 1 | cut -c 1)"
	# The local address of a connection is the app's.
	assertEquals "$DIR/web.sock" "$(told 2)"
}

testAtAnIpv4AddressTheProgramsSocketIsOnTheLoopback() {
	port=$(free_port)
	starts "listen = \"127.0.0.2:$port\"" accepting
	ANSWER=$(ask "127.0.0.2:$port")
	assertEquals 127.0.0.1 "$(told 1 | cut -d : -f 1)"
	assertNotEquals 127.0.0.1:0 "$(told 1)"
	assertEquals "127.0.0.2:$port" "$(told 2)"
}

testAtAnIpv6AddressTheProgramsSocketIsOnTheLoopback() {
	has_ipv6 || { skip 'no IPv6'; return; }
	port=$(free_port)
	starts "listen = \"[::1]:$port\"" accepting
	ANSWER=$(tcp_client ::1 "$port" | sed 1d)
	assertEquals '[::1]:' "$(told 1 | cut -c 1-6)"
	assertNotEquals "[::1]:$port" "$(told 1)"
	assertEquals "[::1]:$port" "$(told 2)"
}

# A connection of another family is served all the same.
testTheFamilyOfTheProgramsSocketIsThatOfTheFirstAddress() {
	port=$(free_port)
	starts "listen = { \"127.0.0.1:$port\", \"unix:web.sock\" }" accepting
	ANSWER=$(web)
	assertEquals 127.0.0.1 "$(told 1 | cut -d : -f 1)"
	assertEquals "$DIR/web.sock" "$(told 2)"
}

# ---------------------------------------------------------------- options

# options PORT: TCP_NODELAY, SO_KEEPALIVE and TCP_KEEPIDLE of a connection, as
# the program sees them.
options() {
	ANSWER=$(ask "127.0.0.1:$1")
	echo "$ANSWER" | cut -d ' ' -f 6-8
}

testAConnectionInheritsTheOptionsOfTheProgramsSocket() {
	port=$(free_port)
	starts "listen = \"127.0.0.1:$port\"" accepting --set 1 1 77
	assertEquals '1 1 77' "$(options "$port")"
}

testWithoutOptionsOfTheProgramAConnectionHasTheKernels() {
	port=$(free_port)
	starts "listen = \"127.0.0.1:$port\"" accepting
	assertEquals "0 0 $(cat /proc/sys/net/ipv4/tcp_keepalive_time)" "$(options "$port")"
}

testTcpOptionsOfTheProgramDoNotHinderAUnixConnection() {
	port=$(free_port)
	starts "listen = { \"127.0.0.1:$port\", \"unix:web.sock\" }" \
	    accepting --set 1 1 77
	ANSWER=$(web)
	assertEquals "$DIR/web.sock" "$(told 2)"
}

# ---------------------------------------------------------------- clients

# The family, the path and the NUL behind it.
testAUnixClientThatIsBoundToANameHasThatName() {
	starts 'listen = "unix:web.sock"' accepting
	name=$DIR/client.sock
	ask_named "$name"
	assertEquals "$name" "$(told 3)"
	assertEquals $((2 + ${#name} + 1)) "$(told 4)"
	assertEquals $((2 + ${#name} + 1)) "$(told 5)"
	ask_named @audience
	assertEquals @audience "$(told 3)"
	assertEquals 11 "$(told 4)"
}

testAnAddressTooLongForTheBufferIsCutAndItsLengthTold() {
	starts 'listen = "unix:web.sock"' accepting --room 7
	name=$DIR/short.sock
	ask_named "$name"
	assertEquals $((2 + ${#name} + 1)) "$(told 4)"
	assertEquals 'so much was written' 7 "$(told 5)"
}

testANegativeLengthOfTheBufferIsEINVALAndCostsNoConnection() {
	begins 'listen = "unix:web.sock"' accepting --room -1
	await said 'accept: Invalid argument'
	assertNotNull "$(web)"
	assertEquals 0 "$(status apps web lost)"
}

# ---------------------------------------------------------------- waiting

testAProgramWithEdgeTriggeredEpollServes() {
	starts 'listen = "unix:web.sock"' accepting --edge
	assert_flood 300 --concurrency 3
	await status_is 300 apps web completed
	assertEquals 0 "$(status apps web lost)"
}

testASecondListenerInTheSameThreadIsLeftAlone() {
	chmod 777 "$DIR"
	starts 'listen = "unix:web.sock" max_processes = 1' \
	    accepting --other "$DIR/other.sock"
	for round in 1 2 3; do
		ANSWER=$(ask "unix:$DIR/other.sock")
		assertEquals "$round" "$DIR/other.sock" "$(told 1)"
		ANSWER=$(web)
		assertEquals "$round" '@' "$(told 1 | cut -c 1)"
	done
	await status_is 3 apps web completed
	assertEquals 3 "$(status apps web accepted)"
	chmod 755 "$DIR"
}

. tests/e2e/lib.sh
