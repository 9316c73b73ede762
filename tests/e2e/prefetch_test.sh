#!/bin/sh
# Connections that are handed ahead, and the queues of processes of their own.

# pair OPTION...: the app web, of two processes, each of which is given one
# connection ahead.
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

# busy NAME SESSIONS: one more process has one, of so many; its number is in
# $PROCESS.
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

# PID SESSIONS, a line for each process.
sessions_by_pid() {
	status apps 0 workers '*' pid,sessions
}

testWhoIsHandedAheadWaitsInTheSocketOfTheProcess() {
	app web <<-EOF | conf
	max_processes = 1
	prefetch = 2
	EOF
	pool_start
	occupy all 4
	await are_sessions 3
	await status_is 1 apps web waiting
	dismiss all
	assertEquals '1 2 3 4' "$(echo "$ANSWERS" | cut -d ' ' -f 4 | xargs)"
	assertEquals 0 "$(status apps web retaken)"
}

# Of two, the one that was given something least recently gets the third.
testWhatIsAheadGoesToTheSiblingThatFallsIdle() {
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

testWhatIsAheadOfAProcessThatIsKilledGoesElsewhere() {
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
	assertEquals 'who was in a session is lost' 1 "$RC"
	dismiss other
	assertContains "$ANSWERS" hello
	await status_is 1 apps web lost
	assert_accounts web
}

# Long ones among many short ones: there is always somebody to be taken back.
testNobodyIsLostWhileConnectionsGoToAndFro() {
	app web <<-EOF | conf
	min_processes = 4
	max_processes = 4
	prefetch = 3
	EOF
	pool_start
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

testProcessesThatAreKilledLoseOnlyWhatTheyHadReceived() {
	app web --crash-every 20 <<-EOF | conf
	min_processes = 4
	max_processes = 4
	prefetch = 3
	restart_delay = 1ms
	restart_delay_max = 1ms
	retry_limit = 1000
	EOF
	pool_start
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

testPrefetchChangesInPlace() {
	app web <<-EOF | conf
	max_processes = 1
	EOF
	pool_start
	first=$(pid_of "$(web)")
	occupy all 3
	await status_is 2 apps web waiting
	app web <<-EOF | conf
	max_processes = 1
	prefetch = 1
	EOF
	ctl reload >"$DIR/said" || fail "$(cat "$DIR/said")"
	await are_sessions 2
	await status_is 1 apps web waiting
	dismiss all
	assertEquals "$first" \
	    "$(echo "$ANSWERS" | cut -d ' ' -f 1 | sort -u)"
	assert_accounts web
}

# --- queue = private ----------------------------------------------------

testAPrivateQueueIsNotSharedWithASiblingThatFallsIdle() {
	pair 'queue = private'
	busy long 1
	long=$PROCESS
	busy short 2
	occupy ahead
	await are_sessions 3
	assertContains "$(sessions_by_pid)" "$long 2"
	dismiss short
	sleep 0.1
	assertContains "$(sessions_by_pid)" "$long 2"
	assertEquals 0 "$(status apps web retaken)"
	dismiss long
	dismiss ahead
	assertEquals "$long" "$(pid_of "$ANSWERS")"
	assert_accounts web
}

testPrivateQueuesAreFilledEvenly() {
	pair 'queue = private'
	occupy all 4
	await are_sessions 4
	assertEquals '2 2' "$(sessions_by_pid | cut -d ' ' -f 2 | xargs)"
	dismiss all
	assertEquals 4 "$(echo "$ANSWERS" | grep -c hello)"
}

testWithFullPrivateQueuesNobodyWaitsInCommon() {
	pair 'queue = private'
	occupy all 5
	await are_sessions 4
	assertEquals 0 "$(status apps web waiting)"
	assertEquals 1 "$(status apps web backlog)"
	dismiss all
	assertEquals 5 "$(echo "$ANSWERS" | grep -c hello)"
	assertEquals 5 "$(status apps web accepted)"
}

testWithFullPrivateQueuesTheNextIsTurnedAwayWhereOnFullSaysSo() {
	pair 'queue = private' 'on_full = close'
	occupy all 5
	await status_is 1 apps web refused
	assertEquals 4 "$(status apps web sessions)"
	dismiss all
	assertEquals lost "$(echo "$ANSWERS" | tail -n 1)"
	assertEquals 4 "$(echo "$ANSWERS" | grep -c hello)"
	assert_accounts web
}

# Those ahead are waiting, too, though a new process is for who comes next.
testWhatIsAheadInPrivateQueuesMakesTheAppGrow() {
	app web <<-EOF | conf
	prefetch = 1
	queue = private
	start_delay = 50ms
	EOF
	pool_start
	occupy all 3
	await shares_are '0 1 2'
	dismiss all
	assertEquals 3 "$(echo "$ANSWERS" | grep -c hello)"
	await status_is 3 apps web spawned
}

shares_are() {
	[ "$(sessions_by_pid | cut -d ' ' -f 2 | sort | xargs)" = "$1" ]
}

# What has nobody left to queue with waits for the next process.
testThePrivateQueueOfAProcessThatIsKilledGoesElsewhere() {
	app web <<-EOF | conf
	max_processes = 1
	prefetch = 2
	queue = private
	restart_delay = 10ms
	EOF
	pool_start
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
