#!/bin/sh
# Clients who connect and say nothing, or not enough.

file_setup() {
	cp "$BUILD/tests/e2e/workers/parker" "$DIR"
}

# check SCENARIO [OPTION...]: nothing goes wrong for clients of two processes.
check() {
	check_what=$1
	shift
	check_port=$(free_port)
	echo "$check_port" >"$DIR/port"
	conf <<-EOF2
	app "web" {
	listen = { "unix:web.sock", "127.0.0.1:$check_port" }
	command = ${PROGRAM:-"$DIR/parker"}
	min_processes = 2
	max_processes = 2
	$(printf '%s\n' "$@")
	}
	EOF2
	pool_start
	assertEquals '' \
	    "$("$PYTHON" tests/e2e/silent.py "$DIR" "$LIMIT" "$check_what" 2>&1)"
	assert_accounts web
}

testSilentClientsOccupyNoProcess() {
	check silent_clients_occupy_no_process 'wait_for_data = true'
}

testAWaitBeginsWithTheFirstByte() {
	check a_wait_begins_with_the_first_byte 'wait_for_data = true'
}

testSilentClientsThatLeaveAreAbandoned() {
	check clients_leave 'wait_for_data = true'
}

testSilenceIsTimedOut() {
	check silence_is_timed_out 'wait_for_data = true' \
	    'keep_alive_timeout = 200ms'
}

testTheClientThatIsSilentLongestMakesRoom() {
	check the_longest_silent_makes_room 'wait_for_data = true' \
	    'max_parked = 10'
}

testADrainEndsSilence() {
	check a_drain_ends_silence 'wait_for_data = true'
}

testSilentClientsWaitAsOthersWhenTheOptionIsGone() {
	check without_the_option_they_wait_as_others 'wait_for_data = true'
}

testAClientThatIsKeptIsServedAgain() {
	check a_kept_client_is_served_again 'wait_for_data = true' \
	    'keep_alive = true'
}

testAProgramWithoutTheProtocolIsStartedForNoSilentClient() {
	PROGRAM=/bin/cat
	check a_program_echoes 'wait_for_data = true' 'handoff = stdio'
	PROGRAM=
}

testARequestMayComeInParts() {
	check a_request_comes_in_parts 'wait_for_data = true' \
	    'wait_for_request = http'
}

testWhatIsNoRequestGoesToAProcess() {
	check what_is_no_request_goes_to_a_process 'wait_for_data = true' \
	    'wait_for_request = http'
}

testHalfARequestWithoutMoreToComeGoesToAProcess() {
	check half_a_request_and_the_end 'wait_for_data = true' \
	    'wait_for_request = http'
}

testFiveThousandSlowClientsDelayNobody() {
	check slow_clients_delay_nobody 'wait_for_data = true' \
	    'wait_for_request = http'
	echo "# $(cat "$DIR/slow")"
}

testMaxParkedIsLoweredToTheDescriptorsThatAreLeft() {
	(
		# shellcheck disable=SC3045 # dash and bash have it
		ulimit -n 500
		check silent_clients_occupy_no_process 'wait_for_data = true'
		pool_stop
	)
	assertTrue "said 'max_parked of all apps is 10000'"
}

# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
