#!/bin/sh
# The same dialogue with Debian's poolcounterd and with ours: see
# counter_peer.py.

# find_peer: poolcounterd as it is installed, or as contrib/peers unpacked it.
find_peer() {
	PEER=$(command -v poolcounterd) && return
	contrib/peers build/peers
	PEER=build/peers/usr/bin/poolcounterd
	[ -x "$PEER" ]
}

# poolcounterd has no option for the port, but 127.0.0.0/8 has many addresses.
file_setup() {
	find_peer || return 0
	PEER_HOST=127.$((1 + $$ % 250)).$((1 + $$ / 250 % 250)).7
	start_process env LD_LIBRARY_PATH="$(echo build/peers/usr/lib/*-gnu)" \
	    "$PEER" -l "$PEER_HOST" >"$DIR/peer.log" 2>&1
	ADDRESS=127.0.0.1:$(free_port)
	conf <<-END
	counter = "$ADDRESS"
	END
	pool_run
}

# agree SEED STEPS
agree() {
	timeout $((6 * LIMIT)) "$PYTHON" tests/e2e/counter_peer.py "$1" "$2" \
	    "$ADDRESS" "$PEER_HOST:7531" >"$DIR/talk" 2>&1 ||
	    fail "$(cat "$DIR/talk")"
}

testPoolcounterdAndOursAnswerAlike() {
	[ -x "$PEER" ] || { skip 'no poolcounterd'; return; }
	await "$PYTHON" -c "import socket
socket.create_connection(('$PEER_HOST', 7531))" 2>/dev/null
	for seed in 1 2 3 4; do
		agree $seed $((2000 / SLOW))
	done
}

testPoolcounterdAndOursAnswerAlikeForARandomSeed() {
	[ -x "$PEER" ] || { skip 'no poolcounterd'; return; }
	agree "$$" $((2000 / SLOW))
}

. tests/e2e/lib.sh
