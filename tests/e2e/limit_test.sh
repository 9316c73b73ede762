#!/bin/sh
# A PoolCounter lock in front of an app.

# limited NAME LIMIT [OPTION-OF-tworker...]: an app with a limit; more options
# of its own from stdin.
limited() {
	limited_name=$1 limited_limit=$2
	shift 2
	{
		echo "limit = \"$limited_limit\""
		cat
	} | app "$limited_name" "$@"
}

# counted ...: the same, with a counter of the daemon's at $DIR/counter.sock.
counted() {
	with "counter = \"unix:$DIR/counter.sock\"" limited "$@"
}

# other_daemon: a second daemon with the app of $DIR/other.app.
other_daemon() {
	mkdir "$DIR/other"
	{
		echo "control = \"$DIR/other/control.sock\""
		cat "$DIR/other.app"
	} >"$DIR/other/pool.conf"
	start_process "$APPPOOLD" -c "$DIR/other/pool.conf" \
	    >>"$DIR/other/log" 2>&1 </dev/null
	OTHER=$STARTED
	await "$APPPOOLCTL" -s "$DIR/other/control.sock" wait \
	    >/dev/null 2>&1
}

other_end() {
	stop_process "$OTHER"
	rm -rf "$DIR/other"
}

testNoMoreSessionsRunThanTheLimitAllows() {
	starts 'min_processes = 6' counted web 'local k 2 100 20s' --work 100ms
	start=$(now_ms)
	flood --unix "$DIR/web.sock" --count 6 --concurrency 6 \
	    --min answered=6 >/dev/null
	assertEquals 0 $?
	took=$(($(now_ms) - start))
	assertTrue "six of 100 ms, two at a time, in $took ms" \
	    "[ $took -ge 290 ]"
	await status_is 6 apps web limit granted
	await status_is 6 apps web completed
	await status_is 0 apps web limit held
	assert_accounts web
}

testTwoDaemonsShareOneCeilingWithoutWastingIt() {
	port=$(free_port)
	starts 'min_processes = 4' with "counter = \"127.0.0.1:$port\"" \
	    limited web 'local k 1 500 30s' --work 20ms
	echo 'min_processes = 4' |
	    limited web "127.0.0.1:$port k 1 500 30s" --work 20ms >"$DIR/other.app"
	other_daemon
	start=$(now_ms)
	flood --unix "$DIR/web.sock" --count 50 --concurrency 50 \
	    --min answered=50 >/dev/null &
	one=$!
	flood --unix "$DIR/other/web.sock" --count 50 --concurrency 50 \
	    --min answered=50 >/dev/null
	assertEquals 0 $?
	wait $one
	assertEquals 0 $?
	took=$(($(now_ms) - start))
	assertTrue "100 of 20 ms, one at a time, in $took ms" \
	    "[ $took -ge 1980 ]"
	# A lock that is not passed on at the end of a session would come only
	# with its timeout of 30 s.
	assertTrue "and not much later: $took ms" \
	    "[ $took -lt 15000 ]"
	other_end
}

testADaemonThatIsKilledLetsTheOtherGoOn() {
	port=$(free_port)
	starts '' with "counter = \"127.0.0.1:$port\"" \
	    limited web 'local k 1 500 30s' --work 10ms
	limited web "127.0.0.1:$port k 1 500 30s" --work 60s \
	    </dev/null >"$DIR/other.app"
	other_daemon
	flood --unix "$DIR/other/web.sock" --count 1 >/dev/null 2>&1 &
	holder=$!
	await "$APPPOOLCTL" -s "$DIR/other/control.sock" status >/dev/null
	await status_is 1 counter processing
	kill -KILL "$OTHER"
	start=$(now_ms)
	floods --unix "$DIR/web.sock" --count 1 --min answered=1
	took=$(($(now_ms) - start))
	assertTrue "it did not wait for its timeout: $took ms" \
	    "[ $took -lt 15000 ]"
	kill "$holder" 2>/dev/null
	wait "$holder"
	for pid in $(leftovers); do
		[ "$pid" = "$POOL" ] || is_child_of_pool "$pid" ||
		    kill -KILL "$pid"
	done
	rm -rf "$DIR/other"
}

is_child_of_pool() {
	children "$POOL" | tr ' ' '\n' | grep -qx "$1"
}

testAnUnreachableServerLetsConnectionsInByDefault() {
	starts '' limited web "127.0.0.1:1 k 1 10 1s"
	floods --unix "$DIR/web.sock" --count 5 --min answered=5
	await said "let in without it"
}

