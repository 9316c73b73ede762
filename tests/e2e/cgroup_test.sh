#!/bin/sh
# A cgroup for each app: who is in it, what it limits and tells, and its end.
# What needs a controller is tried where there are some, as by tests/kernel.

. tests/e2e/cgroup_help.sh

# leaving: a job with a process in a session of its own, whose number is in
# $DIR/left.
leaving() {
	cat >"$DIR/leave" <<-EOF
	#!/bin/sh
	setsid sh -c 'echo \$\$ >"$DIR/left"; exec sleep 600' &
	exec sleep 600
	EOF
	chmod +x "$DIR/leave"
	printf 'handoff = none\nuser = root\n' | job back "$DIR/leave"
}

web_and_leaving() {
	app web
	leaving
}

has_left() {
	[ -s "$DIR/left" ] && ! is_gone "$(cat "$DIR/left")"
}

is_left_no_more() {
	is_gone "$left"
}

testEachAppHasACgroupWithAllItsProcesses() {
	can_group || return 0
	grouped 'min_processes = 2' app web
	assertEquals "$(status apps web workers '*' pid | sort)" \
	    "$(members web | sort)"
	assertContains "$(cat "$GROUP/daemon/cgroup.procs")" "$POOL"
	assertEquals 'in none of its own' '' "$(cat "$GROUP/cgroup.procs")"
	stops_well
	assertTrue 'removed' 'has_no_group web'
}

testAnUpgradeOfTheDaemonKeepsTheCgroups() {
	can_group || return 0
	grouped 'min_processes = 2' app web
	before=$(members web | sort)
	for _ in 1 2; do
		assertContains "$(ctl upgrade 2>&1)" 'upgraded from'
	done
	assertEquals "$before" "$(members web | sort)"
	ctl restart web >/dev/null
	assertNotEquals "$before" "$(members web | sort)"
	assertEquals "$(status apps web workers '*' pid | sort)" \
	    "$(members web | sort)"
	stops_well
	assertTrue 'removed' 'has_no_group web'
}

testAProgramIsInItsCgroupBeforeItRuns() {
	can_group || return 0
	printf '#!/bin/sh\ngrep ^0: /proc/self/cgroup >"%s"\nexec "%s"\n' \
	    "$DIR/first" "$TWORKER" >"$DIR/looks"
	chmod +x "$DIR/looks"
	grouped 'user = root' server web "$DIR/looks"
	assertEquals "0::${GROUP#"$HIERARCHY"}/app-web" \
	    "$(cat "$DIR/first")"
}

testWorkersOfATemplateAreInTheCgroupOfTheirApp() {
	can_group || return 0
	cp tests/e2e/workers/template.py "$DIR"
	mkdir -p "$DIR/marks/well"
	grouped 'template = true min_processes = 2' \
	    server web "$PYTHON" "$DIR/template.py" well "$DIR/marks/well"
	assertEquals "$({
		status apps web workers '*' pid
		status apps web template pid
	} | sort)" "$(members web | sort)"
	stops_well
	assertFalse 'it ends by itself' "said 'left behind'"
}

testAContainersDaemonTakesTheRootOfItsNamespace() {
	can_group || return 0
	unshare -C -m true 2>/dev/null || { skip 'needs namespaces'; return; }
	app web </dev/null | conf
	# shellcheck disable=SC2016 # in that shell
	run_by "$DIR/within" "$GROUP" unshare -C -m sh -c '
	    umount -nl /sys/fs/cgroup 2>/dev/null
	    mount -n -t cgroup2 none /sys/fs/cgroup && exec "$@"' sh
	ctl wait >/dev/null
	assertEquals "$(status apps web workers 0 pid)" "$(members web)"
}

testWhatAStoppedAppHasLeftBehindIsKilled() {
	can_group || return 0
	while read -r begin; do
		grouped '' web_and_leaving
		await has_left
		left=$(cat "$DIR/left")
		eval "$begin" >/dev/null
		await is_left_no_more
		await has_no_group back
		assertContains "$(web)" hello
		pool_stop
	done <<-'EOF'
	ctl stop -y back
	ctl drain back
	reloads '' app web
	EOF
	await said 'back: 1 process that it had left behind is killed'
}

