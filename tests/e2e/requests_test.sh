#!/bin/sh
# The programs of the examples, under so many requests that their apps grow;
# when these are over they shrink. Each request is answered, and counted once.
#
#     REQUESTS=5000 sh tests/e2e/requests_test.sh
#
# asks each program for so many, or more until it has grown; a line says what
# became of them.

. tests/e2e/examples_help.sh

REQUESTS=${REQUESTS:-500}

# apart EXAMPLE [HANDOFF]: an app that grows at once and shrinks soon; further
# options come from stdin.
apart() {
	{
		printf 'start_delay = 1ms\nstop_delay = 10ms\n'
		cat
	} | example "$1"
	sed -i -e '/^	max_idle_time/d' \
	    -e '/^	min_processes/a max_idle_time = 500ms' \
	    -e "${2:+s/^	handoff = .*/handoff = $2/;/^	nonblocking/d}" \
	    "$DIR/pool.conf"
	pool_start
	APP=$(app_of "$1")
	MIN=$(status apps "$APP" min_processes)
	nginx "$1"
}

# ask_all: asks for REQUESTS pages; what became of them is in $DIR/asked.
ask_all() {
	ASKED=$((ASKED + REQUESTS))
	flood --tcp "${URL#http://}" --count "$REQUESTS" --concurrency 12 \
	    --timeout "$LIMIT" --limit $((6 * LIMIT)) --request "GET /page.php HTTP/1.0

" --max lost=0 --max refused=0 --min "answered=$REQUESTS" --quiet \
	    >"$DIR/asked" 2>&1 || fail "$(cat "$DIR/asked")"
}

# look_at_size: the greatest number of processes seen after requests is in
# $MOST.
look_at_size() {
	size=$(status apps "$APP" processes)
	[ "$size" -le "$MOST" ] || MOST=$size
	[ "$MOST" -gt "$MIN" ]
}

# Programs may take long to end.
await_min() {
	wait_for $((3 * LIMIT)) status_is "$MIN" apps "$APP" processes ||
	    fail "not back to $MIN processes"
}

# nginx writes the last line when the client has its answer already.
all_are_logged() {
	[ "$(wc -l <"$DIR/nginx.statuses")" -eq "$ASKED" ]
}

# assert_served EXAMPLE
assert_served() {
	ASKED=0 MOST=0
	# Pools may grow by the processor time that their start takes.
	await_min
	ask_all
	figures=$(sed 's/.* \(p50=.*\)/\1/' "$DIR/asked")
	grown_by=$(($(now_ms) + 3000 * LIMIT))
	until look_at_size || [ "$(now_ms)" -gt "$grown_by" ]; do
		ask_all
	done
	assertTrue "$1 grows beyond $MIN" "[ $MOST -gt $MIN ]"
	await all_are_logged
	assertEquals "$1: all are 200" 200 "$(sort -u "$DIR/nginx.statuses")"
	await_min
	completed=$(status apps "$APP" completed)
	if [ "$(status apps "$APP" handoff)" != listen ]; then
		await status_is "$ASKED" apps "$APP" completed
		assert_nothing_lost
		completed=$(status apps "$APP" completed)
	fi
	echo "$1: $ASKED asked, $completed completed, $MIN -> $MOST -> $MIN" \
	    "processes; $figures"
}

# assert_grows EXAMPLE: by the number of its sessions.
assert_grows() {
	has "$1" || return 0
	apart "$1" </dev/null
	assert_served "$1"
}

testProgramsOfOneSessionAtATimeGrowServeAllAndShrink() {
	each assert_grows <<-'END'
	php-cgi
	libfcgi
	perl-fcgi
	http-server
	gunicorn
	static
	END
}

# Four threads of each process serve four requests at a time.
testGunicornWithThreadsGrowsServesAllAndShrinks() {
	has gunicorn || return 0
	apart gunicorn <<-EOF
	environment = { "GUNICORN_CMD_ARGS=-k gthread --threads 4" }
	concurrency = 4
	EOF
	assert_served 'gunicorn with threads'
}

# The app grows by the processor time that it uses.
testNodeGrowsServesAllAndShrinks() {
	has node || return 0
	apart node <<-EOF
	update_interval = 200ms
	grow_threshold = 20
	EOF
	assert_served node
}

testNodeWithHandoffAcceptGrowsServesAllAndShrinks() {
	has node || return 0
	apart node accept <<-EOF
	concurrency = 4
	EOF
	assert_served 'node under accept'
}

. tests/e2e/lib.sh
