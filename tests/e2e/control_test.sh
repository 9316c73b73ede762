#!/bin/sh
# The control socket: clients of every kind, rights, and what status shows.

file_setup() {
	{
		echo 'control_mode = 0666'
		echo "dump_file = \"$DIR/dump.json\""
		app web <<-EOF
		min_processes = 2
		max_processes = 4
		EOF
	} | conf
	pool_start
}

# python: a program that has the socket in S; connect() and answer(bytes).
python() {
	{
		cat <<-EOF
		import socket, struct, sys
		S = "$DIR/control.sock"
		def connect():
		    s = socket.socket(socket.AF_UNIX)
		    # With a timeout of Python's own, connect() would not wait
		    # for a place in the backlog.
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO,
		        struct.pack("ll", $LIMIT, 0))
		    s.connect(S)
		    s.settimeout($LIMIT)
		    return s
		def read(s):
		    said = b""
		    try:
		        while True:
		            part = s.recv(65536)
		            if not part:
		                break
		            said += part
		    except ConnectionResetError:
		        pass
		    return said
		def answer(line, half=False):
		    with connect() as s:
		        try:
		            s.sendall(line)
		            if half:
		                s.shutdown(socket.SHUT_WR)
		        except (BrokenPipeError, ConnectionResetError):
		            pass
		        return read(s)
		EOF
		cat
	} | "$PYTHON" -
}

# as_nobody GROUP COMMAND: apppoolctl as a user without rights; its exit status
# is in $RC.
as_nobody() {
	cp "$APPPOOLCTL" "$DIR/apppoolctl"
	# shellcheck disable=SC2086 # words
	setpriv --reuid 65534 --regid 65534 --groups "$1" \
	    timeout "$LIMIT" "$DIR/apppoolctl" -s "$DIR/control.sock" $2 \
	    >"$DIR/out" 2>&1
	RC=$?
}

# A megabyte without a newline, of 50 clients; half a line, of 50 more; and 50
# that ask without end and never read. Others are answered, and what the daemon
# keeps of all that has a bound.
testEndlessHalfSentAndUnreadLinesCostLittle() {
	before=$(rss "$POOL")
	assertEquals 200 "$(python <<-'EOF'
	def send(s, what):
	    s.setblocking(False)
	    try:
	        while what:
	            what = what[s.send(what):]
	    except OSError:
	        pass
	    return s
	endless = [send(connect(), b"x" * (1 << 20)) for i in range(50)]
	half = [send(connect(), b"json stat") for i in range(50)]
	deaf = [send(connect(), b"json status\n" * 10000) for i in range(50)]
	print(sum(answer(b"json status\n").endswith(b"}\n") for i in range(200)))
	EOF
	)"
	after=$(rss "$POOL")
	# A sanitizer keeps what is freed.
	assertTrue "$before KiB before, $after after" \
	    "[ $after -le $((before + 4096 * SLOW)) ]"
}

testAHalfClosedClientIsAnswered() {
	assertEquals "b'apppoold" "$(python <<-'EOF' | cut -d ' ' -f 1
	print(answer(b"version\n", half=True))
	EOF
	)"
}

testThreeHundredClientsAtOnceAreAllAnswered() {
	assertEquals 300 "$(python <<-'EOF'
	clients = [connect() for i in range(300)]
	for c in clients[255::-1] + clients[256:]:
	    c.sendall(b"json status\n")
	print(sum(read(c).endswith(b"}\n") for c in clients))
	EOF
	)"
}

testClientsThatReadNothingHoldUpNoOther() {
	assertEquals 'b' "$(python <<-EOF
	silent = [connect() for i in range(100)]
	deaf = [connect() for i in range(100)]
	for c in deaf:
	    c.sendall(b"status\n")
	web = socket.socket(socket.AF_UNIX)
	web.settimeout($LIMIT)
	web.connect("$DIR/web.sock")
	web.sendall(b"hello\n")
	print("b" if read(web) and answer(b"status\n") else "late")
	EOF
	)"
}

