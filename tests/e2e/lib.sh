# shellcheck shell=sh
#
# The last line of every test file is `. tests/e2e/lib.sh`. A file defines
# tests, and file_setup() and file_teardown() if it wants; it uses no set -e
# or -u, no trap, no exit, and no assert in a subshell or behind a pipe, for
# shunit2 would not see it. The current folder is the top of the tree.
#
# A test has a folder $DIR for its file, that others can enter and that is
# removed in the end. What was started in a test is killed after it, what in
# file_setup() after the last.

BUILD=${BUILD:-build} BIN=${BIN:-.} SLOW=${SLOW:-1}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
case $BIN in /*) ;; *) BIN=$PWD/$BIN ;; esac
APPPOOLD=$BIN/apppoold
APPPOOLCTL=$BIN/apppoolctl
PYTHON=/usr/bin/python3

# Seconds in which what should come at once has come.
LIMIT=$((10 * SLOW))

# ---------------------------------------------------------------- waiting

# wait_for SECONDS COMMAND...: until it succeeds; 1 if it does not in time.
wait_for() {
	read -r up_now _ </proc/uptime
	wait_end=$((${up_now%.*} + $1)).${up_now#*.}
	shift
	until "$@"; do
		read -r up_now _ </proc/uptime
		is_earlier "$up_now" "$wait_end" || return 1
		sleep 0.01
	done
}

# Seconds with two digits behind the point; no process is needed to compare.
is_earlier() {
	[ "${1%.*}${1#*.}" -lt "${2%.*}${2#*.}" ]
}

# await COMMAND...: the same within $LIMIT; a failed assert if it does not.
await() {
	wait_for "$LIMIT" "$@" || fail "not within $LIMIT s: $*"
}

# Whether nothing runs under the number; one not yet waited for does not run.
is_gone() {
	! read -r stat_line 2>/dev/null <"/proc/$1/stat" && return
	case ${stat_line##*) } in [ZX]*) return 0 ;; *) return 1 ;; esac
}

# The same, but if it is one of start_process, whose number may be another's once
# it has been waited for, it must be our child, too.
is_over() {
	is_gone "$1" && return
	case " $CHILDREN " in *" $1 "*) ;; *) return 1 ;; esac
	# shellcheck disable=SC2086 # state, parent, ...
	set -- ${stat_line##*) }
	[ "$2" -ne $$ ]
}

# now_ms: milliseconds, for differences.
now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# ---------------------------------------------------------------- processes

# start_process COMMAND...: in the background, to be killed in the end. Its
# number is in $STARTED.
start_process() {
	"$@" &
	STARTED=$!
	PIDS="$PIDS $STARTED"
	CHILDREN="$CHILDREN $STARTED"
}

# stop_process PID...: whatever it takes.
stop_process() {
	for pid; do
		is_over "$pid" || kill -TERM "$pid" 2>/dev/null
	done
	for pid; do
		wait_for $((5 * SLOW)) is_over "$pid" || kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
}

# pause_process PID...: until each has come to a stop; before that it could still
# receive something.
pause_process() {
	kill -STOP "$@"
	for pid; do
		await is_suspended "$pid"
	done
}

is_suspended() {
	grep -q '^State:.T' "/proc/$1/status"
}

# finish PID: waits for a process of ours to end, its exit status in $RC.
finish() {
	if wait_for "${2:-$LIMIT}" is_over "$1"; then
		wait "$1"
		RC=$?
	else
		RC=running
	fi
}

# How many descriptors a process has open.
fds() {
	set -- "/proc/$1/fd"/*
	echo $#
}

# rss PID: the resident size of a process, in KiB.
rss() {
	awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"
}

# take PATH: a process of another program listens there; it is $STARTED.
take() {
	start_process "$PYTHON" -c '
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + ".new")
s.listen()
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)' "$1"
	await test -S "$1"
}

# take_port PORT: a process of another program listens there; it is $STARTED.
take_port() {
	start_process "$PYTHON" -c '
import socket, sys, time
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
open(sys.argv[2], "w")
time.sleep(3600)' "$1" "$DIR/taken"
	await test -e "$DIR/taken"
}

# children PID: the numbers of its children, zombies included.
children() {
	cat "/proc/$1/task/"*/children 2>/dev/null
}

# counter_pid: the number of the daemon's counter.
counter_pid() {
	for child in $(children "$POOL"); do
		tr '\0' ' ' <"/proc/$child/cmdline" |
		    grep -q '^apppoold: counter' && echo "$child"
	done
}

