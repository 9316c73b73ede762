#!/bin/sh
# The log, and a daemon that serves on whatever becomes of its log.

# serve_on: the app still answers.
serve_on() {
	assertContains "$(web)" hello
	assertContains "$(web)" hello
}

# log_conf LINE...: an app, and these options of the daemon.
log_conf() {
	{
		for line; do echo "$line"; done
		app web </dev/null
	} | conf
}

testLinesOfAJsonLogAreObjects() {
	starts '' with 'log_format = json' app web --print 'a \\x1b[1mline\\n'
	await said '"app":"web"'
	# No line is being written any more when they are read.
	pool_stop
	assertTrue "'$PYTHON' -c '
import json, sys
for line in open(sys.argv[1]):
    entry = json.loads(line)
    assert entry.keys() >= {\"time\", \"level\", \"text\"}, entry' '$DIR/log'"
}

testTheLogFileIsOpenedAnewOnHup() {
	log_conf "log = \"$DIR/file\""
	pool_start
	await grep -q 'web: ready' "$DIR/file"
	mv "$DIR/file" "$DIR/file.1"
	kill -HUP "$POOL"
	await test -s "$DIR/file"
	serve_on
}

testTheDaemonServesWithItsLogOnAFullDisk() {
	log_conf 'log = "/dev/full"' 'log_level = debug'
	pool_start
	serve_on
	stops_well
}

testLostLinesAreCountedWhenTheLogHasRoomAgain() {
	log_conf 'log = "/dev/full"'
	pool_start
	log_conf "log = \"$DIR/file\""
	ctl reload >/dev/null
	await grep -q 'lines of log lost: No space left on device' "$DIR/file"
	serve_on
}

testTheDaemonServesWithAClosedStandardError() {
	log_conf
	start_process "$APPPOOLD" -c "$DIR/pool.conf" <&- >&- 2>&-
	POOL=$STARTED
	await pool_answers
	serve_on
	stops_well
}

# The reader reads nothing: after a few lines the pipe is full.
testTheDaemonServesWhileTheReaderOfItsLogDoesNotRead() {
	{
		app web </dev/null
		cat <<-'EOF'
		app "noise" {
			handoff = none
			command = { "/bin/sh", "-c",
			    "yes 'a line of noise' | head -n 50000; exec sleep 60" }
		}
		EOF
	} | conf
	mkfifo "$DIR/pipe"
	exec 9<>"$DIR/pipe"
	start_process "$APPPOOLD" -c "$DIR/pool.conf" 2>"$DIR/pipe" \
	    >/dev/null </dev/null 9<&-
	POOL=$STARTED
	await pool_answers
	serve_on
	pool_stop
	exec 9<&-
	assertEquals 0 "$RC"
}

testTheDaemonServesAfterTheReaderOfItsLogIsGone() {
	log_conf
	mkfifo "$DIR/gone"
	start_process head -n 1 "$DIR/gone" >"$DIR/first"
	start_process "$APPPOOLD" -c "$DIR/pool.conf" 2>"$DIR/gone" \
	    >/dev/null </dev/null
	POOL=$STARTED
	await test -s "$DIR/first"
	await pool_answers
	serve_on
	kill -HUP "$POOL"
	serve_on
	stops_well
}

testALogThatCannotBeOpenedExitsWith73() {
	log_conf 'log = "/nonexistent/log"'
	"$APPPOOLD" -c "$DIR/pool.conf" >>"$DIR/log" 2>&1
	assertEquals 73 $?
	assertTrue 'said /nonexistent/log'
}

testReopenOpensTheFileAnewWithoutAReload() {
	starts '' with "log = \"$DIR/pool.log\"" app web
	mv "$DIR/pool.log" "$DIR/pool.log.1"
	assertEquals "$DIR/pool.log: opened anew" "$(ctl reopen)"
	assertEquals 0 "$(status generation)"
	ctl restart web >/dev/null
	await grep -q 'control: restart web' "$DIR/pool.log"
	assertContains "$(cat "$DIR/pool.log.1" "$DIR/pool.log")" \
	    'control: reopen'

	mv "$DIR/pool.log" "$DIR/pool.log.2"
	mkdir "$DIR/pool.log"
	ctl reopen >"$DIR/out" 2>&1
	assertEquals 1 $?
	assertContains "$(cat "$DIR/out")" 'lines go on to the former file'
	ctl restart web >/dev/null
	await grep -q 'control: restart web' "$DIR/pool.log.2"
	rmdir "$DIR/pool.log"
	pool_stop
}

. tests/e2e/lib.sh
