#!/bin/sh
# When processes start and stop: by waits, by load, by what other apps need.

# sized [OPTION-OF-tworker...]: the app web; its options come from stdin.
sized() {
	echo 'log_level = debug'
	app web "$@"
}

# compare KEY OPERATOR NUMBER [APP]: a figure of the app, which may be a
# fraction.
compare() {
	awk -v "is=$(status apps "${4:-web}" "$1")" -v "n=$3" \
	    "BEGIN { exit !(is + 0 $2 n + 0) }"
}

# said_at WORD: times of log lines about workers with that word, in
# milliseconds.
said_at() {
	sed -n "s/^\([^ ]*\) debug web: worker .* $1.*/\1/p" "$DIR/log" |
	    date -f - +%s%3N
}

# log_times N WORD: these times into $DIR/times, as soon as there are N: the log
# may be behind the status.
log_times() {
	await have_times "$@"
}

have_times() {
	said_at "$2" >"$DIR/times"
	[ "$(wc -l <"$DIR/times")" -ge "$1" ]
}

# updates N: returns after at least N updates of the load, 50 ms apart: each
# status is a turn of the loop, at the end of which an update that is due is
# made.
updates() {
	for _ in $(seq $((2 * $1 + 1))); do
		status pid >/dev/null
		sleep 0.06
	done
	status pid >/dev/null
}

# assert_not_before TIME LINE: that line of $DIR/times is not earlier.
assert_not_before() {
	set -- "$1" "$2" "$(sed -n "$2p" "$DIR/times")"
	assertTrue "$2 after $(($3 - $1)) ms" "[ '$3' -ge $1 ]"
}

# --- a promised wait -----------------------------------------------------

# threes: three connections at a time, until the need is known to be over 1.
threes() {
	for _ in $(seq 50); do
		occupy three 3
		await status_is 3 apps web active
		dismiss three
		await status_is 0 apps web active
		[ "$(status apps web need)" != null ] &&
		    compare need '>' 1 && break
	done
	assertTrue "$(status apps web need) needed" 'compare need ">" 1'
}

testTheNeedIsUnknownAtFirstAndShownWithWhatWasKept() {
	starts 'min_processes = 3 max_processes = 8 target_wait = 20ms' sized
	assertEquals 0.02 "$(status apps web target_wait)"
	assertEquals 'null null' \
	    "$(status apps web need) $(status apps web kept)"
	threes
	assertEquals 100.0 "$(status apps web kept)"
	assertContains "$(ctl status -v)" 'kept for 100.0 %; need '
}

# With three at a time three may be needed, though never more.
testAProcessThatIsNeededIsReplacedThoughNobodyWaits() {
	starts 'max_processes = 8 restart_delay = 10ms start_delay = 0
	    target_wait = 1ms' sized
	threes
	started=$(status apps web spawned)
	victim=$(pid_of "$(web)")
	kill -KILL "$victim"
	await status_is $((started + 1)) apps web spawned
}

testWithoutAPromiseTheNeedIsAFigureAlone() {
	starts 'max_processes = 8 max_idle_time = 100ms stop_delay = 0
	    start_delay = 0' sized
	assertEquals null "$(status apps web target_wait)"
	threes
	await status_is 1 apps web processes
	assertNotContains "$(ctl status -v)" promise
	assertContains "$(ctl status -v)" '  need '
}

# --- growth -------------------------------------------------------------

# 1, 2, 4, 8, 16, 32, less those that are still starting, which are all of the
# step before: one process at a time would take 31 delays.
testGrowthDoublesWithEachStartDelayAndNotBefore() {
	delay=$((200 * SLOW))
	starts "max_processes = 32 start_delay = ${delay}ms target_wait = 0
	    update_interval = 1h" sized --start-delay "$((delay * 3 / 2))ms"
	began=$(now_ms)
	occupy all 32
	await status_is 32 apps web active
	log_times 32 started
	assert_not_before $((began + delay)) 2
	assert_not_before $((began + 2 * delay)) 3
	assert_not_before $((began + 3 * delay)) 4
	assert_not_before $((began + 4 * delay)) 7
	assert_not_before $((began + 5 * delay)) 12
	assert_not_before $((began + 6 * delay)) 23
	last=$(($(sed -n 32p "$DIR/times") - began))
	assertTrue "all after $last ms" "[ $last -lt $((30 * delay)) ]"
	dismiss all
}

testClientsWaitNoLongerForAStartThanOneTakes() {
	starts 'max_processes = 5 start_delay = 1h' sized
	occupy all 5
	await status_is 5 apps web active
	dismiss all
}

# With steps that double there would be two at a time, at most.
testAStepOfAllStartsWhatIsNeeded() {
	starts 'max_processes = 5 start_delay = 1h start_delay_step = all' \
	    sized --start-delay "$((500 * SLOW))ms"
	occupy all 5
	await status_is 4 apps web starting
	await status_is 5 apps web active
	dismiss all
}

