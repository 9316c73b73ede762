#!/bin/sh
# handoff = accept: the adapter and its program are as one.

# shellcheck source=tests/e2e/accept_help.sh
. tests/e2e/accept_help.sh

# ---------------------------------------------------------------- two as one

testItWorksByHand() {
	conf <<-EOF
	app web {
		listen = "unix:web.sock"
		command = { "$DIR/apppool-accept", "$DIR/acceptor" }
	}
	EOF
	pool_start
	assert_flood 50
}

testByHandItIsFoundByItsName() {
	conf <<-EOF
	app web {
		listen = "unix:web.sock"
		command = { "apppool-accept", "$DIR/acceptor" }
	}
	EOF
	"$APPPOOLD" -t -c "$DIR/pool.conf" >"$DIR/out" 2>&1
	# What the user must be able to reach is another matter.
	assertFalse "$(cat "$DIR/out")" "grep -q 'not in PATH' '$DIR/out'"
}

testASignalToTheAdapterIsForTheProgram() {
	accept web </dev/null | conf
	pool_start
	assertNotNull "$(web)"
	kill -USR1 "$(status apps web workers 0 pid)"
	await said 'killed by signal 10'
}

# But for those that nobody can catch.
testEverySignalThatItCanCatchReachesTheProgram() {
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
	conf <<-EOF
	app web {
		listen = "unix:web.sock"
		handoff = accept
		command = { "$PYTHON", "$DIR/catch.py" }
	}
	EOF
	pool_start
	worker=$(status apps web workers 0 pid)
	for number in 1 2 3 4 5 6 7 8 10 11 12 13 14 16 17 18 20 21 22 23 24 \
	    25 26 27 28 29 30 31 34 64 15; do
		kill -"$number" "$worker"
		wait_for "$LIMIT" grep -q "caught $number\$" "$DIR/log" ||
		    { fail "signal $number"; return; }
	done
}

testItsExitStatusIsTheAdapters() {
	accept web </dev/null | conf
	pool_start
	web 'exit 3' 2>/dev/null
	await said 'exited with status 3'
}

testItsDeathIsTheAdapters() {
	accept web </dev/null | conf
	pool_start
	web 'kill 6' 2>/dev/null
	await said 'killed by signal 6'
}

testARequestThatTakesTooLongEndsBoth() {
	accept web <<-EOF | conf
	request_timeout = 300ms
	kill_timeout = 100ms
	restart_delay = 10ms
	EOF
	pool_start
	worker=$(status apps web workers 0 pid)
	program=$(program)
	web 'sleep 3600000' 2>/dev/null
	await is_gone "$program"
	await is_gone "$worker"
	await status_is '1 1' apps web lost,idle
}

testItsOutputIsTheLog() {
	accept web --say 'for the log' </dev/null | conf
	pool_start
	await said 'for the log'
}

testTheMissingPrivilegeIsSaidOnce() {
	accept web <<-EOF | conf
	min_processes = 3
	EOF
	pool_start
	web 'exit 0' >/dev/null 2>&1
	await status_is '4 3' apps web spawned,idle
	await said set-user-ID
	assertEquals 1 "$(grep -c set-user-ID "$DIR/log")"
}

testNothingIsSaidOfAPrivilegeThatWasGivenUp() {
	accept web <<-EOF | conf
	no_new_privileges = true
	EOF
	pool_start
	assertFalse "grep -q 'set-user-ID' '$DIR/log'"
}

# ---------------------------------------------------------------- the end

testStoppingFinishesTheRequest() {
	accept web </dev/null | conf
	pool_start
	ask_held
	kill -TERM "$POOL"
	await said stopping
	release
	finish "$POOL"
	assertEquals 0 "$RC"
	behind
	assertEquals waited "$(nth 5 "$ANSWER")"
}

testStoppingFinishesRequestsThatWereHandedOn() {
	accept web --hand-on --nonblock --poll <<-EOF | conf
	concurrency = 2
	EOF
	pool_start
	ask_held
	kill -TERM "$POOL"
	await said stopping
	release
	finish "$POOL"
	assertEquals 0 "$RC"
	behind
	assertEquals waited "$(nth 5 "$ANSWER")"
}

testAnIdleProgramIsEndedAsItWants() {
	accept web --graceful </dev/null | conf
	pool_start -v
	pool_stop
	await said 'exited with status 0 (shutdown)'
}

