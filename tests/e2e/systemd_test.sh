#!/bin/sh
# Our units under a real systemd, in namespaces of its own. Needs root.

. tests/e2e/cgroup_help.sh

# can_boot: whether there is a systemd, and we may start it. In a chroot
# nsenter(1) would leave it.
can_boot() {
	is_root && [ -x /lib/systemd/systemd ] &&
	    unshare -p -m -C -f --mount-proc true 2>/dev/null &&
	    [ "$(nsenter -t $$ -m stat -c %d.%i /)" = "$(stat -c %d.%i /)" ]
}

# unit NAME: ours, with paths of the test and no wish for the rest of a system.
# The units forbid ptrace(2), by which a sanitizer looks for leaks.
unit() {
	sed -e 's,/usr/sbin/,/run/test/,' -e 's,/usr/bin/,/run/test/,' \
	    -e 's,/etc/apppoold/,/run/test/,' \
	    -e "s,127.0.0.1:8080,127.0.0.1:$PORT," -e 's,=@$,=/run/test,' \
	    -e 's,^WatchdogSec=.*,WatchdogSec=3,' \
	    -e 's,^Type=notify,&\nEnvironment=ASAN_OPTIONS=detect_leaks=0,' \
	    -e 's,^Description=.*,&\nDefaultDependencies=no,' \
	    "etc/$1" >"$DIR/content/$1"
}

file_setup() {
	PORT='' INIT=''
	can_boot || return
	PORT=$(free_port)
	OWN=$(free_port)
	mkdir -p "$DIR/content/libexec"
	cp "$APPPOOLD" "$APPPOOLCTL" "$TWORKER" "$DIR/content"
	cp "$BUILD/libexec/apppool-keeper" "$DIR/content/libexec"
	unit apppoold.service
	unit apppoold.socket
	unit apppoold@.service
	printf '[Unit]\nDefaultDependencies=no\n' >"$DIR/content/test.target"
	cat >"$DIR/content/pool.conf" <<-'EOF'
	app "web" {
		listen = "fd:web"
		command = { "/run/test/tworker" }
		min_processes = 2
	}
	EOF
	cat >"$DIR/content/daemon.conf" <<-EOF
	control = "/run/apppoold-daemon/control.sock"
	app "own" {
		listen = { "127.0.0.1:$OWN", "unix:/run/apppoold-daemon/own.sock" }
		socket_mode = 0666
		command = { "/run/test/tworker" }
		min_processes = 2
		max_processes = 2
	}
	EOF
	# Another systemd would have groups of the same names.
	make_group || { PORT=''; return; }
	start_process "$DIR/within" "$GROUP" \
	    unshare -p -m -C -f --mount-proc --kill-child \
	    tests/e2e/systemd_boot.sh "$DIR" >"$DIR/systemd" 2>&1 </dev/null
	wait_for $((3 * LIMIT)) booted || cat "$DIR/systemd"
}

# The namespaces end with their process 1, and all that runs in them.
file_teardown() {
	[ -n "$INIT" ] || return 0
	kill -KILL "$INIT"
	INIT=''
	wait_for "$LIMIT" no_leftovers
	end_group
}

booted() {
	INIT=$(children "$STARTED") && INIT=${INIT%% *} && [ -n "$INIT" ] &&
	    inside systemctl is-system-running >/dev/null 2>&1
}

# inside COMMAND...: in the namespaces of that systemd.
inside() {
	nsenter -t "$INIT" -p -m -C timeout "$LIMIT" "$@"
}

# started: the service runs; false where it cannot run.
started() {
	[ -n "$PORT" ] || { skip 'needs root and systemd'; return 1; }
	inside systemctl start apppoold.socket apppoold.service
	assertEquals 'systemctl start' 0 $?
}

# property NAME
property() {
	inside systemctl show apppoold.service -p "$1" --value
}

property_is() {
	[ "$(property "$1")" = "$2" ]
}

answers() {
	ask "127.0.0.1:$PORT" 2>/dev/null | grep -q hello
}

testTheUnitIsActiveWhenTheProcessesAreReady() {
	started || return 0
	assertEquals active "$(property ActiveState)"
	await property_is StatusText \
	    '1 apps (0 failed), 2 of 64 processes, 0 active, 0 waiting'
}

testTheDaemonServesTheSocketOfTheSocketUnit() {
	started || return 0
	assertTrue answers
}

# worker_is_grouped: whether a worker is in the cgroup of the app web.
worker_is_grouped() {
	# shellcheck disable=SC2016 # in that shell
	inside sh -c 'grep -l tworker /proc/[0-9]*/comm | while read -r comm; do
		cat "${comm%/comm}/cgroup"
	done' | grep -q '/apppoold.service/app-web$'
}

testTheUnitDelegatesACgroupToTheDaemon() {
	started || return 0
	await worker_is_grouped
}

testSystemctlReloadReturnsWhenTheProcessesAreReady() {
	started || return 0
	inside sed -i 's,min_processes = 2,min_processes = 3,' \
	    /run/test/pool.conf
	inside systemctl reload apppoold.service
	assertEquals 0 $?
	await property_is StatusText \
	    '1 apps (0 failed), 3 of 64 processes, 0 active, 0 waiting'
}

testSystemctlReloadOfABrokenFileFailsAndChangesNothing() {
	started || return 0
	inside sh -c 'echo nonsense >>/run/test/pool.conf'
	inside systemctl reload apppoold.service >>"$DIR/log" 2>&1
	assertNotEquals 0 $?
	inside sed -i '/nonsense/d' /run/test/pool.conf
	await property_is ActiveState active
	assertTrue answers
}

