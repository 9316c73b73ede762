#!/bin/sh
# Processes that die, hang or go silent, and what becomes of their clients.

file_setup() {
	mkdir -m 1777 "$DIR/marks"
}

# bad_first OPTION-OF-tworker...: an app of two processes, replaced without
# delay. The first of them has these options, and leaves a mark by which all
# others are good workers.
bad_first() {
	rm -rf "$DIR/marks/first"
	cat >"$DIR/bad" <<-EOF
	#!/bin/sh
	mkdir "$DIR/marks/first" 2>/dev/null && exec "$TWORKER" $*
	exec "$TWORKER"
	EOF
	chmod 755 "$DIR/bad"
	conf_of 'min_processes = 2 max_processes = 2 pickup_timeout = 1s
	    restart_delay = 10ms min_server_life = 0' server web ./bad
}

# both_are_answered: two clients at once are served by two processes, although
# the first process is bad.
both_are_answered() {
	from=$(now_ms)
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --text "$(gate both)" --timeout $((2 * LIMIT)) --count 2 \
	    --together >"$DIR/ask"
	asked=$STARTED
	await are_at_gate 2 both
	took=$(($(now_ms) - from))
	open_gate both
	finish "$asked"
	assertEquals 'answers' 2 "$(grep -c hello "$DIR/ask")"
	# pickup_timeout is 1 s here; its default is 10 s.
	assertTrue "took $took ms" "[ $took -lt 8000 ]"
}

# are_at_gate COUNT NAME
are_at_gate() {
	[ "$(at_gate "$2" | wc -l)" -eq "$1" ]
}

# worker_is STATE PID: in the status.
worker_is() {
	status apps 0 workers '*' state,pid | grep -qx "$1 $2"
}

testASiblingServesTheConnectionThatAKilledProcessDidNotReceive() {
	starts 'min_processes = 2 max_processes = 2' app web
	first=$(pid_of "$(web)")
	await status_is 0 apps web sessions
	pause_process "$first"
	ask_behind hello
	await worker_is active "$first"
	kill -KILL "$first"
	behind
	assertEquals "$ANSWER" 0 "$RC"
	assertNotEquals "$first" "$(pid_of "$ANSWER")"
	await status_is 1 apps web retaken
	assertEquals 0 "$(status apps web lost)"
	assert_accounts web
	await said "(pid $first) killed by signal 9"
	assertFalse 'it is said to have had a session' "said 'in a session'"
}

testManyConnectionsThatKilledProcessesDidNotReceiveAreServed() {
	starts 'min_processes = 2 max_processes = 2 restart_delay = 10ms
	    min_server_life = 0' app web
	i=0
	while [ $i -lt 10 ]; do
		i=$((i + 1))
		# Both processes die with a connection unread; two more wait.
		pids=$(status apps web workers '*' pid)
		# shellcheck disable=SC2086 # numbers
		pause_process $pids
		start_process "$BUILD/tests/e2e/ask" \
		    --to "unix:$DIR/web.sock" --timeout "$LIMIT" \
		    --count 4 --together >"$DIR/ask"
		asked=$STARTED
		await status_is 2 apps web waiting
		# shellcheck disable=SC2086
		kill -KILL $pids
		finish "$asked"
		assertEquals 4 "$(grep -c hello "$DIR/ask")"
		await both_are_idle
	done
	await status_is 20 apps web retaken
	await status_is 40 apps web completed
	assertEquals 0 "$(status apps web lost)"
	assert_accounts web
}

# both_are_idle: and no dead process is in the list, whose channel is still
# read.
both_are_idle() {
	[ "$(status apps web workers '*' state | xargs)" = 'idle idle' ]
}

testAConnectionTakenBackKeepsItsPlaceInTheQueue() {
	: >"$DIR/marks/start"
	starts 'max_processes = 1 restart_delay = 10ms' \
	    app web --start-when "$DIR/marks/start"
	pid=$(pid_of "$(web)")
	await status_is 0 apps web sessions
	pause_process "$pid"
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --timeout "$LIMIT" --count 5 --together --times >"$DIR/ask"
	asked=$STARTED
	await status_is 4 apps web waiting
	# The next process finds all five there.
	rm "$DIR/marks/start"
	kill -KILL "$pid"
	await status_is 5 apps web waiting
	: >"$DIR/marks/start"
	finish "$asked"
	assertEquals "$(seq 0 4)" "$(cut -d ' ' -f 2 "$DIR/ask")"
}

testAShortPickupTimeoutIsNotRoundedToASecond() {
	starts 'max_processes = 1 pickup_timeout = 300ms' app web
	pid=$(status apps web workers 0 pid)
	pause_process "$pid"
	from=$(now_ms)
	ask_behind hello
	await is_gone "$pid"
	took=$(($(now_ms) - from))
	assertTrue "took $took ms" "[ $took -ge 250 ]"
	assertTrue "took $took ms" "[ $took -lt 1000 ]"
	behind
	assertContains "$ANSWER" hello
}

