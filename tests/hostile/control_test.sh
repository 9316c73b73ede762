#!/bin/sh
# A user of the control socket keeps no other from it.

# A busy daemon waits for the processor as long as other tests want it, too.
NOISE=0.5 WORST=3

file_setup() {
	{
		echo 'control_mode = 0666'
		app_b
	} | conf
	pool_start
	cp "$APPPOOLCTL" "$DIR/apppoolctl"
	quiet_b
}

# as UID COMMAND...: without any rights.
as() {
	as_uid=$1
	shift
	setpriv --reuid "$as_uid" --regid "$as_uid" --clear-groups "$@"
}

# sit_silently COMMAND...: the connections of a program behind the command come
# again as soon as they are turned away.
sit_silently() {
	start_process "$@" "$PYTHON" -c '
import select, socket, sys
silent = select.poll()
clients = {}
def connect():
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[1])
    clients[client.fileno()] = client
    silent.register(client, 0)
for _ in range(400):
    connect()
print("ready", flush=True)
while True:
    for fd, _ in silent.poll():
        silent.unregister(fd)
        clients.pop(fd).close()
        connect()
' "$DIR/control.sock" >"$DIR/silent" 2>/dev/null
	await grep -q ready "$DIR/silent"
}

# assert_prompt [COMMAND...]: the status comes at once; the command stands
# before apppoolctl.
assert_prompt() {
	start=$(now_ms)
	"$@" timeout "$LIMIT" "$DIR/apppoolctl" -s "$DIR/control.sock" status \
	    >"$DIR/out" 2>&1
	assertEquals "$(cat "$DIR/out")" 0 $?
	took=$(($(now_ms) - start))
	assertTrue "$* status took $took ms" "[ $took -lt $((3000 * SLOW)) ]"
}

testFourHundredSilentConnectionsKeepNoOperatorWaiting() {
	is_root || { skip 'needs root'; return; }
	sit_silently as 65534
	watch_b
	assert_prompt
	assert_prompt as 65533
	assert_b_is_served
}

testFourHundredConnectionsOfTheOperatorKeepHimWaitingNoMore() {
	sit_silently env
	watch_b
	assert_prompt
	assert_prompt
	assert_b_is_served
}

. tests/hostile/hostile_help.sh
. tests/e2e/lib.sh
