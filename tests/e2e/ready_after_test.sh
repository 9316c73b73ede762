#!/bin/sh
# ready_after: programs without READY are ready when they have lived so long.

# silent HANDOFF COMMAND...: an app whose program says nothing, for conf; what
# else it has comes from stdin.
silent() {
	silent_handoff=$1 kind=server
	shift
	[ "$silent_handoff" != none ] || kind=job
	with "handoff = $silent_handoff" cat | $kind web "$@"
}

file_setup() {
	cp tests/e2e/workers/listening.py "$DIR"
}

serves() {
	silent listen "$PYTHON" "$DIR/listening.py"
}

# assert_fails REASON HANDOFF COMMAND...: the app fails, and `wait` tells why.
assert_fails() {
	reason=$1
	shift
	begins 'start_limit = 2 restart_delay = 10ms' silent "$@"
	told=$(ctl wait 2>&1)
	assertEquals 1 $?
	assertContains "$told" "web has failed: $reason before it was ready"
	assertEquals 2 "$(status apps web spawned)"
}

testAProgramThatEndsAtOnceFailsItsApp() {
	assert_fails 'exited with status 3' listen sh -c 'exit 3'
}

testAServerThatDaemonizesFailsItsApp() {
	assert_fails 'exited with status 0' listen true
}

testAJobThatFailsAtOnceFailsItsApp() {
	assert_fails 'exited with status 1' none false
}

testJobsThatAreDoneBeforeReadyAfterAreReady() {
	starts 'min_processes = 2 ready_after = 60s start_limit = 1
	    restart_delay = 10ms' silent none true
	await status_is running apps web state
	assertEquals 0 "$(status apps web spawn_failures)"
}

has_spawned() {
	[ "$(status apps web spawned)" -ge "$1" ]
}

testAJobThatIsDoneIsNoFailure() {
	starts 'restart_delay = 10ms' silent none true
	await has_spawned 20
	assertEquals null "$(status apps web last_failure)"
	assertNotContains "$(cat "$DIR/log")" 'exited with status 0'
}

# is_older SECONDS: the age of the process.
is_older() {
	awk -v age="$(status apps web workers 0 age)" -v limit="$1" \
	    'BEGIN { exit !(age + 0 > limit) }'
}

testAProcessIsStartingUntilReadyAfter() {
	begins 'max_processes = 1 ready_after = 60s start_timeout = 1s' serves
	await is_older 1
	assertEquals 1 "$(status apps web spawned)"
	assertEquals 'it is served' 1 "$(web | wc -l)"
	assertEquals 1 "$(status apps web starting)"
	assertEquals 0 "$(status apps web idle)"
}

testAConnectionBehindABusyStartingProcessStartsAnother() {
	begins 'max_processes = 2 ready_after = 1h' serves
	occupy one
	# The client before has been accepted as well, and keeps the process
	# busy.
	busy=$(pid_of "$(web)")
	pause_process "$busy"
	answer=$(web)
	assertContains "$answer" hello
	assertNotEquals "$busy" "$(pid_of "$answer")"
	kill -CONT "$busy"
	dismiss one
}

testANewGenerationThatDoesNotLiveEndsNoOldProcess() {
	starts 'min_processes = 2 ready_after = 100ms' serves
	old=$(status apps web workers '*' pid | sort)
	conf_of 'min_processes = 2 ready_after = 60s start_limit = 2
	    restart_delay = 10ms' silent listen sh -c 'sleep 0.1; exit 1'
	reason=$(ctl reload 2>&1)
	assertEquals 1 $?
	assertContains "$reason" 'exited with status 1 before it was ready'
	assertEquals "$old" "$(status apps web workers '*' pid | sort)"
	assertEquals 1 "$(web | wc -l)"
}

. tests/e2e/lib.sh
