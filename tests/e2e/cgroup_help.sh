# shellcheck shell=sh
#
# Functions for the tests of cgroups, which need root and a cgroup v2; see
# lib.sh. A test has a group of its own, $GROUP, that the daemon is given.

# The cgroup v2 of this machine, or nothing.
for HIERARCHY in /sys/fs/cgroup /sys/fs/cgroup/unified; do
	[ ! -e "$HIERARCHY/cgroup.controllers" ] || break
	HIERARCHY=
done

# make_group: $GROUP, for what $DIR/within runs. False: there can be none.
make_group() {
	GROUP=$HIERARCHY/apppool-test.$$
	end_group
	[ -n "$HIERARCHY" ] && is_root && mkdir "$GROUP" 2>/dev/null || return
	cat >"$DIR/within" <<-'EOF'
	#!/bin/sh
	# within GROUP COMMAND...: in that cgroup, or in the place of a daemon there.
	group=$1
	shift
	echo $$ 2>/dev/null >"$group/cgroup.procs" ||
	    echo $$ >"$group/daemon/cgroup.procs" || exit
	exec "$@"
	EOF
	chmod +x "$DIR/within"
}

# can_group [CONTROLLER...]: the same with these controllers; else the test is
# skipped.
can_group() {
	make_group || { skip 'needs root and a cgroup v2'; return 1; }
	# As a service manager does it that delegates the group.
	"$PYTHON" -c 'import os, sys
os.setxattr(sys.argv[1], "trusted.delegate", b"1")' "$GROUP"
	for controller; do
		echo "+$controller" 2>/dev/null \
		    >"$HIERARCHY/cgroup.subtree_control"
		grep -qw "$controller" "$GROUP/cgroup.controllers" ||
		    { skip "needs the controller $controller"; return 1; }
	done
}

# Ends all that a test has in its group, and removes it.
end_group() {
	[ -n "$HIERARCHY" ] && [ -d "${GROUP:-/none}" ] || return 0
	echo 1 >"$GROUP/cgroup.kill"
	await group_is_removed
}

file_teardown() {
	end_group
}

group_is_removed() {
	find "$GROUP" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -d "$GROUP" ]
}

# grouped OPTIONS COMMAND...: `starts`, but the daemon is in the group.
grouped() {
	conf_of "$@"
	run_by "$DIR/within" "$GROUP"
	ctl wait >"$DIR/wait" 2>&1 ||
	    fail "not ready: $(cat "$DIR/wait"; tail -n 9 "$DIR/log")"
}

# members APP: the processes in its cgroup.
members() {
	cat "$GROUP/app-$1/cgroup.procs" 2>/dev/null
}

# has_no_group APP
has_no_group() {
	[ ! -d "$GROUP/app-$1" ]
}
