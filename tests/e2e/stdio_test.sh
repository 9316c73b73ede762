#!/bin/sh
# handoff = stdio: programs that serve one client on their standard descriptors.

# stdio NAME COMMAND...: an app at $DIR/NAME.sock, for conf; what else it has
# comes from stdin.
stdio() {
	with 'handoff = stdio' cat | server "$@"
}

# script NAME: a program in $DIR, from stdin.
script() {
	{
		echo '#!/bin/sh'
		cat
	} >"$DIR/$1"
	chmod 755 "$DIR/$1"
}

# talk ADDRESS [LINE...]: sends lines and the end; prints all that comes back.
talk() {
	"$PYTHON" - "$LIMIT" "$@" <<-'EOF'
	import socket
	import sys

	limit, to, *lines = sys.argv[1:]
	if to.startswith("unix:"):
	    client = socket.socket(socket.AF_UNIX)
	    client.settimeout(float(limit))
	    client.connect(to[5:])
	else:
	    host, _, port = to.rpartition(":")
	    client = socket.create_connection((host, int(port)), float(limit))
	    print("from", client.getsockname()[1])
	try:
	    client.sendall("".join(line + "\n" for line in lines).encode())
	    client.shutdown(socket.SHUT_WR)
	except OSError:
	    pass  # the program has answered without reading
	try:
	    while got := client.recv(65536):
	        sys.stdout.write(got.decode())
	except OSError as why:
	    print("error:", why)
	EOF
}

# hold APP: a client that says nothing until let_go; returns when a process
# serves it. The answer is in $DIR/held then.
hold() {
	rm -f "$DIR/go"
	hold_sessions=$(($(status apps "$1" sessions) + 1))
	start_process "$PYTHON" -c '
import os, socket, sys, time
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
while not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
client.sendall(b"over\n")
client.shutdown(socket.SHUT_WR)
print(client.recv(100).decode(), end="")' "$DIR/$1.sock" "$DIR/go" \
	    >"$DIR/held" 2>&1
	HELD=$STARTED
	await status_is "$hold_sessions" apps "$1" sessions
}

let_go() {
	: >"$DIR/go"
}

# answers WANTED TEXT: for await.
answers() {
	[ "$(talk "unix:$DIR/web.sock" "$2")" = "$1" ]
}

file_setup() {
	# A program that does what its client says.
	script obey <<-'EOF'
	read -r word value
	case $word in
	exit) exit "$value" ;;
	kill) kill -"$value" $$ ;;
	esac
	echo "$word"
	EOF
}

# ---------------------------------------------------------------- the program

testTheClientIsTheProgramsStandardInputAndOutput() {
	starts '' stdio web tr a-z A-Z
	assertEquals 'HELLO' "$(talk "unix:$DIR/web.sock" hello)"
	assertEquals 'AGAIN' "$(talk "unix:$DIR/web.sock" again)"
	await status_is 2 apps web completed
	assert_accounts web
}

testTheStandardErrorOfTheProgramIsLogged() {
	script both <<-EOF
	echo for the log >&2
	echo for the client
	EOF
	starts '' stdio web ./both
	assertEquals 'for the client' "$(talk "unix:$DIR/web.sock")"
	await said 'for the log'
}

# is_told LINE...: these are in the environment of the program.
is_told() {
	for line; do
		assertTrue "$line" "grep -qx '$line' '$DIR/env'"
	done
}

testTheAddressOfAnIpv4ClientIsInTheEnvironment() {
	port=$(free_port)
	starts "listen += \"127.0.0.1:$port\"" stdio web env
	talk "127.0.0.1:$port" >"$DIR/env"
	from=$(sed -n 's/^from //p' "$DIR/env")
	is_told PROTO=TCP TCPLOCALIP=127.0.0.1 "TCPLOCALPORT=$port" \
	    TCPREMOTEIP=127.0.0.1 "TCPREMOTEPORT=$from" \
	    REMOTE_ADDR=127.0.0.1 REMOTE_HOST=127.0.0.1 "REMOTE_PORT=$from"
}

testAnIpv4ClientAtAWildcardAddressHasAnIpv4Address() {
	port=$(free_port)
	[ -e /proc/net/if_inet6 ] || { skip 'no IPv6'; return; }
	starts "listen += \"*:$port\"" stdio web env
	talk "127.0.0.1:$port" >"$DIR/env"
	is_told TCPREMOTEIP=127.0.0.1 TCPLOCALIP=127.0.0.1
}

testTheAddressOfAnIpv6ClientIsInTheEnvironment() {
	port=$(free_port)
	has_ipv6 || { skip 'no IPv6'; return; }
	starts "listen += \"[::1]:$port\"" stdio web env
	talk "::1:$port" >"$DIR/env"
	is_told TCPREMOTEIP=::1 "TCPLOCALPORT=$port"
}

