#!/bin/sh
# Processes that are replaced: by age, and by a new generation.

# web_app [OPTION-OF-tworker...]
web_app() {
	echo 'log_level = debug'
	app web "$@"
}

# hup: the configuration is in force when this returns; its rollout may go
# on.
hup() {
	reload_wanted=$(($(status generation) + 1))
	kill -HUP "$POOL"
	await status_is "$reload_wanted" generation
}

has_ended() {
	[ "$(status apps web exits "$1" 2>/dev/null || echo 0)" -ge "$2" ]
}

# --- age and use --------------------------------------------------------

# The next process is ready when the test says so.
testAProcessBeyondMaxLifetimeLeavesWhenTheNextIsReady() {
	: >"$DIR/ready"
	starts '' web_app --start-when "$DIR/ready"
	rm "$DIR/ready"
	old=$(status apps web workers 0 pid)
	conf_of 'max_processes = 2 max_lifetime = 100ms' \
	    web_app --start-when "$DIR/ready"
	hup
	await status_is 1 apps web starting
	sleep 0.2
	assertEquals 1 "$(status apps web idle)"
	assertFalse 'it has left before' "is_gone $old"
	: >"$DIR/ready"
	await has_ended max_lifetime 2
	await is_gone "$old"
	assertContains "$(web)" hello
}

testASessionIsNotCutShortByMaxLifetime() {
	starts 'max_lifetime = 100ms' web_app
	occupy one
	await status_is 1 apps web retiring
	dismiss one
	assertContains "$ANSWERS" hello
	await has_ended max_lifetime 1
	assertEquals 0 "$(status apps web lost)"
}

testAJobWorkerLeavesAfterMaxLifetime() {
	conf <<-EOF
	log_level = debug
	app "web" {
		handoff = none
		command = { "/bin/sleep", "600" }
		min_processes = 2
		max_lifetime = 200ms
		ready_after = 0
	}
	EOF
	pool_start
	await has_ended max_lifetime 4
	await status_is 2 apps web idle
	assertFalse 'one has failed' "grep -q ' warn .*worker' '$DIR/log'"
}

# --- generations --------------------------------------------------------

# watch_ready PID: the fewest ready processes and the most processes there were
# while PID ran or until the rollout was over, as two numbers.
watch_ready() {
	"$PYTHON" - "$1" "$APPPOOLCTL" "$DIR/control.sock" <<-EOF
	import json, os, subprocess, sys

	fewest, most = 10 ** 9, 0
	while os.path.exists("/proc/" + sys.argv[1]):
	    out = subprocess.run([sys.argv[2], "-s", sys.argv[3], "-j", "status"],
	                         stdout=subprocess.PIPE, check=True).stdout
	    app = json.loads(out)["apps"][0]
	    fewest = min(fewest, app["idle"] + app["active"])
	    most = max(most, app["processes"])
	    if app["workers"] and app["rollout"] is None and \
	            all(w["generation"] == 1 for w in app["workers"]):
	        break
	print(fewest, most)
	EOF
}

# Twenty processes at their ceiling: two of the new generation at a time.
testARolloutAtTheCeilingKeepsAllReadyWithoutLoss() {
	: >"$DIR/old" && rm -f "$DIR/new"
	for text in old new; do
		web_app --start-delay 50ms --start-when "$DIR/$text" \
		    --work 2ms --text $text <<-EOF | conf
		min_processes = 20
		max_processes = 20
		EOF
		sed -i '1i max_processes = 20' "$DIR/pool.conf"
		[ $text = new ] || pool_start
	done
	flood_behind --unix "$DIR/web.sock" \
	    --rate 300 --count 100000 --limit $((6 * LIMIT))
	await compare_accepted 50
	hup
	assertEquals 'rolling' "$(status apps web rollout state)"
	assertEquals 20 "$(status apps web rollout of)"
	start_process watch_ready "$FLOOD" >"$DIR/watched"
	: >"$DIR/new"
	finish "$STARTED" $((6 * LIMIT))
	kill -TERM "$FLOOD"
	read -r fewest most <"$DIR/watched"
	assertEquals 'the fewest that were ready' 20 "$fewest"
	assertTrue "$most processes" "[ $most -le 22 ]"
	assertContains "$(web)" new
	assertEquals 0 "$(status apps web lost)"
	assertEquals 0 "$(status apps web refused)"
	assertEquals 40 "$(status apps web spawned)"
	await status_is '{"restarted": 20}' apps web exits
}

compare_accepted() {
	[ "$(status apps web accepted)" -ge "$1" ]
}

