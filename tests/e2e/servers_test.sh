#!/bin/sh
# A PoolCounter service of three servers: see servers.py.

# server NAME: a daemon with a counter; its address is in $SERVER.
server() {
	SERVER=127.0.0.1:$(free_port)
	cat >"$DIR/$1.conf" <<-END
	control = "$DIR/$1.sock"
	counter = "$SERVER"
	END
	start_process "$APPPOOLD" -c "$DIR/$1.conf" >>"$DIR/$1.log" 2>&1 </dev/null
	await "$APPPOOLCTL" -s "$DIR/$1.sock" wait >/dev/null 2>&1
}

three_servers() {
	server a
	A=$SERVER
	server b
	B=$SERVER B_PID=$STARTED
	server c
	C=$SERVER
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

# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
