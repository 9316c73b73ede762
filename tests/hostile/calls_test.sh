#!/bin/sh
# The thread of the loop makes the system calls that lib/CALLS lists, on the
# objects it lists, and all of them.

# A search for leaks is not possible under strace.
file_setup() {
	export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
	cp tests/e2e/workers/listening.py "$BUILD/tests/e2e/workers/acceptor" \
	    "$BUILD/tests/e2e/workers/parker" "$DIR"
	PORT=$(free_port)
}

# apps NAME: of each kind one, for conf; the one with handoff = listen has that
# name.
apps() {
	cat <<-EOF
	stop_timeout = 2s
	counter = { "unix:$DIR/counter.sock" }
	dump_file = "$DIR/dump"
	log = "$DIR/logged"
	defaults {
		restart_delay = 10ms
		start_delay = 10ms
		kill_timeout = 500ms
		update_interval = 1s
		ready_after = 50ms
	}
	app "tcp" {
		listen = "127.0.0.1:$PORT"
		command = { "$TWORKER", "--print", 'printed\n' }
	}
	app "$1" {
		listen = { "unix:shared.sock", "127.0.0.1:$((PORT + 1))" }
		handoff = listen
		command = { "$PYTHON", "$DIR/listening.py" }
	}
	app "accepts" {
		listen = "unix:accepts.sock"
		handoff = accept
		command = { "$DIR/acceptor" }
	}
	app "reads" {
		listen = "unix:reads.sock"
		handoff = stdio
		command = { sh, -c, "read -r line; echo hello" }
	}
	app "job" {
		handoff = none
		command = { sleep, 1000 }
	}
	EOF
	app web <<-EOF
	max_processes = 1
	max_memory = 1G
	EOF
	app ahead <<-EOF
	min_processes = 2
	max_processes = 2
	prefetch = 1
	EOF
	app full <<-EOF
	max_processes = 1
	max_queue = 1
	on_full = refuse
	protocol = http
	EOF
	app limited <<-EOF
	limit = "local k 1 100 20s"
	EOF
	app forked <<-EOF
	template = true
	refork_after = 1
	EOF
	cat <<-EOF
	app "parking" {
		listen = "127.0.0.1:$((PORT + 2))"
		command = "$DIR/parker"
		keep_alive = true
		wait_for_data = true
		wait_for_request = http
	}
	EOF
	app printing --print 'printed\n' <<-EOF
	output = "$DIR/output"
	EOF
}

# traced_start: the daemon, with the calls of its first thread in $DIR/trace.
traced_start() {
	run_by strace -D -qq -y -o "$DIR/trace"
	ctl wait >/dev/null
}

ask_all() {
	for name in web shared accepts reads limited forked printing; do
		assertContains "$name" "$(ask "unix:$DIR/$name.sock")" hello
	done
	assertContains "$(ask "127.0.0.1:$PORT")" hello
	ask "127.0.0.1:$((PORT + 1))" >/dev/null
}

# A process that receives no connection is killed.
take_back() {
	stopped=$(status apps web workers 0 pid)
	pause_process "$stopped"
	ask_behind hello
	kill -KILL "$stopped"
	behind
	assertContains "$ANSWER" hello
	assertEquals 1 "$(status apps web retaken)"
}

# Connections lie unread in a process while its sibling becomes idle.
prefetch() {
	occupy one 2 ahead
	occupy two 2 ahead
	await status_is 4 apps ahead sessions
	dismiss one
	dismiss two
}

refuse() {
	occupy all 2 full
	await status_is 1 apps full waiting
	http_get --unix-socket "$DIR/full.sock" http://full/ >/dev/null
	await status_is 1 apps full refused
	dismiss all
}

has_reforked() {
	[ "$(status apps forked template forked_by)" != null ]
}

# are_spawned LEAST APP
are_spawned() {
	[ "$(status apps "$2" spawned)" -ge "$1" ]
}

# Clients who are silent, ask twice, and leave between and before requests.
park() {
	"$PYTHON" - $((PORT + 2)) "$LIMIT" <<-EOF
	import socket
	import sys

	for parts in ([], [b"GET"], [b"GET / HTTP/1.1\n", b"\n"], [b"a\n", b"b\n"]):
	    address = ("127.0.0.1", int(sys.argv[1]))
	    with socket.create_connection(address, int(sys.argv[2])) as client:
	        for part in parts:
	            client.sendall(part)
	            if part.islower():
	                client.recv(100)
	EOF
	await status_is 0 apps parking parked
	await status_is 4 apps parking accepted
}

kill_processes() {
	await has_reforked
	for name in shared printing reads forked job; do
		kill -KILL "$(status apps "$name" workers 0 pid)"
		await are_spawned 2 "$name"
	done
}

testTheLoopMakesTheListedCallsAndNoOther() {
	command -v strace >/dev/null || { skip 'no strace'; return; }
	apps shared | conf
	traced_start
	ask_all
	take_back
	prefetch
	refuse
	park
	kill_processes
	apps other | conf
	reload
	kill -HUP "$POOL"
	kill -USR1 "$POOL"
	await [ -s "$DIR/dump" ]
	ctl wait >/dev/null
	ask_all
	stops_well
	assertEquals '' "$("$PYTHON" tests/hostile/calls.py lib/CALLS \
	    "$DIR/trace" control.sock counter.sock)"
}

# costs MOST CALL...: at most so many of these for each of 1,000 connections, and
# little beside that.
costs() {
	most=$1
	shift
	calls=0
	for call; do
		calls=$((calls + $(grep -c "^$call(" "$DIR/trace")))
	done
	assertTrue "$calls times $*" "[ $calls -le $((most * 1000 + 200)) ]"
}

testAConnectionCostsOneCallOfEachKind() {
	command -v strace >/dev/null || { skip 'no strace'; return; }
	for to in "tcp 127.0.0.1:$PORT" "unix $DIR/web.sock"; do
		app web <<-EOF | conf
		listen += "127.0.0.1:$PORT"
		EOF
		traced_start
		# shellcheck disable=SC2086 # two words
		floods --$to --count 1000 --concurrency 8
		pool_stop
		costs 1 sendmsg
		costs 1 recvfrom recvmsg
		costs 1 close
		# And once more when no other client waits.
		costs 2 accept4
		costs 2 epoll_pwait2
		rm "$DIR/trace"
	done
}

. tests/e2e/lib.sh