testWithoutStartDelayAsManyStartAsAreNeeded() {
	starts 'start_delay = 0' sized --start-delay 100ms
	occupy all 5
	await status_is 5 apps web active
	assertEquals 5 "$(status apps web spawned)"
	dismiss all
	assertEquals 5 "$(status apps web spawned)"
}

testSpareProcessesAreKeptReady() {
	starts 'max_processes = 5 min_idle = 2 start_delay = 10ms
	    stop_delay = 0 max_idle_time = 100ms' sized
	await status_is 2 apps web idle
	occupy some 2
	await status_is 2 apps web active
	await status_is 2 apps web idle
	occupy more 2
	await status_is 4 apps web active
	await status_is 1 apps web idle
	assertEquals 5 "$(status apps web processes)"
	dismiss some
	dismiss more
	await status_is '{"idle": 3}' apps web exits
	assertEquals 2 "$(status apps web idle)"
}

# start_delay does not hold up the start of the first process.
testAnAppWithoutAMinimumStartsAProcessOnDemand() {
	starts 'min_processes = 0 start_delay = 1h max_idle_time = 100ms' sized
	assertEquals 0 "$(status apps web spawned)"
	assertContains "$(web)" hello
	await status_is '{"idle": 1}' apps web exits
	assertEquals 0 "$(status apps web processes)"
	assertContains "$(web)" hello
	assertEquals 2 "$(status apps web spawned)"
}

testAHighLoadStartsAProcessWithoutAWait() {
	starts 'max_processes = 4 start_delay = 1h target_wait = 0
	    update_interval = 50ms' sized
	occupy one
	await status_is 2 apps web processes
	await compare load '<' 60
	assertEquals 2 "$(status apps web spawned)"
	occupy another
	await status_is 3 apps web processes
	dismiss one
	dismiss another
}

# --- load ---------------------------------------------------------------

# Busy time counts while it passes, not when a session ends.
testAProcessInALongSessionIsLoad() {
	starts 'min_processes = 2 max_processes = 2 update_interval = 50ms' \
	    sized
	assertTrue "$(status apps web load) %" 'compare load == 0'
	occupy one
	await compare load '>' 49
	assertTrue "$(status apps web load) %" 'compare load "<=" 50.5'
	assertTrue "$(status apps web work)" 'compare work ">" 0.98'
	occupy another
	await compare load '>' 99
	await compare work '>' 1.98
	dismiss one
	dismiss another
	await compare load '<' 1
}

# --- shrinking ----------------------------------------------------------

testIdleProcessesStopAStopDelayApart() {
	delay=$((200 * SLOW))
	starts "max_processes = 5 start_delay = 0 stop_delay = ${delay}ms
	    max_idle_time = 100ms" sized
	occupy all 5
	await status_is 5 apps web active
	began=$(now_ms)
	dismiss all
	await status_is '{"idle": 4}' apps web exits
	assertEquals 1 "$(status apps web processes)"
	log_times 4 exited
	for i in 1 2 3 4; do
		assert_not_before $((began + 100 + (i - 1) * delay)) $i
	done
}

# by_load MAX_PROCESSES [OPTION]: an app whose idle processes stop by load
# alone.
by_load() {
	sized <<-EOF | conf
	min_processes = 0
	max_processes = $1
	start_delay = 0
	stop_delay = 0
	max_idle_time = 0
	update_interval = 50ms
	multi_threshold = 40
	kill_interval = 100ms
	$2
	EOF
	pool_start
}

testALowLoadStopsAllProcessesButOne() {
	by_load 4
	occupy all 4
	await status_is 4 apps web active
	dismiss all
	await status_is '{"load": 3}' apps web exits
	await compare load '<' 1
	assertEquals 1 "$(status apps web processes)"
}

testASingleProcessStopsUnderSingleThreshold() {
	by_load 1 'single_threshold = 10'
	assertContains "$(web)" hello
	await status_is '{"load": 1}' apps web exits
	assertEquals 0 "$(status apps web processes)"
}

# A busy process of four: 33 % load without one of the others, 50 % without two.
testAsManyProcessesStopAsTheLoadAllows() {
	by_load 4
	occupy one
	occupy others 3
	await status_is 4 apps web active
	# The load comes down from 100 % to that of one of four; coming up from
	# 0, processes would be marked on the way.
	await compare load '>' 90
	dismiss others
	await compare load '<' 33.5
	await status_is '{"load": 1}' apps web exits
	assertEquals 3 "$(status apps web processes)"
	dismiss one
	assertContains "$ANSWERS" hello
}

# --- one ceiling for all ------------------------------------------------

# shared CEILING SLACK [OPTION]...: the apps other and web under it.
shared() {
	cat <<-EOF
	max_processes = $1
	process_slack = $2
	EOF
	shift 2
	for name in other web; do
		app $name <<-EOF
		min_processes = 0
		max_processes = 4
		start_delay = 0
		$(printf '%s\n' "$@")
		EOF
	done
}

