#!/bin/sh
# The start of a process: environment, identity, limits, folders.

file_setup() {
	mkdir -m 1777 "$DIR/seen"
	# A worker that first writes all there is to know about its process.
	cat >"$DIR/look" <<-EOF
	#!/bin/sh
	out=$DIR/seen/\$APPPOOL_SLOT
	umask >\$out.umask
	env >\$out.env
	pwd >\$out.pwd
	cat /proc/self/status >\$out.status
	cat /proc/self/limits >\$out.limits
	cut -d ' ' -f 19 /proc/self/stat >\$out.nice
	ls -l /proc/self/fd >\$out.fds
	cut -d ' ' -f 5,6 /proc/\$\$/stat >\$out.group
	exec "$TWORKER"
	EOF
	chmod 755 "$DIR/look"
}

# look LINE...: starts the daemon with an app that has these options.
look() {
	rm -f "$DIR/seen"/*
	printf '%s\n' "$@" | server web ./look | conf
	pool_start
}

# has NAME=VALUE: whether the first process had this in its environment.
has() {
	grep -qxF -e "$1" "$DIR/seen/0.env"
}

seen() {
	cat "$DIR/seen/0.$1"
}

# proc_status KEY
proc_status() {
	sed -n "s/^$1:[[:space:]]*//p" "$DIR/seen/0.status"
}

# soft_limit NAME
soft_limit() {
	sed -n "s/^$1 \{2,\}\([0-9a-z]*\) .*/\1/p" "$DIR/seen/0.limits"
}

hard_limit() {
	sed -n "s/^$1 \{2,\}[0-9a-z]* *\([0-9a-z]*\) .*/\1/p" \
	    "$DIR/seen/0.limits"
}

testWordsInBracesAreValuesOfEachProcess() {
	conf <<-'EOF'
	app "web" {
		handoff = none
		min_processes = 2
		ready_after = 50ms
		command = { sh, -c, 'echo "$0 $PORT {} {slot-1}"; exec sleep 1h',
		    "{app}:{slot+3100}" }
		environment = { "PORT={slot}" }
	}
	EOF
	pool_start
	await said 'web:3100 0 {} {slot-1}'
	await said 'web:3101 1 {} {slot-1}'
}

testTheWordsReachAProgramBehindAnAdapter() {
	starts 'handoff = stdio' server web echo '{app}' '{slot+3100}'
	assertEquals 'web 3100' "$(ask "unix:$DIR/web.sock" '')"
}

testTheEnvironmentIsTheDaemonsAndTheApps() {
	export FROM_THE_DAEMON='as it was'
	look 'environment = { "OF_THE_APP=a = b", "EMPTY=" }'
	unset FROM_THE_DAEMON
	assertTrue "has 'FROM_THE_DAEMON=as it was'"
	assertTrue "has 'OF_THE_APP=a = b'"
	assertTrue "has 'EMPTY='"
}

testAVariableOfTheAppReplacesTheDaemons() {
	export BOTH=daemon
	look 'environment = { "BOTH=app" }'
	unset BOTH
	assertTrue "has BOTH=app"
	assertEquals 1 "$(grep -c '^BOTH=' "$DIR/seen/0.env")"
}

testAClearedEnvironmentHasOnlyWhatIsWritten() {
	export FROM_THE_DAEMON=yes
	look 'clear_environment = true' 'environment = { "OWN=1" }'
	unset FROM_THE_DAEMON
	assertEquals 0 "$(grep -c FROM_THE_DAEMON "$DIR/seen/0.env")"
	assertTrue 'has OWN=1'
	assertEquals 1 "$(grep -c '^PATH=' "$DIR/seen/0.env")"
	assertTrue 'has APPPOOL_APP=web'
	# Leftovers of tests are found by their environment, which is cleared
	# here.
	pool_stop
}

