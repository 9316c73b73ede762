#!/bin/sh
# handoff = accept: programs that know nothing of the daemon and call accept()
# on the listening socket they are started with.

# accept NAME OPTION-OF-acceptor...: an app at $DIR/NAME.sock, for conf; what
# else it has comes from stdin.
accept() {
	printf 'app "%s" {\nlisten = "unix:%s.sock"\nhandoff = accept\n' \
	    "$1" "$1"
	shift
	printf 'command = %s\n' "$(quoted "$DIR/acceptor" "$@")"
	cat
	echo '}'
}

# accept_tcp PORT OPTION-OF-acceptor...: the same, and at that port first.
accept_tcp() {
	tcp_port=$1
	shift
	{
		echo "listen += \"unix:web.sock\""
		cat
	} | accept web "$@" | sed "s/^listen = .*/listen = \"127.0.0.1:$tcp_port\"/"
}

# The number of the process that the adapter of app `web` runs.
program() {
	children "$(status apps web workers 0 pid)" | tr -d ' '
}

# nth N TEXT: a word of an answer.
nth() {
	echo "$2" | cut -d ' ' -f "$1"
}

# tcp_client ADDRESS PORT: its own address, and the answer.
tcp_client() {
	"$PYTHON" - "$LIMIT" "$@" <<-'PYTHON'
	import socket
	import sys

	limit, host, port = sys.argv[1:]
	with socket.create_connection((host, int(port)), float(limit)) as client:
	    host, port = client.getsockname()[:2]
	    print(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
	    client.sendall(b"hello\n")
	    print(client.recv(1000).decode(), end="")
	PYTHON
}

# assert_told_its_address ADDRESS PORT
assert_told_its_address() {
	tcp_client "$1" "$2" >"$DIR/client"
	read -r own <"$DIR/client"
	assertEquals "$own" "$(nth 3 "$(sed -n 2p "$DIR/client")")"
}

# has_sessions N
has_sessions() {
	status_is "$1" apps web sessions
}

# assert_flood COUNT [OPTION...]: all of them are answered.
assert_flood() {
	flood_count=$1
	shift
	flood --unix "$DIR/web.sock" --count "$flood_count" --timeout "$LIMIT" \
	    --max lost=0 --min "answered=$flood_count" "$@" >"$DIR/flood" 2>&1
	assertEquals "$(cat "$DIR/flood")" 0 $?
}

file_setup() {
	cp "$BUILD/tests/e2e/workers/acceptor" \
	    "$BUILD/tests/e2e/workers/acceptor-static" \
	    "$BUILD/tests/e2e/workers/sandbox" \
	    "$BUILD/libexec/apppool-accept" "$DIR"
}

# ---------------------------------------------------------------- a connection

testAProgramThatCallsAcceptIsServed() {
	accept web </dev/null | conf
	pool_start
	for count in 1 2 3; do
		assertEquals "$count" "$(nth 2 "$(web)")"
	done
	await status_is 3 apps web completed
	assert_accounts web
}

testAStaticProgramIsServed() {
	sed "s,/acceptor\",/acceptor-static\"," <<-EOF | conf
	$(accept web </dev/null)
	EOF
	pool_start
	assertEquals 1 "$(nth 2 "$(web)")"
}

testAClientOfTCPHasItsAddress() {
	port=$(free_port)
	accept_tcp "$port" </dev/null | conf
	pool_start
	assert_told_its_address 127.0.0.1 "$port"
}

testAClientOfIPv6HasItsAddress() {
	[ -e /proc/net/if_inet6 ] || { skip 'no IPv6'; return; }
	port=$(free_port)
	accept web </dev/null | sed "s/^listen = .*/listen = \"[::1]:$port\"/" | conf
	pool_start
	assert_told_its_address ::1 "$port"
}

testAClientWithoutANameHasTheAddressOfSuchAOne() {
	accept web </dev/null | conf
	pool_start
	# AF_UNIX, and nothing but that.
	assertEquals family1/2 "$(nth 3 "$(web)")"
}

testItNeedNotAskForTheAddress() {
	accept web --no-address </dev/null | conf
	pool_start
	assertEquals - "$(nth 3 "$(web)")"
}

testFlagsOfAccept4AreHonoured() {
	for flags in cloexec nonblock cloexec,nonblock; do
		accept web --accept4 "$flags" </dev/null | conf
		pool_start
		assertEquals "$flags" "$(nth 4 "$(web)")"
		pool_stop
	done
}

testWithoutThemADescriptorIsPlain() {
	accept web --nonblock --poll </dev/null | conf
	pool_start
	assertEquals - "$(nth 4 "$(web)")"
}

testUnknownFlagsFailAsTheyDoElsewhere() {
	accept web --accept4 nonsense <<-EOF | conf
	start_limit = 1
	EOF
	pool_run
	await said 'accept: Invalid argument'
}

testAPointerToNowhereFailsAndCostsNoConnection() {
	accept web --bad-pointer </dev/null | conf
	pool_start
	assertEquals 1 "$(nth 2 "$(web)")"
	await said 'accept: Bad address'
	await status_is 0 apps web lost
}

# ---------------------------------------------------------------- its socket

testTheSocketIsDescriptorThreeToo() {
	accept web --fd 3 </dev/null | conf
	pool_start
	assertEquals 1 "$(nth 2 "$(web)")"
	assertEquals 1 "$(nth 5 "$(web 'env LISTEN_FDS')")"
}

testTheEnvironmentSaysSoOfTheProgramItself() {
	accept web </dev/null | conf
	pool_start
	answer=$(web 'env LISTEN_PID')
	assertEquals "$(nth 1 "$answer")" "$(nth 5 "$answer")"
}

testItIsToldItsAppAndSlotButNoProtocol() {
	accept web </dev/null | conf
	pool_start
	assertEquals web "$(nth 5 "$(web 'env APPPOOL_APP')")"
	assertEquals 0 "$(nth 5 "$(web 'env APPPOOL_SLOT')")"
	for name in APPPOOL_FD APPPOOL_PROTOCOL APPPOOL_FAMILY; do
		assertEquals "$name" unset "$(nth 5 "$(web "env $name")")"
	done
}

testItInheritsItsSocketAndNothingElse() {
	accept web </dev/null | conf
	pool_start
	# 0 to 3 while it waits.
	assertEquals 4 "$(fds "$(program)")"
}

testASocketUnderAnotherNumberIsRecognised() {
	accept web --dup </dev/null | conf
	pool_start
	assert_flood 50
}

testAnotherSocketOfItsOwnIsLeftAlone() {
	accept web --other "$DIR/other.sock" </dev/null | conf
	chmod 777 "$DIR"
	pool_start
	assertEquals 2 "$(nth 2 "$(ask "unix:$DIR/other.sock")
$(ask "unix:$DIR/other.sock")" | tail -n 1)"
	assertEquals 3 "$(nth 2 "$(web)")"
	await status_is 1 apps web completed
	chmod 755 "$DIR"
}

testStrangersAtItsSocketAreThrownOut() {
	accept web --poll --nonblock </dev/null | conf
	pool_start
	name=$("$PYTHON" - "$(program)" <<-'PYTHON'
	import os
	import sys

	inode = os.readlink(f"/proc/{sys.argv[1]}/fd/0")[8:-1]
	for line in open("/proc/net/unix"):
	    words = line.split()
	    if words[6] == inode:
	        print(words[7][1:])
	PYTHON
	)
	assertEquals '' "$("$PYTHON" - "$name" "$LIMIT" <<-'PYTHON'
	import socket
	import sys

	client = socket.socket(socket.AF_UNIX)
	client.settimeout(float(sys.argv[2]))
	client.connect("\0" + sys.argv[1])
	try:
	    print(client.recv(100).decode(), end="")
	except ConnectionResetError:
	    pass
	PYTHON
	)"
	# The count is still that of a first one.
	assertEquals 1 "$(nth 2 "$(web)")"
}

