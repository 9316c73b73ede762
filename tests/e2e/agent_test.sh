#!/bin/sh
# `apppoolctl agent`, which HAProxy asks: always a whole line.

# agent [INPUT [WORD...]]: what it answers to this input is in $SAID.
agent() {
	input=${1-}
	[ $# -eq 0 ] || shift
	SAID=$(printf '%b' "$input" | ctl agent "$@" 2>&1; echo "$?")
	assertEquals 'exit status' 0 "${SAID##*
}"
	SAID=${SAID%
*}
}

# assert_agent LINE [INPUT [WORD...]]
assert_agent() {
	wanted=$1
	shift
	agent "$@"
	assertEquals "$*" "$wanted" "$SAID"
}

testTheAgentTellsHowManyConnectionsAnAppCanServe() {
	{
		app web <<-EOF
		max_processes = 8
		concurrency = 2
		EOF
		app api <<-EOF
		max_processes = 3
		min_processes = 0
		EOF
		server node /bin/sleep 600 <<-EOF
		handoff = listen
		ready_after = 0
		EOF
	} | conf
	pool_start
	assert_agent 'up 100%' 'node\n'
	assert_agent 'up 100% maxconn:16' 'web\n'
	assert_agent 'up 100% maxconn:16' 'web\r\n'
	assert_agent 'up 100% maxconn:16' web
	assert_agent 'up 100% maxconn:3' 'api\nweb\n'
	assert_agent 'up 100% maxconn:3' '' api
	assert_agent 'up 100% maxconn:16' 'web\n' api
	assert_agent 'up 100% maxconn:8' 'web\n' -n 2
	assert_agent 'up 100% maxconn:6' 'web\n' -n 3
	assert_agent 'up 100% maxconn:1' '' api -n 1000
}

testHalfThePlacesAreHalfTheWeight() {
	{
		echo 'max_processes = 6'
		app web <<-EOF
		max_processes = 4
		max_idle_time = 1ms
		stop_delay = 0
		EOF
		app other <<-EOF
		min_processes = 4
		max_processes = 4
		EOF
	} | conf
	pool_start
	assert_agent 'up 50% maxconn:2' 'web\n'
	assert_agent 'up 50%' ''
}

testAnAppThatIsNotReadyHasTheWeight0() {
	starts 'close_delay = 1h' with 'stop_timeout = 2h' app web
	assert_agent 'up 100% maxconn:8' 'web\n'
	ctl drain web >"$DIR/held" 2>&1 &
	await status_is draining apps web state
	assert_agent 'up 0%' 'web\n'
	assert_agent 'up 0%' ''
	ctl resume web >/dev/null
	assert_agent 'up 100% maxconn:8' 'web\n'
	kill -TERM "$POOL"
	await status_is stopping state
	assert_agent 'up 0%' 'web\n'
	pool_stop INT
}

testADrainedAppHasTheWeight0AndAStoppedOneIsStopped() {
	starts '' app web
	ctl drain web >/dev/null
	assert_agent 'up 0%' 'web\n'
	ctl stop web >/dev/null
	assert_agent 'stopped # by operator' 'web\n'
	assert_agent 'stopped # by operator' ''
	ctl start web >/dev/null
	assert_agent 'up 100% maxconn:8' 'web\n'
}

testAnAppThatStartsHasTheWeight0() {
	begins 'start_timeout = 1h' app web --never-ready
	assert_agent 'up 0%' 'web\n'
	pool_stop INT
}

testAFailedAppFailsWithItsReasonInOneLine() {
	{
		app web </dev/null
		app bad --print-error 'no # database' --exit-at-once 3 <<-EOF
		start_limit = 1
		EOF
	} | conf
	pool_run
	await status_is failed apps bad state
	agent 'bad\n'
	assertContains "$SAID" 'fail # bad: '
	assertContains "$SAID" 'no # database'
	assertEquals "$SAID" 1 "$(echo "$SAID" | wc -l)"
	failed=$SAID
	assert_agent "$failed" ''
	await status_is true apps web ready
	assert_agent 'up 100% maxconn:8' 'web\n'
}

testHostileInputGetsALineThatFails() {
	starts '' app web
	assert_agent 'fail # no app wep' 'wep\n'
	for input in 'web web\n' '\033[2Jweb\n' '../web\n' 'web;stop\n' '\001\n' \
	    '\0377\0376\n' "$(printf '%01000d' 0)"; do
		agent "$input"
		assertEquals "$input" 'fail # no app has such a name' \
		    "$(echo "$SAID" | sed 's/no app 0*$/no app has such a name/')"
	done
	assert_agent 'up 100% maxconn:8' '\nstop\n' web
	agent 'web\000stop\n'
	assertEquals 'status' running "$(status apps web state)"
	for number in 0 -1 x 1001; do
		agent 'web\n' -n "$number"
		assertContains "$number" "$SAID" 'fail # '
	done
}

testAnAgentWithoutADaemonFails() {
	agent 'web\n'
	assertContains "$SAID" 'fail # apppoolctl: no daemon'
	starts '' app web
	pause_process "$POOL"
	assert_agent 'fail # apppoolctl: not within 1 s' 'web\n'
	kill -CONT "$POOL"
}

# serves_agent LINE [INPUT]: as an app of its own, behind TCP.
serves_agent() {
	assertEquals "$2" "$1" "$(socket_client "127.0.0.1:$PORT" \
	    "s.sendall(b'${2:-}')" 'print(read().decode(), end="")')"
}

testTheAgentIsAnAppOfItsOwn() {
	PORT=$(free_port)
	{
		echo 'control_mode = 0666'
		app web </dev/null
		cat <<-EOF
		app "agent" {
			listen = "127.0.0.1:$PORT"
			handoff = stdio
			command = { "$APPPOOLCTL", "-s", "$DIR/control.sock", "agent" }
			min_server_life = 0
			max_processes = 4
		}
		EOF
	} | conf
	pool_start
	serves_agent 'up 100% maxconn:8' 'web\n'
	serves_agent 'up 100%'
	# Clients that leave at once, or say nothing, make it fail in no way.
	socket_client "127.0.0.1:$PORT" 'for i in range(10):' \
	    '    c = socket.create_connection(s.getpeername())' \
	    '    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,' \
	    '                 struct.pack("ii", 1, 0))' \
	    '    c.sendall(b"web\n")' '    c.close()'
	serves_agent 'up 100% maxconn:8' 'web\n'
	assertEquals 'running null' "$(status apps agent state,last_failure)"
}

. tests/e2e/lib.sh
