#!/bin/sh
# `apppoolctl top`, on a terminal and where there is none.

file_setup() {
	{
		app web <<-EOF
		max_processes = 2
		EOF
		app shop </dev/null
	} | conf
	pool_start
}

# on_screen STEP...: top on a terminal of 100 columns. A step is keys to be
# pressed, after a "<", or a text to be seen after that, in any place and time.
# Exit status: of top, or 124 if something is not seen.
on_screen() {
	"$PYTHON" - "$LIMIT" "$APPPOOLCTL" "$DIR/control.sock" "$@" <<-'EOF'
	import fcntl, os, pty, re, select, signal, struct, sys, termios, time
	limit, ctl, control, *steps = sys.argv[1:]
	pid, terminal = pty.fork()
	if pid == 0:
	    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))
	    os.environ["TERM"] = "vt100"
	    os.execv(ctl, [ctl, "-s", control, "top", "--interval", "100ms"])
	said = b""
	def read(seconds):
	    global said
	    if not select.select([terminal], [], [], seconds)[0]:
	        return False
	    try:
	        part = os.read(terminal, 65536)
	    except OSError:
	        return False
	    # Without movements of the cursor.
	    said += re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()=>].?|\x0f", b"", part)
	    return part != b""
	for step in steps:
	    if step[0] == "<":
	        said = b""
	        os.write(terminal, step[1:].encode().decode("unicode_escape")
	            .encode())
	        continue
	    end = time.monotonic() + float(limit)
	    while step.encode() not in said:
	        if time.monotonic() > end or not read(1) and os.waitpid(
	                pid, os.WNOHANG)[0]:
	            print("not seen:", step, "but", said[-1000:])
	            os.kill(pid, signal.SIGKILL)
	            sys.exit(124)
	while read(float(limit)):
	    pass
	sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	EOF
}

testAllAppsAreSeenAndQQuits() {
	assertEquals '' "$(on_screen 'processes 2/64' REFUSED web shop '<q')"
	assertTrue "on_screen web '<q'"
}

testKeysChooseAnAppAndShowAllAboutIt() {
	assertEquals '' "$(on_screen web '<j\r' "unix:$DIR/shop.sock" \
	    'SERVED' '<q' REFUSED '<k\r' "unix:$DIR/web.sock" '<q' '<q')"
}

testKeysChooseWhatToSortBy() {
	assertEquals '' "$(on_screen 'the order of the file' '<>' 'name' \
	    '<>' 'state' '<<' 'name' '<?' 'r restart' '<q' '<q')"
}

# runs_another PID: whether web has another process.
runs_another() {
	runs_now=$(status apps web workers 0 pid 2>/dev/null)
	[ -n "$runs_now" ] && [ "$runs_now" != "$1" ]
}

testARestartIsAskedBackAndCarriedOut() {
	before=$(status apps web workers 0 pid)
	assertEquals '' "$(on_screen web '<r' 'Restart web? (y/n)' '<n' \
	    'for keys' '<q')"
	assertEquals 'no is no' "$before" "$(status apps web workers 0 pid)"
	assertEquals '' "$(on_screen web '<r' 'Restart web? (y/n)' '<y' \
	    'press a key' '<x' 'for keys' '<q')"
	await runs_another "$before"
}

testAnAppIsDrainedAndResumed() {
	assertEquals '' "$(on_screen web '<jd' 'Drain shop? (y/n)' '<y' \
	    'press a key' '<x' 'for keys' '<q')"
	await status_is drained apps shop state
	assertEquals '' "$(on_screen web '<ju' 'Resume shop? (y/n)' '<y' \
	    'press a key' '<x' 'for keys' '<q')"
	await status_is running apps shop state
}

testWithoutATerminalTablesAreRepeated() {
	ctl top -n 2 --interval 100ms >"$DIR/out"
	assertEquals 0 $?
	assertEquals 2 "$(grep -c '^APP ' "$DIR/out")"
	assertEquals 2 "$(grep -c '^shop  *running' "$DIR/out")"
}

testWrongOptionsOfTopAreRefused() {
	for words in '-n 0' '-n x' '--interval 1us' '--interval soon' 'web'; do
		# shellcheck disable=SC2086 # words
		ctl top $words >"$DIR/out" 2>&1
		assertEquals "$words" 64 $?
	done
	assertContains "$("$APPPOOLCTL" top -h)" '--interval'
	"$APPPOOLCTL" -s "$DIR/none.sock" top -n 1 2>"$DIR/err"
	assertEquals 69 $?
	assertContains "$(cat "$DIR/err")" 'no daemon'
}

. tests/e2e/lib.sh
