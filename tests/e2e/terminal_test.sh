#!/bin/sh
# A daemon on a terminal: its titles in ps, and what the end of the terminal is.

file_setup() {
	{
		app web </dev/null
		echo 'app "echo" {'
		echo 'listen = "unix:echo.sock"'
		echo 'handoff = stdio'
		echo 'command = { "/bin/cat" }'
		echo '}'
	} | conf
}

# title PID: the first word of its command line, in which a title stands.
title() {
	tr '\0' '\n' <"/proc/$1/cmdline" | head -n 1 | sed 's/ *$//'
}

# shown PID: its command line, as ps(1) shows it.
shown() {
	tr '\0' ' ' <"/proc/$1/cmdline" | sed 's/ *$//'
	echo
}

titles_of_children() {
	for child in $(children "$POOL"); do
		title "$child"
	done
}

testEachOfOurProcessesHasATitle() {
	pool_start
	assertEquals 'apppoold: supervisor, 2 apps' "$(title "$POOL")"
	titles_of_children >"$DIR/titles"
	for wanted in 'apppoold: watch' 'apppoold: keeper' \
	    'apppoold: stdio adapter of echo'; do
		assertTrue "$wanted: $(cat "$DIR/titles")" \
		    "grep -qxF '$wanted' '$DIR/titles'"
	done
	assertTrue 'a worker has its own' "grep -qxF '$TWORKER' '$DIR/titles'"
}

# libbsd leaves a dot where a name that is longer than the title ended.
testNothingStandsBehindATitle() {
	mkdir "$DIR/folder-of-a-long-name"
	ln -s "$(realpath "$APPPOOLD")" "$DIR/folder-of-a-long-name/apppoold"
	start_process "$DIR/folder-of-a-long-name/apppoold" \
	    -c "$DIR/pool.conf" 2>"$DIR/log"
	ctl wait >/dev/null
	assertEquals 'apppoold: supervisor, 2 apps' "$(shown "$STARTED")"
	for child in $(children "$STARTED"); do
		shown "$child"
	done >"$DIR/titles"
	assertTrue "$(cat "$DIR/titles")" \
	    "grep -qxF 'apppoold: watch' '$DIR/titles'"
	stop_process "$STARTED"
}

testTheTitleFollowsAReload() {
	pool_start
	cp "$DIR/pool.conf" "$DIR/before"
	sed -i '/^app "echo"/,$d' "$DIR/pool.conf"
	ctl reload >/dev/null
	await has_title 'apppoold: supervisor, 1 app'
	cp "$DIR/before" "$DIR/pool.conf"
}

has_title() {
	[ "$(title "$POOL")" = "$1" ]
}

# on_terminal HOW: a daemon on a terminal, until `hang_up`; see terminal.py.
on_terminal() {
	start_process "$PYTHON" tests/e2e/terminal.py "$1" "$DIR/log" \
	    "$APPPOOLD" -c "$DIR/pool.conf" >"$DIR/terminal"
	TERMINAL=$STARTED
	await grep -q . "$DIR/terminal"
	POOL=$(head -n 1 "$DIR/terminal")
	ctl wait >/dev/null
}

hang_up() {
	kill -USR1 "$TERMINAL"
}

testAHangUpEndsADaemonGracefully() {
	for how in leader job passed; do
		: >"$DIR/log"
		on_terminal "$how"
		hang_up
		await is_gone "$POOL"
		assertTrue "$how" "said 'the terminal has hung up'"
		assertTrue "$how" "said 'stopping, within'"
		assertTrue "$how" "said stopped"
		assertFalse "$how" "said reloaded"
		finish "$TERMINAL"
	done
}

testAHangUpLetsASessionEnd() {
	on_terminal passed
	hold_at busy
	hang_up
	await said 'stopping, within'
	open_gate busy
	behind
	assertContains "$ANSWER" hello
	await is_gone "$POOL"
}

testASighupFromElsewhereReloads() {
	on_terminal passed
	kill -HUP "$POOL"
	await said reloaded
	assertTrue 'it lives' pool_answers
	hang_up
	await is_gone "$POOL"
}

testADaemonThatWasLeftAloneByItsShellReloads() {
	on_terminal left
	hang_up
	await grep -q over "$DIR/terminal"
	assertTrue 'it lives on' pool_answers
	kill -HUP "$POOL"
	await said reloaded
	kill -TERM "$POOL"
	await is_gone "$POOL"
	assertFalse "said 'has hung up'"
}

. tests/e2e/lib.sh
