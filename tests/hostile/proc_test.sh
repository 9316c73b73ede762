#!/bin/sh
# Processes in whose folder in /proc nobody can look a name up.

testAFrozenFolderInProcHoldsUpNeitherStatusNorAnotherApp() {
	is_root || { skip 'userfaultfd is for root'; return; }
	app_b | conf
	pool_start
	quiet_b
	{
		app_b
		printf '%s\n' 'user = root' 'max_memory = 1G' \
		    'update_interval = 1s' 'kill_timeout = 500ms' |
		    hostile evil freeze-proc "$TWORKER"
	} | conf
	reload
	await said 'evil: ready'
	watch_b
	rss=$(status apps evil workers 0 rss)
	assertTrue "rss $rss" "[ '$rss' -gt 0 ]"
	assert_b_is_served
	stops_well
	end_holders
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