testClientsThatLeaveInTheMiddleLeaveNoDescriptor() {
	before=$(fds "$POOL")
	python <<-'EOF'
	for line in (b"status\n", b"json status\n", b"wait\n", b"stat", b""):
	    for i in range(50):
	        c = connect()
	        c.sendall(line)
	        c.close()
	EOF
	await has_fds "$before"
}

testADescriptorSentAlongIsNotKept() {
	before=$(fds "$POOL")
	assertEquals '' "$(python <<-'EOF'
	for i in range(20):
	    with connect() as c:
	        try:
	            socket.send_fds(c, [b"version\n"], [0, 1, 2])
	        except PermissionError:
	            continue
	        if not read(c).startswith(b"apppoold"):
	            print("not answered")
	EOF
	)"
	await has_fds "$before"
}

testOtherUsersMaySeeTheStatusAndChangeNothing() {
	is_root || { skip 'needs root'; return; }
	as_nobody 65534 status
	assertEquals "$(cat "$DIR/out")" 0 "$RC"
	for command in stop reload restart 'detach 0' 'resize web 1 2' \
	    'drain web' 'resume web' 'stop web' 'start web'; do
		as_nobody 65534 "$command"
		assertEquals "$command" 1 "$RC"
		assertContains "$(cat "$DIR/out")" 'needs root'
	done
	assertTrue 'the daemon lives' pool_answers
}

testMembersOfControlGroupMayReload() {
	is_root || { skip 'needs root'; return; }
	group=$(getent group games | cut -d : -f 3)
	[ -n "$group" ] || { skip 'needs a group games'; return; }
	cp "$DIR/pool.conf" "$DIR/before"
	sed -i 's/^control_mode.*/control_group = "games"/' "$DIR/pool.conf"
	ctl reload >/dev/null
	assertEquals "660 games" "$(stat -c '%a %G' "$DIR/control.sock")"
	as_nobody 65534 status
	assertEquals 'connect refused' 77 "$RC"
	assertContains "$(cat "$DIR/out")" 'permission denied'
	as_nobody "$group" reload
	assertEquals "$(cat "$DIR/out")" 0 "$RC"
	assertContains "$(cat "$DIR/out")" 'reloaded'
	cp "$DIR/before" "$DIR/pool.conf"
	ctl reload >/dev/null
}

testStatusOfOneAppShowsThatOne() {
	assertEquals web "$(ctl -j status web | "$PYTHON" -c '
import json, sys
print(*[app["name"] for app in json.load(sys.stdin)["apps"]])')"
	assertContains "$(ctl status web)" '/4 (min 2)'
	assertContains "$(ctl status wep 2>&1)" 'is web meant?'
}

# The dump has the same keys, and the same values but for times and figures.
testTheDumpIsWhatStatusShows() {
	for key in sessions starting; do
		await status_is 0 apps web $key
	done
	rm -f "$DIR/dump.json"
	kill -USR1 "$POOL"
	await test -e "$DIR/dump.json"
	assertEquals 640 "$(stat -c %a "$DIR/dump.json")"
	ctl -j status >"$DIR/status.json"
	assertEquals '' "$("$PYTHON" - "$DIR/dump.json" "$DIR/status.json" <<-'EOF'
	import json, sys
	dump, status = (json.load(open(name)) for name in sys.argv[1:])
	def shape(node):
	    if isinstance(node, dict):
	        return {k: shape(v) for k, v in node.items()}
	    if isinstance(node, list):
	        return [shape(v) for v in node]
	    return node if isinstance(node, str) else None
	if shape(dump) != shape(status):
	    print(dump, status)
	EOF
	)"
}

testAControlSocketMovesWithAReload() {
	cp "$DIR/pool.conf" "$DIR/before"
	sed -i "s,^control = .*,control = \"$DIR/moved.sock\"," "$DIR/pool.conf"
	assertContains "$(ctl reload)" reloaded
	assertFalse 'the old socket is gone' "[ -e '$DIR/control.sock' ]"
	cp "$DIR/before" "$DIR/pool.conf"
	assertTrue "timeout $LIMIT '$APPPOOLCTL' -s '$DIR/moved.sock' reload"
	assertFalse 'the moved socket is gone' "[ -e '$DIR/moved.sock' ]"
	assertTrue 'back' pool_answers
}

