#!/bin/sh
# apppool-web, as programs see it.

if ! [ -x "${BUILD:-build}/libexec/apppool-web" ]; then
	echo 'skip web: no libmicrohttpd'
	echo '## passed=0 total=0'
	exit 0
fi

. tests/e2e/web_help.sh

file_setup() {
	choose_url
	OWN_PORT=$(free_port)
	{
		app web <<-EOF
		min_processes = 2
		max_processes = 4
		EOF
		cat <<-EOF
		app "fed" {
			listen = "unix:fed.sock"
			command = { "apppool-web", "-s", "$DIR/feed.sock",
			    "-H", "other.example,fed" }
			max_processes = 1
			concurrency = 60
		}
		EOF
		printf 'app "own" { listen = "*:%s" command = "apppool-web" }\n' \
		    "$OWN_PORT"
		app broken --exit-at-once 3 <<-EOF
		start_limit = 1
		min_processes = 0
		EOF
	} | web_conf
	pool_start
	start_process drip >"$DIR/dripped" 2>&1
}

# drip: a client of the page that is not behind wait_for_request, and sends a
# byte of a head now and then; how many seconds it lasts.
drip() {
	exec "$PYTHON" -c "
import socket, time
s = socket.socket(socket.AF_UNIX)
s.connect('$DIR/fed.sock')
s.settimeout(0.1)
begin = time.monotonic()
s.sendall(b'GET /healthz HTTP/1.1\r\nX: ')
while time.monotonic() < begin + 60:
    try:
        s.sendall(b'x')
        if not s.recv(1):
            break
    except TimeoutError:
        pass
    except OSError:
        break
print('%d seconds' % (time.monotonic() - begin))"
}

# code PATH [OPTION...]: the status; the body is in $DIR/body.
code() {
	code_path=$1
	shift
	http_get -o "$DIR/body" -w '%{http_code}' "$@" "$URL$code_path"
}

# is_served PATH: for await.
is_served() {
	[ "$(code "$1" 2>/dev/null)" = 200 ]
}

fed_is() {
	[ "$(http_get -o /dev/null -w '%{http_code}' \
	    --unix-socket "$DIR/fed.sock" http://fed/status.json)" = "$1" ]
}

# has_code CODE PATH: for await.
has_code() {
	[ "$(code "$2")" = "$1" ]
}

testThePageHasAllItNeedsInLessThan60Kilobytes() {
	assertEquals 200 "$(code /)"
	cmp -s "$DIR/body" lib/web/page.html || fail 'not the page'
	assertTrue 'its size' "[ '$(wc -c <"$DIR/body")' -le 60000 ]"
	assertEquals '' "$(grep -oE '(src|href)=.?(https?:)?//[^ >]*' \
	    "$DIR/body")"
}

testTheStatusIsThatOfTheDaemon() {
	assertEquals 200 "$(code /status.json)"
	ctl -j status >"$DIR/status"
	for file in body status; do
		sed -E 's/:-?[0-9.]+(e-[0-9]+)?/:0/g; s/null|true|false/0/g
		    s/"(active|idle)"/"ready"/g; s/"GET [^"]*"/0/g' \
		    "$DIR/$file" >"$DIR/$file.same"
	done
	assertEquals '' "$(diff "$DIR/status.same" "$DIR/body.same")"
}

# are_same_metrics TYPE [OPTION]: whether the page, asked for that type, and the
# daemon have the same metrics, whatever their values.
are_same_metrics() {
	[ "$(code /metrics -D "$DIR/head" -H "Accept: $1")" = 200 ] || return
	shift
	ctl metrics "$@" >"$DIR/metrics"
	for file in body metrics; do
		sed 's/ [^ ]*$//' "$DIR/$file" >"$DIR/$file.same"
	done
	cmp -s "$DIR/metrics.same" "$DIR/body.same"
}

# A further figure has a value as soon as a connection has been served.
testTheMetricsAreThoseOfTheDaemon() {
	# For a moment they may be those of the start.
	for name in web fed; do
		await serves /metrics \
		    "apppool_state{app=\"$name\",state=\"running\"} 1"
	done
	await are_same_metrics '*/*'
	assertContains "$(cat "$DIR/head")" \
	    'Content-Type: text/plain; version=0.0.4; charset=utf-8'
	await are_same_metrics application/openmetrics-text --openmetrics
	assertContains "$(cat "$DIR/head")" 'Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8'
}

# metrics_for ACCEPT: the format of the metrics that such a client gets.
metrics_for() {
	http_get -o "$DIR/given" -H "Accept: $1" "$URL/metrics"
	head -n 2 "$DIR/given" | awk '{ print $NF == "info" }' | tail -n 1
}