testThereIsNoOtherWayToAccept() {
	accept web </dev/null | conf
	pool_start
	assertEquals 'Function not implemented' "$(web ring | cut -d ' ' -f 5-)"
}

# ---------------------------------------------------------------- ready, done

testItIsReadyWhenItAcceptsAndNotBefore() {
	accept web --start-delay 500 </dev/null | conf
	pool_run
	await status_is 1 apps web starting
	sleep 0.1
	assertEquals 0 "$(status apps web idle)"
	await status_is 1 apps web idle
}

testItIsReadyWhenItPolls() {
	accept web --poll --nonblock </dev/null | conf
	pool_start
	assertEquals 1 "$(status apps web idle)"
}

testASessionIsOverWhenItAcceptsAgain() {
	accept web </dev/null | conf
	pool_start
	ask_behind 'afterwards 400'
	behind
	# The client has left, the program has not come back.
	assertEquals 1 "$(status apps web sessions)"
	await has_sessions 0
	await status_is 1 apps web completed
}

testEveryMannerOfAcceptingServesAll() {
	for manner in '' '--poll' '--poll --nonblock' \
	    '--poll --nonblock --drain' '--nonblock --poll --no-address' \
	    '--accept4 cloexec --poll'; do
		# shellcheck disable=SC2086 # options
		accept web $manner </dev/null | conf
		pool_start
		assert_flood 300 --concurrency 3
		await status_is 300 apps web completed
		assertEquals "$manner" 0 "$(status apps web lost)"
		pool_stop
	done
}

