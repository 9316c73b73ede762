#!/bin/sh
# SIGHUP and apppoolctl reload: what changes, what stays, and no client is lost.

# Reloads of one kind; a sanitizer sees each leak at once.
ROUNDS=$((12 / ${SLOW:-1}))

# web_conf [OPTION-OF-tworker...]: app web with two processes, neither more nor
# less.
web_conf() {
	app web "$@" <<-EOF
	min_processes = 2
	max_processes = 2
	max_queue = $(queue_of 3000)
	EOF
}

# hup: SIGHUP; returns when the daemon has logged the result.
hup() {
	hup_told=$(($(grep -cE "$HUP_ENDS" "$DIR/log") + 1))
	kill -HUP "$POOL"
	await hup_has_ended
}
HUP_ENDS=': (reloaded|not reloaded, the old configuration stays in force)$'

hup_has_ended() {
	[ "$(grep -cE "$HUP_ENDS" "$DIR/log")" -ge "$hup_told" ]
}

workers() {
	status apps "$1" workers '*' pid | sort
}

# --- broken files, one function each: they write $DIR/pool.conf --------

broken_syntax() {
	echo 'app "web" { listen = = }' >"$DIR/pool.conf"
}

broken_unknown() {
	{
		web_conf
		echo 'max_proceses = 3'
	} >"$DIR/pool.conf"
}

broken_missing() {
	rm -rf "$DIR/pool.conf"
}

broken_fifo() {
	mkfifo "$DIR/pool.conf"
}

# break_conf KIND: the configuration file is broken in that way.
break_conf() {
	rm -rf "$DIR/pool.conf"
	"broken_$1"
}

BROKEN='fifo syntax unknown missing'

testEachKindOfBrokenFileLeavesTheOldConfiguration() {
	web_conf | conf
	pool_start
	before=$(workers web)
	for kind in $BROKEN; do
		break_conf "$kind"
		hup
		assertTrue "$kind is not told" "tail -n 1 '$DIR/log' |
		    grep -qF '$DIR/pool.conf: not reloaded, the old'"
		assertTrue "$kind: no reason" "grep -q 'error $DIR/pool.conf' \
		    '$DIR/log'"
		assertContains "$(web)" hello
		: >"$DIR/log"
	done
	assertEquals 'processes' "$before" "$(workers web)"
	rm -rf "$DIR/pool.conf"
	web_conf --text changed | conf
	hup
	assertTrue "said ': reloaded'"
	await answers changed
}

answers() {
	web | grep -q "$1"
}

# Two rounds for allocators and caches to settle, then many that are measured.
testRepeatedReloadsOfBrokenFilesLeakNothing() {
	web_conf | conf
	pool_start
	for kind in $BROKEN; do
		break_conf "$kind"
		hup
		hup
	done
	fds=$(fds "$POOL") rss=$(rss "$POOL")
	for kind in $BROKEN; do
		break_conf "$kind"
		for _ in $(seq $ROUNDS); do
			hup
			: >"$DIR/log"
		done
	done
	await has_just_fds "$fds"
	rss=$(($(rss "$POOL") - rss))
	# A sanitizer keeps what is freed; leaks are its own business.
	[ "$SLOW" -gt 1 ] || assertTrue "$rss KiB more" "[ $rss -lt 1024 ]"
	assertContains "$(web)" hello
}

testRepeatedReloadsOfGoodFilesLeakNothing() {
	web_conf | conf
	pool_start
	for i in $(seq 5); do hup; done
	fds=$(fds "$POOL") rss=$(rss "$POOL")
	for i in $(seq $ROUNDS); do
		{
			web_conf
			app "other$i" </dev/null
		} | conf
		hup
		await status_is running apps "other$i" state
		: >"$DIR/log"
	done
	web_conf | conf
	hup
	await has_apps 1
	await has_just_fds "$fds"
	rss=$(($(rss "$POOL") - rss))
	[ "$SLOW" -gt 1 ] || assertTrue "$rss KiB more" "[ $rss -lt 1024 ]"
}

has_apps() {
	[ "$(status apps '*' name | wc -l)" -eq "$1" ]
}

has_just_fds() {
	[ "$(fds "$POOL")" -eq "$1" ]
}

# --- apppoolctl ---------------------------------------------------------

