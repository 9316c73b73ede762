#!/bin/sh
# The system runs out of descriptors or processes: no client is lost.

# limit RESOURCE N: the daemon's soft limit; the hard limit stays, so that an
# ordinary user can take it back.
limit() {
	$AS_USER prlimit --pid "$POOL" "--$1=$2:"
}

unlimit() {
	limit "$1" "$($AS_USER prlimit --pid "$POOL" --"$1" --noheadings \
	    --output HARD | tr -d ' ')"
}

AS_USER=

# limit_with_free N: the limit below which so many numbers are free; some that
# are taken may lie above.
limit_with_free() {
	find "/proc/$POOL/fd" -type l -printf '%f\n' | sort -n | awk -v free="$1" '
	{ free -= $1 - next_fd; next_fd = $1 + 1 }
	free < 0 { print $1 + free; exit }'
}

testAConfigurationThatNeedsTooManyDescriptorsIsRefused() {
	conf_of 'max_queue = 500' app web
	prlimit --nofile=300:300 "$APPPOOLD" -c "$DIR/pool.conf" \
	    >"$DIR/told" 2>&1
	assertEquals "$(cat "$DIR/told")" 71 $?
	assertContains "$(cat "$DIR/told")" descriptors
}

# With keep_alive there is a copy of each connection that a process has.
testAtTheLimitThatTheRefusalNamesAllCanBeServed() {
	{
		echo 'max_processes = 60'
		app web <<-EOF
		keep_alive = true
		output = null
		min_processes = 60
		max_processes = 60
		max_queue = 10
		user = "$(id -un)"
		EOF
	} | conf
	prlimit --nofile=70:70 "$APPPOOLD" -c "$DIR/pool.conf" \
	    >"$DIR/told" 2>&1
	assertEquals "$(cat "$DIR/told")" 71 $?
	need=$(sed -n 's/.*up to \([0-9]*\) descriptors.*/\1/p' "$DIR/told")
	prlimit --nofile=$((need - 1)):$((need - 1)) "$APPPOOLD" \
	    -c "$DIR/pool.conf" >"$DIR/told" 2>&1
	assertEquals "$(cat "$DIR/told")" 71 $?
	run_by prlimit --nofile="$need:$need"
	ctl wait >/dev/null || fail 'not ready'
	occupy all 70
	await status_is 60 apps web sessions
	await status_is 10 apps web waiting
	dismiss all
	assertEquals 'answers' 70 "$(echo "$ANSWERS" | grep -c hello)"
	assertFalse 'descriptors sufficed' "said 'Too many open files'"
}

# output_conf OUTPUT: with `log` the daemon has a pipe more for each process and
# each of its two outputs.
output_conf() {
	{
		echo 'max_processes = 100'
		app web <<-EOF
		output = $1
		max_queue = 10
		EOF
	} | conf
}

testAConfigurationWhoseOutputTakesTooManyDescriptorsIsRefused() {
	output_conf log
	prlimit --nofile=400:400 "$APPPOOLD" -c "$DIR/pool.conf" \
	    >"$DIR/told" 2>&1
	assertEquals "$(cat "$DIR/told")" 71 $?
	assertContains "$(cat "$DIR/told")" \
	    '478 descriptors are needed (4 for each of max_processes 100'
}

testOutputThatIsNotReadTakesNoDescriptors() {
	output_conf null
	run_by prlimit --nofile=400:400
	assertContains "$(web)" hello
}

testTheSoftLimitOfDescriptorsIsRaisedToTheHardOne() {
	conf_of 'max_queue = 500' app web
	run_by prlimit --nofile=300:
	assertContains "$(web)" hello
}

# Sessions end, and so there are descriptors again.
testWithoutDescriptorsAUnixListenerRestsAndLosesNoClient() {
	starts 'min_processes = 2 max_processes = 2 max_queue = 400' \
	    app web --work 5ms
	limit nofile $(($(fds "$POOL") + 10))
	floods --unix "$DIR/web.sock" --count 400 --concurrency 200 \
	    --max lost=0 --max failed=0 --max refused=0
	await said 'Too many open files'
	assertTrue 'it is said too often' \
	    "[ $(times_said 'Too many open files') -le 3 ]"
	await status_is 400 apps web completed
	assert_accounts web
}

