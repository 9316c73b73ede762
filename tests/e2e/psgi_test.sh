#!/bin/sh
# apppool-psgi serves an application as Dancer2 makes it, unmodified.

# pages: the app, of which each process takes SERIES for its environment; more
# options come from stdin.
pages() {
	{
		printf 'app "web" {\nlisten = "unix:%s/web.sock"\n' "$DIR"
		echo 'command = { "apppool-psgi", "bin/app.psgi" }'
		echo "directory = \"$DIR/Pages\""
		echo 'min_processes = 2 max_processes = 4'
		cat
		echo '}'
	} | conf
}

# ask_often: in the background; the status of each answer is a line of
# $DIR/answers.
ask_often() {
	start_process curl -s --no-buffer -Z --parallel-max 6 \
	    --max-time $((10 * LIMIT)) --unix-socket "$DIR/web.sock" \
	    -o /dev/null -w '%{http_code}\n' "http://x/?[1-$REQUESTS]" \
	    >"$DIR/answers" 2>"$DIR/errors"
	ASKING=$STARTED
}

has_completed() {
	[ "$(status apps web completed)" -ge "$1" ]
}

assert_all_answered() {
	finish "$ASKING" $((10 * LIMIT))
	assertEquals "$(cat "$DIR/errors")" 0 "$RC"
	assertEquals "$REQUESTS" "$(grep -cx 200 "$DIR/answers")"
	assert_none_lost
	assertEquals null "$(status apps web last_failure)"
}

file_setup() {
	(cd "$DIR" && dancer2 gen -a Pages) >"$DIR/made" 2>&1
	chmod -R a+rX "$DIR/Pages" 2>/dev/null
	perl -MSocket::MsgHdr -e 1 2>/dev/null || rm -rf "$DIR/Pages"
}

has_pages() {
	[ -d "$DIR/Pages" ] || { skip 'no Dancer2 or Socket::MsgHdr'; return 1; }
	# Processes of root's are nobody's, who may not be able to enter this
	# tree.
	! is_root || setpriv --reuid=65534 --clear-groups \
	    test -x "$BUILD/libexec/apppool-psgi" ||
	    { skip 'nobody can run apppool-psgi'; return 1; }
}

testADancer2ApplicationAnswersEveryRequestThroughAReload() {
	has_pages || return 0
	REQUESTS=$((600 / SLOW))
	pages </dev/null
	pool_start
	ask_often
	await has_completed $((REQUESTS / 4))
	pages <<-EOF
	environment = { "DANCER_ENVIRONMENT=production" }
	EOF
	reload
	assert_all_answered
	assertEquals 1 "$(status generation)"
	assert_accounts web
	stops_well
}

# come_from_the_template: whether all processes so far were forked.
come_from_the_template() {
	[ "$(status apps web template forked)" = "$(status apps web spawned)" ]
}

testADancer2ApplicationIsLoadedOnceAndForked() {
	has_pages || return 0
	REQUESTS=$((400 / SLOW))
	pages <<-EOF
	template = true
	EOF
	pool_start
	assertTrue come_from_the_template
	ask_often
	await has_completed $((REQUESTS / 4))
	before=$(status apps web template pid)
	ctl restart web >"$DIR/out" 2>&1 || fail "$(cat "$DIR/out")"
	assertNotEquals "$before" "$(status apps web template pid)"
	assert_all_answered
	await come_from_the_template
	stops_well
}

# keep_asking NAME: one client that keeps its connection; of each answer the
# status, and how many connections were made, is a line of $DIR/kept.NAME.
keep_asking() {
	start_process curl -s --no-buffer --max-time $((10 * LIMIT)) \
	    --unix-socket "$DIR/web.sock" -o /dev/null \
	    -w '%{http_code} %{num_connects}\n' "http://x/?[1-$REQUESTS]" \
	    >"$DIR/kept.$1"
}

# have_answered COUNT: to all these clients.
have_answered() {
	[ "$(cat "$DIR"/kept.* | wc -l)" -ge "$1" ]
}

testKeptConnectionsGoOnThroughARestartOfADancer2Application() {
	has_pages || return 0
	REQUESTS=$((120 / SLOW))
	pages <<-EOF
	keep_alive = true
	EOF
	pool_start
	asking=
	for client in 1 2 3 4 5 6; do
		keep_asking "$client"
		asking="$asking $STARTED"
	done
	wait_for $((6 * LIMIT)) have_answered $((2 * REQUESTS)) ||
	    fail "requests without an answer"
	ctl restart web >"$DIR/out" 2>&1 || fail "$(cat "$DIR/out")"
	for pid in $asking; do
		finish "$pid" $((10 * LIMIT))
		assertEquals 0 "$RC"
	done
	for client in 1 2 3 4 5 6; do
		assertEquals "$((REQUESTS - 1)) 200 0;1 200 1;" \
		    "$(sort "$DIR/kept.$client" | uniq -c |
		    awk '{ printf "%s %s %s;", $1, $2, $3 }')"
	done
	assert_none_lost
}

testADancer2ApplicationThatDoesNotLoadSaysWhy() {
	has_pages || return 0
	sed 's/lib"/absent"/' "$DIR/Pages/bin/app.psgi" >"$DIR/Pages/bin/bad.psgi"
	pages </dev/null
	sed -i 's/app.psgi/bad.psgi/' "$DIR/pool.conf"
	pool_run
	await status_is failed apps web state
	assertContains "$(status apps web last_failure)" \
	    "Can't locate Pages.pm in @INC"
}

. tests/e2e/lib.sh
