#!/bin/sh
# Connections whose last close waits.

testConnectionsThatLingerHoldNobodyUp() {
	port=$(free_port)
	cp "$BUILD/tests/hostile/lingerer" "$DIR"
	{
		app_b
		cat <<-EOF
		app "evil" {
			listen = "127.0.0.1:$port"
			command = { "$DIR/lingerer" }
			min_processes = 32
			max_processes = 32
		}
		EOF
	} | conf
	pool_start
	quiet_b
	start_process "$DIR/lingerer" "$port"
	await are_given 32 evil
	watch_b
	assert_b_is_served
	assert_accounts evil
}

# shellcheck source=tests/hostile/hostile_help.sh
. tests/hostile/hostile_help.sh
# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
