#!/bin/sh
# apppool-jobs-perl serves functions, which AppPoolJobs.pm calls; see jobs.pl.

# serve [OPTION...]: the functions at $DIR/web.sock; false: that cannot be.
serve() {
	/usr/bin/perl -MSocket::MsgHdr -e 1 2>/dev/null ||
	    { skip 'no Socket::MsgHdr'; return 1; }
	serve_by '"apppool-jobs-perl", "JobFunctions"' "$@"
}

# serve_by WORDS [OPTION...]: by that command.
serve_by() {
	user=
	! is_root || user='user = root'
	conf <<-EOF
	app "web" {
		listen = "unix:$DIR/web.sock"
		command = { $1 }
		directory = "$PWD/tests/e2e/workers"
		environment = "PYTHONDONTWRITEBYTECODE=1"
		$user
		$2
	}
	EOF
	pool_start
}

# assert_jobs FACT...: of jobs.pl.
assert_jobs() {
	timeout $((3 * LIMIT)) /usr/bin/perl tests/e2e/workers/jobs.pl \
	    "$DIR/web.sock" "$@" >"$DIR/out" 2>&1
	assertEquals "$(cat "$DIR/out")" 0 $?
}

testACallHasTheResultOfTheFunctionOrItsError() {
	serve || return 0
	assert_jobs a_call_has_the_result_of_the_function \
	    what_ends_a_function_is_the_error_of_its_call
}

testManyCallsAreInFlightAndAnsweredInOrder() {
	serve 'max_processes = 4' || return 0
	assert_jobs many_calls_are_in_flight \
	    a_callback_may_call \
	    calls_on_a_connection_are_answered_in_order \
	    large_calls_and_results_pass_each_other \
	    a_call_that_is_too_long_ends_its_connection
}

testAFunctionCanRetireItsProcess() {
	serve 'max_processes = 2' || return 0
	assert_jobs a_function_that_retires_is_the_last_of_its_process \
	    calls_behind_one_that_retires_are_answered
	assertEquals 0 "$(status apps web lost)"
}

testAConnectionThatIsAlwaysBusyIsLeftAfterAWhile() {
	serve 'max_requests = 1' || return 0
	assert_jobs a_connection_that_is_always_busy_is_left_after_a_while
	assertEquals 0 "$(status apps web lost)"
}

testOfAProcessThatDiesTheCallAtHandAloneFails() {
	serve || return 0
	assert_jobs of_a_process_that_dies_the_call_at_hand_alone_fails
}

testFunctionsInPythonAreCalledFromPerl() {
	serve_by '"apppool-jobs", "job_functions"' 'max_processes = 4'
	assert_jobs many_calls_are_in_flight \
	    large_calls_and_results_pass_each_other \
	    calls_behind_one_that_retires_are_answered
	assertEquals 0 "$(status apps web lost)"
}

testFunctionsInPerlAreCalledFromPython() {
	serve 'max_processes = 4' || return 0
	PYTHONDONTWRITEBYTECODE=1 "$PYTHON" tests/e2e/workers/jobs.py "$DIR" \
	    many_calls_are_in_flight \
	    a_function_that_retires_is_the_last_of_its_process >"$DIR/out" 2>&1
	assertEquals "$(cat "$DIR/out")" 0 $?
	assertEquals 0 "$(status apps web lost)"
}

testTheClientSendsAsManyCallsAsItsLoad() {
	assert_jobs as_many_calls_as_the_load_are_sent_before_an_answer
}

testWithoutAServerEachCallFails() {
	assert_jobs without_an_app_each_call_fails \
	    a_server_that_refuses_everybody_is_not_asked_for_ever
}

testAModuleThatCannotBeLoadedIsToldOf() {
	serve || return 0
	pool_stop
	sed -i 's/JobFunctions/Absent::Module/' "$DIR/pool.conf"
	pool_run
	await said "Absent::Module: Can't locate Absent/Module.pm"
}

# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
