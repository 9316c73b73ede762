#!/bin/sh
# handoff = listen: programs that accept connections themselves.

# listens [OPTION-OF-listening.py...]: the app web, ready after 50 ms, for conf;
# what else it has comes from stdin.
listens() {
	printf '%s\n' 'log_level = debug' 'defaults { ready_after = 50ms }'
	{ echo 'handoff = listen'; cat; } |
	    job web "$PYTHON" "$DIR/listening.py" "$@"
}

file_setup() {
	# Workers may not be allowed to enter this tree.
	cp tests/e2e/workers/listening.py "$DIR"
	PORT=$(free_port)
}

# hold NAME TEXT: a client that keeps its connection; returns when it has been
# answered. The answer is in $HELD. `let_go NAME` closes the connection; `speak
# NAME` sends once more.
hold() {
	mkfifo "$DIR/say.$1"
	start_process "$PYTHON" -c '
import socket, sys
with socket.socket(socket.AF_UNIX) as client:
    client.connect(sys.argv[1])
    client.sendall(sys.argv[2].encode() + b"\n")
    print(client.recv(999).decode().strip() or "lost", flush=True)
    for line in open(sys.argv[3]):
        try:
            client.sendall(b"keep\n")
            print(client.recv(999).decode().strip() or "lost", flush=True)
        except OSError:
            print("lost", flush=True)
' "$DIR/web.sock" "$2" "$DIR/say.$1" >"$DIR/held.$1"
	await test -s "$DIR/held.$1"
	HELD=$(cat "$DIR/held.$1")
	# Kept open, or the client would find the end of its file.
	echo "$STARTED" >"$DIR/holder.$1"
}

let_go() {
	stop_process "$(cat "$DIR/holder.$1")"
	rm -f "$DIR/say.$1" "$DIR/held.$1"
}

# speak NAME: the answer is in $SAID.
speak() {
	echo x >"$DIR/say.$1"
	await has_lines "$DIR/held.$1" 2
	SAID=$(sed -n 2p "$DIR/held.$1")
}

has_lines() {
	[ "$(wc -l <"$1")" -ge "$2" ]
}

# behind_many COUNT TEXT [ADDRESS]: so many clients in the background.
behind_many() {
	start_process "$BUILD/tests/e2e/ask" --to "${3:-unix:$DIR/web.sock}" \
	    --count "$1" --together --text "$2" --timeout $((3 * LIMIT)) \
	    >"$DIR/many" 2>&1
	MANY=$STARTED
}

pids() {
	status apps web workers '*' pid | sort -n | tr '\n' ' '
}

# --- listening sockets --------------------------------------------------

testAProgramServesAtAllAddressesOfItsApp() {
	starts "listen = { \"127.0.0.1:$PORT\", \"unix:web.sock\" }
	    max_processes = 1" listens
	assertEquals "2 web:web mine" "$(ask "127.0.0.1:$PORT" environment |
	    cut -d' ' -f2-)"
	pid=$(pid_of "$(web)")
	assertEquals "$pid" "$(status apps web workers 0 pid)"
}

testTheFirstListenerIsDescriptorZeroAndBlocks() {
	starts "listen = { \"unix:web.sock\", \"127.0.0.1:$PORT\" }
	    max_processes = 1" listens --zero
	pid=$(pid_of "$(web)")
	assertEquals "$pid" "$(pid_of "$(web)")"
	await status_is 1 apps web spawned
}

testASocketOfTheServiceManagerKeepsItsName() {
	conf_of 'listen = { "unix:web.sock", "fd:public" }' listens
	run_by with_socket "$PORT"
	ctl wait >/dev/null
	assertEquals "2 web:public mine" \
	    "$(ask "127.0.0.1:$PORT" environment | cut -d' ' -f2-)"
}

