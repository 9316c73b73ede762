#!/bin/sh
# handoff = accept: interrupted calls, sudden deaths, programs whose memory
# cannot be seen, systems that do not allow seccomp.

. tests/e2e/accept_help.sh

# starve PROGRAM: the program is the last to be given the processor, so that its
# death takes time, until `feed PROGRAM`; it may be gone by then.
starve() {
	[ -n "$STARVING" ] || {
		start_process taskset -c "$PROCESSOR" sh -c 'while :; do :; done'
		STARVING=$STARTED
	}
	taskset -a -c -p "$PROCESSOR" "$1" >/dev/null
	chrt -a -i -p 0 "$1"
}

feed() {
	chrt -a -o -p 0 "$1" 2>/dev/null
}

# ask_one_that_starves N PROGRAM: the Nth connection comes while PROGRAM
# starves.
ask_one_that_starves() {
	start_process web >"$DIR/answer"
	await status_is "$1" apps web accepted
	feed "$2"
	finish "$STARTED"
	assertNotNull "$1" "$(cat "$DIR/answer")"
	await is_gone "$2"
}

# ---------------------------------------------------------------- trouble

testInterruptedCallsLoseNoConnection() {
	for manner in '' '--poll --nonblock'; do
		# shellcheck disable=SC2086 # options
		starts '' accept web --alarm 1 $manner
		assert_flood 1000 --concurrency 4
		await status_is 1000 apps web completed
		assertEquals "$manner" 0 "$(status apps web lost)"
		pool_stop
	done
}

testSignalsThroughTheAdapterLoseNoConnection() {
	starts '' accept web --alarm 900
	worker=$(status apps web workers 0 pid)
	start_process sh -c "while kill -ALRM $worker; do sleep 0.002; done" \
	    2>/dev/null
	assert_flood 1000 --concurrency 4
	stop_process "$STARTED"
	assertEquals "$worker" "$(status apps web workers 0 pid)"
	assertEquals 0 "$(status apps web lost)"
}

testAWorkerThatExitsOnSigtermLosesNoConnection() {
	starts 'min_processes = 2 max_processes = 2 restart_delay = 10ms
	    restart_delay_max = 100ms' accept web --graceful
	flood_on
	for round in 1 2 3 4 5; do
		# A process that exits without a session is not replaced at
		# once.
		await status_is 2 apps web processes
		await status_is 0 apps web starting
		worker=$(status apps web workers 0 pid)
		kill -TERM "$worker"
		await is_gone "$worker"
	done
	flood_end
	assertEquals 0 "$(status apps web lost)"
}

testAKilledProgramThatHasNotDiedYetCostsNoConnection() {
	starts 'min_processes = 2 max_processes = 2 restart_delay = 10ms
	    restart_delay_max = 100ms' accept web
	STARVING=
	for round in 1 2 3 4 5; do
		await status_is $((round + 1)) apps web spawned
		await status_is 2 apps web idle
		program=$(program)
		starve "$program"
		kill -KILL "$program"
		ask_one_that_starves "$round" "$program"
	done
	assertEquals 0 "$(status apps web lost)"
}

testAProgramWithAnUnseenSignalToExitCostsNoConnection() {
	starts 'max_processes = 1 restart_delay = 10ms
	    restart_delay_max = 10ms start_limit = 100' accept web --leave
	STARVING=
	for round in 1 2 3 4 5; do
		await status_is "$round" apps web spawned
		await status_is 1 apps web idle
		worker=$(status apps web workers 0 pid) program=$(program)
		starve "$program"
		kill -USR1 "$worker"
		ask_one_that_starves "$round" "$program"
	done
	assertEquals 0 "$(status apps web lost)"
}

testTheConnectionOfASuspendedProgramGoesToTheNext() {
	starts 'pickup_timeout = 1500ms max_processes = 1
	    restart_delay = 10ms' accept web
	worker=$(status apps web workers 0 pid)
	pause_process "$(program)"
	# The successor answers.
	assertNotNull "$(web)"
	await is_gone "$worker"
	assertEquals 0 "$(status apps web lost)"
}

