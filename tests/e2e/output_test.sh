#!/bin/sh
# Output of processes, and where it goes.

# script NAME: a shell script from stdin, which then becomes a worker.
script() {
	{
		echo '#!/bin/sh'
		cat
		echo "exec '$TWORKER'"
	} >"$DIR/$1"
	chmod 755 "$DIR/$1"
}

# app_script NAME [OPTION...]: an app that runs this script.
app_script() {
	printf 'app "%s" {\nlisten = "unix:%s.sock"\n' "$1" "$1"
	printf 'command = { "./%s" }\nrestart_delay = 1m\n' "$1"
	shift
	printf '%s\n' "$@" '}'
}

# web_script STARTER: the app web of such a script, from stdin, is started so.
web_script() {
	script web
	app_script web | conf
	"$1"
}

# logged TEXT: a whole line of web's, prefix taken off, is just that.
logged() {
	logged_at info "$1"
}

# logged_at LEVEL TEXT
logged_at() {
	sed -n "s,^[^ ]* $1 web/[a-z0-9]*: ,,p" "$DIR/log" |
	    grep -qxF -e "$2"
}

# times_logged TEXT: how often.
times_logged() {
	sed -n 's,^[^ ]* info web/[a-z0-9]*: ,,p' "$DIR/log" |
	    grep -cxF -e "$1"
}

testEachLineOfOutputIsLoggedWithAppAndId() {
	starts '' app web --print 'one\ntwo\n'
	await logged two
	assertTrue 'logged one'
	id=$(status apps web workers 0 id)
	assertTrue 'the prefix is another' "said ' info web/$id: one'"
}

testStandardErrorIsLoggedAtInfo() {
	starts '' app web --print-error 'to stderr\n'
	await logged_at info 'to stderr'
}

testAReloadChangesTheLevelOfStandardErrorInPlace() {
	script web <<-'EOF'
	trap 'echo stdout; echo stderr >&2' USR1
	while :; do sleep 60 & wait; done
	EOF
	for level in error warn; do
		conf_of "handoff = none stderr_level = $level" job web ./web
		if [ $level = error ]; then
			pool_start
			pid=$(status apps web workers 0 pid)
		else
			assertContains "$(ctl reload)" 'changed in place'
		fi
		kill -USR1 "$pid"
		await logged_at $level stderr
	done
	assertEquals 2 "$(times_logged stdout)"
	assertEquals "$pid" "$(status apps web workers 0 pid)"
}

testALongLineIsNotCut() {
	for size in 1023 1024 1025 5000 20000 65532; do
		web_script pool_start <<-EOF
		head -c $size /dev/zero | tr '\0' x
		echo ' end'
		EOF
		await said 'x end'
		assertEquals "$size" "$(sed -n \
		    's,.*info web/[a-z0-9]*: \(x*\) end$,\1,p' "$DIR/log" |
		    tr -d '\n' | wc -c)"
		pool_stop
		: >"$DIR/log"
	done
}

testALineOver64KibIsCutAndTheNextIsWhole() {
	web_script pool_start <<-EOF
	head -c 300000 /dev/zero | tr '\0' x
	echo ' end'
	echo next
	EOF
	await logged next
	assertFalse "said 'x end'"
	assertTrue 'less than 60000 are left' "[ $(sed -n \
	    's,.*info web/[a-z0-9]*: \(x*\)$,\1,p' "$DIR/log" |
	    wc -c) -gt 60000 ]"
}

testTheLastLineIsLoggedWithoutANewline() {
	web_script pool_run <<-EOF
	printf 'the reason is'
	exit 1
	EOF
	await logged 'the reason is'
}

testOutputJustBeforeTheDeathIsNotLost() {
	web_script pool_run <<-EOF
	for i in \$(seq 500); do echo line \$i; done
	kill -9 \$\$
	EOF
	await logged 'line 500'
	assertEquals 500 "$(grep -c ' info web/[a-z0-9]*: line [0-9]*$' \
	    "$DIR/log")"
}

testControlCharactersAreEscaped() {
	web_script pool_start <<-EOF
	printf 'red \033[31m bell \007 back \b return \r.\n'
	EOF
	await logged 'red \x1b[31m bell \x07 back \x08 return \x0d.'
	assertEquals 'control characters' 0 \
	    "$(tr -d '\n\t' <"$DIR/log" | tr -dc '\000-\037' | wc -c)"
}

testUtf8IsLoggedAsItIsAndOtherBytesEscaped() {
	web_script pool_start <<-EOF
	printf 'na\303\257ve \377\n'
	EOF
	await logged "$(printf 'na\303\257ve \\xff')"
}

testAProcessThatPrintsWithoutEndHoldsUpNoOther() {
	script loud <<-EOF
	yes 'y y y y y y y y y y y y y y y y y y y y y y y y y y y y' &
	EOF
	{
		echo 'log = "/dev/null"'
		app_script loud
		app web <<-EOF
		min_processes = 2
		EOF
	} | conf
	pool_start
	web hello --count 100 --times >"$DIR/times"
	assertEquals 100 "$(grep -c hello "$DIR/times")"
	# The median: anything may hold up a few.
	median=$(sort -n "$DIR/times" | sed -n '50s/ .*//p')
	assertTrue "$median ms" "[ $median -lt $((200 * SLOW)) ]"
	stops_well
	await no_leftovers
}