testOptionsOfTheProcessAreInForce() {
	mkdir -p "$DIR/else/where"
	look 'directory = else/where' 'umask = 0137' 'nice = 7' \
	    'limit_nofile = 123' 'limit_core = 0' 'limit_cpu = 1h' \
	    'limit_nproc = 2000' 'no_new_privileges = true'
	assertEquals "$DIR/else/where" "$(seen pwd)"
	assertEquals 0137 "$(seen umask)"
	assertEquals 7 "$(seen nice)"
	assertEquals 123 "$(soft_limit 'Max open files')"
	assertEquals 123 "$(hard_limit 'Max open files')"
	assertEquals 0 "$(soft_limit 'Max core file size')"
	assertEquals 3600 "$(soft_limit 'Max cpu time')"
	assertEquals 2000 "$(soft_limit 'Max processes')"
	assertEquals 1 "$(proc_status NoNewPrivs)"
}

testWithoutOptionsTheDefaultsOfTheManualAreInForce() {
	before=$(umask)
	umask 0026
	look
	umask "$before"
	assertEquals 0026 "$(seen umask)"
	assertEquals "$DIR" "$(seen pwd)"
	assertEquals "$(sed -n 's/^NoNewPrivs:[^0-9]*//p' /proc/self/status)" \
	    "$(proc_status NoNewPrivs)"
	assertEquals 0000000000000000 "$(proc_status SigBlk)"
	assertEquals 0000000000000000 "$(proc_status SigIgn)"
	pid=$(status apps web workers 0 pid)
	assertEquals 'session and group' "$pid $pid" "$(seen group)"
	for each in APP=web PROTOCOL=1 FD=3 SLOT=0 \
	    "ID=$(status apps web workers 0 id)"; do
		assertTrue "$each" "has APPPOOL_$each"
	done
}

# A web server knows three ports and one more. The old processes take a moment to
# end, and the next replacement waits for the port of the last.
testARestartUsesOnePortMoreAndNoOther() {
	conf <<-'EOF'
	app "web" {
		handoff = none
		min_processes = 3
		ready_after = 50ms
		command = { sh, -c, 'trap "sleep 0.2; exit" TERM; echo "port $0"; while :; do sleep 0.05; done',
		    "{slot+3100}" }
	}
	EOF
	pool_start
	ctl restart web >/dev/null
	await status_is '{"restarted": 3}' apps web exits
	assertEquals '3100 3101 3102 3103' \
	    "$(sed -n 's/.*: port //p' "$DIR/log" | sort -u | xargs)"
}

testLivingProcessesShareNoSlot() {
	look 'min_processes = 5' 'restart_delay = 10ms'
	assertEquals '0 1 2 3 4' "$(status apps web workers '*' slot |
	    sort -n | xargs)"
	kill -KILL "$(status apps web workers 2 pid)"
	await status_is 6 apps web spawned
	await status_is 5 apps web idle
	assertEquals '0 1 2 3 4' "$(status apps web workers '*' slot |
	    sort -n | xargs)"
}

testLimitAsIsInForce() {
	[ "$SLOW" -eq 1 ] || {
		skip 'a sanitizer needs more address space than there is'
		return
	}
	look 'limit_as = 1G'
	assertEquals 1073741824 "$(soft_limit 'Max address space')"
}

# The daemon raises its own soft limit of descriptors, not that of its
# processes.
testTheDefaultLimitOfDescriptorsIsThatGivenToTheDaemon() {
	# shellcheck disable=SC3045 # dash has it, and bash
	soft=$(ulimit -Sn) hard=$(ulimit -Hn) && ulimit -Sn 300
	look
	# shellcheck disable=SC3045
	ulimit -Sn "$soft"
	assertEquals 300 "$(soft_limit 'Max open files')"
	assertEquals "$hard" "$(hard_limit 'Max open files')"
}

