#!/bin/sh
# Templates that do what they should not: nobody else is harmed, and the app
# goes on.

. tests/e2e/template_help.sh

testATemplateThatBreaksItsPromisesIsReplaced() {
	each serves_despite <<-'END'
	is_ready_twice 'it broke the protocol'
	answers_twice 'it broke the protocol'
	answers_what_was_not_asked 'it broke the protocol'
	stammers 'it broke the protocol'
	sends_a_descriptor 'processes are started without it'
	shuts_its_socket 'has shut its socket'
	forks_once 'speaks and is no child of ours'
	has_a_child_speak 'speaks and is no child of ours'
	speaks_for_its_worker 'speaks for another one'
	END
}

has_failures() {
	[ "$(status apps web template failures)" -ge "$1" ]
}

# assert_unharmed WHAT PID: though a template names that process for a worker
# that is to be forked. The app has a template that is good.
assert_unharmed() {
	echo "$2" >"$DIR/named"
	before=$(status apps web template failures)
	rm -r "$DIR/marks/names_whom_a_file_names"
	first=$(template)
	kill -KILL "$first"
	await has_another_template "$first"
	for worker in $(workers); do
		kill -KILL "$worker"
	done
	# The ends of the killed worker, and of the template that named it.
	await has_failures $((before + 2))
	assertFalse "$1 lives" "is_gone $2"
	assertNotEquals "$1" '' "$(web)"
	await has_template
}

# The number of a keeper.
keeper() {
	for child in $(children "$POOL"); do
		! grep -qs keeper "/proc/$child/comm" || echo "$child"
	done | tail -n 1
}

testNobodyIsHarmedByBeingNamed() {
	behaving names_whom_a_file_names "$DIR/named" <<-EOF | conf
	start_timeout = $((2 * SLOW))s
	kill_timeout = 100ms
	min_server_life = 0
	}
	app "other" {
		listen = "unix:other.sock"
		command = "$TWORKER"
		template = true
	EOF
	mkdir "$DIR/marks/names_whom_a_file_names"
	pool_start
	assert_unharmed 'a worker' "$(status apps other workers 0 pid)"
	assert_unharmed 'a template' "$(status apps other template pid)"
	assert_unharmed 'the daemon' "$POOL"
	assert_unharmed 'a process of the test' $$
	assert_unharmed 'the first process' 1
	# A child of the daemon: that it does not speak is seen after a while.
	assert_unharmed 'a keeper' "$(keeper)"
	assertEquals 1 "$(status apps other spawned)"
	assert_accounts web
}

# Workers of such a template are given up when the next one is at work.
testATemplateIsNotBlamedForTheOneBeforeIt() {
	begins "start_timeout = $((2 * SLOW))s stop_timeout = 100ms
	    kill_timeout = 100ms" behaving forks_what_hangs_and_is_heard
	await has_template
	first=$(template)
	await test -d "$DIR/marks/forks_what_hangs_and_is_heard/heard"
	kill -KILL "$first"
	await has_another_template "$first"
	second=$(template)
	await said 'it was not ready within'
	assertNotEquals '' "$(web)"
	await come_from "$second"
	assertEquals 'the same template' "$second" "$(template)"
	assertEquals 1 "$(status apps web template failures)"
}

# The rest of a group ends with its leader: here with the template.
testWorkersInTheGroupOfTheirTemplateAreNoProblem() {
	starts 'min_processes = 2 max_processes = 2' behaving keeps_its_workers
	first=$(template)
	assertTrue 'workers of the template' "come_from $first"
	# shellcheck disable=SC2046 # numbers
	set -- $(workers)
	kill -KILL "$1"
	await said "(pid $1) killed"
	assertEquals 'the template lives' "$first" "$(template)"
	kill -KILL "$first"
	await has_another_template "$first"
	await is_gone "$2"
	assertNotEquals '' "$(web)"
	assert_accounts web
}

testATemplateThatDoesNotStopIsKilledAfterAReload() {
	starts 'kill_timeout = 100ms min_processes = 2' behaving does_not_stop
	first=$(template)
	sed -i 's/kill_timeout/environment = { "CHANGED=1" } &/' "$DIR/pool.conf"
	reload
	await is_gone "$first"
	await status_is null apps web rollout
	assertTrue 'workers of the new template' "come_from $(template)"
	assertEquals 0 "$(status apps web template failures)"
}

. tests/e2e/lib.sh
