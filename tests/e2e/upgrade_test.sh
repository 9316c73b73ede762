#!/bin/sh
# SIGUSR2 and apppoolctl upgrade: another program takes the daemon's place, with
# the same processes and connections. UPGRADE_CLIENTS are more of them.

ROUNDS=$((20 / ${SLOW:-1}))
CLIENTS=${UPGRADE_CLIENTS:-100}

. tests/e2e/upgrade_help.sh

# pids APP: the processes of an app, and what they are.
pids() {
	status apps "$1" workers '*' id,slot,pid,generation,state,requests | sort
}

# What time alone changes is left out.
figures() {
	ctl -j status | "$PYTHON" tests/e2e/upgraded.py
}

testAllThatRunsIsThereAfterAnUpgrade() {
	{
		app web <<-EOF
		min_processes = 2
		max_processes = 2
		max_queue = 10
		EOF
		app held </dev/null
		app gone </dev/null
		app sized </dev/null
		job job sleep 1000 <<-EOF
		handoff = none
		min_processes = 2
		EOF
	} | conf
	upgradable
	ctl drain held >/dev/null
	ctl stop gone >/dev/null
	ctl resize sized 3 4 >/dev/null
	hold_at one
	hold_at two
	ask_waiting
	figures >"$DIR/before"
	upgrade
	assertEquals 0 $?
	assert_upgraded
	figures >"$DIR/after"
	assertEquals '' "$(diff "$DIR/before" "$DIR/after")"
	assertEquals 'drained stopped' \
	    "$(status apps '*' state | grep -E 'drained|stopped' | xargs)"
	open_gate one
	open_gate two
	wait_answered
	ctl resume held >/dev/null
	ctl start gone >/dev/null
	assertContains "$(ask "unix:$DIR/held.sock")" hello
	assertContains "$(ask "unix:$DIR/gone.sock")" hello
	assert_accounts web
	stops_well
}

# ask_waiting: a client that waits in the queue; wait_answered: it is answered.
ask_waiting() {
	web hello >"$DIR/waited" &
	WAITING=$!
	await status_is 1 apps web waiting
}

wait_answered() {
	wait "$WAITING"
	assertContains "$(cat "$DIR/waited")" hello
}

testManyUpgradesInARowLoseNoConnection() {
	app web <<-EOF | conf
	min_processes = 3
	max_processes = 6
	max_queue = $(queue_of 3000)
	EOF
	upgradable
	before=$(status apps web workers '*' pid | sort)
	flood_behind --unix "$DIR/web.sock" --rate 1000 --count 5000 \
	    --max lost=0 --max refused=0 --max failed=0 \
	    --timeout $((3 * LIMIT))
	for round in $(seq "$ROUNDS"); do
		upgrade || fail "round $round: $(cat "$DIR/upgrade")"
	done
	assert_upgraded
	flood_ends
	assertContains "$(status apps web workers '*' pid | sort)" \
	    "$(echo "$before" | head -n 1)"
	assertEquals 0 "$(status apps web lost)"
	assert_accounts web
	stops_well
}

# refused REASON: an upgrade to the program on standard input.
refused() {
	replace_program
	before=$(pids web)
	upgrade
	assertEquals "$1" 1 $?
	assertTrue "$1: $(cat "$DIR/upgrade")" "grep -q '$1' '$DIR/upgrade'"
	assertEquals "$1" "$before" "$(pids web)"
	assertContains "$1" "$(web)" hello
}

testAProgramThatCannotTakeOverIsNotExecuted() {
	app web </dev/null | conf
	upgradable
	refused 'Exec format error' <<-EOF
	nothing
	EOF
	refused 'failed in its dry run: exited with status 3' <<-EOF
	#!/bin/sh
	exit 3
	EOF
	refused 'failed in its dry run: killed by signal 11' <<-EOF
	#!/bin/sh
	kill -SEGV \$\$
	EOF
	refused 'hung in its dry run' <<-EOF
	#!/bin/sh
	sleep 1000
	EOF
	refused 'would not carry over each process' <<-EOF
	#!/bin/sh
	$BIN/apppoold "\$@" | sed 's/^process .*/process 0/'
	EOF
	rm "$DIR/bin/apppoold"
	upgrade
	assertEquals 1 $?
	restore_program
	upgrade
	assert_upgraded
	stops_well
}

