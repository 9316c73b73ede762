#!/bin/sh
# Under a service manager, and in the background.

# manage [SOCKETS]: starts the daemon as a service manager does, with these
# sockets ("NAME=PORT ..."). The manager's pid is in $MANAGER.
manage() {
	rm -f "$DIR/told" "$DIR/notify" "$DIR/pid"
	start_process "$PYTHON" tests/e2e/manager.py "$DIR" "$1" \
	    "$APPPOOLD" -c "$DIR/pool.conf" >>"$DIR/log" 2>&1 </dev/null
	MANAGER=$STARTED
	await test -e "$DIR/pid"
	POOL=$(cat "$DIR/pid")
	PIDS="$PIDS $POOL"
}

# told PATTERN: whether the manager has been told that line.
told() {
	grep -q -e "$1" "$DIR/told" 2>/dev/null
}

# fd_app: an app on the socket called web.
fd_app() {
	app web "$@" <<-'EOF' | sed 's,"unix:web.sock","fd:web",'
	EOF
}

# environment_of PID VARIABLE
environment_of() {
	tr '\0' '\n' <"/proc/$1/environ" | grep "^$2"
}

testTheManagerIsToldWhenAllAppsAreReady() {
	app web --start-when "$DIR/go" </dev/null | conf
	manage ''
	await status_is 1 apps web starting
	assertFalse 'ready too early' 'told ^READY=1$'
	: >"$DIR/go"
	await told '^READY=1$'
	assertEquals 1 "$(status apps web idle)"
}

testTheManagerIsToldAStatusLineAndOfAReloadAndAStop() {
	app web </dev/null | conf
	manage ''
	await told '^STATUS=1 apps (0 failed), 1 of 64 processes'
	await told '^READY=1$'
	ctl reload >/dev/null
	await told '^RELOADING=1$'
	await told '^MONOTONIC_USEC='
	await told_ready_again
	kill -TERM "$POOL"
	finish "$MANAGER"
	assertEquals 0 "$RC"
	assertTrue 'told ^STOPPING=1$'
}

told_ready_again() {
	[ "$(grep -c '^READY=1$' "$DIR/told")" -eq 2 ]
}

# told_alive TIMES: whether the manager's watchdog has been answered so often.
told_alive() {
	[ "$(grep -c '^WATCHDOG=1$' "$DIR/told")" -ge "$1" ]
}

# watched: a daemon under a manager with a watchdog of 300 ms.
watched() {
	app web </dev/null | conf
	export WATCHDOG_USEC=300000
	manage ''
	unset WATCHDOG_USEC
}

testTheManagersWatchdogIsAnsweredByAnIdleDaemon() {
	watched
	await told_alive 5
}

testTheManagersWatchdogIsNotAnsweredByADaemonThatStandsStill() {
	watched
	await told_alive 1
	pause_process "$POOL"
	# Messages from before are read.
	sleep 0.1
	answers=$(grep -c '^WATCHDOG=1$' "$DIR/told")
	sleep 0.5
	assertFalse 'answered' "told_alive $((answers + 1))"
	kill -CONT "$POOL"
	await told_alive $((answers + 2))
}

testAManagerWithoutAWatchdogIsNotToldThatTheDaemonIsAlive() {
	app web </dev/null | conf
	manage ''
	await told '^READY=1$'
	await told '^STATUS=1 apps'
	assertFalse 'told ^WATCHDOG=1$'
}

testAnAppServesOnAllSocketsOfOneNameOfTheManager() {
	one=$(free_port) two=$(free_port)
	fd_app | conf
	manage "other=$(free_port) web=$one web=$two"
	await told '^READY=1$'
	assertContains "$(ask "127.0.0.1:$one" hello)" hello
	assertContains "$(ask "127.0.0.1:$two" hello)" hello
	assertEquals fd:web "$(status apps web listen 0)"
}

testSocketsOfOneNameBeyondSixtyFourAreTold() {
	fd_app | conf
	manage "$(printf 'web=%.0s0 ' $(seq 70))"
	await told '^READY=1$'
	assertEquals fd:web "$(status apps web listen 63)"
	assertEquals '' "$(status apps web listen 64 2>/dev/null)"
	assertEquals 1 "$(grep -c "gave 70 sockets of the name web: 64 of them \
are used" "$DIR/log")"
}

