#!/bin/sh
# Refused clients: their answer, that they can read it, and its cost. Waiting
# clients, and how long they wait.

# busy: an app at TCP and Unix addresses, whose one process is busy; further
# options come from stdin.
busy() {
	port=$(free_port)
	{
		cat <<-EOF
		stop_timeout = 100ms
		app "web" {
			listen = { "unix:web.sock", "127.0.0.1:$port" }
			command = { "$TWORKER" }
			max_processes = 1
			min_server_life = 0
			restart_delay = 10ms
			kill_timeout = 100ms
		EOF
		cat
		echo '}'
	} | conf
	pool_start
	hold_at busy
}

refusing() {
	busy <<-EOF
	max_queue = 0
	on_full = refuse
	protocol = $1
	EOF
}

# tcp_get, unix_get: for both kinds of address.
tcp_get() {
	http_get "$@" "http://127.0.0.1:$port/"
}

unix_get() {
	http_get --unix-socket "$DIR/web.sock" "$@" http://web/
}

# ---------------------------------------------------------------- answers

testARefusedHttpClientIsTold503() {
	refusing http
	for get in tcp_get unix_get; do
		$get -D "$DIR/head" -o "$DIR/body" -w '%{http_code}\n' \
		    >"$DIR/code"
		assertEquals "$get" 0 $?
		assertEquals "$get" 503 "$(cat "$DIR/code")"
		assertEquals 'The service is too busy. Please try again later.' \
		    "$(cat "$DIR/body")"
		tr -d '\r' <"$DIR/head" >"$DIR/plain"
		for line in 'HTTP/1.1 503 Service Unavailable' \
		    "Content-Length: $(wc -c <"$DIR/body")" 'Retry-After: 5' \
		    'Connection: close' 'Content-Type: text/plain'; do
			assertTrue "$get: $line" \
			    "grep -qxF '$line' '$DIR/plain'"
		done
	done
	await status_is 2 apps web refused
	assert_accounts web
}

testARefusedFastcgiClientIsToldThatRequest1IsOver() {
	refusing fastcgi
	for to in "unix:$DIR/web.sock" "127.0.0.1:$port"; do
		assertEquals 01030001000800000000000002000000 \
		    "$(socket_client "$to" 'print(read().hex())')"
	done
	assert_accounts web
}

testARefusedRawConnectionIsJustClosed() {
	refusing raw
	for to in "unix:$DIR/web.sock" "127.0.0.1:$port"; do
		assertEquals "b''" "$(socket_client "$to" 'print(read())')"
	done
	await status_is 2 apps web refused
	assert_accounts web
}

# ---------------------------------------------------------------- a file

# replying: with $DIR/answer.
replying() {
	busy <<-EOF
	max_queue = 0
	on_full = "reply:answer"
	EOF
}

testTheFileOfOnFullReplyIsSentAsItIs() {
	head -c 65536 /dev/urandom >"$DIR/answer"
	replying
	for to in "unix:$DIR/web.sock" "127.0.0.1:$port"; do
		socket_client "$to" 'sys.stdout.buffer.write(read())' >"$DIR/got"
		assertTrue "$to: other bytes" \
		    "cmp '$DIR/answer' '$DIR/got'"
	done
	assert_accounts web
}

testAReloadReadsTheReplyFileAgain() {
	echo one >"$DIR/answer"
	replying
	echo two >"$DIR/answer"
	assertEquals "b'one\\n'" \
	    "$(socket_client "unix:$DIR/web.sock" 'print(read())')"
	assertContains "$(ctl reload)" 'web: changed in place'
	assertEquals "b'two\\n'" \
	    "$(socket_client "unix:$DIR/web.sock" 'print(read())')"
	assertEquals 'the process' 1 "$(status apps web sessions)"
}

testAReloadWithoutTheReplyFileChangesNothing() {
	echo one >"$DIR/answer"
	replying
	rm "$DIR/answer"
	told=$(ctl reload 2>&1)
	assertEquals 1 $?
	assertContains "$told" "pool.conf:11: option 'on_full': $DIR/answer: No such"
	assertEquals "b'one\\n'" \
	    "$(socket_client "unix:$DIR/web.sock" 'print(read())')"
}

# ---------------------------------------------------------------- occasions

testAWaitingClientIsAnsweredAfterQueueTimeout() {
	busy <<-EOF
	protocol = http
	queue_timeout = 300ms
	EOF
	for get in tcp_get unix_get; do
		from=$(now_ms)
		assertEquals "$get" 503 \
		    "$($get -o "$DIR/body" -w '%{http_code}')"
		took=$(($(now_ms) - from))
		assertTrue "took $took ms" "[ $took -ge 290 ]"
	done
	await status_is 2 apps web timed_out
	assertEquals 0 "$(status apps web refused)"
	assert_accounts web
}

testAFailedAppAnswersWithARefusal() {
	begins 'start_limit = 1 protocol = http' app web --exit-at-once 1
	await status_is failed apps web state
	assertEquals 503 "$(unix_get -o "$DIR/body" -w '%{http_code}')"
	assertContains "$(cat "$DIR/body")" 'too busy'
	await status_is 1 apps web refused
	assert_accounts web
}

testAFailedAppTellsDevelopersWhyItDoesNotStart() {
	begins 'start_limit = 1 protocol = http tell_failures = true' app web \
	    --exit-at-once 1
	await status_is failed apps web state
	assertEquals 503 "$(unix_get -o "$DIR/body" -w '%{http_code}')"
	assertContains "$(cat "$DIR/body")" 'web: exited with status 1 before'
}

testAFullLimitAnswersWithARefusal() {
	conf <<-EOF
	stop_timeout = 100ms
	counter = "127.0.0.1:$(free_port)"
	app "web" {
		listen = "unix:web.sock"
		command = { "$TWORKER" }
		min_processes = 2
		kill_timeout = 100ms
		limit = "local key 1 1 10s"
		on_full = refuse
		protocol = http
	}
	EOF
	pool_start
	hold_at busy
	assertEquals 503 "$(unix_get -o "$DIR/body" -w '%{http_code}')"
	await status_is 1 apps web refused
	assert_accounts web
}

# kill_stopped: kills a process that never received its connection.
kill_stopped() {
	await status_is 1 apps web sessions
	stopped=$(status apps web workers '*' pid | tail -n 1)
	await is_suspended "$stopped"
	kill -KILL "$stopped"
}

testAfterRetryLimitProcessesAConnectionIsRefused() {
	conf <<-EOF
	stop_timeout = 100ms
	app "web" {
		listen = "unix:web.sock"
		command = { "$TWORKER", "--stop-self" }
		max_processes = 1
		retry_limit = 2
		restart_delay = 10ms
		min_server_life = 0
		pickup_timeout = 1h
		kill_timeout = 100ms
		protocol = http
	}
	EOF
	pool_run
	start_process curl -sS --max-time $((3 * LIMIT)) -o "$DIR/body" \
	    -w '%{http_code}\n' --unix-socket "$DIR/web.sock" http://web/ \
	    >"$DIR/code"
	asked=$STARTED
	for retaken in 1 2; do
		kill_stopped
		await status_is $retaken apps web retaken
		assertEquals 0 "$(status apps web refused)"
	done
	kill_stopped
	finish "$asked"
	assertEquals 503 "$(cat "$DIR/code")"
	await status_is 3 apps web retaken
	await status_is 1 apps web refused
	await said 'a connection is refused: retry_limit processes died'
	assert_accounts web
}

testWaitingClientsAreServedAndFurtherOnesRefused() {
	busy <<-EOF
	max_queue = 2
	on_full = refuse
	protocol = http
	EOF
	for n in 1 2; do
		start_process "$BUILD/tests/e2e/ask" \
		    --to "unix:$DIR/web.sock" --timeout $((3 * LIMIT)) \
		    >"$DIR/waiter$n"
		await status_is $n apps web waiting
	done
	for _ in 1 2 3; do
		assertEquals 503 "$(tcp_get -o "$DIR/body" -w '%{http_code}')"
	done
	kill -KILL "$(status apps web workers 0 pid)"
	for n in 1 2; do
		await grep -q hello "$DIR/waiter$n"
	done
	await status_is 2 apps web completed
	await status_is 3 apps web refused
	assert_accounts web
}

# ---------------------------------------------------------------- reading it

testAClientThatUploadsAMegabyteIsTold503() {
	refusing http
	head -c 1048576 /dev/zero >"$DIR/megabyte"
	for get in tcp_get unix_get; do
		for _ in 1 2 3 4 5 6 7 8 9 10; do
			assertEquals "$get" 503 "$($get -o "$DIR/body" \
			    -w '%{http_code}' -H Expect: \
			    --data-binary "@$DIR/megabyte")"
		done
	done
	await status_is 20 apps web refused
	assert_accounts web
}

# With protocol = raw the client could have wanted no answer.
testAClientThatLeftIsDroppedInProtocolsWithAnAnswer() {
	for protocol in http fastcgi; do
		busy <<-EOF
		protocol = $protocol
		EOF
		socket_client "unix:$DIR/web.sock" 's.send(b"hello\n")' 's.close()'
		await status_is 1 apps web abandoned
		assert_accounts web
		pool_stop
	done
}

# ---------------------------------------------------------------- what it costs

# hold N [PORT]: so many clients that say nothing, read nothing, and stay.
# shellcheck disable=SC2317 # it is called below
hold() {
	start_process "$PYTHON" -c '
import socket, sys, time
held = []
for i in range(int(sys.argv[1])):
    if len(sys.argv) > 3:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[3])))
    else:
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[2])
    held.append(s)
