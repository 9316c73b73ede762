#!/bin/sh
# handoff = accept: when a program is ready, and when a session is over.

. tests/e2e/accept_help.sh

# ask_many_held COUNT: so many requests at once, that last until `release`; the
# answers are in $DIR/answers then.
ask_many_held() {
	rm -f "$DIR/released"
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --text "wait $DIR/released" --count "$1" --together \
	    --timeout $((3 * LIMIT)) >"$DIR/answers"
}

# ---------------------------------------------------------------- ready, done

testAProgramIsReadyWhenItCallsAcceptAndNotBefore() {
	rm -f "$DIR/released"
	begins '' accept web --start-when "$DIR/released"
	await status_is 1 apps web starting
	sleep 0.1
	assertEquals 0 "$(status apps web idle)"
	release
	await status_is 1 apps web idle
}

testASessionIsOverWhenTheProgramCallsAcceptAgain() {
	starts '' accept web
	rm -f "$DIR/released"
	ask_behind "afterwards $DIR/released"
	behind
	# The client has left, the program has not come back.
	assertEquals 1 "$(status apps web sessions)"
	release
	await has_sessions 0
	await status_is 1 apps web completed
}

testEveryMannerOfAcceptingServesAllConnections() {
	for manner in '' '--poll' '--poll --nonblock' \
	    '--poll --nonblock --drain' '--nonblock --poll --no-address' \
	    '--dup --poll --nonblock' \
	    '--accept4 cloexec --poll'; do
		# shellcheck disable=SC2086 # options
		accept web $manner </dev/null | conf
		pool_start
		assert_flood 300 --concurrency 3
		await status_is 300 apps web completed
		assertEquals "$manner" 0 "$(status apps web lost)"
		pool_stop
	done
}

testAPollingProgramIsNotWaitedForByTimer() {
	starts 'max_processes = 1' accept web --poll --nonblock
	begun=$(now_ms)
	assert_flood 200 --concurrency 1
	await has_sessions 0
	# A look by timer at what the program has forgotten takes 100 ms each.
	took=$(($(now_ms) - begun))
	assertTrue "took $took ms" "[ $took -lt 15000 ]"
}

testFourThreadsServeFourConnectionsAtATime() {
	starts 'concurrency = 4 max_processes = 1' accept web --threads 4
	ask_many_held 4
	await has_sessions 4
	release
	await has_sessions 0
	await status_is 4 apps web completed
}

testSessionsThatThreadsHandOnAreCountedToTheirEnd() {
	for manner in '' '--poll' '--nonblock --poll --drain'; do
		# shellcheck disable=SC2086 # options
		accept web --hand-on $manner <<-EOF | conf
		concurrency = 3
		max_processes = 1
		EOF
		pool_start
		ask_held
		# The same thread accepts, and serves, others meanwhile.
		assertNotNull "$manner" "$(web)"
		assertNotNull "$manner" "$(web)"
		await has_sessions 1
		assertEquals "$manner" 1 "$(status apps web sessions)"
		release
		behind
		await has_sessions 0
		await status_is 3 apps web completed
		pool_stop
	done
}

testSessionsLeaveNoDescriptorOpenInProgramAndAdapter() {
	for manner in '' '--poll --nonblock' '--hand-on --poll'; do
		# shellcheck disable=SC2086 # options
		conf_of 'max_processes = 1' accept web $manner
		pool_start
		assert_flood 20
		await status_is 20 apps web completed
		worker=$(status apps web workers 0 pid)
		program=$(program)
		of_worker=$(fds "$worker") of_program=$(fds "$program")
		assert_flood 200
		await status_is 220 apps web completed
		# A wake-up may be under way, as it may have been before.
		wait_for "$LIMIT" have_few_open
		assertTrue "$manner: $(fds "$worker") and $(fds "$program"), \
not $of_worker and $of_program" have_few_open
		pool_stop
	done
}

have_few_open() {
	[ "$(fds "$worker")" -le "$of_worker" ] &&
	    [ "$(fds "$program")" -le "$of_program" ]
}

# All children poll the same socket, and a wake-up wakes all.
testChildrenThatPollTheSameSocketServe() {
	starts 'concurrency = 3 max_processes = 1' \
	    accept web --fork 3 --poll --nonblock
	assert_flood 300 --concurrency 6
	await status_is 300 apps web completed
	assertEquals 0 "$(status apps web lost)"
	assertEquals 1 "$(status apps web spawned)"
}

# The call of accept, in which the child waited, is not there any more.
testAForkedChildThatDiesInAcceptCostsNoConnection() {
	starts 'concurrency = 2 max_processes = 1' accept web --fork 2
	for round in 1 2 3 4 5 6; do
		await has_children
		# shellcheck disable=SC2046 # numbers
		kill -KILL $(children "$(program)")
		assertNotNull "$round" "$(web)"
	done
	await status_is 6 apps web completed
	assertEquals 0 "$(status apps web lost)"
	assertEquals 1 "$(status apps web spawned)"
}

has_children() {
	[ -n "$(children "$(program)")" ]
}

testAForkedChildThatDiesEndsItsSession() {
	starts 'concurrency = 2 max_processes = 1' accept web --fork 2
	web 'kill 9' 2>/dev/null
	await status_is 1 apps web completed
	# A sibling has taken the place of the child.
	assert_flood 20
	assertEquals 1 "$(status apps web spawned)"
}

. tests/e2e/lib.sh
