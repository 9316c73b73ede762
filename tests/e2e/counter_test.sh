#!/bin/sh
# PoolCounter on the wire: the facts are in counter.py.

# try_fact FACT ADDRESS: says why it does not hold.
try_fact() {
	SLOW=$SLOW APPPOOLCTL=$APPPOOLCTL CONTROL=$DIR/control.sock \
	    CONF=$DIR/pool.conf timeout $((6 * LIMIT)) \
	    "$PYTHON" tests/e2e/counter.py "$2" "$1" 2>&1
}

# holds FACT [ADDRESS]
holds() {
	try_fact "$1" "${2:-$ADDRESS}" >"$DIR/facts" ||
	    fail "$1: $(cat "$DIR/facts")"
}

file_setup() {
	ADDRESS=127.0.0.1:$(free_port)
	conf <<-END
	counter = { "$ADDRESS", "unix:$DIR/counter.sock" }
	END
	pool_run
	begin_to_cut_off
}

# begin_to_cut_off: a client of another daemon that does not read, for the last
# test: to be cut off takes ten seconds, in which all others run.
begin_to_cut_off() {
	other_daemon deaf </dev/null
	start_process try_fact a_client_that_does_not_read_is_cut_off \
	    "unix:$DIR/deaf/counter.sock" >"$DIR/deaf/facts"
	DEAF=$STARTED
}

# other_daemon [NAME]: a second daemon in a folder of that name; what its file
# has besides comes from the standard input.
other_daemon() {
	other=$DIR/${1:-other}
	mkdir "$other"
	{
		echo "control = \"$other/control.sock\""
		echo "counter = \"unix:$other/counter.sock\""
		cat
	} >"$other/pool.conf"
	start_process "$APPPOOLD" -c "$other/pool.conf" \
	    >>"$other/log" 2>&1 </dev/null
	OTHER=$STARTED
	await can_connect "$other/counter.sock"
}

# can_connect PATH: whether a process listens there; the file alone proves
# nothing.
can_connect() {
	"$PYTHON" -c '
import socket, sys
socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1" 2>/dev/null
}

other_end() {
	stop_process "$OTHER"
	rm -rf "$DIR/other"
}

# Facts beyond the unit tests of lines and locks.
testEachFactOfTheDialogueHolds() {
	each holds <<-END
	replies_end_in_a_bare_lf
	a_line_of_1024_bytes_works
	the_tail_of_a_longer_line_is_never_executed
	split_lines_are_joined
	pipelined_lines_are_answered_in_order
	thousands_of_lines_at_once_are_all_answered
	an_unended_last_line_is_not_executed
	a_line_just_before_the_end_is_answered
	a_timeout_comes_when_it_is_due
	a_release_wakes_all_acq4any_and_one_acq4me
	each_way_to_leave_frees_the_lock
	each_way_to_leave_ends_the_wait
	stats_full_has_all_lines_in_their_order
	stats_of_one_name_is_that_line_alone
	stats_counts_every_kind_of_event
	a_client_that_does_not_read_delays_no_other
	the_requests_of_mediawiki_are_served
	the_requests_of_thumbor_are_served
	abrupt_ends_of_holders_and_waiters_leave_nothing
	END
}

testFiveThousandConnectionsWithFourLocksEach() {
	may_open 10000 || { skip 'needs 10,000 descriptors'; return; }
	holds five_thousand_connections_with_four_locks_each
}

testAUnixSocketServesAsWell() {
	for fact in pipelined_lines_are_answered_in_order \
	    a_release_wakes_all_acq4any_and_one_acq4me \
	    each_way_to_leave_frees_the_lock the_requests_of_thumbor_are_served \
	    a_client_that_does_not_read_delays_no_other; do
		holds $fact "unix:$DIR/counter.sock"
	done
}

testDescriptorsSentToTheCounterAreDropped() {
	counter=$(counter_pid)
	before=$(fds "$counter")
	holds descriptors_sent_to_the_counter_are_dropped "unix:$DIR/counter.sock"
	await has_at_most_fds "$counter" "$before"
}

has_at_most_fds() {
	[ "$(fds "$1")" -le "$2" ]
}

testNetcatCanAsk() {
	command -v nc >/dev/null || { skip 'no nc'; return; }
	# The input does not end: each kind of netcat does something else then.
	mkfifo "$DIR/in"
	exec 8<>"$DIR/in"
	# shellcheck disable=SC2016 # for that shell
	start_process sh -c 'exec nc "$1" "$2" <"$3"' sh "${ADDRESS%:*}" \
	    "${ADDRESS#*:}" "$DIR/in" >"$DIR/out"
	echo 'STATS FULL' >&8
	await has_lines 22 "$DIR/out"
	stop_process "$STARTED"
	exec 8>&-
	assertContains "$(cat "$DIR/out")" 'processed_count: '
}

