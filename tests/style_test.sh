#!/bin/sh
# Linters of Debian 12 on sources, scripts and manual pages; each version of
# them has opinions of its own.

testTheManualPagesAreClean() {
	for page in man/*.[1-8]; do
		assertEquals "$page" '' "$(mandoc -T lint -W warning "$page" 2>&1)"
	done
}

testTheSourcesAreFormatted() {
	clang-format --version 2>/dev/null | grep -q 'version 14' ||
	    { skip 'no clang-format 14'; return; }
	make -s format-check BOOTSTRAP=: >"$DIR/out" 2>&1 ||
	    fail "$(grep 'error:' "$DIR/out" | head -n 20)"
}

testTheScriptsAreClean() {
	shellcheck --version 2>/dev/null | grep -q 'version: 0.9' ||
	    { skip 'no shellcheck 0.9'; return; }
	# A make of its own: the one that runs this test lends no processor.
	assertEquals '' "$(env -u MAKELEVEL -u MAKEFLAGS \
	    make -s -k shell-check BOOTSTRAP=: 2>&1)"
}

# lib.sh is read last, and its function would win.
testNoTestFileDefinesAFunctionOfItsLibrary() {
	grep -o '^[a-z_]*()' tests/e2e/lib.sh >"$DIR/names"
	assertTrue 'there are none' "[ -s '$DIR/names' ]"
	assertEquals '' "$(grep -oE '^[a-z_]+\(\)' tests/*/*_test.sh \
	    tests/*/*_help.sh | grep -wFf "$DIR/names")"
}

. tests/e2e/lib.sh