testThreadsThatTheSignalMissesEndToo() {
	accept web --graceful --threads 3 </dev/null | conf
	pool_start -v
	pool_stop
	await said 'exited with status 0 (shutdown)'
}

testThreadsAreWokenWhenTheSocketIsShutDown() {
	port=$(free_port)
	accept_tcp "$port" --shutdown --threads 3 </dev/null | conf
	pool_start -v
	pool_stop
	await said 'exited with status 0 (shutdown)'
}

testAUnixSocketThatIsShutDownWakesThemToo() {
	accept web --shutdown --threads 3 </dev/null | conf
	pool_start -v
	assertNotNull "$(web)"
	kill -TERM "$(status apps web workers 0 pid)"
	await said 'exited with status 0 (retired)'
}

# is_older NAME SECONDS: a process of the app, and none is younger.
is_older() {
	status apps "$1" workers '*' age |
	    awk -v least="$2" '$1 < least { young++ } END { exit NR == 0 || young }'
}

testOneThatIsToldToEndAndHasLivedIsNoFailure() {
	accept web --graceful <<-EOF | conf
	min_server_life = 200ms
	EOF
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

# Nobody has told the adapter that it will.
testThreadsAreWokenWhenTheProgramShutsItsSocketDownByItself() {
	accept web --shutdown --threads 3 </dev/null | conf
	pool_start
	program=$(program)
	kill -TERM "$program"
	await is_gone "$program"
	assertNotNull "$(web)"
}

testARestartLosesNothing() {
	accept web --graceful <<-EOF | conf
	min_processes = 2
	EOF
	pool_start
	flood_on
	for round in 1 2 3; do
		accept web --graceful <<-EOF | conf
		min_processes = 2
		environment = { "ROUND=$round" }
		EOF
		ctl reload >/dev/null
		await status_is "$round" apps web workers 0 generation
	done
	flood_end
	assertEquals 0 "$(status apps web lost)"
}

testTheEndOfTheDaemonIsTheProgramsWhenItHasFinished() {
	accept web </dev/null | conf
	pool_start
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

# It is given ten seconds.
testTheEndOfTheDaemonIsThatOfWhoDoesNotWantToEnd() {
	cat >"$DIR/stubborn.py" <<-'EOF'
	import signal, socket
	signal.signal(signal.SIGTERM, lambda *_: None)
	server = socket.socket(fileno=0)
	while True:
	    server.accept()[0].sendall(b"hello\n")
	EOF
	conf <<-EOF
	app web {
		listen = "unix:web.sock"
		handoff = accept
		command = { "$PYTHON", "$DIR/stubborn.py" }
	}
	EOF
	pool_start
	worker=$(status apps web workers 0 pid)
	program=$(program)
	kill -KILL "$POOL"
	wait_for $((LIMIT + 10)) is_gone "$program"
	assertTrue 'the program' "is_gone $program"
	await is_gone "$worker"
}

testAnIdleOneEndsWithTheDaemonAtOnce() {
	accept web <<-EOF | conf
	min_processes = 2
	EOF
	pool_start
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
	# Whoever is waited for is given ten seconds.
	took=$(($(now_ms) - begun))
	assertTrue "took $took ms" "[ $took -lt 8000 ]"
}

# What lies unread in its socket resets ours, which is told before the end of
# the file is.
testTheEndOfADaemonThatHasNotReadOurLastWordsIsSeen() {
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
	conf <<-EOF
	app web {
		listen = "unix:web.sock"
		handoff = accept
		directory = "$DIR"
		command = { "$PYTHON", "$DIR/polls.py" }
	}
	EOF
	chmod 777 "$DIR"
	pool_start
	program=$(program)
	ask_held
	pause_process "$POOL"
	release
	await test -e "$DIR/over"
	kill -KILL "$POOL"
	await is_gone "$program"
}

testTheEndOfTheAdapterIsTheProgramsToo() {
	accept web </dev/null | conf
	pool_start
	program=$(program)
	kill -KILL "$(status apps web workers 0 pid)"
	await is_gone "$program"
	assertNotNull "$(web)"
}

# Its adapter starts it some time after it was started itself.
has_program() {
	[ -n "$(program)" ]
}

# Nor does it accept, which would tell it.
testSoItIsWhereTheDaemonIsGoneToo() {
	accept web --start-when "$DIR/never" </dev/null | conf
	pool_run
	await has_program
	worker=$(status apps web workers 0 pid)
	program=$(program)
	kill -KILL "$POOL" "$worker"
	await is_gone "$program"
}

# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
