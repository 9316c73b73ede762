#!/bin/sh
# Templates: workers are forked from one process that is started, whatever that
# does.

. tests/e2e/template_help.sh

testWorkersAreForkedByAProgramThatIsStartedOnce() {
	cat >"$DIR/began.sh" <<-EOF
	#!/bin/sh
	echo began
	exec "$TWORKER"
	EOF
	starts 'template = true min_processes = 4' server web /bin/sh began.sh
	assertTrue 'workers of the template' "come_from $(template)"
	await said began
	assertEquals 'starts of the program' 1 "$(times_said began)"
	assertEquals 'forks' 4 "$(status apps web template forked)"
	assertEquals 'its size' 1 $(($(status apps web template rss) > 0))
	ctl metrics >"$DIR/metrics"
	assertTrue 'metrics' "grep -q 'template_ready{app=\"web\"} 1' $DIR/metrics"
	assertTrue 'readable' \
	    "ctl status -v | grep -q 'template ready, pid $(template)'"
	assertEquals 'ceilings' 4 "$(status processes)"
}

testAForkedWorkerServesUnderItsOwnNumber() {
	starts 'template = true' app web
	answer=$(web)
	# shellcheck disable=SC2086 # pid id slot count text
	set -- $answer
	assertEquals "$1" "$(workers)"
	assertEquals "$2" "$(status apps web workers 0 id)"
	assertEquals 0 "$3"
	assertEquals "$POOL" "$(ps -o ppid= -p "$1" | tr -d ' ')"
	assert_accounts web
}

testAForkedWorkerHasTheIdentityAndLimitsOfTheApp() {
	is_root || { skip 'needs root'; return; }
	starts 'template = true user = "nobody" umask = 027 nice = 3
	    limit_nofile = 77' app web
	pid=$(workers)
	assertEquals "$(id -u nobody)" "$(stat -c %u "/proc/$pid")"
	assertTrue 'umask' "grep -q 'Umask:.*0027' /proc/$pid/status"
	assertTrue 'limit' "grep -q 'open files *77 ' /proc/$pid/limits"
	assertEquals 3 "$(ps -o ni= -p "$pid" | tr -d ' ')"
}

testWhatAForkedWorkerPrintsIsLoggedUnderItsOwnName() {
	cat >"$DIR/printer.py" <<-EOF
	import os, sys
	import apppool
	worker = apppool.Worker()
	worker.template(lambda: print("I am", worker.slot, flush=True))
	worker.ready()
	for connection in worker.connections():
	    pass
	EOF
	cp contrib/workers/apppool.py "$DIR"
	starts 'template = true min_processes = 2' \
	    server web "$PYTHON" printer.py
	for slot in 0 1; do
		id=$(status apps web workers "$slot" id)
		await said "$id: I am"
	done
}

testADeadWorkerIsForkedAnew() {
	starts 'template = true restart_delay = 10ms' app web
	first=$(workers)
	kill -KILL "$first"
	await said 'killed by signal 9'
	second=$(pid_of "$(web)")
	assertNotEquals "$first" "$second"
	assertEquals "$(origin "$(template)")" "$(origin "$second")"
}

testAKilledTemplateIsReplacedAndItsWorkersGoOn() {
	starts 'template = true restart_delay = 10ms' app web
	first=$(template)
	worker=$(workers)
	kill -KILL "$first"
	await has_another_template "$first"
	assertEquals 'the same worker' "$worker" "$(pid_of "$(web)")"
	kill -KILL "$worker"
	await said "(pid $worker)"
	assertEquals "$(origin "$(template)")" "$(origin "$(pid_of "$(web)")")"
	assertEquals 1 "$(status apps web template failures)"
	assertEquals 'it is over' null "$(status apps web template last_failure)"
}

testATemplateThatFailsInAnyWayIsReplaced() {
	each serves_despite <<-'END'
	dies 'killed by signal 9 (SIGKILL): processes are started'
	exits 'exited with status 0: processes are started'
	fails 'cannot go on: it is tired'
	hangs 'is killed: it does not fork'
	talks 'it broke the protocol'
	names_itself 'was named and is another one'
	END
}

