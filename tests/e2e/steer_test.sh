#!/bin/sh
# The commands that steer: what each does, and the line it ends with.

file_setup() {
	{
		app web <<-EOF
		min_processes = 2
		max_processes = 4
		start_limit = 1
		max_idle_time = 100ms
		stop_delay = 0
		target_wait = 0
		EOF
		app api </dev/null
	} | conf
	pool_start
	cp "$DIR/pool.conf" "$DIR/before"
}

# workers KEY [APP]: a value of each worker of the app, in order.
workers() {
	status apps "${2:-web}" workers '*' "$1" | sort
}

# is_ready APP: neither more nor fewer than its processes are idle.
is_ready() {
	[ "$(status apps "$1" idle)" = "$(status apps "$1" min_processes)" ] &&
	    [ "$(workers state "$1" | uniq)" = idle ]
}

# steer COMMAND...: its answer is in $SAID, what is wrong in $WRONG.
steer() {
	SAID=$(ctl "$@" 2>"$DIR/wrong")
	RC=$?
	WRONG=$(cat "$DIR/wrong")
}

# --- restart ------------------------------------------------------------

testRestartReplacesAllProcessesOfAnApp() {
	await is_ready web
	old=$(workers pid) other=$(workers pid api)
	steer restart web
	assertEquals "$WRONG" 'web: restarted, 2 processes replaced' "$SAID"
	await is_ready web
	for pid in $old; do
		assertNotContains "$(workers pid)" "$pid"
	done
	assertEquals 'the other app' "$other" "$(workers pid api)"
}

testRestartWithoutANameReplacesThoseOfAllApps() {
	await is_ready web && await is_ready api
	steer restart
	assertEquals "$WRONG" 'restarted, 3 processes replaced' "$SAID"
}

testRestartOfAWorkerReplacesItAlone() {
	await is_ready web
	id=$(workers id | head -n 1) kept=$(workers id | tail -n 1)
	pid=$(workers id,pid | sed -n "s/^$id //p")
	steer restart "$id"
	assertEquals "$WRONG" "web: worker $id (pid $pid) replaced" "$SAID"
	await is_ready web
	assertContains "$(workers id)" "$kept"
	assertNotContains "$(workers id)" "$id"
}

testRestartLetsSessionsEnd() {
	await is_ready web
	hold_at door
	steer restart web
	assertEquals 0 "$RC"
	open_gate door
	behind
	assertNotEquals 'the answer' '' "$ANSWER"
	assertEquals 'lost' 0 "$(status apps web lost)"
}

testRestartOfANewGenerationThatDoesNotLiveIsRefused() {
	await is_ready web
	old=$(workers pid)
	mv "$TWORKER" "$TWORKER.away"
	steer restart web
	mv "$TWORKER.away" "$TWORKER"
	assertEquals 1 "$RC"
	assertContains "$WRONG" 'web: the new processes fail, the old ones stay: '
	assertEquals "$old" "$(workers pid)"
	steer restart "$(workers id | head -n 1)" api
	assertEquals "$WRONG" 'restarted, 2 processes replaced' "$SAID"
}

testRestartClearsAFailure() {
	cat >>"$DIR/pool.conf" <<-EOF
	app "bad" {
		listen = "unix:bad.sock"
		command = "$DIR/bad"
		start_limit = 1
	}
	EOF
	ctl reload >/dev/null
	await status_is failed apps bad state
	steer restart bad
	assertEquals 1 "$RC"
	assertContains "$WRONG" 'bad has failed: '
	cp "$TWORKER" "$DIR/bad"
	steer restart bad
	assertEquals "$WRONG" 'bad: restarted' "$SAID"
	assertEquals running "$(status apps bad state)"
	cp "$DIR/before" "$DIR/pool.conf"
	ctl reload >/dev/null
}

testRestartOfSomethingUnknownNamesWhatIsNear() {
	steer restart wen
	assertEquals 1 "$RC"
	assertContains "$WRONG" 'no app or worker wen; is web meant?'
}

# --- detach -------------------------------------------------------------