testTheCredentialsOfAUnixClientAreInTheEnvironment() {
	starts '' stdio web env
	talk "unix:$DIR/web.sock" >"$DIR/env"
	is_told PROTO=UNIX "UNIXLOCALPATH=$DIR/web.sock" \
	    "UNIXREMOTEEUID=$(id -u)" "UNIXREMOTEEGID=$(id -g)" \
	    'UNIXREMOTEPID=[1-9][0-9]*' 'UNIXLOCALPID=[1-9][0-9]*'
	assertFalse 'a client without a name' "grep -q REMOTE_ADDR '$DIR/env'"
}

testVariablesAboutClientsInTheEnvironmentAreRemoved() {
	stdio web env <<-EOF | conf
	environment = { "REMOTE_ADDR=1.2.3.4", "TCPREMOTEINFO=root" }
	EOF
	export TCPREMOTEHOST=trusted.example.org REMOTE_HOST=trusted.example.org
	pool_start
	unset TCPREMOTEHOST REMOTE_HOST
	talk "unix:$DIR/web.sock" >"$DIR/env"
	assertTrue "grep -q ^PROTO= '$DIR/env'"
	assertEquals '' "$(grep -E '^(REMOTE_|TCP)' "$DIR/env")"
}

testTheProgramIsToldItsAppIdAndSlotButNoChannel() {
	starts '' stdio web env
	id=$(status apps web workers 0 id)
	talk "unix:$DIR/web.sock" >"$DIR/env"
	is_told APPPOOL_APP=web "APPPOOL_ID=$id" APPPOOL_SLOT=0
	assertEquals '' "$(grep -E '^APPPOOL_(FD|PROTOCOL)=' "$DIR/env")"
}

testTheProgramInheritsItsStandardDescriptorsAlone() {
	stdio web grep -hE "^(Sig[BI]|flags)" /proc/self/status \
	    /proc/self/fdinfo/0 </dev/null >"$DIR/apps"
	# Descriptor 3 is that of ls itself, for the folder.
	stdio fds ls /proc/self/fd </dev/null >>"$DIR/apps"
	conf <"$DIR/apps"
	pool_start
	assertEquals '0 1 2 3' "$(talk "unix:$DIR/fds.sock" | paste -sd ' ')"
	talk "unix:$DIR/web.sock" | tr -s ' \t\n' ' ' >"$DIR/seen"
	# To read and write, and blocking.
	assertEquals "SigBlk: $(printf %016d 0) SigIgn: $(printf %016d 0) flags: 02 " \
	    "$(cat "$DIR/seen")"
}

testAUserWhoCannotReachTheAdapterRunsPrograms() {
	is_root || { skip 'needs root'; return; }
	mkdir -m 700 "$DIR/closed" "$DIR/closed/libexec"
	cp "$APPPOOLD" "$DIR/closed"
	cp "$BUILD/libexec/apppool-stdio" "$BUILD/libexec/apppool-keeper" \
	    "$DIR/closed/libexec"
	conf_of 'user = "nobody"' stdio web id -un
	APPPOOLD=$DIR/closed/apppoold
	pool_start
	APPPOOLD=$BIN/apppoold
	assertEquals nobody "$(talk "unix:$DIR/web.sock")"
}

testTheProgramRunsInItsChroot() {
	is_root || { skip 'needs root'; return; }
	if readelf -lW "$BUILD/libexec/apppool-stdio" | grep -q INTERP; then
		skip 'with sanitizers the adapter is not static'
		return
	fi
	copy_into "$DIR/root" /bin/cat
	echo in the root >"$DIR/root/where"
	starts "chroot = \"$DIR/root\" directory = \"/bin\"" \
	    stdio web /bin/cat /where -
	assert_link "$DIR/root" "/proc/$(status apps web workers 0 pid)/root"
	assertEquals 'in the root inside' \
	    "$(talk "unix:$DIR/web.sock" inside | paste -sd ' ')"
}

# ---------------------------------------------------------------- ends

testAnExitOfAnyStatusCompletesTheSession() {
	starts '' stdio web ./obey
	for status in 0 1 3 255; do
		talk "unix:$DIR/web.sock" "exit $status"
	done
	await status_is 4 apps web completed
	assertEquals 0 "$(status apps web lost)"
	assertEquals 0 "$(status apps web spawn_failures)"
	await status_is '{"exit": 1, "failure": 3}' apps web exits
	assertEquals null "$(status apps web last_failure)"
	assertFalse 'no pause' "said 'next start in'"
	assert_accounts web
}

testADeathBySignalLosesTheSessionAndDelaysNoOther() {
	starts 'restart_delay = 60s' stdio web ./obey
	for signal in SEGV KILL ABRT; do
		talk "unix:$DIR/web.sock" "kill $signal"
	done
	await status_is 3 apps web lost
	assertEquals 0 "$(status apps web completed)"
	assertEquals 0 "$(status apps web spawn_failures)"
	assertFalse 'no pause' "said 'next start in'"
	await status_is '{"signal": 3}' apps web exits
	assertContains "$(status apps web last_failure)" 'killed by signal'
	# On some machines a core is dumped.
	await grep -q 'killed by signal 11 (SIGSEGV[a-z, ]*) in a session' \
	    "$DIR/log"
	assert_accounts web
}

