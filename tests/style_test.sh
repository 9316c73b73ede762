#!/bin/sh
# What tools say about the text of sources, scripts and manual pages.

testTheManualPagesAreClean() {
	for page in man/*.[1-8]; do
		assertEquals "$page" '' "$(mandoc -T lint -W warning "$page" 2>&1)"
	done
}

testEveryManualPageIsInstalled() {
	for page in man/*.[1-8]; do
		assertTrue "$page" "grep -qF '$page' Makefile"
	done
}

testTheSourcesAreFormatted() {
	command -v clang-format >/dev/null || { skip 'no clang-format'; return; }
	make -s format-check BOOTSTRAP=: >"$DIR/out" 2>&1 ||
	    fail "$(grep 'error:' "$DIR/out" | head -n 20)"
}

testTheScriptsAreClean() {
	command -v shellcheck >/dev/null || { skip 'no shellcheck'; return; }
	assertEquals '' "$(make -s shell-check BOOTSTRAP=: 2>&1)"
}

# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