# not_given [OPTION]: the first process makes a mistake, so that its accept()
# fails, and ends. The client's answer is in $DIR/answer.
not_given() {
	cat >"$DIR/refuses.py" <<-'EOF'
	import ctypes, os, socket
	if not os.path.exists("marks/refused"):
	    open("marks/refused", "w").close()
	    room = ctypes.c_uint32(128)
	    ctypes.CDLL(None).accept(0, ctypes.c_void_p(8), ctypes.byref(room))
	    os._exit(1)
	server = socket.socket(fileno=0)
	while True:
	    server.accept()[0].sendall(b"hello\n")
	EOF
	rm -rf "$DIR/marks"
	mkdir -m 1777 "$DIR/marks"
	starts "directory = \"$DIR\" max_processes = 1 restart_delay = 10ms $1" \
	    accepts web "$PYTHON" "$DIR/refuses.py"
	web hello >"$DIR/answer" 2>/dev/null
	await status_is 1 apps web exits failure
}

testAConnectionThatTheProgramWasNotGivenGoesToTheNext() {
	not_given
	assertContains "$(cat "$DIR/answer")" hello
	assertEquals '0 1' "$(status apps web lost,retaken)"
	assert_accounts web
}

# With prefetch it might have been taken back while it was given.
testAPrefetchedConnectionThatTheProgramWasNotGivenIsCounted() {
	not_given 'prefetch = 1'
	assertEquals '' "$(cat "$DIR/answer")"
	await status_is '1 0' apps web lost,retaken
	assert_accounts web
}

# After a signal the adapter does not know that the program goes on waiting. The
# adapter is suspended, so that signal and connection lie before it together.
testAConnectionRightBehindASignalIsServedSoon() {
	starts 'pickup_timeout = 5m' accept web
	worker=$(status apps web workers 0 pid)
	pause_process "$worker"
	kill -URG "$worker"
	ask_behind
	kill -CONT "$worker"
	finish "$BEHIND"
	assertEquals 0 "$RC"
}

testAProgramThatIsStoppedAndContinuedServes() {
	starts '' accept web
	program=$(program)
	pause_process "$program"
	kill -CONT "$program"
	assertEquals "$program" "$(nth 1 "$(web)")"
}

# The connections of a program with many files are closed a good while before
# its death is seen.
testAProgramThatDiesSlowlyInARequestLosesThatRequestAlone() {
	may_open 10000 || { skip 'needs 10,000 descriptors'; return; }
	starts 'concurrency = 2 max_processes = 1 restart_delay = 10ms
	    restart_delay_max = 10ms start_limit = 100' \
	    accept web --hand-on --nofile 10000 --files 9000
	STARVING=
	for round in 1 2 3; do
		await status_is 1 apps web idle
		# A second session beside the first shows that it hands them on.
		ask_held
		assertNotNull "$(web)"
		release
		behind
		await status_is $((3 * round - 1)) apps web accepted
		await has_sessions 0
		program=$(program)
		starve "$program"
		start_process web 'kill 9' 2>/dev/null
		wait_for 3 is_gone "$STARTED"
		sleep 0.1
		feed "$program"
		await status_is "$round" apps web lost
		assertEquals $((2 * round)) "$(status apps web completed)"
	done
	assert_accounts web
}

# The thread is in its next accept(), and the adapter slow to look at what
# descriptors it has.
testAProgramKilledWhileItsSessionsAreLookedAtLosesThem() {
	can_trace || { skip 'needs strace, and to be allowed to use it'; return; }
	starts 'concurrency = 2 max_processes = 1 restart_delay = 10ms' \
	    accept web --hand-on
	worker=$(status apps web workers 0 pid)
	program=$(program)
	: >"$DIR/trace"
	start_process strace -qq -o "$DIR/trace" -e trace=process_vm_readv \
	    -e inject=process_vm_readv:delay_exit=300000 -p "$worker"
	await is_traced "$worker"
	ask_held
	await grep -q readv "$DIR/trace"
	kill -KILL "$program"
	await is_gone "$worker"
	await status_is 1 apps web lost
	assertEquals 0 "$(status apps web completed)"
}

