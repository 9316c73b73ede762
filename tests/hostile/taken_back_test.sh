#!/bin/sh
# A connection that was taken back, but whose lock a child of the former process
# holds.

# clinging ADDRESS [LINE...]: the app evil there, for conf. No other process
# comes for the connection.
clinging() {
	clinging_at=$1
	shift
	printf '%s\n' 'user = root' 'max_processes = 1' 'restart_delay = 1h' \
	    'restart_delay_max = 1h' 'kill_timeout = 500ms' "$@" |
	    hostile evil clinger | at "$clinging_at"
}

# assert_held CLIENT...: app b is served while the connection of the client is
# held, taken back and given up.
assert_held() {
	pool_start
	quiet_once
	watch_b
	start_process "$@" >"$DIR/asked" 2>&1
	await status_is 1 apps evil retaken
	await status_is 0 apps evil waiting
	assert_b_is_served
	assert_accounts evil
	stops_well
	end_holders
	: >"$DIR/log"
}

testARefusalOfAConnectionWhoseLockIsHeldHoldsUpNobody() {
	is_root || { skip 'userfaultfd is for root'; return; }
	for address in "127.0.0.1:$(free_port)" "unix:$DIR/evil.sock"; do
		{
			app_b
			clinging "$address" 'protocol = fastcgi' \
			    'queue_timeout = 500ms'
		} | conf
		assert_held "$BUILD/tests/e2e/ask" --to "$address" --timeout 2
	done
}

testALookAtAClientWhoseLockIsHeldHoldsUpNobody() {
	is_root || { skip 'userfaultfd is for root'; return; }
	{
		app_b
		clinging "unix:$DIR/evil.sock" 'queue_timeout = 1500ms'
	} | conf
	assert_held timeout 0.5 "$BUILD/tests/e2e/ask" --to "unix:$DIR/evil.sock"
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