testOpenMetricsIsForClientsThatPreferIt() {
	open='application/openmetrics-text;version=1.0.0'
	text='text/plain;version=0.0.4'
	for accept in "$open" "$open;q=0.6,$text;q=0.5,*/*;q=0.1" \
	    "$text; q=0.5, Application/OpenMetrics-Text; Version=0.0.1"; do
		assertEquals "$accept" 1 "$(metrics_for "$accept")"
	done
	for accept in '' '*/*' text/html "$text" "$open;q=0" \
	    "$open;q=0.4,$text;q=0.5" 'application/openmetrics-text;version=2.0.0'; do
		assertEquals "$accept" 0 "$(metrics_for "$accept")"
	done
}

# prometheus_says VALUE QUERY: for await.
prometheus_says() {
	http_get -G --data-urlencode "query=$2" \
	    "http://127.0.0.1:$PROMETHEUS_PORT/api/v1/query" 2>/dev/null |
	    grep -qF ",\"$1\"]"
}

testPrometheusScrapesIt() {
	prometheus=$(command -v prometheus ||
	    ls build/peers/usr/bin/prometheus 2>/dev/null) ||
	    { skip 'no prometheus'; return; }
	PROMETHEUS_PORT=$(free_port)
	cat >"$DIR/prometheus.yml" <<-EOF
	global: { scrape_interval: 1s }
	scrape_configs:
	- job_name: apppoold
	  static_configs: [ { targets: [ "127.0.0.1:$WEB_PORT" ] } ]
	EOF
	start_process "$prometheus" --config.file="$DIR/prometheus.yml" \
	    --storage.tsdb.path="$DIR/prometheus" \
	    --web.listen-address="127.0.0.1:$PROMETHEUS_PORT" \
	    --web.console.templates="$DIR" --web.console.libraries="$DIR" \
	    >"$DIR/prometheus.log" 2>&1
	wait_for $((3 * LIMIT)) prometheus_says 1 up ||
	    fail "$(cat "$DIR/prometheus.log")"
	await prometheus_says 4 'apppool_max_processes{app="web"}'
	await prometheus_says 19 \
	    'count(apppool_queue_wait_seconds_bucket{app="web"})'
}

testTheHistoryHasEachApp() {
	await serves /history.json '"web":{"processes":\[2'
}

# serves PATH PATTERN: for await.
serves() {
	[ "$(code "$1")" = 200 ] && grep -q "$2" "$DIR/body"
}

# A word that the page did not know would have no colour, or no explanation.
testThePageKnowsAllReasonsAndStatesOfProcesses() {
	assertEquals 200 "$(code /metrics)"
	sed -n 's/^apppool_processes_ended_total{app="web",reason="\(.*\)"} .*/\1/p' \
	    "$DIR/body" >"$DIR/reasons"
	assertTrue 'there are reasons' "[ -s '$DIR/reasons' ]"
	while read -r reason; do
		assertTrue "$reason" "grep -q '^	$reason: ' lib/web/page.html"
	done <"$DIR/reasons"
	sed -n 's/^apppool_processes{app="web",state="\(.*\)"} .*/\1/p' \
	    "$DIR/body" >"$DIR/states"
	assertTrue 'there are states' "[ -s '$DIR/states' ]"
	while read -r state; do
		assertTrue "$state" "sed '/^const STATES/,/;/!d' lib/web/page.html |
		    grep -qw '$state:'"
		assertTrue "$state" "grep -q '^[.a-z, ]*\.${state}[, ].*{' lib/web/page.html"
	done <"$DIR/states"
}

testHealthzNamesAnAppThatHasFailed() {
	assertEquals 200 "$(code /healthz)"
	assertEquals ok "$(cat "$DIR/body")"
	ask "unix:$DIR/broken.sock" >/dev/null 2>&1
	await status_is failed apps broken state
	await has_code 503 /healthz
	assertEquals 'failed: broken' "$(cat "$DIR/body")"
	assertEquals 503 "$(code '/healthz?app=broken')"
	assertEquals 200 "$(code '/healthz?app=web')"
	await has_code 503 '/readyz?app=broken'
	assertEquals 'broken has failed' "$(cat "$DIR/body")"
}

testReadyzTellsOfADrainedAppAndHealthzDoesNot() {
	assertEquals 200 "$(code '/readyz?app=web')"
	assertEquals ok "$(cat "$DIR/body")"
	ctl drain web >/dev/null
	await has_code 503 '/readyz?app=web'
	assertEquals 'web is drained' "$(cat "$DIR/body")"
	assertEquals 200 "$(code '/healthz?app=web')"
	assertEquals 503 "$(code /readyz)"
	assertEquals 200 "$(code '/readyz?app=fed')"
	ctl resume web >/dev/null
	await has_code 200 '/readyz?app=web'
}