# stumbles REASON INJECTION: the new program does well in its dry run, and then
# meets what strace(1) has it meet.
stumbles() {
	rm -rf "$DIR/gates"
	app web <<-EOF | conf
	min_processes = 2
	EOF
	# A search for leaks is not possible under strace.
	stumbles_options=$ASAN_OPTIONS
	export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
	upgradable
	ASAN_OPTIONS=$stumbles_options
	before=$(status apps web workers '*' pid | sort)
	replace_program <<-EOF
	#!/bin/sh
	# Its standard input is the state, whose head says what it is for.
	head -c 100 | grep -q ' dry=1 ' && exec $BIN/apppoold "\$@"
	exec strace -D -o /dev/null -e "trace=${2%%:*}" -e "inject=$2" \
	    $BIN/apppoold "\$@"
	EOF
	hold_at one
	upgrade
	assertEquals "$1" 1 $?
	assertTrue "$1: $(cat "$DIR/upgrade")" "grep -q \
	    'was executed, but .*$1.*; .* serves on' '$DIR/upgrade'"
	assertEquals "$1" "$POOL" "$(status pid)"
	holder=$(at_gate one)
	open_gate one
	behind
	assertEquals "$1" "$holder" "$(pid_of "$ANSWER")"
	assertContains "$1" "$(web)" hello
	assertEquals "$1" "$before" "$(status apps web workers '*' pid | sort)"
	restore_program
	upgrade
	assert_upgraded
	assertEquals 0 "$(status apps web lost)"
	stops_well
}

testAProgramThatFailsAfterItWasExecutedGivesWayToTheFormer() {
	strace -D -o /dev/null true 2>/dev/null || {
		skip 'strace cannot trace here'
		return
	}
	each stumbles <<-EOF
	crashed epoll_create1:signal=SEGV:when=1
	hung epoll_create1:delay_enter=8000000:when=1
	failed epoll_create1:signal=ABRT:when=1
	listener getsockname:error=EBADF:when=1
	'cannot start' epoll_create1:error=EMFILE:when=1
	EOF
}

# killed_at INJECTION: the new program of a daemon in the background is killed
# where strace(1) sees that call.
killed_at() {
	{
		echo "log = \"$DIR/daemon.log\""
		app web </dev/null
	} | conf
	restore_program
	# A search for leaks is not possible under strace.
	ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" "$DIR/bin/apppoold" -D \
	    -c "$DIR/pool.conf" >>"$DIR/log" 2>&1 </dev/null
	POOL=$(status pid) PIDS="$PIDS $POOL"
	worker=$(status apps web workers '*' pid)
	replace_program <<-EOF
	#!/bin/sh
	head -c 100 | grep -q ' dry=1 ' && exec $BIN/apppoold "\$@"
	exec strace -D -o /dev/null -e "trace=${1%%:*}" \
	    -e "inject=$1:signal=KILL" $BIN/apppoold "\$@"
	EOF
	upgrade
	assertNotEquals "$1" 0 $?
	# The listener was there all the time, and the former program has it.
	assertContains "$1" "$(web)" hello
	await is_gone "$POOL"
	await is_gone "$worker"
	assertNotEquals "$1" "$POOL" "$(status pid)"
	assertTrue 'it is told' "grep -q 'the new program ended before it served' \
	    '$DIR/daemon.log'"
	POOL=$(status pid) PIDS="$PIDS $POOL"
	restore_program
	upgrade
	assert_upgraded
	assertContains "$1" "$(web)" hello
	kill "$POOL"
	await is_gone "$POOL"
}

testTheFormerProgramOfADaemonInTheBackgroundFollowsOneThatIsKilled() {
	strace -D -o /dev/null true 2>/dev/null || {
		skip 'strace cannot trace here'
		return
	}
	each killed_at <<-EOF
	fcntl
	openat
	epoll_create1
	getsockname
	epoll_pwait2
	EOF
}