# Whether strace may be put on a process that runs.
can_trace() {
	command -v strace >/dev/null || return
	is_root || ! grep -qs '[1-3]' /proc/sys/kernel/yama/ptrace_scope
}

is_traced() {
	grep -q '^TracerPid:.[1-9]' "/proc/$1/status"
}

# The connection lies before a busy program when the reset comes.
testAClientThatResetWhileItWaitedIsNotGivenToTheProgram() {
	port=$(free_port)
	starts 'concurrency = 2 max_processes = 1' accept_tcp "$port"
	ask_held
	"$PYTHON" -c '
import socket, struct, sys
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
client.close()' "$port"
	await status_is 2 apps web accepted
	release
	behind
	await status_is 2 apps web completed
	assertEquals 2 "$(nth 2 "$(web)")"
	assert_accounts web
}

testAProgramWithoutADescriptorLeftServesAgainLater() {
	# 0 to 3, and one connection.
	starts 'concurrency = 2 max_processes = 1' \
	    accept web --nofile 5 --hand-on
	ask_held
	start_process web >"$DIR/second"
	await said 'accept: Too many open files'
	release
	behind
	finish "$STARTED"
	assertNotNull "$(cat "$DIR/second")"
	await status_is 2 apps web completed
	assertEquals 0 "$(status apps web lost)"
}

testAProgramThatHidesItsMemoryIsServed() {
	port=$(free_port)
	starts '' accept_tcp "$port" --hide
	assert_told_its_address 127.0.0.1 "$port"
	assert_flood 20
	await status_is 'when its sessions end cannot be seen' \
	    apps web workers 0 status
}

testAProgramThatAScriptExecutesMayHideItsMemory() {
	port=$(free_port)
	starts '' at_tcp "$port" accepts web /bin/sh -c \
	    "sleep 0.1; exec $DIR/acceptor --hide"
	assert_told_its_address 127.0.0.1 "$port"
}

testASessionWhoseEndCannotBeSeenIsNeverOverItsTime() {
	starts 'request_timeout = 2s' accept web --hide
	assertNotNull "$(web)"
	await status_is 'when its sessions end cannot be seen' \
	    apps web workers 0 status
	assertNotNull "$(web 'sleep 2500')"
	assertEquals '{}' "$(status apps web exits)"
}

testAForkedChildThatHidesItsMemoryIsNotServed() {
	begins 'start_limit = 1' accept web --fork 1 --hide-child
	await said 'handoff = listen'
	await said 'not dumpable'
}

testAForkedChildThatHidesItsMemoryServesWithoutTheAddress() {
	starts '' accept web --fork 1 --hide-child --no-address
	assert_flood 20
}

testAProgramThatBecomesAnotherUserIsServed() {
	is_root || { skip 'needs root'; return; }
	port=$(free_port)
	starts 'user = root' accept_tcp "$port" --user 65534
	assert_told_its_address 127.0.0.1 "$port"
	assertEquals 65534 "$(stat -c %u "/proc/$(program)")"
	assert_flood 20
}

testASetUserIdProgramIsServed() {
	has_capability 21 || { skip 'needs CAP_SYS_ADMIN'; return; }
	port=$(free_port)
	cp "$DIR/acceptor" "$DIR/setuid"
	chown 65534 "$DIR/setuid" && chmod 4755 "$DIR/setuid"
	accept_tcp "$port" <<-EOF | sed "s,$DIR/acceptor,$DIR/setuid," | conf
	user = root
	EOF
	pool_start
	assert_told_its_address 127.0.0.1 "$port"
	assertEquals 'its effective user' 65534 \
	    "$(awk '/^Uid:/ { print $3 }' "/proc/$(program)/status")"
	assert_flood 20
}

testAnAdapterWithoutPtraceServesAProgramOfAnotherUser() {
	is_root || { skip 'needs root'; return; }
	port=$(free_port)
	starts 'user = root' at_tcp "$port" server web setpriv --bounding-set \
	    -sys_ptrace "$DIR/apppool-accept" "$DIR/acceptor" \
	    --start-delay 200 --user 65534
	assert_told_its_address 127.0.0.1 "$port"
	assert_flood 20
}

