#!/bin/sh
# Prefetched connections, and private queues of processes.

# pair OPTION...: the app web, of two processes, which prefetch one connection
# each.
pair() {
	app web <<-EOF | conf
	min_processes = 2
	max_processes = 2
	prefetch = 1
	restart_delay = 10ms
	$(printf '%s\n' "$@")
	EOF
	pool_start
}

# busy NAME SESSIONS: one more process has a session, of so many in all; its pid
# is in $PROCESS.
busy() {
	busy_before=$(sessions_by_pid)
	occupy "$1"
	await are_sessions "$2"
	PROCESS=$(sessions_by_pid | grep ' 1$' | grep -vxF -e "$busy_before" |
	    cut -d ' ' -f 1)
}

are_sessions() {
	status_is "$1" apps web sessions
}

# sessions_by_pid: PID SESSIONS, a line for each process.
sessions_by_pid() {
	status apps 0 workers '*' pid,sessions
}

testPrefetchedConnectionsWaitInTheSocketOfTheProcess() {
	starts 'max_processes = 1 prefetch = 2' app web
	occupy all 4
	await are_sessions 3
	await status_is 1 apps web waiting
	dismiss all
	assertEquals '1 2 3 4' "$(echo "$ANSWERS" | cut -d ' ' -f 4 | xargs)"
	assertEquals 0 "$(status apps web retaken)"
}

# The third connection goes to the process that was given one least recently.
testAPrefetchedConnectionGoesToTheSiblingThatBecomesIdle() {
	pair
	busy long 1
	long=$PROCESS
	busy short 2
	short=$PROCESS
	occupy ahead
	await are_sessions 3
	assertContains "$(sessions_by_pid)" "$long 2"
	dismiss short
	dismiss ahead
	assertEquals "$short" "$(pid_of "$ANSWERS")"
	await status_is 1 apps web retaken
	dismiss long
	assertEquals "$long" "$(pid_of "$ANSWERS")"
	assert_accounts web
}

# The keeper is to take a connection back, and there is no memory for its page.
testAConnectionIsTakenBackThoughAKeeperCouldNotBeStartedBefore() {
	pair 'output = null'
	kib=$(sed -n 's/^VmSize:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$POOL/status")
	[ "$kib" -lt 1000000000 ] ||
	    { skip 'a sanitizer has all the addresses there are'; return 0; }
	busy long 1
	busy short 2
	occupy ahead
	await are_sessions 3
	keeper=$(status apps web keepers 0 pid)
	kill -KILL "$keeper"
	await is_gone "$keeper"
	# Within a second of its start there is no other keeper.
	sleep 1
	prlimit --pid "$POOL" --as=4096:
	dismiss short
	await said 'apppool-keeper: Cannot allocate memory'
	prlimit --pid "$POOL" --as=unlimited:
	dismiss ahead
	await status_is 1 apps web retaken
	dismiss long
	assert_accounts web
}

testAPrefetchedConnectionOfAKilledProcessGoesElsewhere() {
	pair
	hold_at long
	long=$(at_gate long)
	occupy other
	await are_sessions 2
	occupy ahead
	await are_sessions 3
	assertContains "$(sessions_by_pid)" "$long 2"
	kill -KILL "$long"
	dismiss ahead
	assertContains "$ANSWERS" hello
	assertNotEquals "$long" "$(pid_of "$ANSWERS")"
	behind
	assertEquals 'the session is lost' 1 "$RC"
	dismiss other
	assertContains "$ANSWERS" hello
	await status_is 1 apps web lost
	assert_accounts web
}

# Long sessions among many short ones: there is always a connection to take
# back.
testNoConnectionIsLostWhileManyAreTakenBack() {
	starts 'min_processes = 4 max_processes = 4 prefetch = 3' app web
	start_process "$BUILD/tests/e2e/flood" --unix "$DIR/web.sock" \
	    --concurrency 3 --count 100 --request 'sleep 15ms' \
	    --max lost=0 >"$DIR/long" 2>&1
	long=$STARTED
	await has_sessions
	flood --unix "$DIR/web.sock" --concurrency 10 --count 3000 \
	    --max lost=0 >"$DIR/short" 2>&1
	assertEquals "$(cat "$DIR/short")" 0 $?
	finish "$long" 30
	assertEquals "$(cat "$DIR/long")" 0 "$RC"
	assertTrue 'none was taken back' "[ $(status apps web retaken) -gt 0 ]"
	assertEquals 0 "$(status apps web lost)"
	await status_is 3100 apps web completed
	assert_accounts web
}

has_sessions() {
	[ "$(status apps web sessions)" -gt 0 ]
}

testKilledProcessesLoseOnlyTheSessionsTheyHadBegun() {
	starts 'min_processes = 4 max_processes = 4 prefetch = 3
	    restart_delay = 1ms restart_delay_max = 1ms retry_limit = 1000' \
	    app web --crash-every 20
	flood --unix "$DIR/web.sock" --concurrency 20 --count 1000 \
	    --quiet >"$DIR/flood" 2>&1
	lost=$(sed -n 's/.* lost=\([0-9]*\).*/\1/p' "$DIR/flood")
	assertTrue "$lost lost" "[ $lost -gt 0 ]"
	# The clients know before the daemon does.
	await status_is $((1000 - lost)) apps web completed
	await status_is "$lost" apps web lost
	await status_is "$lost" apps web exits signal
	assert_accounts web
}

is_served() {
	before=$(status apps web completed)
	[ "$(web)" ] && [ "$(status apps web completed)" -gt "$before" ]
}

# Each connection ends once, wherever it is when a process or the keeper dies.
testProcessesAndKeepersThatDieAmongRetakenConnectionsLoseEachOnce() {
	starts 'min_processes = 4 max_processes = 4 prefetch = 1
	    restart_delay = 1ms restart_delay_max = 1ms retry_limit = 1000
	    min_server_life = 0' app web
	start_process "$BUILD/tests/e2e/flood" --unix "$DIR/web.sock" \
	    --concurrency 3 --count 150 --request 'sleep 15ms' >"$DIR/long" 2>&1
	long=$STARTED
	start_process "$BUILD/tests/e2e/flood" --unix "$DIR/web.sock" \
	    --concurrency 10 --count 3000 >"$DIR/short" 2>&1
	short=$STARTED
	for round in 1 2 3 4 5 6 7 8; do
		case $round in
		4) victim='keepers 0' ;;
		*) victim="workers $((round % 4))" ;;
		esac
		# shellcheck disable=SC2086 # two words
		kill -KILL "$(status apps web $victim pid)" 2>/dev/null
		await is_served
	done
	finish "$long" 60
	finish "$short" 60
	lost=$(($(sed -n 's/.* lost=\([0-9]*\).*/\1/p' \
	    "$DIR/long" "$DIR/short" | paste -sd +)))
	await status_is 0 apps web sessions
	# A process may be killed when it has answered and not yet said so.
	counted=$(status apps web lost)
	assertTrue "$lost of $counted lost" \
	    "[ $lost -le $counted ] && [ $counted -le $((lost + 7)) ]"
	assertTrue 'none was taken back' "[ $(status apps web retaken) -gt 0 ]"
	assert_accounts web
}

