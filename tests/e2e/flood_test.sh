#!/bin/sh
# Clients by the thousand, while processes die: no client is lost unnoticed.
#
# FLOOD: how many connections the largest of these tests makes.

# A sanitizer makes all of this several times slower.
if [ "${SLOW:-1}" -eq 1 ]; then
	FLOOD=${FLOOD:-20000} KILLS=0.01 RELOADS=0.05
else
	FLOOD=${FLOOD:-10000} KILLS=0.1 RELOADS=0.2
fi

# no_leaks: a process killed while its sanitizer looks for leaks would be
# reported.
no_leaks() {
	echo "environment = \"ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0\""
}

# flooded KEY: that figure of what flood printed.
flooded() {
	sed -n "s/.*$1=\([0-9.]*\).*/\1/p" "$DIR/flood"
}

# assert_clean FDS: no session is left, nor more descriptors than FDS, and after
# the stop nothing of the daemon.
assert_clean() {
	await status_is 0 apps web sessions
	assert_accounts web
	await no_zombies
	await has_fds "$1"
	pool_stop
	assertEquals 'exit status' 0 "$RC"
	await no_leftovers
}

# All clients without an answer are lost in the status, too; a client whose
# answer was out when its worker was killed is lost in the status alone.
assert_lost_are_told() {
	await has_lost web $(($(flooded eof) + $(flooded reset)))
}

# has_lost APP COUNT: connections, or more.
has_lost() {
	[ "$(status apps "$1" lost)" -ge "$2" ]
}

# have_been_killed COUNT: of eight processes.
have_been_killed() {
	[ "$(status apps web spawned)" -gt $((8 + $1)) ]
}

# flood_under_fire LISTEN OPTION-OF-flood...: the workers are killed meanwhile.
flood_under_fire() {
	app web --work 200us <<-EOF | conf
	listen = { $1 }
	min_processes = 8
	max_processes = 16
	start_delay = 1ms
	restart_delay = 1ms
	restart_delay_max = 1ms
	min_server_life = 0
	start_limit = 1000000
	max_queue = 700
	max_idle_time = 100ms
	stop_delay = 0
	target_wait = 0
	$(no_leaks)
	EOF
	sed -i '/listen = "unix:web.sock"/d' "$DIR/pool.conf"
	pool_start
	await status_is 8 apps web idle
	before=$(fds "$POOL")
	start_process "$PYTHON" tests/e2e/workers/kill.py "$POOL" tworker 0.005
	killer=$STARTED
	await have_been_killed 8
	shift
	floods "$@" --concurrency 64 --limit 90 --quiet --max timeout=0 \
	    --max failed=0 --max refused=0
	stop_process "$killer"
	await status_is 8 apps web idle
	assert_lost_are_told
	assertEquals "$(flooded started)" "$(status apps web accepted)"
	assertEquals 0 "$(status apps web refused)"
	echo "# $(cat "$DIR/flood")"
	echo "# $(status apps web spawned) started," \
	    "$(status apps web retaken) retaken, $(status apps web lost) lost"
	assert_clean "$before"
}

testNoClientIsLostUnnoticedWhileProcessesAreKilled() {
	flood_under_fire '"unix:web.sock"' --unix "$DIR/web.sock" \
	    --count "$FLOOD"
}

testNoTcpClientIsLostUnnoticedWhileProcessesAreKilled() {
	port=$(free_port)
	flood_under_fire "\"127.0.0.1:$port\"" --tcp "127.0.0.1:$port" \
	    --count $((FLOOD / 10))
}

testExactlyTheSessionsThatBeganInACrashAreLost() {
	starts 'min_processes = 4 max_processes = 4 restart_delay = 1ms
	    restart_delay_max = 1ms min_server_life = 0' \
	    app web --crash-every 10
	await status_is 4 apps web idle
	before=$(fds "$POOL")
	floods --unix "$DIR/web.sock" --count 3000 --quiet \
	    --max timeout=0
	lost=$(($(flooded eof) + $(flooded reset)))
	assertTrue "only $lost lost" "[ $lost -gt 200 ]"
	await status_is $lost apps web lost
	await status_is "$(flooded answered)" apps web completed
	await status_is 4 apps web idle
	assert_clean "$before"
}