testWithoutDescriptorsATcpListenerRestsAndLosesNoClient() {
	port=$(free_port)
	starts "listen += \"127.0.0.1:$port\" min_processes = 2 max_processes = 2
	    max_queue = 400" app web --work 5ms
	limit nofile $(($(fds "$POOL") + 10))
	floods --tcp "127.0.0.1:$port" --count 400 --concurrency 200 \
	    --max lost=0 --max failed=0 --max refused=0
	await said 'Too many open files'
	assert_accounts web
}

# Sessions hold all descriptors: none is free until the limit rises.
testAListenerThatRestsCostsNoProcessorTime() {
	starts 'max_processes = 1 max_queue = 400' app web
	hold_at busy
	limit nofile $(($(fds "$POOL") + 5))
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --count 20 --together --timeout 60 >"$DIR/asked" 2>&1
	asked=$STARTED
	await said 'Too many open files'
	cpu=$(cpu_of "$POOL")
	sleep 1
	cpu=$((($(cpu_of "$POOL") - cpu) / 1000000))
	assertTrue "$cpu ms of processor in a second" \
	    "[ $cpu -lt $((50 * SLOW)) ]"
	unlimit nofile
	kill -KILL "$(status apps web workers 0 pid)"
	finish "$asked" 60
	assertEquals 20 "$(grep -c hello "$DIR/asked")"
}

testWithoutDescriptorsNoProcessStartsButTwoServe() {
	starts 'min_processes = 3 max_processes = 3 restart_delay = 3s' app web
	kill -KILL "$(status apps web workers 0 pid)"
	await status_is 2 apps web processes
	# Room for a connection, and for a client that may not be closed yet.
	limit nofile "$(limit_with_free 1)"
	await said 'no room for another process'
	assertEquals 20 "$(web hello --count 20 | grep -c hello)"
	assertEquals running "$(status apps web state)"
	unlimit nofile
	await status_is 3 apps web idle
	assertEquals 'a failed start' 0 "$(status apps web spawn_failures)"
}

# pool_of_nobody: a copy of the daemon, run by nobody: RLIMIT_NPROC does not
# bind root.
pool_of_nobody() {
	cp "$APPPOOLD" "$DIR/apppoold"
	mkdir -p "$DIR/libexec"
	cp "$BUILD/libexec/apppool-keeper" "$DIR/libexec"
	if is_root; then
		chmod 777 "$DIR"
		AS_USER='setpriv --reuid=65534 --regid=65534 --clear-groups'
	fi
	# shellcheck disable=SC2086 # words
	start_process $AS_USER "$DIR/apppoold" -c "$DIR/pool.conf" \
	    >>"$DIR/log" 2>&1
	POOL=$STARTED
	await pool_answers
	ctl wait >/dev/null || fail 'not ready'
}

testAtTheLimitOfProcessesNoProcessStartsButTwoServe() {
	conf_of 'min_processes = 3 max_processes = 3 restart_delay = 10ms' \
	    app web
	pool_of_nobody
	limit nproc 1
	kill -KILL "$(status apps web workers 0 pid)"
	await said 'no room for another process'
	sleep 0.5
	assertEquals 'how often it is said' 1 \
	    "$(times_said 'no room for another process')"
	assertEquals 20 "$(web hello --count 20 | grep -c hello)"
	assertEquals 'a failed start' 0 "$(status apps web spawn_failures)"
	unlimit nproc
	await status_is 3 apps web idle
}

testAtTheLimitOfProcessesClientsWaitForTheFirst() {
	conf_of 'min_processes = 0 restart_delay = 10ms' app web
	pool_of_nobody
	limit nproc 1
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --count 10 --together --timeout 60 >"$DIR/asked" 2>&1
	asked=$STARTED
	await said 'no room for another process'
	await status_is 10 apps web waiting
	unlimit nproc
	finish "$asked" 30
	assertEquals 10 "$(grep -c hello "$DIR/asked")"
	assertEquals 0 "$(status apps web lost)"
}

. tests/e2e/lib.sh
