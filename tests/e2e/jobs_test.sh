#!/bin/sh
# apppool-jobs serves functions, which apppool_jobs.py calls; see jobs.py.

# serve [OPTION...]: the functions at $DIR/web.sock.
serve() {
	user=
	! is_root || user='user = root'
	conf <<-EOF
	app "web" {
		listen = "unix:$DIR/web.sock"
		command = { "apppool-jobs", "job_functions" }
		directory = "$PWD/tests/e2e/workers"
		environment = "PYTHONDONTWRITEBYTECODE=1"
		$user
		$1
	}
	EOF
	pool_start
}

# assert_jobs FACT...: of jobs.py.
assert_jobs() {
	PYTHONDONTWRITEBYTECODE=1 "$PYTHON" tests/e2e/workers/jobs.py \
	    "$DIR" "$@" >"$DIR/out" 2>&1
	assertEquals "$(cat "$DIR/out")" 0 $?
}

testACallHasTheResultOfTheFunctionOrItsError() {
	serve
	assert_jobs a_call_has_the_result_of_the_function \
	    what_a_function_raises_is_the_error_of_its_call
}

testManyCallsAreInFlightAndAnsweredInOrder() {
	serve 'max_processes = 4'
	assert_jobs many_calls_are_in_flight \
	    calls_on_a_connection_are_answered_in_order \
	    large_calls_and_results_pass_each_other \
	    a_call_that_is_too_long_ends_its_connection
}

testAFunctionCanRetireItsProcess() {
	serve 'max_processes = 2'
	assert_jobs a_function_that_retires_is_the_last_of_its_process \
	    an_exception_can_ask_to_retire \
	    calls_behind_one_that_retires_are_answered
	assertEquals 0 "$(status apps web lost)"
}

testAConnectionThatIsAlwaysBusyIsLeftAfterAWhile() {
	serve 'max_requests = 1'
	assert_jobs a_connection_that_is_always_busy_is_left_after_a_while
	assertEquals 0 "$(status apps web lost)"
}

testOfAProcessThatDiesTheCallAtHandAloneFails() {
	serve
	assert_jobs of_a_process_that_dies_the_call_at_hand_alone_fails
}

testATemplateLoadsTheFunctions() {
	serve 'template = true'
	assert_jobs a_call_has_the_result_of_the_function \
	    a_function_that_retires_is_the_last_of_its_process
}

testConnectionsMayBePrefetched() {
	serve 'max_processes = 1
	prefetch = 1'
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
	assert_jobs as_many_calls_as_the_load_are_sent_before_an_answer
}

testWithoutAServerEachCallFails() {
	assert_jobs without_an_app_each_call_fails \
	    a_server_that_refuses_everybody_is_not_asked_for_ever
}

testAModuleThatCannotBeLoadedIsToldOf() {
	conf <<-EOF
	app "web" {
		listen = "unix:$DIR/web.sock"
		command = { "apppool-jobs", "missing" }
	}
	EOF
	pool_run
	await said "missing: ModuleNotFoundError: No module named 'missing'"
}

# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
