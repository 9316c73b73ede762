#!/bin/sh
# Clients of the counter hold up no app, whatever they ask and however many.

file_setup() {
	ADDRESS=127.0.0.1:$(free_port)
	{
		echo "counter = { \"$ADDRESS\", \"unix:$DIR/counter.sock\" }"
		app_b
		app limited --work 100ms <<-END
		min_processes = 4
		limit = "local k 1 100 20s"
		END
	} | conf
	pool_start
	quiet_b
}

# attack CONNECTIONS HOW: starts; returns when all are connected. The processor
# of a client that is far away is not ours.
attack() {
	start_process nice "$BUILD/tests/hostile/lock_client" "$ADDRESS" "$@" \
	    >"$DIR/attack"
	await grep -q ready "$DIR/attack"
}

# attack_with_stats CONNECTIONS: under that attack app b is served, and so is a client
# of the counter.
attack_with_stats() {
	attack "$1" stats
	watch_b
	start=$(now_ms)
	"$PYTHON" tests/e2e/counter.py "$ADDRESS" \
	    pipelined_lines_are_answered_in_order
	assertEquals "another client's locks" 0 $?
	took=$(($(now_ms) - start))
	assertTrue "another client's locks took $took ms" \
	    "[ $took -lt $((3000 * SLOW)) ]"
	assert_b_is_served
}

testSixtyFourClientsThatPipelineStatsHoldUpNobody() {
	attack_with_stats 64
}

testThousandsOfAnswersAtOnceHoldUpNobody() {
	may_open 9500 || { skip 'needs descriptors'; return; }
	attack 9000 wake
	watch_b
	assert_b_is_served
}

# With no lock to be had, connections would be let in.
testTheDaemonsOwnLimitHoldsWhileOthersHaveAllPlacesAndKeys() {
	await status_is 0 counter clients
	cp "$DIR/pool.conf" "$DIR/before"
	echo 'counter_max_clients = 3' >>"$DIR/pool.conf"
	reload
	attack 3 hold
	start=$(now_ms)
	flood --unix "$DIR/limited.sock" --count 4 --concurrency 4 \
	    --min answered=4 >/dev/null
	assertEquals 0 $?
	took=$(($(now_ms) - start))
	assertTrue "four of 100 ms, one at a time, in $took ms" \
	    "[ $took -ge 400 ]"
	assertEquals 4 "$(status apps limited limit granted)"
	assertEquals 3 "$(status counter clients)"
	cp "$DIR/before" "$DIR/pool.conf"
	reload
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