# one OPTION...: the app web, of one process; as root, of another user.
one() {
	app web <<-EOF | conf
	max_processes = 1
	$(printf '%s\n' "$@")
	EOF
}

# A busy machine may have made the sessions so far long.
prefetches_after_brief_sessions() {
	flood --unix "$DIR/web.sock" --concurrency 1 --count 100 \
	    >"$DIR/flood" 2>&1 && status_is 1 apps web prefetch
}

testThePoolPrefetchesByItselfWhereSessionsAreBrief() {
	[ "$SLOW" -eq 1 ] || { skip 'no session is brief here'; return; }
	one
	pool_start
	assertEquals 0 "$(status apps web prefetch)"
	wait_for $((6 * LIMIT)) prefetches_after_brief_sessions ||
	    fail 'not prefetched'
	flood --unix "$DIR/web.sock" --concurrency 1 --count 50 \
	    --request 'sleep 20ms' >"$DIR/flood" 2>&1
	assertEquals 0 "$(status apps web prefetch)"
	one 'prefetch = 2'
	reload
	assertEquals 2 "$(status apps web prefetch)"
	one 'prefetch = auto'
	reload
	assertEquals 0 "$(status apps web prefetch)"
	assert_accounts web
}

testPrefetchChangesInPlace() {
	starts 'max_processes = 1' app web
	first=$(pid_of "$(web)")
	occupy all 3
	await status_is 2 apps web waiting
	conf_of 'max_processes = 1 prefetch = 1' app web
	reload
	await are_sessions 2
	await status_is 1 apps web waiting
	dismiss all
	assertEquals "$first" \
	    "$(echo "$ANSWERS" | cut -d ' ' -f 1 | sort -u)"
	assert_accounts web
}

# --- queue = private ----------------------------------------------------

# Without another process the queue waits for the next.
testThePrivateQueueOfAKilledProcessGoesToTheNext() {
	starts 'max_processes = 1 prefetch = 2 queue = private
	    restart_delay = 10ms' app web
	hold_at first
	occupy others 2
	await are_sessions 3
	kill -KILL "$(at_gate first)"
	await status_is 1 apps web lost
	behind
	assertEquals 1 "$RC"
	dismiss others
	assertEquals 2 "$(echo "$ANSWERS" | grep -c hello)"
	assert_accounts web
}

. tests/e2e/lib.sh
