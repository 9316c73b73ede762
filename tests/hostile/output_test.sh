#!/bin/sh
# Processes that print without end.

# loud COUNT: app loud, in which so many processes will print, for conf.
loud() {
	hostile loud printer <<-EOF
	min_processes = $1
	EOF
}

# print_lines COUNT: from now on so many processes print empty lines.
print_lines() {
	assertEquals "$1" "$(ask "unix:$DIR/loud.sock" '' --count "$1" |
	    grep -c now)"
}

# assert_b_is_served_beside COUNT: that many that print.
assert_b_is_served_beside() {
	{
		echo 'log = "/dev/null"'
		app_b
		loud "$1"
	} | conf
	pool_start
	quiet_b
	print_lines "$1"
	watch_b
	assert_b_is_served
}

testEightProcessesThatPrintEmptyLinesHoldUpNoOther() {
	assert_b_is_served_beside 8
}

testTheLineOfOneProcessIsLoggedBesideALineFlood() {
	{
		loud 8
		app web --print 'just a line\n' <<-EOF
		min_processes = 0
		EOF
	} | conf
	pool_start
	print_lines 8
	web >/dev/null
	await said 'just a line'
	assertEquals 0 "$(times_said 'lines of log lost')"
}

testEachProcessOfALineFloodGetsItsTurns() {
	loud 8 | conf
	pool_start
	print_lines 8
	for id in $(status apps loud workers '*' id); do
		await has_said 100 "loud/$id: "
	done
}

# The log takes longer than the process that is gone at once.
testOutputThatAnEndedProcessLeavesIsBounded() {
	conf <<-'EOF'
	app "web" {
		handoff = none
		command = { sh, -c, "head -c 60000 /dev/zero | tr '\\0' '\\n'" }
		restart_delay = 1m
	}
	EOF
	pool_run
	await said 'bytes of the last output of worker'
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