testApppoolctlReloadReturnsWhenTheAppsAreReady() {
	web_conf | conf
	pool_start
	{
		web_conf
		app more </dev/null
	} | conf
	ctl reload >"$DIR/said" 2>&1
	assertEquals "$(cat "$DIR/said")" 0 $?
	assertContains "$(cat "$DIR/said")" 'more: added'
	assertContains "$(ask "unix:$DIR/more.sock")" hello
}

# --- in place -----------------------------------------------------------

testSizesChangeInPlace() {
	web_conf | conf
	pool_start
	before=$(workers web)
	conf_of 'min_processes = 3 max_processes = 5' app web
	hup
	assertTrue "said 'web: changed in place'"
	await status_is 3 apps web idle
	assertEquals 5 "$(status apps web max_processes)"
	for pid in $before; do
		assertContains "$(workers web)" "$pid"
	done
}

testAnUnchangedAppKeepsItsProcesses() {
	{
		web_conf
		app other </dev/null
	} | conf
	pool_start
	before=$(workers web)
	{
		app other --text changed </dev/null
		web_conf
	} | conf
	hup
	await grep -q 'other: gone\|other: its processes are replaced' \
	    "$DIR/log"
	assertEquals "$before" "$(workers web)"
	assertFalse "grep -q 'web: [a-z ]*changed' '$DIR/log'"
	assertEquals 2 "$(status apps web spawned)"
}

accepted() {
	[ "$(status apps web accepted)" -ge "$1" ]
}

testAppsAreAddedAndRemovedWhileAnotherServes() {
	web_conf | conf
	pool_start
	before=$(workers web)
	flood_behind --unix "$DIR/web.sock" \
	    --rate 1000 --count 2000 --max lost=0 --max refused=0 \
	    --max failed=0 --timeout $((3 * LIMIT))
	await accepted 100
	for i in 1 2 3 4 5 6 7 8; do
		{
			web_conf
			app "other$i" </dev/null
		} | conf
		hup
		assertContains "$(ask "unix:$DIR/other$i.sock")" hello
	done
	flood_ends
	assertEquals "$before" "$(workers web)"
	await has_apps 2
	assertFalse 'the socket of a removed app' "[ -e $DIR/other1.sock ]"
}

testARemovedAppServesEveryConnectedClient() {
	{
		web_conf
		app other --work 5ms <<-EOF
		max_processes = 4
		EOF
	} | conf
	pool_start
	flood_behind --unix "$DIR/other.sock" \
	    --rate 1000 --count 20000 --stop-on-refused --max lost=0 \
	    --max late=0 --min refused=1 --timeout $((3 * LIMIT))
	await answered_by other
	web_conf | conf
	hup
	assertTrue "said 'other: removed'"
	flood_ends
	await has_apps 1
}

answered_by() {
	[ "$(status apps "$1" completed)" -ge 100 ]
}

# listens_at ADDRESS...: web with these addresses.
listens_at() {
	app web --work 1ms <<-EOF | sed "s~^listen = .*~listen = $(quoted "$@")~" | conf
	backlog = 4096
	min_processes = 4
	max_processes = 4
	max_queue = $(queue_of 3000)
	EOF
}

# a_listener_leaves ADDRESS OPTION-OF-flood...: a listener that leaves is closed
# when its backlog has been served, which has room for the clients of seconds.
a_listener_leaves() {
	listens_at unix:stays.sock "$1"
	pool_start
	before=$(workers web)
	shift
	flood_behind "$@" \
	    --rate $((10000 / LIMIT)) --count 50000 --stop-on-refused --max lost=0 \
	    --max late=0 --min refused=1 --timeout $((3 * LIMIT))
	await answered_by web
	listens_at unix:stays.sock
	hup
	flood_ends
	assertContains "$(ask "unix:$DIR/stays.sock")" hello
	assertEquals "$before" "$(workers web)"
	assert_accounts web
}

testARemovedUnixAddressLosesNoClient() {
	a_listener_leaves unix:leaves.sock --unix "$DIR/leaves.sock"
	assertFalse 'the socket stays' "[ -e $DIR/leaves.sock ]"
}

testARemovedTcpAddressLosesNoClient() {
	port=$(free_port)
	a_listener_leaves "127.0.0.1:$port" --tcp "127.0.0.1:$port"
}