has_lines() {
	[ "$(wc -l <"$2")" -eq "$1" ]
}

# locker NAME ARGUMENT...: a lock, in the background, while $DIR/NAME is there.
locker() {
	locker_name=$1
	shift
	: >"$DIR/$locker_name"
	start_process env APPPOOL_COUNTER="$ADDRESS" "$BUILD/tests/e2e/locker" \
	    "$DIR/$locker_name" "$@" >"$DIR/$locker_name.out" 2>&1 </dev/null
}

# lock ARGUMENT...: the answer to the request for a lock.
lock() {
	APPPOOL_COUNTER=$ADDRESS "$BUILD/tests/e2e/locker" "$DIR/none" "$@"
}

testTheLibraryTakesAndGivesLocks() {
	locker first work 1 3 60000 any
	await grep -q LOCKED "$DIR/first.out"
	locker second work 1 3 60000 any
	await status_is 1 counter waiting
	assertEquals TIMEOUT "$(lock work 1 3 0 any)"
	assertEquals QUEUE_FULL "$(lock work 1 2 1000 me)"
	start=$(now_ms)
	assertEquals TIMEOUT "$(lock work 1 9 150 me)"
	assertTrue 'it waited' "[ $(($(now_ms) - start)) -ge 150 ]"
	rm "$DIR/first"
	await grep -q RELEASED "$DIR/first.out"
	await grep -q DONE "$DIR/second.out"
	await status_is 0 counter keys
}

testALockIsReleasedWhenItsProcessDies() {
	locker killed work 1 3 5000 me
	await grep -q LOCKED "$DIR/killed.out"
	kill -KILL "$STARTED"
	await status_is 0 counter keys
}

# alone ARGUMENT...: apppool-counter without a daemon.
alone() {
	timeout $((6 * LIMIT)) "$BUILD/libexec/apppool-counter" "$@" \
	    >"$DIR/out" 2>&1 </dev/null
}

testTheProgramServesWithoutADaemon() {
	port=$(free_port)
	start_process "$BUILD/libexec/apppool-counter" -n 3 \
	    -l "*:$port" -l "unix:$DIR/single.sock" \
	    >"$DIR/single.log" 2>&1 </dev/null
	await can_connect "$DIR/single.sock"
	holds pipelined_lines_are_answered_in_order "127.0.0.1:$port"
	holds a_client_beyond_max_clients_is_told_so "unix:$DIR/single.sock"
	alone -l "127.0.0.1:$port"
	assertEquals 73 $?
	assertContains "$(cat "$DIR/out")" "127.0.0.1:$port: "
	kill -TERM "$STARTED"
	finish "$STARTED"
	assertEquals 0 "$RC"
	assertFalse 'its socket is left' "[ -e '$DIR/single.sock' ]"
}

testTheProgramRefusesWhatItCannotDo() {
	for wrong in '' '-x' '-n 0 -l *:0' '-l *:0 word'; do
		# shellcheck disable=SC2086 # words
		alone $wrong
		assertEquals "$wrong" 64 $?
	done
	for wrong in nowhere localhost:99999 fd:nothing; do
		alone -l "$wrong"
		assertEquals "$wrong" 73 $?
	done
	alone -V
	assertEquals "$("$APPPOOLD" -V | sed s/apppoold/apppool-counter/)" \
	    "$(cat "$DIR/out")"
}

testAReloadKeepsEveryLockAndWaiter() {
	holds a_reload_keeps_every_lock_and_waiter
}

testApppoolctlStatusShowsTheCounter() {
	assertEquals "$ADDRESS" "$(status counter listen 0)"
	if may_open 20000; then
		assertEquals 10000 "$(status counter max_clients)"
		assertEquals 40000 "$(status counter max_keys)"
	fi
	await status_is 0 counter processing
	assertTrue "[ $(status counter total_acquired) -gt 100 ]"
	assertContains "$(ctl status -v)" "counter: $ADDRESS"
}

testTheAddressesOfTheCounterAreAmongTheDaemonsListeners() {
	assertEquals "$ADDRESS unix:$DIR/counter.sock " \
	    "$(ctl listeners | tr '\n' ' ')"
	timeout "$LIMIT" "$APPPOOLD" -t -c "$DIR/pool.conf" \
	    >"$DIR/out" 2>&1 </dev/null || fail "$(cat "$DIR/out")"
}

