#!/bin/sh
# Sessions and processes beyond their limits: slow_timeout, request_timeout,
# max_memory; and prefetched connections behind them.

# web_conf_of COUNT [OPTION...]: the app with so many processes, its options a
# line each; web_conf: with two.
web_conf_of() {
	{
		echo "min_processes = $1"
		echo "max_processes = $1"
		shift
		printf '%s\n' "$@"
	} | app web | conf
}

web_conf() {
	web_conf_of 2 "$@"
}

workers() {
	status apps web workers '*' pid | sort
}

# busy_pid: the pids of workers in a session.
busy_pid() {
	status apps 0 workers '*' sessions,pid | sed -n 's/^[1-9][0-9]* //p'
}

# waits_in CALL PID: in a function of the kernel of such a name; true if we may
# not see that.
waits_in() {
	! sees_others || grep -q "$1" "/proc/$2/wchan"
}

# change [OPTION...]: the same app, with these options.
change() {
	web_conf "$@"
	reload
}

# client TEXT [OPTION...]: in the background; the answer is in $DIR/told.
client() {
	client_text=$1
	shift
	# A client before it may still write to its own file.
	rm -f "$DIR/told"
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --text "$client_text" --timeout $((6 * LIMIT)) "$@" \
	    >"$DIR/told" 2>&1
	CLIENT=$STARTED
}

# silent: a client that connects and says nothing.
silent() {
	start_process "$PYTHON" -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
time.sleep(60)' "$DIR/web.sock"
	SILENT=$STARTED
}

# sleeping CALL: as it is logged, if the daemon may see more than the state.
sleeping() {
	if sees_others; then echo "sleeping in $1"; else echo sleeping; fi
}

# --- slow_timeout -------------------------------------------------------

testEverySlowSessionIsReportedOnce() {
	web_conf 'slow_timeout = 300ms'
	pool_start
	for session in 1 2; do
		hold_at "$session"
		await has_said "$session" 'is slow'
		open_gate "$session"
		behind
		assertContains "$ANSWER" hello
	done
	assertEquals 2 "$(times_said 'is slow')"
	assertEquals 0 "$(status apps web lost)"
}

# The timeout is set only after the worker has come to its system call.
testASlowSessionIsReportedWithItsSystemCall() {
	web_conf
	pool_start
	ask_behind 'sleep 60s'
	pid=$(busy_pid)
	await waits_in nanosleep "$pid"
	change 'slow_timeout = 300ms'
	await said ' is slow: its session is '
	kill -KILL "$pid"
	assertTrue 'who, how long and where' "grep -qE \
	    \"web: worker [a-z0-9]+ \(pid $pid\) is slow: its session is \
[0-9.]+ s old, $(sleeping 'clock_nanosleep, at [a-z_]*nanosleep')\" '$DIR/log'"
	assertContains "$(ctl events web | grep ' slow  ')" \
	    "(pid $pid) is slow: its session is"
}

testASessionThatWaitsForItsClientIsReportedWithItsSocket() {
	web_conf
	pool_start
	silent
	await status_is 1 apps web sessions
	await waits_in unix_stream "$(busy_pid)"
	change 'slow_timeout = 300ms'
	await said " $(sleeping 'read of socket:[')"
	stop_process "$SILENT"
	await status_is 1 apps web completed
}

testTheKernelStackOfASlowSessionIsReportedToRoot() {
	web_conf
	pool_start
	client 'sleep 60s' --count 2 --together
	await status_is 2 apps web active
	pids=$(busy_pid)
	for pid in $pids; do
		await waits_in nanosleep "$pid"
	done
	change 'slow_timeout = 300ms'
	await has_said 2 'is slow'
	if cat /proc/self/stack >/dev/null 2>&1; then
		await has_said 2 'its kernel stack: '
		assertEquals 2 "$(times_said 'its kernel stack: ')"
		assertTrue "grep -q 'stack: .*nanosleep < ' '$DIR/log'"
	else
		await said 'cannot be seen in full'
	fi
	# shellcheck disable=SC2086 # numbers
	kill -KILL $pids
	finish "$CLIENT"
	# Once for all sessions.
	assertTrue "[ $(times_said 'cannot be seen in full') -le 1 ]"
}

testASessionWithinSlowTimeoutIsNotReported() {
	web_conf 'slow_timeout = 10s'
	pool_start
	assertContains "$(web 'sleep 500ms')" hello
	assertEquals 0 "$(times_said 'is slow')"
}

# --- which request it is --------------------------------------------------

