#!/bin/sh
# apppoolctl ping: a health check by a request like that of any client.

file_setup() {
	cp "$BUILD/contrib/hello" tests/e2e/workers/fastcgi.py "$DIR"
}

# ping WORD...: its exit status is in $RC, its output in $SAID.
ping() {
	SAID=$(ctl ping "$@" 2>&1)
	RC=$?
}

# good TEXT, bad TEXT: the result of the last ping.
good() {
	assertEquals "$SAID" 0 "$RC"
	assertContains "$SAID" "$1"
}

bad() {
	assertEquals "$SAID" 1 "$RC"
	assertContains "$SAID" "$1"
}

# app_of PROTOCOL NAME COMMAND...: an app, for conf; what else it has comes from
# stdin.
app_of() {
	app_protocol=$1
	shift
	with "protocol = $app_protocol" cat | server "$@"
}

# ---------------------------------------------------------------- HTTP

testAnAppThatAnswersHttpIsGood() {
	starts '' app_of http web ./hello
	ping web
	good 'web: 200 OK, '
	good " ms (unix:$DIR/web.sock)"
	await status_is 1 apps web completed
}

testAnAppIsPingedByTcpAndAtAWildcardAddress() {
	one=$(free_port) two=$(free_port)
	for app in "inet 127.0.0.1:$one" "any *:$two"; do
		app_of http "${app% *}" ./hello </dev/null |
		    sed "s/unix:.*sock/${app#* }/"
	done | conf
	pool_start
	ping inet
	good "(127.0.0.1:$one)"
	ping any
	good "200 OK, "
}

testAnAppIsPingedByIpv6() {
	port=$(free_port)
	has_ipv6 || { skip 'no IPv6'; return; }
	app_of http web ./hello </dev/null | sed "s/unix:.*sock/[::1]:$port/" | conf
	pool_start
	ping web
	good "([::1]:$port)"
}

testTheFirstAddressOfAnAppIsPinged() {
	starts 'listen += "unix:other.sock"' app_of http web ./hello
	for _ in 1 2 3 4; do
		ping web
		good "(unix:$DIR/web.sock)"
	done
}

testTheOptionPathIsThePathOfTheRequest() {
	cat >"$DIR/answer" <<-'EOF'
	#!/bin/sh
	read -r method path version
	case $path in
	/health) echo 'HTTP/1.0 200 Healthy' ;;
	/moved) echo 'HTTP/1.0 301 Moved' ;;
	*) echo 'HTTP/1.0 404 Not There' ;;
	esac
	echo
	EOF
	chmod 755 "$DIR/answer"
	starts 'handoff = stdio' app_of http web ./answer
	ping web --path /health
	good '200 Healthy'
	ping web --path=/moved
	good '301 Moved'
	ping web
	bad '404 Not There'
}

testAFastcgiPageThatIsNotThereIsBadAndTheWayOfPhpIsTold() {
	fastcgi
	ping web --path /404
	bad '404 As asked'
	assertContains "$SAID" 'of PHP, --path names the file of a script'
}

testAnAppThatHasFailedIsBad() {
	begins 'start_limit = 1' app_of http web false
	await status_is failed apps web state
	ping web
	bad '503 Service Unavailable'
}

testAnAppThatDoesNotAnswerIsBadWithinTheTimeout() {
	starts 'handoff = stdio' with 'stop_timeout = 200ms' \
	    app_of http web sleep 3600
	before=$(now_ms)
	ping web --timeout 300ms
	took=$(($(now_ms) - before))
	bad 'no whole answer within 0.3 s'
	assertTrue "took $took ms" "[ $took -ge 300 ]"
	# The default timeout is 5 s.
	assertTrue "took $took ms" "[ $took -lt 4800 ]"
}