# detach_held NAME: detaches the worker at that gate, in the background; it is
# $WORKER then.
detach_held() {
	WORKER=$(status apps web workers '*' id,state |
	    sed -n 's/ active$//p')
	start_process timeout $((3 * LIMIT)) "$APPPOOLCTL" \
	    -s "$DIR/control.sock" detach "$WORKER" >"$DIR/out" 2>&1
	DETACH=$STARTED
	await status_is 1 apps web detached
}

testADetachedWorkerFinishesItsSessionAndItsSuccessorStartsAtOnce() {
	await is_ready web
	spawned=$(status apps web spawned)
	lost=$(status apps web lost)
	hold_at door
	detach_held
	await status_is 2 apps web idle
	assertEquals 'successors' $((spawned + 1)) "$(status apps web spawned)"
	assertEquals 'counted' 2 "$(status apps web processes)"
	assertEquals 'sessions' 1 "$(status apps web sessions)"
	assertNotContains 'not yet' "$(cat "$DIR/out")" ended
	open_gate door
	behind
	assertNotEquals 'the answer' '' "$ANSWER"
	finish "$DETACH"
	assertContains "$(cat "$DIR/out")" \
	    "detached with 1 session; it has ended"
	assertEquals 'lost' "$lost" "$(status apps web lost)"
	assertEquals 1 "$(status apps web exits detached)"
	assert_accounts web
}

testAnIdleWorkerThatIsDetachedEndsAtOnce() {
	await is_ready web
	id=$(workers id | head -n 1)
	steer detach "$id"
	assertContains "$WRONG$SAID" 'detached; it has ended'
	await is_ready web
	assertNotContains "$(workers id)" "$id"
}

testDetachTakesAWorkerAndNoApp() {
	steer detach web
	assertEquals 1 "$RC"
	assertContains "$WRONG" 'detach takes the identifier of a worker'
	steer detach
	assertEquals 64 "$RC"
	assertContains "$WRONG" '] detach ID'
}

# libapppool leaves SIGTERM as it is: it ends the program.
testASessionIsLostIfItsWorkerIsSentSigtermByHand() {
	await is_ready web
	lost=$(status apps web lost)
	hold_at door
	kill -TERM "$(at_gate door)"
	await status_is $((lost + 1)) apps web lost
	behind
	assertNotContains "$ANSWER" door
	assert_accounts web
	await is_ready web
}

# --- resize -------------------------------------------------------------

# back: the file as it was is in force again, and so is what it says.
back() {
	sed 's/^max_processes.*/max_processes = 2/' "$DIR/before" \
	    >"$DIR/pool.conf"
	ctl reload >/dev/null
	cp "$DIR/before" "$DIR/pool.conf"
	ctl reload >/dev/null
}

testResizeGivesMoreProcessesAtOnce() {
	await is_ready web
	steer resize web 3 6
	assertEquals "$WRONG" \
	    'web: 3 to 6 processes, 3 now; the file says 2 to 4 processes' "$SAID"
	assertEquals '3 6' "$(status apps web min_processes,max_processes)"
	assertContains "$(ctl -j status web)" '"resized":true'
	assertContains "$(ctl status web)" 'resized, the file says 2 to 4'
	back
}

testResizeGivesFewerProcessesWhenTheirSessionsEnd() {
	await is_ready web
	hold_at door
	start_process timeout "$LIMIT" "$APPPOOLCTL" -s "$DIR/control.sock" \
	    resize web 0 1 >"$DIR/out"
	await status_is 1 apps web processes
	finish "$STARTED"
	assertEquals 'web: 0 to 1 processes, 1 now; the file says 2 to 4 processes' \
	    "$(cat "$DIR/out")"
	open_gate door
	behind
	assertNotEquals 'the answer' '' "$ANSWER"
	back
}