testAddressesAreAddedAndRemovedWhileAnotherServes() {
	port=$(free_port)
	listens_at unix:web.sock
	pool_start
	before=$(workers web)
	flood_behind --unix "$DIR/web.sock" \
	    --rate 1000 --count 2000 --max lost=0 --max refused=0 \
	    --max failed=0 --timeout $((3 * LIMIT))
	await accepted 100
	for i in 1 2 3 4 5 6; do
		listens_at unix:web.sock "unix:more$i.sock" "127.0.0.1:$port"
		hup
		assertContains "$(ask "127.0.0.1:$port")" hello
		assertContains "$(ask "unix:$DIR/more$i.sock")" hello
		listens_at unix:web.sock
		hup
	done
	flood_ends
	assertEquals "$before" "$(workers web)"
}

testAnAddressMayMoveFromOneAppToAnother() {
	{
		app web </dev/null
		app other --text other </dev/null
	} | conf
	pool_start
	app other --text other </dev/null | sed 's/other.sock/web.sock/' | conf
	hup
	assertContains "$(web)" other
}

# web_beside ADDRESS: two apps, of which web has hardly any time to leave.
web_beside() {
	app other </dev/null
	app web <<-EOF
	listen += "$1"
	min_processes = 2
	max_processes = 2
	max_queue = 8
	stop_timeout = 500ms
	kill_timeout = 500ms
	EOF
}

# waits_at ADDRESS: a client who waits, as $WAITS.
waits_at() {
	start_process "$BUILD/tests/e2e/ask" --to "$1" --text waits \
	    --timeout $((3 * LIMIT)) >"$DIR/waits" 2>&1
	WAITS=$STARTED
	await status_is 1 apps web waiting
}

testAnAppThatComesBackGoesOnWithWhatWasLeftOfIt() {
	port=$(free_port)
	web_beside "127.0.0.1:$port" | sed s/500ms/1m/ | conf
	pool_start
	before=$(workers web)
	occupy busy 2
	await status_is 2 apps web active
	waits_at "127.0.0.1:$port"
	app other </dev/null | conf
	hup
	await status_is stopping apps web state
	web_beside "127.0.0.1:$port" | sed s/500ms/1m/ | conf
	hup
	assertTrue "said 'web: added again'"
	has_apps 2 || fail "$(status apps '*' name)"
	assertEquals "$before" "$(workers web)"
	assertEquals 1 "$(status apps web waiting)"
	dismiss busy
	finish "$WAITS"
	assertContains "$(cat "$DIR/waits")" hello
	assertContains "$(web)" hello
	assertContains "$(ask "127.0.0.1:$port")" hello
	assert_accounts web
}

# Workers that hang, and clients that wait for them, stayed for ever.
testAnAppThatIsRemovedEndsWithItsStopTimeout() {
	web_beside "127.0.0.1:$(free_port)" | conf
	pool_start
	occupy busy 2
	await status_is 2 apps web active
	waits_at "unix:$DIR/web.sock"
	app other </dev/null | conf
	hup
	await has_apps 1
	assertTrue 'the waiter' "said 'a connection is refused: the app stops'"
	assertTrue 'the processes' "said SIGTERM"
}

testReloadsThatRemoveAndAddAnAppWithHungWorkersPileUpNothing() {
	port=$(free_port)
	web_beside "127.0.0.1:$port" | conf
	pool_start
	before=$(fds "$POOL")
	for round in $(seq $((100 / ${SLOW:-1}))); do
		[ $((round % 10)) -ne 1 ] || occupy "$round" 6
		app other </dev/null | conf
		hup
		web_beside "127.0.0.1:$port" | conf
		hup
	done
	assertFalse 'its address is taken' "said 'cannot listen'"
	assertTrue 'too many processes' \
	    "[ \"\$(status processes)\" -le \"\$(status max_processes)\" ]"
	app other </dev/null | conf
	hup
	await has_apps 1
	web_beside "127.0.0.1:$port" | conf
	hup
	ctl wait >/dev/null
	assertContains "$(ask "127.0.0.1:$port")" hello
	assertContains "$(web)" hello
	await has_fds "$before"
}