time.sleep(60)' "$1" "$DIR/web.sock" ${2:+"$2"}
}

# Descriptors that lie unread in a Unix socket are closed by a helper, which may
# wait.
testDescriptorsThatARefusedClientSendsAreNotKept() {
	refusing http
	before=$(fds "$POOL")
	assertEquals 0 "$(socket_client "unix:$DIR/web.sock" 'r, w = os.pipe()' 'socket.send_fds(s, [b"x"], [w])' \
	    'os.close(w)' 's.close()' 'print(len(os.read(r, 1)))')"
	await has_fds "$before"
}

testDescriptorsForLingeringConnectionsAreReserved() {
	for word in close refuse; do
		conf_of "max_queue = 10 on_full = $word protocol = http" app web
		sed -i 1i'max_processes = 10' "$DIR/pool.conf"
		run_by prlimit --nofile=300:300
		if [ $word = close ]; then
			assertTrue 'close' pool_answers
			pool_stop
		fi
	done
	finish "$POOL"
	assertEquals 71 "$RC"
	assertTrue "said '1 listeners, 0 for limits, 0 for keep_alive, 323 others'"
}

testAFloodOfRefusalsAddsUpInTheAccounts() {
	starts 'max_processes = 1 max_queue = 5 on_full = refuse
	    protocol = http' app web --work 1ms
	before=$(fds "$POOL")
	floods --unix "$DIR/web.sock" --count 5000 --concurrency 100 \
	    --min answered=5000
	await status_is 0 apps web sessions
	assertEquals 5000 "$(status apps web accepted)"
	assertEquals 5000 $(($(status apps web completed) +
	    $(status apps web refused)))
	assertNotEquals 0 "$(status apps web refused)"
	assertEquals 0 "$(status apps web lost)"
	assert_accounts web
	await has_fds $((before + 2))
}

