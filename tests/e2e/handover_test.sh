#!/bin/sh
# Who is handed which connection, who waits, and how many processes there are.

testOnlyAProcessThatSaidReadyIsHandedAConnection() {
	cat >"$DIR/first_ready" <<-EOF
	#!/bin/sh
	[ "\$APPPOOL_SLOT" = 0 ] && exec "$TWORKER"
	exec "$TWORKER" --never-ready
	EOF
	chmod 755 "$DIR/first_ready"
	conf <<-EOF
	app "web" {
		listen = "unix:web.sock"
		command = { "./first_ready" }
		min_processes = 3
		max_processes = 3
	}
	EOF
	pool_run
	await status_is 1 apps web idle
	assertEquals 'slots that answer' 0 \
	    "$(web hello --count 20 --together | cut -d ' ' -f 3 | sort -u)"
	assertEquals 2 "$(status apps web starting)"
	pool_stop INT
}

testAConnectionWaitsForTheFirstReady() {
	app web --start-delay 300ms <<-EOF | conf
	min_processes = 1
	EOF
	pool_run
	answer=$(web)
	assertTrue "$answer: waited under 200 ms" \
	    "[ $(echo "$answer" | cut -d ' ' -f 5) -gt 200000 ]"
}

testEightRequestsOnEightWorkersTakeTheTimeOfOne() {
	app web --work 200ms <<-EOF | conf
	min_processes = 8
	max_processes = 8
	EOF
	pool_start
	web hello --count 8 --together --times >"$DIR/times"
	last=$(tail -n 1 "$DIR/times" | cut -d ' ' -f 1)
	assertTrue "took $last ms" "[ $last -ge 200 ]"
	assertTrue "took $last ms" "[ $last -lt $((350 * SLOW)) ]"
	assertEquals 'processes that answered' 8 \
	    "$(cut -d ' ' -f 3 "$DIR/times" | sort -u | wc -l)"
}

testTheNinthWaitsForTheFirstThatIsDone() {
	app web --work 200ms <<-EOF | conf
	min_processes = 8
	max_processes = 8
	EOF
	pool_start
	web hello --count 9 --together --times >"$DIR/times"
	last=$(tail -n 1 "$DIR/times" | cut -d ' ' -f 1)
	assertEquals 8 "$(tail -n 1 "$DIR/times" | cut -d ' ' -f 2)"
	assertTrue "took $last ms" "[ $last -ge 400 ]"
	assertTrue "took $last ms" "[ $last -lt $((550 * SLOW)) ]"
}

testTheWaitingAreServedInTheOrderOfTheirComing() {
	app web --work 10ms <<-EOF | conf
	max_processes = 1
	EOF
	pool_start
	web hello --count 30 --together --times >"$DIR/times"
	assertEquals "$(seq 0 29)" "$(cut -d ' ' -f 2 "$DIR/times")"
}

testTheMostRecentlyIdleProcessIsFirst() {
	app web <<-EOF | conf
	min_processes = 4
	max_processes = 4
	EOF
	pool_start
	ask_behind 'sleep 300ms'
	other=$(pid_of "$(web)")
	behind
	busy=$(pid_of "$ANSWER")
	assertNotEquals 'a process with a session' "$busy" "$other"
	await status_is 4 apps web idle
	for _ in 1 2 3 4 5; do
		assertEquals "$busy" "$(pid_of "$(web)")"
		# The answer is there before its DONE.
		await status_is 4 apps web idle
	done
}

testWaitersMakeThePoolGrowToItsMaximumAndNoFurther() {
	app web --work 300ms <<-EOF | conf
	max_processes = 4
	start_delay = 10ms
	EOF
	pool_start
	assertEquals 'processes that answered' 4 \
	    "$(web hello --count 16 --together | cut -d ' ' -f 1 |
	    sort -u | wc -l)"
	assertEquals 4 "$(status apps web spawned)"
	assertEquals 4 "$(status apps web processes)"
}

testOneWaiterForAMomentStartsNobody() {
	app web --work 50ms <<-EOF | conf
	max_processes = 4
	start_delay = 30s
	EOF
	pool_start
	assertEquals 6 "$(web hello --count 6 --together | wc -l)"
	assertEquals 1 "$(status apps web spawned)"
}