testASessionOfTheOldGenerationIsFinished() {
	starts '' web_app --text old
	occupy one
	await status_is 1 apps web active
	web_app --text new </dev/null | conf
	hup
	await status_is 1 apps web retiring
	assertContains "$(web)" new
	dismiss one
	assertContains "$ANSWERS" old
	await status_is '{"restarted": 1}' apps web exits
}

# lives [OPTION-OF-tworker...]: a generation with these options; after three
# failures no further process starts.
lives() {
	conf_of 'min_processes = 2 max_processes = 3 start_limit = 3
	    restart_delay = 10ms restart_delay_max = 1h' web_app "$@"
}

# given_up OPTION-OF-tworker...: after a generation that lives, with the
# processes $old, a generation with these options, which does not.
given_up() {
	lives
	pool_start
	old=$(status apps web workers '*' pid | sort)
	lives "$@"
	hup
	await status_is 'given up' apps web rollout state
}

# still_there: how many of $old.
still_there() {
	for pid in $old; do
		is_gone "$pid" || echo "$pid"
	done | wc -l
}

# assert_given_up REASON COUNT: so many old processes stay at least.
assert_given_up() {
	assertContains "$(status apps web rollout reason)" "$1"
	await said 'the new processes fail, the old ones stay: '
	assertTrue 'old ones that stay' "[ $(still_there) -ge $2 ]"
	assertContains "$(web)" hello
	assertNotEquals failed "$(status apps web state)"
	assertContains "$(ctl status -v)" 'generation 1 given up'
}

testAGenerationThatDoesNotStartIsGivenUp() {
	given_up --exit-at-once 3
	assert_given_up 'exited with status 3 before it was ready' 2
	assertEquals 0 "$(status apps web lost)"
	assertEquals 'one attempt more' 2 "$(status apps web spawn_failures)"
}

testWaitFailsWhileTheNewestGenerationIsGivenUp() {
	given_up --exit-at-once 3
	assertEquals 'apppoolctl: web: the new processes fail, the old ones '\
'stay: exited with status 3 before it was ready' "$(ctl wait 2>&1)"
	lives
	hup
	await status_is '{"failure": 2, "restarted": 2}' apps web exits
	assertEquals ready "$(ctl wait web 2>&1)"
}

# The first process that is ready replaces an old one before it dies; the lock
# lets the next begin when it is dead.
testAGenerationThatDiesYoungIsGivenUp() {
	: >"$DIR/lock" && chmod 666 "$DIR/lock"
	lives
	pool_start
	old=$(status apps web workers '*' pid | sort)
	lives --at 0 --say nonsense
	sed -i "s,^command = {,& \"/usr/bin/flock\"\, \"-F\"\, \"$DIR/lock\"\,," \
	    "$DIR/pool.conf"
	hup
	await status_is 'given up' apps web rollout state
	assert_given_up nonsense 1
}

# Two workers without connections. Of the new generation the first exits at
# once, the next when the test says so, after ready_after. Shells read the file
# while they run: it is written once.
program_of_jobs() {
	cat >"$DIR/prog" <<-EOF
	#!/bin/sh
	[ "\$1" = old ] && exec sleep 600
	mkdir "$DIR/tried/first" 2>/dev/null && exit 3
	until [ -e "$DIR/tried/enough" ]; do sleep 0.02; done
	exit 3
	EOF
	chmod 755 "$DIR/prog"
}

# jobs GENERATION
jobs() {
	conf <<-EOF
	app "web" {
		handoff = none
		command = { "$DIR/prog", "$1" }
		min_processes = 2
		ready_after = 300ms
		restart_delay = 10ms
		start_limit = 3
	}
	EOF
}

testNoOldJobLeavesForANewOneThatMayFail() {
	mkdir -m 1777 "$DIR/tried"
	program_of_jobs
	jobs old
	pool_start
	old=$(status apps web workers '*' pid)
	jobs new
	hup
	await status_is 3 apps web idle
	assertEquals 'old ones that stay' 2 "$(still_there)"
	assertEquals running "$(status apps web state)"
	: >"$DIR/tried/enough"
	await status_is 'given up' apps web rollout state
	await status_is 2 apps web processes
	assertEquals 'old ones that stay' 2 "$(still_there)"
	assertEquals running "$(status apps web state)"
	assertFalse 'stopped' "grep -E 'resized|signal|SIGTERM' '$DIR/log'"
	rm -rf "$DIR/tried"
}

testABetterGenerationIsRolledOutAfterOneThatWasGivenUp() {
	given_up --exit-at-once 3
	lives --text better
	hup
	assertContains "$(status apps web last_failure)" 'status 3'
	await status_is null apps web rollout
	assertContains "$(web)" better
	await status_is 'null null' apps web last_failure,last_failure_age
	for pid in $old; do
		await is_gone "$pid"
	done
	await status_is 2 apps web idle
}

. tests/e2e/lib.sh
