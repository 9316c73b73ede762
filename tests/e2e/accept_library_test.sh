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
	echo getmypid(), " ", $query === "child"
	    ? trim(shell_exec('echo $LD_PRELOAD $APPPOOL_FD; ls -l /proc/self/fd'
		. ' | grep -c socket'))
	    : getenv("APPPOOL_ID") . " " . getenv("APPPOOL_SLOT"), "\n";
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
}

# A busy machine may have made the sessions so far long.
prefetches() {
	flood --unix "$DIR/web.sock" --concurrency 1 --count 100 \
	    >"$DIR/flood" 2>&1 && status_is 1 apps web prefetch
}

testAProgramThatAcceptsBetweenSessionsIsHandedOneAhead() {
	[ "$SLOW" -eq 1 ] || { skip 'no session is brief here'; return; }
	starts 'max_processes = 2 min_processes = 2' accept web
	await prefetches
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

testProgramsThatGainRightsAreServedBySeccomp() {
	cp "$DIR/acceptor" "$DIR/setgid" && chmod 2755 "$DIR/setgid"
	starts '' accepts web "$DIR/setgid" --no-address
	assertEquals seccomp "$(by)"
	assertEquals 1 "$(nth 2 "$(web)")"
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

testTheLibraryAsksAProgramThatPollsToEndByStop_signal() {
	conf_of 'stop_signal = QUIT' accepts web "$PYTHON" "$DIR/polls.py" Poll
	pool_start -v
	pool_stop
	await said 'killed by signal 3 (SIGQUIT) (shutdown)'
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

testWorkersForkTheNextTemplateWithRefork_after() {
	starts 'template = true refork_after = 3 max_processes = 1' php
	await status_is ready apps web template state
	for i in 1 2 3 4; do page >/dev/null; done
	await said 'forked by worker'
	ctl restart web >/dev/null
	assertNotEquals '' "$(page)"
}

testAProgramThatCannotBeATemplateSaysWhyAndIsServedWithoutOne() {
	starts 'template = true' accepts web "$DIR/acceptor-static"
	await said 'cannot go on: it is linked statically'
	assertEquals 1 "$(nth 2 "$(web)")"
	assertEquals seccomp "$(by)"
}

testTemplateAndSeccompAreAMistake() {
	ACCEPT_BY=seccomp php <<-END | conf
	template = true
	END
	assertContains "$("$APPPOOLD" -t -c "$DIR/pool.conf" 2>&1)" \
	    'template = true needs the library: not accept_by = seccomp'
}

. tests/e2e/lib.sh