testFiguresOfSessionsAreNull() {
	starts 'listen = "unix:web.sock" update_interval = 1h' listens
	for key in sessions accepted completed queue_wait oldest_wait; do
		assertEquals "$key" null "$(status apps web "$key")"
	done
	for key in waiting backlog; do
		assertEquals "$key" 0 "$(status apps web "$key")"
	done
	# On a slow machine a start has used a processor for long.
	assertTrue "[ '$(status apps web load | cut -d. -f1)' -ge 0 ]"
	assertEquals null "$(status apps web workers 0 requests)"
	assertTrue "ctl status web | grep -q ' 1 ready;'"
}

# --- a program that removes the socket's file -----------------------------

# As php-fpm does when it ends.
testASocketFileThatAProcessRemovesAtItsEndIsPutBack() {
	starts 'listen = "unix:web.sock" min_processes = 1' listens
	file=$(stat -c %i "$DIR/web.sock")
	for count in 1 2; do
		rm "$DIR/web.sock"
		kill -TERM "$(status apps web workers 0 pid)"
		await test -S "$DIR/web.sock"
		assertEquals "$file" "$(stat -c %i "$DIR/web.sock")"
		assertNotNull "$(ask "unix:$DIR/web.sock")"
		await logged_times "$count" 'web.sock was removed by somebody'
		await status_is $((count + 1)) apps web spawned
	done
	pool_stop TERM
	assertEquals '' "$(find "$DIR" -name 'web.sock*')"
}

testASocketFileThatWasPutBackIsShownInTheStatus() {
	starts 'listen = "unix:web.sock" min_processes = 1' listens
	assertEquals 0 "$(status apps web sockets_restored)"
	assertNotContains "$(ctl status web)" 'put back'
	rm "$DIR/web.sock"
	kill -TERM "$(status apps web workers 0 pid)"
	await status_is 1 apps web sockets_restored
	assertContains "$(ctl status web)" 'socket files put back: 1'
}

testAnotherFileInThePlaceOfTheSocketIsToldAndStays() {
	starts 'listen = "unix:web.sock" min_processes = 1' listens
	rm "$DIR/web.sock"
	echo theirs >"$DIR/web.sock"
	kill -TERM "$(status apps web workers 0 pid)"
	await logged_times 1 'web.sock: another file took the place'
	pool_stop TERM
	assertEquals "$DIR/web.sock" "$(find "$DIR" -name 'web.sock*')"
	rm "$DIR/web.sock"
}

logged_times() {
	[ "$(grep -c "$2" "$DIR/log")" -eq "$1" ]
}

# --- growing and shrinking ----------------------------------------------

# on_demand ADDRESS MAX_IDLE_TIME: an app that needs no process, for conf.
on_demand() {
	listens <<-EOF
	listen = "$1"
	min_processes = 0
	max_idle_time = $2
	stop_delay = 0
	EOF
}

# max_idle_time is short only after the process has served.
assert_started_on_demand() {
	on_demand "$1" 5m | conf
	pool_start
	assertEquals 0 "$(status apps web processes)"
	for count in 1 2; do
		assertNotNull "$(ask "$1")"
		await status_is "$count" apps web spawned
		on_demand "$1" 100ms | conf
		reload
		await status_is 0 apps web processes
		await status_is "$count" apps web exits idle
		on_demand "$1" 5m | conf
		reload
	done
}

testEachConnectionWithoutAProcessStartsOne() {
	each assert_started_on_demand <<-'END'
	"unix:$DIR/web.sock"
	"127.0.0.1:$PORT"
	END
}

# A connection waits until the process listens.
testAProcessThatDoesNotListenYetIsNotIdle() {
	starts 'listen = "unix:web.sock" min_processes = 0
	    max_idle_time = 200ms' listens --start 60
	behind_many 1 hello
	await status_is 1 apps web spawned
	sleep 1
	assertEquals 1 "$(status apps web spawned)"
	assertEquals 1 "$(status apps web processes)"
	pool_stop INT
}

testTheDaemonSleepsWhileThereIsNoProcess() {
	starts 'listen = "unix:web.sock" min_processes = 0' listens
	before=$(switches "$POOL")
	sleep 1
	times=$(($(switches "$POOL") - before))
	assertTrue "$times times" "[ $times -lt 15 ]"
}

