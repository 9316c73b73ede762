#!/bin/sh
# The measurement of the tests of this folder notices what it is there for.

testAnAppBesideNothingIsServed() {
	app_b | conf
	pool_start
	quiet_b
	watch_b
	assert_b_is_served
}

testAStallOfTheDaemonIsNoticed() {
	app_b | conf
	pool_start
	quiet_b
	watch_b 1
	pause_process "$POOL"
	sleep $((2 * SLOW))
	kill -CONT "$POOL"
	assertContains "$(judge_b)" 'a longest wait of'
}

testAppBWithoutAnAnswerIsNoticed() {
	app_b | conf
	pool_start
	quiet_b
	watch_b 1
	kill -KILL "$POOL"
	assertContains "$(judge_b)" 'answers of'
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
