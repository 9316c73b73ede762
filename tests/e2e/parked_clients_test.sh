#!/bin/sh
# Clients who keep their connections, which hold no process in between.

file_setup() {
	cp "$BUILD/tests/e2e/workers/parker" "$DIR"
}

# parking [OPTION...]: app web, whose four processes park; its further options.
parking() {
	cat <<-EOF
	app "web" {
	listen = "unix:web.sock"
	command = { ${PROGRAM:-"\"$DIR/parker\""} }
	keep_alive = true
	min_processes = 4
	max_processes = 8
	restart_delay = 10ms
	EOF
	printf '%s\n' "$@" '}'
}

# parked SCENARIO: nothing, if all clients have heard what they must hear.
parked() {
	POOL=$POOL "$PYTHON" tests/e2e/parked.py "$DIR" "$LIMIT" "$1" 2>&1
}

# check SCENARIO [OPTION...]: ... of a daemon for that alone.
check() {
	check_what=$1
	shift
	parking "$@" | conf
	pool_start
	assertEquals '' "$(parked "$check_what")"
	assert_accounts web
}

testParkedClientsAreServedWhateverHappens() {
	each check <<-'END'
	a_reload_keeps_them
	a_resize_keeps_them
	deaths_lose_none
	clients_leave
	half_a_request_holds_one_process
	pipelined_requests_are_answered
	requests_meet_park
	the_longest_idle_makes_room 'max_parked = 10'
	idle_clients_are_closed_in_time 'keep_alive_timeout = 200ms'
	a_drain_closes_them
	a_kept_copy_disturbs_nobody
	END
}

testTheEndOfTheDaemonClosesParkedConnections() {
	parking | conf
	pool_start
	assertEquals '' "$(parked a_stop_closes_them)"
	ends_well
}

testAProcessThatParksTwiceEndsAlone() {
	cp contrib/workers/apppool.py tests/e2e/workers/twice.py "$DIR"
	PROGRAM="\"$PYTHON\", \"$DIR/twice.py\""
	check parking_twice_ends_the_process_alone
	PROGRAM=
}

testAProcessCannotParkTheConnectionOfAnotherApp() {
	cp contrib/workers/apppool.py tests/e2e/workers/guesser.py "$DIR"
	{
		parking
		cat <<-EOF
		app "guess" {
		listen = "unix:guess.sock"
		command = { "$PYTHON", "$DIR/guesser.py" }
		keep_alive = true
		}
		EOF
	} | conf
	pool_start
	assertEquals '' "$(parked a_guessed_serial_ends_the_process_that_guesses)"
	assertTrue "said 'PARK of what it does not hold'"
	assert_accounts web
}

testParkWithoutKeepAliveIsNonsense() {
	starts '' app web --at 1 --say 'PARK 1'
	web >/dev/null
	await said 'broke the protocol and is killed: PARK without keep_alive'
}

. tests/e2e/lib.sh
