#!/bin/sh
# System calls of the daemon fail for want of memory, descriptors or processes,
# or the daemon gets no processor: nothing is lost, and no process has to end
# for it.

# A search for leaks is not possible under strace.
file_setup() {
	export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
}

# scarce CALL ERROR: starts the daemon; from the third such call of its loop on,
# every fifth fails so.
scarce() {
	conf_of 'max_processes = 4 max_requests = 10 start_delay = 10ms
	    restart_delay = 10ms' app web
	: >"$DIR/trace"
	: >"$DIR/log"
	run_by strace -D -qq -o "$DIR/trace" -e "trace=$1" \
	    -e "inject=$1:error=$2:when=3+5"
	ctl wait >/dev/null
}

can_inject() {
	command -v strace >/dev/null && return
	skip 'no strace'
	return 1
}

# assert_all_are_served CALL ERROR...: whatever becomes of the calls.
assert_all_are_served() {
	call=$1
	shift
	for error; do
		scarce "$call" "$error"
		floods --unix "$DIR/web.sock" --count 60 --concurrency 4 \
		    --max lost=0 --max refused=0 --min answered=60 --quiet
		assertTrue "$call $error was injected" \
		    "grep -q '$error.*INJECTED' '$DIR/trace'"
		await status_is 0 apps web sessions
		assert_accounts web
		assertFalse "$error: a process is blamed" \
		    "grep -E 'broke the protocol|killed by' '$DIR/log'"
		pool_stop
		assertEquals "$error" 0 "$RC"
	done
}

testAnAcceptWithoutMemoryOrFilesLosesNoConnection() {
	can_inject || return 0
	assert_all_are_served accept4 ENFILE ENOMEM ENOBUFS
}

testAHandOverWithoutMemoryLosesNoConnection() {
	can_inject || return 0
	assert_all_are_served sendmsg ENOMEM ENOBUFS ETOOMANYREFS
}

testAMessageThatCannotBeReadForWantOfMemoryEndsNoProcess() {
	can_inject || return 0
	assert_all_are_served recvmsg ENOMEM ENOBUFS
}

testAStartWithoutMemoryOrFilesIsMadeAgain() {
	can_inject || return 0
	assert_all_are_served socketpair ENFILE ENOMEM
	assert_all_are_served pipe2 ENFILE
}

# in_cgroup KIND FILE VALUE: the daemon is started in a cgroup, $CGROUP, of this
# kind with this in that file. False: there is no such cgroup to be had.
in_cgroup() {
	for top in "/sys/fs/cgroup/$1" /sys/fs/cgroup; do
		CGROUP=$top/apppool-test.$$
		mkdir "$CGROUP" 2>/dev/null || continue
		if [ -e "$CGROUP/$2" ] && echo "$3" 2>/dev/null >"$CGROUP/$2"
		then
			# shellcheck disable=SC2016 # in that shell
			start_process sh -c 'echo $$ >"$1/cgroup.procs"
			    shift; exec "$@"' sh "$CGROUP" \
			    "$APPPOOLD" -c "$DIR/pool.conf" >>"$DIR/log" 2>&1
			POOL=$STARTED
			await pool_answers
			return
		fi
		rmdir "$CGROUP"
	done
	return 1
}

testAtTheLimitOfACgroupThePoolServesWithTheProcessesItHas() {
	conf_of 'max_processes = 30 start_delay = 10ms' app web
	: >"$DIR/log"
	in_cgroup pids pids.max 12 || { skip 'no cgroup for pids'; return; }
	ctl wait >/dev/null
	floods --unix "$DIR/web.sock" --count 300 --concurrency 20 \
	    --request "$(printf 'sleep 20ms\nx')" --max lost=0 \
	    --max refused=0 --min answered=300 --quiet
	assertTrue "said 'no room for another process'"
	assertEquals "no process has failed" null \
	    "$(status apps web last_failure)"
	stops_well
	await remove_cgroup
}

# In one of version 2 the daemon has made others.
remove_cgroup() {
	find "$CGROUP" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -d "$CGROUP" ]
}

# At most so much memory: $1, in the words of either version of cgroups.
in_memory_cgroup() {
	in_cgroup memory memory.limit_in_bytes "$1" ||
	    in_cgroup memory memory.max "$1"
}

testAProcessThatTheKernelKillsForWantOfMemoryIsToldAsSuch() {
	{
		app web </dev/null
		app b </dev/null
	} | conf
	: >"$DIR/log"
	in_memory_cgroup $((100 * SLOW))M ||
	    { skip 'no cgroup for memory'; return; }
	ctl wait >/dev/null
	assertEquals 'no answer' '' "$(web "grow $((400 * SLOW))" 2>/dev/null)"
	await status_is 1 apps web idle
	assertTrue "$(cat "$DIR/log")" "grep -qE ' warn web: worker [^ ]* \
\(pid [0-9]*\) killed by signal 9 \(SIGKILL\) in a session of .* s(, perhaps)? for \
want of memory \((signal|oom)\)$' '$DIR/log'"
	assertContains "$(status apps web last_failure)" 'want of memory'
	assertContains "$(web)" hello
	assertEquals 'other processes' 1 "$(status apps b spawned)"
	assert_accounts web
	stops_well
	await remove_cgroup
}

# Timeouts have passed meanwhile that all processes have kept.
testADaemonThatWasSuspendedEndsNoProcessForIt() {
	conf_of 'min_processes = 2 max_processes = 2 request_timeout = 500ms
	    pickup_timeout = 500ms slow_timeout = 400ms' app web
	: >"$DIR/log"
	pool_start
	ask_behind 'sleep 100ms'
	pause_process "$POOL"
	sleep 1
	kill -CONT "$POOL"
	behind
	assertNotNull "$ANSWER"
	assertContains "$(web)" hello
	assertFalse 'a process is blamed' "grep -E 'killed|slow' '$DIR/log'"
	assertEquals 2 "$(status apps web spawned)"
}

. tests/e2e/lib.sh