# switches PID: voluntary context switches. A question costs a few; looks at a
# backlog cost some forty a second.
switches() {
	awk '/^voluntary_ctxt/ { print $2 }' "/proc/$1/status"
}

# hang PID: stops a process when no connection waits: so the daemon has seen it
# accept.
hang() {
	await status_is 0 waiting
	pause_process "$1"
}

# first_of ADDRESS: the only process is seen to accept, because the connection
# had to wait; its pid is in $first.
first_of() {
	first=$(status apps web workers 0 pid)
	pause_process "$first"
	behind_many 1 hello "$1"
	await status_is 1 waiting
	kill -CONT "$first"
	finish "$MANY"
	assertEquals "$first" "$(pid_of "$(cat "$DIR/many")")"
}

testAUnixBacklogThatStaysStartsMoreProcesses() {
	starts 'listen = "unix:web.sock" max_processes = 3 start_delay = 50ms' \
	    listens
	first_of "unix:$DIR/web.sock"
	hang "$first"
	second=$(pid_of "$(web)")
	assertNotEquals "$first" "$second"
	hang "$second"
	third=$(pid_of "$(web)")
	assertEquals 3 "$(printf '%s\n' "$first" "$second" "$third" |
	    sort -u | wc -l)"
	hang "$third"
	behind_many 1 hello
	await status_is 1 waiting
	sleep 0.3
	assertEquals "max_processes" 3 "$(status apps web spawned)"
	kill -CONT "$second"
	finish "$MANY"
	assertEquals "$second" "$(pid_of "$(cat "$DIR/many")")"
	kill -CONT "$first" "$third"
}

testATcpBacklogThatStaysStartsMoreProcesses() {
	starts "listen = \"127.0.0.1:$PORT\" max_processes = 2
	    start_delay = 50ms" listens
	first_of "127.0.0.1:$PORT"
	hang "$first"
	assertNotEquals "$first" "$(pid_of "$(ask "127.0.0.1:$PORT")")"
	await status_is 2 apps web spawned
	kill -CONT "$first"
}

# The daemon is suspended while the connection comes and is accepted.
testAConnectionAcceptedUnseenDelaysNoOther() {
	starts 'listen = "unix:web.sock" max_processes = 2 start_timeout = 1h' \
	    listens
	busy=$(status apps web workers 0 pid)
	pause_process "$POOL"
	hold one keep
	pause_process "$busy"
	kill -CONT "$POOL"
	answer=$(web)
	assertContains "$answer" hello
	assertNotEquals "$busy" "$(pid_of "$answer")"
	kill -CONT "$busy"
	let_go one
}

testWaitingConnectionsAreShown() {
	starts "listen = { \"unix:web.sock\", \"127.0.0.1:$PORT\" }
	    max_processes = 1" listens
	pause_process "$(status apps web workers 0 pid)"
	behind_many 3 hello
	start_process ask "127.0.0.1:$PORT" >/dev/null
	await status_is 4 apps web waiting
	await status_is 4 waiting
	assertEquals 4 "$(status apps web backlog)"
	kill -CONT "$(status apps web workers 0 pid)"
	finish "$MANY"
	assertEquals 0 "$RC"
	await status_is 0 waiting
}

testABusyProcessorStartsMoreProcesses() {
	starts 'listen = "unix:web.sock" max_processes = 2
	    update_interval = 500ms grow_threshold = 5' listens
	behind_many 1 burn
	await status_is 2 apps web processes
}

testProcessesThatLeaveOfThemselvesAreReplacedAtOnce() {
	starts 'listen = "unix:web.sock" min_processes = 2 max_processes = 2
	    restart_delay = 1h restart_delay_max = 1h' listens
	# One that waits is seen to be accepted.
	# shellcheck disable=SC2046 # numbers
	kill -STOP $(status apps web workers '*' pid)
	start_process web hello >"$DIR/hello"
	# As the daemon has seen it, not as it is measured for the answer.
	await status_is 1 waiting
	# shellcheck disable=SC2046 # likewise
	kill -CONT $(status apps web workers '*' pid)
	finish "$STARTED"
	await status_is 0 waiting
	for leaves in 1 2 3 4 5 6 7 8; do
		assertEquals left "$(web leave)"
		await status_is "$((leaves + 2)) 0" apps web spawned,starting
	done
	assertEquals null "$(status apps web last_failure)"
	assertEquals 8 "$(status apps web exits retired)"
}