testASizeSurvivesAReloadUntilTheFileSaysOtherwise() {
	ctl resize web 1 3 >/dev/null
	assertContains "$(ctl reload)" \
	    'web: keeps 1 to 3 processes, as resized; the file says 2 to 4'
	assertEquals '1 3' "$(status apps web min_processes,max_processes)"
	sed 's/^max_processes = 4/max_processes = 5/' "$DIR/before" \
	    >"$DIR/pool.conf"
	assertContains "$(ctl reload)" \
	    'web: 2 to 5 processes, as the file says; no longer 1 to 3'
	assertEquals '2 5' "$(status apps web min_processes,max_processes)"
	cp "$DIR/before" "$DIR/pool.conf"
	assertNotContains "$(ctl reload)" resized
}

testASizeThatIsThatOfTheFileIsForgotten() {
	ctl resize web 1 3 >/dev/null
	steer resize web 2 4
	assertContains "$WRONG$SAID" 'web: 2 to 4 processes'
	assertContains "$SAID" 'as the file says'
	assertNotContains "$(ctl reload)" resized
}

testASizeThatCannotBeIsRefusedWithTheReason() {
	for size in '5 4:min_processes (5) is over max_processes (4)' \
	    '0 0:max_processes is at least 1' \
	    '70 80:would add up to 71, over max_processes of the daemon (64)' \
	    'x 4:x is no number of processes, from 0 to 10000' \
	    '-1 4:-1 is no number'; do
		# shellcheck disable=SC2086 # two numbers
		steer resize -- web ${size%%:*}
		assertEquals "$size" 1 "$RC"
		assertContains "$WRONG" "${size#*:}"
	done
	assertEquals '2 4' "$(status apps web min_processes,max_processes)"
}

# --- drain and resume ---------------------------------------------------

state_is() {
	status_is "$1" apps "${2:-web}" state
}

# in_background COMMAND...: its answer is in $DIR/out when it has ended.
in_background() {
	start_process timeout $((3 * LIMIT)) "$APPPOOLCTL" \
	    -s "$DIR/control.sock" "$@" >"$DIR/out" 2>&1
	BACKGROUND=$STARTED
}

testDrainKeepsClientsInTheBacklogUntilResume() {
	await is_ready web
	steer drain web
	assertEquals "$WRONG" 'web: drained, 2 processes ended' "$SAID"
	assertEquals '0 drained' "$(status apps web processes,state)"
	start_process ask "unix:$DIR/web.sock" >"$DIR/asked" 2>&1
	asker=$STARTED
	await status_is 1 apps web backlog
	assertEquals 'accepted' '0 0' "$(status apps web waiting,sessions)"
	steer resume web
	assertEquals "$WRONG" 'web: running, 2 processes ready' "$SAID"
	finish "$asker"
	assertContains "$(cat "$DIR/asked")" hello
	assert_accounts web
	assertTrue "said 'web: drained'"
}

testDrainServesSessionsAndWaiters() {
	await is_ready web
	lost=$(status apps web lost)
	hold_at first
	for _ in 1 2 3 4; do
		start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
		    --text "$(gate first)" --timeout $((2 * LIMIT)) \
		    >>"$DIR/asked.all" 2>&1
	done
	await status_is '4 1' apps web sessions,waiting
	in_background drain web
	await state_is draining
	assertEquals 'sessions' '4 1' "$(status apps web sessions,waiting)"
	open_gate first
	finish "$BACKGROUND"
	assertContains "$(cat "$DIR/out")" 'web: drained, '
	assertEquals 'lost' "$lost" "$(status apps web lost)"
	assert_accounts web
	steer resume web
	assertEquals "$WRONG" 0 "$RC"
}

testADrainedAppStaysSoAfterAReload() {
	ctl drain web >/dev/null
	cat >>"$DIR/pool.conf" <<-EOF
	process_slack = 1
	EOF
	sed -i 's/^max_processes = 4/max_processes = 3/' "$DIR/pool.conf"
	assertContains "$(ctl reload)" 'web: changed in place'
	assertEquals drained "$(status apps web state)"
	cp "$DIR/before" "$DIR/pool.conf"
	ctl reload >/dev/null
	for command in restart ping 'wait'; do
		steer "$command" web
		assertNotEquals "$command" 0 "$RC"
		assertContains "$WRONG" 'web is drained'
	done
	assertEquals ready "$(ctl wait)"
	steer start web
	assertContains "$WRONG" 'not stopped: resume'
	ctl resume web >/dev/null
}

