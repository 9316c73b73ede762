#!/bin/sh
# Files that the daemon writes by a name, in folders where others have a hand.

STRANGER=65534

# one_app LINE...: an app that needs nothing, and these lines, for conf.
one_app() {
	printf '%s\n' "$@"
	app web </dev/null
}

# apppoold OPTION...: its exit status is in $RC, what it says in $ERR.
apppoold() {
	timeout "$LIMIT" "$APPPOOLD" "$@" -c "$DIR/pool.conf" \
	    >"$DIR/err" 2>&1 </dev/null
	RC=$? ERR=$(cat "$DIR/err")
}

# assert_refused TEXT: by -t as well as at the start.
assert_refused() {
	for option in '' -t; do
		# shellcheck disable=SC2086 # an option or none
		apppoold $option
		assertContains '77 78' "$RC"
		assertContains "$ERR" "$1"
	done
	assertEquals 'the file that is led to' precious "$(cat "$DIR/precious")"
}

# fresh FOLDER MODE [OWNER]: a folder, and a file that nobody may write.
fresh() {
	rm -rf "$DIR/${1:?}"
	mkdir -m "$2" "$DIR/$1"
	[ $# -lt 3 ] || chown "$3" "$DIR/$1"
	(umask 077 && echo precious >"$DIR/precious")
}

testALinkInPlaceOfThePidFileIsNotFollowed() {
	fresh run 755
	ln -s ../precious "$DIR/run/pid"
	one_app "pid_file = \"$DIR/run/pid\"" | conf
	assert_refused "pid is a symbolic link"
}

testALinkOfTheFormerOwnerOfAFolderIsNotFollowed() {
	is_root || { skip 'needs root'; return; }
	fresh run 755
	ln -s ../precious "$DIR/run/file"
	chown -h $STRANGER "$DIR/run/file"
	for option in pid_file log; do
		one_app "$option = \"$DIR/run/file\"" | conf
		assert_refused "file is a symbolic link of user $STRANGER: remove"
	done
}

testAFolderOfAnotherUserIsRefused() {
	is_root || { skip 'needs root'; return; }
	fresh run 755 $STRANGER
	ln -s ../precious "$DIR/run/file"
	for option in pid_file log; do
		one_app "$option = \"$DIR/run/file\"" | conf
		assert_refused "folder $DIR/run belongs to user $STRANGER, "
	done
}

# As daemons that have been started before a folder changed hands.
testALogThatIsOpenedAnewFollowsNoLinkOfAnotherUser() {
	is_root || { skip 'needs root'; return; }
	fresh run 755
	one_app "log = \"$DIR/run/log\"" | conf
	pool_start
	mv "$DIR/run/log" "$DIR/run/log.1"
	ln -s ../precious "$DIR/run/log"
	chown -h $STRANGER "$DIR/run/log"
	kill -HUP "$POOL"
	await grep -q "cannot open the log .*/run/log is a symbolic link of" \
	    "$DIR/run/log.1"
	assertEquals precious "$(cat "$DIR/precious")"
}

testADumpIntoAFolderOfAnotherUserIsRefused() {
	is_root || { skip 'needs root'; return; }
	fresh run 755 $STRANGER
	one_app "dump_file = \"$DIR/run/file\"" | conf
	apppoold -t
	assertEquals 78 "$RC"
	assertContains "$ERR" "folder $DIR/run belongs to user $STRANGER, "
	pool_start
	kill -USR1 "$POOL"
	await said "cannot write $DIR/run/file: folder $DIR/run belongs to user"
	assertEquals '' "$(ls "$DIR/run")"
}

testADumpReplacesALinkAndDoesNotFollowIt() {
	fresh run 755
	ln -s ../precious "$DIR/run/file"
	one_app "dump_file = \"$DIR/run/file\"" | conf
	apppoold -t
	assertEquals "$ERR" 0 "$RC"
	pool_start
	kill -USR1 "$POOL"
	await said "state written to $DIR/run/file"
	assertFalse "[ -L '$DIR/run/file' ]"
	assertEquals precious "$(cat "$DIR/precious")"
}

# swapper FILE: the app that has its output there, and swaps it, for conf.
swapper() {
	hostile evil swapper "$1" "$DIR/precious" <<-EOF
	output = "$1"
	handoff = none
	restart_delay = 10ms
	EOF
}

testALinkInPlaceOfAnOutputFileIsNotFollowed() {
	is_root || { skip 'needs root'; return; }
	fresh out 755 $STRANGER
	swapper "$DIR/out/file" | sed '/^listen/d' | conf
	pool_run
	await said "cannot open $DIR/out/file as user $STRANGER"
	assertContains "$(status apps evil last_failure)" \
	    'it is a symbolic link: remove it, or name the file it leads to'
	assertEquals precious "$(cat "$DIR/precious")"
}

testAnOutputFileInAFolderOfTheAppIsTheApps() {
	is_root || { skip 'needs root'; return; }
	fresh out 755 $STRANGER
	conf_of "output = \"$DIR/out/file\"" app web --print 'hello there\n'
	apppoold -t
	assertEquals "$ERR" 0 "$RC"
	pool_start
	await grep -q 'hello there' "$DIR/out/file"
	assertEquals $STRANGER "$(stat -c %u "$DIR/out/file")"
}

# As /var/log: the app's user may not write it, but nobody else may either.
testAnOutputFileInAFolderOfRootIsOpenedByRoot() {
	is_root || { skip 'needs root'; return; }
	fresh out 755
	ln -s file "$DIR/out/link"
	conf_of "output = \"$DIR/out/link\"" app web --print 'hello there\n'
	apppoold -t
	assertEquals "$ERR" 0 "$RC"
	pool_start
	await grep -q 'hello there' "$DIR/out/file"
	assertEquals 0 "$(stat -c %u "$DIR/out/file")"
}

testAnOutputFileThatTheAppMayNotWriteFailsItsStart() {
	is_root || { skip 'needs root'; return; }
	fresh out 755 $STRANGER
	: >"$DIR/out/file"
	begins "output = \"$DIR/out/file\"" app web
	await said "cannot open $DIR/out/file as user $STRANGER and group"
}

# A lock is waited for by no other app, however often the listeners break.
# On a disk, making the files of sockets would wait for other writers.
testALockOnTheFolderOfListenersHoldsUpNoOther() {
	rm -rf "$DIR/run"
	IN_MEMORY=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
	ln -s "$IN_MEMORY" "$DIR/run"
	{
		app_b
		for n in 1 2 3 4 5 6 7 8; do
			hostile "run/$n" shutter <<-EOF |
			handoff = listen
			EOF
			    sed 's,app "run/,app "evil,'
		done
	} | conf
	pool_run
	ask "unix:$DIR/b.sock" >/dev/null
	quiet_b
	start_process flock --no-fork "$IN_MEMORY" sleep 1000
	watch_b 3
	await has_said 32 'was shut down by somebody: binding it anew'
	assert_b_is_served
	pool_stop
	rm -rf "$IN_MEMORY"
}

# freeze: until `thaw`, nobody can make or remove a file in $DIR/run.
freeze() {
	start_process "$BUILD/tests/hostile/freeze-folder" "$DIR/run" \
	    >"$DIR/frozen"
	FREEZER=$STARTED
	await grep -q frozen "$DIR/frozen"
}

thaw() {
	stop_process "$FREEZER"
	await is_gone "$FREEZER"
}

# in_folder NAME COMMAND HANDOFF: an app with a listener in $DIR/run.
in_folder() {
	printf 'app "%s" {\nlisten = "unix:run/%s.sock"\n' "$1" "$1"
	printf 'command = { %s }\nhandoff = %s\n}\n' "$2" "$3"
}

# A listener is shut and bound anew, and apps are removed with theirs.
testAFrozenFolderOfListenersHoldsUpNeitherOtherAppsNorTheStop() {
	is_root || { skip 'userfaultfd is for root'; return; }
	fresh run 755
	cp "$BUILD/tests/hostile/shutter" "$DIR"
	{
		echo 'defaults { stop_timeout = 100ms }'
		app_b
		in_folder shut "\"$DIR/shutter\"" listen
		in_folder native "\"$TWORKER\"" native
		in_folder shared 'sleep, 1000' listen
	} | conf
	# A search for leaks at the end would wait for threads that wait.
	export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"
	pool_run
	ask "unix:$DIR/b.sock" >/dev/null
	quiet_once
	freeze
	watch_b 3
	await has_said 2 'was shut down by somebody: binding it anew'
	app_b | conf
	reload
	assert_b_is_served
	kill -TERM "$POOL"
	# A thread of it that waits for the lock stays until that is free.
	wait_for $((3 * SLOW)) is_gone "$POOL"
	assertTrue 'the daemon has stopped' "is_gone $POOL"
	thaw
	ends_well
}

# Whoever looks for a name there waits behind one who would make a file.
testALimitWhoseServerIsInAFrozenFolderHoldsUpNoOther() {
	is_root || { skip 'userfaultfd is for root'; return; }
	fresh run 755
	{
		app_b
		app limited <<-EOF
		limit = "unix:$DIR/run/none.sock k 1 10 1s"
		limit_fail = open
		EOF
	} | conf
	pool_run
	ask "unix:$DIR/b.sock" >/dev/null
	quiet_once
	freeze
	start_process touch "$DIR/run/made"
	await grep -q ') D ' "/proc/$STARTED/stat"
	watch_b 3
	assertContains "$(ask "unix:$DIR/limited.sock")" hello
	await said 'it does not answer'
	assert_b_is_served
	thaw
	finish "$STARTED"
	pool_stop
}

testAReloadThatOpensAListenerInAFrozenFolderHoldsUpNoOther() {
	is_root || { skip 'userfaultfd is for root'; return; }
	fresh run 755
	echo 'log = "run/log"' >"$DIR/log.conf"
	{ app_b; in_folder native "\"$TWORKER\"" native; } | conf
	pool_run
	ask "unix:$DIR/b.sock" >/dev/null
	quiet_once
	freeze
	watch_b 3
	{
		cat "$DIR/log.conf"
		app_b
		in_folder native "\"$TWORKER\"" native |
		    sed 's/^handoff/socket_mode = 0600\n&/'
		in_folder new "\"$TWORKER\"" native
	} | conf
	start_process ctl reload >"$DIR/told" 2>&1
	assert_b_is_served
	assertEquals '' "$(cat "$DIR/told")"
	thaw
	finish "$STARTED"
	assertEquals "$(cat "$DIR/told")" 0 "$RC"
	assertContains "$(ask "unix:$DIR/run/new.sock")" hello
	assertEquals 600 "$(stat -c %a "$DIR/run/native.sock")"
	assertEquals hello "$(ask "unix:$DIR/run/native.sock" | grep -o hello)"
	pool_stop
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
