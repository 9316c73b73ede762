#!/bin/sh
# Which room may include, call and export what. The core decides and does
# nothing else; only the linker can prove that.

# foreign ROOM PATTERN: includes of ours in it that are not PATTERN.
foreign() {
	grep -rn '#include "' "lib/$1" | grep -vE "#include \"($2)\""
}

testTheCoreIncludesTheCore() {
	assertEquals '' "$(foreign core 'core/.*')"
}

testSysIncludesSysAndTheTypeOfTime() {
	assertEquals '' "$(foreign sys 'sys/.*|core/tstamp\.h')"
}

testTheConfigurationIncludesSysAndTheOptionsOfTheCore() {
	assertEquals '' "$(foreign conf '(conf|sys)/.*|core/(app|pool|tstamp)\.h')"
}

testTheDaemonIncludesConfigurationSysAndCore() {
	assertEquals '' "$(foreign daemon '(daemon|conf|sys|core)/.*')"
}

testTheControlSocketIncludesTheDaemon() {
	assertEquals '' "$(foreign control \
	    '(control|daemon|conf|sys|core)/.*')"
}

testTheCounterIncludesSysAndTablesOfTheCore() {
	assertEquals '' "$(foreign counter \
	    '(counter|sys)/.*|core/(deadlines|ilist|tstamp)\.h')"
}

testApppoolctlIncludesConfigurationSysAndTheSimulator() {
	assertEquals '' "$(foreign ctl \
	    '(ctl|conf|sys)/.*|core/tstamp\.h|sim/simulate\.h')"
}

# rooms_of PROGRAM: the rooms of which it has something, by their debug names.
rooms_of() {
	readelf --debug-dump=info --dwarf-depth=1 "$1" 2>/dev/null |
	    sed -nE 's,.*DW_AT_name .*: (\(.*\): )?lib/([a-z]+)/.*\.c$,\2,p' |
	    sort -u | xargs
}

testTheDaemonIsLinkedWithItsOwnRoomsAlone() {
	assertEquals 'conf control core daemon sys' \
	    "$(rooms_of "$BIN/apppoold")"
	assertEquals '' "$(readelf -d "$BIN/apppoold" | grep -E 'ncurses|tinfo|jansson')"
}

testApppoolctlIsLinkedWithNothingOfTheDaemon() {
	assertEquals 'conf core ctl sim sys' "$(rooms_of "$BIN/apppoolctl")"
}

testTheCounterIsLinkedWithNothingOfTheDaemon() {
	assertEquals 'core counter sys' \
	    "$(rooms_of "$BUILD/libexec/apppool-counter")"
}

testTheWorkersLibraryIncludesTheHandOverAlone() {
	assertEquals '' "$(foreign worker 'worker/.*|sys/(address|fdpass|number|serverlist|wire)\.h')"
}

testTheAdaptersIncludeWorkerAndSys() {
	assertEquals '' "$(foreign adapter '(adapter|worker|sys)/.*')"
}

testTheKeeperIncludesSys() {
	assertEquals '' "$(foreign keeper '(keeper|sys)/.*')"
}

testTheSimulatorIncludesCoreAndConfiguration() {
	assertEquals '' "$(foreign sim \
	    '(sim|core|conf)/.*|sys/(emit|number|text)\.h')"
}

testTheStatusPageIncludesTheWorkersInterface() {
	assertEquals '' "$(foreign web 'web/.*|worker/apppool\.h')"
}

testConfuseIsIncludedByTheConfigurationAlone() {
	assertEquals '' "$(grep -rl 'confuse\.h' lib apppoold.c |
	    grep -v '^lib/conf/')"
}

# A source and its header are one file.
testNoFilesIncludeEachOtherInACircle() {
	assertEquals '' "$(grep -r '^#include "' lib |
	    sed -nE 's,^lib/(.*)\.[ch]:#include "(.*)\.h".*,\1 \2,p' |
	    awk '$1 != $2' | tsort 2>&1 >"$DIR/order")"
	assertTrue 'there are files' "[ -s '$DIR/order' ]"
}

