#!/bin/sh
# handoff = accept by the library: the program itself is the worker, and may be
# a template.

. tests/e2e/accept_help.sh

ACCEPT_BY=auto

# by: how the app accepts now.
by() {
	status apps web accept_by
}

php() {
	accepts web php-cgi "$@"
}

# page [QUERY]: the last line of a page of PHP.
page() {
	REQUEST_METHOD=GET SCRIPT_NAME=/page.php QUERY_STRING="$1" \
	    SCRIPT_FILENAME="$DIR/page.php" REDIRECT_STATUS=200 \
	    timeout "$LIMIT" cgi-fcgi -bind -connect "$DIR/web.sock" |
	    sed -n '$p'
}

more_setup() {
	cat >"$DIR/page.php" <<-'END'
	<?php
	$query = $_SERVER["QUERY_STRING"] ?? "";
	while ($query === "wait" && !file_exists("released")) {
	    usleep(1000);
	    clearstatcache();
	}
	echo getmypid(), " ", $query === "background"
	    ? trim(shell_exec('sleep 3600 >/dev/null 2>&1 & echo $!'))
	    : ($query === "child" ? trim(shell_exec('echo $LD_PRELOAD $APPPOOL_FD; ls -l /proc/self/fd'
		. ' | grep -c socket'))
	    : getenv("APPPOOL_ID") . " " . getenv("APPPOOL_SLOT")), "\n";
	END
	cat >"$DIR/polls.py" <<-'END'
	import selectors
	import socket
	import sys

	listener = socket.socket(fileno=0)
	listener.setblocking(False)
	selector = getattr(selectors, sys.argv[1] + "Selector")()
	selector.register(listener, selectors.EVENT_READ)
	while True:
	    for key, events in selector.select():
	        if key.fileobj is not listener:
	            selector.unregister(key.fileobj)
	            with key.fileobj as client:
	                client.sendall(b"got " + client.recv(1000))
	            continue
	        try:
	            selector.register(listener.accept()[0], selectors.EVENT_READ)
	        except BlockingIOError:
	            pass
	END
	cat >"$DIR/threaded.py" <<-'END'
	import signal
	import socket
	import threading

	listener = socket.socket(fileno=0)

	def serve():
	    while True:
	        with listener.accept()[0] as client:
	            client.sendall(b"got " + client.recv(1000))

	threading.Thread(target=serve).start()
	signal.pause()
	END
}

# linked OPTION-OF-acceptor...: the app web of a program that has the library
# linked in, and so the sanitizers in it, too.
linked() {
	accepts web /usr/bin/env -u LD_PRELOAD \
	    "$BUILD/tests/e2e/workers/acceptor-linked" "$@"
}

# A busy machine may have made the sessions so far long.
prefetches() {
	flood --unix "$DIR/web.sock" --concurrency 1 --count 100 \
	    >"$DIR/flood" 2>&1 && status_is 1 apps web prefetch
}

testAProgramThatAcceptsBetweenSessionsIsHandedOneAhead() {
	[ "$SLOW" -eq 1 ] || { skip 'no session is brief here'; return; }
	starts 'max_processes = 2 min_processes = 2' accept web
	wait_for $((6 * LIMIT)) prefetches || fail 'not handed ahead'
	assert_flood 2000 --concurrency 8
	assertEquals 0 "$(status apps web lost)"
	await status_is 0 apps web sessions
	assert_accounts web
}

# It would take what was handed ahead beside its session.
testAProgramThatPollsInASessionIsHandedNoneAhead() {
	[ "$SLOW" -eq 1 ] || { skip 'no session is brief here'; return; }
	for way in Select Poll Epoll; do
		starts 'max_processes = 1' accepts web "$PYTHON" \
		    "$DIR/polls.py" "$way"
		assertEquals "$way" library "$(by)"
		assert_flood 1000 --concurrency 4
		assertEquals "$way" 0 "$(status apps web prefetch)"
		pool_stop
	done
}

testTheProgramItselfIsTheWorker() {
	starts '' php
	assertEquals library "$(by)"
	pid=$(status apps web workers 0 pid)
	assertEquals php-cgi "$(cat "/proc/$pid/comm")"
	assertEquals "$pid $(status apps web workers 0 id) 0" "$(page)"
	await status_is 1 apps web completed
}

