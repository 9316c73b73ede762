#!/bin/sh
# apppoolctl simulate among the other commands, and what it does not need.

file_setup() {
	cat >"$DIR/pool.conf" <<-END
	app "web" {
		listen = "127.0.0.1:8080"
		command = "/bin/true"
	}
	END
}

# apppoolctl WORD...: its exit status is in $RC, its output in $OUT and $ERR.
apppoolctl() {
	timeout "$LIMIT" "$APPPOOLCTL" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null
	RC=$? OUT=$(cat "$DIR/out") ERR=$(cat "$DIR/err")
}

testOptionsOfSimulateMayStandBeforeTheCommand() {
	apppoolctl -j -c "$DIR/pool.conf" simulate --for 10s
	assertEquals 0 "$RC"
	before=$OUT
	apppoolctl simulate --for 10s -jc "$DIR/pool.conf"
	assertEquals 0 "$RC"
	assertEquals "$before" "$OUT"
}

testSimulateIsTheCommandOnlyAsTheFirstWord() {
	apppoolctl -s "$DIR/nobody" status simulate
	assertEquals 69 "$RC"
	assertContains "$ERR" "no daemon: there is no $DIR/nobody"
	apppoolctl -c simulate status
	assertEquals 69 "$RC"
}

testSimulateHasAHelpOfItsOwn() {
	apppoolctl simulate -h
	assertEquals 0 "$RC"
	assertContains "$OUT" 'usage: apppoolctl simulate '
	for option in '-c FILE' '--clients ' '--for TIME' -j \
	    '--profile PROFILE' '--rate ' '--seed NUMBER' '--service ' \
	    '--start-time TIME' '--svg FILE' '--trace FILE'; do
		assertContains "$OUT" "
  $option"
	done
}

testASurplusWordIsAMistakeOfUsage() {
	apppoolctl simulate web
	assertEquals 64 "$RC"
	assertContains "$ERR" 'unexpected argument: web'
	assertEquals '' "$OUT"
}

testAnOptionThatContradictsATraceIsAMistakeOfUsage() {
	for option in --rate=1 --service=1s --profile=day; do
		apppoolctl simulate -c "$DIR/pool.conf" --trace x "$option"
		assertEquals "$option" 64 "$RC"
		assertContains "$ERR" "no ${option%%=*}"
	done
}

testAnUnknownAppIsAMistakeOfUsage() {
	apppoolctl simulate -c "$DIR/pool.conf" --rate wob=1
	assertEquals 64 "$RC"
	assertEquals 'apppoolctl: simulate: --rate wob=1: there is no such app' \
	    "$ERR"
}

testAMistakeOfTheConfigurationIsToldWithItsLine() {
	printf 'app "web" {\n\tmax_proceses = 8\n}\n' >"$DIR/bad.conf"
	apppoolctl simulate -c "$DIR/bad.conf"
	assertEquals 78 "$RC"
	assertContains "$ERR" "$DIR/bad.conf:2: unknown option 'max_proceses'"
	apppoolctl simulate -c "$DIR/none.conf"
	assertEquals 78 "$RC"
}

testSimulateNeedsNothingThatTheFileNames() {
	cat >"$DIR/else.conf" <<-END
	user = "no-such-user"
	control = "/no/such/folder/control.sock"
	app "web" {
		listen = "no-such-host.invalid:80"
		command = "/no/such/program"
		directory = "/no/such/folder"
		on_full = "reply:/no/such/file"
	}
	END
	apppoolctl simulate -c "$DIR/else.conf" --for 1s
	assertEquals "$ERR" 0 "$RC"
}

# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
