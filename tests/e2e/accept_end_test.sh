#!/bin/sh
# handoff = accept: the adapter and its program live, fail and end together.

. tests/e2e/accept_help.sh

# ---------------------------------------------------------------- together

# All but SIGKILL and SIGSTOP.
testEverySignalThatAProgramCanCatchReachesIt() {
	cat >"$DIR/catch.py" <<-'EOF'
	import signal, socket
	def told(number, frame):
	    print("caught", number, flush=True)
	    if number == signal.SIGTERM:
	        raise SystemExit
	for number in signal.valid_signals():
	    if number not in (signal.SIGKILL, signal.SIGSTOP):
	        signal.signal(number, told)
	server = socket.socket(fileno=0)
	while True:
	    server.accept()[0].sendall(b"hello\n")
	EOF
	starts '' accepts web "$PYTHON" "$DIR/catch.py"
	worker=$(status apps web workers 0 pid)
	for number in 1 2 3 4 5 6 7 8 10 11 12 13 14 16 17 18 20 21 22 23 24 \
	    25 26 27 28 29 30 31 34 64 15; do
		kill -"$number" "$worker"
		wait_for "$LIMIT" grep -q "caught $number\$" "$DIR/log" ||
		    { fail "signal $number"; return; }
	done
}

testThatProcessesLeaveAfterEachSessionIsToldOnce() {
	for ACCEPT_BY in auto seccomp; do
		starts 'restart_delay = 10ms max_processes = 2' accept web
		left=0
		while [ "$left" -lt 12 ]; do
			web 'exit 0' 2>/dev/null
			left=$((left + 1))
		done
		await said 'its processes leave after each session'
		assertEquals "$ACCEPT_BY" 1 "$(grep -c \
		    'warn.* web: its processes leave after each session: a start is paid for each' \
		    "$DIR/log")"
		pool_stop
		: >"$DIR/log"
	done
}

testTheExitStatusOfTheProgramIsTheAdapters() {
	starts '' accept web
	web 'exit 3' 2>/dev/null
	await said 'exited with status 3'
}

testTheSignalThatKillsTheProgramKillsTheAdapter() {
	starts '' accept web
	web 'kill 6' 2>/dev/null
	await said 'killed by signal 6'
}

testARequestThatTakesTooLongEndsProgramAndAdapter() {
	starts 'request_timeout = 300ms kill_timeout = 100ms
	    restart_delay = 10ms' accept web
	worker=$(status apps web workers 0 pid)
	program=$(program)
	web 'sleep 3600000' 2>/dev/null
	await is_gone "$program"
	await is_gone "$worker"
	await status_is '1 1' apps web lost,idle
}

# ---------------------------------------------------------------- the end

testAStopFinishesRequestsThatTheProgramHandedOn() {
	starts 'concurrency = 2' accept web --hand-on --nonblock --poll
	ask_held
	kill -TERM "$POOL"
	await said stopping
	release
	ends_well
	behind
	assertEquals waited "$(nth 5 "$ANSWER")"
}

# ends_itself COMMAND...: the idle program of that app, when the daemon stops.
ends_itself() {
	"$@" </dev/null | conf
	pool_start -v
	pool_stop
	await said 'exited with status 0 (shutdown)'
}

testIdleProgramsAndTheirThreadsExitByThemselvesOnSigterm() {
	each ends_itself <<-'END'
	accept web --graceful
	accept web --graceful --threads 3
	accept_tcp "$(free_port)" --shutdown --threads 3
	END
}

testThreadsAreWokenWhenTheirUnixSocketIsShutDown() {
	accept web --shutdown --threads 3 </dev/null | conf
	pool_start -v
	assertNotNull "$(web)"
	kill -TERM "$(status apps web workers 0 pid)"
	await said 'exited with status 0 (retired)'
}

testTheAdapterAsksTheProgramToEndByStop_signal() {
	conf_of 'stop_signal = QUIT' accept web --graceful
	pool_start -v
	pool_stop
	await said 'killed by signal 3 (SIGQUIT) (shutdown)'
}

# is_older NAME SECONDS: the app has processes, and none is younger.
is_older() {
	status apps "$1" workers '*' age |
	    awk -v least="$2" '$1 < least { young++ } END { exit NR == 0 || young }'
}

