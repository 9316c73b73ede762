#!/bin/sh
# Files whose change restarts an app: restart.txt, always_restart.txt, watch.

# web_conf [OPTION...]: app web of two processes, its options a line each.
web_conf() {
	{
		echo 'min_processes = 2'
		case $* in *max_processes*) ;; *) echo 'max_processes = 2' ;; esac
		printf '%s\n' "$@"
	} | app web | conf
}

workers() {
	status apps web workers '*' pid | sort
}

# are_replaced PID...: none of these processes is left, and two others are
# ready.
are_replaced() {
	[ "$(status apps web idle)" = 2 ] || return 1
	for pid; do
		is_gone "$pid" || return 1
	done
}

# restarts COMMAND...: asserts that this replaces all processes of the app.
restarts() {
	restarts_old=$(workers)
	restarts_said=$(times_said 'changed: restarting')
	"$@"
	await has_said $((restarts_said + 1)) 'changed: restarting'
	# shellcheck disable=SC2086 # numbers
	await are_replaced $restarts_old
}

# stays [RESTARTS]: asserts that the processes are the same after several looks
# at the files, which connections ask for, too.
stays() {
	stays_old=$(workers)
	for _ in 1 2; do
		web >/dev/null
		sleep 0.6
	done
	assertEquals 'processes' "$stays_old" "$(workers)"
	assertEquals 'restarts' "${1:-0}" "$(times_said 'changed: restarting')"
}

# create FILE: in one step; `touch` sets the time in a second one.
create() {
	: >"$1"
}

# watched: starts the daemon; returns when it has looked at all files.
watched() {
	pool_start -v
	await said 'web: its files are watched'
}

# Each test begins with an empty folder.
fresh() {
	rm -rf "$DIR/tmp" "$DIR/other" "$DIR/files"
	mkdir "$DIR/tmp"
}

# watching [OPTION...]: all of that.
watching() {
	fresh
	web_conf "$@"
	watched
}

# --- restart.txt --------------------------------------------------------

testANewRestartTxtReplacesTheProcesses() {
	watching
	restarts create "$DIR/tmp/restart.txt"
	assertTrue "said 'web: restart.txt changed: restarting'"
	stays 1
}

# The command asks for the files first.
testAWaitBehindATouchIsForThatRestart() {
	watching
	for round in 1 2 3; do
		old=$(workers)
		create "$DIR/tmp/restart.txt.$round"
		mv "$DIR/tmp/restart.txt.$round" "$DIR/tmp/restart.txt"
		assertContains "$round" "$(ctl wait)" ready
		assertEquals "$round" "$(times_said 'changed: restarting')"
		assertNotContains "$round" "$old" "$(pid_of "$(web)")"
	done
}

testATouchedRestartTxtRestartsAgain() {
	fresh
	touch "$DIR/tmp/restart.txt"
	web_conf
	watched
	restarts touch "$DIR/tmp/restart.txt"
	# An older time is another time.
	restarts touch -d '2001-02-03' "$DIR/tmp/restart.txt"
	stays 2
}

testARestartTxtReplacedByAFileOfTheSameTimeRestarts() {
	fresh
	touch -d '2001-02-03' "$DIR/tmp/restart.txt" "$DIR/tmp/other"
	web_conf
	watched
	restarts mv "$DIR/tmp/other" "$DIR/tmp/restart.txt"
}

testARemovedRestartTxtDoesNotRestartAndItsReturnDoes() {
	fresh
	mkdir "$DIR/files"
	touch "$DIR/tmp/restart.txt"
	web_conf 'watch = "files/probe"'
	watched
	before=$(workers)
	mv "$DIR/tmp/restart.txt" "$DIR/tmp/away"
	looked
	assertEquals 'processes' "$before" "$(workers)"
	assertEquals 'restarts' 0 "$(times_said 'changed: restarting')"
	restarts mv "$DIR/tmp/away" "$DIR/tmp/restart.txt"
}

# looked: returns when all files have been looked at since: a probe cannot be
# seen for one reason, and in a later look for another.
looked() {
	ln -s probe "$DIR/files/probe"
	await said 'files/probe changes: Too many levels'
	ln -s "$(printf '%0300d' 0)" "$DIR/files/next"
	mv -T "$DIR/files/next" "$DIR/files/probe"
	await said 'files/probe changes: File name too long'
}

make_restart_dir() {
	mkdir "$DIR/tmp"
	create "$DIR/tmp/restart.txt"
}

testARestartDirMadeLaterIsSeenWithoutAConnection() {
	fresh
	rmdir "$DIR/tmp"
	web_conf
	watched
	accepted=$(status apps web accepted)
	restarts make_restart_dir
	restarts touch "$DIR/tmp/restart.txt"
	assertEquals "$accepted" "$(status apps web accepted)"
}