testWhatAProgramRunsInheritsNoMoreThanByTheAdapter() {
	for ACCEPT_BY in seccomp auto; do
		starts '' php
		# Its sockets: two of the listener, and the connection.
		assertEquals "$ACCEPT_BY" 3 "$(nth 2 "$(page child)")"
		pool_stop
	done
}

testASessionIsOverWhenItsProgramLeavesByTheSystemCallWithStatus0() {
	starts '' accept web
	web 'exit 0' 2>/dev/null
	await status_is '0 1' apps web lost,completed
	web 'exit 1' 2>/dev/null
	await status_is '1 1' apps web lost,completed
}

testAStaticProgramIsServedBySeccompAndThatIsToldOnce() {
	starts 'min_processes = 2' accepts web "$DIR/acceptor-static"
	assertEquals seccomp "$(by)"
	assertEquals 1 "$(nth 2 "$(web)")"
	assertEquals 1 "$(grep -c 'info web: accepts by seccomp, not by the library: it is linked statically, or not with glibc' "$DIR/log")"
	assertEquals null "$(status apps web last_failure)"
}

testAProgramThatGoesToTheBackgroundFailsWithAHint() {
	for ACCEPT_BY in seccomp auto; do
		# Its child must not be so fast that the process is ready.
		begins 'start_limit = 1' greets 'if os.fork(): os._exit(0)
import signal
signal.pause()'
		await status_is failed apps web state
		assertContains "$ACCEPT_BY" "$(status apps web last_failure)" \
		    'exited with status 0 before it was ready (it must run in'
		pool_stop
	done
}

testProgramsThatGainRightsAreServedBySeccomp() {
	cp "$DIR/acceptor" "$DIR/setgid" && chmod 2755 "$DIR/setgid"
	starts '' accepts web "$DIR/setgid" --no-address
	assertEquals seccomp "$(by)"
	assertEquals 1 "$(nth 2 "$(web)")"
}

# greets PYTHON: an app whose program executes that, then answers as others do.
greets() {
	printf '%s\n' 'import ctypes, os, socket' "$1" \
	    'listener = socket.socket(fileno=0)' 'while True:' \
	    '    with listener.accept()[0] as client:' \
	    '        client.sendall(b"got " + client.recv(1000))' \
	    >"$DIR/greets.py"
	accepts web "$PYTHON" "$DIR/greets.py"
}

testAProgramThatClosesWhatItDidNotOpenIsServed() {
	for close in 'os.closerange(3, 1000)' \
	    'ctypes.CDLL(None).closefrom(3)' \
	    'for fd in range(3, 99): ctypes.CDLL(None).close(fd)'; do
		starts '' greets "$close"
		assertEquals "$close" library "$(by)"
		assert_flood 20
		pool_stop
	done
}

testAProgramThatTakesTheNumberOfTheChannelIsServedBySeccomp() {
	starts '' greets 'if "APPPOOL_FD" in os.environ:
    os.dup2(1, int(os.environ["APPPOOL_FD"]))'
	await said 'accepts by seccomp, not by the library: it needs the number'
	assert_flood 20
}

testAProgramThatExecutesItselfIsServedBySeccompFromThenOn() {
	printf '%s\n' 'import os, socket, sys' \
	    'listener = socket.socket(fileno=os.dup(0))' 'for i in range(3):' \
	    '    with listener.accept()[0] as client:' \
	    '        client.sendall(b"got " + client.recv(1000))' \
	    'os.execv(sys.executable, [sys.executable] + sys.argv)' \
	    >"$DIR/again.py"
	starts 'max_processes = 2 stop_timeout = 1s' \
	    accepts web "$PYTHON" "$DIR/again.py"
	assert_flood 20
	await said 'accepts by seccomp, not by the library: it executes another'
	await status_is '20 0 0' apps web completed,lost,sessions
	# These do not see the end of a daemon that is killed.
	pool_stop
}

testASelectOverMoreDescriptorsThanUsualIsTheProgramsOwn() {
	cat >"$DIR/select.pl" <<-'END'
	open(my $listener, "+<&=", 0);
	while (accept(my $client, $listener)) {
	    my $set = "";
	    vec($set, fileno($client), 1) = 1;
	    vec($set, 2000, 1) = 0;
	    select($set, undef, undef, 10);
	    sysread($client, $_, 1000);
	    syswrite($client, "got $_");
	}
	END
	starts '' accepts web /usr/bin/perl "$DIR/select.pl"
	assert_flood 20
	assertEquals null "$(status apps web last_failure)"
}