testAPollingProgramIsAskedForItsNextAccept() {
	accept web --poll --nonblock </dev/null | conf
	pool_start
	begun=$(now_ms)
	assert_flood 200 --concurrency 1
	await has_sessions 0
	# Far less than by looking whether it has forgotten something.
	assertTrue "[ $(($(now_ms) - begun)) -lt $((LIMIT * 1000)) ]"
}

testThreadsServeAtTheSameTime() {
	accept web --threads 4 <<-EOF | conf
	concurrency = 4
	max_processes = 1
	EOF
	pool_start
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --text 'sleep 1000' --count 4 --together --timeout "$LIMIT"
	await has_sessions 4
	await has_sessions 0
	await status_is 4 apps web completed
}

testSessionsThatAreHandedOnAreCountedToTheirEnd() {
	for manner in '' '--poll' '--nonblock --poll --drain'; do
		# shellcheck disable=SC2086 # options
		accept web --hand-on $manner <<-EOF | conf
		concurrency = 3
		max_processes = 1
		EOF
		pool_start
		ask_behind 'sleep 700'
		# The same thread accepts, and serves, others meanwhile.
		assertEquals 2 "$(nth 2 "$(web)")"
		assertEquals 3 "$(nth 2 "$(web)")"
		await has_sessions 1
		assertEquals "$manner" 1 "$(status apps web sessions)"
		behind
		await has_sessions 0
		await status_is 3 apps web completed
		pool_stop
	done
}

testChildrenOfItsOwnServe() {
	accept web --fork 3 <<-EOF | conf
	concurrency = 3
	max_processes = 1
	EOF
	pool_start
	"$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" --text 'sleep 300' \
	    --count 3 --together --timeout "$LIMIT" >"$DIR/answers"
	assertEquals 3 "$(cut -d ' ' -f 1 "$DIR/answers" | sort -u | wc -l)"
	await status_is 3 apps web completed
}

testAChildThatDiesEndsItsSession() {
	accept web --fork 2 <<-EOF | conf
	concurrency = 2
	max_processes = 1
	EOF
	pool_start
	web 'kill 9' 2>/dev/null
	await status_is 1 apps web completed
	# Another one has taken its place.
	assert_flood 20
	assertEquals 1 "$(status apps web spawned)"
}

# ---------------------------------------------------------------- trouble

testInterruptedCallsLoseNothing() {
	accept web --alarm 1 </dev/null | conf
	pool_start
	assert_flood 1000 --concurrency 4
	await status_is 1000 apps web completed
	assertEquals 0 "$(status apps web lost)"
}

testInterruptedPollingLosesNothing() {
	accept web --alarm 1 --poll --nonblock </dev/null | conf
	pool_start
	assert_flood 500 --concurrency 4
	assertEquals 0 "$(status apps web lost)"
}

testSignalsThroughTheAdapterLoseNothing() {
	accept web --alarm 900 </dev/null | conf
	pool_start
	worker=$(status apps web workers 0 pid)
	start_process sh -c "while kill -ALRM $worker; do sleep 0.002; done" \
	    2>/dev/null
	assert_flood 1000 --concurrency 4
	stop_process "$STARTED"
	assertEquals "$worker" "$(status apps web workers 0 pid)"
	assertEquals 0 "$(status apps web lost)"
}

testAWorkerThatIsToldToEndLosesNothing() {
	accept web --graceful <<-EOF | conf
	min_processes = 2
	EOF
	pool_start
	start_process flood --unix "$DIR/web.sock" --rate 1000 --count 2000 \
	    --timeout "$LIMIT" --max lost=0 --min answered=2000 >"$DIR/flood"
	for round in 1 2 3 4 5; do
		worker=$(status apps web workers 0 pid)
		kill -TERM "$worker"
		await is_gone "$worker"
	done
	finish "$STARTED" $((3 * LIMIT))
	assertEquals "$round: $(cat "$DIR/flood")" 0 "$RC"
	assertEquals 0 "$(status apps web lost)"
}

