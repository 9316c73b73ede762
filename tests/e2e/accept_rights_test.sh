#!/bin/sh
# handoff = accept: the rights of the adapter, and of what the program runs.

. tests/e2e/accept_help.sh

USER_ID=65534

# The daemon lies in $DIR, for a user that cannot see the tree; program and
# helper in $DIR/root, for a chroot.
more_setup() {
	mkdir -p "$DIR/libexec" "$DIR/root/tmp"
	cp "$APPPOOLD" "$DIR/apppoold"
	APPPOOLD=$DIR/apppoold
	cp "$BUILD/libexec/apppool-accept" "$BUILD/libexec/apppool-keeper" \
	    "$DIR/libexec"
	cp "$BUILD/tests/e2e/workers/whoami" "$DIR/root/whoami"
	cp "$DIR/root/whoami" "$DIR/root/helper"
	chmod 4755 "$DIR/root/helper"
}

# may_filter: whether the daemon can install the filter with its own rights, and
# set-user-ID programs gain some here.
may_filter() {
	is_root && has_capability 21 && has_capability 11 &&
	    ! is_restricted /proc/self &&
	    ! findmnt -n -o OPTIONS -T "$DIR" | grep -qw nosuid
}

# is_restricted FOLDER-OF-PROC
is_restricted() {
	grep -q '^NoNewPrivs:[^0-9]*1' "$1/status"
}

# asks: an app that answers with the user of its set-user-ID helper; options
# come from stdin.
asks() {
	accepts web "$DIR/root/whoami" "$DIR/root/helper"
}

# capabilities PID: the sets it has, in one line.
capabilities() {
	awk '/^Cap(Inh|Prm|Eff|Amb):/ { printf "%s%s", sep, $2; sep = " " }' \
	    "/proc/$1/status"
}

# of_status NAME PID
of_status() {
	awk -v name="$1:" '$1 == name { $1 = ""; print substr($0, 2) }' \
	    "/proc/$2/status"
}

NONE='0000000000000000 0000000000000000 0000000000000000 0000000000000000'

# ---------------------------------------------------------------- as root

testASetUserIdHelperOfTheProgramHasItsRights() {
	may_filter || { skip 'needs root, and set-user-ID programs'; return; }
	starts '' asks
	assertEquals 0 "$(web)"
	assertFalse "$(cat "$DIR/log")" 'said no_new_privileges'
	assertFalse 'the program is free' "is_restricted /proc/$(program)"
}

testAdapterAndProgramAreTheUsersWithoutACapability() {
	may_filter || { skip 'needs root, and set-user-ID programs'; return; }
	starts 'umask = 027 limit_nofile = 99' asks
	for pid in "$(status apps web workers 0 pid)" "$(program)"; do
		assertEquals "$USER_ID $USER_ID $USER_ID $USER_ID" \
		    "$(of_status Uid "$pid" | tr '\t' ' ')"
		assertEquals "$NONE" "$(capabilities "$pid")"
		assertEquals "$(of_status CapBnd self)" \
		    "$(of_status CapBnd "$pid")"
		assertEquals '' "$(of_status Groups "$pid" |
		    tr -d " $USER_ID")"
		assertEquals 0027 "$(of_status Umask "$pid")"
		assertTrue "grep -q '^Max open files *99 ' /proc/$pid/limits"
	done
}

# A set-user-ID program believes what the adapter answers.
testAProcessOfTheUserCannotTakeTheAdapterOver() {
	may_filter || { skip 'needs root, and set-user-ID programs'; return; }
	starts '' asks
	worker=$(status apps web workers 0 pid)
	assertEquals 0 "$(stat -c %u "/proc/$worker/mem")"
	assertFalse "setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups \
	    ls /proc/$worker/fd >/dev/null 2>&1"
	assertTrue "setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups \
	    ls /proc/$(program)/fd >/dev/null"
}

testInAChrootASetUserIdHelperHasItsRights() {
	may_filter || { skip 'needs root, and set-user-ID programs'; return; }
	! readelf -lW "$DIR/libexec/apppool-accept" | grep -q INTERP ||
	    { skip 'a sanitizer is in the adapter'; return; }
	starts "chroot = \"$DIR/root\"" accepts web /whoami /helper
	assertEquals 0 "$(web)"
	assertEquals "$(realpath "$DIR/root")" \
	    "$(readlink "/proc/$(program)/root")"
}

testWithNoNewPrivilegesASetUserIdHelperHasTheUsers() {
	may_filter || { skip 'needs root, and set-user-ID programs'; return; }
	starts 'no_new_privileges = true' asks
	assertEquals "$USER_ID" "$(web)"
	assertFalse "$(cat "$DIR/log")" 'said set-user-ID'
}

testAReloadGivesUpTheRightsAndBringsThemBack() {
	may_filter || { skip 'needs root, and set-user-ID programs'; return; }
	starts '' asks
	assertEquals 0 "$(web)"
	echo 'no_new_privileges = true' | asks | conf
	ctl reload >/dev/null
	await status_is 1 apps web workers 0 generation
	assertEquals "$USER_ID" "$(web)"
	reloads '' asks
	await status_is 2 apps web workers 0 generation
	assertEquals 0 "$(web)"
}

# ---------------------------------------------------------------- without

# without_rights COMMAND...: the daemon, run by that command.
without_rights() {
	! is_root || chmod 777 "$DIR"
	run_by "$@"
	ctl wait >/dev/null || fail 'not ready'
}

# as_nobody [OPTION-OF-setpriv...]
as_nobody() {
	if is_root; then
		set -- --reuid=$USER_ID --regid=$USER_ID --clear-groups "$@"
	fi
	if [ $# -gt 0 ]; then
		without_rights setpriv "$@"
	else
		without_rights env
	fi
}

testAnOrdinaryUserIsWarnedOnceThatSetUserIdHelpersGainNothing() {
	echo 'min_processes = 3' | asks | conf
	as_nobody
	assertEquals 3 "$(status apps web idle)"
	await said 'warn web: handoff = accept sets no_new_privileges'
	assertEquals 1 "$(grep -c set-user-ID "$DIR/log")"
	assertEquals "$(stat -c %u "/proc/$(program)")" "$(web)"
}

testRootWithoutTheCapabilityIsWarned() {
	is_root || { skip 'needs root'; return; }
	has_capability 8 || { skip 'needs CAP_SETPCAP'; return; }
	for missing in sys_admin net_broadcast; do
		: >"$DIR/log"
		asks </dev/null | conf
		without_rights setpriv --bounding-set "-$missing"
		assertEquals "$missing" "$USER_ID" "$(web)"
		await said 'warn web: handoff = accept sets no_new_privileges'
		pool_stop
	done
}

testAPrivilegeThatTheFileGivesUpIsNotWarnedOf() {
	echo 'no_new_privileges = true' | asks | conf
	as_nobody
	assertNotNull "$(web)"
	assertFalse "$(cat "$DIR/log")" 'said set-user-ID'
}

testAPrivilegeThatAContainerForbidsIsNotWarnedOf() {
	asks </dev/null | conf
	as_nobody --no-new-privs
	assertNotNull "$(web)"
	assertFalse "$(cat "$DIR/log")" 'said set-user-ID'
}

. tests/e2e/lib.sh