testAThreadCanBeCancelledWhileItAccepts() {
	rm -f "$DIR/cancel"
	for ACCEPT_BY in seccomp auto; do
		starts 'max_processes = 1' accept web --cancel "$DIR/cancel"
		: >"$DIR/cancel"
		await said cancelled
		assert_flood 20
		pool_stop
		rm "$DIR/cancel" "$DIR/log"
	done
}

testTheRequestBeyondRequest_timeoutIsTold() {
	starts 'protocol = http wait_for_data = true kill_timeout = 100ms
	    request_timeout = 300ms' accept web
	web 'GET /slow' >/dev/null
	await status_is 1 apps web completed
	web 'sleep 3600000' 2>/dev/null
	await said ' s old, request "sleep 3600000", sleeping in '
	await status_is '{"request_timeout": 1}' apps web exits
	assertEquals library "$(by)"
}

testAProgramThatIgnoresEveryRequestToEndHarmsNobody() {
	cat >"$DIR/stays.py" <<-'END'
	import signal
	import socket
	import time

	for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
	    signal.signal(number, lambda *_: None)
	listener = socket.socket(fileno=0)
	while True:
	    try:
	        client = listener.accept()[0]
	    except OSError:
	        continue
	    with client:
	        client.sendall(b"got " + client.recv(1000))
	END
	starts 'max_processes = 1 stop_timeout = 300ms kill_timeout = 100ms' \
	    accepts web "$PYTHON" "$DIR/stays.py"
	for _ in 1 2 3; do
		kill -TERM "$(status apps web workers 0 pid)"
	done
	assert_flood 20
	assertEquals 1 "$(status apps web spawned)"
	flood_on
	ctl restart web >/dev/null
	flood_end
	await status_is '1 0 2' apps web processes,lost,spawned
	pool_stop
	await no_leftovers
}

testAStopEndsAProgramWhoseMainThreadDoesNotAccept() {
	starts 'max_processes = 1' accepts web "$PYTHON" "$DIR/threaded.py"
	assert_flood 5
	pool_stop
}

testAProgramThatMakesItsSystemCallsItselfIsServedBySeccomp() {
	# To the daemon, one that does not load the library is such a program.
	starts 'start_timeout = 1s' \
	    accepts web /usr/bin/env -u LD_PRELOAD "$DIR/acceptor"
	await said 'accepts by seccomp, not by the library: it was not ready'
	assert_flood 20
}

testAProgramThatForksForEachClientHarmsNobody() {
	cat >"$DIR/forks.py" <<-'END'
	import os
	import signal
	import socket

	signal.signal(signal.SIGCHLD, signal.SIG_IGN)
	listener = socket.socket(fileno=0)
	while True:
	    with listener.accept()[0] as client:
	        if os.fork() == 0:
	            client.sendall(b"got " + client.recv(1000))
	            raise SystemExit
	END
	starts '' accepts web "$PYTHON" "$DIR/forks.py"
	assert_flood 200 --concurrency 4
	await status_is '200 0 0' apps web completed,lost,sessions
	assertEquals library "$(by)"
	assert_accounts web
}

testAnotherListenerOfTheNumber0IsLeftAlone() {
	cat >"$DIR/own.py" <<-'END'
	import os
	import select
	import socket
	import sys

	given = socket.socket(fileno=3)
	os.close(0)
	own = socket.socket(socket.AF_UNIX)
	own.bind(sys.argv[1])
	own.listen()
	while True:
	    for listener in select.select([given, own], [], [])[0]:
	        with listener.accept()[0] as client:
	            client.recv(1000)
	            client.sendall(b"by %d\n" % listener.fileno())
	END
	chmod 777 "$DIR"
	starts '' accepts web "$PYTHON" "$DIR/own.py" "$DIR/own.sock"
	for _ in 1 2 3; do
		assertEquals 'by 0' "$(ask "unix:$DIR/own.sock")"
		assertEquals 'by 3' "$(web)"
	done
	await status_is 3 apps web completed
}

testAProgramThatShutsItsSocketDownLeavesAndIsReplaced() {
	starts 'max_processes = 1' accept web --shutdown
	kill -TERM "$(status apps web workers 0 pid)"
	await status_is '2 1' apps web spawned,idle
	assertEquals '{"retired": 1}' "$(status apps web exits)"
	assertEquals library "$(by)"
	assert_flood 20
}