testTheCeilingOverAllAppsHolds() {
	conf <<-EOF
	max_processes = 3
	app "one" {
		listen = "unix:one.sock"
		command = { "$TWORKER", "--work", "100ms" }
		start_delay = 0
		max_idle_time = 100ms
		stop_delay = 0
	}
	app "two" {
		listen = "unix:two.sock"
		command = { "$TWORKER", "--work", "100ms" }
		start_delay = 0
		max_idle_time = 100ms
		stop_delay = 0
	}
	EOF
	pool_start
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/one.sock" \
	    --count 12 --together >"$DIR/one"
	one=$STARTED
	ask "unix:$DIR/two.sock" hello --count 12 --together >"$DIR/two"
	finish "$one"
	assertEquals 12 "$(grep -c hello "$DIR/one")"
	assertEquals 12 "$(grep -c hello "$DIR/two")"
	# At most two at a time beside the other's one; never four at once.
	assertTrue 'more than 3 processes at a time' \
	    "[ $(cut -d ' ' -f 3 "$DIR/one" "$DIR/two" | sort -n |
	    tail -n 1) -le 1 ]"
}

testIdleProcessesStopDownToTheMinimum() {
	app web --work 100ms <<-EOF | conf
	min_processes = 2
	max_processes = 6
	start_delay = 0
	max_idle_time = 200ms
	stop_delay = 0
	EOF
	pool_start
	web hello --count 12 --together >/dev/null
	assertEquals 6 "$(status apps web spawned)"
	await status_is 2 apps web processes
	# ... and stay there: nothing is stopped or started any more.
	sleep 0.5
	assertEquals 2 "$(status apps web idle)"
	assertEquals 6 "$(status apps web spawned)"
	await status_is '{"idle": 4}' apps web exits
	assert_accounts web
}

testStopDelayLiesBetweenTwoStops() {
	app web --work 100ms <<-EOF | conf
	min_processes = 1
	max_processes = 5
	start_delay = 0
	max_idle_time = 100ms
	stop_delay = 10m
	EOF
	pool_start
	web hello --count 10 --together >/dev/null
	await status_is 4 apps web processes
	sleep 0.3
	assertEquals 4 "$(status apps web processes)"
}

testNoneAreStartedBeforeTheFirstConnectionWithoutAMinimum() {
	app web <<-EOF | conf
	min_processes = 0
	max_idle_time = 100ms
	stop_delay = 0
	EOF
	pool_start
	assertEquals 0 "$(status apps web spawned)"
	assertEquals 1 "$(web | wc -l)"
	await status_is 0 apps web processes
	assertEquals 1 "$(web | wc -l)"
	assertEquals 2 "$(status apps web spawned)"
}

testAfterMaxRequestsAProcessIsReplacedAndNobodyLost() {
	app web <<-EOF | conf
	max_processes = 2
	max_requests = 5
	EOF
	pool_start
	flood --unix "$DIR/web.sock" --count 500 --concurrency 4 --echo \
	    --request '' --max lost=0 >"$DIR/flood"
	assertEquals "$(cat "$DIR/flood")" 0 $?
	assertTrue 'too few were started' \
	    "[ $(status apps web spawned) -ge 100 ]"
	await status_is 500 apps web completed
	assertEquals 0 "$(status apps web lost)"
	assert_accounts web
}

testNoProcessServesMoreThanMaxRequests() {
	app web <<-EOF | conf
	min_processes = 2
	max_processes = 2
	max_requests = 3
	EOF
	pool_start
	web hello --count 30 --together >"$DIR/answers"
	assertEquals 30 "$(wc -l <"$DIR/answers")"
	assertEquals 3 "$(cut -d ' ' -f 4 "$DIR/answers" | sort -n |
	    tail -n 1)"
}

testAFullQueueLeavesTheRestToTheBacklog() {
	app web --work 20ms <<-EOF | conf
	max_processes = 1
	max_queue = 2
	on_full = wait
	EOF
	pool_start
	assertEquals 'answers' 20 "$(web hello --count 20 --together | wc -l)"
	assertTrue "[ $(status apps web max_waiting) -le 2 ]"
	assertEquals 0 "$(status apps web refused)"
	assertTrue 'it does not say that the queue is full' \
	    "said 'max_queue (2) is reached'"
	assert_accounts web
}

testAFullQueueCanCloseTheRest() {
	app web --work 500ms <<-EOF | conf
	max_processes = 1
	max_queue = 2
	on_full = close
	EOF
	pool_start
	flood --unix "$DIR/web.sock" --count 10 --concurrency 10 --quiet \
	    --min answered=3 --max answered=3 --max timeout=0 \
	    --max refused=0 >"$DIR/flood"
	assertEquals "$(cat "$DIR/flood")" 0 $?
	await status_is 7 apps web refused
	await status_is 3 apps web completed
	assertEquals 'it is said once' 1 "$(grep -c 'warn web: ' "$DIR/log")"
	assertTrue "said 'max_queue (2) is reached with 1 of 1 processes'"
	assert_accounts web
}