# The folder is another one after that, and the former is of no interest.
testARestartDirThatIsReplacedIsWatchedOn() {
	watching
	mv "$DIR/tmp" "$DIR/other"
	mkdir "$DIR/tmp"
	restarts create "$DIR/tmp/restart.txt"
	create "$DIR/other/restart.txt"
	stays 1
}

# are_left PID...: whether any of these processes is left.
are_left() {
	for pid; do
		is_gone "$pid" || return 0
	done
	return 1
}

# New processes are ready before old ones leave, however long that takes.
testARestartKeepsAllProcessesReady() {
	fresh
	echo 'min_processes = 2' | app web --start-delay 400ms | conf
	watched
	old=$(workers)
	create "$DIR/tmp/restart.txt"
	fewest=2
	end=$(($(now_ms) + LIMIT * 1000))
	# shellcheck disable=SC2086 # numbers
	while are_left $old && [ "$(now_ms)" -lt "$end" ]; do
		ready=$(status apps web idle)
		[ "$ready" -ge "$fewest" ] || fewest=$ready
	done
	assertEquals 2 "$fewest"
	# shellcheck disable=SC2086 # numbers
	! are_left $old || fail 'old processes are left'
	await said 'changed: restarting'
	assertEquals 1 "$(times_said 'changed: restarting')"
}

testRestartTxtReplacesJobWorkers() {
	fresh
	conf_of 'handoff = none min_processes = 2 ready_after = 50ms' \
	    job web sleep 1000
	watched
	restarts create "$DIR/tmp/restart.txt"
}

testRestartTxtStartsAFailedAppAgain() {
	fresh
	printf '#!/bin/sh\nexit 1\n' >"$DIR/program"
	chmod 755 "$DIR/program"
	conf_of 'min_processes = 2 start_limit = 1' server web "$DIR/program"
	pool_run -v
	await said 'web: its files are watched'
	await status_is failed apps web state
	# The file is a new one: the old one may still be about to be executed.
	printf '#!/bin/sh\nexec %s\n' "$TWORKER" >"$DIR/better"
	chmod 755 "$DIR/better"
	mv "$DIR/better" "$DIR/program"
	create "$DIR/tmp/restart.txt"
	await status_is running apps web state
	assertContains "$(web)" hello
}

# --- always_restart.txt -------------------------------------------------

# asked N: asks so many times; the processes that answered are in $ASKED.
asked() {
	ASKED=
	for _ in $(seq "$1"); do
		asked_answer=$(web)
		assertContains "$asked_answer" hello
		ASKED="$ASKED $(pid_of "$asked_answer")"
	done
}

distinct() {
	# shellcheck disable=SC2086 # numbers
	printf '%s\n' $1 | sort -u | wc -l
}

testAlwaysRestartTxtGivesEachConnectionAProcessOfItsOwn() {
	watching
	old=$(workers)
	touch "$DIR/tmp/always_restart.txt"
	await said 'web: always_restart.txt is there'
	asked 8
	assertEquals 8 "$(distinct "$ASKED")"
	for pid in $old; do
		assertNotContains " $ASKED " " $pid "
	done
	assertEquals 0 "$(status apps web lost)"

	rm "$DIR/tmp/always_restart.txt"
	await said 'web: always_restart.txt is gone'
	asked 8
	assertTrue "$ASKED" "[ $(distinct "$ASKED") -le 2 ]"
	assert_accounts web
}

# --- watch --------------------------------------------------------------

testAWatchedFileThatChangesRestarts() {
	fresh
	mkdir "$DIR/files"
	touch "$DIR/files/version" "$DIR/files/settings"
	web_conf 'watch = { "files/version", "files/settings" }'
	watched
	restarts touch "$DIR/files/settings"
	assertTrue "said 'web: $DIR/files/settings changed: restarting'"
	echo 2 >"$DIR/files/new"
	restarts mv "$DIR/files/new" "$DIR/files/version"
	stays 2
}

testAWatchedLinkThatLeadsElsewhereRestarts() {
	fresh
	mkdir "$DIR/files" "$DIR/files/1" "$DIR/files/2"
	ln -s 1 "$DIR/files/current"
	web_conf 'watch = "files/current"' 'restart_dir = ""'
	watched
	ln -s 2 "$DIR/files/next"
	restarts mv -T "$DIR/files/next" "$DIR/files/current"
}

testAWatchedFileMayBeMissing() {
	watching 'watch = "files/version"'
	stays
	mkdir "$DIR/files"
	restarts create "$DIR/files/version"
	rm -r "$DIR/files"
	stays 1
}

# switches: how often the thread of the loop has slept and been woken.
switches() {
	awk '/^voluntary_ctxt/ { print $2 }' "/proc/$POOL/task/$POOL/status"
}

# All of them are looked at in one wakeup.
testManyAppsWithFilesLetTheDaemonSleep() {
	fresh
	touch "$DIR/tmp/restart.txt"
	for n in $(seq 40); do
		echo 'min_processes = 0' | app "a$n"
	done | conf
	pool_start -v
	await said 'a40: its files are watched'
	before=$(switches)
	sleep 3
	times=$(($(switches) - before))
	assertTrue "$times times" "[ $times -lt 15 ]"
}

