#!/bin/sh
# The process that watches over the turns of the loop.

# The numbers of the daemon's children of that kind.
watches() {
	for pid in $(children "$POOL"); do
		read -r name 2>/dev/null <"/proc/$pid/comm"
		[ "$name" != apppool-watch ] || echo "$pid"
	done
}

has_another_watch() {
	another=$(watches) && [ -n "$another" ] && [ "$another" != "$1" ]
}

testThereIsOneWatchAndItIsNoProcessOfAnApp() {
	starts '' app web
	assertEquals 1 "$(watches | wc -l)"
	assertEquals 1 "$(status processes)"
}

testAWatchThatWasKilledIsReplaced() {
	starts '' app web
	first=$(watches)
	kill -KILL "$first"
	await has_another_watch "$first"
	assertTrue 'said "the watch over the loop has ended"'
	assertContains "$(web hello)" hello
	assertEquals 1 "$(status apps web spawned)"
}

testTheWatchEndsWithADaemonThatWasKilled() {
	starts '' app web
	watch=$(watches)
	kill -KILL "$POOL"
	await is_gone "$watch"
}

# A daemon that was killed leaves nothing, whether its processes look at their
# channel or not; what has a session finishes that.
testProcessesOfADaemonThatWasKilledEnd() {
	{
		app web --work 300ms
		job cron sleep 600
		server served "$PYTHON" "$PWD/tests/e2e/workers/listening.py" \
		    </dev/null | sed 's/^command/handoff = listen\n&/'
		echo 'stop_timeout = 500ms kill_timeout = 200ms' |
		    app hung --work 600s --ignore-term
	} </dev/null | sed '/^command.*"sleep"/i handoff = none' | conf
	sed -n 1,30p "$DIR/pool.conf" >>"$DIR/log"
	pool_start
	pids=$(status apps '*' workers '*' pid)
	ask_behind one hung
	ask_behind two
	kill -KILL "$POOL"
	behind
	assertContains "$ANSWER" hello
	for pid in $pids; do
		await is_gone "$pid"
	done
	pool_start
	assertContains "$(web)" hello
}

testADaemonInTheBackgroundHasAWatch() {
	app web </dev/null | conf
	"$APPPOOLD" -D -c "$DIR/pool.conf" >>"$DIR/log" 2>&1 </dev/null
	POOL=$(status pid)
	PIDS="$PIDS $POOL"
	watch=$(watches)
	assertNotNull "$watch"
	kill -TERM "$POOL"
	await is_gone "$POOL"
	await is_gone "$watch"
}

testALoopThatHasNothingToDoIsNotInterrupted() {
	starts '' app web
	sleep 1
	assertContains "$(web hello)" hello
	assertFalse 'said interrupted'
}

. tests/e2e/lib.sh