testAnEndOnSigtermAfterMinServerLifeIsNoFailure() {
	conf_of 'min_server_life = 200ms' accept web --graceful
	pool_start -v
	worker=$(status apps web workers 0 pid)
	await is_older web 0.4
	kill -TERM "$worker"
	await said 'exited with status 0 (retired)'
	await status_is 1 apps web idle
	assertEquals null "$(status apps web last_failure)"
	assertEquals 0 "$(status apps web spawn_failures)"
	assertFalse "$(cat "$DIR/log")" "said 'next start in'"
}

# The adapter has passed no signal on, and does not expect that.
testThreadsAreWokenWhenTheProgramShutsItsSocketDownUnasked() {
	starts '' accept web --shutdown --threads 3
	program=$(program)
	kill -TERM "$program"
	await is_gone "$program"
	assertNotNull "$(web)"
}

testARolloutLosesNoConnection() {
	starts 'min_processes = 2' accept web --graceful
	flood_on
	for round in 1 2 3; do
		conf_of "min_processes = 2 environment = { \"ROUND=$round\" }" \
		    accept web --graceful
		ctl reload >/dev/null
		await status_is "$round" apps web workers 0 generation
	done
	flood_end
	assertEquals 0 "$(status apps web lost)"
}

testAfterTheDaemonIsKilledABusyProgramFinishesAndEnds() {
	starts '' accept web
	worker=$(status apps web workers 0 pid)
	program=$(program)
	ask_held
	kill -KILL "$POOL"
	await is_gone "$POOL"
	release
	behind
	assertEquals waited "$(nth 5 "$ANSWER")"
	await is_gone "$program"
	await is_gone "$worker"
}

# The adapter gives its program ten seconds.
testAfterTheDaemonIsKilledAProgramThatIgnoresSigtermEnds() {
	cat >"$DIR/stubborn.py" <<-'EOF'
	import signal, socket
	signal.signal(signal.SIGTERM, lambda *_: None)
	server = socket.socket(fileno=0)
	while True:
	    server.accept()[0].sendall(b"hello\n")
	EOF
	starts '' accepts web "$PYTHON" "$DIR/stubborn.py"
	worker=$(status apps web workers 0 pid)
	program=$(program)
	kill -KILL "$POOL"
	wait_for $((LIMIT + 10)) is_gone "$program"
	assertTrue 'the program' "is_gone $program"
	await is_gone "$worker"
}

testAfterTheDaemonIsKilledIdleProgramsEndAtOnce() {
	starts 'min_processes = 2' accept web
	workers=$(status apps web workers '*' pid)
	programs=
	for worker in $workers; do
		programs="$programs $(children "$worker")"
	done
	begun=$(now_ms)
	kill -KILL "$POOL"
	for pid in $workers $programs; do
		await is_gone "$pid"
	done
	# A program that is waited for is given ten seconds.
	took=$(($(now_ms) - begun))
	assertTrue "took $took ms" "[ $took -lt 8000 ]"
}

# Messages that lie unread in the daemon's socket make the adapter's end report
# a reset before the end of the file.
testAfterADaemonWithUnreadMessagesIsKilledTheProgramEnds() {
	cat >"$DIR/polls.py" <<-'EOF'
	import os, select, socket, time
	server = socket.socket(fileno=0)
	server.setblocking(False)
	served = False
	while True:
	    select.select([server], [], [])
	    try:
	        client = server.accept()[0]
	    except BlockingIOError:
	        if served:
	            open("over", "w").close()
	        continue
	    while not os.path.exists("released"):
	        time.sleep(0.01)
	    client.sendall(b"hello\n")
	    client.close()
	    served = True
	EOF
	chmod 777 "$DIR"
	starts "directory = \"$DIR\"" accepts web "$PYTHON" "$DIR/polls.py"
	program=$(program)
	ask_held
	pause_process "$POOL"
	release
	await test -e "$DIR/over"
	kill -KILL "$POOL"
	await is_gone "$program"
}

testAfterTheAdapterIsKilledTheProgramEnds() {
	starts '' accept web
	program=$(program)
	kill -KILL "$(status apps web workers 0 pid)"
	await is_gone "$program"
	assertNotNull "$(web)"
}

# The adapter starts the program some time after its own start.
has_program() {
	[ -n "$(program)" ]
}

# A program that does not accept is told by nothing but its process group.
testAfterDaemonAndAdapterAreKilledAStartingProgramEnds() {
	begins '' accept web --start-when "$DIR/never"
	await has_program
	worker=$(status apps web workers 0 pid)
	program=$(program)
	kill -KILL "$POOL" "$worker"
	await is_gone "$program"
}

. tests/e2e/lib.sh