testADrainThatIsResumedEarlyEnds() {
	await is_ready web
	hold_at door
	in_background drain web
	await state_is draining
	steer resume web
	assertEquals "$WRONG" 0 "$RC"
	finish "$BACKGROUND"
	assertEquals 'apppoolctl: web runs again' "$(cat "$DIR/out")"
	open_gate door
	behind
	assertNotEquals 'the answer' '' "$ANSWER"
}

# --- stop and start -----------------------------------------------------

testAStoppedAppRefusesClientsAcrossReloadsUntilItIsStarted() {
	await is_ready web
	steer stop web
	assertEquals "$WRONG" 'web: stopped, 2 processes ended' "$SAID"
	web >/dev/null 2>&1
	assertNotEquals 'a client' 0 $?
	assertContains "$(ask "unix:$DIR/api.sock")" hello
	sed -i 's/^max_processes = 4/max_processes = 3/' "$DIR/pool.conf"
	ctl reload >/dev/null
	assertEquals '0 stopped' "$(status apps web processes,state)"
	cp "$DIR/before" "$DIR/pool.conf"
	kill -HUP "$POOL"
	steer resume web
	assertContains "$WRONG" 'not drained: start'
	steer start web
	assertEquals "$WRONG" 'web: running, 2 processes ready' "$SAID"
	assertContains "$(web)" hello
}

testStopServesWhatIsInTheBacklog() {
	await is_ready web
	ctl drain web >/dev/null
	start_process ask "unix:$DIR/web.sock" >"$DIR/asked" 2>&1
	asker=$STARTED
	await status_is 1 apps web backlog
	steer stop web
	assertContains "$WRONG$SAID" 'web: stopped'
	finish "$asker"
	assertContains "$(cat "$DIR/asked")" hello
	assert_accounts web
	ctl start web >/dev/null
}

testAStoppedAppWhoseAddressIsTakenStaysStopped() {
	ctl stop web >/dev/null
	take "$DIR/web.sock"
	taker=$STARTED
	steer start web
	assertEquals 1 "$RC"
	assertContains "$WRONG" 'web stays stopped, it cannot listen: '
	assertEquals stopped "$(status apps web state)"
	stop_process "$taker"
	rm -f "$DIR/web.sock"
	steer start web
	assertEquals "$WRONG" 0 "$RC"
}

# The listeners of an app that starts are opened beside the loop: its processes
# may or may not have been started by then.
testAnAppThatIsStoppedWhileItStartsStaysStopped() {
	ctl stop web >/dev/null
	kill -STOP "$POOL"
	"$PYTHON" -c "
import os, signal, socket
clients = [socket.socket(socket.AF_UNIX) for _ in range(2)]
for s, line in zip(clients, (b'start web\\n', b'stop web\\n')):
    s.settimeout($LIMIT)
    s.connect('$DIR/control.sock')
    s.sendall(line)
os.kill($POOL, signal.SIGCONT)
for s in clients:
    print(s.makefile().read(), end='')" >"$DIR/out"
	assertEquals 'error: web is stopped
web: stopped' "$(sed 's/, 2 processes ended$//' "$DIR/out")"
	assertEquals stopped "$(status apps web state)"
	steer start web
	assertEquals "$WRONG" 'web: running, 2 processes ready' "$SAID"
}

testAStoppedAppThatIsRemovedIsGone() {
	app old </dev/null >>"$DIR/pool.conf"
	ctl reload >/dev/null
	steer stop old
	assertEquals "$WRONG" 0 "$RC"
	cp "$DIR/before" "$DIR/pool.conf"
	ctl reload >/dev/null
	await said 'old: gone'
	steer start old
	assertContains "$WRONG" 'no app or worker old'
}

