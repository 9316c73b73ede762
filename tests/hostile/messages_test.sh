#!/bin/sh
# Processes that say to the daemon what is allowed and useless, without end.

# assert_killed_for MESSAGE: the process that says so in a loop is killed, and
# app b does not notice.
assert_killed_for() {
	{
		app_b
		# A process that retires is not killed before for not stopping.
		hostile evil talker "$1" <<-EOF |
		restart_delay = 1m
		EOF
		    sed 's/^stop_timeout.*/stop_timeout = 30s/'
	} | conf
	pool_start
	quiet_b
	watch_b 1
	ask "unix:$DIR/evil.sock" >/dev/null
	await said 'is killed: over 10000 messages in a second'
	assert_b_is_served
}

testAProcessThatFloodsTheDaemonWithMessagesIsKilled() {
	each assert_killed_for <<-'END'
	BLIND
	'STATUS busy'
	'EVENT again'
	RETIRE
	END
}

testMessagesOfManyShortSessionsAreNoFlood() {
	echo 'max_processes = 1' | hostile web talker 'STATUS busy' 3 | conf
	pool_start
	floods --unix "$DIR/web.sock" --count 5000 --concurrency 8 --quiet \
	    --max lost=0 --min answered=5000
	assertEquals 1 "$(status apps web spawned)"
	grep -o 'elapsed=[^ ]*' "$DIR/flood" | sed 's/^/# /'
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