# ---------------------------------------------------------------- the end

testAStopDoesNotWaitForLingeringClientsToLeave() {
	refusing http
	hold 10
	holder=$STARTED
	await status_is 10 apps web refused
	pool_stop INT
	assertEquals 0 "$RC"
	assertFalse 'the clients have left' "is_gone $holder"
}

# A client that reads for 2 seconds is cut: this one reads fast once the stop
# has begun.
testAStopDoesNotCutAnAnswerShort() {
	head -c 65536 /dev/urandom >"$DIR/answer"
	replying
	start_process "$PYTHON" -c '
import os, signal, socket, sys, time
log = open(sys.argv[3])
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
s.connect(("127.0.0.1", int(sys.argv[1])))
s.sendall(bytes(300000))
got = s.recv(1)
os.kill(int(sys.argv[2]), signal.SIGINT)
end = time.monotonic() + 1
while "stopping now" not in log.read() and time.monotonic() < end:
    time.sleep(0.001)
while part := s.recv(2000):
    got += part
sys.stdout.buffer.write(got)' "$port" "$POOL" "$DIR/log" >"$DIR/got"
	reader=$STARTED
	ends_well
	finish "$reader"
	assertTrue 'other bytes' "cmp '$DIR/answer' '$DIR/got'"
}

. tests/e2e/lib.sh