testAPolicyThatRefusesPtraceCallsHindersNothing() {
	port=$(free_port)
	starts '' at_tcp "$port" server web "$DIR/sandbox" blind \
	    "$DIR/apppool-accept" "$DIR/acceptor" --dup
	assert_told_its_address 127.0.0.1 "$port"
	assert_flood 50 --concurrency 2
}

testAProgramIsServedInAChrootWithoutProc() {
	is_root || { skip 'needs root'; return; }
	! readelf -lW "$DIR/apppool-accept" | grep -q INTERP ||
	    { skip 'a sanitizer is in the adapter'; return; }
	port=$(free_port)
	mkdir -p "$DIR/root"
	cp "$DIR/acceptor-static" "$DIR/root/acceptor"
	starts "chroot = \"$DIR/root\"" at_tcp "$port" accepts web /acceptor
	assert_told_its_address 127.0.0.1 "$port"
	assert_flood 50 --concurrency 2
	assertFalse "[ -e '/proc/$(program)/root/proc' ]"
}

testWithoutSeccompTheReasonNamesHandoffListen() {
	for why in refused:'Operation not permitted' \
	    absent:'Function not implemented' \
	    busy:'somebody uses it already'; do
		begins 'start_limit = 1' server web "$DIR/sandbox" "${why%%:*}" \
		    "$DIR/apppool-accept" "$DIR/acceptor"
		await status_is failed apps web state
		reason=$(status apps web last_failure)
		assertContains "$reason" "${why#*:}"
		assertContains "$reason" 'handoff = listen'
		pool_stop
	done
}

testALimitOfTooFewDescriptorsIsTheReasonOfTheFailure() {
	begins 'limit_nofile = 10 start_limit = 1' accept web
	await status_is failed apps web state
	assertContains "$(status apps web last_failure)" \
	    'limit_nofile is too low, 16 are needed'
}

testALimitOf16DescriptorsIsEnough() {
	starts 'limit_nofile = 16' accept web
	assert_flood 20
}

# cannot_execute COMMAND REASON: known at the first start, and told once.
cannot_execute() {
	: >"$DIR/log"
	begins '' accepts web "$1"
	await status_is failed apps web state
	assertEquals 1 "$(status apps web spawn_failures)"
	assertEquals "cannot execute $1: $2" "$(status apps web last_failure)"
	await said 'cannot execute'
	assertEquals 1 "$(grep -c 'web: .*cannot execute' "$DIR/log")"
	pool_stop
}

testAProgramThatCannotBeExecutedFailsAtOnce() {
	printf '#!/nowhere/sh\n' >"$DIR/odd" && chmod 755 "$DIR/odd"
	printf '#!/bin/sh\n' >"$DIR/plain" && chmod 644 "$DIR/plain"
	cannot_execute /nowhere/prog 'No such file or directory'
	cannot_execute "$DIR/plain" 'Permission denied'
	cannot_execute "$DIR" 'Is a directory'
	cannot_execute "$DIR/odd" \
	    'its interpreter /nowhere/sh: No such file or directory'
}

testAProgramOfNoKnownFormatIsNotGivenToAShell() {
	printf '\177ELFgarbage' >"$DIR/garbage" && chmod 755 "$DIR/garbage"
	begins 'start_limit = 1' accepts web ./garbage
	await status_is failed apps web state
	assertEquals "cannot execute $DIR/garbage: Exec format error" \
	    "$(status apps web last_failure)"
}

testAMissingAdapterIsTheReasonOfTheMistake() {
	mkdir -p "$DIR/sbin" && cp "$APPPOOLD" "$DIR/sbin"
	[ ! -e /usr/local/libexec/apppoold ] || { skip 'installed'; return; }
	accept web </dev/null | conf
	"$DIR/sbin/apppoold" -t -c "$DIR/pool.conf" >"$DIR/out" 2>&1
	assertEquals 78 $?
	assertContains "$(cat "$DIR/out")" 'apppool-accept is not in'
}

. tests/e2e/lib.sh