# Nanoseconds of processor that all threads of a process have used.
cpu_of() {
	cat "/proc/$1/task/"*/schedstat | awk '{ ns += $1 } END { printf "%.0f\n", ns }'
}

zombies() {
	for pid in $(children "$1"); do
		grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null && echo "$pid"
	done
}

no_zombies() {
	[ -z "$(zombies "$POOL")" ]
}

# has_fds MOST: whether the daemon has no more open.
has_fds() {
	[ "$(fds "$POOL")" -le "$1" ]
}

# Whatever runs that descends from what this file started, by its environment;
# grep and sed get another one.
leftovers() {
	APPPOOL_TEST='' grep -lazF "APPPOOL_TEST=$DIR" /proc/[0-9]*/environ \
	    2>/dev/null | APPPOOL_TEST='' sed 's,^/proc/\([0-9]*\)/.*,\1,'
}

no_leftovers() {
	[ -z "$(leftovers)" ]
}

# ---------------------------------------------------------------- the daemon

# conf: the configuration, from stdin; the control socket is added.
conf() {
	{
		echo "control = \"$DIR/control.sock\""
		cat
	} >"$DIR/pool.conf"
}

# quoted WORD...: as a list for pool.conf.
quoted() {
	quoted_words=
	for word; do
		quoted_words="$quoted_words${quoted_words:+, }\"$word\""
	done
	printf '{ %s }\n' "$quoted_words"
}

# app NAME [OPTION-OF-tworker...]: an app at $DIR/NAME.sock, for conf; what
# else it has comes from stdin.
app() {
	app_name=$1
	shift
	server "$app_name" "$TWORKER" "$@"
}

# server NAME COMMAND...: the same of another program; job: without a socket.
server() {
	printf 'app "%s" {\nlisten = "unix:%s.sock"\n' "$1" "$1"
	shift
	printf 'command = %s\n' "$(quoted "$@")"
	cat
	echo '}'
}

job() {
	server "$@" | sed 2d
}

# pool_run [OPTION...]: starts the daemon; returns when it answers. Its number
# is in $POOL, what it says in $DIR/log.
pool_run() {
	start_process "$APPPOOLD" -c "$DIR/pool.conf" "$@" \
	    >>"$DIR/log" 2>&1 </dev/null
	POOL=$STARTED
	wait_for "$LIMIT" pool_answers_or_ends
	pool_answers || fail "the daemon does not answer"
}

# run_by COMMAND...: the same of a daemon that this command executes.
run_by() {
	start_process "$@" "$APPPOOLD" -c "$DIR/pool.conf" \
	    >>"$DIR/log" 2>&1 </dev/null
	POOL=$STARTED
	wait_for "$LIMIT" pool_answers_or_ends
}

# pool_start [OPTION...]: ... and when all apps are ready.
pool_start() {
	pool_run "$@"
	ctl wait >"$DIR/wait" 2>&1 || fail "not ready: $(cat "$DIR/wait")"
}

# starts OPTIONS COMMAND...: the daemon, with what COMMAND (`app web`, say) writes
# for these options.
starts() {
	conf_of "$@"
	pool_start
}

# begins OPTIONS COMMAND...: the same, but not all apps may become ready.
begins() {
	conf_of "$@"
	pool_run
}

# reload: to the configuration that is there now.
reload() {
	ctl reload >"$DIR/told" 2>&1 || fail "$(cat "$DIR/told")"
}

# reloads OPTIONS COMMAND...: to that of `starts`.
reloads() {
	conf_of "$@"
	reload
}

# with LINE COMMAND...: what COMMAND writes, behind a line of the daemon's.
with() {
	echo "$1"
	shift
	"$@"
}

# conf_of OPTIONS COMMAND...: that configuration; each option has a line, where a
# test may change it.
conf_of() {
	options_given=$1
	shift
	echo "$options_given" |
	    sed 's/[[:space:]]\{1,\}\([a-z_]\{1,\} +\{0,1\}= \)/\n\1/g' |
	    "$@" | conf
}

pool_answers() {
	status pid >/dev/null 2>&1
}

pool_answers_or_ends() {
	pool_answers || is_gone "$POOL"
}

# pool_stop [SIGNAL]: its exit status is in $RC.
pool_stop() {
	kill -"${1:-TERM}" "$POOL" 2>/dev/null
	finish "$POOL"
	[ "$RC" != running ] || fail "the daemon does not stop"
}

# ends_well: the daemon has been told to end; stops_well: it is now.
ends_well() {
	finish "$POOL"
	assertEquals 0 "$RC"
}

