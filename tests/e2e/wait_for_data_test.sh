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
	wait_for_data = true
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

testClientsWhoSayNothingOrNotEnoughDelayNobody() {
	each check <<-'END'
	silent_clients_occupy_no_process
	a_wait_begins_with_the_first_byte
	clients_leave
	silence_is_timed_out 'keep_alive_timeout = 200ms'
	the_longest_silent_makes_room 'max_parked = 10'
	a_drain_ends_silence
	without_the_option_they_wait_as_others
	a_kept_client_is_served_again 'keep_alive = true'
	a_request_comes_in_parts 'wait_for_request = http'
	what_is_no_request_goes_to_a_process 'wait_for_request = http'
	half_a_request_and_the_end 'wait_for_request = http'
	a_drain_ends_half_a_request 'wait_for_request = http'
	END
}

testAProgramWithoutTheProtocolIsStartedForNoSilentClient() {
	PROGRAM=/bin/cat
	check a_program_echoes 'handoff = stdio'
	PROGRAM=
}

testFiveThousandSlowClientsDelayNobody() {
	check slow_clients_delay_nobody \
	    'wait_for_request = http'
	echo "# $(cat "$DIR/slow")"
}

testMaxParkedIsLoweredToTheDescriptorsThatAreLeft() {
	(
		# shellcheck disable=SC3045 # dash and bash have it
		ulimit -n 500
		check silent_clients_occupy_no_process
		pool_stop
	)
	assertTrue "said 'max_parked of all apps is 10000'"
}

. tests/e2e/lib.sh