testAnAddressInUseLeavesTheOldConfiguration() {
	web_conf | conf
	pool_start
	take "$DIR/taken.sock"
	{
		web_conf
		app taken </dev/null
	} | conf
	hup
	assertTrue 'it is not told' "grep -q 'error.*taken.sock' '$DIR/log'"
	assertTrue "said 'not reloaded'"
	assertContains "$(web)" hello
	assertEquals web "$(status apps '*' name)"
}

testALogThatCannotBeOpenedLeavesTheOldConfigurationAndTheAnswerHasTheReason() {
	web_conf | conf
	pool_start
	{
		echo "log = \"$DIR/nowhere/log\""
		web_conf
		app other </dev/null
	} | conf
	answer=$(ctl reload 2>&1)
	assertEquals 1 $?
	assertContains "$answer" \
	    "cannot open the log $DIR/nowhere/log: No such file or directory"
	assertTrue "said '/nowhere/log: No such file or directory'"
	assertContains "$(web)" hello
	assertEquals web "$(status apps '*' name)"
}

testAReloadStartsAFailedAppAgain() {
	mkdir -m 1777 "$DIR/marks"
	cat >"$DIR/flaky" <<-EOF
	#!/bin/sh
	[ -e "$DIR/marks/repaired" ] && exec "$TWORKER"
	exit 1
	EOF
	chmod 755 "$DIR/flaky"
	begins 'start_limit = 1' server web ./flaky
	await status_is failed apps web state
	touch "$DIR/marks/repaired"
	hup
	await status_is running apps web state
	assertContains "$(web)" hello
}

testFiftySighupsEndInTheNewestConfiguration() {
	web_conf | conf
	pool_start
	for _ in $(seq 50); do
		kill -HUP "$POOL"
	done
	web_conf --text changed | conf
	hup
	await answers changed
}

# A reader of the pid file may send a signal at once.
testASighupBehindThePidFileIsNeverTooEarly() {
	{
		echo "pid_file = \"$DIR/pool.pid\""
		web_conf
	} | conf
	assertEquals 'daemons that a SIGHUP ended' 0 "$("$PYTHON" -c '
import os, signal, subprocess, sys

def start():
    if os.path.exists(sys.argv[1]):
        os.unlink(sys.argv[1])
    daemon = subprocess.Popen(sys.argv[2:])
    pid = ""
    while not pid and daemon.poll() is None:
        try:
            with open(sys.argv[1]) as f:
                pid = f.read()
        except OSError:
            pass
    daemon.send_signal(signal.SIGHUP)
    daemon.send_signal(signal.SIGTERM)
    return daemon.wait()

print(sum(start() == -signal.SIGHUP for _ in range(20)))
' "$DIR/pool.pid" "$APPPOOLD" -c "$DIR/pool.conf" 2>>"$DIR/log")"
}

