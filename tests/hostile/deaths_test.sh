#!/bin/sh
# Orphans by the thousand, which come to the daemon.

# An app that, on a word, leaves so many living orphans and as many dead ones.
ORPHANS=3000

# orphans: for conf.
orphans() {
	rm -f "$DIR/now"
	cat <<-EOF
	app "evil" {
		handoff = none
		command = { "$DIR/orphans", "$DIR/now", $ORPHANS }
		stop_timeout = 100ms
	}
	EOF
}

leave_orphans() {
	: >"$DIR/now"
	wait_for $((6 * LIMIT)) has_children "$ORPHANS" ||
	    fail "there are not so many orphans"
}

# has_children COUNT: the daemon, or more; dead ones count.
has_children() {
	[ "$(children "$POOL" | wc -w)" -ge "$1" ]
}

# has_dead_orphans: besides some workers.
has_dead_orphans() {
	has_children $((ORPHANS + 100))
}

has_reaped() {
	! has_dead_orphans
}

file_setup() {
	cp "$BUILD/tests/hostile/orphans" "$DIR"
}

testThousandsOfOrphansHoldUpNoOther() {
	{
		app_b
		orphans
	} | conf
	pool_start
	quiet_b
	watch_b 3
	leave_orphans
	wait_for $((3 * LIMIT)) has_reaped || fail "orphans are left"
	assert_b_is_served
	stops_well
}

# other_pid PID: whether the first process of app b is no longer that one.
other_pid() {
	case $(status apps b workers 0 pid) in
	'' | null | "$1") return 1 ;;
	esac
}

testTheDeathOfAProcessIsSeenBeforeThoseOfOrphans() {
	{
		app_b
		orphans
	} | conf
	pool_start
	leave_orphans
	b=$(status apps b workers 0 pid)
	kill -KILL "$b"
	await other_pid "$b"
	assertTrue 'no orphan is dead any more' has_dead_orphans
	wait_for $((3 * LIMIT)) has_reaped || fail "orphans are left"
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