# every_kind: apps of all handoffs, whose sizes stay as they are.
every_kind() {
	echo "counter = \"unix:$DIR/counter.sock\""
	echo 'defaults { max_processes = 2 }'
	app native <<-EOF
	min_processes = 2
	EOF
	app wait <<-EOF
	wait_for_data = true
	EOF
	app limited <<-EOF
	limit = "local upgrades 1 $CLIENTS 60s"
	min_processes = 2
	max_queue = $CLIENTS
	EOF
	app crowd --concurrency 50 <<-EOF
	concurrency = 50
	min_processes = $((CLIENTS / 50))
	max_processes = $((CLIENTS / 50))
	EOF
	app template <<-EOF
	template = true
	min_processes = 2
	EOF
	server parked "$DIR/parker" <<-EOF
	keep_alive = true
	min_processes = 2
	EOF
	for by in library seccomp; do
		server "$by" "$DIR/acceptor" <<-EOF
		handoff = accept
		accept_by = $by
		min_processes = 2
		EOF
	done
	server stdio cat <<-EOF
	handoff = stdio
	min_processes = 2
	EOF
	server listen "$PYTHON" "$DIR/listening.py" <<-EOF
	handoff = listen
	EOF
}

testClientsOfEveryKindOfAppSeeNothingOfManyUpgrades() {
	cp "$BUILD/tests/e2e/workers/acceptor" tests/e2e/workers/listening.py \
	    "$DIR"
	every_kind | conf
	upgradable
	assertEquals '' "$("$PYTHON" tests/e2e/upgraded.py "$DIR" "$LIMIT" \
	    "$ROUNDS" "$CLIENTS" "$APPPOOLCTL" -s "$DIR/control.sock" upgrade 2>&1)"
	for name in native wait limited crowd template parked library seccomp \
	    stdio; do
		assertEquals "$name" 0 "$(status apps "$name" lost)"
		assert_accounts "$name"
	done
	stops_well
}

testTheConfigurationStaysAndTheFileComesIntoForceByAReload() {
	app web --text one </dev/null | conf
	upgradable
	app web --text two <<-EOF | conf
	min_processes = 2
	EOF
	before=$(pids web)
	upgrade
	assert_upgraded
	assertEquals 'the processes' "$before" "$(pids web)"
	assertContains "$(web)" one
	reload
	await status_is 2 apps web min_processes
	assertContains "$(web)" two
	# An unchanged file replaces nothing.
	upgrade
	before=$(pids web)
	reload
	assertEquals 'after a reload' "$before" "$(pids web)"
	ctl rollback web >/dev/null
	assertContains "$(web)" one
	upgrade
	assertContains 'what was rolled back' "$(web)" one
	assertEquals true "$(status apps web rolled_back)"
	stops_well
}

testARolloutGoesOnAndItsClientIsAnsweredByTheNewProgram() {
	: >"$DIR/start"
	app web --start-when "$DIR/start" <<-EOF | conf
	min_processes = 3
	max_processes = 3
	EOF
	upgradable
	rm "$DIR/start"
	start_process ctl restart web >"$DIR/restarted" 2>&1
	RESTART=$STARTED
	await status_is rolling apps web rollout state
	upgrade
	assert_upgraded
	assertEquals rolling "$(status apps web rollout state)"
	: >"$DIR/start"
	finish "$RESTART"
	assertEquals 0 "$RC"
	assertContains "$(cat "$DIR/restarted")" '3 processes replaced'
	assertEquals 0 "$(status apps web lost)"
	stops_well
}

testASignalUpgradesADaemonInTheBackground() {
	rm -f "$DIR/daemon.log"
	{
		echo "pid_file = \"$DIR/pid\""
		echo "log = \"$DIR/daemon.log\""
		app web </dev/null
	} | conf
	restore_program
	"$DIR/bin/apppoold" -D -c "$DIR/pool.conf" >>"$DIR/log" 2>&1 </dev/null
	assertEquals 0 $?
	POOL=$(cat "$DIR/pid") PIDS="$PIDS $POOL"
	before=$(pids web)
	kill -USR2 "$POOL"
	await grep -q 'upgraded from' "$DIR/daemon.log"
	kill -USR2 "$POOL"
	await upgraded_twice
	assertEquals "$POOL" "$(cat "$DIR/pid")"
	assertEquals "$before" "$(pids web)"
	assertFalse 'a second daemon' \
	    "'$DIR/bin/apppoold' -c '$DIR/pool.conf' >/dev/null 2>&1"
	kill "$POOL"
	await is_gone "$POOL"
	assertFalse 'the pid file' "[ -e '$DIR/pid' ]"
}