testAnUnreachableServerHoldsConnectionsBackWithLimitFailClosed() {
	starts 'limit_fail = closed on_full = close' \
	    limited web "127.0.0.1:1 k 1 10 1s"
	floods --unix "$DIR/web.sock" --count 1 --max answered=0
	await status_is 1 apps web refused
	assert_accounts web
}

# A PoolCounter server that answers every line with $1, on $port.
answering_server() {
	start_process "$PYTHON" -c '
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
open(sys.argv[3], "w").close()
while True:
    client = server.accept()[0]
    client.recv(4096)
    client.sendall(sys.argv[2].encode() + b"\n")
' "$port" "$1" "$DIR/listens"
	await test -e "$DIR/listens"
}

testAnAnswerThatIsNoneIsLoggedAndLetsTheConnectionIn() {
	port=$(free_port)
	answering_server "ERROR LOCK_UNKNOWN"
	starts '' limited web "127.0.0.1:$port k 1 10 1s"
	floods --unix "$DIR/web.sock" --count 1 --min answered=1
	await said "limit: 127.0.0.1:$port: ERROR LOCK_UNKNOWN; connections"
}

testALimitGoesOnWithTheCounterThatFollowsOneThatDied() {
	starts '' counted web 'local k 1 100 20s'
	hold_at first
	counter=$(counter_pid)
	kill -KILL "$counter"
	await said 'a lock was lost with its connection'
	await another_counter "$counter"
	await status_is 1 counter processing
	open_gate first
	granted=$(status apps web limit granted)
	floods --unix "$DIR/web.sock" --count 4 --min answered=4
	await has_granted "$granted"
	await status_is 0 apps web limit held
	await status_is 0 counter processing
}

# another_counter PID: another one runs than that.
another_counter() {
	[ -n "$(counter_pid)" ] && [ "$(counter_pid)" != "$1" ]
}

# has_granted MORE
has_granted() {
	[ "$(status apps web limit granted)" -gt "$1" ]
}

testALockIsGivenBackByAProcessThatDies() {
	starts '' counted web 'local k 1 10 5s' --crash-every 1
	flood --unix "$DIR/web.sock" --count 1 >/dev/null 2>&1
	await status_is 0 apps web limit held
	await status_is 1 apps web lost
}

# The former server would let it wait for longer than the client does.
testAConnectionThatWaitsForALockGoesOnAtTheServerOfANewFile() {
	port=$(free_port)
	take_port "$port"
	starts '' counted web "127.0.0.1:$port k 1 10 600s"
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --timeout $((3 * LIMIT)) >"$DIR/behind" 2>&1
	BEHIND=$STARTED
	await status_is 1 apps web limit asked
	sed -i "s/127.0.0.1:$port k/local k/" "$DIR/pool.conf"
	kill -HUP "$POOL"
	behind
	assertContains "$ANSWER" hello
	await status_is 0 apps web limit held
	assertEquals '1 0 0' "$(status apps web limit granted,asked,unreachable)"
}

# The session goes on, and gives its lock back where that is from.
testALockOfAFormerServerIsNotUsedAgain() {
	starts 'min_processes = 2' \
	    counted web "unix:$DIR/counter.sock k 1 10 20s"
	hold_at first
	assertEquals 1 "$(status counter processing)"
	sed -i "s,unix:$DIR/counter.sock k,local other," "$DIR/pool.conf"
	kill -HUP "$POOL"
	await status_is other apps web limit key
	assertContains "$(web)" hello
	await status_is 1 counter processing
	open_gate first
	behind
	await status_is 0 counter processing
	assertContains "$(web)" hello
	assertEquals 3 "$(status apps web limit granted)"
}

# Its server is not in the configuration any more.
testALockOfALimitThatIsGoneIsGivenBackAfterAnUpgrade() {
	starts 'min_processes = 2' counted web 'local k 1 10 5s'
	assertContains "$(web)" hello
	hold_at first
	sed -i '/^limit = /d' "$DIR/pool.conf"
	reload
	ctl upgrade >"$DIR/told" 2>&1
	assertEquals "$(cat "$DIR/told")" 0 $?
	assertContains "$(web)" hello
	assertEquals 1 "$(status counter processing)"
	open_gate first
	behind
	await status_is 0 counter processing
	sed -i 's/^app "web" {/&\nlimit = "local k 1 10 5s"/' "$DIR/pool.conf"
	reload
	assertContains "$(web)" hello
	stops_well
}

testALocalLimitWithoutACounterIsAMistake() {
	limited web "local k 1 10 5s" </dev/null | conf
	said=$("$APPPOOLD" -t -c "$DIR/pool.conf" 2>&1)
	assertEquals 78 $?
	assertContains "$said" counter
}

. tests/e2e/lib.sh
