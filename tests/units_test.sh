#!/bin/sh
# The units for systemd: systemd-analyze has no complaint, and little is left
# open. Programs that exist on every machine stand in for ours.

file_setup() {
	for unit in apppoold.service apppoold@.service apppoold.socket; do
		sed -e 's,/usr/sbin/apppoold,/bin/true,' \
		    -e 's,/usr/bin/apppoolctl,/bin/true,' \
		    "etc/$unit" >"$DIR/$unit"
	done
}

# analyze VERB...: the output of systemd-analyze; false if it is not installed.
analyze() {
	command -v systemd-analyze >/dev/null &&
	    systemd-analyze --no-pager "$@" 2>&1
}

# can_analyze: in some containers systemd-analyze complains of any unit.
can_analyze() {
	command -v systemd-analyze >/dev/null || return
	printf '[Service]\nExecStart=/bin/true\n' >"$DIR/plain.service"
	[ -z "$(analyze verify "$DIR/plain.service")" ] &&
	    analyze security --offline=true "$DIR/plain.service" >/dev/null
}

# assert_verified UNIT: systemd-analyze exits 0 whatever it finds: its output
# counts.
assert_verified() {
	can_analyze || { skip 'needs systemd-analyze'; return; }
	assertEquals '' "$(analyze verify --man=no "$DIR/$1")"
}

testTheServiceIsVerified() {
	assert_verified apppoold.service
}

testTheInstanceIsVerified() {
	assert_verified apppoold@.service
}

testTheSocketIsVerified() {
	assert_verified apppoold.socket
}

# assert_exposed UNIT TENTHS: at most so much.
assert_exposed() {
	can_analyze || { skip 'needs systemd-analyze'; return; }
	analyze security --offline=true --threshold="$2" \
	    "$DIR/$1" >"$DIR/security"
	assertEquals "$(grep Overall "$DIR/security")" 0 $?
}

testTheServiceLeavesLittleOpen() {
	assert_exposed apppoold.service 45
}

testTheInstanceLeavesLessOpen() {
	assert_exposed apppoold@.service 15
}

# A worker that compiles as it runs must be able to.
testTheServiceLetsProgramsMakeCode() {
	assertNotContains "$(cat etc/apppoold.service)" MemoryDenyWriteExecute=
}

# An app may need a set-uid helper; no_new_privileges is its own choice.
testTheServiceLetsProgramsRunHelpers() {
	assertNotContains "$(cat etc/apppoold.service)" NoNewPrivileges=
}

. tests/e2e/lib.sh