testABusyChildStartsMoreProcesses() {
	starts 'listen = "unix:web.sock" max_processes = 2
	    update_interval = 500ms grow_threshold = 5' listens
	behind_many 1 delegate
	await status_is 2 apps web processes
}

# assert_kept_by TEXT: the process stays while a client that asked so is
# connected.
assert_kept_by() {
	on_demand "unix:$DIR/web.sock" 3s | conf
	pool_start
	hold one "$1"
	sleep 4.5
	assertEquals "$(pid_of "$HELD")" "$(status apps web workers 0 pid)"
	let_go one
	on_demand "unix:$DIR/web.sock" 100ms | conf
	reload
	await status_is 0 apps web processes
}

testAnIdleConnectionKeepsItsProcess() {
	assert_kept_by keep
}

testAConnectionOfAForkedChildKeepsTheProcess() {
	assert_kept_by child
}

# --- ends ---------------------------------------------------------------

testAKilledProcessLosesItsOwnConnectionsAlone() {
	starts 'listen = "unix:web.sock" min_processes = 2 max_processes = 2
	    restart_delay = 10ms' listens
	hold one keep
	victim=$(pid_of "$HELD")
	pause_process "$victim"
	hold other keep
	assertNotEquals "$victim" "$(pid_of "$HELD")"
	kill -KILL "$victim"
	speak one
	assertEquals lost "$SAID"
	speak other
	assertEquals "$HELD" "$SAID"
	await status_is 2 apps web idle
	let_go one
	let_go other
}

testTheBacklogOutlivesTheLastProcess() {
	starts 'listen = "unix:web.sock" restart_delay = 10ms' listens
	victim=$(status apps web workers 0 pid)
	pause_process "$victim"
	behind_many 5 hello
	await status_is 5 apps web waiting
	kill -KILL "$victim"
	finish "$MANY"
	assertEquals 0 "$RC"
}

testAListenerThatAProgramShutDownIsBoundAnew() {
	for listen in "unix:$DIR/web.sock" "127.0.0.1:$PORT"; do
		conf_of "listen = \"$listen\" restart_delay = 10ms" listens
		pool_start
		ask "$listen" shutdown >/dev/null 2>&1
		await said "binding it anew"
		wait_for "$LIMIT" answers "$listen"
		assertTrue "$listen" "answers $listen"
		pool_stop
		: >"$DIR/log"
	done
}

answers() {
	ask "$1" hello >/dev/null 2>&1
}

testStop_signalAsksAProcessToStop() {
	starts 'listen = "unix:web.sock" stop_signal = QUIT' listens --graceful
	pool_stop
	assertTrue "said 'killed by signal 3 (SIGQUIT)'"
}

testAProgramThatExitsAtOnceCostsNoProcessorTime() {
	begins 'handoff = listen min_processes = 0 restart_delay = 10s
	    restart_delay_max = 10s' server web /bin/false
	behind_many 1 hello
	await status_is 1 apps web exits failure
	assertEquals 1 "$(status apps web waiting)"
	before=$(cpu_of "$POOL")
	sleep 1
	used=$((($(cpu_of "$POOL") - before) / 1000000))
	stop_process "$MANY"
	assertTrue "$used ms of a second" "[ $used -lt $((100 * SLOW)) ]"
	pool_stop INT
}

# --- reload, restart, stop ----------------------------------------------

testANewGenerationTakesOverWithoutLoss() {
	starts 'listen = "unix:web.sock" min_processes = 2' listens --graceful
	old=$(pids)
	flood_behind --unix "$DIR/web.sock" --count 100000 --limit 3 \
	    --concurrency 4 --max lost=0 --max refused=0 --quiet
	reloads 'listen = "unix:web.sock" min_processes = 2' \
	    listens --graceful --start 0.1
	await status_is null apps web rollout
	await status_is 0 apps web stopping
	flood_ends
	for pid in $old; do
		await is_gone "$pid"
	done
}