# A program with an epoll(7) is not woken up for its end.
testAProgramThatClosesItsSocketAndLivesOnIsReplaced() {
	cat >"$DIR/closes.py" <<-'END'
	import os
	import select
	import signal
	import socket
	import sys

	listener = socket.socket(fileno=0)
	epoll = select.epoll()
	if sys.argv[1] == "epoll":
	    epoll.register(listener)
	    epoll.poll()
	with listener.accept()[0] as client:
	    if sys.argv[1] == "dup2":
	        os.dup2(2, 0)
	    else:
	        listener.close()
	    client.sendall(b"got " + client.recv(1000))
	print("woken by", epoll.poll())
	END
	for way in close dup2 epoll; do
		starts 'max_processes = 1 stop_timeout = 100ms' \
		    accepts web "$PYTHON" "$DIR/closes.py" "$way"
		assert_flood 3
		await status_is 3 apps web completed
		await status_is '{"retired": 3}' apps web exits
		assertEquals "$way" 0 "$(times_said 'woken by')"
		pool_stop
	done
}

testAStopLeavesTheSessionsOfThreadsToThem() {
	starts 'max_processes = 1' accept web --hand-on
	assertEquals library "$(by)"
	ask_held
	kill -TERM "$POOL"
	await said stopping
	release
	ends_well
	behind
	assertEquals waited "$(nth 5 "$ANSWER")"
}

testAStopLeavesItsSessionToAProgramThatPolls() {
	for way in Select Poll Epoll; do
		starts 'max_processes = 1' accepts web "$PYTHON" \
		    "$DIR/polls.py" "$way"
		occupy one
		await has_sessions 1
		kill -TERM "$POOL"
		await said stopping
		dismiss one
		assertContains "$way" "$ANSWERS" got
		ends_well
	done
}

# several_accept: whether both were in accept() at a time.
several_accept() {
	assert_flood 100 --concurrency 4
	said 'accepts by seccomp, not by the library: several of its threads accept'
}

testTwoThreadsThatPollAreServedBySeccompFromThenOn() {
	starts 'max_processes = 1' accept web --threads 2 --poll
	await several_accept
	assertEquals 0 "$(status apps web lost)"
}

testAChildThatAcceptsInASessionOfItsOwnEndsWithItsProgram() {
	starts '' greets 'if os.fork() == 0:
    os.setsid()
    print("the child", os.getpid(), flush=True)
else:
    os.wait()'
	await said 'not by the library: a child of the program accepts'
	child=$(sed -n 's/.*the child //p' "$DIR/log" | head -n 1)
	assertNotEquals '' "$child"
	await is_gone "$child"
	assert_flood 20
}

testThreadsThatAcceptAreServedBySeccompFromThenOn() {
	starts 'max_processes = 1' accept web --threads 4
	await said 'accepts by seccomp, not by the library: several of its threads accept'
	assert_flood 40 --concurrency 4
	assertEquals '{}' "$(status apps web exits failure 2>/dev/null || echo '{}')"
}

testChildrenThatAcceptAreServedBySeccompFromThenOn() {
	starts 'max_processes = 1' accept web --fork 2
	await said 'accepts by seccomp, not by the library: a child of the program accepts'
	assert_flood 20 --concurrency 2
}

testAConcurrencyOver1IsServedBySeccomp() {
	starts 'concurrency = 4' accept web --threads 4
	assertEquals seccomp "$(by)"
}

testAccept_byLibraryFailsWhereTheLibraryCannotServe() {
	ACCEPT_BY=library begins 'start_limit = 1' accepts web "$DIR/acceptor-static"
	await status_is failed apps web state
	assertContains "$(status apps web last_failure)" 'it is linked statically'
}

testAccept_bySeccompHasAnAdapterBesideTheProgram() {
	ACCEPT_BY=seccomp starts '' accept web
	assertEquals seccomp "$(by)"
	assertNotEquals '' "$(program)"
}

testAProgramThatPollsIsServedWhicheverWayItDoes() {
	for way in Select Poll Epoll; do
		starts 'max_processes = 1' accepts web "$PYTHON" "$DIR/polls.py" $way
		assertEquals "$way" library "$(by)"
		assert_flood 200 --concurrency 10
		await status_is 200 apps web completed
		assertEquals 1 "$(status apps web spawned)"
		pool_stop
	done
}