# --- the options --------------------------------------------------------

testAnEmptyRestartDirSeesNoRestartTxt() {
	fresh
	web_conf 'restart_dir = ""'
	pool_start
	touch "$DIR/tmp/restart.txt"
	stays
}

testRestartDirIsWithinTheDirectoryOfTheApp() {
	fresh
	mkdir "$DIR/other" "$DIR/other/run"
	web_conf 'directory = other' 'restart_dir = run'
	watched
	touch "$DIR/tmp/restart.txt"
	stays
	restarts create "$DIR/other/run/restart.txt"
}

testRestartDirIsInTheRootOfTheApp() {
	is_root || { skip 'needs root'; return; }
	fresh
	root=$DIR/root
	mkdir -p "$root/run"
	copy_into "$root" "$TWORKER"
	conf_of "min_processes = 2 chroot = \"$root\" restart_dir = run" \
	    server web /bin/tworker
	watched
	restarts create "$root/run/restart.txt"
}

testFilesThatAReloadBringsAreNotNew() {
	fresh
	mkdir "$DIR/other"
	touch "$DIR/other/restart.txt"
	web_conf
	watched
	web_conf 'restart_dir = other'
	assertTrue "ctl reload >/dev/null"
	await has_said 2 'web: its files are watched'
	touch "$DIR/tmp/restart.txt"
	stays
	restarts touch "$DIR/other/restart.txt"
}

testAReloadOfOtherOptionsKeepsAChangeThatIsNotSeenYet() {
	watching
	web_conf 'max_processes = 5' 'restart_dir = tmp'
	touch "$DIR/tmp/restart.txt"
	assertTrue "ctl reload >/dev/null"
	await said 'web: restart.txt changed: restarting'
}

testAReloadWithoutRestartDirEndsAlwaysRestart() {
	fresh
	touch "$DIR/tmp/always_restart.txt"
	web_conf
	pool_start
	await said 'web: always_restart.txt is there'
	asked 4
	assertEquals 4 "$(distinct "$ASKED")"
	web_conf 'restart_dir = ""'
	assertTrue "ctl reload >/dev/null"
	asked 8
	assertTrue "$ASKED" "[ $(distinct "$ASKED") -le 2 ]"
}

# --- what goes wrong ----------------------------------------------------

testAFileThatCannotBeSeenIsLoggedOnce() {
	fresh
	ln -s restart.txt "$DIR/tmp/restart.txt"
	web_conf
	pool_start
	await said 'web: cannot see whether restart.txt changes: Too many levels'
	stays
	assertEquals 1 "$(times_said 'cannot see')"
}

# dead_mount: a file system without answers, at $DIR/dead.
dead_mount() {
	mkdir -p "$DIR/dead"
	: >"$DIR/dead.out"
	"$PYTHON" -c '
import ctypes, os, sys, time
fuse = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fuse
if libc.mount(b"dead", sys.argv[1].encode(), b"fuse", 0, options) != 0:
    sys.exit(1)
print("mounted", flush=True)
time.sleep(600)' "$DIR/dead" >"$DIR/dead.out" 2>&1 &
	DEAD=$!
	PIDS="$PIDS $DEAD"
	wait_for "$LIMIT" dead_is_decided && grep -q mounted "$DIR/dead.out"
}

dead_is_decided() {
	grep -q mounted "$DIR/dead.out" || is_gone "$DEAD"
}

testADeadFileServerHoldsUpNoApp() {
	if ! is_root || ! dead_mount; then
		skip 'needs root and fuse'
		return
	fi
	fresh
	# A sanitizer that looks for leaks waits for threads that are stuck.
	ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
	{
		app web <<-EOF
		min_processes = 2
		EOF
		app dead <<-EOF
		min_processes = 2
		restart_dir = dead
		EOF
	} | conf
	pool_start
	# Both apps serve, start and end processes; the other sees its files.
	assertContains "$(ask "unix:$DIR/dead.sock")" hello
	pid=$(status apps dead workers 0 pid)
	kill -KILL "$pid"
	await is_gone "$pid"
	await status_is 2 apps dead idle
	restarts create "$DIR/tmp/restart.txt"
	for _ in 1 2 3; do
		sleep 0.6
		assertContains "$(ask "unix:$DIR/dead.sock")" hello
	done
	# No more than one look of the app is under way.
	lookers=$(cat "/proc/$POOL/task/"*/comm | grep -c looker)
	assertTrue "$lookers threads" "[ $lookers -le 2 ]"
	stops_well
	ASAN_OPTIONS=${ASAN_OPTIONS%:*}
	stop_process "$DEAD"
	umount -l "$DIR/dead"
}

. tests/e2e/lib.sh