# blocks: whether the socket of the process does.
blocks() {
	blocks_flags=$(sed -n 's/^flags:[^0-9]*//p' \
	    "/proc/$(status apps web workers 0 pid)/fdinfo/3")
	[ $((blocks_flags & 04000)) -eq 0 ]
}

# sleeps: a program that leaves its socket as it is, for conf.
sleeps() {
	echo 'defaults { ready_after = 50ms }'
	{ echo 'handoff = listen'; cat; } | job web /bin/sleep 600
}

testTheSocketBlocksUnlessNonblockingIsTrue() {
	starts 'listen = "unix:web.sock"' sleeps
	assertTrue before blocks
	pid=$(status apps web workers 0 pid)
	reloads 'listen = "unix:web.sock" nonblocking = true' sleeps
	assertFalse 'nonblocking' blocks
	reloads 'listen = "unix:web.sock"' sleeps
	assertTrue after blocks
	assertEquals 'the process stays' "$pid" "$(status apps web workers 0 pid)"
	stop_process "$POOL"
	starts 'listen = "unix:web.sock" nonblocking = true' sleeps
	assertFalse 'from the start' blocks
}

testAnotherAddressReplacesTheProcesses() {
	starts 'listen = "unix:web.sock"' listens
	old=$(pids)
	reloads 'listen = { "unix:web.sock", "unix:more.sock" }' listens
	await is_gone "${old% }"
	assertEquals "2 web:web mine" \
	    "$(ask "unix:$DIR/more.sock" environment | cut -d' ' -f2-)"
	reloads 'listen = { "unix:more.sock" }' listens
	await test ! -e "$DIR/web.sock"
	await status_is null apps web rollout
	await status_is 1 apps web processes
	await status_is 0 apps web stopping
	assertEquals "1 web mine" \
	    "$(ask "unix:$DIR/more.sock" environment | cut -d' ' -f2-)"
}

testAnAppCanChangeToHandoffListenAndBack() {
	starts 'max_processes = 1' app web
	hold_at old
	reloads 'listen = "unix:web.sock" max_processes = 1' listens --graceful
	assertEquals "1 web mine" "$(web environment | cut -d' ' -f2-)"
	open_gate old
	behind
	assertContains "$ANSWER" hello
	await status_is 1 apps '*' processes
	reloads '' app web
	assertContains "$(web hello)" hello
	await status_is native apps '*' handoff
	web >/dev/null
	assert_accounts web
}

# Each change comes while processes of earlier ones are still about to leave. A
# socket that such processes have is given up, and for a moment nobody listens;
# but who has connected is served. Only root can have TCP clients ask again.
assert_handoffs_change_without_loss() {
	flood_kind=$1 flood_address=$2 conf_address=$3
	listens_or_not listen "$conf_address"
	pool_start
	lost=0
	is_root || [ "$flood_kind" = --unix ] || lost=$((150 * SLOW))
	flood_behind "$flood_kind" "$flood_address" --rate 500 \
	    --count 1500 --max lost=$lost --max refused=$((150 * SLOW)) \
	    --max failed=$((150 * SLOW)) \
	    --timeout $((3 * LIMIT)) --quiet
	for handoff in native listen native listen native native listen; do
		listens_or_not "$handoff" "$conf_address"
		reload
		sleep 0.2
	done
	finish "$FLOOD" $((6 * LIMIT))
	assertEquals "$conf_address: $(cat "$DIR/flood")" 0 "$RC"
	await status_is 1 apps '*' processes
	stops_well
}

# listens_or_not HANDOFF ADDRESS: the app web, to be configured.
listens_or_not() {
	if [ "$1" = listen ]; then
		listens --graceful <<-EOF
		listen = "$2"
		max_processes = 1
		EOF
	else
		app web </dev/null |
		    sed "s,^listen = .*,listen = \"$2\"\nmax_processes = 1,"
	fi | conf
}