# Descriptor 3 or 4 is that of ls itself, for the folder.
testAProcessInheritsTheChannelAndTheOutputAlone() {
	exec 7</dev/null
	look
	exec 7<&-
	assertEquals '0 1 2 3 4' "$(sed -n \
	    's/.* \([0-9]*\) -> .*/\1/p' "$DIR/seen/0.fds" | sort -n | xargs)"
	assertEquals 1 "$(grep -c 'socket:' "$DIR/seen/0.fds")"
}

testProcessesOfAnOrdinaryUserRunAsThatUser() {
	if is_root; then
		skip 'root need not be asked'
		return
	fi
	look
	id=$(id -u)
	assertEquals "$id $id $id $id" "$(proc_status Uid | xargs)"
}

testAnOrdinaryUserCannotTakeAnotherIdentity() {
	if is_root; then
		skip 'root can'
		return
	fi
	conf_of 'user = root' app web
	"$APPPOOLD" -t -c "$DIR/pool.conf" >"$DIR/told" 2>&1
	assertEquals 78 $?
	assertContains "$(cat "$DIR/told")" user
}

# --- as root ------------------------------------------------------------

needs_root() {
	is_root || skip 'needs root'
	is_root
}

testTheDefaultUserOfRootIsNobody() {
	needs_root || return 0
	look
	nobody=$(id -u nobody)
	assertEquals "$nobody $nobody $nobody $nobody" \
	    "$(proc_status Uid | xargs)"
	assertEquals 0000000000000000 "$(proc_status CapEff)"
	assertEquals 0000000000000000 "$(proc_status CapPrm)"
	await said nobody
}

testUserAndGroupAreAsWritten() {
	needs_root || return 0
	look 'user = daemon' 'group = games'
	user=$(id -u daemon)
	group=$(getent group games | cut -d : -f 3)
	assertEquals "$user $user $user $user" "$(proc_status Uid | xargs)"
	assertEquals "$group $group $group $group" \
	    "$(proc_status Gid | xargs)"
	assertNotContains " $(proc_status Groups) " ' 0 '
	assertTrue 'has USER=daemon'
	assertTrue "has HOME=$(getent passwd daemon | cut -d : -f 6)"
}

testProcessesRunAsRootIfTheFileSaysSo() {
	needs_root || return 0
	look 'user = root'
	assertEquals '0 0 0 0' "$(proc_status Uid | xargs)"
}

testTwoAppsMayRunAsTwoUsers() {
	needs_root || return 0
	{
		echo 'user = daemon' | app one
		echo 'user = games' | app two
	} | conf
	pool_start
	assertEquals "$(id -u daemon)" \
	    "$(stat -c %u "/proc/$(status apps one workers 0 pid)")"
	assertEquals "$(id -u games)" \
	    "$(stat -c %u "/proc/$(status apps two workers 0 pid)")"
}

testTheOwnerOfASocketIsAsWritten() {
	needs_root || return 0
	starts 'socket_user = daemon socket_group = games socket_mode = 0620' \
	    app web
	assertEquals 'daemon games 620' "$(stat -c '%U %G %a' "$DIR/web.sock")"
}

testAChrootIsEntered() {
	needs_root || return 0
	root=$DIR/root
	mkdir -p "$root/dev"
	copy_into "$root" "$TWORKER"
	starts "chroot = \"$root\" directory = \"/bin\"" \
	    server web /bin/tworker --text inside
	assertContains "$(web)" inside
	pid=$(status apps web workers 0 pid)
	assert_link "$root" "/proc/$pid/root"
	assert_link "$root/bin" "/proc/$pid/cwd"
}

testAMissingDirectoryIsTheReasonOfTheFailure() {
	{
		app good </dev/null
		echo "directory = \"$DIR/nowhere\"" | app bad
	} | conf
	pool_run
	await status_is failed apps bad state
	assertContains "$(status apps bad last_failure)" "$DIR/nowhere"
	assertContains "$(ask "unix:$DIR/good.sock")" hello
}

. tests/e2e/lib.sh
