#!/bin/sh
# A file server dies under the program, the folder or the output of an app, the
# log or the configuration. Such an app waits for the server, and nothing else
# does.

# A search for leaks at the end would wait for threads that wait.
file_setup() {
	export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
}

# can_serve: or the test is skipped.
can_serve() {
	is_root && [ -c /dev/fuse ] && return
	skip 'a mount needs root and /dev/fuse'
	return 1
}

# serve FILE...: copies of the files, below $DIR/far.
serve() {
	mkdir -p "$DIR/far"
	start_process "$BUILD/tests/hostile/fileserver" "$DIR/far" "$@"
	SERVER=$STARTED
	await [ -e "$DIR/far/$(basename "$1")" ]
}

# the_server_dies: while app b is asked.
the_server_dies() {
	quiet_b
	kill -USR1 "$SERVER"
	watch_b
}

# App b is served, a process of it starts, and apppoolctl is answered.
assert_b_goes_on() {
	assert_b_is_served
	kill -KILL "$(status apps b workers 0 pid)"
	await status_is 3 apps b spawned
	await status_is 2 apps b idle
}

# A thread of the daemon that waits for the server stays until that is gone.
assert_the_daemon_stops() {
	kill -TERM "$POOL"
	wait_for $((5 * SLOW)) is_gone "$POOL"
	assertTrue 'the daemon has stopped' "is_gone $POOL"
	assertFalse 'app b is closed' "ask unix:$DIR/b.sock >/dev/null 2>&1"
	stop_process "$SERVER"
	ends_well
}

# far NAME LINE...: an app, for conf.
far() {
	printf 'app "%s" {\nlisten = "unix:%s.sock"\n' "$1" "$1"
	printf 'restart_delay = 10ms\nkill_timeout = 200ms\n'
	shift
	for line; do echo "$line"; done
	echo '}'
}

testADeadFileServerHoldsUpAppsWithFilesOnItAlone() {
	can_serve || return 0
	mkdir "$DIR/folder"
	: >"$DIR/output"
	serve "$TWORKER" "$DIR/folder" "$DIR/output"
	{
		echo 'stop_timeout = 1s'
		app_b
		far program "command = \"$DIR/far/tworker\""
		far folder "command = \"$TWORKER\"" \
		    "directory = \"$DIR/far/folder\""
		far output "command = \"$TWORKER\"" \
		    "output = \"$DIR/far/output\""
	} | conf
	pool_start
	the_server_dies
	for app in program folder output; do
		kill -KILL "$(status apps $app workers 0 pid)"
	done
	for app in program folder output; do
		await status_is 1 apps $app starting
	done
	assert_b_goes_on
	for app in program folder output; do
		assertEquals "$app" 1 "$(status apps $app starting)"
	done
	assert_the_daemon_stops
}

testADeadFileServerUnderLogAndConfigurationHoldsUpNoApp() {
	can_serve || return 0
	: >"$DIR/logged"
	echo 'max_processes = 50' >"$DIR/more.conf"
	serve "$DIR/logged" "$DIR/more.conf"
	{
		echo 'stop_timeout = 1s'
		echo "log = \"$DIR/far/logged\""
		echo "include(\"$DIR/far/more.conf\")"
		app_b
	} | conf
	pool_start
	the_server_dies
	kill -HUP "$POOL"
	assert_b_goes_on
	assert_the_daemon_stops
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