testHandoffListenComesAndGoesWithoutLossAtAUnixAddress() {
	assert_handoffs_change_without_loss --unix "$DIR/web.sock" \
	    unix:web.sock
}

testHandoffListenComesAndGoesWithoutLossAtATcpAddress() {
	assert_handoffs_change_without_loss --tcp "127.0.0.1:$PORT" \
	    "127.0.0.1:$PORT"
}

# A connection that a process has keeps the former one.
testAListeningAppThatComesBackServesAtItsAddressesAgain() {
	app other </dev/null >"$DIR/other.conf"
	{
		cat "$DIR/other.conf"
		listens --graceful <<-EOF
		listen = { "unix:web.sock", "127.0.0.1:$PORT" }
		max_processes = 1
		EOF
	} >"$DIR/both.conf"
	conf <"$DIR/both.conf"
	pool_start
	hold old keep
	conf <"$DIR/other.conf"
	reload
	await status_is stopping apps web state
	conf <"$DIR/both.conf"
	# Until the process has closed its address the reload is refused.
	await ctl reload >"$DIR/told" 2>&1
	assertTrue "said 'web: added again'"
	assertContains "$(ask "127.0.0.1:$PORT" hello)" hello
	assertContains "$(web hello)" hello
	let_go old
	assertContains "$(ask "127.0.0.1:$PORT" hello)" hello
	assertContains "$(web hello)" hello
}

# Its own process accepts nothing more.
testABacklogOutlivesTheAbsenceOfItsListeningApp() {
	listens_or_not listen unix:web.sock
	pool_start
	former=$(status apps web workers 0 pid)
	pause_process "$former"
	behind_many 3 hello
	await status_is 3 apps web backlog
	listens_or_not native unix:web.sock
	reload
	listens_or_not listen unix:web.sock
	reload
	assertTrue "said 'web: added again'"
	finish "$MANY"
	assertEquals 3 "$(grep -c ' hello$' "$DIR/many")"
	assertContains "$(web hello)" hello
	kill -CONT "$former"
}

# The file is read in its order: the app that the address leaves comes first.
testAnAddressGoesFromAListeningAppThatChangesToALaterOne() {
	starts 'listen = "unix:web.sock"' listens
	{
		app web </dev/null | sed 's/web.sock/other.sock/'
		app later </dev/null | sed 's/later.sock/web.sock/'
	} | conf
	reload
	assertContains "$(web hello)" hello
	assertContains "$(ask "unix:$DIR/other.sock" hello)" hello
	assertEquals 1 "$(status apps later accepted)"
}

testAReloadThatFailsLeavesASharedSocketInItsPlace() {
	starts 'listen = "unix:web.sock"' listens
	pid=$(pid_of "$(web)")
	take "$DIR/taken.sock"
	{
		app web </dev/null
		app taken </dev/null
	} | conf
	assertFalse "ctl reload >'$DIR/told' 2>&1"
	assertEquals "$pid" "$(pid_of "$(web)")"
}

# with_socket PORT COMMAND...: with fd:public.
with_socket() {
	# shellcheck disable=SC2016 # in that shell
	exec "$PYTHON" -c '
import os, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1",
                  LISTEN_FDNAMES="public")
os.execv(sys.argv[2], sys.argv[2:])' "$@"
}

# Clients wait meanwhile.
testASocketOfTheServiceManagerIsLeftToFormerProcessesUntilTheyEnd() {
	listens_or_not listen fd:public
	run_by with_socket "$PORT"
	ctl wait >/dev/null
	former=$(status apps web workers 0 pid)
	pause_process "$former"
	listens_or_not native fd:public
	reload
	start_process ask "127.0.0.1:$PORT" hello >"$DIR/answer"
	asker=$STARTED
	reload
	sleep 0.3
	assertEquals '' "$(cat "$DIR/answer")"
	assertFalse "$former has ended" "is_gone $former"
	kill -KILL "$former"
	finish "$asker"
	assertContains "$(cat "$DIR/answer")" hello
	await status_is 1 apps '*' processes
	assertEquals 1 "$(status apps web accepted)"
}

