# shellcheck shell=sh
#
# Functions for tests in which a program of this folder attacks the daemon, and
# a healthy app beside it, app b, is to notice nothing; see tests/e2e/lib.sh.
# Another daemon, which nobody attacks, tells how slow the machine itself is: its
# app b is asked at the same time.
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
# program of tests/hostile, for conf; what else it has comes from stdin. Such
# programs do not stop when they are asked to.
hostile() {
	hostile_name=$1 hostile_program=$2
	shift 2
	# Workers may run as nobody, who may not be able to enter this tree.
	[ -e "$DIR/$hostile_program" ] ||
	    cp "$BUILD/tests/hostile/$hostile_program" "$DIR"
	{ echo 'stop_timeout = 100ms'; cat; } |
	    server "$hostile_name" "$DIR/$hostile_program" "$@"
}

# asker FOLDER SECONDS: asks the app b there 100 times a second in the
# background, whether or not it has answered yet.
asker() {
	start_process "$BUILD/tests/e2e/flood" --unix "$1/b.sock" --rate 100 \
	    --count $(($2 * 100)) --timeout "$LIMIT" \
	    --limit $(($2 + LIMIT)) --quiet
}

# run_calm: the other daemon, in a folder of its own.
run_calm() {
	mkdir -p "$DIR/calm"
	{
		echo "control = \"$DIR/calm/control.sock\""
		app_b
	} >"$DIR/calm/pool.conf"
	start_process "$APPPOOLD" -c "$DIR/calm/pool.conf" 2>"$DIR/calm/log"
	await [ -S "$DIR/calm/b.sock" ]
}

# quiet_b: asks app b while nothing attacks, for $DIR/quiet.
quiet_b() {
	run_calm
	asker "$DIR" 1 >"$DIR/quiet"
	finish "$STARTED" $((2 * LIMIT))
}

# watch_b [SECONDS]: asks app b from now on, for $DIR/watched, and the one of
# the other daemon, for $DIR/calm/watched.
watch_b() {
	WATCHED=${1:-2}
	asker "$DIR/calm" "$WATCHED" >"$DIR/calm/watched"
	CALM_WATCHER=$STARTED
	asker "$DIR" "$WATCHED" >"$DIR/watched"
	WATCHER=$STARTED
}

# judge_b: waits for the end of watch_b; prints what is not as it should be. An
# attack that holds the loop up does so for seconds. Half of the answers come
# in 100 ms (twice $NOISE, in seconds), in twice the time of quiet_b or of the
# other daemon, or in what 99 of 100 answers took there; the last one in 1 s
# ($WORST, in seconds), and twice what it took there.
judge_b() {
	finish "$WATCHER" $((WATCHED + 2 * LIMIT))
	finish "$CALM_WATCHER" $((WATCHED + 2 * LIMIT))
	cat "$DIR/quiet" "$DIR/calm/watched" "$DIR/watched" | tr ' ' '\n' |
	    awk -F = -v slow="$SLOW" -v worst="${WORST:-1}" \
		-v noise="${NOISE:-0.05}" '
		function atleast(least) {
			return most > least ? most : least
		}
		$1 == "started" { round++ }
		{ of[round, $1] = $2 }
		END {
			if (round != 3 || of[3, "started"] == 0)
				print "app b was not asked"
			if (of[3, "answered"] != of[3, "started"])
				print of[3, "answered"] " answers of " \
				    of[3, "started"]
			most = 2 * noise * slow
			for (i = 1; i <= 2; i++) {
				most = atleast(2 * of[i, "p50"])
				most = atleast(of[i, "p99"])
			}
			if (of[3, "p50"] > most)
				print "a median of " of[3, "p50"] " s"
			most = of[1, "max"]
			most = worst * slow + 2 * atleast(of[2, "max"])
			if (of[3, "max"] > most)
				print "a longest wait of " of[3, "max"] " s"
		}'
}

# assert_b_is_served: waits for the end of watch_b.
assert_b_is_served() {
	assertEquals '' "$(judge_b)"
	for figures in quiet calm/watched watched; do
		echo "# $figures: $(grep -o 'p50=.*' "$DIR/$figures")"
	done
}

# keepers_answer PATTERN: whether each keeper of app evil answers, true or false.
keepers_answer() {
	status apps evil keepers '*' answers | xargs | grep -qxE "$1"
}

# are_gone PIDS: whether none of them runs.
are_gone() {
	for gone in $1; do
		is_gone "$gone" || return 1
	done
}

# at ADDRESS: the app of stdin, at that address.
at() {
	sed "s,^listen = .*,listen = \"$1\","
}

# quiet_once: quiet_b, where a test asks for it again.
quiet_once() {
	[ -S "$DIR/calm/b.sock" ] || quiet_b
}

# stops_within MILLISECONDS: the daemon does.
stops_within() {
	stop_begun=$(now_ms)
	stops_well
	stop_took=$(($(now_ms) - stop_begun))
	assertTrue "the stop took $stop_took ms" "[ $stop_took -lt $(($1 * SLOW)) ]"
}

# end_holders: programs that hold a lock in a page, and say so in the log; no
# process in state D ends otherwise.
end_holders() {
	sed -n 's/.*holding: \([0-9]*\)$/\1/p' "$DIR/log" | xargs kill -KILL
}

# end_pages: the same, of those that have written their numbers to $DIR/frozen.
end_pages() {
	for file in "$DIR"/frozen/[0-9]*; do
		[ ! -s "$file" ] || kill -KILL "$(cat "$file")"
	done
}
