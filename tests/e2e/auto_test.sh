#!/bin/sh
# max_processes = auto: ceilings by the memory and the processors of a box.

# box FILE TEXT: of the cgroup at the top, as the daemon sees it.
box() {
	mkdir -p "$DIR/box"
	printf '%s\n' "$2" >"$DIR/box/$1"
}

# boxed OPTIONS COMMAND...: the daemon, in a machine with that cgroup alone: of
# version 2, of 512 MiB, of which others use 100.
boxed() {
	box memory.max 536870912
	box memory.high max
	box memory.current 104857600
	box memory.stat 'anon 104857600'
	box cpu.max 'max 100000'
	conf_of "$@"
	# shellcheck disable=SC2016 # the inner shell's
	run_by unshare -m sh -c \
	    'mount --bind "$0" /sys/fs/cgroup && exec "$@"' "$DIR/box"
	ctl wait >/dev/null
}

# needs_root: or the test is skipped.
needs_root() {
	unshare -m true 2>/dev/null || { skip 'unshare needs root'; return 1; }
}

# ceiling OPERATOR NUMBER [APP]: that of the app compares so.
ceiling() {
	test "$(status apps "${3:-web}" max_processes)" "$1" "$2"
}

# adds_up: the app's arithmetic is what its status says.
adds_up() {
	status apps web auto by_memory,memory,reserve,others,process_memory |
	    awk '{ exit $1 != int(($2 - $3 - $4) / $5) }'
}

testAnAppWithoutAMeasureHasItsMinimum() {
	needs_root || return 0
	boxed 'min_processes = 2 max_processes = auto' app web
	assertEquals '2 null' "$(status apps web max_processes) $(
	    status apps web auto goal)"
	ctl status -v >"$DIR/shown"
	assertTrue 'nothing measured' \
	    "grep -q 'max_processes auto: nothing measured yet' '$DIR/shown'"
}

testACeilingRisesToWhatFitsIntoTheBoxAndFallsWithIt() {
	needs_root || return 0
	boxed 'max_processes = auto' app web
	web 'grow 40' >/dev/null
	await ceiling -ge 6
	assertEquals '536870912 67108864 64' \
	    "$(status apps web auto memory,reserve,bound)"
	assertTrue "$(status apps web auto)" adds_up
	assertTrue 'a process is 40 MiB' "[ $(
	    status apps web auto process_memory) -gt 40000000 ]"
	ctl status -v >"$DIR/shown"
	assertTrue "$(cat "$DIR/shown")" "grep -qE 'max_processes auto: at most [0-9]+ = least of memory [0-9]+ = \(512.0M - 64.0M reserve - [0-9.]+M others\) / 4[0-9.]+M' '$DIR/shown'"

	box memory.max 209715200
	await ceiling -le 2
	assertTrue "$(status apps web auto)" adds_up
	box memory.high 104857600
	await ceiling -eq 1
	assertEquals 104857600 "$(status apps web auto memory)"
}

testAnUpgradeOfTheDaemonKeepsTheCeiling() {
	needs_root || return 0
	boxed 'max_processes = auto' app web
	web 'grow 1' >/dev/null
	await ceiling -ge 3
	assertContains "$(ctl upgrade 2>&1)" 'upgraded from'
	assertTrue "$(status apps web max_processes)" 'ceiling -ge 3'
}

testACeilingIsNeverOverItsBound() {
	needs_root || return 0
	boxed 'max_processes = auto:3' app web
	web 'grow 1' >/dev/null
	await ceiling -eq 3
	await status_is 3 apps web auto goal
	assertTrue 'more would fit' "[ $(
	    status apps web auto by_memory) -gt 3 ]"
}