# Their bytes are there before the hand-over: wait_for_data.
testTheRequestOfASlowSessionAndOfALostOneIsTold() {
	web_conf 'slow_timeout = 300ms' 'protocol = http' 'wait_for_data = true'
	pool_start
	ask_behind 'sleep 60s'
	await said 'is slow'
	assertTrue "grep -qE 's old, request \"sleep 60s\", [sr]' '$DIR/log'"
	assertEquals 'sleep 60s' "$(status apps web workers '*' request |
	    sed '/^$/d;/^null$/d')"
	assertContains "$(ctl status -v)" ' "sleep 60s"'
	change 'protocol = http' 'wait_for_data = true' 'log_requests = false'
	assertNotContains "$(ctl status -v)" 'sleep 60s'
	change 'protocol = http' 'wait_for_data = true'
	kill -KILL "$(busy_pid)"
	behind
	await said ', request "sleep 60s" (signal)'
}

testARequestIsNotToldWithLogRequestsFalse() {
	web_conf 'slow_timeout = 300ms' 'protocol = http' \
	    'wait_for_data = true' 'log_requests = false'
	pool_start
	ask_behind 'sleep 60s'
	await said 'is slow'
	assertNotContains "$(ctl -j status)" 'sleep 60s'
	kill -KILL "$(busy_pid)"
	behind
	await said '(signal)'
	assertEquals 0 "$(times_said 'sleep 60s')"
}

testTheScriptOfASlowFastcgiRequestIsTold() {
	web_conf 'slow_timeout = 300ms' 'protocol = fastcgi' \
	    'wait_for_data = true'
	pool_start
	start_process "$PYTHON" -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
params = b"".join(bytes([len(n), len(v)]) + n + v for n, v in (
    (b"QUERY_STRING", b"id=7"), (b"SCRIPT_FILENAME", b"/srv/cart.php"),
    (b"REQUEST_URI", b"/cart?id=7")))
s.sendall(b"\1\1\0\1\0\10\0\0" + b"\0\1" + bytes(6) +
    b"\1\4\0\1" + len(params).to_bytes(2, "big") + bytes(2) + params)
time.sleep(60)' "$DIR/web.sock"
	await said ' s old, request "/srv/cart.php /cart?id=7", '
	stop_process "$STARTED"
	await status_is 1 apps web completed
}

# --- request_timeout ----------------------------------------------------

testARequestThatTakesTooLongEndsItsProcessAndNoOther() {
	web_conf
	pool_start
	ask_behind 'sleep 60s'
	pid=$(busy_pid)
	other=$(workers | grep -vx "$pid")
	for _ in 1 2 3; do
		assertEquals "$other" "$(pid_of "$(web)")"
	done
	await waits_in nanosleep "$pid"
	change 'request_timeout = 500ms'
	behind
	assertEquals 'the client sees that it is over' 1 "$RC"
	assertNotContains "$ANSWER" hello
	assertTrue 'who, how long and where' "grep -qE \
	    \"web: worker [a-z0-9]+ \(pid $pid\) is terminated: its request is \
[0-9.]+ s old, $(sleeping clock_nanosleep)\" '$DIR/log'"
	await status_is 2 apps web idle
	assertContains "$(workers)" "$other"
	await status_is 1 apps web lost
	await status_is 1 apps web exits request_timeout
	# The end counts neither as a failed start nor as a young death.
	assertEquals 0 "$(times_said 'next start in')"
	assert_accounts web
}

testAStoppedProcessBeyondRequestTimeoutIsReportedAndKilled() {
	web_conf
	pool_start
	ask_behind 'sleep 60s'
	pid=$(busy_pid)
	pause_process "$pid"
	change 'request_timeout = 500ms' 'kill_timeout = 500ms'
	await is_gone "$pid"
	await said " s old, stopped"
}

testTheSignalsOfSlowAndOfEndedSessionsAreSent() {
	kernel_says='killed by signal'
	for case in '6 request_timeout ABRT' '9 request_timeout none' \
	    '10 slow_timeout USR1'; do
		# shellcheck disable=SC2086 # words
		set -- $case
		signal=timeout_signal
		[ "$2" = request_timeout ] || signal=slow_signal
		web_conf "$2 = 300ms" "$signal = $3" 'kill_timeout = 300ms'
		pool_start
		ask_behind 'sleep 60s'
		behind
		await said "$kernel_says $1"
		assertEquals 1 "$(times_said "$kernel_says")"
		pool_stop
		: >"$DIR/log"
	done
}

# sleeper SUFFIX: an application whose function nap() sleeps for a minute.
sleeper() {
	case $1 in
	py) echo 'import time
def nap():
    time.sleep(60)
def application(environ, start_response):
    nap()' ;;
	ru) echo 'def nap = sleep(60)
run ->(env) { nap }' ;;
	psgi) echo 'sub nap { sleep 60; 1 } sub { nap(); [200, [], []] }' ;;
	esac >"$DIR/sleeper.$1"
	chmod a+r "$DIR/sleeper.$1"
}