testAnAnswerInJsonIsOneObject() {
	await is_ready web
	assertEquals '{"message":"web: restarted, 2 processes replaced"}' \
	    "$(ctl -j restart web)"
}

testProgressIsToldToWhoAsksForIt() {
	await is_ready web
	"$PYTHON" - "$DIR/control.sock" <<-EOF >"$DIR/out"
	import socket, sys
	with socket.socket(socket.AF_UNIX) as s:
	    s.settimeout($LIMIT)
	    s.connect(sys.argv[1])
	    s.sendall(b"progress restart web\n")
	    print(s.makefile().read(), end="")
	EOF
	assertEquals 'progress: 0 of 2 replaced' "$(head -n 1 "$DIR/out")"
	assertEquals 'web: restarted, 2 processes replaced' \
	    "$(tail -n 1 "$DIR/out")"
}

# The new processes are not ready before the file is there.
testARestartThatIsDrainedMeanwhileSaysSo() {
	: >"$DIR/go"
	sed "s,\"$TWORKER\",\"$TWORKER\"\, \"--start-when\"\, \"$DIR/go\"," \
	    "$DIR/before" >"$DIR/pool.conf"
	ctl reload >/dev/null
	rm "$DIR/go"
	in_background restart web
	await status_is 1 apps web starting
	start_process timeout "$LIMIT" "$APPPOOLCTL" -s "$DIR/control.sock" \
	    drain web >/dev/null
	drain=$STARTED
	finish "$BACKGROUND"
	assertEquals 'apppoolctl: web is draining' "$(cat "$DIR/out")"
	: >"$DIR/go"
	finish "$drain"
	cp "$DIR/before" "$DIR/pool.conf"
	ctl reload >/dev/null
	steer resume web
	assertEquals "$WRONG" 0 "$RC"
}

# on_terminal INPUT COMMAND...: apppoolctl on a terminal where somebody types
# that; what appears there is in $SHOWN.
on_terminal() {
	SHOWN=$("$PYTHON" - "$LIMIT" "$APPPOOLCTL" -s "$DIR/control.sock" "$@" \
	    <<-'EOF'
	import os, pty, select, sys
	limit, ctl, option, socket, typed, *words = sys.argv[1:]
	pid, fd = pty.fork()
	if pid == 0:
	    os.execv(ctl, [ctl, option, socket, *words])
	os.write(fd, typed.encode() + b"\n")
	shown = b""
	try:
	    while select.select([fd], [], [], int(limit))[0]:
	        part = os.read(fd, 999)
	        if not part:
	            break
	        shown += part
	except OSError:
	    pass
	print(shown.decode())
	sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	EOF
	)
	RC=$?
}

testProgressIsShownOnATerminalAndCleared() {
	await is_ready web
	on_terminal '' restart web
	assertEquals "$SHOWN" 0 "$RC"
	assertContains "$SHOWN" '0 of 2 replaced'
	assertContains "$SHOWN" 'web: restarted, 2 processes replaced'
	assertNotContains "$SHOWN" progress
}

testStopOfTheDaemonIsAskedBackOnATerminal() {
	for answer in '' n; do
		on_terminal "$answer" stop
		assertEquals "$answer" 1 "$RC"
		assertContains "$SHOWN" 'Stop the daemon, and all apps with it?'
		assertContains "$SHOWN" 'not stopped'
	done
	assertTrue 'the daemon lives' pool_answers
	on_terminal '' stop api
	assertContains "$SHOWN" 'api: stopped'
	assertNotContains "$SHOWN" '?'
	ctl start api >/dev/null
}

# The test ends the daemon that all tests of the file share.
testTheDaemonEndsWithAppsThatAreHeldAndServesTheirBacklog() {
	ctl drain web >/dev/null
	ctl stop api >/dev/null
	start_process ask "unix:$DIR/web.sock" >"$DIR/asked" 2>&1
	asker=$STARTED
	await status_is 1 apps web backlog
	stops_well
	finish "$asker"
	assertContains "$(cat "$DIR/asked")" hello
}

. tests/e2e/lib.sh