# Once it has come to an app that does not listen itself, nobody waits again.
testASocketOfTheServiceManagerGoesOnFromThatAppAtOnce() {
	listens_or_not listen fd:public
	run_by with_socket "$PORT"
	ctl wait >/dev/null
	listens_or_not native fd:public
	reload
	await status_is native apps '*' handoff
	start_process ask "127.0.0.1:$PORT" "$(gate busy)" >/dev/null
	await are_given 1 web
	app other </dev/null |
	    sed 's,^listen = .*,listen = "fd:public",' >"$DIR/other"
	conf <"$DIR/other"
	reload
	assertContains "$(ask "127.0.0.1:$PORT" hello)" hello
	assertEquals 1 "$(status apps other accepted)"
	open_gate busy
}

# A graceful program finishes what it has accepted.
testAStopServesWhatIsInTheBacklog() {
	for listen in "unix:$DIR/web.sock" "127.0.0.1:$PORT"; do
		listens --graceful <<-EOF | conf
		listen = "$listen"
		max_processes = 1
		EOF
		pool_start
		pid=$(status apps web workers 0 pid)
		pause_process "$pid"
		start_process "$BUILD/tests/e2e/ask" --to "$listen" --count 5 \
		    --together --timeout $((3 * LIMIT)) >"$DIR/many"
		MANY=$STARTED
		await status_is 5 apps web waiting
		kill -TERM "$POOL"
		await said stopping
		sleep 0.2
		assertFalse "$pid waits" "is_gone $pid"
		assertFalse "$listen is closed" \
		    "timeout 1 $BUILD/tests/e2e/ask --to $listen --timeout 1 \
		    2>/dev/null"
		kill -CONT "$pid"
		ends_well
		finish "$MANY"
		assertEquals "$listen" 0 "$RC"
		assertTrue "is_gone $pid"
		: >"$DIR/log"
	done
	assertFalse "the socket is left" "[ -e '$DIR/web.sock' ]"
}

testAStopIsNotHeldUpByAProcessThatAcceptsNothing() {
	starts 'listen = "unix:web.sock" max_processes = 1
	    kill_timeout = 200ms' with 'stop_timeout = 1s' listens
	pause_process "$(status apps web workers 0 pid)"
	behind_many 2 hello
	await status_is 2 apps web waiting
	pool_stop
	stopped=$RC
	finish "$MANY"
	assertEquals "clients that are left are told at once" 1 "$RC"
	assertEquals 0 "$stopped"
}

# --- held by an operator -------------------------------------------------

testClientsOfADrainedAppWaitUntilItIsResumed() {
	starts 'listen = "unix:web.sock"' listens
	assertContains "$(ctl drain web 2>&1)" 'web: drained, 1 process ended'
	start_process ask "unix:$DIR/web.sock" >"$DIR/asked" 2>&1
	asker=$STARTED
	await status_is 1 apps web backlog
	assertEquals '0 drained' "$(status apps web processes,state)"
	assertContains "$(ctl resume web 2>&1)" 'web: running, 1 process ready'
	finish "$asker"
	assertContains "$(cat "$DIR/asked")" hello
	assertContains "$(ctl stop web 2>&1)" 'web: stopped, 1 process ended'
	assertContains "$(ctl start web 2>&1)" 'web: running, 1 process ready'
	assertContains "$(web)" hello
	stops_well
}

testAFailedAppIsNotStartedWhileTheDaemonStops() {
	begins 'handoff = listen start_limit = 1 restart_delay = 10ms
	    restart_delay_max = 10ms' server web false
	await status_is failed apps web state
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --text hello --timeout $((3 * LIMIT)) >/dev/null 2>&1
	asker=$STARTED
	await status_is 1 apps web waiting
	kill -TERM "$POOL"
	finish "$POOL"
	assertEquals 'not within the 25 s that a backlog may take' 0 "$RC"
	finish "$asker"
	assertEquals 'the client is told' 1 "$RC"
	stops=$(sed -n '/stopping, within/,$p' "$DIR/log" | wc -l)
	assertTrue "$stops lines while it stops" "[ $stops -le 6 ]"
}

. tests/e2e/lib.sh