testProcessesThatTheProgramLeavesBehindAreEnded() {
	# The background process would hold the connection for an hour.
	starts '' stdio web sh -c "sleep 3600 & echo started"
	assertEquals started "$(talk "unix:$DIR/web.sock")"
	await status_is 1 apps web completed
}

testAKilledAdapterWithAnUnreadConnectionCostsNothing() {
	starts 'restart_delay = 10ms' stdio web head -n 1
	waiting=$(status apps web workers 0 pid)
	pause_process "$waiting"
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --text saved --timeout "$LIMIT" >"$DIR/behind" 2>&1
	BEHIND=$STARTED
	await status_is 1 apps web sessions
	kill -KILL "$waiting"
	behind
	assertEquals saved "$ANSWER"
	await status_is 1 apps web retaken
	assertEquals 0 "$(status apps web lost)"
	await status_is 1 apps web completed
	assert_accounts web
}

testAnAdapterThatIsKilledWhileItWaitsIsAFailure() {
	starts 'restart_delay = 10ms' stdio web cat
	kill -KILL "$(status apps web workers 0 pid)"
	await said 'next start in'
	await status_is 1 apps web idle
	assertEquals back "$(talk "unix:$DIR/web.sock" back)"
}

# ---------------------------------------------------------------- how many

# Without updates the load asks for no further process, however long this takes.
testHundredsOfConnectionsOfAShellScriptAreAllServed() {
	starts 'min_processes = 8 max_processes = 24 max_queue = 500
	    update_interval = 1h target_wait = 0' stdio web ./obey
	assertEquals 400 "$("$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --count 400 --together --timeout $((6 * LIMIT)) | grep -c hello)"
	await status_is 400 apps web completed
	assertEquals 0 "$(status apps web spawn_failures)"
	await status_is 8 apps web idle
	assert_accounts web
}

# ---------------------------------------------------------------- the daemon

testAdaptersThatWaitEndAtOnceWhenTheDaemonStops() {
	starts 'min_processes = 3 stop_timeout = 60s' stdio web cat
	pool_stop TERM
	assertEquals 0 "$RC"
	assertFalse 'a process was killed' "said signal"
}

testASessionIsFinishedWhenTheDaemonStops() {
	starts '' stdio web cat
	hold web
	kill -TERM "$POOL"
	await said 'stopping'
	let_go
	finish "$HELD"
	assertEquals over "$(cat "$DIR/held")"
	ends_well
}

testAdaptersEndWhenTheDaemonIsKilled() {
	starts 'min_processes = 2' stdio web cat
	workers=$(status apps web workers '*' pid)
	kill -KILL "$POOL"
	for pid in $workers; do
		await is_gone "$pid"
	done
}

testAProgramThatCannotBeExecutedFailsBeforeAnyClient() {
	script prog <<-EOF
	cat
	EOF
	stdio web ./prog </dev/null | conf
	chmod 644 "$DIR/prog"
	pool_run
	await status_is failed apps web state
	assertEquals 1 "$(status apps web spawn_failures)"
	assertEquals "cannot execute $DIR/prog: Permission denied" \
	    "$(status apps web last_failure)"
}

testAProgramThatWasRemovedLosesTheSessionWithAReason() {
	script prog <<-EOF
	cat
	EOF
	starts '' stdio web ./prog
	mv "$DIR/prog" "$DIR/elsewhere"
	talk "unix:$DIR/web.sock" hello
	await status_is 1 apps web lost
	assertContains "$(status apps web last_failure)" \
	    "cannot execute $DIR/prog: No such file or directory"
	mv "$DIR/elsewhere" "$DIR/prog"
}

testAReloadReplacesAdaptersThatWaitAndLeavesSessionsAlone() {
	starts '' stdio web cat
	hold web
	stdio web tr a-z A-Z </dev/null | conf
	ctl reload >"$DIR/reloaded" 2>&1 &
	reloading=$!
	await answers NEW new
	let_go
	wait "$reloading"
	finish "$HELD"
	assertEquals over "$(cat "$DIR/held")"
}

testTheAdapterRunsOnlyForTheDaemon() {
	"$BUILD/libexec/apppool-stdio" cat </dev/null >"$DIR/out" 2>&1
	assertEquals 64 $?
	assertContains "$(cat "$DIR/out")" 'to be started by apppoold'
	"$BUILD/libexec/apppool-stdio" </dev/null >"$DIR/out" 2>&1
	assertEquals 64 $?
	assertContains "$(cat "$DIR/out")" usage
}

. tests/e2e/lib.sh