# assert_stacks WORKER SUFFIX APPLICATION TEXT PROGRAM...: the text is in the log
# when a session is slow; skipped where the program fails.
assert_stacks() {
	worker=$1 suffix=$2 application=$3 text=$4
	shift 4
	"$@" >/dev/null 2>&1 || { skip "no apppool-$worker"; return; }
	sleeper "$suffix"
	conf <<-EOF
	stop_timeout = 100ms
	app "web" {
		listen = "unix:web.sock"
		command = { "apppool-$worker", "$application" }
		directory = "$DIR"
		kill_timeout = 100ms
		slow_timeout = 300ms
		slow_signal = USR2
	}
	EOF
	pool_start
	start_process curl -sS -o "$DIR/page" --unix-socket "$DIR/web.sock" \
	    http://web/
	await said "$text"
}

testWorkersPrintTheirStacksOnSlowSignal() {
	each assert_stacks <<-'END'
	wsgi py sleeper:application 'in nap' "$PYTHON" -V
	rack ru ./sleeper.ru "nap'" /usr/bin/ruby -e 'require "rack"'
	psgi psgi ./sleeper.psgi ::nap /usr/bin/perl -MPlack -MSocket::MsgHdr -e 1
	END
}

# --- max_memory ---------------------------------------------------------

# memory_conf [OPTION...]: max_memory is 64 MiB more than an idle worker has.
memory_conf() {
	web_conf
	pool_start
	web >/dev/null
	memory_limit=$(($(rss "$(status apps web workers 0 pid)") / 1024 + 64))
	pool_stop
	web_conf "max_memory = ${memory_limit}M" "$@"
	pool_start
}

testAProcessThatGrewIsReplacedAfterItsSession() {
	memory_conf
	assertContains "$(web 'grow 16')" hello
	answer=$(web 'grow 128')
	assertContains "$answer" hello
	await is_gone "$(pid_of "$answer")"
	await status_is 2 apps web idle
	await status_is 1 apps web exits max_memory
	assertEquals 3 "$(status apps web spawned)"
	await status_is 2 apps web completed
	assertEquals 0 "$(times_said 'next start in')"
	assert_accounts web
}

testAProcessThatGrowsWhileIdleIsReplacedAtAnUpdate() {
	memory_conf 'update_interval = 500ms'
	answer=$(web 'grow-later 128')
	assertContains "$answer" hello
	await is_gone "$(pid_of "$answer")"
	await status_is 2 apps web idle
	await status_is 1 apps web exits max_memory
}

# --- the program behind an adapter ---------------------------------------

# accept_conf [OPTION...]: a program that the adapter apppool-accept runs.
accept_conf() {
	cat >"$DIR/program.py" <<-'EOF'
	import os, socket, time
	listener, kept = socket.socket(fileno=0), []
	while True:
	    client, _ = listener.accept()
	    word, _, rest = client.recv(100).decode().strip().partition(" ")
	    if word == "sleep":
	        time.sleep(float(rest))
	    if word == "grow":
	        kept.append(bytearray(int(rest) << 20))
	    client.sendall(b"%d hello\n" % os.getpid())
	    client.close()
	EOF
	printf '%s\n' 'handoff = accept' 'accept_by = seccomp' \
	    'max_processes = 1' "$@" |
	    server web "$PYTHON" "$DIR/program.py" | conf
}

testTheProgramBehindAnAdapterIsReportedAsSlow() {
	accept_conf
	pool_start
	program=$(pid_of "$(web)")
	ask_behind 'sleep 60'
	await waits_in 'nanosleep\|select' "$program"
	accept_conf 'slow_timeout = 300ms'
	ctl reload >/dev/null
	await said 'is slow: its session is '
	kill -KILL "$program"
	assertTrue 'where its program is' "grep -qE \
	    'is slow: its session is [0-9.]+ s old, its program \(pid \
$program\) $(sleeping '(clock_nanosleep|pselect6|select)')' '$DIR/log'"
}

testTheMemoryOfTheProgramBehindAnAdapterCounts() {
	accept_conf
	pool_start
	limit=$(($(rss "$(pid_of "$(web)")") / 1024 + 64))
	pool_stop
	accept_conf "max_memory = ${limit}M"
	pool_start
	small=$(pid_of "$(web 'grow 8')")
	assertEquals "$small" "$(pid_of "$(web 'grow 96')")"
	await is_gone "$small"
	assertContains "$(web)" hello
	await status_is 1 apps web exits max_memory
	assertEquals 0 "$(status apps web lost)"
}

# --- prefetched connections ---------------------------------------------

testAProcessThatDoesNotReceiveIsKilledAndItsConnectionsServed() {
	web_conf_of 1 'prefetch = 1'
	pool_start
	pid=$(status apps web workers 0 pid)
	pause_process "$pid"
	client hello --count 2 --together
	await status_is 2 apps web sessions
	web_conf_of 1 'prefetch = 1' 'pickup_timeout = 1s'
	reload
	await is_gone "$pid"
	finish "$CLIENT" $((3 * LIMIT))
	assertEquals 2 "$(grep -c hello "$DIR/told")"
	assertEquals 0 "$(status apps web lost)"
	assert_accounts web
}

. tests/e2e/lib.sh