testARestartedProcessLeavesWhatItWantsToLeave() {
	can_group || return 0
	grouped '' leaving
	await has_left
	left=$(cat "$DIR/left")
	ctl restart back >/dev/null
	assertFalse 'gone' "is_gone $left"
	assertContains "$(members back)" "$left"
	stops_well
	await is_gone "$left"
}

testAnAppIsStartedAgainInANewCgroup() {
	can_group || return 0
	grouped '' leaving
	ctl stop -y back >/dev/null
	await has_no_group back
	ctl start back >/dev/null
	await status_is running apps back state
	assertContains "$(members back)" "$(status apps back workers 0 pid)"
}

testGroupsOfADaemonThatWasKilledAreTakenOver() {
	can_group || return 0
	grouped '' web_and_leaving
	await has_left
	left=$(cat "$DIR/left")
	kill -KILL "$POOL"
	finish "$POOL"
	grouped '' web_and_leaving
	assertContains "$(web)" hello
	assertContains "$(members back)" "$left"
	kill -KILL "$POOL"
	finish "$POOL"
	grouped '' app web
	await is_gone "$left"
	await has_no_group back
}

testStatusAndMetricsTellWhatAnAppUses() {
	can_group || return 0
	grouped '' app web --cpu 50ms
	web >/dev/null
	await has_used 0.05
	ctl status -v >"$DIR/told"
	assertTrue "$(cat "$DIR/told")" \
	    "grep -q '^  cgroup: cpu [0-9.]*ms' '$DIR/told'"
	ctl metrics >"$DIR/told"
	assertTrue 'metrics' \
	    "grep -q '^apppool_cgroup_cpu_seconds_total{app=\"web\"} 0.[0-9]' \
	    '$DIR/told'"
}

# has_used SECONDS: whether the app web is told to have.
has_used() {
	used=$(status apps web cgroup cpu 2>/dev/null) &&
	    awk "BEGIN { exit !($used >= $1) }"
}

testAProcessKilledBySomebodyIsNotTakenForOneWithoutMemory() {
	can_group || return 0
	grouped '' app web
	kill -KILL "$(status apps web workers 0 pid)"
	await status_is '{"signal": 1}' apps web exits
}

testADaemonBesideOthersHasNoCgroups() {
	can_group || return 0
	start_process "$DIR/within" "$GROUP" sleep 600
	grouped 'memory_max = 1G' app web
	assertTrue "$(cat "$DIR/log")" "said 'apps have no cgroup of their own: \
$GROUP: other processes are in it, too'"
	assertTrue 'the option' "grep -q \"^$DIR/pool.conf:[0-9]*: app 'web': \
memory_max has no effect: .*, too (warning)$\" '$DIR/log'"
	assertTrue 'alone' 'has_no_group web'
	assertEquals null "$(status apps web cgroup)"
	ctl status -v >"$DIR/told"
	assertFalse 'told' "grep -q cgroup '$DIR/told'"
}

testARequiredCgroupThatIsNotThereIsAMistake() {
	can_group || return 0
	start_process "$DIR/within" "$GROUP" sleep 600
	{
		echo 'require_cgroup = true'
		echo 'cpu_max = 150' | app web
	} | conf
	run_by "$DIR/within" "$GROUP"
	finish "$POOL"
	assertEquals 78 "$RC"
	assertTrue "$(cat "$DIR/log")" "grep -q \"^$DIR/pool.conf:2: option \
'require_cgroup': apps can have no cgroup: $GROUP: other\" '$DIR/log'"
	assertTrue "$(cat "$DIR/log")" "grep -q \"^$DIR/pool.conf:[0-9]*: app \
'web': cpu_max has no effect: $GROUP: other\" '$DIR/log'"
}

testASecondDaemonTakesNoGroupOfTheFirst() {
	can_group || return 0
	grouped '' app web
	first=$(members web)
	sed "s,control.sock,second.sock,; s,web.sock,web2.sock," \
	    "$DIR/pool.conf" >"$DIR/second.conf"
	start_process "$DIR/within" "$GROUP" \
	    "$APPPOOLD" -c "$DIR/second.conf" >"$DIR/second" 2>&1
	await grep -q "no cgroup of their own: $GROUP: another apppoold has it" \
	    "$DIR/second"
	await test -S "$DIR/web2.sock"
	assertEquals "$first" "$(members web)"
}

