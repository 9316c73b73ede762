#!/bin/sh
# `apppoolctl status` shows all apps at one glance.

file_setup() {
	{
		app web <<-EOF
		max_processes = 1
		max_queue = 10
		EOF
		cat <<-EOF
		app "shop-of-a-hundred-things" {
			listen = "unix:shop.sock"
			command = { "/bin/sh", "-c", "exit 3" }
			start_limit = 1
			restart_delay = 1h
			restart_delay_max = 1h
		}
		app "jobs" {
			handoff = none
			command = { "/bin/sleep", "1000" }
			min_processes = 2
		}
		EOF
	} | conf
	pool_run
	await status_is failed apps shop-of-a-hundred-things state
	await status_is running apps web state
	await status_is running apps jobs state
}

testOneLineTellsOfEachAppWhatIsBusyAndWhatWaits() {
	hold_at busy
	start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
	    --timeout "$LIMIT" >"$DIR/asked"
	await status_is 1 apps web waiting
	# shellcheck disable=SC2046 # words
	set -- $(ctl status | awk '$1 == "web"')
	assertEquals 'running 1/1 1 1' "$2 $3 $4 $5"
	assertNotEquals 'the oldest has waited' 0 "$6"
	assertEquals 'nothing refused' 0 "$9"
	open_gate busy
	behind
	await status_is 2 apps web completed
}

testThereIsALineForTheDaemonOneOfHeadingsAndOneForEachApp() {
	ctl status >"$DIR/out"
	assertEquals 5 "$(grep -c '' "$DIR/out")"
	assertContains "$(head -n 1 "$DIR/out")" "$DIR/pool.conf"
}

testATerminalIsAskedForItsWidth() {
	"$PYTHON" - "$APPPOOLCTL" "$DIR/control.sock" >"$DIR/out" <<-'EOF'
	import fcntl, os, pty, struct, sys, termios
	pid, terminal = pty.fork()
	if pid == 0:
	    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, 50, 0, 0))
	    os.environ.pop("COLUMNS", None)
	    os.execv(sys.argv[1], [sys.argv[1], "-s", sys.argv[2], "status"])
	said = b""
	try:
	    while part := os.read(terminal, 65536):
	        said += part
	except OSError:
	    pass
	sys.stdout.write(said.decode().replace("\r", ""))
	sys.exit(os.waitpid(pid, 0)[1] != 0)
	EOF
	assertEquals 0 $?
	assertEquals 5 "$(grep -c '' "$DIR/out")"
	assertEquals 50 "$(wc -L <"$DIR/out")"
}

testWhatIsNoTerminalGetsWholeLines() {
	assertTrue 'a failure' \
	    "ctl status | grep 'exit 3 ([^ ]* ago); next start in '"
}

testEverythingIsShownOfOneAppOrWithAnOption() {
	assertContains "$(ctl status web)" '/1 (min 1)'
	assertTrue 'last failure' "ctl status shop-of-a-hundred-things | grep -q \
	    'last failure [^ ]* ago: exited with status 3 before it was ready'"
	assertNotContains "$(ctl status web)" 'jobs'
	assertContains "$(ctl status -v)" '/1 (min 1)'
	assertContains "$(ctl status -v)" 'jobs: running'
	assertContains "$(ctl -v wait 2>&1)" '-v is for status'
}

# But for the first line, where a path is as long as it is.
testEverythingAboutAnAppFitsATerminalOf80Columns() {
	ctl status web | sed 1d >"$DIR/out"
	assertTrue "$(cat "$DIR/out")" "[ $(wc -L <"$DIR/out") -le 80 ]"
}

testAppsAreListedByNameAndInJsonWithoutTheirProcesses() {
	assertEquals "$(printf 'web\nshop-of-a-hundred-things\njobs')" \
	    "$(ctl apps)"
	assertEquals 'web 1 False' "$(ctl -j apps | "$PYTHON" -c '
import json, sys
web = json.load(sys.stdin)["apps"][0]
print(web["name"], web["max_processes"], "workers" in web)')"
}

testTheTableSaysWhenItCannotBeWritten() {
	ctl status >/dev/full 2>"$DIR/err"
	assertEquals 74 $?
	assertContains "$(cat "$DIR/err")" 'stdout'
}

. tests/e2e/lib.sh
