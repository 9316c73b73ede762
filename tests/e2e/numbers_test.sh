#!/bin/sh
# Figures of `status -j` are those that clients, workers and the kernel count.

file_setup() {
	conf_of 'min_processes = 2 max_processes = 2 max_queue = 3
	    on_full = close restart_delay = 10ms min_server_life = 0' \
	    app web --cpu 1ms
}

# observed SCENARIO: nothing, if the daemon and observer.py agree.
observed() {
	[ -d "$DIR/gates" ] || mkdir -m 1777 "$DIR/gates"
	pool_start
	POOL=$POOL "$PYTHON" tests/e2e/observer.py "$DIR" "$LIMIT" "$1" 2>&1
	pool_stop INT
}

testServedWaitingAndRefusedConnectionsAreThoseOfTheClients() {
	assertEquals '' "$(observed served_and_waiting)"
}

testLostAndRetakenConnectionsAreThoseOfTheClients() {
	assertEquals '' "$(observed lost_and_retaken)"
}

testSizesAndProcessorTimesAreThoseOfTheKernel() {
	assertEquals '' "$(observed sizes_and_times)"
}

testTheAccountsHoldInAThousandSnapshotsUnderLoadAndCrashes() {
	assertEquals '' "$(observed accounts)"
}

. tests/e2e/lib.sh
