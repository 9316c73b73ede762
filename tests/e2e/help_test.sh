#!/bin/sh
# Help and errors of apppoolctl, with a daemon and without.

file_setup() {
	app web </dev/null | conf
}

# said_by COMMAND...: its output and errors are in $SAID, its status in $RC.
said_by() {
	SAID=$(timeout "$LIMIT" "$APPPOOLCTL" "$@" 2>&1)
	RC=$?
}

# The commands that -h lists, a line each.
listed() {
	"$APPPOOLCTL" -h | sed -n 's/^  \([a-z]\{2,\}\) .*/\1/p'
}

testHelpListsTheCommandsWithoutADaemon() {
	said_by -h
	assertEquals 0 "$RC"
	assertContains "$SAID" 'usage: apppoolctl'
	assertContains "$SAID" '  status '
	said_by help
	assertEquals 0 "$RC"
	assertContains "$SAID" '  status '
}

testEveryCommandOfTheDaemonIsListedAndInTheManual() {
	pool_start
	listed >"$DIR/listed"
	ctl -j help | "$PYTHON" -c '
import json, sys
print(*json.load(sys.stdin), sep="\n")' >"$DIR/known"
	assertTrue 'the daemon knows some' "[ -s '$DIR/known' ]"
	while read -r name; do
		assertTrue "$name is listed" "grep -qx $name '$DIR/listed'"
	done <"$DIR/known"
	while read -r name; do
		assertTrue "$name is in the manual" \
		    "grep -q '^.It Ic $name' man/apppoolctl.8"
	done <"$DIR/listed"
}

testEachCommandHasAHelpOfItsOwn() {
	for name in $(listed); do
		said_by "$name" -h
		assertEquals "$name" 0 "$RC"
		assertContains "$SAID" "usage: apppoolctl"
		assertContains "$SAID" " $name"
		[ "$name" = simulate ] && continue
		does=$("$APPPOOLCTL" -h | sed -n "s/^  $name  *//p")
		assertContains "$SAID" "$name: $does."
	done
	said_by juggle -h
	assertEquals 64 "$RC"
	assertContains "$SAID" 'unknown command juggle'
}

# Whoever types what was suggested shall not end the daemon by it.
testNothingThatChangesSomethingIsSuggested() {
	pool_start
	for word in stpo sotp relaod reloda; do
		said_by -s "$DIR/control.sock" "$word"
		assertEquals "$SAID" 64 "$RC"
		assertNotContains "$SAID" 'meant?'
	done
	said_by -s "$DIR/control.sock" statsu
	assertContains "$SAID" 'is status meant?'
}

testAnOptionOfAnotherCommandIsRefused() {
	said_by status --timeout 1s
	assertEquals 64 "$RC"
	assertContains "$SAID" '--timeout is for ping and wait'
	said_by wait --path /
	assertContains "$SAID" '--path is for ping'
	said_by reload -v
	assertContains "$SAID" '-v is for status'
	said_by status -n 3
	assertContains "$SAID" '-n is for agent and events and logs and top'
}

# without_a_daemon STATUS WORD...: that is the exit status.
without_a_daemon() {
	wanted=$1
	shift
	said_by -s "$DIR/none.sock" "$@"
	assertEquals "$*: $SAID" "$wanted" "$RC"
}

testOptionsStandOnEitherSideOfAnyCommand() {
	pool_start
	said_by -s "$DIR/control.sock" -n 1 top
	assertEquals "$SAID" 0 "$RC"
	assertContains "$SAID" 'LAST FAILURE'
	said_by --interval 100ms top -n 2 -s "$DIR/control.sock"
	assertEquals "$SAID" 0 "$RC"
	assertEquals 2 "$(echo "$SAID" | grep -c 'LAST FAILURE')"
	said_by --timeout 5s -s "$DIR/control.sock" wait
	assertEquals "$SAID" 0 "$RC"
	said_by --rate 50 --for 1s simulate -c "$DIR/pool.conf"
	assertEquals "$SAID" 0 "$RC"
	said_by --for 1s -c "$DIR/pool.conf" --rate 50 -j simulate
	assertContains "$SAID" '"ran":'
	said_by -j -s "$DIR/control.sock" help zz
	assertEquals "$SAID" 64 "$RC"
	pool_stop
}

testACommandIsRightOrWrongWithoutADaemon() {
	without_a_daemon 69 -n 3 top
	without_a_daemon 69 --interval 1s top
	without_a_daemon 69 restart
	for words in restrat start 'start a b' 'resize web 1' ping 'reload now' \
	    'status a b' 'top web' 'top -j' 'detach' '--rate 5 status'; do
		# shellcheck disable=SC2086 # words
		without_a_daemon 64 $words
		assertContains "$SAID" apppoolctl
	done
	said_by restrat
	assertContains "$SAID" 'unknown command restrat'
	said_by -s none simulate
	assertContains "$SAID" '-s is not for simulate'
	said_by start
	assertContains "$SAID" '] start APP'
}

testAMissingDaemonAndAMissingRightAreDifferentSentences() {
	said_by -s "$DIR/none.sock" status
	assertEquals 69 "$RC"
	assertContains "$SAID" "no daemon: there is no $DIR/none.sock"
	"$PYTHON" -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$DIR/left.sock"
	said_by -s "$DIR/left.sock" status
	assertEquals 69 "$RC"
	assertContains "$SAID" "no daemon: nobody listens at $DIR/left.sock"
	if is_root; then
		cp "$APPPOOLCTL" "$DIR/apppoolctl"
		pool_run
		SAID=$(setpriv --reuid 65534 --regid 65534 --clear-groups \
		    "$DIR/apppoolctl" -s "$DIR/control.sock" status 2>&1)
		RC=$?
	else
		mkdir -m 000 "$DIR/closed"
		said_by -s "$DIR/closed/control.sock" status
		rmdir "$DIR/closed"
	fi
	assertEquals "$SAID" 77 "$RC"
	assertContains "$SAID" 'permission denied'
	assertNotContains "$SAID" 'no daemon'
}

testWaitWaitsForADaemonThatIsBeingStarted() {
	start_process timeout "$LIMIT" "$APPPOOLCTL" -s "$DIR/control.sock" \
	    wait >"$DIR/waited" 2>&1
	waiter=$STARTED
	pool_run
	finish "$waiter"
	assertEquals "$(cat "$DIR/waited")" 0 "$RC"
	assertEquals ready "$(cat "$DIR/waited")"
}

testWaitGivesUpWhenItsTimeIsOver() {
	said_by -s "$DIR/none.sock" wait --timeout 50ms
	assertEquals 69 "$RC"
	assertContains "$SAID" 'no daemon within 0.05 s'
	cp "$DIR/pool.conf" "$DIR/before"
	app mute --never-ready </dev/null >>"$DIR/pool.conf"
	pool_run
	said_by -s "$DIR/control.sock" wait --timeout 50ms
	assertEquals 1 "$RC"
	assertContains "$SAID" 'not within 0.05 s'
	cp "$DIR/before" "$DIR/pool.conf"
	# Gracefully, the daemon would wait for the process that says nothing.
	pool_stop INT
}

. tests/e2e/lib.sh