# upgrade UNIT FILE: the daemon by itself; systemd sees the same process.
upgrade() {
	seen_before=$(seen "$1")
	inside /run/test/apppoolctl -c "/run/test/$2" upgrade >>"$DIR/log" 2>&1
	assertEquals "$1: apppoolctl upgrade" 0 $?
	assertEquals "$1" "$seen_before" "$(seen "$1")"
}

seen() {
	inside systemctl show "$1" -p MainPID -p ActiveState -p SubState \
	    -p NRestarts -p NFileDescriptorStore
}

testAnUpgradeOfTheServiceIsNoRestart() {
	started || return 0
	upgrade apppoold.service pool.conf
	assertTrue answers
	await worker_is_grouped
	inside systemctl reload apppoold.service
	assertEquals 'systemctl reload' 0 $?
}

testSystemdStartsAKilledDaemonAgain() {
	started || return 0
	inside systemctl kill -s KILL --kill-who=main apppoold.service
	await property_is NRestarts 1
	await property_is ActiveState active
	assertTrue answers
	await worker_is_grouped
}

# The instance runs as the user `daemon`, whom every machine has.
instance_started() {
	started || return
	inside systemctl start apppoold@daemon.service
	assertEquals 'systemctl start' 0 $?
}

# own_answers ADDRESS...: each answers a client.
own_answers() {
	for own_at; do
		ask "$own_at" | grep -q hello || return
	done
}

testAnInstanceRunsItsOwnFileAsAUserOfItsName() {
	instance_started || return 0
	pid=$(inside systemctl show apppoold@daemon.service -p MainPID --value)
	assertEquals daemon "$(inside ps -o user= -p "$pid")"
	assertTrue 'it serves both its addresses' "own_answers 127.0.0.1:$OWN \
	    'unix:/proc/$INIT/root/run/apppoold-daemon/own.sock'"
	inside systemctl reload apppoold@daemon.service
	assertEquals 'systemctl reload' 0 $?
}

# own_is_killed COUNT: for the time of that number. Nothing listens until the next
# daemon does but what systemd has.
own_is_killed() {
	own="127.0.0.1:$OWN unix:/proc/$INIT/root/run/apppoold-daemon/own.sock"
	inside systemctl kill -s KILL --kill-who=main apppoold@daemon.service
	# shellcheck disable=SC2086 # addresses
	assertTrue 'a client was refused' "own_answers $own"
	assertEquals "$1" "$(inside systemctl show apppoold@daemon.service \
	    -p NRestarts --value)"
	await stored_are 3
}

testClientsOfAKilledDaemonWaitForTheNextOne() {
	instance_started || return 0
	own_is_killed 1
}

testClientsOfAnUpgradedDaemonThatIsKilledWaitForTheNextOne() {
	instance_started || return 0
	upgrade apppoold@daemon.service daemon.conf
	upgrade apppoold@daemon.service daemon.conf
	own_is_killed 2
}

testAnAddressThatLeavesTheFileIsStoredNoLonger() {
	instance_started || return 0
	inside sed -i 's/"127.0.0.1:[0-9]*", //' /run/test/daemon.conf
	inside systemctl reload apppoold@daemon.service
	await stored_are 2
	assertFalse 'somebody answers there' "own_answers 127.0.0.1:$OWN"
}

stored_are() {
	[ "$(inside systemctl show apppoold@daemon.service \
	    -p NFileDescriptorStore --value)" -eq "$1" ]
}

# restart_and_reload ROUNDS: more often than systemd's limit of starts allows.
restart_and_reload() {
	for _ in $(seq "$1"); do
		inside systemctl reset-failed apppoold.service
		inside systemctl restart apppoold.service &&
		    inside systemctl reload apppoold.service || return
	done
}

# The socket of the socket unit stays open meanwhile.
testNoClientFailsWhileSystemctlRestartsAndReloads() {
	started || return 0
	rounds=${LOSS_ROUNDS:-2}
	flood_behind --tcp "127.0.0.1:$PORT" --rate 100 \
	    --count $((150 * rounds)) --limit 600 --max refused=0 --max lost=0
	restart_and_reload "$rounds"
	assertEquals 'systemctl restart and reload' 0 $?
	finish "$FLOOD" $((6 * LIMIT * rounds))
	assertEquals "$(cat "$DIR/flood")" 0 "$RC"
}

testTheWatchdogGoesOnAfterAnUpgradeAndEndsADaemonThatStandsStill() {
	started || return 0
	upgrade apppoold.service pool.conf
	before=$(property WatchdogTimestampMonotonic)
	await is_watched_after "$before"
	pid=$(property MainPID)
	inside kill -STOP "$pid"
	wait_for $((3 * LIMIT)) another_runs "$pid" || fail 'it stands still'
	assertTrue answers
}

# is_watched_after TIME: the daemon has told its watchdog since then.
is_watched_after() {
	[ "$(property WatchdogTimestampMonotonic)" -gt "$1" ]
}

another_runs() {
	[ "$(property MainPID)" != "$1" ] && property_is ActiveState active
}

testSystemctlStopIsASuccessAndLeavesTheSocket() {
	started || return 0
	inside systemctl stop apppoold.service >>"$DIR/log" 2>&1
	assertEquals inactive "$(property ActiveState)"
	assertEquals success "$(property Result)"
	assertFalse 'a folder is left' 'inside test -e /run/apppoold'
	# The next connection starts the service again.
	assertTrue answers
	await property_is ActiveState active
}

. tests/e2e/lib.sh
