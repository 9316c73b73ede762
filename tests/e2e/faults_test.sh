#!/bin/sh
# Programs that are broken, and a good app beside them.

good() {
	app good <<-EOF
	min_processes = 2
	EOF
}

# beside COMMAND...: the app of that command, beside the good one.
beside() {
	good
	"$@"
}

# bad [OPTION-OF-tworker...]: an app beside the good one.
bad() {
	beside app bad "$@"
}

good_serves() {
	assertEquals 'answers of the good app' 10 \
	    "$(ask "unix:$DIR/good.sock" hello --count 10 | grep -c hello)"
	assertEquals 0 "$(status apps good lost)"
}

# has_lines COUNT EXPRESSION: exactly so many lines of the log match.
has_lines() {
	[ "$(grep -c "$2" "$DIR/log")" -eq "$1" ]
}

file_setup() {
	mkdir -m 1777 "$DIR/marks"
}

# fails_for REASON COMMAND [NEXT]: the app bad does, and this comes next.
fails_for() {
	begins '' beside server bad "$2"
	await status_is failed apps bad state
	good_serves
	assertContains "$(status apps bad last_failure)" "$1"
	await grep -q "error bad: failed: .*$1.*$3" "$DIR/log"
	assertEquals 'it is told twice' 1 "$(grep -c " bad: .*$1" "$DIR/log")"
}

testAProgramThatCannotBeExecutedFailsItsAppAndTheOtherServes() {
	printf '\177ELFgarbage' >"$DIR/garbage"
	chmod 755 "$DIR/garbage"
	each fails_for <<-'END'
	"$DIR/nowhere/prog: No such file" "$DIR/nowhere/prog"
	'Exec format error' ./garbage
	no-such-program no-such-program '; a reload tries again'
	END
}

testAFailedAppTurnsItsClientsAwayAtOnce() {
	begins 'start_limit = 1' bad --exit-at-once 1
	await status_is failed apps bad state
	# The answer is the end of the connection, not the timeout of ask.
	answer=$(ask "unix:$DIR/bad.sock" hello 2>&1)
	assertContains "$answer" '0: '
	assertNotContains "$answer" 'timeout'
	good_serves
}

testWaitSaysWhichAppHasFailedAndWhy() {
	begins 'start_limit = 1' bad --fail 'no database'
	ctl wait >"$DIR/wait" 2>&1
	assertEquals 1 $?
	assertContains "$(cat "$DIR/wait")" 'bad'
	assertContains "$(cat "$DIR/wait")" 'no database'
	ctl wait good >/dev/null
	assertEquals 0 $?
}

testAProgramThatExitsAtOnceIsTriedLessAndLess() {
	begins 'start_limit = 3 restart_delay = 50ms restart_delay_max = 10m' \
	    bad --exit-at-once 3
	await status_is failed apps bad state
	good_serves
	sleep 0.5
	assertEquals 'starts' 3 "$(status apps bad spawned)"
	await said 'error bad: failed:'
	assertEquals 'lines for three ends' 3 "$(grep -c \
	    'warn bad: worker .* exited with status 3 before it was ready' \
	    "$DIR/log")"
	assertEquals 1 "$(times_said 'error bad: failed:')"
}

testAnAppThatFailedRecoversByItself() {
	cat >"$DIR/flaky" <<-EOF
	#!/bin/sh
	[ -e "$DIR/marks/repaired" ] && exec "$TWORKER"
	exit 1
	EOF
	chmod 755 "$DIR/flaky"
	begins 'start_limit = 2 restart_delay = 20ms restart_delay_max = 300ms' \
	    server web ./flaky
	await status_is failed apps web state
	touch "$DIR/marks/repaired"
	await status_is running apps web state
	assertContains "$(web)" hello
	await said 'web: recovered'
	assertEquals 1 "$(times_said 'web: recovered')"
}

testAProcessThatNeverSaysReadyIsKilledAfterStartTimeout() {
	begins 'start_timeout = 200ms kill_timeout = 200ms start_limit = 2
	    restart_delay = 20ms' bad --never-ready
	await status_is failed apps bad state
	good_serves
	await status_is '{"start_timeout": 2}' apps bad exits
	await status_is '[]' apps bad workers
	late='warn bad: worker .* is killed: it was not ready within 0.2 s'
	await has_lines 2 "$late"
}