testTheLibraryKeepsErrnoAndCallsNoMallocHoweverAProgramWaits() {
	for way in poll ppoll __poll_chk __ppoll_chk select pselect epoll accept
	do
		starts 'max_processes = 1' \
		    accepts web "$BUILD/tests/e2e/workers/strict" "$way"
		assert_flood 40 --concurrency 4
		assertEquals "$way" 'library 1' \
		    "$(by) $(status apps web spawned)"
		pool_stop
	done
}

testTheLibraryAsksAProgramThatPollsToEndByStop_signal() {
	conf_of 'stop_signal = QUIT' accepts web "$PYTHON" "$DIR/polls.py" Poll
	pool_start -v
	pool_stop
	await said 'killed by signal 3 (SIGQUIT) (shutdown)'
}

testAProgramThatPollsIsAskedOnceToEndAndEndsInItsOwnTime() {
	cat >"$DIR/slowly.py" <<-'END'
	import select
	import signal
	import socket
	import sys

	signals = turns = 0
	millisecond = {"poll": 1, "epoll": 0.001}[sys.argv[1]]

	def count(*_):
	    global signals
	    signals += 1

	signal.signal(signal.SIGTERM, count)
	listener = socket.socket(fileno=0)
	listener.setblocking(False)
	poll = getattr(select, sys.argv[1])()
	poll.register(listener, select.POLLIN)
	while turns < 20:
	    for fd, events in poll.poll(millisecond):
	        try:
	            with listener.accept()[0] as client:
	                client.sendall(b"got " + client.recv(1000))
	        except BlockingIOError:
	            pass
	    turns += signals > 0
	print("asked", signals, "times", flush=True)
	END
	for way in poll epoll; do
		starts '' accepts web "$PYTHON" "$DIR/slowly.py" "$way"
		assert_flood 20
		pool_stop
		await said 'asked 1 times'
		rm "$DIR/log"
	done
}

# --- templates

testATemplateOfPhpForksWorkersWithSessionsOfTheirOwn() {
	starts 'template = true min_processes = 2' php
	await status_is ready apps web template state
	assertEquals 2 "$(status apps web template forked)"
	for i in 0 1; do
		pid=$(status apps web workers $i pid)
		assertEquals "$pid" "$(ps -o sid= -p "$pid" | tr -d ' ')"
		assertEquals "$pid" "$(ps -o pgid= -p "$pid" | tr -d ' ')"
	done
	answer=$(page)
	assertEquals "$(status apps web workers "$(nth 3 "$answer")" id)" \
	    "$(nth 2 "$answer")"
}

testATemplateThatIsKilledIsReplacedAndCostsNothing() {
	starts 'template = true min_processes = 2' php
	await status_is ready apps web template state
	kill -KILL "$(status apps web template pid)"
	await status_is 1 apps web template failures
	for i in 1 2 3 4 5; do
		assertNotEquals '' "$(page)"
	done
	await status_is ready apps web template state
	assertEquals 0 "$(status apps web lost)"
}

testTheChildrenOfAForkedWorkerEndWithIt() {
	starts 'template = true max_processes = 1' php
	await status_is ready apps web template state
	answer=$(page background)
	child=$(nth 2 "$answer")
	assertTrue "$child runs" "kill -0 $child"
	kill -KILL "$(nth 1 "$answer")"
	await is_gone "$child"
	await status_is 2 apps web template forked
}

# has_no_template SERVED WHY COMMAND...: it is served so, without a template;
# the next one is tried after a restart.
has_no_template() {
	served=$1 why=$2
	shift 2
	starts 'template = true restart_delay = 10ms' "$@"
	await said "cannot be forked: $why: processes are started without it"
	assert_flood 50
	assertEquals "$served" "$(by)"
	await status_is '1 null' apps web template failures,pid
	ctl restart web >/dev/null
	[ "$served" = seccomp ] || await status_is 2 apps web template failures
	assertEquals 1 "$(times_said 'cannot be forked')"
}

testAProgramWithAnEpollIsServedWithoutATemplate() {
	has_no_template library 'it has an epoll(7)' \
	    accepts web "$PYTHON" "$DIR/polls.py" Epoll
}

testAProgramWithThreadsIsServedWithoutATemplate() {
	has_no_template library 'it has threads' \
	    accepts web "$PYTHON" "$DIR/threaded.py"
}

testAProgramThatChangesItsUserIsServedWithoutATemplate() {
	is_root || { skip 'needs root'; return; }
	has_no_template library 'it has changed its user' \
	    with 'user = root' accept web --user 65534
}

