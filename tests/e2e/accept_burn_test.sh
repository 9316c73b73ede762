#!/bin/sh
# handoff = accept: eight programs that use all of one processor, half of them
# suspended, and a native app that has to live on the same processor.

. tests/e2e/accept_help.sh

PROGRAMS=8

# The daemon and all it starts have one processor.
more_setup() {
	printf '#!/bin/sh\nexec taskset -c %s "%s" "$@"\n' \
	    "$PROCESSOR" "$APPPOOLD" \
	    >"$DIR/apppoold"
	chmod 755 "$DIR/apppoold"
	APPPOOLD=$DIR/apppoold
}

# start_both: both apps; no suspended program is replaced.
start_both() {
	rm -f "$DIR/enough"
	{
		accept web <<-EOF
		min_processes = $PROGRAMS
		max_processes = $PROGRAMS
		pickup_timeout = 5m
		EOF
		app native <<-EOF
		min_processes = 4
		max_processes = 4
		EOF
	} | conf
	pool_start
}

# burn [COUNT]: so many requests at once that burn until `enough`, in the
# background; the answers are in $DIR/burned.
burn() {
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --text "burn $DIR/enough" --count "${1:-$PROGRAMS}" --together \
	    --timeout $((3 * LIMIT)) >"$DIR/burned" 2>&1
	BURNING=$STARTED
}

enough() {
	: >"$DIR/enough"
}

# suspend_half: the programs of half of the workers, which are in $HALF.
suspend_half() {
	HALF=
	for worker in $(status apps web workers '*' pid |
	    sed -n "1,$((PROGRAMS / 2))p"); do
		HALF="$HALF $(children "$worker")"
	done
	# shellcheck disable=SC2086 # numbers
	pause_process $HALF
}

# shellcheck disable=SC2086 # numbers
continue_half() {
	kill -CONT $HALF
}

# assert_all_burned [COUNT]: each was answered, and no process was replaced.
assert_all_burned() {
	finish "$BURNING" $((3 * LIMIT))
	assertEquals "$(cat "$DIR/burned")" 0 "$RC"
	assertEquals "${1:-$PROGRAMS}" \
	    "$(grep -cE '^[0-9]+ [0-9]+ .* burned$' "$DIR/burned")"
	await has_sessions 0
	for key in lost refused timed_out abandoned; do
		assertEquals "$key" 0 "$(status apps web "$key")"
	done
	assertEquals "$PROGRAMS" "$(status apps web spawned)"
	assert_accounts web
}

# native_p50 NAME: microseconds in which half of 100 clients of the native app
# are answered, in $P50; all of them are.
native_p50() {
	flood --unix "$DIR/native.sock" --rate 100 --count 100 \
	    --timeout "$LIMIT" --max lost=0 --min answered=100 \
	    >"$DIR/flood.$1" 2>&1 || fail "$1: $(cat "$DIR/flood.$1")"
	P50=$(sed -n 's/.* p50=\([0-9.]*\).*/\1/p' "$DIR/flood.$1" |
	    awk '{ printf "%d", $1 * 1000000 }')
}

# ---------------------------------------------------------------- facts

# Four programs want the same processor, and the daemon has eight sessions at
# which nothing moves. A second is what a machine that does much else may add;
# the median is compared, because a machine may also stand still for a second.
testANativeAppBesideBurningProgramsKeepsItsHandoverTimes() {
	start_both
	native_p50 without
	without=$P50
	burn
	await has_sessions "$PROGRAMS"
	suspend_half
	native_p50 beside
	assertTrue "$without us without, $P50 beside" \
	    "[ $P50 -lt $((without + 1000000 * SLOW)) ]"
	assertEquals 'sessions go on' "$PROGRAMS" "$(status apps web sessions)"
	assertEquals 0 "$(status apps native lost)"
	continue_half
	enough
	assert_all_burned
}

testSessionsOfSuspendedProgramsAreFinishedWhenTheyContinue() {
	start_both
	burn $((2 * PROGRAMS))
	await has_sessions "$PROGRAMS"
	await status_is "$PROGRAMS" apps web waiting
	suspend_half
	enough
	# The other half does what waits.
	await status_is $((PROGRAMS * 3 / 2)) apps web completed
	assertEquals $((PROGRAMS / 2)) "$(status apps web sessions)"
	continue_half
	assert_all_burned $((2 * PROGRAMS))
}

testConnectionsThatCameWhileProgramsWereSuspendedAreAllServed() {
	start_both
	suspend_half
	burn $((2 * PROGRAMS))
	await status_is $((2 * PROGRAMS)) apps web accepted
	native_p50 beside
	enough
	continue_half
	assert_all_burned $((2 * PROGRAMS))
}

. tests/e2e/lib.sh
