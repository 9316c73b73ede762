#!/bin/sh
# Failures that tests/run must not take for a success. Each file is one that
# shunit2 itself calls OK, or that ends without a word.

# suite LINE...: runs a file of these lines, that ends as any test file, and
# OTHER, if any.
suite() {
	printf '%s\n' "$@" '. tests/e2e/lib.sh' >"$DIR/suite.sh"
	# shellcheck disable=SC2086 # no word, or one
	RESULT=$(tests/run -a "${AGAIN:-0}" "$DIR/suite.sh" $OTHER | tail -n 1)
}

testAGoodFilePasses() {
	suite 'testOne() { assertTrue true; }'
	assertEquals '1 passed, 0 failed' "$RESULT"
}

testAFailedAssertIsOneFailedTest() {
	suite 'testOne() { assertTrue false; assertTrue false; }' \
	    'testTwo() { :; }'
	assertEquals '1 passed, 1 failed' "$RESULT"
}

testAnAssertInASubshellCounts() {
	suite 'testOne() { (assertTrue false); :; }'
	assertEquals '1 passed, 1 failed' "$RESULT"
}

# fails_once TESTS...: TESTS, the first of which fails in its file's first run.
fails_once() {
	rm -f "$DIR/before"
	# shellcheck disable=SC2016 # the inner file's own variable
	suite "testOne() { assertTrue '[ -e $DIR/before ]'; : >$DIR/before; }" \
	    "$@"
}

testAFileThatFailsIsRunAgainWhereThatIsAskedFor() {
	fails_once
	assertEquals '0 passed, 1 failed' "$RESULT"
	AGAIN=1 fails_once
	assertEquals '1 passed, 0 failed' "$RESULT"
}

testAFileThatFailsTwiceIsAFailure() {
	AGAIN=1 fails_once 'testTwo() { assertTrue false; }'
	assertEquals '1 passed, 1 failed' "$RESULT"
}

testASanitizersReportIsAFailureThoughTheFilePassesAgain() {
	# shellcheck disable=SC2016 # the inner file's own $DIR
	AGAIN=1 fails_once 'testTwo() { [ -e '"$DIR/after"' ] ||
	    echo "ERROR: bad" >"$DIR/reports/asan.1"; : >'"$DIR/after"'; }'
	assertEquals '0 passed, 2 failed' "$RESULT"
	rm -f "$DIR/after"
}

testMoreFailuresThanMayBeRunAgainAreFailures() {
	printf 'testOne() { assertTrue false; }\n. tests/e2e/lib.sh\n' \
	    >"$DIR/other.sh"
	AGAIN=1 OTHER=$DIR/other.sh fails_once
	assertEquals '0 passed, 2 failed' "$RESULT"
	rm -f "$DIR/other.sh"
}

testExitZeroInATrapIsAFailure() {
	suite 'testOne() { trap "exit 0" EXIT; assertTrue false; }'
	assertEquals '0 passed, 1 failed' "$RESULT"
}

testAFileWithoutTestsIsAFailure() {
	suite ''
	assertEquals '0 passed, 1 failed' "$RESULT"
}

testATestThatExitsIsAFailure() {
	suite 'testOne() { exit 0; }'
	assertEquals '0 passed, 1 failed' "$RESULT"
}

testAFileThatDoesNotEndIsAFailure() {
	export T=1
	suite 'testOne() { sleep 1000; }'
	unset T
	assertEquals '0 passed, 1 failed' "$RESULT"
}

testShunit2sVersionInTheEnvironmentHidesNothing() {
	export SHUNIT_VERSION=1
	suite 'testOne() { assertTrue false; }'
	unset SHUNIT_VERSION
	assertEquals '0 passed, 1 failed' "$RESULT"
}

testASkippedTestIsCountedApart() {
	suite 'testOne() { skip "just so"; }' \
	    'testTwo() { :; }'
	assertEquals '1 passed, 0 failed, 1 skipped' "$RESULT"
}

testALeftOverProcessIsAFailure() {
	# shellcheck disable=SC2016 # the inner file's own function
	suite 'testOne() { setsid sleep 100 & wait_for 30 has_leftovers; }' \
	    'has_leftovers() { ! no_leftovers; }' 'file_setup() { LIMIT=1; }'
	assertEquals '1 passed, 1 failed' "$RESULT"
}

testASanitizersReportIsAFailure() {
	# shellcheck disable=SC2016 # the inner file's own $DIR
	suite 'testOne() { echo "ERROR: bad" >"$DIR/reports/asan.1"; }'
	assertEquals '0 passed, 1 failed' "$RESULT"
}

# Under /root, say.
testATreeThatIsClosedToNobodyIsCopied() {
	is_root || { skip 'needs root'; return; }
	mkdir -m 700 "$DIR/closed" "$DIR/closed/tests"
	cp -a tests/run "$DIR/closed/tests"
	cat >"$DIR/closed/test.sh" <<-'END'
	setpriv --reuid=65534 --clear-groups cat tests/run >/dev/null &&
	    echo '## passed=1 total=1'
	END
	assertEquals '1 passed, 0 failed' \
	    "$("$DIR/closed/tests/run" test.sh | tail -n 1)"
}

. tests/e2e/lib.sh