# web_of_version N: app web with a command and sizes that depend on N.
web_of_version() {
	app web --work 200us --text "version$1" <<-EOF | conf
	min_processes = $(($1 % 5 + 2))
	max_processes = 12
	max_idle_time = 1s
	stop_delay = 0
	start_delay = 1ms
	restart_delay = 1ms
	restart_delay_max = 1ms
	min_server_life = 0
	start_limit = 1000000
	max_queue = $(($1 % 3 * 100))
	target_wait = 0
	$(no_leaks)
	EOF
}

# web_says TEXT: whether that is the answer, which the newest generation gives.
web_says() {
	asked=$((asked + 1))
	web | grep -q "$1"
}

testNoClientIsLostUnnoticedWhileReloadsFollowEachOther() {
	web_of_version 0
	pool_start
	await status_is 2 apps web idle
	before=$(fds "$POOL")
	start_process "$PYTHON" tests/e2e/workers/kill.py "$POOL" tworker $KILLS
	killer=$STARTED
	flood_behind --unix "$DIR/web.sock" \
	    --count $((FLOOD / 4)) --rate $((4000 / SLOW)) --concurrency 500 --quiet \
	    --max timeout=0 --max failed=0 --max refused=0
	version=0
	while ! is_gone "$FLOOD"; do
		version=$((version + 1))
		web_of_version $version
		kill -HUP "$POOL"
		sleep $RELOADS
	done
	finish "$FLOOD"
	assertEquals "$(cat "$DIR/flood")" 0 "$RC"
	stop_process "$killer"
	web_of_version 0
	ctl reload >/dev/null
	asked=0
	await web_says version0
	await status_is 2 apps web processes
	assertEquals 0 "$(status apps web refused)"
	assert_lost_are_told
	assertEquals $(($(flooded started) + asked)) \
	    "$(status apps web accepted)"
	assertTrue 'too few reloads' "[ $version -ge 5 ]"
	echo "# $(cat "$DIR/flood")"
	echo "# $version reloads, $(status apps web spawned) started," \
	    "$(status apps web retaken) retaken, $(status apps web lost) lost"
	assert_clean "$before"
}

testAnAppThatCrashesLosesNoConnectionOfAnother() {
	{
		app web <<-EOF
		min_processes = 4
		max_processes = 4
		EOF
		app bad --crash-every 2 <<-EOF
		min_processes = 4
		max_processes = 4
		restart_delay = 1ms
		restart_delay_max = 1ms
		min_server_life = 0
		EOF
	} | conf
	pool_start
	start_process "$BUILD/tests/e2e/flood" --unix "$DIR/bad.sock" \
	    --count 1000000 --quiet >/dev/null 2>&1
	other=$STARTED
	await has_lost bad 10
	floods --unix "$DIR/web.sock" --count 5000 --echo --request '' \
	    --max lost=0
	stop_process "$other"
	assertEquals 0 "$(status apps web lost)"
}

testAProcessStartedUnderLoadHasNoDescriptorButItsOwn() {
	conf_of 'listen = "unix:web.sock" max_processes = 32 max_requests = 50
	    start_delay = 1ms max_queue = 500' app web --work 1ms
	sed -i '0,/listen = "unix:web.sock"/{//d}' "$DIR/pool.conf"
	pool_start
	start_process "$BUILD/tests/e2e/flood" --unix "$DIR/web.sock" \
	    --count 1000000 --concurrency 200 --quiet >/dev/null 2>&1
	flood=$STARTED
	"$PYTHON" tests/e2e/workers/descriptors.py "$POOL" tworker \
	    $((200 / SLOW)) $((3 * LIMIT)) >"$DIR/seen"
	assertEquals 'descriptors.py has ended well' 0 $?
	stop_process "$flood"
	assertEquals '' "$(cat "$DIR/seen")"
}

testTwoThousandConnectionsASecondAreAllServed() {
	starts 'min_processes = 8 max_processes = 8 max_queue = 700
	    backlog = 4000' app web --work 1ms
	floods --unix "$DIR/web.sock" --rate 2000 --count 4000 --max lost=0 \
	    --max failed=0 --max refused=0
	await status_is 4000 apps web completed
}

. tests/e2e/lib.sh