testAnAppWithAFullBacklogIsBadWithinTheTimeout() {
	starts 'max_processes = 1 max_queue = 0 backlog = 1' \
	    with 'stop_timeout = 200ms' app web
	ask_behind 'sleep 3600s'
	# The kernel keeps one connection more than the backlog says.
	for _ in 1 2; do
		start_process "$BUILD/tests/e2e/ask" --to "unix:$DIR/web.sock" \
		    --timeout $((3 * LIMIT)) >/dev/null 2>&1
	done
	await status_is 2 apps web backlog
	ping web --timeout 200ms
	bad 'not connected within 0.2 s'
}

# ---------------------------------------------------------------- FastCGI

fastcgi() {
	starts '' with 'stop_timeout = 200ms' app_of fastcgi web ./fastcgi.py
}

testAnAppThatAnswersFastCgiIsGood() {
	fastcgi
	ping web
	good '200 OK'
	ping web --path /204
	good '204 As asked'
}

testAFastCgiExitStatusIsBad() {
	fastcgi
	ping web --path /exit/3
	bad '200 OK, exit status 3'
}

testTheStandardErrorOfAFastCgiProgramIsShown() {
	fastcgi
	ping web --path /stderr
	good 'web: stderr: something is wrong'
}

testAFastCgiAnswerWithoutAnEndIsBad() {
	fastcgi
	ping web --path /cut
	bad 'the answer has no end'
	ping web --path /silent --timeout 200ms
	bad 'no whole answer within 0.2 s'
}

testAFastCgiAppThatRefusesIsOverloaded() {
	begins 'start_limit = 1' app_of fastcgi web false
	await status_is failed apps web state
	ping web
	bad 'refused: overloaded'
}

# ---------------------------------------------------------------- raw

testARawAppThatCanBeConnectedToIsGood() {
	starts '' app_of raw web ./hello
	ping web
	good 'web: connected'
}

# The daemon accepts and closes, which looks like a server that waits.
testARawAppThatHasFailedIsBad() {
	begins 'start_limit = 1' app_of raw web false
	await status_is failed apps web state
	ping web
	bad 'web: failed: exited with status 1 before it was ready; handoff = native '
	assertContains "$(ctl -j ping web)" '"good":false'
}

testWhatAFailedAppHasSaidGivesTheTerminalNoCommands() {
	printf 'printf "\\033c\\n" >&2; exit 1\n' >"$DIR/rude"
	begins 'start_limit = 1' app_of raw web sh rude
	await status_is failed apps web state
	ping web
	bad 'exited with status 1 before it was ready: \x1bc'
}

# ---------------------------------------------------------------- for scripts

testPingPrintsOneJsonObject() {
	fastcgi
	ctl -j ping web --path /404 >"$DIR/json"
	assertEquals 1 $?
	assertEquals "web fastcgi False 404 404 As asked None unix:$DIR/web.sock" \
	    "$("$PYTHON" -c '
import json, sys
a = json.load(open(sys.argv[1]))
assert 0 < a["time"] < 100
print(*(a[k] for k in ("app", "protocol", "good", "status", "text", "stderr",
    "address")))' "$DIR/json")"
}

testAnUnknownAppAndAMissingDaemonExitWith69() {
	starts '' app_of http web ./hello
	ping wep
	assertEquals 69 "$RC"
	assertContains "$SAID" 'no app wep; is web meant?'
	pool_stop
	ping web
	assertEquals 69 "$RC"
	assertContains "$SAID" 'no daemon'
}

testAnAppWithoutASocketCannotBePinged() {
	starts 'handoff = none' job job sleep 3600
	ping job
	assertEquals 69 "$RC"
	assertContains "$SAID" 'job listens nowhere'
}

testWrongArgumentsOfPingExitWith64() {
	starts '' app_of http web ./hello
	for words in '' 'web other' 'web --path nothing' 'web --timeout 0' \
	    'web --timeout soon' 'web --timeout 2d'; do
		# shellcheck disable=SC2086 # words
		ping $words
		assertEquals "$words: $SAID" 64 "$RC"
	done
	ping web --path '/a b'
	assertEquals "$SAID" 64 "$RC"
	ctl status --path / >/dev/null 2>&1
	assertEquals 64 $?
}

. tests/e2e/lib.sh