testAStoppedDaemonLeavesTheManagersSocketOpen() {
	port=$(free_port)
	fd_app | conf
	manage "web=$port"
	await told '^READY=1$'
	pause_process "$MANAGER"
	kill -TERM "$POOL"
	await is_gone "$POOL"
	assertTrue 'a connect is refused' "'$PYTHON' -c '
import socket
socket.create_connection((\"127.0.0.1\", $port), 5)'"
	kill -CONT "$MANAGER"
}

testAMissingSocketOfTheManagerIsNamed() {
	fd_app | conf
	manage "other=$(free_port)"
	finish "$MANAGER"
	assertNotEquals 0 "$RC"
	assertTrue 'said "the service manager gave no socket of that name"'
	assertTrue 'said fd:web'
}

# The start is held up by a log that is not read.
testASighupDuringTheStartIsAReloadAfterIt() {
	conf <<-EOF
	app "web" {
		listen = "unix:web.sock"
		command = { "$DIR/nowhere" }
	}
	EOF
	start_process "$PYTHON" -c '
import fcntl, os, signal, subprocess, sys, time
reader, writer = os.pipe()
fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
os.write(writer, bytes(4096))
daemon = subprocess.Popen(sys.argv[2:], stderr=writer)
while True:
    with open(f"/proc/{daemon.pid}/wchan") as f:
        if "pipe_w" in f.read():
            break
    time.sleep(0.01)
daemon.send_signal(signal.SIGHUP)
os.close(writer)
with open(sys.argv[1], "wb") as log:
    while data := os.read(reader, 4096):
        log.write(data.replace(b"\0", b""))
        log.flush()
' "$DIR/log" "$APPPOOLD" -c "$DIR/pool.conf"
	await pool_answers
	POOL=$(status pid)
	PIDS="$PIDS $POOL"
	await said "pool.conf: reloaded"
}

testAReloadMovesAllSocketsOfANameToAnotherApp() {
	one=$(free_port) two=$(free_port)
	fd_app | conf
	manage "web=$one web=$two"
	await told '^READY=1$'
	fd_app | sed 's/app "web"/app "other"/' | conf
	ctl reload >/dev/null
	assertContains "$(ask "127.0.0.1:$one")" hello
	assertContains "$(ask "127.0.0.1:$two")" hello
}

testWorkersInheritNothingOfTheManager() {
	fd_app | conf
	manage "web=$(free_port)"
	await told '^READY=1$'
	worker=$(status apps web workers 0 pid)
	assertEquals '' "$(environment_of "$worker" NOTIFY)"
	assertEquals '' "$(environment_of "$worker" LISTEN_)"
	assertEquals 'standard ones and the channel' 4 "$(fds "$worker")"
}

testADaemonInTheBackgroundLogsToStandardErrorUntilAllAppsAreReady() {
	app web --start-delay 300ms </dev/null | conf
	"$APPPOOLD" -D -c "$DIR/pool.conf" >"$DIR/seen" 2>&1 </dev/null
	assertEquals 0 $?
	POOL=$(status pid)
	PIDS="$PIDS $POOL"
	assertEquals 1 "$(status apps web idle)"
	assertTrue "grep -q 'info web: ready' '$DIR/seen'"
	assertTrue "grep -q 'log = syslog or a file keeps it' '$DIR/seen'"
	assert_link /dev/null "/proc/$POOL/fd/2"
	kill -TERM "$POOL"
	await is_gone "$POOL"
}

testADaemonInTheBackgroundExitsWith69ForAFailedApp() {
	app web --exit-at-once 3 </dev/null | conf
	sed -i 's,^command,restart_delay = 10ms\n&,' "$DIR/pool.conf"
	timeout "$LIMIT" "$APPPOOLD" -D -c "$DIR/pool.conf" \
	    >>"$DIR/log" 2>&1 </dev/null
	assertEquals 69 $?
	assertTrue 'said "error web: failed: "'
	assertFalse pool_answers
}

testAFailedStartIsToldOnStandardErrorBesideTheLogFile() {
	app web --exit-at-once 3 </dev/null | conf
	sed -i "1i log = \"$DIR/file\"
	    s,^command,restart_delay = 10ms\n&," "$DIR/pool.conf"
	timeout "$LIMIT" "$APPPOOLD" -D -c "$DIR/pool.conf" \
	    >"$DIR/seen" 2>&1 </dev/null
	assertEquals 69 $?
	assertContains "$(cat "$DIR/seen")" "error web: failed: "
	assertContains "$(cat "$DIR/file")" "error web: failed: "
	assertEquals 'errors alone' '' "$(grep -v ' error ' "$DIR/seen")"
}

testATakenAddressIsToldWithItsLine() {
	port=$(free_port)
	{
		echo "log = \"$DIR/file\""
		app web </dev/null | sed "s/unix:web.sock/127.0.0.1:$port/"
	} | conf
	: >"$DIR/file"
	take_port "$port"
	timeout "$LIMIT" "$APPPOOLD" -c "$DIR/pool.conf" \
	    >"$DIR/seen" 2>&1 </dev/null
	assertEquals 73 $?
	line=$(grep -n 'listen = ' "$DIR/pool.conf" | cut -d: -f1)
	assertContains "$(cat "$DIR/seen")" "error $DIR/pool.conf:$line: web: \
127.0.0.1:$port: bind: Address already in use; ss -ltnp tells by whom"
	assertContains "$(cat "$DIR/file")" "ss -ltnp tells by whom"
}

testADaemonInTheBackgroundExitsWith78ForABrokenFile() {
	echo 'nonsense = 1' | conf
	"$APPPOOLD" -D -c "$DIR/pool.conf" >>"$DIR/log" 2>&1 </dev/null
	assertEquals 78 $?
}

testASecondDaemonExitsWith73AndTheFirstServesOn() {
	starts '' app web
	"$APPPOOLD" -D -c "$DIR/pool.conf" >"$DIR/second" 2>&1 </dev/null
	assertEquals 73 $?
	assertTrue "grep -q 'another process' '$DIR/second'"
	assertContains "$(web hello)" hello
}

. tests/e2e/lib.sh
