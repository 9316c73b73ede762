#!/bin/sh
# The simulation and the daemon: the same trace, the same pool, the same figures
# within three times the tolerances of replay.py, which are for a quiet machine.

START_TIME=100

testTheSimulationForetellsTheFiguresOfTheDaemon() {
	app web --start-delay "$START_TIME"ms <<-'END' | conf
		max_processes = 12
		max_idle_time = 1s
		stop_delay = 200ms
		start_timeout = 60s
	END
	"$PYTHON" tests/e2e/replay.py trace >"$DIR/trace.csv"
	"$APPPOOLCTL" simulate -j -c "$DIR/pool.conf" \
	    --trace "$DIR/trace.csv" --start-time "$START_TIME"ms \
	    >"$DIR/simulated.json"
	assertEquals 0 $?
	pool_start
	"$PYTHON" tests/e2e/replay.py play "$DIR/trace.csv" "$DIR/web.sock" \
	    "$APPPOOLCTL" "$DIR/control.sock" >"$DIR/found.json"
	assertEquals 0 $?
	pool_stop
	assertEquals '' "$("$PYTHON" tests/e2e/replay.py compare \
	    "$DIR/found.json" "$DIR/simulated.json" $((3 * SLOW)) \
	    2>"$DIR/figures")"
}

. tests/e2e/lib.sh