# A server made for another handoff never says READY, nor why.
testAnAppThatWasNeverReadyIsToldWhatItsHandoffExpects() {
	{
		app native --never-ready </dev/null
		cat <<-EOF
		app "accept" {
			listen = "unix:accept.sock"
			handoff = accept
			command = { "sleep", "1000" }
		}
		app "broken" {
			listen = "unix:broken.sock"
			command = { "$DIR/nowhere/prog" }
		}
		defaults {
			start_timeout = 1s
			start_limit = 1
		}
		EOF
	} | conf
	pool_run
	for each in native accept broken; do
		await status_is failed apps "$each" state
	done
	late='it was not ready within 1 s; handoff ='
	native="$late native expects the program to speak apppool-worker(7)"
	assertEquals "$native" "$(status apps native last_failure)"
	await said "error native: failed: $native; trying again"
	assertContains "$(ctl wait native 2>&1)" "$native"
	assertEquals "$late accept expects the program to accept on descriptor \
0 or 3" "$(status apps accept last_failure)"
	await said 'error broken: failed:'
	assertNotContains "$(status apps broken last_failure)" 'handoff'
}

testTheReasonOfAFailMessageIsLoggedAndShown() {
	begins 'start_limit = 1' bad --fail 'the licence has expired'
	await status_is failed apps bad state
	good_serves
	assertEquals 'the licence has expired' \
	    "$(status apps bad last_failure)"
	await grep -q 'bad: worker .* cannot go on: the licence' "$DIR/log"
}

# nonsense NAME OPTION...: an app whose process breaks the protocol.
nonsense() {
	app "$@" <<-EOF
	restart_delay = 1m
	stop_timeout = 1s
	max_queue = 10
	EOF
}

testEveryKindOfProtocolErrorEndsTheProcessWithOneLine() {
	{
		good
		nonsense unknown --say 'HELLO world'
		nonsense twice --double-ready
		nonsense empty --empty-packet
		nonsense long --long-packet
		nonsense 'done' --say DONE
		nonsense done-other --say 'DONE 77'
		nonsense done-word --say 'DONE x'
		nonsense lost --say 'LOST 5'
		nonsense lost-none --say LOST
		nonsense park --say 'PARK 1'
		nonsense retire --say 'RETIRE now'
		nonsense binary --say '\x01\x02'
	} | conf
	pool_run
	for app in unknown twice empty long 'done' done-other \
	    done-word lost lost-none park retire binary; do
		await grep -q "warn $app: worker .* broke the protocol" \
		    "$DIR/log"
		assertEquals "lines of $app" 1 "$(grep -c \
		    "warn $app: worker .* broke the protocol" "$DIR/log")"
		await status_is '[]' apps "$app" workers
		assertContains "$(status apps "$app" last_failure)" 'protocol'
		assertEquals 1 "$(status apps "$app" spawned)"
	done
	good_serves
}

# A kernel that has SO_PASSRIGHTS refuses the descriptor at the sender.
testADescriptorSentByAProcessDoesNotStayOpen() {
	starts 'restart_delay = 1m' bad --at 1 --send-fd
	before=$(fds "$POOL")
	ask "unix:$DIR/bad.sock" >/dev/null 2>&1
	await grep -qE 'Operation not permitted|broke the protocol' "$DIR/log"
	good_serves
	await has_fds "$before"
}

# A process that said FAIL may get its answer out before it is killed.
testAFailMessageInASessionLosesNoOtherConnection() {
	starts 'max_processes = 1 restart_delay = 10ms min_server_life = 0' \
	    app web --at 3 --say 'FAIL out of memory'
	answers=$(web hello --count 6 2>/dev/null | grep -c hello)
	assertTrue "$answers answers" "[ $answers -ge 4 ]"
	await status_is 1 apps web idle
	assertTrue "[ $(status apps web lost) -le 2 ]"
	await status_is '{"fail": 2}' apps web exits
	assert_accounts web
}

testEventAndStatusOverAHundredASecondAreCounted() {
	starts '' app loud
	assertContains "$(ask "unix:$DIR/loud.sock" 'flood 9000')" hello
	id=$(status apps loud workers 0 id)
	pool_stop
	left_out=$(sed -n "s/.* loud: \([0-9]*\) messages of worker $id .*/\1/p" \
	    "$DIR/log" | awk '{ n += $1 } END { print n }')
	kept=$(grep -c "loud/$id: event " "$DIR/log")
	assertTrue "$left_out left out and $kept kept" \
	    "[ $((left_out + kept)) -le 9000 ] && [ $left_out -gt 4500 ]"
}

testAProcessThatIgnoresStopAndSigtermIsKilledInTime() {
	starts 'max_requests = 1 max_processes = 3 stop_timeout = 200ms
	    kill_timeout = 200ms' app web --ignore-stop --ignore-term
	pid=$(pid_of "$(web)")
	from=$(now_ms)
	await is_gone "$pid"
	took=$(($(now_ms) - from))
	# By default it would be killed after 5 s.
	assertTrue "took $took ms" "[ $took -lt 4500 ]"
	assertContains "$(web)" hello
	await no_zombies
}

testAProcessThatIgnoresStopMayEndOnSigterm() {
	starts 'max_requests = 1 stop_timeout = 200ms kill_timeout = 1m' \
	    app web --ignore-stop
	pid=$(pid_of "$(web)")
	await is_gone "$pid"
	await status_is '{"max_requests": 1}' apps web exits
}