testABusyProcessThatLeavesStopUnreadIsNotKilled() {
	starts 'min_processes = 1 pickup_timeout = 10s' app web
	hold_at work
	# The short timeout begins when the worker has its connection.
	sed -i 's/pickup_timeout = .*/pickup_timeout = 1s/' "$DIR/pool.conf"
	ctl reload >/dev/null
	kill -TERM "$POOL"
	await status_is stopping apps web state
	sleep 2.2
	open_gate work
	finish "$POOL"
	behind
	assertContains "$ANSWER" hello
}

testAnUnreadConnectionDoesNotEndTheSessionsBesideIt() {
	starts 'concurrency = 2 min_processes = 1 max_processes = 1
	    pickup_timeout = 4s' app web --concurrency 2
	hold_at first
	sleep 4.2
	# The second lies unread when it is looked at, but not for long.
	pid=$(status apps web workers 0 pid)
	pause_process "$pid"
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --text second --timeout $((3 * LIMIT)) >"$DIR/second" 2>&1
	second=$STARTED
	sleep 1.3
	kill -CONT "$pid"
	finish "$second"
	open_gate first
	behind
	assertContains "$ANSWER" hello
	assertContains "$(cat "$DIR/second")" hello
	assertEquals 0 "$(status apps web lost)"
}

# The process looks at its message, sets SO_LINGER, and leaves the message
# unread: the last close of the connection would wait for the client to read.
testAProcessCannotHaveTheDaemonLingerOverAConnection() {
	port=$(free_port)
	cat >"$DIR/lingerer" <<-EOF
	#!$PYTHON
	import array, os, signal, socket, struct
	control = socket.socket(fileno=int(os.environ["APPPOOL_FD"]))
	control.send(b"READY")
	ancillary = control.recvmsg(100, 64, socket.MSG_PEEK)[1]
	fd = array.array("i", ancillary[0][2])[0]
	client = socket.socket(fileno=fd)
	client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
	    struct.pack("ii", 1, 60))
	client.setblocking(False)
	try:
	    while True:
	        client.send(bytes(65536))
	except BlockingIOError:
	    os.kill(os.getpid(), signal.SIGKILL)
	EOF
	chmod +x "$DIR/lingerer"
	conf <<-EOF
	app "web" {
		listen = "127.0.0.1:$port"
		command = { "./lingerer" }
		max_processes = 1
		retry_limit = 0
	}
	EOF
	pool_start
	start_process "$PYTHON" -c "
import socket, time
s = socket.create_connection(('127.0.0.1', $port))
time.sleep(60)"
	await status_is 1 apps web refused
}

testAConnectionIsTakenBackOnceThereIsADescriptorForIt() {
	starts 'min_processes = 2 max_processes = 2' app web
	first=$(pid_of "$(web)")
	await status_is 0 apps web sessions
	pause_process "$first"
	ask_behind hello
	prlimit --pid "$POOL" --nofile="$(lowest_free):"
	kill -KILL "$first"
	sleep 0.5
	prlimit --pid "$POOL" --nofile=1024:
	behind
	assertContains "$ANSWER" hello
	await status_is 1 apps web retaken
	assertEquals 0 "$(status apps web lost)"
}

# The lowest number the daemon has no descriptor for.
lowest_free() {
	fd=0
	while [ -L "/proc/$POOL/fd/$fd" ]; do fd=$((fd + 1)); done
	echo "$fd"
}

testAProcessThatStaysStoppedLosesItsClientAfterPickupTimeout() {
	starts 'min_processes = 2 max_processes = 2 pickup_timeout = 1s
	    restart_delay = 10ms min_server_life = 0' app web
	first=$(pid_of "$(web)")
	await status_is 0 apps web sessions
	pause_process "$first"
	cpu=$(cpu_of "$POOL")
	from=$(now_ms)
	answer=$(web)
	took=$(($(now_ms) - from)) cpu=$((($(cpu_of "$POOL") - cpu) / 1000000))
	assertNotEquals "$first" "$(pid_of "$answer")"
	assertTrue "took $took ms" "[ $took -ge 900 ]"
	assertTrue "took $took ms" "[ $took -lt 8000 ]"
	assertTrue "$cpu ms of processor" "[ $cpu -lt $((50 * SLOW)) ]"
	await said "(pid $first) is killed: it did not receive its connection"
	await is_gone "$first"
	# Twice, if the other process was late as well.
	assertTrue "[ $(status apps web retaken) -ge 1 ]"
}

# delays_no_client OPTION-OF-tworker [TEXT]: a first process with that option,
# of which the log has that text.
delays_no_client() {
	bad_first "$1"
	pool_run
	[ -z "$2" ] || await said "$2"
	await status_is 2 apps web idle
	cpu=$(cpu_of "$POOL")
	both_are_answered
	[ -z "$2" ] || sleep 0.5
	cpu=$((($(cpu_of "$POOL") - cpu) / 1000000))
	assertTrue "$cpu ms of processor" "[ $cpu -lt $((50 * SLOW)) ]"
	assertEquals 0 "$(status apps web lost)"
	assert_accounts web
}

