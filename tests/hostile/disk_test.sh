#!/bin/sh
# The disk is full under the files that the daemon writes: apps are served, no
# half of a file is taken for a whole one, and the file is written when there is
# room again.

# small_disk OPTION: $DIR/disk, with little room. False: this test is skipped.
small_disk() {
	mkdir "$DIR/disk"
	is_root && mount -t tmpfs -o "mode=755,$1" disk "$DIR/disk" &&
	    return
	skip 'a mount needs root'
	rmdir "$DIR/disk"
	return 1
}

remove_disk() {
	umount "$DIR/disk"
	rmdir "$DIR/disk"
}

fill_disk() {
	dd if=/dev/zero of="$DIR/disk/big" bs=4k 2>/dev/null
}

make_room() {
	rm "$DIR/disk/big"
}

file_teardown() {
	[ ! -d "$DIR/disk" ] || umount -l "$DIR/disk"
}

# one_app LINE...: with these lines, for conf.
one_app() {
	printf '%s\n' "$@"
	app web </dev/null
}

is_served() {
	assertContains "$(web)" hello
	assertContains "$(web)" hello
}

testAPidFileOnAFullDiskIsEmptyUntilThereIsRoom() {
	small_disk size=64k || return 0
	fill_disk
	one_app "pid_file = \"$DIR/disk/pid\"" | conf
	pool_start
	is_served
	assertTrue "said 'pid_file $DIR/disk/pid: it stays empty for now: No space'"
	assertEquals '' "$(cat "$DIR/disk/pid")"
	assertContains 'a second daemon' \
	    "$("$APPPOOLD" -c "$DIR/pool.conf" 2>&1)" 'already running'
	make_room
	await said "pid_file $DIR/disk/pid is written"
	assertEquals "$POOL" "$(cat "$DIR/disk/pid")"
	stops_well
	assertFalse 'it is left behind' "[ -e '$DIR/disk/pid' ]"
	remove_disk
}

# dump: has the daemon write it; returns when it has, or has told why not.
dump() {
	dumped=$(times_said "$DIR/disk/dump")
	kill -USR1 "$POOL"
	await has_said $((dumped + 1)) "$DIR/disk/dump"
}

testADumpOntoAFullDiskLeavesTheFormerOne() {
	small_disk size=64k || return 0
	one_app "dump_file = \"$DIR/disk/dump\"" | conf
	pool_start
	dump
	assertTrue "said 'state written to $DIR/disk/dump'"
	former=$(cksum "$DIR/disk/dump")
	fill_disk
	dump
	is_served
	assertTrue "said 'cannot write $DIR/disk/dump: No space left on device'"
	assertEquals "$former" "$(cksum "$DIR/disk/dump")"
	assertEquals "big dump" "$(cd "$DIR/disk" && echo *)"
	make_room
	dump
	assertEquals 2 "$(times_said 'state written to')"
	assertTrue "'$PYTHON' -m json.tool '$DIR/disk/dump' >/dev/null"
	pool_stop
	remove_disk
}

testALogOnAFullDiskHasACountOfWhatIsLostAndThenAllLines() {
	small_disk size=64k || return 0
	one_app "log = \"$DIR/disk/log\"" 'log_level = debug' | conf
	pool_start
	fill_disk
	# The rest of the last page of the file is filled, too.
	while ! [ "$(stat -c %s "$DIR/disk/log")" -eq "${logged:--1}" ]; do
		logged=$(stat -c %s "$DIR/disk/log")
		ctl reload >/dev/null
		is_served
	done
	make_room
	ctl reload >/dev/null
	await grep -q 'warn [0-9]* lines of log lost: No space left on device$' \
	    "$DIR/disk/log"
	stops_well
	assertTrue "tail -n 1 '$DIR/disk/log' | grep -q ' info stopped$'"
	torn=$(grep -vcE '^[-0-9]+T[0-9:.]+Z (error|warn|info|debug) .*' \
	    "$DIR/disk/log")
	assertTrue "$torn torn lines" "[ $torn -le 1 ]"
	remove_disk
}

# Without a file that could be made there is no socket of an app, either.
testAReloadWithoutRoomForASocketChangesNothing() {
	small_disk size=64k,nr_inodes=3 || return 0
	: >"$DIR/disk/one"
	: >"$DIR/disk/big"
	starts '' one_app
	{
		one_app
		app other </dev/null | sed 's,unix:,&disk/,'
	} | conf
	answer=$(ctl reload 2>&1)
	assertEquals 1 $?
	assertContains "$answer" 'other.sock: '
	assertContains "$answer" 'No space left on device'
	is_served
	assertEquals web "$(status apps '*' name)"
	make_room
	assertContains "$(ctl reload)" 'other: added'
	assertContains "$(ask "unix:$DIR/disk/other.sock")" hello
	stops_well
	remove_disk
}

# For any user; the kernel tells of it by a signal, too.
testADaemonWhoseFilesMayNotGrowServes() {
	one_app "log = \"$DIR/logged\"" "pid_file = \"$DIR/pid\"" | conf
	run_by env --default-signal=XFSZ prlimit --fsize=0:
	is_served
	assertEquals 0 "$(stat -c %s "$DIR/logged")"
	assertEquals 0 "$(stat -c %s "$DIR/pid")"
	prlimit --pid "$POOL" --fsize=unlimited:
	await grep -q "pid_file $DIR/pid is written" "$DIR/logged"
	assertTrue "grep -q 'warn [0-9]* lines of log lost: File too large$' \
	    '$DIR/logged'"
	assertEquals "$POOL" "$(cat "$DIR/pid")"
	stops_well
}

. tests/e2e/lib.sh