testTheExampleOfACounterMakesItsFolder() {
	unshare -m true 2>/dev/null || { skip 'unshare needs root'; return; }
	sed 's,7531,0,' etc/examples/counter.conf >"$DIR/example.conf"
	cat >"$DIR/bare" <<-END
	mount -t tmpfs none /run &&
	    "$APPPOOLD" -D -c "$DIR/example.conf" &&
	    "$APPPOOLCTL" -c "$DIR/example.conf" stop
	END
	timeout "$LIMIT" unshare -m sh "$DIR/bare" >"$DIR/out" 2>&1 </dev/null
	assertEquals "$(cat "$DIR/out")" 0 $?
}

testADaemonThatOnlyCountsIsReadyAtOnce() {
	cat >"$DIR/alone.conf" <<-END
	control = "$DIR/alone.control"
	counter = "unix:$DIR/alone.sock"
	log = "$DIR/alone.log"
	END
	timeout "$LIMIT" "$APPPOOLD" -D -c "$DIR/alone.conf" </dev/null
	assertEquals 0 $?
	timeout "$LIMIT" "$APPPOOLCTL" -s "$DIR/alone.control" wait
	assertEquals 0 $?
	holds pipelined_lines_are_answered_in_order "unix:$DIR/alone.sock"
	timeout "$LIMIT" "$APPPOOLCTL" -s "$DIR/alone.control" stop >/dev/null
	assertEquals 0 $?
}

testAClientBeyondMaxClientsIsToldSo() {
	other_daemon <<-END
	counter_max_clients = 3
	END
	holds a_client_beyond_max_clients_is_told_so "unix:$DIR/other/counter.sock"
	await grep -q counter_max_clients "$DIR/other/log"
	other_end
}

testWithFewDescriptorsTheCounterWarnsOfMaxClients() {
	cat >"$DIR/few.conf" <<-END
	control = ""
	counter = "unix:$DIR/few.sock"
	END
	(
		# shellcheck disable=SC3045 # dash and bash have it
		ulimit -n 200
		exec "$APPPOOLD" -c "$DIR/few.conf"
	) >"$DIR/few.log" 2>&1 </dev/null &
	STARTED=$!
	PIDS="$PIDS $STARTED"
	await grep -q 'counter_max_clients 10000' "$DIR/few.log"
	stop_process "$STARTED"
}

testAnAddressInUseEndsTheStartAndIsFoundByChecking() {
	printf '%s\n' "counter = \"$ADDRESS\"" 'control = ""' >"$DIR/taken.conf"
	timeout "$LIMIT" "$APPPOOLD" -c "$DIR/taken.conf" \
	    >"$DIR/taken.log" 2>&1 </dev/null
	assertEquals 73 $?
	assertContains "$(cat "$DIR/taken.log")" "$ADDRESS"
	timeout "$LIMIT" "$APPPOOLD" -t -c "$DIR/taken.conf" \
	    >"$DIR/out" 2>&1 </dev/null
	assertEquals 78 $?
	assertContains "$(cat "$DIR/out")" "$DIR/taken.conf:1:"
}

testAReloadThatCannotListenLeavesTheCounterAsItIs() {
	cp "$DIR/pool.conf" "$DIR/good.conf"
	sed -i "s,\"$ADDRESS\",\"unix:$DIR/none/counter.sock\"," "$DIR/pool.conf"
	ctl reload >"$DIR/out" 2>&1
	assertEquals 1 $?
	cp "$DIR/good.conf" "$DIR/pool.conf"
	holds the_requests_of_mediawiki_are_served
	assertEquals "$ADDRESS" "$(status counter listen 0)"
}

testClientsStayWhenTheCounterLeavesTheFile() {
	cp "$DIR/pool.conf" "$DIR/good.conf"
	holds clients_stay_when_the_counter_leaves_the_file
	cp "$DIR/good.conf" "$DIR/pool.conf"
	reload
	holds the_requests_of_mediawiki_are_served
}

