#!/bin/sh
# apppool-jobs and apppool-jobs-perl serve functions, which apppool_jobs.py and
# AppPoolJobs.pm call; see jobs.py and jobs.pl.

# serve LANGUAGE [OPTIONS [WORD...]]: its functions at $DIR/web.sock, by a server
# with these words before the module; false: that cannot be. The language async is
# Python with asynchronous functions.
serve() {
	user='' server=apppool-jobs functions=job_functions
	! is_root || user='user = root'
	[ "$1" != async ] || functions=async_functions
	if [ "$1" = perl ]; then
		/usr/bin/perl -MSocket::MsgHdr -e 1 2>/dev/null ||
		    { skip 'no Socket::MsgHdr'; return 1; }
		server=apppool-jobs-perl functions=JobFunctions
	fi
	options="$user directory = \"$PWD/tests/e2e/workers\"
	    environment = \"PYTHONDONTWRITEBYTECODE=1\" ${2:-}"
	shift $(($# < 2 ? 1 : 2))
	starts "$options" server web $server "$@" $functions
}

# call_from LANGUAGE FACT...: of jobs.py, or of jobs.pl.
call_from() {
	if [ "$1" != perl ]; then
		shift
		set -- "$PYTHON" -B tests/e2e/workers/jobs.py "$DIR" "$@"
	else
		shift
		set -- /usr/bin/perl tests/e2e/workers/jobs.pl "$DIR/web.sock" "$@"
	fi
	timeout $((6 * LIMIT)) "$@" >"$DIR/out" 2>&1
	assertEquals "$(cat "$DIR/out")" 0 $?
}

# none_lost LANGUAGE FACT...: the same, and the daemon stops.
none_lost() {
	call_from "$@"
	assertEquals 0 "$(status apps web lost)"
	pool_stop
}

testACallHasTheResultOfTheFunctionOrItsError() {
	serve python
	none_lost python a_call_has_the_result_of_the_function \
	    what_a_function_raises_is_the_error_of_its_call
	serve perl || return 0
	none_lost perl a_call_has_the_result_of_the_function \
	    what_ends_a_function_is_the_error_of_its_call
}

testEventsOfAFunctionReachItsCallerBeforeTheResult() {
	for language in python perl; do
		serve $language 'max_processes = 4' || return 0
		call_from perl events_come_in_order_before_the_result
		none_lost python events_come_in_order_before_the_result \
		    a_call_without_on_event_has_no_events \
		    a_function_is_told_that_its_caller_has_left
	done
}

testAnOnEventThatFailsCostsNoResult() {
	serve python
	none_lost python an_on_event_that_fails_costs_no_result
}

testBytesTravelUnchangedBetweenPythonAndPerl() {
	for language in python perl; do
		serve $language || return 0
		call_from perl bytes_travel_unchanged the_key_of_bytes_is_reserved
		none_lost python bytes_travel_unchanged
	done
	serve python
	none_lost python the_key_of_bytes_is_reserved
}

testManyCallsAreInFlightAndAnsweredInOrder() {
	serve python 'max_processes = 4'
	none_lost python many_calls_are_in_flight \
	    calls_on_a_connection_are_answered_in_order \
	    large_calls_and_results_pass_each_other \
	    a_call_that_is_too_long_ends_its_connection
	serve perl 'max_processes = 4' || return 0
	none_lost perl many_calls_are_in_flight \
	    a_callback_may_call \
	    calls_on_a_connection_are_answered_in_order \
	    large_calls_and_results_pass_each_other \
	    a_call_that_is_too_long_ends_its_connection
}

testAFunctionCanRetireItsProcess() {
	serve python 'max_processes = 2'
	none_lost python a_function_that_retires_is_the_last_of_its_process \
	    an_exception_can_ask_to_retire \
	    calls_behind_one_that_retires_are_answered
	serve perl 'max_processes = 2' || return 0
	none_lost perl a_function_that_retires_is_the_last_of_its_process \
	    calls_behind_one_that_retires_are_answered
}

testAConnectionThatIsAlwaysBusyIsLeftAfterAWhile() {
	for language in python perl; do
		serve $language 'max_requests = 1' || return 0
		none_lost $language \
		    a_connection_that_is_always_busy_is_left_after_a_while
	done
}

testOfAProcessThatDiesTheCallAtHandAloneFails() {
	for language in python perl; do
		serve $language || return 0
		call_from $language \
		    of_a_process_that_dies_the_call_at_hand_alone_fails
		pool_stop
	done
}

testFunctionsInPythonAreCalledFromPerl() {
	serve python 'max_processes = 4'
	none_lost perl many_calls_are_in_flight \
	    large_calls_and_results_pass_each_other \
	    calls_behind_one_that_retires_are_answered
}

testFunctionsInPerlAreCalledFromPython() {
	serve perl 'max_processes = 4' || return 0
	none_lost python many_calls_are_in_flight \
	    a_function_that_retires_is_the_last_of_its_process
}

testTheInitFunctionIsCalledOnceInEachProcess() {
	for language in python async perl; do
		for template in false true; do
			serve $language "template = $template" --init start ||
			    return 0
			none_lost $language each_process_is_started_once
		done
	done
}

testAnInitFunctionThatFailsIsAFailedStart() {
	for language in python perl; do
		for template in false true; do
			serve $language || return 0
			pool_stop
			sed -i -e 's/"[jJ]ob_*[fF]unctions" }/"--init", "start_fails", &/' \
			    -e "s/^command/template = $template\n&/" \
			    -e 's/^command/min_processes = 1\n&/' "$DIR/pool.conf"
			pool_run
			await has_failed_with 'start_fails: .*no database'
			assertNotEquals 0 "$(status apps web spawn_failures)"
			pool_stop
		done
		sed -i s/start_fails/absent/ "$DIR/pool.conf"
		pool_run
		await has_failed_with 'unctions: .*absent'
		pool_stop
	done
}

# has_failed_with PATTERN: whether that is the last failure of the app.
has_failed_with() {
	status apps web last_failure | grep -q "$1"
}

testAsynchronousFunctionsRunTogetherInOneProcess() {
	serve async 'max_processes = 1 concurrency = 4'
	none_lost python \
	    asynchronous_functions_run_as_many_as_the_concurrency_at_a_time \
	    a_slow_caller_does_not_hold_up_others \
	    what_a_function_leaves_behind_has_no_events \
	    a_function_that_is_cancelled_is_an_error
}

testAnEventLoopServesAllThatIsServedWithoutOne() {
	serve async 'max_processes = 4 concurrency = 2'
	none_lost python a_call_has_the_result_of_the_function \
	    what_a_function_raises_is_the_error_of_its_call \
	    many_calls_are_in_flight \
	    events_come_in_order_before_the_result \
	    a_call_without_on_event_has_no_events \
	    a_function_is_told_that_its_caller_has_left \
	    bytes_travel_unchanged \
	    calls_on_a_connection_are_answered_in_order \
	    large_calls_and_results_pass_each_other \
	    a_call_that_is_too_long_ends_its_connection \
	    calls_behind_one_that_retires_are_answered
	serve async 'max_requests = 1'
	none_lost python a_connection_that_is_always_busy_is_left_after_a_while
	serve async
	call_from python of_a_process_that_dies_the_call_at_hand_alone_fails
	pool_stop
}

testAWarmProcessWithAnEventLoopLeavesATemplateBehind() {
	serve async 'template = true refork_after = 3 max_processes = 2
	    concurrency = 2' --init start
	call_from python many_calls_are_in_flight
	await is_forked_by_a_process
	none_lost python each_process_is_started_once many_calls_are_in_flight
}

is_forked_by_a_process() {
	status apps web template forked_by | grep -qvx null
}

testATemplateLoadsTheFunctions() {
	serve python 'template = true'
	none_lost python a_call_has_the_result_of_the_function \
	    a_function_that_retires_is_the_last_of_its_process
}

testConnectionsMayBePrefetched() {
	serve python 'max_processes = 1 prefetch = 1'
	start_process "$PYTHON" -B tests/e2e/workers/jobs.py "$DIR" \
	    a_connection_waits_at_a_busy_process
	caller=$STARTED
	# The second is with the process, not in the queue.
	await status_is 2 apps web sessions
	: >"$DIR/go"
	finish "$caller"
	assertEquals 0 "$RC"
}

testTheClientSendsAsManyCallsAsItsLoad() {
	for language in python perl; do
		call_from $language \
		    as_many_calls_as_the_load_are_sent_before_an_answer
	done
}

testWithoutAServerEachCallFails() {
	for language in python perl; do
		call_from $language without_an_app_each_call_fails \
		    a_server_that_refuses_everybody_is_not_asked_for_ever
	done
}

testAModuleThatCannotBeLoadedIsToldOf() {
	begins '' server web apppool-jobs missing
	await said "missing: ModuleNotFoundError: No module named 'missing'"
	stop_process "$POOL"
	serve perl || return 0
	pool_stop
	sed -i 's/JobFunctions/Absent::Module/' "$DIR/pool.conf"
	pool_run
	await said "Absent::Module: Can't locate Absent/Module.pm"
}

. tests/e2e/lib.sh