testAProgramWhoseChildAcceptsIsServedWithoutATemplate() {
	has_no_template seccomp 'a child of the program accepts' \
	    accept web --fork 2
}

# victims: two processes, and the template; under seccomp their programs, with
# which they end.
victims() {
	status apps web template pid 2>/dev/null
	for victim in $(status apps web workers '*' pid | head -n 2); do
		if [ "$(by)" = seccomp ]; then
			children "$victim"
		else
			echo "$victim"
		fi
	done
}

# killed_at_random COUNT: so many connections, at a pace for dozens of kills,
# while each process in its turn is killed: each is served, or counted as lost
# once, and no more than were killed.
killed_at_random() {
	start_process flood --unix "$DIR/web.sock" --count "$1" --quiet \
	    --rate $((2000 / SLOW)) --timeout "$LIMIT" --max timeout=0 \
	    --max refused=0 --max failed=0 >"$DIR/flood" 2>&1
	flooding=$STARTED kills=0
	while kill -0 "$flooding" 2>/dev/null && [ "$kills" -lt 60 ]; do
		for victim in $(victims); do
			kill -KILL "$victim" 2>/dev/null && kills=$((kills + 1))
		done
		await status_is '3 0' apps web processes,starting
	done
	finish "$flooding" $((6 * LIMIT))
	assertEquals "$(cat "$DIR/flood")" 0 "$RC"
	[ "$kills" -gt 0 ] || fail 'the flood was over before the first kill'
	await status_is '0 0' apps web sessions,waiting
	assert_accounts web
	# shellcheck disable=SC2046 # two numbers
	set -- "$1" $(status apps web completed,lost)
	assertEquals "$2 completed, $3 lost" "$1" $(($2 + $3))
	[ "$3" -le "$kills" ] || fail "$3 lost in $kills kills"
	# One that was killed after its answer counts as lost.
	answered=$(sed -n 's/.*answered=\([0-9]*\).*/\1/p' "$DIR/flood")
	[ "$answered" -ge "$2" ] || fail "$answered answers, $2 completed"
}

testConnectionsAreServedOrLostOnceWhileProcessesAndTemplatesAreKilled() {
	for row in 'auto false 3000' 'auto true 4000' 'seccomp false 3000'; do
		# shellcheck disable=SC2086 # words
		set -- $row
		ACCEPT_BY=$1 starts "template = $2
		    min_processes = 3 max_processes = 3 restart_delay = 10ms
		    min_server_life = 0" accept web
		killed_at_random "$3"
		pool_stop
	done
}

testTheLibraryWithItsSanitizersServesAndForks() {
	for options in '' '--poll' '--nonblock --poll' '--accept4 cloexec' \
	    '--dup' '--alarm 1'; do
		for template in false true; do
			# shellcheck disable=SC2086 # words
			starts "template = $template min_processes = 2" \
			    linked $options
			assert_flood 300 --concurrency 4
			await status_is "300 0 0" \
			    apps web completed,lost,sessions
			ctl restart web >/dev/null
			assert_flood 20
			assert_accounts web
			pool_stop
		done
	done
}

testWorkersForkTheNextTemplateWithRefork_after() {
	starts 'template = true refork_after = 3 max_processes = 1
	    min_processes = 1 restart_delay = 10ms' php
	await status_is ready apps web template state
	for i in 1 2 3 4; do page >/dev/null; done
	await said 'forked by worker'
	await status_is ready apps web template state
	kill -KILL "$(status apps web workers 0 pid)"
	await said 'killed by signal 9'
	await status_is '1 0' apps web processes,starting
	for i in 1 2 3; do
		assertNotEquals "page $i" '' "$(page)"
	done
}

testAProgramThatCannotBeATemplateSaysWhyAndIsServedWithoutOne() {
	starts 'template = true' accepts web "$DIR/acceptor-static"
	await said 'cannot be forked: it is linked statically'
	assertEquals 1 "$(nth 2 "$(web)")"
	assertEquals seccomp "$(by)"
}

testATemplateWithoutTheLibraryIsAMistake() {
	for option in 'accept_by = seccomp' 'concurrency = 2'; do
		conf_of "handoff = accept template = true $option" \
		    server web php-cgi
		assertContains "$option" \
		    "$("$APPPOOLD" -t -c "$DIR/pool.conf" 2>&1)" \
		    'template = true needs the library: accept_by = library, or'
	done
}

. tests/e2e/lib.sh