testGrandchildrenOfAKilledProcessAreEnded() {
	starts 'restart_delay = 1m' app web --grandchildren 3
	pid=$(status apps web workers 0 pid)
	grandchildren=$(children "$pid")
	assertEquals 3 "$(echo "$grandchildren" | wc -w)"
	kill -KILL "$pid"
	for each in $grandchildren; do
		await is_gone "$each"
	done
	await no_zombies
}

testGrandchildrenOfAProcessThatExitsAreEnded() {
	starts 'restart_delay = 1m' app web --grandchildren 2 --retire-after 1
	grandchildren=$(children "$(status apps web workers 0 pid)")
	assertContains "$(web)" hello
	for each in $grandchildren; do
		await is_gone "$each"
	done
}

# The daemon ends the process group of a worker. A grandchild that made a
# session of its own goes on, is adopted when its parent ends, and reaped in the
# end.
testGrandchildrenInASessionOfTheirOwnDelayNoRestartAndNoStop() {
	starts 'restart_delay = 10ms min_server_life = 0' \
	    app web --grandchildren 2 --setsid
	pid=$(status apps web workers 0 pid)
	grandchildren=$(children "$pid")
	for each in $grandchildren; do
		await leads_a_session "$each"
	done
	assertEquals '' "$(web 'kill 9' 2>/dev/null)"
	await is_gone "$pid"
	assertContains "$(web)" hello
	for each in $grandchildren; do
		assertFalse 'it was ended' "is_gone $each"
		kill -KILL "$each"
		await is_gone "$each"
	done
	await no_zombies
	second=$(children "$(status apps web workers 0 pid)")
	for each in $second; do
		await leads_a_session "$each"
	done
	stops_well
	# shellcheck disable=SC2086 # numbers
	kill -KILL $second
	await no_leftovers
}

# leads_a_session PID: of a process whose name has no spaces.
leads_a_session() {
	[ "$(cut -d ' ' -f 6 "/proc/$1/stat")" -eq "$1" ]
}

testADaemonThatIsProcess1ReapsAdoptedProcesses() {
	unshare --pid --fork --mount-proc true 2>/dev/null ||
	    { skip 'unshare needs root'; return 0; }
	conf_of 'restart_delay = 10ms min_server_life = 0' \
	    app web --grandchildren 1 --setsid
	start_process unshare --pid --fork --mount-proc "$APPPOOLD" \
	    -c "$DIR/pool.conf" >>"$DIR/log" 2>&1
	outer=$STARTED
	await pool_answers
	POOL=$(children "$outer" | xargs)
	await status_is 1 apps web idle
	# A single process has a child.
	for pid in $(children "$POOL"); do
		[ -z "$(children "$pid")" ] || orphan=$(children "$pid" | xargs)
	done
	await leads_a_session "$orphan"
	assertEquals '' "$(web 'kill 9' 2>/dev/null)"
	await status_is 1 apps web idle
	assertTrue 'it has ended before it is adopted' "kill -KILL $orphan"
	await is_gone "$orphan"
	await no_zombies
	assertContains "$(web)" hello
	kill -TERM "$POOL"
	finish "$outer"
	assertEquals 0 "$RC"
}

testTheClientOfADeadProcessIsClosedThoughAGrandchildHasTheConnection() {
	# The grandchild has the connection, too, and the control socket.
	cat >"$DIR/forks.py" <<-EOF
	import os, socket, time
	s = socket.socket(fileno=int(os.environ["APPPOOL_FD"]))
	s.send(b"READY")
	data, fds, _, _ = socket.recv_fds(s, 4096, 1)
	if os.fork() == 0:
	    time.sleep(60)
	os.kill(os.getpid(), 9)
	EOF
	starts 'restart_delay = 1m' server web "$PYTHON" "$DIR/forks.py"
	answer=$(web hello 2>&1)
	assertContains "$answer" '0: '
	assertNotContains "$answer" 'timeout'
	await status_is 1 apps web lost
}

# ends_with_69 OPTIONS [OPTION-OF-apppoold...]: the daemon, when the app bad with
# these options has failed.
ends_with_69() {
	conf_of "start_limit = 1 $1" bad --exit-at-once 1
	shift
	start_process "$APPPOOLD" -c "$DIR/pool.conf" "$@" >>"$DIR/log" 2>&1
	finish "$STARTED"
	assertEquals 69 "$RC"
	await no_leftovers
}

testAFailedAppWithExitOnFailedEndsTheDaemon() {
	ends_with_69 'exit_on_failed = true'
}

testAnyFailedAppEndsADaemonWithTheOptionExitOnFailed() {
	ends_with_69 '' --exit-on-failed
}

. tests/e2e/lib.sh