testATemplateThatNamesAStrangerHarmsHimNot() {
	start_process sleep 1000
	serves_despite names_a_stranger \
	    "process $STARTED was named and is no child of ours" "$STARTED"
	assertFalse 'the stranger lives' "is_gone $STARTED"
}

testAWorkerIsKnownByWhatItSaysWhateverItsTemplateSays() {
	starts 'min_processes = 2' behaving names_another
	assertTrue 'workers of the template' "come_from $(template)"
	assertEquals 0 "$(status apps web template failures)"
}

testWorkersThatDieUnheardAreStartedAnew() {
	serves_despite forks_what_dies 'what it forked ends before it is ready'
	assertTrue 'how it ended' \
	    "said 'exited with status 3 before it was ready'"
}

# Before or after the template has named it.
testTheGroupOfAWorkerThatDiesUnheardIsKilled() {
	for how in forks_what_leaves_a_child forks_what_leaves_a_child_soon; do
		serves_despite $how 'what it forked ends before it is ready'
		assertTrue "$how: children" "[ -s $DIR/marks/$how.children ]"
		while read -r child; do
			await is_gone "$child"
		done <"$DIR/marks/$how.children"
		pool_stop
	done
}

testAForkedWorkerThatIsNeverReadyIsKilled() {
	begins "start_timeout = ${SLOW}s stop_timeout = 100ms
	    kill_timeout = 100ms" behaving forks_what_hangs
	await has_template
	first=$(template)
	await said "it was not ready within $SLOW s"
	await has_another_template "$first"
	assertNotEquals '' "$(web)"
	await has_no_session "$first"
}

has_no_session() {
	[ -z "$(pgrep -s "$1")" ]
}

testDescriptorsThatATemplateLeaksEndItAndNothingElse() {
	starts 'limit_nofile = 32 max_processes = 1 min_server_life = 0' \
	    behaving leaks
	before=$(fds "$POOL")
	tries=0
	until [ "$(status apps web template failures)" -gt 0 ] ||
	    [ "$tries" -eq 40 ]; do
		worker=$(pid_of "$(web)")
		kill -KILL "$worker"
		await said "(pid $worker) killed"
		tries=$((tries + 1))
	done
	assertTrue 'it ran out of descriptors' "said 'processes are started'"
	assertNotEquals '' "$(web)"
	await has_template
	await has_fds "$before"
}

testATemplateNeedNotWaitForTheProcessInTheMiddle() {
	starts 'min_processes = 2' behaving hurries
	assertTrue 'workers of the template' "come_from $(template)"
	assertEquals 0 "$(status apps web template failures)"
}

testAReloadReplacesTheTemplateBeforeTheWorkers() {
	starts 'template = true min_processes = 3' app web
	first=$(template)
	reloads 'template = true min_processes = 3
	    environment = { "CHANGED=1" }' app web
	ctl wait >/dev/null
	await has_another_template "$first"
	await status_is null apps web rollout
	await workers_are 3
	assertTrue 'workers of the new template' "come_from $(template)"
	for pid in $(workers); do
		assertTrue "pid $pid" \
		    "tr '\\0' '\\n' </proc/$pid/environ | grep -qx CHANGED=1"
	done
	await is_gone "$first"
}

testARestartReplacesTheTemplate() {
	starts 'template = true' app web
	first=$(template)
	ctl restart web >/dev/null
	assertTrue 'another template' "has_another_template $first"
	await come_from "$(template)"
}

testAnAppThatIsDrainedOrStoppedHasNoTemplate() {
	starts 'template = true' app web
	for way in 'drain resume' 'stop start'; do
		first=$(template)
		ctl "${way% *}" web >/dev/null
		await is_gone "$first"
		assertEquals none "$(status apps web template state)"
		ctl "${way#* }" web >/dev/null
		assertTrue "serves after $way" "web >/dev/null"
		assertTrue 'workers of a template' "come_from $(template)"
	done
}