upgraded_twice() {
	[ "$(grep -c 'upgraded from' "$DIR/daemon.log")" -eq 2 ]
}

testTheServiceManagerSeesAReloadOfTheSameProcess() {
	port=$(free_port)
	{
		app web </dev/null | sed 's,"unix:web.sock","fd:web",'
		app later </dev/null
	} | conf
	restore_program
	start_process "$PYTHON" tests/e2e/manager.py "$DIR" "web=$port other=0" \
	    "$DIR/bin/apppoold" -c "$DIR/pool.conf" >>"$DIR/log" 2>&1 </dev/null
	MANAGER=$STARTED
	await test -e "$DIR/pid"
	POOL=$(cat "$DIR/pid") PIDS="$PIDS $POOL"
	await grep -q '^READY=1$' "$DIR/told"
	upgrade
	assert_upgraded
	upgrade
	assert_upgraded
	await told_ready_thrice
	assertEquals 'READY RELOADING READY RELOADING READY' \
	    "$(grep -oE '^(READY|RELOADING)=1$' "$DIR/told" | sed 's/=1//' | xargs)"
	assertContains "$(ask "127.0.0.1:$port")" hello
	# A socket that no app had is still known by its name.
	{
		app web </dev/null | sed 's,"unix:web.sock","fd:web",'
		app later </dev/null | sed 's,"unix:later.sock","fd:other",'
	} | conf
	reload
	await status_is running apps later state
	kill "$POOL"
	finish "$MANAGER"
	assertEquals 0 "$RC"
}

told_ready_thrice() {
	[ "$(grep -c '^READY=1$' "$DIR/told")" -eq 3 ]
}

testProcessOneOfAContainerIsUpgraded() {
	unshare -p -f --mount-proc true 2>/dev/null || {
		skip 'unshare cannot make a process one here'
		return
	}
	app web <<-EOF | conf
	min_processes = 2
	EOF
	restore_program
	start_process unshare -p -f --mount-proc "$DIR/bin/apppoold" \
	    -c "$DIR/pool.conf" >>"$DIR/log" 2>&1 </dev/null
	UNSHARED=$STARTED
	ctl wait >/dev/null
	before=$(pids web)
	upgrade
	upgrade
	assertTrue "$(cat "$DIR/upgrade")" "grep -q '^upgraded from' '$DIR/upgrade'"
	assertEquals 1 "$(status pid)"
	assertEquals "$before" "$(pids web)"
	assertContains "$(web)" hello
	ctl stop >/dev/null
	finish "$UNSHARED"
	assertEquals 0 "$RC"
}

# Connections come while the new program cannot hand over any.
testAProgramThatHandsOverNothingGivesWayToTheFormer() {
	strace -D -o /dev/null true 2>/dev/null || {
		skip 'strace cannot trace here'
		return
	}
	app web <<-EOF | conf
	max_processes = 1
	max_queue = 100
	EOF
	upgradable
	replace_program <<-EOF
	#!/bin/sh
	head -c 100 | grep -q ' dry=1 ' && exec $BIN/apppoold "\$@"
	ASAN_OPTIONS=\$ASAN_OPTIONS:detect_leaks=0 exec strace -D -o /dev/null \
	    -e trace=sendmsg -e inject=sendmsg:error=EAGAIN:when=1..700 \
	    $BIN/apppoold "\$@"
	EOF
	flood_behind --unix "$DIR/web.sock" --rate 200 --count 600 \
	    --max lost=0 --max refused=0 --max failed=0 \
	    --timeout $((3 * LIMIT)) --limit $((3 * LIMIT))
	timeout $((3 * LIMIT)) "$APPPOOLCTL" -s "$DIR/control.sock" upgrade \
	    >"$DIR/upgrade" 2>&1
	assertEquals "$(cat "$DIR/upgrade")" 1 $?
	assertContains "$(cat "$DIR/upgrade")" \
	    'it did not hand over a connection within 5 s'
	# The tracer has copies of connections, which would not end before it does.
	kill -KILL "$(awk '/^TracerPid/ { print $2 }' "/proc/$POOL/status")"
	flood_ends
	assertEquals 0 "$(status apps web lost)"
	stops_well
}

. tests/e2e/lib.sh
