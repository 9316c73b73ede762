#!/bin/sh
# What a bad app does to one beside it, with and without cgroups. Both apps and
# the daemon are in a box of 300 MiB and 800 tasks, as in a container. Needs the
# controllers: tests/kernel has them.

. tests/e2e/cgroup_help.sh

# Clients of the good app, and how many of them come in a second.
CLIENTS=300
RATE=20

# bad KIND LIMIT...: two apps; the bad one has these limits. A process of the good
# one takes 1 MiB more with each request, up to 60, and is replaced then.
bad() {
	printf '%s\n' 'min_processes = 2' 'max_processes = 2' \
	    'max_requests = 60' | app web
	printf '%s\n' 'handoff = none' 'user = root' 'output = null' \
	    'min_processes = 8' 'restart_delay = 5s' "$2" "$3" |
	    job bad "$DIR/$1"
}

# waits KIND BY-WHOM LIMIT...: $P99 is the 99th percentile, in ms, of the times that
# the good app takes for its clients beside that bad one; $FAILED is how many of
# them it lost, or has not answered within 30 s. If the daemon is not alone in
# the box, there are no cgroups.
waits() {
	can_group memory cpu pids || return
	echo 300M >"$GROUP/memory.max"
	echo 0 2>/dev/null >"$GROUP/memory.swap.max"
	echo 800 >"$GROUP/pids.max"
	[ "$2" = alone ] || start_process "$DIR/within" "$GROUP" sleep 6000
	rm -f "$DIR/go"
	bad "$1" "$3" "$4" | conf
	run_by "$DIR/within" "$GROUP"
	ctl wait >/dev/null || fail "not ready: $(cat "$DIR/log")"
	: >"$DIR/go"
	flood --unix "$DIR/web.sock" --count "$CLIENTS" --rate "$RATE" \
	    --request 'grow 1' --limit 120 --timeout 30 --quiet \
	    >"$DIR/flood" 2>&1
	P99=$(sed -n 's/.* p99=\([^ ]*\).*/\1/p' "$DIR/flood" |
	    awk '{ printf "%.0f", $1 * 1000 }')
	FAILED=$(sed -n 's/.* answered=\([0-9]*\).*/\1/p' "$DIR/flood")
	FAILED=$((CLIENTS - ${FAILED:-0}))
	# What is in the box ends with it: a fork bomb by nothing else.
	end_group
}

# assert_kept KIND LIMIT...: with them the good app's clients wait less than half.
assert_kept() {
	kind=$1
	shift
	waits "$kind" beside "$@" || return 0
	without=$P99 lost=$FAILED
	waits "$kind" alone "$@"
	echo "figures: $kind: p99 of the app beside it $without ms, $lost of\
 $CLIENTS failed; with a cgroup each and $* $P99 ms, $FAILED failed"
	assertEquals 'failed' 0 "$FAILED"
	assertTrue "$P99 ms, $without ms" \
	    "[ $((2 * P99)) -lt $without ] || [ $lost -gt 0 ]"
}

# program KIND: what each of 8 bad processes does when its time has come.
program() {
	{
		echo '#!/bin/sh'
		echo "until [ -e '$DIR/go' ]; do sleep 0.1; done"
		cat
	} >"$DIR/$1"
	chmod +x "$DIR/$1"
}

testABurnerOfProcessorsLeavesItsNeighboursAlone() {
	program burner <<-'EOF'
	while :; do :; done
	EOF
	assert_kept burner 'cpu_weight = 10'
}

testAForkBombLeavesItsNeighboursAlone() {
	program bomb <<-'EOF'
	bomb() {
		while :; do bomb & done
	}
	bomb
	EOF
	assert_kept bomb 'tasks_max = 20' 'cpu_max = 50'
}

testAMemoryHogLeavesItsNeighboursAlone() {
	program hog <<-'EOF'
	exec python3 -c '
import time
kept = b"x" * 30000000
time.sleep(600)
'
	EOF
	assert_kept hog 'memory_max = 150M'
}

. tests/e2e/lib.sh
