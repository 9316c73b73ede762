#!/bin/sh
# A turn of the loop that somebody makes wait is interrupted.

# inherited_listener: the app web on a socket of a service manager, that is no
# new one after a reload, for conf; what else it has comes from stdin.
inherited_listener() {
	echo 'app "web" {'
	echo 'listen = "fd:web"'
	cat
	echo '}'
}

# manage PORT: starts the daemon with the socket web, and waits until all runs.
manage() {
	start_process "$PYTHON" tests/e2e/manager.py "$DIR" "web=$1" \
	    "$APPPOOLD" -c "$DIR/pool.conf" >>"$DIR/log" 2>&1 </dev/null
	await test -e "$DIR/pid"
	POOL=$(cat "$DIR/pid")
	PIDS="$PIDS $POOL"
	await pool_answers
	ctl wait >"$DIR/wait" 2>&1 || fail "not ready: $(cat "$DIR/wait")"
}

# Whether, in some seconds, the listener blocked when its queue was empty.
interrupted() {
	flood --tcp "127.0.0.1:$port" --count 100000 --concurrency 4 \
	    --limit 2 --quiet >"$DIR/flooded"
	said 'interrupted at accept4 for web'
}

testAnAcceptThatAFormerWorkerMakesWaitHoldsNobodyUp() {
	port=$(free_port)
	cp "$BUILD/tests/hostile/reblock" "$DIR"
	{
		app_b
		inherited_listener <<-EOF
		handoff = listen
		command = { "$DIR/reblock" }
		EOF
	} | conf
	manage "$port"
	{
		app_b
		inherited_listener <<-EOF
		command = { "$TWORKER" }
		min_processes = 4
		EOF
	} | conf
	ctl reload >/dev/null
	quiet_b
	watch_b
	wait_for $((6 * LIMIT)) interrupted || fail 'no accept was made wait'
	assert_b_is_served
	assert_accounts web
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