testAtTheCeilingTheLongestIdleProcessOfAnotherAppStops() {
	shared 4 0 'update_interval = 50ms' |
	    sed '/^app "other"/,/^}/s/min_processes = 0/min_processes = 1/' |
	    conf
	pool_start
	for n in 1 2 3 4; do
		occupy $n 1 other
	done
	await status_is 4 apps other active
	for n in 1 2 3 4; do
		dismiss $n
		await status_is $n apps other idle
		[ $n -ne 1 ] || oldest=$(pid_of "$ANSWERS")
	done
	assertContains "$(web)" hello
	await is_gone "$oldest"
	await status_is '{"evicted": 1}' apps other exits
	assertEquals 3 "$(status apps other idle)"

	# The other app keeps its minimum.
	await compare load '<' 1 other
	occupy all 4
	await status_is 3 apps web active
	await status_is 1 apps web waiting
	assertEquals 1 "$(status apps other idle)"
	dismiss all
	assertEquals 4 "$(echo "$ANSWERS" | grep -c hello)"
}

# Each process whose session ends makes room for the app that has waited
# longest, although connections of its own app wait.
testPlacesUnderTheCeilingGoToTheAppThatWaitedLongest() {
	{
		shared 2 0
		app third <<-EOF
		min_processes = 0
		EOF
	} | conf
	pool_start
	occupy first 1 other
	occupy second 1 other
	await status_is 2 apps other active
	occupy more 2 other
	await status_is 2 apps other waiting
	occupy web
	await status_is 1 apps web waiting
	occupy third 1 third
	await status_is 1 apps third waiting

	dismiss first
	await status_is 1 apps web active
	assertEquals 1 "$(status apps third waiting)"
	assertEquals 2 "$(status apps other waiting)"
	dismiss second
	await status_is 1 apps third active
	assertEquals 2 "$(status apps other waiting)"
	dismiss web
	await status_is 1 apps other active
	dismiss third
	dismiss more
	assertEquals 2 "$(echo "$ANSWERS" | grep -c hello)"
	for name in other web third; do
		assert_accounts $name
	done
}

# A place that an app took from the other must not go back at once.
testTwoBusyAppsShareAndKeepWhatTheyHave() {
	shared 4 0 'update_interval = 50ms' 'max_queue = 400' | conf
	pool_start
	keep_busy other
	await status_is 4 apps other active
	keep_busy web
	await status_is 2 apps web active
	spawned=$(status apps '*' spawned | xargs)
	served=$(status apps web completed)
	await compare completed '>' $((served + 20))
	assertEquals '2 2' "$(status apps '*' active | xargs)"
	assertEquals 'no further starts' "$spawned" \
	    "$(status apps '*' spawned | xargs)"
	assertEquals '0 0' "$(status apps '*' lost | xargs)"
	pool_stop INT
}

# keep_busy APP: 400 connections at once: some wait for many seconds, whatever
# is held up.
keep_busy() {
	start_process "$BUILD/tests/e2e/flood" --unix "$DIR/$1.sock" \
	    --concurrency 400 --count 400 --request 'sleep 50ms' \
	    --timeout $((6 * LIMIT)) >"$DIR/flood.$1" 2>&1
	await compare accepted == 400 "$1"
}

# with_slack N: the other app has four idle processes, three of them marked;
# then web starts one.
with_slack() {
	shared 8 "$1" 'update_interval = 50ms' 'multi_threshold = 50' \
	    'kill_interval = 1h' |
	    sed '/^app "web"/,/^}/s/max_processes = 4/max_processes = 1/' | conf
	pool_start
	occupy all 4 other
	await status_is 4 apps other active
	dismiss all
	await compare load '<' 12 other
	updates 3
	assertEquals 4 "$(status apps other idle)"
	assertContains "$(web)" hello
}

testMarkedProcessesStopAtOnceWithinTheSlackOfTheCeiling() {
	with_slack 5
	await status_is '{"load": 3}' apps other exits
	assertEquals 1 "$(status apps other idle)"
}

testMarkedProcessesStayWhereThereIsRoom() {
	with_slack 4
	await status_is '{}' apps other exits
	assertEquals 4 "$(status apps other idle)"
}

# --- reload -------------------------------------------------------------

testALowerCeilingStopsIdleProcesses() {
	shared 8 0 | conf
	pool_start
	occupy all 4 other
	await status_is 4 apps other active
	occupy some 2
	await status_is 2 apps web active
	shared 3 0 | conf
	ctl reload >"$DIR/said" || fail "$(cat "$DIR/said")"
	assertEquals 6 "$(status processes)"
	dismiss all
	await status_is 3 processes
	assertEquals 2 "$(status apps web active)"
	await status_is '{"resized": 3}' apps other exits
	dismiss some
	assertEquals 2 "$(echo "$ANSWERS" | grep -c hello)"
}

testTwoLongSessionsDoNotBlockAnAppAtMaxRequests() {
	starts 'max_processes = 1 concurrency = 4 max_requests = 2' app web
	occupy long 2
	await status_is 2 apps web sessions
	assertContains "$(web hello)" hello
	assertEquals 2 "$(status apps web sessions)"
	dismiss long
	assert_accounts web
}

. tests/e2e/lib.sh