stops_well() {
	pool_stop
	assertEquals 0 "$RC"
}

ctl() {
	timeout "$((3 * LIMIT))" "$APPPOOLCTL" -s "$DIR/control.sock" "$@"
}

# said TEXT: whether the daemon's log has it.
said() {
	grep -qF -e "$1" "$DIR/log"
}

# times_said TEXT: how many lines of the log have it.
times_said() {
	grep -cF -e "$1" "$DIR/log"
}

# has_said TIMES TEXT: that often, at least.
has_said() {
	[ "$(times_said "$2")" -ge "$1" ]
}

# status KEY...: a value of `status -j`: a word is a key, the name of an app,
# or a place in a list; * is all, a line each. `status apps web workers '*' pid`
# With commas it is several values: `status apps web accepted,completed`
status() {
	"$BUILD/tests/e2e/look" "$DIR/control.sock" "$LIMIT" "$@"
}

# status_is VALUE KEY...: for await.
status_is() {
	status_wanted=$1
	shift
	[ "$(status "$@" 2>/dev/null)" = "$status_wanted" ]
}

# assert_accounts APP: every connection is somewhere, once.
assert_accounts() {
	# shellcheck disable=SC2046 # numbers
	set -- "$1" $(status apps "$1" accepted,completed,refused,timed_out,\
abandoned,lost,waiting,sessions,parked)
	assertEquals "places in the accounts of $1" 10 $#
	assertEquals "accounts of $1" "$2" \
	    $(($3 + $4 + $5 + $6 + $7 + $8 + $9 + ${10}))
}

# assert_none_lost [APP]: nor turned away.
assert_none_lost() {
	for key in lost refused timed_out; do
		assertEquals "$key" 0 "$(status apps "${1:-web}" "$key")"
	done
}

# each COMMAND...: with the words of each line of the standard input; what a line
# has started does not live to see the next one. The test is skipped if all are.
each() {
	each_skipped=$SKIPPED each_left=0
	# shellcheck disable=SC2154 # shunit2's count
	while read -r each_row <&9; do
		each_failed=$__shunit_assertsFailed each_pids=$PIDS PIDS=''
		each_before=$SKIPPED
		: >"$DIR/log"
		rm -rf "$DIR/gates"
		{ eval "$* $each_row"; } 9<&-
		[ "$__shunit_assertsFailed" -eq "$each_failed" ] ||
		    echo "failed: $each_row"
		[ "$SKIPPED" -ne "$each_before" ] || each_left=1
		# shellcheck disable=SC2086 # numbers
		stop_process $PIDS
		PIDS=$each_pids
	done 9<&0 </dev/null
	SKIPPED=$((each_skipped + 1 - each_left))
}

# ---------------------------------------------------------------- clients

