#!/bin/sh
# A PoolCounter service of three servers: see servers.py.

# counting NAME ADDRESS: a daemon with a counter.
counting() {
	cat >"$DIR/$1.conf" <<-END
	control = "$DIR/$1.sock"
	counter = "$2"
	END
	start_process "$APPPOOLD" -c "$DIR/$1.conf" >>"$DIR/$1.log" 2>&1 </dev/null
	await "$APPPOOLCTL" -s "$DIR/$1.sock" wait >/dev/null 2>&1
}

three_servers() {
	A=127.0.0.1:$(free_port)
	counting a "$A"
	B=127.0.0.1:$(free_port)
	counting b "$B"
	B_PID=$STARTED
	C=127.0.0.1:$(free_port)
	counting c "$C"
}

# crowd KEYS [DEAD]: leaves how many keys each server had in $DIR/had.
crowd() {
	timeout $((6 * LIMIT)) "$PYTHON" tests/e2e/servers.py "$A,$B,$C" \
	    "$BUILD/tests/e2e/locker" "$@" >"$DIR/had" 2>"$DIR/said" ||
	    fail "$(tail -n 1 "$DIR/said")"
}

testAllClientsAskForAKeyAtTheSameServer() {
	three_servers
	crowd 30
	assertEquals 'each server has keys' '' "$(grep -w 0 "$DIR/had")"
}

testOnlyTheKeysOfALostServerMove() {
	three_servers
	stop_process "$B_PID"
	crowd 30 "$B"
	assertEquals 'the lost one has none' 0 "$(cut -d ' ' -f 2 "$DIR/had")"
}

# A key of which $B is the first server.
key_of_b() {
	"$PYTHON" -c 'import hashlib, sys
n = 0
while min(sys.argv[1:], key=lambda server: hashlib.md5(
        f"{server}k{n}".encode()).digest()) != sys.argv[1]:
    n += 1
print(f"k{n}")' "$B" "$A" "$C"
}

# limited KEY: runs an app with one lock of the three servers.
limited() {
	starts "limit = \"$C,$A,$B $1 1 9 20s\"" app web
}

testALimitWaitsForOtherClientsOfTheSameServers() {
	three_servers
	limited "key"
	: >"$DIR/holds"
	start_process env APPPOOL_COUNTER="$A,$B,$C" "$BUILD/tests/e2e/locker" \
	    "$DIR/holds" key 1 9 0 me >"$DIR/locker.out" 2>&1
	await grep -q LOCKED "$DIR/locker.out"
	flood --unix "$DIR/web.sock" --count 1 --min answered=1 >/dev/null &
	flood=$!
	await status_is 1 apps web limit asked
	assertTrue 'it waits' "kill -0 $flood"
	rm "$DIR/holds"
	wait $flood
	assertEquals 0 $?
	await status_is 1 apps web limit granted
}

# A request finds out that $B has come back; for await.
b_is_noticed() {
	flood --unix "$DIR/web.sock" --count 1 >/dev/null 2>&1
	said "limit: $B: it is back"
}

testALimitGoesToTheNextServerAndBack() {
	three_servers
	key=$(key_of_b)
	limited "$key"
	floods --unix "$DIR/web.sock" --count 3 --min answered=3
	stop_process "$B_PID"
	floods --unix "$DIR/web.sock" --count 9 --min answered=9
	await status_is 12 apps web limit granted
	assertTrue 'the loss is told' "said 'it is passed over'"
	counting b "$B"
	await b_is_noticed
	assertEquals 'no request was without an answer' 0 \
	    "$(status apps web limit unreachable)"
	assertEquals 'the loss is told once' 1 "$(times_said 'it is passed over')"
	assertEquals 'the return is told once' 1 "$(times_said ': it is back')"
}

testAServerThatDoesNotAnswerIsPassedOver() {
	three_servers
	key=$(key_of_b)
	starts "limit = \"$C,$A,$B $key 1 9 1s\"" app web
	# shellcheck disable=SC2030 # for counter_pid alone
	b_counter=$(POOL=$B_PID && counter_pid)
	pause_process "$b_counter"
	floods --unix "$DIR/web.sock" --count 3 --min answered=3
	assertEquals '3 0 1' \
	    "$(status apps web limit granted,unreachable,servers_down)"
	kill -CONT "$b_counter"
	await status_is 0 apps web limit servers_down
}

# processing NAME: locks that the counter of this daemon has given.
processing() {
	"$BUILD/tests/e2e/look" "$DIR/$1.sock" "$LIMIT" counter processing
}

processing_are() {
	[ "$(processing a) $(processing b) $(processing c)" = "$1" ]
}

# The sum of two is 1.
one_of_the_others_has_it() {
	[ $(($(processing a) + $(processing c))) -eq 1 ]
}

b_has_it_too() {
	[ "$(processing b)" -eq 1 ] && one_of_the_others_has_it
}

testALockThatALostServerHadIsCountedByTheNextAndThenByTheOneThatIsBack() {
	three_servers
	key=$(key_of_b)
	limited "$key"
	hold_at first
	await processing_are '0 1 0'
	stop_process "$B_PID"
	await one_of_the_others_has_it
	other=$(APPPOOL_COUNTER=$A,$B,$C "$BUILD/tests/e2e/locker" /dev/null \
	    "$key" 1 1 0 me)
	assertEquals 'another client finds the place taken' QUEUE_FULL "$other"
	assertEquals '1 1' "$(status apps web limit lost,servers_down)"
	counting b "$B"
	await b_has_it_too
	open_gate first
	behind
	await processing_are '0 0 0'
	assert_none_lost
}

upgraded() {
	assertContains "$(ctl upgrade 2>&1)" 'upgraded from'
}

testAnUpgradeOfTheDaemonKeepsLocksOfTwoServers() {
	three_servers
	key=$(key_of_b)
	limited "$key"
	hold_at first
	upgraded
	stop_process "$B_PID"
	await one_of_the_others_has_it
	upgraded
	assertEquals 1 "$(status apps web limit servers_down)"
	counting b "$B"
	await b_has_it_too
	upgraded
	assertTrue 'both have it' b_has_it_too
	open_gate first
	behind
	await processing_are '0 0 0'
	assert_none_lost
}

. tests/e2e/lib.sh