testLinesOfProcessesThatPrintAtOnceAreNotMixed() {
	script web <<-EOF
	i=0
	while [ \$i -lt 200 ]; do
		i=\$((i + 1))
		echo "\$APPPOOL_ID begin \$i end"
	done
	EOF
	app_script web 'min_processes = 8' | conf
	pool_start
	await all_printed 1600
	# Each line has the prefix of the process that printed it.
	assertEquals 1600 "$(grep -cE \
	    ' info web/([a-z0-9]+): \1 begin [0-9]+ end$' "$DIR/log")"
}

all_printed() {
	[ "$(grep -c ' begin [0-9]* end' "$DIR/log")" -ge "$1" ]
}

testOutputNullIsDiscarded() {
	starts 'output = null' app web --print 'hello there\n'
	pid=$(status apps web workers 0 pid)
	assertContains "$(web)" hello
	assertFalse "said 'hello there'"
	for fd in 1 2; do
		assert_link /dev/null "/proc/$pid/fd/$fd"
	done
}

testOutputInheritGoesToTheDaemonsStandardError() {
	starts 'output = inherit' app web --print 'as it is\n'
	await grep -qx 'as it is' "$DIR/log"
}

testOutputFileIsAppendedTo() {
	mkdir -m 1777 "$DIR/out"
	echo before >"$DIR/out/file"
	chmod 666 "$DIR/out/file"
	starts 'output = "out/file" min_processes = 2' \
	    app web --print 'into the file\n'
	await has_lines 3
	assertEquals "$(printf 'before\ninto the file\ninto the file')" \
	    "$(cat "$DIR/out/file")"
	assertFalse "said 'into the file'"
}

has_lines() {
	[ "$(wc -l <"$DIR/out/file")" -eq "$1" ]
}

testAnOutputFileThatCannotBeOpenedIsTheReasonOfTheFailure() {
	begins "output = \"$DIR/nowhere/file\"" app web
	await said "$DIR/nowhere/file"
	assertContains "$(status apps web last_failure)" 'No such file'
}

# A blocking open would last until there is a reader, and keep a thread busy.
testAnOutputFifoWithoutAReaderHoldsUpNoOther() {
	mkfifo "$DIR/one" "$DIR/two"
	{
		for fifo in one two; do
			app "$fifo" <<-EOF
			output = "$DIR/$fifo"
			min_processes = 4
			EOF
		done
		app web --text served <<-EOF
		min_processes = 0
		EOF
	} | conf
	pool_run
	assertContains "$(web)" served
	await said "one: cannot open $DIR/one: No such device or address"
}

testAnOutputFifoWithAReaderIsWrittenTo() {
	mkfifo "$DIR/fifo"
	start_process cat "$DIR/fifo" >"$DIR/read"
	starts "output = \"$DIR/fifo\"" app web --print 'a line\n'
	await grep -q '^a line$' "$DIR/read"
}

# In containers many programs are told to log to these.
testProgramsCanOpenDevStderrAndDevStdout() {
	web_script pool_start <<-EOF
	echo 'by the name of stderr' >/dev/stderr
	echo 'by the name of stdout' >/dev/stdout
	EOF
	await logged 'by the name of stdout'
	await logged 'by the name of stderr'
	if is_root; then
		pid=$(status apps web workers 0 pid)
		assertNotEquals 'it runs as root' 0 "$(stat -c %u "/proc/$pid")"
	fi
}

testEventMessagesAreLoggedLikeOutput() {
	starts '' app web --events 3
	await logged 'event 2'
	assertEquals 1 "$(times_logged 'event 0')"
}

testTheStandardInputOfProcessesIsEmpty() {
	web_script pool_start <<-EOF
	read -r line || echo 'nothing to read'
	EOF
	await logged 'nothing to read'
}

testOutputChangesByReload() {
	starts '' app web --print 'to the log\n'
	await logged 'to the log'
	reloads 'output = inherit' app web --print 'to the log\n'
	await grep -qx 'to the log' "$DIR/log"
}

has_ticked() {
	[ "$(times_logged tick)" -gt "$((ticks + 5))" ]
}

# The configuration with which the process was started is gone by then.
testAReloadDoesNotChangeThePrefixOfALine() {
	starts 'handoff = none' \
	    job web sh -c 'while sleep 0.05; do echo tick; done'
	ctl reload >/dev/null
	ctl reload >/dev/null
	await logged tick
	ticks=$(times_logged tick)
	await has_ticked
	assertEquals 1 "$(status apps web spawned)"
	# No line comes any more between two looks.
	pool_stop
	assertEquals "$(grep -c tick "$DIR/log")" "$(times_logged tick)"
}

. tests/e2e/lib.sh