# Clients that come in between wait in the backlog; all locks are lost.
testACounterThatIsKilledIsReplacedAtOnce() {
	locker lost work 1 3 60000 me
	await grep -q LOCKED "$DIR/lost.out"
	counter=$(counter_pid)
	start=$(now_ms)
	kill -KILL "$counter"
	lock work 1 3 1000 me | grep -q LOCKED
	assertEquals 'it is free' 0 $?
	took=$(($(now_ms) - start))
	assertTrue "took $took ms" "[ $took -lt $((3000 * SLOW)) ]"
	await said "counter (pid $counter) killed by signal 9"
	assertNotEquals "$counter" "$(counter_pid)"
	assertEquals "$ADDRESS" "$(status counter listen 0)"
	rm "$DIR/lost"
	finish "$STARTED"
	await status_is 0 counter clients
	holds a_release_wakes_all_acq4any_and_one_acq4me \
	    "unix:$DIR/counter.sock"
}

# has_returned COUNT: so many calls of a sample.
has_returned() {
	[ "$(wc -l <"$DIR/returned")" -ge "$1" ]
}

# each_sample FUNCTION: for each language whose sample can run; $LOCKER is its
# client.
each_sample() {
	for language in ruby perl; do
		LOCKER=tests/e2e/locker.rb
		[ "$language" = ruby ] || LOCKER=tests/e2e/locker.pl
		"/usr/bin/$language" "$LOCKER" </dev/null >/dev/null 2>&1 &&
		    "$1" "$language"
	done
}

# locker_says LANGUAGE: what each call of the sample returns; calls come from
# stdin.
locker_says() {
	timeout "$LIMIT" "/usr/bin/$1" "$LOCKER" 2>&1 | paste -sd ' '
}

# assert_locks LANGUAGE: the sample locks and unlocks.
assert_locks() {
	assertEquals 'open LOCKED QUEUE_FULL TIMEOUT true false LOCKED false true' \
	    "$(locker_says "$1" <<-END
	open unix:$DIR/counter.sock
	lock sample 1 1 0
	lock sample 1 1 0
	lock sample 1 9 0.01 any
	unlock
	unlock
	lock sample 1 1 0
	unlock other
	unlock sample
	END
	)"
}

# assert_tells LANGUAGE: the sample says what is wrong.
assert_tells() {
	said=$(locker_says "$1" <<-END
	open unix:$DIR/nobody.sock
	lock sample 1 1 0
	lock a_key_of_0_workers 0 1 0
	open $ADDRESS
	lock a_key_of_0_workers 0 1 0
	END
	)
	assertContains "$said" "unix:$DIR/nobody.sock: "
	assertContains "$said" 'No such file'
	assertContains "$said" 'ERROR BAD_SYNTAX'
}

# assert_tells_slots_apart LANGUAGE: by the sums of sha1sum(1).
assert_tells_slots_apart() {
	key=enwiki:pcache:idhash:4711
	sum=$(printf %s "$key" | sha1sum | cut -c 1-4)
	assertEquals "Parse:$((0x$sum % 1000)) Parse:0" "$(locker_says "$1" <<-END
	slot Parse $key 1000
	slot Parse $key 1
	END
	)"
}

# assert_connects_again LANGUAGE: the sample does where it holds no lock.
assert_connects_again() {
	other_daemon </dev/null
	rm -f "$DIR/calls"
	mkfifo "$DIR/calls"
	exec 3<>"$DIR/calls"
	# shellcheck disable=SC2016 # of that shell
	start_process sh -c 'exec "/usr/bin/$1" "$2" <"$3" 3>&-' \
	    sh "$1" "$LOCKER" "$DIR/calls" >"$DIR/returned" 2>&1
	printf '%s\n' "open unix:$DIR/other/counter.sock" 'lock sample 1 1 0' \
	    unlock >&3
	await grep -q true "$DIR/returned"
	other_end
	# With the pipe open the daemon would keep the sample from its end.
	other_daemon </dev/null 3>&-
	echo 'lock sample 1 1 0' >&3
	await has_returned 4
	exec 3>&-
	finish "$STARTED"
	other_end
	assertEquals 'open LOCKED true LOCKED' "$(paste -sd ' ' "$DIR/returned")"
}

# A package that is being replaced, for example.
testACounterThatDidNotStartStartsWhenItsProgramIsThere() {
	mkdir -p "$DIR/moved/libexec"
	cp "$APPPOOLD" "$DIR/moved/apppoold"
	program=$DIR/moved/libexec/apppool-counter
	cp "$(dirname "$(readlink "/proc/$(counter_pid)/exe")")"/apppool-* \
	    "$DIR/moved/libexec"
	APPPOOLD=$DIR/moved/apppoold other_daemon </dev/null
	mv "$program" "$program.away"
	pkill -KILL -P "$OTHER" -f counter
	await grep -q 'counter: cannot execute' "$other/log"
	mv "$program.away" "$program"
	await can_connect "$other/counter.sock"
	await holds a_release_wakes_all_acq4any_and_one_acq4me \
	    "unix:$other/counter.sock"
	other_end
}