testNobodyWaitsLongerThanQueueTimeout() {
	app web <<-EOF | conf
	max_processes = 1
	queue_timeout = 300ms
	EOF
	pool_start
	ask_behind 'sleep 1500ms'
	from=$(now_ms)
	web >"$DIR/answer" 2>&1
	assertEquals 1 $?
	took=$(($(now_ms) - from))
	assertTrue "took $took ms" "[ $took -ge 290 ]"
	assertTrue "took $took ms" "[ $took -lt 1200 ]"
	await status_is 1 apps web timed_out
	behind
	assert_accounts web
}

testOneProcessMayServeSeveralAtATime() {
	app web --concurrency 4 --work 300ms <<-EOF | conf
	max_processes = 1
	concurrency = 4
	EOF
	pool_start
	web hello --count 4 --together --times >"$DIR/times"
	last=$(tail -n 1 "$DIR/times" | cut -d ' ' -f 1)
	assertEquals 4 "$(wc -l <"$DIR/times")"
	assertTrue "took $last ms" "[ $last -lt $((550 * SLOW)) ]"
	assertEquals 1 "$(status apps web spawned)"
}

testAnAppMayListenAtSeveralPlaces() {
	port=$(free_port) six=
	[ ! -e /proc/net/if_inet6 ] || grep -q ' lo$' /proc/net/if_inet6 &&
	    six=', "[::1]:'$port'"'
	conf <<-EOF
	app "web" {
		listen = { "127.0.0.1:$port", "unix:web.sock",
			"unix:other.sock"$six }
		command = { "$TWORKER" }
		max_processes = 1
	}
	EOF
	pool_start
	pid=$(pid_of "$(web)")
	assertEquals "$pid" "$(pid_of "$(ask "127.0.0.1:$port")")"
	assertEquals "$pid" "$(pid_of "$(ask "unix:$DIR/other.sock")")"
	[ -z "$six" ] ||
	    assertEquals "$pid" "$(pid_of "$(ask "[::1]:$port")")"
}

testAWildcardAddressIsReached() {
	port=$(free_port)
	conf <<-EOF
	app "web" {
		listen = "*:$port"
		command = { "$TWORKER" }
	}
	EOF
	pool_start
	assertEquals 1 "$(ask "127.0.0.1:$port" | grep -c hello)"
}

testEachAppAnswersItsOwnConnections() {
	for app in a b c d; do
		cat <<-EOF
		app "$app" {
			listen = "unix:$app.sock"
			command = { "$TWORKER", "--text", "this is $app" }
		}
		EOF
	done | conf
	pool_start
	for app in a b c d; do
		assertEquals 5 "$(ask "unix:$DIR/$app.sock" hello --count 5 |
		    grep -c "this is $app\$")"
		await status_is 5 apps $app completed
	done
}

testABusyAppHoldsUpNoOther() {
	conf <<-EOF
	app "busy" {
		listen = "unix:busy.sock"
		command = { "$TWORKER", "--work", "5s" }
		max_processes = 1
	}
	app "web" {
		listen = "unix:web.sock"
		command = { "$TWORKER" }
	}
	EOF
	pool_start
	for _ in 1 2 3; do
		start_process "$BUILD/tests/e2e/ask" \
		    --to "unix:$DIR/busy.sock" >/dev/null 2>&1
	done
	await status_is 2 apps busy waiting
	web hello --count 20 --times >"$DIR/times"
	assertEquals 20 "$(wc -l <"$DIR/times")"
	slowest=$(sort -n "$DIR/times" | tail -n 1)
	assertTrue "${slowest%% *} ms" "[ ${slowest%% *} -lt $((100 * SLOW)) ]"
	pool_stop INT
}

testAConnectionThatFindsAProcessIdleDoesNotWait() {
	app web <<-EOF | conf
	min_processes = 2
	max_processes = 2
	EOF
	pool_start
	flood --unix "$DIR/web.sock" --count 2000 --concurrency 1 \
	    --max lost=0 >"$DIR/flood"
	assertEquals "$(cat "$DIR/flood")" 0 $?
	assertTrue "$(status apps web idle_while_waiting) s beside an idle one" \
	    "[ $(status apps web idle_while_waiting | cut -d . -f 1) -eq 0 ]"
	assertEquals 0 "$(status apps web waiting)"
}

testTheOwnerAndModeOfAUnixSocketAreAsWritten() {
	app web <<-EOF | conf
	socket_mode = 0602
	EOF
	pool_start
	assertEquals 602 "$(stat -c %a "$DIR/web.sock")"
}

. tests/e2e/lib.sh