testAProcessThatStopsOrLosesItsChannelWhenReadyDelaysNoClient() {
	each delays_no_client <<-'END'
	--stop-self
	--close-channel
	--shutdown-channel 'its socket is shut down'
	END
}

testAProcessThatShutsItsChannelDownInASessionLosesItAlone() {
	starts 'max_processes = 1 restart_delay = 10ms' \
	    app web --at 2 --shutdown-channel
	assertEquals 1 "$(web | grep -c hello)"
	assertEquals '' "$(web hello 2>/dev/null)"
	assertEquals 1 "$(web | grep -c hello)"
	await status_is 1 apps web lost
	assert_accounts web
}

testTheClientOfAProcessKilledInASessionSeesTheEnd() {
	starts 'min_processes = 2' app web
	hold_at work
	pid=$(at_gate work)
	kill -KILL "$pid"
	behind
	assertContains "$ANSWER" eof
	await status_is 1 apps web lost
	said="web: worker .* (pid $pid) killed by signal 9"
	await grep -q "$said.* in a session of [0-9]*[.][0-9]\{3\} s" "$DIR/log"
	assert_accounts web
}

testABegunSessionIsNotServedTwice() {
	starts 'min_processes = 2' app web
	assertEquals '' "$(web 'kill 9' 2>/dev/null)"
	await status_is 1 apps web lost
	assertEquals 0 "$(status apps web retaken)"
	assertEquals 1 "$(status apps web accepted)"
}

testAnIdleProcessThatIsKilledIsReplaced() {
	starts 'min_processes = 3 restart_delay = 10ms' app web
	victim=$(status apps web workers 0 pid)
	kill -KILL "$victim"
	await status_is 4 apps web spawned
	await status_is 3 apps web idle
	said="web: worker .* (pid $victim) killed by signal 9"
	await grep -q "$said" "$DIR/log"
	assertEquals 'lines' 1 "$(grep -c "$said" "$DIR/log")"
	await status_is '{"signal": 1}' apps web exits
	await no_zombies
}

testAnExitInASessionIsLoggedWithItsStatus() {
	starts 'restart_delay = 10ms' app web
	assertEquals '' "$(web 'exit 7' 2>/dev/null)"
	await said 'exited with status 7 in a session of'
	await status_is 1 apps web lost
	await status_is 1 apps web idle
}

testAThreadThatCannotTakeItsConnectionLosesItAlone() {
	starts 'max_processes = 1 concurrency = 6 limit_nofile = 8' \
	    app web --concurrency 6
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --text "$(gate all)" --timeout "$LIMIT" --count 6 --together \
	    >"$DIR/ask" 2>&1
	asked=$STARTED
	# 0 to 3 and four connections: there is no place for more.
	await status_is 2 apps web lost
	open_gate all
	finish "$asked"
	assertEquals 4 "$(grep -c hello "$DIR/ask")"
	await status_is 0 apps web sessions
	assertEquals 1 "$(status apps web spawned)"
	assert_accounts web
}

testJobWorkersAreKeptAtTheirNumber() {
	starts 'handoff = none min_processes = 3 restart_delay = 10ms' \
	    job jobs /bin/sleep 1000
	for pid in $(status apps jobs workers '*' pid); do
		kill -KILL "$pid"
	done
	await status_is 6 apps jobs spawned
	await status_is 3 apps jobs processes
	assertEquals null "$(status apps jobs sessions)"
	stops_well
	await no_leftovers
}

testTheSessionOfADaemonThatIsKilledIsFinished() {
	starts '' app web
	hold_at work
	kill -KILL "$POOL"
	finish "$POOL"
	open_gate work
	behind
	assertEquals "$ANSWER" 0 "$RC"
	await no_leftovers
}

testAConnectionIsTakenBackWithoutTheKeeper() {
	starts 'min_processes = 2 max_processes = 2 output = null' app web
	first=$(pid_of "$(web)")
	await status_is 0 apps web sessions
	keeper=$(status apps web keepers 0 pid)
	kill -KILL "$keeper"
	await is_gone "$keeper"
	pause_process "$first"
	ask_behind hello
	await worker_is active "$first"
	kill -KILL "$first"
	behind
	assertEquals "$ANSWER" 0 "$RC"
	assertEquals 0 "$(status apps web lost)"
	await status_is 1 apps web retaken
	await no_zombies
}

testAfterADeathNoDescriptorIsLeftOpen() {
	starts 'min_processes = 2 restart_delay = 1ms restart_delay_max = 1ms
	    min_server_life = 0' app web
	await status_is 2 apps web idle
	before=$(fds "$POOL")
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		kill -KILL "$(status apps web workers 0 pid)"
		web 'kill 9' >/dev/null 2>&1
		await status_is 2 apps web idle
	done
	await has_fds "$before"
}

. tests/e2e/lib.sh