testTheSamplesOfRubyAndPerlLockAndUnlock() {
	each_sample assert_locks
	each_sample assert_tells_slots_apart
	each_sample assert_tells
	each_sample assert_connects_again
}

testAProcessIsToldTheAddressOfTheCounter() {
	mkdir "$DIR/other"
	cat >"$DIR/other/pool.conf" <<-END
	control = "$DIR/other/control.sock"
	counter = "*:0"
	app "env" {
		handoff = "none"
		command = { "/bin/sh", "-c",
		    'echo "at \$APPPOOL_COUNTER"; exec sleep 1000' }
	}
	END
	start_process "$APPPOOLD" -c "$DIR/other/pool.conf" \
	    >>"$DIR/other/log" 2>&1 </dev/null
	await grep -q 'at 127\.0\.0\.1:[1-9]' "$DIR/other/log"
	stop_process "$STARTED"
	rm -rf "$DIR/other"
}

# stampede_conf [nolock]
stampede_conf() {
	rm -rf "$DIR/stampede"
	mkdir -p "$DIR/stampede/cache" && chmod 777 "$DIR/stampede/cache"
	cp contrib/workers/apppool.py contrib/workers/stampede.py "$DIR/stampede"
	cat >"$DIR/stampede/pool.conf" <<-END
	control = "control.sock"
	counter = "unix:counter.sock"
	app "page" {
		listen = "unix:page.sock"
		socket_mode = 0666
		command = { "/usr/bin/python3", "-B",
		    "$DIR/stampede/stampede.py", "$DIR/stampede/cache", "0.5"
		    ${1:+, "$1"} }
		min_processes = 12
		max_processes = 12
		start_timeout = $((3 * LIMIT))s
	}
	END
}

# stampede [nolock]: how often a page that 12 clients want at once is computed,
# in $COMPUTED.
stampede() {
	stampede_conf "$@"
	stampede_starts
	# All workers set out together, each with its client.
	workers=$(stampede_status workers '*' pid)
	# shellcheck disable=SC2086 # numbers
	pause_process $workers
	clients=
	for client in 1 2 3 4 5 6 7 8 9 10 11 12; do
		get_page >"$DIR/stampede/got.$client" &
		clients="$clients $!"
	done
	await each_has_a_client
	# shellcheck disable=SC2086 # numbers
	kill -CONT $workers
	# shellcheck disable=SC2086 # numbers
	wait $clients
	assertEquals 'answered' 12 "$(cat "$DIR"/stampede/got.* | grep -c computed)"
	COMPUTED=$(wc -c <"$DIR/stampede/cache/computed")
	stop_process "$STARTED"
}

stampede_starts() {
	start_process "$APPPOOLD" -c "$DIR/stampede/pool.conf" \
	    >>"$DIR/log" 2>&1 </dev/null
	await can_connect "$DIR/stampede/control.sock"
	timeout $((3 * LIMIT)) "$APPPOOLCTL" -s "$DIR/stampede/control.sock" \
	    wait >/dev/null || fail 'not ready'
}

stampede_status() {
	"$BUILD/tests/e2e/look" "$DIR/stampede/control.sock" "$LIMIT" \
	    apps page "$@"
}

each_has_a_client() {
	[ "$(stampede_status sessions)" -eq 12 ]
}

get_page() {
	http_get --unix-socket "$DIR/stampede/page.sock" http://page/
}

testALockLetsOneOfTwelveComputeAPage() {
	stampede
	assertEquals 1 "$COMPUTED"
}

testWithoutALockSeveralOfTwelveComputeAPage() {
	stampede nolock
	assertTrue "computed $COMPUTED times" "[ $COMPUTED -gt 1 ]"
}

testWithoutACounterWorkersComputeUnlocked() {
	stampede_conf
	sed -i '/^counter/d' "$DIR/stampede/pool.conf"
	sed -i "s,min_processes = 12,environment = { \"APPPOOL_COUNTER=unix:$DIR/none\" }," \
	    "$DIR/stampede/pool.conf"
	stampede_starts
	assertContains "$(get_page)" computed
	await said 'no lock'
}

testAClientThatDoesNotReadIsCutOff() {
	finish "$DEAF" $((3 * LIMIT))
	assertEquals "$(cat "$DIR/deaf/facts")" 0 "$RC"
}

. tests/e2e/lib.sh