testAProgramThatDiesInAcceptCostsNoConnection() {
	accept web <<-EOF | conf
	min_processes = 2
	EOF
	pool_start
	for round in 1 2 3; do
		kill -KILL "$(program)"
		assertNotNull "$round" "$(web)"
	done
	assertEquals 0 "$(status apps web lost)"
}

testOneThatIsKilledAndHasNotDiedYetCostsNoConnection() {
	# The last to be given the processor, so that its death takes a while.
	accept web <<-EOF | sed 's/^command = { /&"taskset", "0x1", "chrt", "-i", "0", /' | conf
	min_processes = 3
	restart_delay = 10ms
	restart_delay_max = 100ms
	EOF
	pool_start
	start_process taskset 0x1 sh -c 'while :; do :; done'
	for round in 1 2 3 4 5; do
		await status_is 3 apps web idle
		kill -KILL "$(program)"
		assertNotNull "$round" "$(web)"
	done
	assertEquals 0 "$(status apps web lost)"
}

testOneKilledInARequestCostsExactlyThat() {
	accept web <<-EOF | conf
	min_processes = 2
	EOF
	pool_start
	web 'kill 9' 2>/dev/null
	assert_flood 20
	assertEquals 1 "$(status apps web lost)"
	assert_accounts web
}

testACleanExitAfterARequestCompletesIt() {
	accept web --requests 3 <<-EOF | conf
	min_server_life = 30s
	EOF
	pool_start
	assert_flood 12 --concurrency 1
	await status_is 12 apps web completed
	assertEquals 0 "$(status apps web lost)"
	assertEquals 0 "$(status apps web spawn_failures)"
}

testDescriptorsThatRunOutAreItsOwnTrouble() {
	# 0 to 3, and one connection.
	accept web --nofile 5 --hand-on <<-EOF | conf
	concurrency = 2
	max_processes = 1
	EOF
	pool_start
	ask_behind 'sleep 500'
	assertNotNull "$(web)"
	behind
	await said 'accept: Too many open files'
	await status_is 2 apps web completed
	assertEquals 0 "$(status apps web lost)"
}

testAProgramThatHidesItsMemoryIsServed() {
	port=$(free_port)
	accept_tcp "$port" --hide </dev/null | conf
	pool_start
	assert_told_its_address 127.0.0.1 "$port"
	assert_flood 20
	await status_is 'when its sessions end cannot be seen' \
	    apps web workers 0 status
}

testAChildThatHidesItsMemoryIsNot() {
	accept web --fork 1 --hide-child <<-EOF | conf
	start_limit = 1
	EOF
	pool_run
	await said 'handoff = listen'
	await said 'not dumpable'
}

testAChildThatHidesItsMemoryNeedNotAskForTheAddress() {
	accept web --fork 1 --hide-child --no-address </dev/null | conf
	pool_start
	assert_flood 20
}

testAProgramThatBecomesAnotherUserIsServed() {
	is_root || { skip 'needs root'; return; }
	port=$(free_port)
	accept_tcp "$port" --user 65534 <<-EOF | conf
	user = root
	EOF
	pool_start
	assert_told_its_address 127.0.0.1 "$port"
	assertEquals 65534 "$(stat -c %u "/proc/$(program)")"
	assert_flood 20
}

testWhereThereIsNoSeccompTheReasonNamesListen() {
	for why in refused:'Operation not permitted' \
	    absent:'Function not implemented' \
	    busy:'somebody uses it already'; do
		conf <<-EOF
		app web {
			listen = "unix:web.sock"
			command = { "$DIR/sandbox", "${why%%:*}",
			    "$DIR/apppool-accept", "$DIR/acceptor" }
			start_limit = 1
		}
		EOF
		pool_run
		await status_is failed apps web state
		reason=$(status apps web last_failure)
		assertContains "$reason" "${why#*:}"
		assertContains "$reason" 'handoff = listen'
		pool_stop
	done
}

testAProgramThatCannotBeExecutedIsTheReason() {
	echo 'not for this machine' >"$DIR/odd" && chmod 755 "$DIR/odd"
	accept web <<-EOF | conf
	command = "/nowhere/prog"
	start_limit = 1
	EOF
	sed -i '0,/^command/{/^command/d}' "$DIR/pool.conf"
	pool_run
	await status_is failed apps web state
	assertContains "$(status apps web last_failure)" \
	    'cannot execute /nowhere/prog: No such file or directory'
}