testATemplateCanBeTurnedOff() {
	starts 'template = true' app web
	first=$(template)
	reloads '' app web
	await is_gone "$first"
	await status_is null apps web rollout
	assertEquals null "$(status apps web template)"
	pid=$(pid_of "$(web)")
	assertEquals "$(status apps web workers 0 id)" "$(origin "$pid")"
}

testTheDaemonEndsWithItsTemplate() {
	starts 'min_processes = 0 kill_timeout = 200ms' behaving hangs
	await has_template
	first=$(template)
	pause_process "$first"
	stops_well
	await is_gone "$first"
}

testATemplateThatIsNotReadyInTimeHoldsNothingUp() {
	cat >"$DIR/lazy.py" <<-EOF
	import os, time
	if "APPPOOL_TEMPLATE" in os.environ:
	    time.sleep(60)
	os.execv("$TWORKER", ["tworker"])
	EOF
	starts "template = true start_timeout = ${SLOW}s" \
	    server web "$PYTHON" lazy.py
	assertTrue 'it is told' "said 'it was not ready within'"
	pid=$(pid_of "$(web)")
	assertEquals 'it was started by itself' \
	    "$(status apps web workers 0 id)" "$(origin "$pid")"
	await status_is failed apps web template state
}

testAWarmWorkerBecomesTheTemplate() {
	starts 'template = true refork_after = 5 min_processes = 3
	    max_processes = 3' app web
	first=$(template)
	old=$(status apps web workers '*' id | sort)
	# A single one of the three has five of them.
	ask "unix:$DIR/web.sock" hello --count 13 >/dev/null
	await has_another_template "$first"
	by=$(status apps web template forked_by)
	assertTrue 'it was forked by a worker' "echo '$old' | grep -qx '$by'"
	await is_gone "$first"
	await status_is null apps web rollout
	await workers_are 3
	new=$(status apps web workers '*' id | sort)
	assertEquals 'only the warm worker stays' "$by" \
	    "$(printf '%s\n%s\n' "$old" "$new" | sort | uniq -d)"
	assertNotEquals '' "$(web)"
	assertEquals 0 "$(status apps web template failures)"
	assert_accounts web
}

# A connection waits at any time, and is given to the worker at once.
testAWarmWorkerThatIsNeverIdleBecomesTheTemplate() {
	starts 'template = true refork_after = 5 max_processes = 1' app web
	first=$(template)
	start_process "$BUILD/tests/e2e/flood" --unix "$DIR/web.sock" \
	    --count 1000000 --concurrency 8 --quiet >/dev/null 2>&1
	flood=$STARTED
	await has_another_template "$first"
	stop_process "$flood"
	assertEquals 0 "$(status apps web template failures)"
	assertEquals 0 "$(status apps web lost)"
}

# goes_on_refusing HOW TEXT: a worker does that is asked to fork a template and
# answers so; the log has the text, and all is as before.
goes_on_refusing() {
	starts "refork_after = 1 start_timeout = $((2 * SLOW))s" \
	    behaving good "$1"
	first=$(template)
	worker=$(pid_of "$(web)")
	await said "$2"
	assertEquals 'failures' 1 "$(status apps web template failures)"
	assertEquals 'the template' "$first" "$(template)"
	# Late words are said before the answer.
	assertEquals 'the worker' "$worker" "$(pid_of "$(web)")"
	assertEquals 'the worker' "$worker" "$(pid_of "$(web)")"
}

testAWorkerThatCannotForkATemplateGoesOn() {
	goes_on_refusing cannot 'could not be forked'
}

testAWorkerThatForksATemplateTooLateGoesOn() {
	goes_on_refusing late 'it was not ready within'
}

# is_told TEXT OPTIONS [OPTION-OF-tworker...]: by -t.
is_told() {
	told_text=$1 told_options=$2
	shift 2
	conf_of "$told_options" app web "$@"
	assertContains "$("$APPPOOLD" -t -c "$DIR/pool.conf" 2>&1)" "$told_text"
}

testMistakesOfTheConfigurationAreTold() {
	is_told 'refork_after has no effect without template' 'refork_after = 5'
	is_told 'command has {slot}' 'template = true' '{slot}'
	is_told template 'template = true handoff = stdio'
}

. tests/e2e/lib.sh