# named_functions: the functions of lib/README as FILE FUNCTION.
named_functions() {
	tr -s ' \t' '\n' <lib/README | awk '
		{ sub(/^[(]/, "") }
		/^[a-z]+\/[a-z_]+[.][ch]:$/ { file = $0; sub(/:/, "", file) }
		/^[a-z_]+[(][)]/ { sub(/[(].*/, ""); print file, $0 }'
}

testEachFunctionOfTheReadmeIsInItsFile() {
	named_functions >"$DIR/functions"
	assertTrue 'there are functions' "[ -s '$DIR/functions' ]"
	while read -r file function; do
		assertTrue "$file: $function()" \
		    "grep -q '^$function(' 'lib/$file'"
	done <"$DIR/functions"
}

testEachFileOfTheReadmeExists() {
	names=$(grep -oE '\b[a-z]+/[a-z_]+\.[a-z]+' lib/README | sort -u)
	assertNotNull "$names"
	for name in $names; do
		assertTrue "$name" "[ -e 'lib/$name' ] || [ -e '$name' ]"
	done
}

# Undefined symbols of the core, less the functions that compute.
testTheCoreCallsNothingThatActs() {
	nm -g --defined-only "$BUILD/core.a" | awk 'NF == 3 { print $3 }' |
	    sort -u >"$DIR/defined"
	nm -u "$BUILD/core.a" | awk '$1 == "U" { print $2 }' |
	    sort -u >"$DIR/wanted"
	assertEquals '' "$(comm -13 "$DIR/defined" "$DIR/wanted" |
	    grep -vxE 'mem(cpy|move|set|cmp)|str(cmp|len)|(exp2?|frexp|log2?|pow|sqrt)|__assert_fail|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_')"
}

testTheCoreHasNoVariables() {
	assertEquals '' "$(objdump -h "$BUILD/core.a" |
	    awk '$2 ~ /^\.(data|bss)$/ && $3 !~ /^0+$/')"
}

# The wall clock may be set at any time, deadlines may not move by that.
testOnlyTheLogAndTheStatusForPeopleAskForTheTimeOfDay() {
	assertEquals '' "$(grep -rnE \
	    'CLOCK_REALTIME|gettimeofday|[^_a-z]time\((NULL|&|0)' lib apppoold.c |
	    grep -vE '^lib/(sys/log\.c:[0-9]*:.clock_|ctl/form\.c:.*at = t)')"
}

testOnlyTheAdapterLooksIntoTheMemoryOfPrograms() {
	# A comment may say why not.
	assertEquals '' "$(grep -rnE \
	    'SECCOMP_|SYS_seccomp|process_vm_|/proc/[^"]*/mem"|ptrace' \
	    lib apppoold.c |
	    grep -vE '^lib/(adapter/|sys/acceptfilter\.)')"
	assertTrue 'the adapter does' "grep -rqE 'process_vm_' lib/adapter"
}

testTheLibraryExportsItsInterfaceAlone() {
	for lib in '-D libapppool.so.1' 'libapppool.a'; do
		# shellcheck disable=SC2086 # an option and a name
		set -- $lib
		[ $# -eq 1 ] || shift
		nm -g --defined-only ${2:+-D} "$BUILD/$1" |
		    awk 'NF == 3 { print $3 }' >"$DIR/exported"
		assertTrue "$1 exports something" "[ -s '$DIR/exported' ]"
		assertEquals "$1" '' "$(grep -v '^apppool_' "$DIR/exported")"
	done
}

testTheSharedLibraryNeedsTheCLibraryAlone() {
	assertEquals libc.so.6 "$(readelf -d "$BUILD/libapppool.so.1" |
	    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')"
}

testEachHeaderCompilesAlone() {
	headers=$(find lib tests -name '*.h')
	for header in $headers; do
		printf '#include "%s"\n' "$PWD/$header" >"$DIR/header.c"
		assertEquals '' "$(${CC:-cc} -std=c17 -D_GNU_SOURCE -Ilib \
		    -isystem /usr/include/bsd -DLIBBSD_OVERLAY -Wall -Wextra \
		    -fsyntax-only "$DIR/header.c" 2>&1)"
	done
}

testEachHeaderHasItsOwnGuard() {
	assertEquals '' "$(find lib tests -name '*.h' -exec \
	    awk 'FNR == 1 && $1 != "#ifndef" { print FILENAME }
		FNR == 1 { print $2 }' {} + | sort | uniq -d)"
}

# The Makefile finds tests by their names.
testEveryFileOfTestsIsNamedAsATestOrAsWhatTestsUse() {
	assertEquals '' "$(find tests/unit -name '*.c' ! -name '*_test.c')"
	assertEquals tests/sim/pareto.c \
	    "$(find tests/sim -name '*.c' ! -name '*_test.c')"
	assertEquals '' "$(find tests/e2e tests/hostile -name '*.sh' \
	    ! -name '*_test.sh' ! -name '*_help.sh' ! -name lib.sh \
	    ! -name systemd_boot.sh)"
}

testTheProgramIsHardened() {
	[ -x "$APPPOOLD" ] || { skip 'not built'; return; }
	assertContains "$(readelf -h "$APPPOOLD")" 'DYN'
	assertContains "$(readelf -lW "$APPPOOLD")" 'GNU_RELRO'
	assertContains "$(readelf -d "$APPPOOLD")" 'BIND_NOW'
	assertContains "$(nm -D "$APPPOOLD")" '__stack_chk_fail'
}

. tests/e2e/lib.sh
