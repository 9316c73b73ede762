#!/bin/sh
# The first commands of a new user: options, messages about mistakes, and exit
# statuses.

# apppoold OPTION...: its exit status is in $RC, its output in $OUT and $ERR.
apppoold() {
	timeout "$LIMIT" "$APPPOOLD" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null
	RC=$? OUT=$(cat "$DIR/out") ERR=$(cat "$DIR/err")
}

apppoolctl() {
	timeout "$LIMIT" "$APPPOOLCTL" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null
	RC=$? OUT=$(cat "$DIR/out") ERR=$(cat "$DIR/err")
}

good_conf() {
	app web </dev/null | conf
}

testVersionIsNameAndNumber() {
	apppoold -V
	assertEquals 0 "$RC"
	assertEquals "apppoold $(sed -n 's/^VERSION = //p' Makefile)" "$OUT"
}

testHelpGoesToStandardOutputAndNamesEveryOption() {
	apppoold -h
	assertEquals 0 "$RC"
	assertEquals '' "$ERR"
	assertContains "$OUT" 'usage: apppoold '
	assertContains "$OUT" '[-DhTtVv]'
	assertContains "$OUT" 'apppoold run '
	for option in '-c FILE' -D --exit-on-failed -h -T -t -V -v '-l ADDRESS' \
	    '-n MIN[:MAX]' '-o OPTION=VALUE' --print; do
		assertContains "$OUT" "
  $option"
	done
}

testAMistakeOfUsageExitsWith64() {
	for word in -x --nonsense -c start; do
		apppoold $word
		assertEquals "$word" 64 "$RC"
		assertEquals '' "$OUT"
		assertContains "$ERR" 'usage: '
	done
	assertContains "$ERR" start
}

testCheckingAGoodFileExitsWithZeroAndMakesNoSocket() {
	good_conf
	apppoold -t -c "$DIR/pool.conf"
	assertEquals "$ERR" 0 "$RC"
	assertEquals '' "$OUT"
	assertEquals '' "$(find "$DIR" -type s)"
}

testAMistakeOfTheFileIsToldWithItsLine() {
	conf <<-END
	# a comment
	app "web" {
		listen = "unix:$DIR/web.sock"
		command = { "$TWORKER" }
		max_proceses = 3
	}
	END
	for option in -t -T; do
		apppoold $option -c "$DIR/pool.conf"
		assertEquals 78 "$RC"
		assertContains "$ERR" "$DIR/pool.conf:6: "
		assertContains "$ERR" max_processes
	done
}

testADaemonDoesNotStartWithAMistakeInItsFile() {
	conf <<-END
	app "web" { }
	END
	apppoold -c "$DIR/pool.conf"
	assertEquals 78 "$RC"
	assertContains "$ERR" "$DIR/pool.conf:2: "
}

testAMissingFileExitsWith78() {
	apppoold -c "$DIR/none.conf"
	assertEquals 78 "$RC"
	assertContains "$ERR" "$DIR/none.conf"
	assertContains "$ERR" 'No such file'
}

testWithoutTheDefaultFileExamplesAndTheOtherWaysAreNamed() {
	[ ! -e /etc/apppoold/pool.conf ] || { skip 'installed'; return; }
	apppoold
	assertEquals 78 "$RC"
	assertContains "$ERR" '/etc/apppoold/pool.conf'
	assertContains "$ERR" examples
	assertContains "$ERR" 'name another file by -c'
	assertContains "$ERR" 'apppoold run PROGRAM'
}

testAnEmptyFileIsAMistake() {
	: >"$DIR/empty.conf"
	apppoold -t -c "$DIR/empty.conf"
	assertEquals 78 "$RC"
}

testTheConfigurationThatIsPrintedIsReadBackAsTheSame() {
	good_conf
	apppoold -T -c "$DIR/pool.conf"
	assertEquals "$ERR" 0 "$RC"
	assertContains "$OUT" 'min_processes = 1'
	printf '%s\n' "$OUT" >"$DIR/again.conf"
	apppoold -T -c "$DIR/again.conf"
	assertEquals "$ERR" 0 "$RC"
	assertEquals "$(cat "$DIR/again.conf")" "$OUT"
}

testTheConfigurationOfMakeRunIsValid() {
	[ ${#PWD} -le 80 ] ||
	    { skip 'this folder has too long a path for a socket'; return; }
	as_nobody=
	! is_root || as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
	$as_nobody test -x "$PWD/build/contrib/hello" ||
	    { skip 'no hello here that nobody can run'; return; }
	PORT=$(free_port) apppoold -t -c etc/pool.conf
	assertEquals "$ERR" 0 "$RC"
}

testAControlSocketThatCannotBeMadeEndsTheStart() {
	good_conf
	sed -i "s,^control.*,control = \"$DIR/none/control.sock\"," "$DIR/pool.conf"
	apppoold -c "$DIR/pool.conf"
	assertContains '73 78' "$RC"
	assertContains "$ERR" "$DIR/none"
}

testAPidFileThatCannotBeMadeEndsTheStart() {
	good_conf
	echo "pid_file = \"$DIR/none/pid\"" >>"$DIR/pool.conf"
	apppoold -c "$DIR/pool.conf"
	assertContains '73 78' "$RC"
	assertContains "$ERR" "$DIR/none/pid"
}

# as_user OPTION...: the daemon as a user without rights.
as_user() {
	if is_root; then
		set -- setpriv --reuid=65534 --regid=65534 --clear-groups \
		    "$APPPOOLD" "$@"
	else
		set -- "$APPPOOLD" "$@"
	fi
	timeout "$LIMIT" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null
	RC=$? OUT=$(cat "$DIR/out") ERR=$(cat "$DIR/err")
}

testAFileThatMayNotBeMadeExitsWith77() {
	mkdir -m 755 "$DIR/closed"
	is_root || chmod 555 "$DIR/closed"
	for option in control log pid_file; do
		good_conf
		sed -i '/^control/d' "$DIR/pool.conf"
		[ "$option" = control ] ||
		    echo 'control = ""' >>"$DIR/pool.conf"
		echo "$option = \"$DIR/closed/file\"" >>"$DIR/pool.conf"
		as_user -c "$DIR/pool.conf"
		assertEquals "$option: $ERR" 77 "$RC"
		assertContains "$ERR" "$DIR/closed/file: "
	done
}

testAFailedStartLeavesNoSocketBehind() {
	conf <<-END
	counter = "unix:$DIR/counter.sock"
	app "web" {
		listen = { "unix:$DIR/web.sock", "unix:$DIR/pool.conf" }
		command = { "$TWORKER" }
	}
	END
	apppoold -c "$DIR/pool.conf"
	assertEquals 73 "$RC"
	assertEquals '' "$(find "$DIR" -type s)"
}

testApppoolctlWithoutACommandIsAMistakeOfUsage() {
	apppoolctl
	assertEquals 64 "$RC"
	assertContains "$ERR" 'usage: apppoolctl '
}

testApppoolctlWithoutStandardOutputSaysSo() {
	good_conf
	pool_start
	"$APPPOOLCTL" -s "$DIR/control.sock" status >&- 2>"$DIR/err"
	assertEquals 74 $?
	assertContains "$(cat "$DIR/err")" stdout
}

testApppoolctlFindsTheDaemonByABrokenFile() {
	good_conf
	pool_start
	echo 'app "broken {' >>"$DIR/pool.conf"
	apppoolctl -c "$DIR/pool.conf" status
	assertEquals "$ERR" 0 "$RC"
	assertContains "$OUT" web
}

. tests/e2e/lib.sh