testAReloadChangesLimitsInPlace() {
	can_group memory cpu pids || return 0
	grouped 'cpu_max = 150 tasks_max = 40' app web
	before=$(members web)
	assertEquals '150000 100000' "$(cat "$GROUP/app-web/cpu.max")"
	assertEquals 40 "$(cat "$GROUP/app-web/pids.max")"
	assertEquals max "$(cat "$GROUP/app-web/memory.max")"
	reloads 'memory_max = 64M memory_high = 48M cpu_weight = 7' app web
	assertTrue "$(cat "$DIR/told")" \
	    "grep -q 'web: changed in place' '$DIR/told'"
	assertEquals "$before" "$(members web)"
	await grep -q '^max' "$GROUP/app-web/cpu.max"
	await grep -qx max "$GROUP/app-web/pids.max"
	await grep -qx 7 "$GROUP/app-web/cpu.weight"
	assertEquals 67108864 "$(cat "$GROUP/app-web/memory.max")"
	assertEquals 50331648 "$(cat "$GROUP/app-web/memory.high")"
}

two_apps() {
	echo 'memory_max = 64M' | app web
	app other </dev/null
}

testTheKernelSaysWhomItHasKilledForWantOfMemory() {
	can_group memory || return 0
	grouped '' two_apps
	assertEquals 'no answer' '' "$(web 'grow 200' 2>/dev/null)"
	await status_is '{"oom": 1}' apps web exits
	await grep -q 'killed by signal 9 (SIGKILL) in a session of .* s for want of memory (oom)' \
	    "$DIR/log"
	await status_is 1 apps web idle
	kill -KILL "$(status apps web workers 0 pid)"
	await status_is '{"signal": 1, "oom": 1}' apps web exits
	await status_is 1 apps web cgroup oom_kills
	assertEquals 1 "$(status apps other spawned)"
	ctl metrics >"$DIR/told"
	assertTrue 'metrics' "grep -q \
	    '^apppool_cgroup_oom_kills_total{app=\"web\"} 1' '$DIR/told'"
	assertTrue 'memory' \
	    "grep -q '^apppool_cgroup_memory_bytes{app=\"web\"} ' '$DIR/told'"
	assertTrue 'pressure' "grep -q \
	    '^apppool_cgroup_memory_pressure_ratio{app=\"web\"} ' '$DIR/told'"
}

bomb_and_web() {
	job bomb "$DIR/bomb"
	app web </dev/null
}

testTasksMaxHoldsAForkBomb() {
	can_group pids || return 0
	cat >"$DIR/bomb" <<-'EOF'
	#!/bin/sh
	for i in $(seq 100); do sleep 600 & done
	exec sleep 600
	EOF
	chmod +x "$DIR/bomb"
	grouped 'handoff = none tasks_max = 20 user = root' bomb_and_web
	await holds_tasks 10
	assertTrue "$(members bomb | wc -l)" "[ $(members bomb | wc -l) -le 20 ]"
	assertContains "$(web)" hello
}

# holds_tasks COUNT: whether the bomb has so many at least.
holds_tasks() {
	[ "$(members bomb | wc -l)" -ge "$1" ]
}

testCpuMaxIsAPercentageOfOneProcessor() {
	can_group cpu || return 0
	grouped 'handoff = none user = root cpu_max = 30 min_processes = 2' \
	    job burner sh -c 'while :; do :; done'
	read -r begun _ </proc/uptime
	from=$(sed -n 's/^usage_usec //p' "$GROUP/app-burner/cpu.stat")
	sleep 5
	read -r ended _ </proc/uptime
	to=$(sed -n 's/^usage_usec //p' "$GROUP/app-burner/cpu.stat")
	share=$(awk "BEGIN { printf \"%d\", \
	    ($to - $from) / ($ended - $begun) / 10000 }")
	assertTrue "$share percent" "[ $share -ge 10 ] && [ $share -le 45 ]"
	await grep -qE 'some avg10=[1-9]' "$GROUP/app-burner/cpu.pressure"
	await is_pressed
}

is_pressed() {
	pressed=$(status apps burner cgroup cpu_pressure 2>/dev/null) &&
	    awk "BEGIN { exit !($pressed > 1) }"
}

. tests/e2e/lib.sh