testHealthOfAnUnknownAppIsNotFound() {
	for name in we webx '' 'web%22%7D' "$(printf '%0300d' 0)"; do
		assertEquals "$name" '404 404' "$(code "/readyz?app=$name") \
$(code "/healthz?app=$name")"
	done
}

testAnotherPathIsToldWhatThereIs() {
	assertEquals 404 "$(code /nothing)"
	assertContains "$(cat "$DIR/body")" /status.json
	assertEquals 405 "$(code /metrics -d x)"
	assertEquals 200 "$(code /metrics -I)"
}

# statuses_of HOST...: of requests for them.
statuses_of() {
	for host; do
		code / -H "Host: $host"
	done
}

# By a name of its own that leads here, another site could have a browser read
# the page (DNS rebinding).
testRequestsForOtherHostsAreMisdirected() {
	assertEquals 200200200200200200200 "$(statuses_of localhost LocalHost:80 \
	    localhost. "127.0.0.1:$WEB_PORT" 127.9.9.9 '[::1]:8079' '[::1]')"
	assertEquals 421421421421421421421 "$(statuses_of evil.example \
	    localhost.evil.example 127.0.0.1.evil.example 198.51.100.1 '[2001:db8::1]' \
	    evil.localhost '')"
	assertContains "$(cat "$DIR/body")" 'apppool-web -H NAME'
	for host in other.example FED:1; do
		assertEquals "$host" 503 "$(http_get -o /dev/null -w '%{http_code}' \
		    --unix-socket "$DIR/fed.sock" "http://$host/status.json")"
	done
}

testTheAddressThatWasConnectedToIsANameOfThePage() {
	address=$(hostname -I | cut -d ' ' -f 1)
	[ "$address" ] || { skip 'no address but that of loopback'; return; }
	assertEquals 200 "$(curl -s -o /dev/null -w '%{http_code}' \
	    "http://$address:$OWN_PORT/")"
}

# exchange TEXT: what is answered until the end of the connection.
exchange() {
	"$PYTHON" -c "
import socket, sys
with socket.create_connection(('127.0.0.1', $WEB_PORT), $LIMIT) as s:
    s.sendall(sys.argv[1].encode())
    while data := s.recv(4096):
        sys.stdout.buffer.write(data)" "$1"
}