# ask ADDRESS [TEXT [OPTION...]]: what the worker answers (see ask.c).
ask() {
	ask_to=$1 ask_text=${2:-hello}
	shift
	[ $# -eq 0 ] || shift
	"$BUILD/tests/e2e/ask" --to "$ask_to" --text "$ask_text" \
	    --timeout "$LIMIT" "$@"
}

# web [TEXT [OPTION...]]: asks the app of that name.
web() {
	ask "unix:$DIR/web.sock" "$@"
}

# ask_behind TEXT [APP]: in the background; returns when a worker has it.
# `behind` waits for the answer, which is then in $ANSWER.
ask_behind() {
	set -- "$1" "${2:-web}"
	behind_given=$(given "$2") || fail "no status of $2"
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/$2.sock" \
	    --text "$1" --timeout $((3 * LIMIT)) >"$DIR/behind" 2>&1
	BEHIND=$STARTED
	await are_given $((behind_given + 1)) "$2"
}

# given APP: how many connections its processes have been given so far.
given() {
	# shellcheck disable=SC2046 # numbers
	set -- $(status apps "$1" sessions,completed,lost)
	[ $# -eq 3 ] && echo $(($1 + $2 + $3))
}

are_given() {
	given_now=$(given "$2") && [ "$given_now" -ge "$1" ]
}

behind() {
	finish "$BEHIND" $((3 * LIMIT))
	# shellcheck disable=SC2034 # for the test
	ANSWER=$(cat "$DIR/behind")
}

# gate NAME: a request that tworker stays with until `open_gate NAME`. One that
# stays has received its connection: its number is among `at_gate NAME`.
gate() {
	[ -d "$DIR/gates" ] || mkdir -m 1777 "$DIR/gates"
	echo "gate $DIR/gates/$1"
}

at_gate() {
	for place in "$DIR/gates/$1".*; do
		[ ! -d "$place" ] || echo "${place##*.}"
	done
}

is_at_gate() {
	[ -n "$(at_gate "$1")" ]
}

open_gate() {
	: >"$DIR/gates/$1"
}

# hold_at NAME [APP]: ask_behind; returns when the worker is at that gate.
hold_at() {
	ask_behind "$(gate "$1")" "${2:-web}"
	await is_at_gate "$1"
}

# occupy NAME [COUNT [APP]]: so many clients who say nothing, and so keep a
# process busy each, until `dismiss NAME`, which puts what they are told into
# $ANSWERS, a line each.
occupy() {
	start_process "$PYTHON" tests/e2e/occupy.py \
	    "$DIR/${3:-web}.sock" "${2:-1}" >"$DIR/occupied.$1" 2>&1
	echo "$STARTED" >"$DIR/occupier.$1"
	await grep -q '^connected$' "$DIR/occupied.$1"
}

dismiss() {
	occupier=$(cat "$DIR/occupier.$1")
	kill -USR1 "$occupier"
	finish "$occupier"
	# shellcheck disable=SC2034 # for the test
	ANSWERS=$(sed 1d "$DIR/occupied.$1")
}

# The number of the process that gave an answer.
pid_of() {
	echo "${1%% *}"
}

flood() {
	"$BUILD/tests/e2e/flood" "$@"
}

# floods OPTION...: all goes as the options want it; the figures are in
# $DIR/flood.
floods() {
	flood "$@" >"$DIR/flood" 2>&1
	assertEquals "$(cat "$DIR/flood")" 0 $?
}

# flood_behind OPTION...: the same in the background, until flood_ends.
flood_behind() {
	start_process "$BUILD/tests/e2e/flood" "$@" >"$DIR/flood" 2>&1
	FLOOD=$STARTED
}

flood_ends() {
	finish "$FLOOD" $((6 * LIMIT))
	assertEquals "$(cat "$DIR/flood")" 0 "$RC"
}

# socket_client ADDRESS LINE...: Python with `s`, a connected socket, and read(), which
# gives all up to the end of the stream.
socket_client() {
	client_to=$1
	shift
	printf '%s\n' "$@" | "$PYTHON" -c '
import os, socket, struct, sys, time
host, port = sys.argv[1].rsplit(":", 1)
if host == "unix":
    s = socket.socket(socket.AF_UNIX)
    s.connect(port)
else:
    s = socket.create_connection((host, int(port)))
s.settimeout(float(sys.argv[2]))
def read():
    got = b""
    while part := s.recv(65536):
        got += part
    return got
exec(sys.stdin.read())' "$client_to" "$LIMIT"
}

http_get() {
	curl -sS --max-time "$LIMIT" "$@"
}

# A TCP port nobody has, nor is given for a connection that it makes.
free_port() {
	"$PYTHON" -c '
import random, socket
with open("/proc/sys/net/ipv4/ip_local_port_range") as given:
    first = max(int(given.read().split()[0]), 20000)
while True:
    try:
        with socket.socket() as s:
            s.bind(("", random.randrange(10000, first)))
            print(s.getsockname()[1])
            break
    except OSError:
        pass'
}

# ---------------------------------------------------------------- shunit2

# skip REASON: this test cannot be tried here. `skip "needs root"; return`
skip() {
	SKIPPED=$((SKIPPED + 1))
	# shellcheck disable=SC2154 # shunit2's name for it
	echo "skip $_shunit_test_: $1"
}

is_root() {
	[ "$(id -u)" -eq 0 ]
}

# copy_into ROOT PROGRAM: with its libraries, for a chroot.
copy_into() {
	copy_root=$1
	shift
	mkdir -p "$copy_root/bin"
	cp "$1" "$copy_root/bin"
	ldd "$1" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$copy_root${library%/*}"
		cp "$library" "$copy_root$library"
	done
}

# has_capability NUMBER: of linux/capability.h; root of a container has few.
has_capability() {
	capabilities=$(sed -n 's/^CapEff:[[:space:]]*/0x/p' /proc/self/status)
	[ $((capabilities >> $1 & 1)) -eq 1 ]
}

# may_open COUNT: whether a process may have so many descriptors.
may_open() {
	# shellcheck disable=SC3045 # dash has it
	open_most=$(ulimit -Hn)
	[ "$open_most" = unlimited ] || [ "$open_most" -ge "$1" ]
}

# queue_of COUNT: for max_queue, or what descriptors allow beside all else.
queue_of() {
	if may_open $(($1 + 300)); then echo "$1"; else echo 350; fi
}

# Whether we may look into processes of other users: CAP_SYS_PTRACE.
sees_others() {
	! is_root || has_capability 19
}

# assert_link WANTED LINK: where one of /proc leads, if we may see it.
assert_link() {
	link_seen=$(readlink "$2")
	if [ -n "$link_seen" ] || sees_others; then
		assertEquals "$1" "$link_seen"
	fi
}

# Whether somebody can listen at ::1.
has_ipv6() {
	grep -qs '^0\{31\}1 ' /proc/net/if_inet6
}

oneTimeSetUp() {
	PIDS='' CHILDREN='' SKIPPED=0
	DIR=$(mktemp -d) && chmod 755 "$DIR" || return
	# Workers may run as nobody, who may not be able to enter this tree.
	TWORKER=$DIR/tworker
	[ ! -d "$BUILD/tests" ] || cp "$BUILD/tests/e2e/workers/tworker" "$TWORKER"
	mkdir -m 1777 "$DIR/reports"
	export APPPOOL_TEST="$DIR"
	# The library of apppool-accept is loaded before that of ASan.
	export ASAN_OPTIONS="verify_asan_link_order=0:log_path=$DIR/reports/asan"
	export UBSAN_OPTIONS="log_path=$DIR/reports/ubsan:print_stacktrace=1"
	: >"$DIR/log"
	if type file_setup >/dev/null 2>&1; then file_setup; fi
	FILE_PIDS=$PIDS PIDS=''
}

# Each test has a log and gates of its own.
setUp() {
	: >"$DIR/log"
	[ ! -d "$DIR/gates" ] || rm -rf "$DIR/gates"
	# shellcheck disable=SC2154 # shunit2's count
	FAILED_BEFORE=$__shunit_assertsFailed
}

# Prints findings of sanitizers; true if there are any. A process
# that is killed in its last check leaves a report that finds nothing.
print_reports() {
	reported=1
	for report in "$DIR"/reports/*; do
		[ -e "$report" ] || continue
		if grep -qE 'ERROR: |runtime error: ' "$report"; then
			cat "$report"
			reported=0
		fi
		rm -f "$report"
	done
	return $reported
}

# Whether the test has failed; shunit2 calls tearDown once more when all is over.
has_failed() {
	[ -d "$DIR" ] && [ "$__shunit_assertsFailed" -ne "$FAILED_BEFORE" ]
}

# print_accounts: of all apps, while there is a daemon that answers.
print_accounts() {
	set -- name,state,processes,accepted,completed,refused,timed_out,\
abandoned,lost,waiting,sessions,parked,retaken
	echo "--- $1"
	"$BUILD/tests/e2e/look" "$DIR/control.sock" 1 apps '*' "$1" 2>/dev/null
}

tearDown() {
	! has_failed || print_accounts
	# shellcheck disable=SC2086 # numbers
	stop_process $PIDS
	PIDS=''
	! print_reports || fail 'a sanitizer found something'
	if has_failed; then
		echo "--- log" && tail -n 40 "$DIR/log" && echo "---"
		# Leftovers of a test are no fault of the next.
		[ -n "$FILE_PIDS" ] || kill_leftovers
	fi
}

kill_leftovers() {
	for pid in $(leftovers); do
		kill -KILL "$pid" 2>/dev/null
	done
}

# Also called a second time, and when shunit2 gives up.
oneTimeTearDown() {
	[ -d "$DIR" ] || return 0
	if type file_teardown >/dev/null 2>&1; then file_teardown; fi
	# shellcheck disable=SC2086 # numbers
	stop_process $PIDS $FILE_PIDS

	# A green file leaves nothing behind.
	bad=0
	! print_reports || bad=1
	# Processes may be about to end.
	wait_for "$LIMIT" no_leftovers
	for pid in $(leftovers); do
		bad=1
		echo "left behind: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline")"
		kill -KILL "$pid"
	done
	# shellcheck disable=SC2154 # shunit2's counts
	passed=$((__shunit_testsPassed - SKIPPED)) \
	    total=$((__shunit_testsTotal - SKIPPED + bad))
	rm -rf "$DIR"
	echo "## passed=$passed total=$total"
}

# shunit2 counts with it, twice for each assert; no process is needed for that.
expr() {
	if [ "$2" = + ]; then
		echo $(($1 + $3))
	else
		command expr "$@"
	fi
}

# shellcheck source=/dev/null
. /usr/share/shunit2/shunit2