testAnAppThatIsBeingRemovedIsFoundByName() {
	cp "$DIR/pool.conf" "$DIR/before"
	app old </dev/null >>"$DIR/pool.conf"
	ctl reload >/dev/null
	await status_is 1 apps old idle
	hold_at door old
	cp "$DIR/before" "$DIR/pool.conf"
	ctl reload >/dev/null
	assertEquals stopping "$(status apps old state)"
	assertContains "$(ctl status old)" 'old: stopping'
	ctl wait old >"$DIR/out" 2>&1
	assertEquals 1 $?
	assertContains "$(cat "$DIR/out")" 'old is being removed'
	ctl ping old >"$DIR/out" 2>&1
	assertNotEquals 0 $?
	assertContains "$(cat "$DIR/out")" 'old is being removed'
	open_gate door
	behind
	assertNotEquals 'the answer' '' "$ANSWER"
}

testAReloadThatIsRefusedTellsEveryMistake() {
	cp "$DIR/pool.conf" "$DIR/before"
	printf 'max_procesess = 3\nprocess_slack = x\n' >>"$DIR/pool.conf"
	ctl reload >"$DIR/out" 2>"$DIR/err"
	assertEquals 1 $?
	assertContains "$(cat "$DIR/out")" 'max_processes'
	assertContains "$(cat "$DIR/out")" 'process_slack'
	assertContains "$(cat "$DIR/err")" 'the old configuration stays in force'
	cp "$DIR/before" "$DIR/pool.conf"
}

testAReloadThatSucceedsTellsWhatTheMachineLacks() {
	cp "$DIR/pool.conf" "$DIR/before"
	cat >>"$DIR/pool.conf" <<-EOF
	app "typo" {
		handoff = none
		command = "$DIR/no-such-program"
	}
	EOF
	line=$(grep -n no-such-program "$DIR/pool.conf")
	ctl reload >"$DIR/out"
	assertEquals 0 $?
	assertContains "$(cat "$DIR/out")" "$DIR/pool.conf:${line%%:*}: app \
'typo': program $DIR/no-such-program: No such file or directory"
	assertContains "$(cat "$DIR/out")" 'typo: added'
	cp "$DIR/before" "$DIR/pool.conf"
	ctl reload >/dev/null
}

late_runs() {
	late=$(status apps late workers 0 pid 2>/dev/null)
	[ "$late" -gt 0 ] 2>/dev/null
}

# Whether the client that timeout runs is connected; before, wait would look for
# a daemon.
is_connected() {
	inode=$(find "/proc/$(pgrep -P "$STARTED")/fd" -printf '%l\n' |
	    sed -n 's/^socket:.\(.*\).$/\1/p')
	[ "$inode" ] && grep -q " 03 *$inode" /proc/net/unix
} 2>/dev/null

# The last two tests end the daemon that all tests of the file share.
testTheDeathOfTheDaemonEndsAWaitWithUnavailable() {
	cat >>"$DIR/pool.conf" <<-EOF
	app "late" {
		listen = "unix:late.sock"
		command = { "/bin/sleep", "1000" }
	}
	EOF
	ctl reload >/dev/null
	start_process timeout "$LIMIT" "$APPPOOLCTL" -s "$DIR/control.sock" \
	    wait late >"$DIR/out" 2>&1
	await late_runs
	await is_connected
	# /bin/sleep knows nothing of a socket whose end it could see.
	kill -KILL "$POOL" "$late"
	finish "$STARTED"
	assertEquals 69 "$RC"
	wait "$POOL" 2>/dev/null
	ctl status >/dev/null 2>&1
	assertEquals 'nobody listens' 69 $?
}

testAStaleControlSocketIsReplacedAndStopWaitsForTheEnd() {
	sed -i '/^app "late"/,$d' "$DIR/pool.conf"
	pool_start
	assertEquals stopping "$(ctl stop)"
	ends_well
	assertFalse 'its socket is gone' "[ -e '$DIR/control.sock' ]"
}

. tests/e2e/lib.sh
