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

# --- shrinking ----------------------------------------------------------

testALowLoadStopsAllProcessesButOne() {
	starts 'min_processes = 0 max_processes = 4 start_delay = 0
	    stop_delay = 0 max_idle_time = 0 update_interval = 50ms
	    multi_threshold = 40 kill_interval = 100ms' sized
	occupy all 4
	await status_is 4 apps web active
	dismiss all
	await status_is '{"load": 3}' apps web exits
	await compare load '<' 1
	assertEquals 1 "$(status apps web processes)"
}

# --- one ceiling for all ------------------------------------------------

# Each process whose session ends makes room for the app that has waited
# longest, although connections of its own app wait.
testPlacesUnderTheCeilingGoToTheAppThatWaitedLongest() {
	for name in other web third; do
		app $name <<-EOF
		min_processes = 0
		max_processes = 4
		start_delay = 0
		EOF
	done >"$DIR/apps"
	conf <<-EOF
	max_processes = 2
	process_slack = 0
	$(cat "$DIR/apps")
	EOF
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

. tests/e2e/lib.sh
