#!/bin/sh
# Programs that listen on an address of their own.

file_setup() {
	# Workers may not be allowed to enter this tree.
	cp tests/e2e/workers/stray.py "$DIR"
	next_port
}

# next_port: what a former test left behind may have the one before still.
next_port() {
	PORT=$(free_port)
	TOLD="it listens on :$PORT itself: use {fd: 3}, or handoff = none"
}

# strays COMMAND...: the app web; what else it has comes from stdin.
strays() {
	server web "$@" | conf
}

# listens COMMAND...: likewise, ready after 300 ms.
listens() {
	strays "$@" <<-EOF
	handoff = listen
	ready_after = 100ms
	update_interval = 400ms
	EOF
}

# A client waits that nobody will accept.
comes() {
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --text hello --timeout $((3 * LIMIT)) >/dev/null 2>&1
}

assert_found() {
	await said "web: $TOLD"
	assertEquals "apppoolctl: web: $TOLD" "$(ctl wait 2>&1)"
	assertEquals "$TOLD" "$(status apps web last_failure)"
	assertContains "$(ctl status)" "$TOLD"
}

testAProgramWithAnAddressOfItsOwnIsFound() {
	listens "$PYTHON" "$DIR/stray.py" "$PORT"
	pool_start
	assertEquals null "$(status apps web last_failure)"
	comes
	client=$STARTED
	assert_found
	# A connection that nobody will accept does not hold up the end.
	pool_stop
	finish "$client"
	assertNotContains "$(cat "$DIR/log")" SIGKILL
}

testAProgramBehindAShellIsFound() {
	listens sh -c "$PYTHON $DIR/stray.py $PORT; exit 1"
	pool_start
	comes
	assert_found
}

testAServerUnderNativeIsFoundBeforeStartTimeout() {
	TOLD="it listens on :$PORT itself: use handoff = listen and {fd: 3}, \
or handoff = none"
	strays "$PYTHON" "$DIR/stray.py" "$PORT" <<-EOF
	start_timeout = 1h
	EOF
	pool_run
	assert_found
	next_port
}

is_found_under_accept() {
	next_port
	TOLD="it listens on :$PORT itself: use handoff = listen and {fd: 3}, \
or handoff = none"
	strays "$PYTHON" "$DIR/stray.py" "$PORT" <<-EOF
	handoff = accept
	accept_by = $1
	start_timeout = 1h
	EOF
	# The adapter makes a socket of the kind that the app listens on.
	sed -i "s/^listen = .*/listen = \"127.0.0.1:$(free_port)\"/" \
	    "$DIR/pool.conf"
	pool_run
	assert_found
	pool_stop INT
}

testAServerUnderAcceptIsFoundBeforeStartTimeout() {
	each is_found_under_accept <<-END
	library
	seccomp
	END
	next_port
}

# is_slow_to_accept WAY, by which it is given a socket of its own meanwhile.
is_slow_to_accept() {
	next_port
	rm -f "$DIR/goes_on"
	cat >"$DIR/slow.py" <<-END
	import os, socket, time
	while not os.path.exists("$DIR/goes_on"):
	    time.sleep(0.01)
	listener = socket.socket(fileno=0)
	while True:
	    client, _ = listener.accept()
	    client.sendall(b"slow\n")
	    client.close()
	END
	strays "$PYTHON" "$DIR/slow.py" <<-EOF
	handoff = accept
	accept_by = $1
	EOF
	sed -i "s/^listen = .*/listen = \"127.0.0.1:$PORT\"/" "$DIR/pool.conf"
	pool_run
	# The second look comes after four seconds.
	await is_older 4.5
	: >"$DIR/goes_on"
	assertEquals ready "$(ctl wait 2>&1)"
	assertEquals slow "$(ask "127.0.0.1:$PORT")"
	assertEquals 0 "$(times_said 'listens on')"
	pool_stop
}

testAProgramThatIsSlowToAcceptIsNoStray() {
	each is_slow_to_accept <<-END
	library
	seccomp
	END
	next_port
}

# is_older SECONDS: whether the daemon has run for so long.
is_older() {
	status uptime | awk "{ exit \$1 < $1 }"
}

testAProgramThatAlsoAcceptsWhatItIsGivenIsNoStray() {
	listens "$PYTHON" "$DIR/stray.py" --both "$PORT"
	pool_start
	assertContains "$(web)" given
	assertEquals null "$(status apps web last_failure)"
}

testAReloadThatMendsItIsSeen() {
	listens "$PYTHON" "$DIR/stray.py" "$PORT"
	pool_start
	comes
	assert_found
	# The old process has the port until it is gone.
	listens "$PYTHON" "$DIR/stray.py" --both "$(free_port)"
	ctl reload >/dev/null
	assertEquals ready "$(ctl wait 2>&1)"
	assertEquals null "$(status apps web last_failure)"
	assertContains "$(web)" given
}

is_served() {
	ask "127.0.0.1:$PORT" 2>/dev/null | grep -q stray
}

testACopyForEachPortRunsAsAJob() {
	strays "$PYTHON" "$DIR/stray.py" "{slot+$PORT}" <<-EOF
	handoff = none
	ready_after = 100ms
	EOF
	sed -i '/^listen/d' "$DIR/pool.conf"
	pool_start
	await is_served
	assertEquals null "$(status apps web last_failure)"
}

. tests/e2e/lib.sh