testABodyIsNotTakenForARequest() {
	inner=$(printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n ')
	for head in "GET /healthz HTTP/1.1" "POST /healthz HTTP/1.1"; do
		for length in "Content-Length: ${#inner}" \
		    'Transfer-Encoding: chunked'; do
			exchange "$(printf '%s\r\nHost: localhost\r\n%s\r\n\r\n%s' \
			    "$head" "$length" "$inner")" >"$DIR/answers"
			assertEquals "$head $length" 1 \
			    "$(grep -c '^HTTP/1.1 4' "$DIR/answers")"
			assertEquals 1 "$(grep -c '^HTTP' "$DIR/answers")"
		done
	done
}

# half_heads COUNT: that many clients of $DIR/fed.sock, and of the page, none of
# which sends more than half a head; until dismissed.
half_heads() {
	start_process "$PYTHON" -c "
import socket, sys, time
def begin(family, address):
    s = socket.socket(family)
    s.connect(address)
    s.sendall(b'GET /healthz HT')
    return s
held = [(begin(socket.AF_UNIX, '$DIR/fed.sock'),
         begin(socket.AF_INET, ('127.0.0.1', $WEB_PORT)))
        for _ in range($1)]
print('begun', flush=True)
time.sleep(1000)" >"$DIR/half"
	await grep -q begun "$DIR/half"
}

testAHundredHalfHeadsKeepNobodyWaiting() {
	half_heads 100
	begin=$(now_ms)
	assertEquals 200 "$(code /metrics)"
	# The process has them all, up to its concurrency.
	assertEquals 503 "$(http_get -o /dev/null -w '%{http_code}' \
	    --unix-socket "$DIR/fed.sock" http://fed/healthz)"
	took=$(($(now_ms) - begin))
	stop_process "$STARTED"
	assertTrue "$took ms" "[ $took -lt $((5000 * SLOW)) ]"
}

# Nonsense, half a request, a head without end, and silence.
testBadClientsAreAnsweredOrCutOffAndBotherNobody() {
	restarts=$(status apps status spawned)
	said=$("$PYTHON" - "$WEB_PORT" "$LIMIT" <<-'EOF' 2>&1
	import os, socket, sys
	port, limit = int(sys.argv[1]), int(sys.argv[2])
	def connect():
	    return socket.create_connection(("127.0.0.1", port), limit)
	silent = [connect() for _ in range(40)]
	for s in silent[:20]:
	    s.sendall(b"GET /status.json HT")
	with connect() as s:
	    s.sendall(b"\0" * 100)
	for text in (b"GET\r\n\r\n", os.urandom(5000) + b"\r\n\r\n",
	        b"GET / HTTP/1.1\r\nX: " + b"x" * 100000,
	        b"GET /../../etc/passwd HTTP/1.0\r\n\r\n",
	        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"):
	    with connect() as s:
	        answer = b""
	        try:
	            s.sendall(text)
	            s.shutdown(socket.SHUT_WR)
	            while part := s.recv(65536):
	                answer += part
	        except TimeoutError:
	            print(text[:30], "is not answered")
	        except OSError:
	            pass
	        if b" 200 " in answer[:20]:
	            print(text[:30], answer[:60])
	with connect() as s:
	    s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
	    if b" 200 " not in s.recv(100):
	        print("others wait")
	EOF
	)
	assertEquals '' "$said"
	assertEquals "$restarts" "$(status apps status spawned)"
}

testManyRequestsAtOnceAreAllAnswered() {
	seq 200 | xargs -P 20 -I N curl -s -o /dev/null -w '%{http_code}\n' \
	    --max-time "$LIMIT" "$URL/status.json?N" >"$DIR/codes"
	assertEquals 200 "$(grep -c '^200$' "$DIR/codes")"
	await status_is 0 apps status waiting
	assert_accounts status
}

# browse NAME: a client with an idle connection, which says when that ends, and
# another one with half a request.
browse() {
	start_process "$PYTHON" -c "
import http.client, socket
s = socket.create_connection(('127.0.0.1', $WEB_PORT))
s.sendall(b'GET / HTTP/1.1')
c = http.client.HTTPConnection('127.0.0.1', $WEB_PORT)
c.request('GET', '/healthz')
c.getresponse().read()
print('served', flush=True)
c.sock.recv(1)
print('ended', flush=True)
" >"$DIR/$1"
	await grep -q served "$DIR/$1"
}

# A daemon whose status has 20 million bytes; clients who read none of it.
testClientsWhoReadSlowlyHaveABoundOfMemory() {
	start_process "$PYTHON" -c "
import os, socket
s = socket.socket(socket.AF_UNIX)
os.umask(0)
s.bind('$DIR/feed.sock')
s.listen()
while True:
    c, _ = s.accept()
    try:
        c.recv(4096)
        c.sendall(b'{\"apps\":[\"' + 20000000 * b'x' + b'\"]}\\n')
    except OSError:
        pass
    c.close()"
	await test -S "$DIR/feed.sock"
	assertEquals '200 200 503' "$("$PYTHON" -c "
import socket
clients = []
for _ in range(3):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout($LIMIT)
    s.connect('$DIR/fed.sock')
    s.sendall(b'GET /status.json HTTP/1.1\\r\\nHost: fed\\r\\n\\r\\n')
    clients.append((s, s.recv(12)))
print(*(head[-3:].decode() for s, head in clients))")"
	await fed_is 200
}

testAnotherProcessTakesThePlaceOfOneThatWasKilled() {
	browse victim
	pid=$(status apps status workers 0 pid)
	kill -KILL "$pid"
	await grep -q ended "$DIR/victim"
	await is_served /status.json
}

# An idle connection is no session that a stop would have to wait for.
testAClientThatDripsItsHeadIsCutOff() {
	wait_for $((3 * LIMIT)) test -s "$DIR/dripped"
	seconds=$(sed 's/ seconds//' "$DIR/dripped")
	assertTrue "$(cat "$DIR/dripped")" "[ '$seconds' -le $((10 + 5 * SLOW)) ]"
}

testTheDaemonStopsAtOnceWhileABrowserIsConnected() {
	browse idle
	stop_begin=$(now_ms)
	stops_well
	await grep -q ended "$DIR/idle"
	assertTrue 'no stop_timeout' "[ $(($(now_ms) - stop_begin)) -lt 20000 ]"
	assertFalse 'nothing was killed' 'said "signal 9"'
}

testTheExampleIsValidAsItIs() {
	is_root || { skip 'needs root'; return; }
	sed "s,:8079,:$WEB_PORT," etc/examples/status.conf >"$DIR/example.conf"
	said=$("$APPPOOLD" -t -c "$DIR/example.conf" 2>&1)
	assertEquals "$said" 0 $?
}

testItIsAWorkerAndSaysSo() {
	said=$("$BUILD/libexec/apppool-web" 2>&1)
	assertEquals 64 $?
	assertContains "$said" 'this is a worker: apppoold starts it'
	said=$("$BUILD/libexec/apppool-web" -x 2>&1)
	assertEquals 64 $?
	assertContains "$said" 'usage: apppool-web'
}

. tests/e2e/lib.sh
