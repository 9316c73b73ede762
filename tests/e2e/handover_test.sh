#!/bin/sh
# Which process is handed which connection, which wait, and how many processes
# run.

testOnlyAProcessThatSaidReadyIsHandedAConnection() {
	cat >"$DIR/first_ready" <<-EOF
	#!/bin/sh
	[ "\$APPPOOL_SLOT" = 0 ] && exec "$TWORKER"
	exec "$TWORKER" --never-ready
	EOF
	chmod 755 "$DIR/first_ready"
	begins 'min_processes = 3 max_processes = 3' server web ./first_ready
	await status_is 1 apps web idle
	assertEquals 'slots that answer' 0 \
	    "$(web hello --count 20 --together | cut -d ' ' -f 3 | sort -u)"
	assertEquals 2 "$(status apps web starting)"
	pool_stop INT
}

testAConnectionWaitsForTheFirstReadyProcess() {
	rm -f "$DIR/begin"
	begins 'min_processes = 1' app web --start-when "$DIR/begin"
	start_process web >"$DIR/answer"
	await status_is 1 apps web waiting
	sleep 0.2
	: >"$DIR/begin"
	finish "$STARTED"
	answer=$(cat "$DIR/answer")
	assertTrue "$answer: waited under 200 ms" \
	    "[ $(echo "$answer" | cut -d ' ' -f 5) -gt 200000 ]"
}

testTheNinthConnectionWaitsForTheFirstOfEightWorkers() {
	starts 'min_processes = 8 max_processes = 8' app web
	occupy seven 7
	await status_is 7 apps web sessions
	occupy first
	await status_is 8 apps web sessions
	start_process web >"$DIR/ninth"
	ninth=$STARTED
	await status_is 1 apps web waiting
	dismiss first
	finish "$ninth"
	assertEquals "$(pid_of "$ANSWERS")" "$(pid_of "$(cat "$DIR/ninth")")"
	await status_is 7 apps web sessions
	dismiss seven
}

testWaitingConnectionsAreServedInTheOrderOfArrival() {
	starts 'max_processes = 1' app web
	occupy one
	await status_is 1 apps web sessions
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --count 30 --together --times --timeout "$LIMIT" >"$DIR/times"
	await status_is 30 apps web waiting
	dismiss one
	finish "$STARTED"
	assertEquals "$(seq 0 29)" "$(cut -d ' ' -f 2 "$DIR/times")"
}

testAProcessIsReplacedAfterMaxRequestsWithoutLoss() {
	starts 'max_processes = 2 max_requests = 5' app web
	floods --unix "$DIR/web.sock" --count 500 --concurrency 4 --echo \
	    --request '' --timeout "$LIMIT" --limit $((60 * SLOW)) \
	    --max lost=0
	assertTrue 'too few were started' \
	    "[ $(status apps web spawned) -ge 100 ]"
	await status_is 500 apps web completed
	assertEquals 0 "$(status apps web lost)"
	assert_accounts web
}

testAFullQueueLeavesFurtherConnectionsInTheBacklog() {
	starts 'max_processes = 1 max_queue = 2 on_full = wait' app web
	occupy all 20
	await status_is 2 apps web waiting
	dismiss all
	assertEquals 'answers' 20 "$(echo "$ANSWERS" | grep -c hello)"
	assertEquals 2 "$(status apps web max_waiting)"
	assertEquals 0 "$(status apps web refused)"
	await said 'max_queue (2) is reached'
	assert_accounts web
}

testAProcessWithConcurrency4ServesFourAtATime() {
	starts 'max_processes = 1 concurrency = 4' app web --concurrency 4
	occupy four 4
	await status_is 4 apps web sessions
	dismiss four
	assertEquals 4 "$(echo "$ANSWERS" | grep -c hello)"
	assertEquals 1 "$(status apps web spawned)"
}

testAnAppMayListenAtSeveralAddresses() {
	port=$(free_port) six=
	! has_ipv6 || six=', "[::1]:'$port'"'
	starts "listen += { \"127.0.0.1:$port\", \"unix:other.sock\"$six }
	    max_processes = 1" app web
	pid=$(pid_of "$(web)")
	assertEquals "$pid" "$(pid_of "$(ask "127.0.0.1:$port")")"
	assertEquals "$pid" "$(pid_of "$(ask "unix:$DIR/other.sock")")"
	[ -z "$six" ] ||
	    assertEquals "$pid" "$(pid_of "$(ask "[::1]:$port")")"
}

testAWildcardAddressIsReached() {
	port=$(free_port)
	starts "listen += \"*:$port\"" app web
	assertEquals 1 "$(ask "127.0.0.1:$port" | grep -c hello)"
}

testEachAppAnswersItsOwnConnections() {
	for app in a b c d; do
		app $app --text "this is $app" </dev/null
	done | conf
	pool_start
	for app in a b c d; do
		assertEquals 5 "$(ask "unix:$DIR/$app.sock" hello --count 5 |
		    grep -c "this is $app\$")"
		await status_is 5 apps $app completed
	done
}

testABusyAppHoldsUpNoOther() {
	{
		echo 'max_processes = 1' | app busy
		app web </dev/null
	} | conf
	pool_start
	occupy three 3 busy
	await status_is 2 apps busy waiting
	web hello --count 20 --times >"$DIR/times"
	assertEquals 20 "$(wc -l <"$DIR/times")"
	# The median: anything may hold up the slowest.
	median=$(sort -n "$DIR/times" | sed -n 10p)
	assertTrue "${median%% *} ms" "[ ${median%% *} -lt $((100 * SLOW)) ]"
	assertEquals '1 2' "$(status apps busy sessions,waiting)"
	pool_stop INT
}

testAConnectionThatFindsAProcessIdleDoesNotWait() {
	starts 'min_processes = 2 max_processes = 2' app web
	floods --unix "$DIR/web.sock" --count 2000 --concurrency 1 \
	    --max lost=0
	assertTrue "$(status apps web idle_while_waiting) s beside an idle one" \
	    "[ $(status apps web idle_while_waiting | cut -d . -f 1) -eq 0 ]"
	assertEquals 0 "$(status apps web waiting)"
}

testTheModeOfAUnixSocketIsAsWritten() {
	starts 'socket_mode = 0602' app web
	assertEquals 602 "$(stat -c %a "$DIR/web.sock")"
}

# A process may say READY before the daemon knows the result of its start.
testAReadyProcessHasItsPid() {
	begins 'min_processes = 60 max_processes = 60' app web
	: >"$DIR/looks"
	await all_idle 60
	assertNotContains "$(cat "$DIR/looks")" 'idle null'
}

# all_idle COUNT: keeps all that it sees in $DIR/looks.
all_idle() {
	status apps web workers '*' state,pid >"$DIR/look"
	cat "$DIR/look" >>"$DIR/looks"
	[ "$(grep -c '^idle' "$DIR/look")" -eq "$1" ]
}

. tests/e2e/lib.sh
