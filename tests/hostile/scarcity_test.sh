#!/bin/sh
# System calls of the daemon fail for want of memory or descriptors: nothing is
# lost, and no process has to end for it.

# A search for leaks is not possible under strace.
file_setup() {
	export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
}

# scarce CALL ERROR: starts the daemon; from the third such call of its loop on,
# every fifth fails so.
scarce() {
	app web <<-EOF | conf
	max_processes = 4
	max_requests = 10
	start_delay = 10ms
	restart_delay = 10ms
	EOF
	: >"$DIR/trace"
	: >"$DIR/log"
	start_process strace -D -qq -o "$DIR/trace" -e "trace=$1" \
	    -e "inject=$1:error=$2:when=3+5" \
	    "$APPPOOLD" -c "$DIR/pool.conf" >>"$DIR/log" 2>&1 </dev/null
	POOL=$STARTED
	await pool_answers
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
		flood --unix "$DIR/web.sock" --count 60 --concurrency 4 \
		    --max lost=0 --max refused=0 --min answered=60 --quiet \
		    >"$DIR/flood"
		assertEquals "$error: $(cat "$DIR/flood")" 0 $?
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
	can_inject || return
	assert_all_are_served accept4 ENFILE ENOMEM ENOBUFS
}

testAHandOverWithoutMemoryLosesNoConnection() {
	can_inject || return
	assert_all_are_served sendmsg ENOMEM ENOBUFS ETOOMANYREFS
}

testAMessageThatCannotBeReadForWantOfMemoryEndsNoProcess() {
	can_inject || return
	assert_all_are_served recvmsg ENOMEM ENOBUFS
}

testAStartWithoutMemoryOrFilesIsMadeAgain() {
	can_inject || return
	assert_all_are_served socketpair ENFILE ENOMEM
	assert_all_are_served pipe2 ENFILE
}

# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
