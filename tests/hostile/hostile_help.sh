# shellcheck shell=sh
#
# Functions for tests in which a program of this folder attacks the daemon, and
# a healthy app beside it, app b, is to notice nothing; see tests/e2e/lib.sh.
#
#	{ app_b; hostile evil printer </dev/null; } | conf
#	pool_start
#	quiet_b
#	watch_b
#	...the attack, if it does not go on all the time...
#	assert_b_is_served

# app_b: for conf.
app_b() {
	app b <<-EOF
	min_processes = 2
	max_processes = 2
	EOF
}

# hostile NAME PROGRAM [ARGUMENT...]: an app at $DIR/NAME.sock that runs this
# program of tests/hostile, for conf; what else it has comes from stdin.
hostile() {
	hostile_name=$1 hostile_program=$2
	shift 2
	# Workers may run as nobody, who may not be able to enter this tree.
	[ -e "$DIR/$hostile_program" ] ||
	    cp "$BUILD/tests/hostile/$hostile_program" "$DIR"
	printf 'app "%s" {\nlisten = "unix:%s.sock"\n' \
	    "$hostile_name" "$hostile_name"
	printf 'command = %s\n' "$(quoted "$DIR/$hostile_program" "$@")"
	cat
	echo '}'
}

# watch_b [SECONDS]: asks app b 100 times a second in the background, whether or
# not it has answered yet. The figures will be in $DIR/watched.
watch_b() {
	WATCHED=${1:-2}
	start_process "$BUILD/tests/e2e/flood" --unix "$DIR/b.sock" --rate 100 \
	    --count $((WATCHED * 100)) --timeout "$LIMIT" --quiet \
	    >"$DIR/watched"
	WATCHER=$STARTED
}

# quiet_b: asks app b while nothing attacks, for $DIR/quiet.
quiet_b() {
	watch_b 1
	finish "$WATCHER" $((WATCHED + 2 * LIMIT))
	mv "$DIR/watched" "$DIR/quiet"
}

# judge_b: waits for the end of watch_b; prints what is not as it should be.
# Half of the answers come in twice the time of quiet_b, or what a machine that
# has more to do than processors may add; the last one in 250 ms.
judge_b() {
	finish "$WATCHER" $((WATCHED + 2 * LIMIT))
	cat "$DIR/quiet" "$DIR/watched" | tr ' ' '\n' |
	    awk -F = -v slow="$SLOW" '
		$1 == "started" { round++ }
		{ of[round, $1] = $2 }
		END {
			if (round != 2 || of[2, "started"] == 0)
				print "app b was not asked"
			if (of[2, "answered"] != of[2, "started"])
				print of[2, "answered"] " answers of " \
				    of[2, "started"]
			most = 2 * of[1, "p50"]
			if (most < 0.002 * slow)
				most = 0.002 * slow
			if (of[2, "p50"] > most)
				print "a median of " of[2, "p50"] \
				    " s, quiet " of[1, "p50"] " s"
			if (of[2, "max"] > 0.25 * slow)
				print "a longest wait of " of[2, "max"] " s"
		}'
}

# assert_b_is_served: waits for the end of watch_b.
assert_b_is_served() {
	assertEquals '' "$(judge_b)"
	echo "# quiet:  $(grep -o 'p50=.*' "$DIR/quiet")"
	echo "# attack: $(grep -o 'p50=.*' "$DIR/watched")"
}