testWithoutMemoryTheOldConfigurationStays() {
	web_conf | conf
	pool_start
	kib=$(sed -n 's/^VmSize:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$POOL/status")
	[ "$kib" -lt 1000000000 ] ||
	    { skip 'a sanitizer has all the addresses there are'; return 0; }
	prlimit --pid "$POOL" --as=$(((kib + 64) * 1024)):
	hup
	assertTrue 'it is not said' "said 'pool.conf: Cannot allocate memory'"
	assertContains "$(web)" hello
	prlimit --pid "$POOL" --as=unlimited:
	hup
	assertTrue 'not reloaded' "said 'pool.conf: reloaded'"
}

# A process whose user is unknown must not run as root instead.
testQueuedStartsOfAnUnknownUserAreCancelled() {
	is_root || { skip 'needs root'; return 0; }
	: >"$DIR/users" && chmod 666 "$DIR/users"
	for user in nobody "nobody$$"; do
		cat <<-EOF >"$DIR/$user.conf"
		control = "$DIR/control.sock"
		max_processes = 100
		app "job" {
			command = { "/bin/sh", "-c",
			    "id -u >>'$DIR/users'; exec sleep 60" }
			handoff = none
			user = "$user"
			min_processes = 100
		}
		EOF
	done
	cp "$DIR/nobody.conf" "$DIR/pool.conf"
	pool_run
	for _ in $(seq 10); do
		for user in "nobody$$" nobody; do
			cp "$DIR/$user.conf" "$DIR/pool.conf"
			hup
		done
	done
	await test -s "$DIR/users"
	assertEquals "$(id -u nobody)" "$(sort -u "$DIR/users")"
}

# Job processes have no channel by which a connection could be handed over.
testJobProcessesAreGivenNoConnectionAfterAReload() {
	starts 'handoff = none' job web /bin/sleep 1000
	worker=$(status apps web workers 0 pid)
	app web --start-delay 300ms </dev/null | conf
	hup
	assertNotNull "$(web)"
	assertFalse "$(cat "$DIR/log")" "said 'broke the protocol'"
	await is_gone "$worker"
	await status_is 1 apps web processes
}

# A group of that name takes its place, and is held for the same reason.
testAHeldAppLeavesWhenItsHandoffChanges() {
	while read -r held state goes_on; do
		starts '' app web
		ctl "$held" web >/dev/null
		conf_of 'handoff = stdio' server web /bin/cat
		hup
		await said 'web: gone'
		assertEquals "web $state" "$(status apps '*' name,state)"
		assertTrue 'upgrade' "ctl upgrade >'$DIR/told' 2>&1"
		ctl "$goes_on" web >/dev/null
		assertEquals "web running" "$(status apps '*' name,state)"
		stops_well
		: >"$DIR/log"
	done <<-EOF
	drain drained resume
	stop stopped start
	EOF
}

# Without connections the files are looked at by timer.
testARestartFileIsSeenForAnAppThatBecameAJob() {
	app web </dev/null | conf
	pool_start -v
	assertNotNull "$(web)"
	conf_of "handoff = none directory = \"$DIR\"" job web /bin/sleep 1000
	hup
	await has_said 2 'its files are watched'
	mkdir "$DIR/tmp"
	: >"$DIR/tmp/restart.txt"
	await said 'restart.txt changed: restarting'
	rm -r "$DIR/tmp"
}

# The memory of a process is measured according to the handoff it was started
# with.
testTheMemoryOfAnOldProcessIsShownAfterAnAdapterCame() {
	starts '' app web
	worker=$(status apps web workers 0 pid)
	occupy one
	await status_is 1 apps web active
	# The user of the process may not be able to enter this tree.
	cp "$BUILD/tests/e2e/workers/acceptor" "$DIR"
	conf_of 'handoff = accept' server web ./acceptor
	hup
	await status_is 1 apps web idle
	size=$(status apps web workers '*' pid,rss |
	    sed -n "s/^$worker //p")
	assertTrue "$size" "[ $size -gt 0 ]"
	dismiss one
}

# A process of one session would leave the second lying in its socket, and be
# killed for that.
testStdioProcessesAreNotGivenTwoSessionsAfterAReload() {
	starts 'handoff = stdio' \
	    server web /bin/sh -c 'read line; sleep 600; echo done'
	conf_of 'concurrency = 2 pickup_timeout = 5s' \
	    app web --concurrency 2 --start-delay 500ms
	hup
	"$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" --text hello --count 2 \
	    --together --timeout $((3 * LIMIT)) >"$DIR/two" 2>&1
	assertEquals "$(cat "$DIR/two")" 0 $?
}

# The daemon finds all three commands, in their order, when it goes on.
testReloadsThatAStopMeetsAreAnsweredAtOnce() {
	starts '' app web
	hold_at first
	"$PYTHON" -c '
import os, signal, socket, sys, time
pool = int(sys.argv[2])
clients = [socket.socket(socket.AF_UNIX) for _ in range(3)]
for client in clients:
    client.settimeout(float(sys.argv[3]))
    client.connect(sys.argv[1])
    # The daemon has accepted it when it answers another one.
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(sys.argv[1])
        other.sendall(b"version\n")
        other.recv(999)
os.kill(pool, signal.SIGSTOP)
while open(f"/proc/{pool}/stat").read().rpartition(")")[2].split()[0] != "T":
    time.sleep(0.001)
for client, command in zip(clients, (b"reload\n", b"reload\n", b"stop\n")):
    client.sendall(command)
os.kill(pool, signal.SIGCONT)
for client in clients[:2]:
    print(client.makefile().readline(), end="")
' "$DIR/control.sock" "$POOL" "$LIMIT" >"$DIR/answers" 2>&1
	assertEquals "the daemon is stopping
the daemon is stopping" "$(cat "$DIR/answers")"
	open_gate first
	behind
	assertContains "$ANSWER" hello
	ends_well
}

. tests/e2e/lib.sh
