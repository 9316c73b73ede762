#!/bin/sh
# Clients that leave, say nothing, or read nothing.

# one_worker [MAX_QUEUE]: an app at TCP and Unix addresses, whose one worker is
# busy until `release`.
one_worker() {
	port=$(free_port)
	starts "listen += \"127.0.0.1:$port\" max_processes = 1
	    max_queue = ${1:-1} on_full = close restart_delay = 10ms
	    min_server_life = 0" app web
	hold_at busy
	GONE=0
}

release() {
	kill -KILL "$(at_gate busy)"
	rm -r "$DIR/gates"
}

# look_at_waiters: returns when all waiting clients have been looked at: a
# client that comes after them and leaves without a word has been dropped.
look_at_waiters() {
	socket_client "unix:$DIR/web.sock" 's.close()'
	GONE=$((GONE + 1))
	await status_is "$GONE" apps web abandoned
}

# A client that wrote and left may want just that to be read.
testAClientThatWroteAndLeftIsServed() {
	for kind in unix tcp; do
		one_worker 2
		to=unix:$DIR/web.sock
		[ $kind = unix ] || to=127.0.0.1:$port
		socket_client "$to" 's.send(b"do it\n")' 's.close()'
		await status_is 1 apps web waiting
		look_at_waiters
		assertEquals 1 "$(status apps web waiting)"
		release
		await status_is 1 apps web completed
		assert_accounts web
		pool_stop INT
	done
}

testAUnixClientThatLeftWithoutAWordIsDropped() {
	one_worker
	socket_client "unix:$DIR/web.sock" 's.close()'
	await status_is 1 apps web abandoned
	assertEquals 1 "$(status apps web sessions)"
	assert_accounts web
	release
}

testATcpClientThatResetItsConnectionIsDropped() {
	one_worker
	socket_client "127.0.0.1:$port" \
	    's.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,' \
	    '    struct.pack("ii", 1, 0))' 's.close()'
	await status_is 1 apps web abandoned
	assert_accounts web
	release
}

testAHalfClosedClientIsServed() {
	one_worker 2
	for to in "unix:$DIR/web.sock" "127.0.0.1:$port"; do
		socket_client "$to" 's.send(b"hello\n")' \
		    's.shutdown(socket.SHUT_WR)' \
		    'print(s.recv(1000).decode())' >"$DIR/said" &
		PIDS="$PIDS $!"
		await status_is 1 apps web waiting
		look_at_waiters
		release
		await grep -q hello "$DIR/said"
		hold_at busy
	done
	assertEquals 'only those who went' 2 "$(status apps web abandoned)"
	release
}

# Descriptors that lie unread in a socket are closed with it, not by the loop.
testDescriptorsThatAWaitingClientSendsAreNotKept() {
	one_worker
	before=$(fds "$POOL")
	socket_client "unix:$DIR/web.sock" 'r, w = os.pipe()' \
	    'socket.send_fds(s, [b"x"], [w])' 'os.close(w)' 's.close()' \
	    'print(len(os.read(r, 1)))' >"$DIR/said" &
	PIDS="$PIDS $!"
	await status_is 1 apps web waiting
	release
	await grep -qx 0 "$DIR/said"
	await has_fds "$before"
}

testAThousandClientsThatComeAndGoLeaveNothing() {
	starts 'max_processes = 4' app web
	before=$(fds "$POOL")
	"$PYTHON" -c '
import socket, sys
for i in range(1000):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    if i % 2:
        s.send(b"hello\n")
    s.close()' "$DIR/web.sock"
	await status_is 1000 apps web accepted
	await status_is 0 apps web sessions
	await status_is 0 apps web waiting
	assert_accounts web
	# Three processes more may have come.
	await has_fds $((before + 12))
	assertContains "$(web)" hello
}

is_served() {
	ask "$1" 2>/dev/null | grep -q hello
}

# shut_down NAME: shuts a listener of the daemon down, as a process that shares
# it can.
shut_down() {
	"$PYTHON" -c '
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
pidfd = os.pidfd_open(int(sys.argv[1]))
for fd in os.listdir(f"/proc/{sys.argv[1]}/fd"):
    if not os.readlink(f"/proc/{sys.argv[1]}/fd/{fd}").startswith("socket:"):
        continue
    mine = libc.syscall(438, pidfd, int(fd), 0)  # pidfd_getfd
    if mine == -1:
        sys.exit(77)
    s = socket.socket(fileno=mine)
    name = s.getsockname()
    if s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) and (
            name == sys.argv[2] or str(name[1:2]) == f"({sys.argv[2]},)"):
        s.shutdown(socket.SHUT_RDWR)' "$POOL" "$1"
}

testAListenerThatAnotherProcessShutDownIsBoundAnew() {
	port=$(free_port)
	starts "listen += \"127.0.0.1:$port\"" app web
	shut_down "$port" ||
	    { skip 'no process may take its descriptors'; return 0; }
	await said "127.0.0.1:$port was shut down by somebody"
	# The message comes before the new socket.
	await is_served "127.0.0.1:$port"
	shut_down "$DIR/web.sock"
	await said "$DIR/web.sock was shut down by somebody"
	await is_served "unix:$DIR/web.sock"
	assertEquals 2 "$(grep -c 'was shut down by somebody' "$DIR/log")"
}

testAListenerThatCannotBeBoundIsTriedAgainAfterAReload() {
	starts '' app web
	mv "$DIR/web.sock" "$DIR/moved"
	: >"$DIR/web.sock"
	shut_down "$DIR/web.sock" ||
	    { skip 'no process may take its descriptors'; return 0; }
	await said 'a file that is no socket is in the way'
	app web </dev/null | sed 's/app.*{/app other {/' | conf
	ctl reload >/dev/null
	rm "$DIR/web.sock" "$DIR/moved"
	await is_served "unix:$DIR/web.sock"
}

. tests/e2e/lib.sh