testAnAdapterThatIsNotThereIsTheReason() {
	mkdir -p "$DIR/sbin" && cp "$APPPOOLD" "$DIR/sbin"
	[ ! -e /usr/local/libexec/apppoold ] || { skip 'installed'; return; }
	accept web </dev/null | conf
	"$DIR/sbin/apppoold" -t -c "$DIR/pool.conf" >"$DIR/out" 2>&1
	assertEquals 78 $?
	assertContains "$(cat "$DIR/out")" 'apppool-accept is not in'
}

# ---------------------------------------------------------------- two as one

testItWorksByHand() {
	conf <<-EOF
	app web {
		listen = "unix:web.sock"
		command = { "$DIR/apppool-accept", "$DIR/acceptor" }
	}
	EOF
	pool_start
	assert_flood 50
}

testASignalToTheAdapterIsForTheProgram() {
	accept web </dev/null | conf
	pool_start
	assertNotNull "$(web)"
	kill -USR1 "$(status apps web workers 0 pid)"
	await said 'killed by signal 10'
}

testItsExitStatusIsTheAdapters() {
	accept web </dev/null | conf
	pool_start
	web 'exit 3' 2>/dev/null
	await said 'exited with status 3'
}

testItsDeathIsTheAdapters() {
	accept web </dev/null | conf
	pool_start
	web 'kill 6' 2>/dev/null
	await said 'killed by signal 6'
}

testItsOutputIsTheLog() {
	accept web --say 'for the log' </dev/null | conf
	pool_start
	await said 'for the log'
}

testTheMissingPrivilegeIsSaidOnce() {
	accept web <<-EOF | conf
	min_processes = 3
	EOF
	pool_start
	web 'exit 0' >/dev/null 2>&1
	assertEquals 1 "$(grep -c 'set-user-ID' "$DIR/log")"
}

testNothingIsSaidOfAPrivilegeThatWasGivenUp() {
	accept web <<-EOF | conf
	no_new_privileges = true
	EOF
	pool_start
	assertFalse "grep -q 'set-user-ID' '$DIR/log'"
}

# ---------------------------------------------------------------- the end

testStoppingFinishesTheRequest() {
	accept web </dev/null | conf
	pool_start
	ask_behind 'sleep 500'
	pool_stop
	assertEquals 0 "$RC"
	behind
	assertEquals slept "$(nth 5 "$ANSWER")"
}

testStoppingFinishesRequestsThatWereHandedOn() {
	accept web --hand-on --nonblock --poll <<-EOF | conf
	concurrency = 2
	EOF
	pool_start
	ask_behind 'sleep 500'
	pool_stop
	behind
	assertEquals slept "$(nth 5 "$ANSWER")"
}

testAnIdleProgramIsEndedAsItWants() {
	accept web --graceful </dev/null | conf
	pool_start -v
	pool_stop
	await said 'exited with status 0 (shutdown)'
}

testThreadsThatTheSignalMissesEndToo() {
	accept web --graceful --threads 3 </dev/null | conf
	pool_start -v
	pool_stop
	await said 'exited with status 0 (shutdown)'
}

testARestartLosesNothing() {
	accept web --graceful <<-EOF | conf
	min_processes = 2
	EOF
	pool_start
	start_process flood --unix "$DIR/web.sock" --rate 1000 --count 2000 \
	    --timeout "$LIMIT" --max lost=0 --min answered=2000 >"$DIR/flood"
	for round in 1 2 3; do
		accept web --graceful <<-EOF | conf
		min_processes = 2
		environment = { "ROUND=$round" }
		EOF
		ctl reload >/dev/null
		await status_is "$round" apps web workers 0 generation
	done
	finish "$STARTED" $((3 * LIMIT))
	assertEquals "$(cat "$DIR/flood")" 0 "$RC"
	assertEquals 0 "$(status apps web lost)"
}

testTheEndOfTheDaemonIsTheProgramsWhenItHasFinished() {
	accept web </dev/null | conf
	pool_start
	worker=$(status apps web workers 0 pid)
	program=$(program)
	ask_behind 'sleep 500'
	kill -KILL "$POOL"
	behind
	assertEquals slept "$(nth 5 "$ANSWER")"
	await is_gone "$program"
	await is_gone "$worker"
}

testTheEndOfTheAdapterIsTheProgramsToo() {
	accept web </dev/null | conf
	pool_start
	program=$(program)
	kill -KILL "$(status apps web workers 0 pid)"
	await is_gone "$program"
	assertNotNull "$(web)"
}

# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
