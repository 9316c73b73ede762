#!/bin/sh
# The daemon where the kernel does not tell about sockets, as where a container
# or a hardened host has no module for sock_diag(7).

file_setup() {
	# Workers may not be allowed to enter this tree.
	cp tests/e2e/workers/listening.py "$DIR"
	PORT=$(free_port)
	printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' \
	    "$(realpath "$BUILD")/tests/e2e/nodiag" "$(realpath "$APPPOOLD")" \
	    >"$DIR/apppoold"
	chmod +x "$DIR/apppoold"
	APPPOOLD=$DIR/apppoold
}

# listens ADDRESS...: the app web, which listens itself; what else it has comes
# from stdin.
listens() {
	echo 'defaults { ready_after = 50ms }'
	{ printf '%s\n' 'handoff = listen' "listen = $(quoted "$@")"; cat; } |
	    job web "$PYTHON" "$DIR/listening.py" --graceful
}

# at_both: the app of stdin, at a TCP address, too.
at_both() {
	sed "s|^listen = .*|listen = $(quoted unix:web.sock "127.0.0.1:$PORT")|"
}

# behind_many COUNT ADDRESS NAME: so many clients in the background.
behind_many() {
	start_process "$BUILD/tests/e2e/ask" --to "$2" --count "$1" \
	    --together --text hello --timeout $((3 * LIMIT)) \
	    >"$DIR/many.$3" 2>&1
}

testTheBacklogOfAnAppThatListensItselfIsTold() {
	starts 'max_processes = 1' listens unix:web.sock "127.0.0.1:$PORT"
	server=$(status apps web workers 0 pid)
	pause_process "$server"
	behind_many 3 "unix:$DIR/web.sock" unix
	unix=$STARTED
	behind_many 2 "127.0.0.1:$PORT" tcp
	tcp=$STARTED
	await status_is 5 apps web backlog
	await status_is 5 waiting
	assertEquals null "$(status apps web backlog_unknown)"
	kill -CONT "$server"
	finish "$unix"
	assertEquals 0 "$RC"
	finish "$tcp"
	assertEquals 0 "$RC"
	await status_is 0 waiting
}

testTheBacklogOfAFullAppIsTold() {
	app web <<-EOF | at_both | conf
	max_processes = 1
	max_queue = 0
	EOF
	pool_start
	hold_at busy
	await are_given 1 web
	behind_many 3 "unix:$DIR/web.sock" unix
	unix=$STARTED
	behind_many 2 "127.0.0.1:$PORT" tcp
	tcp=$STARTED
	await status_is 5 apps web backlog
	open_gate busy
	finish "$unix"
	assertEquals 0 "$RC"
	finish "$tcp"
	assertEquals 0 "$RC"
}

# The process is not stopped before it has accepted all.
testAnAppThatListensItselfAndLeavesServesItsBacklog() {
	for leaves in unix:leaves.sock "127.0.0.1:$PORT"; do
		conf_of 'max_processes = 1' listens "$leaves"
		pool_start
		server=$(status apps web workers 0 pid)
		pause_process "$server"
		behind_many 50 "$(echo "$leaves" | sed "s,unix:,&$DIR/,")" many
		many=$STARTED
		await status_is 50 apps web backlog
		app other </dev/null | conf
		reload
		assertFalse "$leaves: it waits" "is_gone $server"
		kill -CONT "$server"
		finish "$many"
		assertEquals "$leaves" 0 "$RC"
		pool_stop
	done
}

testATcpListenerThatLeavesLosesNobody() {
	app web </dev/null | at_both | conf
	pool_start
	flood_behind --tcp "127.0.0.1:$PORT" \
	    --rate 500 --count 50000 --stop-on-refused --max lost=0 \
	    --max late=0 --min refused=1 --timeout $((3 * LIMIT))
	await served 100
	app web </dev/null | conf
	reload
	flood_ends
}

served() {
	[ "$(status apps web completed)" -ge "$1" ]
}

testATakenAddressIsFoundBeforeTheStart() {
	take_port "$PORT"
	app web </dev/null |
	    sed "s,^listen = .*,listen = \"127.0.0.1:$PORT\"," | conf
	"$APPPOOLD" -t -c "$DIR/pool.conf" >"$DIR/seen" 2>&1
	assertEquals 78 $?
	stop_process "$STARTED"
	assertContains "$(cat "$DIR/seen")" "somebody else listens on 127.0.0.1:$PORT"
}

# Two thousand sockets would take the loop longer than a millisecond to read.
testABacklogThatCannotBeCountedIsSaidToBeUnknown() {
	starts 'max_processes = 1' listens unix:web.sock
	server=$(status apps web workers 0 pid)
	pause_process "$server"
	behind_many 2 "unix:$DIR/web.sock" unix
	unix=$STARTED
	await status_is 2 apps web backlog
	start_process "$PYTHON" -c '
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE,
                   (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
pairs = [socket.socketpair() for _ in range(4000)]
open(sys.argv[1], "w")
time.sleep(3600)' "$DIR/crowd"
	crowd=$STARTED
	await test -e "$DIR/crowd"
	assertEquals null "$(status apps web backlog)"
	assertContains "$(status apps web backlog_unknown)" 'no unix_diag module'
	assertContains "$(ctl status -v)" 'backlog unknown: this kernel has no'
	stop_process "$crowd"
	kill -CONT "$server"
	finish "$unix"
	assertEquals 0 "$RC"
}

testAnIdleConnectionKeepsItsProcess() {
	starts 'min_processes = 0 max_processes = 1 max_idle_time = 1s
	    update_interval = 400ms' listens unix:web.sock
	start_process "$PYTHON" -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"keep\n")
open(sys.argv[2], "w").write(s.recv(99).decode())
time.sleep(3600)' "$DIR/web.sock" "$DIR/answered"
	holder=$STARTED
	await test -s "$DIR/answered"
	server=$(status apps web workers 0 pid)
	sleep 2.5
	assertEquals "$server" "$(status apps web workers 0 pid)"
	stop_process "$holder"
	await status_is 0 apps web processes
}

. tests/e2e/lib.sh