testProcessorsLimitAnAppThatComputes() {
	needs_root || return 0
	boxed 'max_processes = auto' app web --cpu 20ms
	box cpu.max '10000 100000'
	floods --unix "$DIR/web.sock" --count 300 --concurrency 4 --limit 300 \
	    --timeout 60
	await status_is 0.1 apps web auto processors
	await not_null apps web auto by_processors
	assertTrue "$(status apps web auto)" "[ $(
	    status apps web auto by_processors) -le 2 ]"
	assertTrue "$(status apps web max_processes)" 'ceiling -le 2'
}

not_null() {
	! status_is null "$@"
}

testAnAppThatSleepsIsNotLimitedByProcessors() {
	needs_root || return 0
	boxed 'max_processes = auto:8' app web --work 50ms
	floods --unix "$DIR/web.sock" --count 200 --concurrency 8 --limit 300 \
	    --timeout 60
	await ceiling -eq 8
}

testTheCeilingOverAllFollowsTheBoxToo() {
	needs_root || return 0
	boxed 'min_processes = 1 max_processes = 20' \
	    with 'max_processes = auto:100' app web
	assertEquals 1 "$(status max_processes)"
	web 'grow 40' >/dev/null
	await more_than 4 max_processes
	box memory.max 209715200
	await less_than 4 max_processes
	ctl status -v >"$DIR/shown"
	assertTrue "$(cat "$DIR/shown")" \
	    "grep -qE '^  max_processes auto: at most [0-9]+ = .*bound 100' '$DIR/shown'"
}

more_than() {
	[ "$(status "$2")" -gt "$1" ]
}

less_than() {
	[ "$(status "$2")" -lt "$1" ]
}

testAReloadChangesBetweenAutoAndANumberInPlace() {
	needs_root || return 0
	boxed 'max_processes = 12' app web
	pid=$(status apps web workers 0 pid)
	reloads 'max_processes = auto:20' app web
	assertTrue "$(status apps web max_processes)" 'ceiling -eq 12'
	web 'grow 1' >/dev/null
	await ceiling -eq 20
	reloads 'max_processes = 5' app web
	assertEquals "5 $pid" "$(status apps web max_processes) $(
	    status apps web workers 0 pid)"
	assertEquals null "$(status apps web auto)"
}

testASizeThatAnOperatorSetsHolds() {
	needs_root || return 0
	boxed 'max_processes = auto:20' app web
	ctl resize web 1 7 >"$DIR/out" || fail 'not resized'
	web 'grow 100' >/dev/null
	assertEquals '7 null' "$(status apps web max_processes) $(
	    status apps web auto)"
	assertTrue "$(cat "$DIR/out")" \
	    "grep -q 'the file says 1 to 20 processes' '$DIR/out'"
}

# --- a real box ----------------------------------------------------------

# memory_group BYTES: makes a cgroup of so much memory, $GROUP.
memory_group() {
	GROUP=/sys/fs/cgroup/memory/apppool-$$
	limit=memory.limit_in_bytes
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		GROUP=/sys/fs/cgroup/apppool-$$ limit=memory.max
		echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	fi 2>/dev/null
	{ mkdir "$GROUP" && echo "$1" >"$GROUP/$limit"; } 2>/dev/null
}

testTheMemoryOfACgroupIsThatOfTheBox() {
	memory_group 134217728 ||
	    { skip 'no cgroup of memory can be made'; rmdir "$GROUP" 2>/dev/null; return 0; }
	conf_of 'max_processes = auto' app web --work 20ms
	# shellcheck disable=SC2016 # the inner shell's
	run_by sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$GROUP"
	ctl wait >/dev/null
	web 'grow 20' >/dev/null
	await ceiling -gt 1
	assertEquals 134217728 "$(status apps web auto memory)"
	floods --unix "$DIR/web.sock" --count 300 --concurrency 16 \
	    --limit 300 --timeout 60 --min answered=300
	assertTrue "$(status apps web auto)" adds_up
	assertNotContains "$(status apps web exits)" signal
	stops_well
	assertTrue 'the group is empty' "rmdir '$GROUP'"
}

. tests/e2e/lib.sh
