#!/bin/sh
# load_report: the header endpoint-load-metrics that the workers for WSGI, Rack
# and PSGI add to their responses.

file_setup() {
	cp etc/examples/hello_wsgi.py etc/examples/hello.ru \
	    etc/examples/hello.psgi "$DIR"
	cat >"$DIR/own.py" <<-'EOF'
	def application(environ, start_response):
	    start_response("200 OK", [("Endpoint-Load-Metrics", "TEXT eps=1")])
	    return [b"own"]
	EOF
	cat >"$DIR/own.ru" <<-'EOF'
	run(->(_) { [200, { "Endpoint-Load-Metrics" => "TEXT eps=1" }, ["own"]] })
	EOF
	cat >"$DIR/own.psgi" <<-'EOF'
	sub { [200, ['Endpoint-Load-Metrics' => 'TEXT eps=1'], ['own']] };
	EOF
	chmod a+r "$DIR"/hello* "$DIR"/own*
}

RACK='[ -e /usr/share/doc/ruby-rack ]'
PSGI='perl -MSocket::MsgHdr -MPlack -e 1'

# serves WORKER APPLICATION PROOF [OPTION]: starts four processes, unless PROOF, a
# command, fails.
serves() {
	eval "$3" >/dev/null 2>&1 || { skip "no $3"; return 1; }
	# Others may not be able to enter this tree.
	user=
	! is_root || user='user = root'
	conf <<-END
	app "web" {
		listen = "unix:$DIR/web.sock"
		command = { "$1", "--timeout", "100", "$2" }
		directory = "$DIR"
		protocol = http
		keep_alive = true
		min_processes = 4
		max_processes = 4
		$user
		$4
	}
	END
	pool_start
}

# load: the number in the header.
load() {
	http_get --unix-socket "$DIR/web.sock" -D "$DIR/head" -o "$DIR/page" \
	    http://x/
	sed -n 's/^endpoint-load-metrics: TEXT application_utilization=//p' \
	    "$DIR/head" | tr -d '\r'
}

# reports WORKER APPLICATION PROOF: the number rises with the sessions, and beyond 1
# with those that wait.
reports() {
	serves "$@" 'load_report = true' || return 0
	assertEquals 0.25 "$(load)"
	occupy two 2
	await status_is 2 apps web sessions
	assertEquals 0.75 "$(load)"
	occupy one
	await status_is 3 apps web sessions
	assertEquals 1 "$(load | sed 's/\.0$//')"
	occupy last
	await status_is 4 apps web sessions
	start_process curl -s --max-time $((3 * LIMIT)) -D "$DIR/waited" \
	    --unix-socket "$DIR/web.sock" http://x/ >"$DIR/page"
	asking=$STARTED
	await status_is 1 apps web waiting
	occupy waiter
	await status_is 2 apps web waiting
	dismiss last
	finish "$asking"
	assertContains "$(cat "$DIR/waited")" \
	    'endpoint-load-metrics: TEXT application_utilization=1.25'
	for who in two one waiter; do
		dismiss "$who"
	done
	stops_well
}

testWsgiReportsTheLoad() {
	reports apppool-wsgi hello_wsgi:application true
}

testRackReportsTheLoad() {
	reports apppool-rack hello.ru "$RACK"
}

testPsgiReportsTheLoad() {
	reports apppool-psgi hello.psgi "$PSGI"
}

# A parked connection comes back with a message of its own.
testEachRequestOfAConnectionReportsTheLoadOfItsTime() {
	serves apppool-wsgi hello_wsgi:application true 'load_report = true' ||
	    return 0
	"$PYTHON" - "$DIR/web.sock" "$LIMIT" >"$DIR/said" <<-'EOF'
	import http.client, socket, sys, time
	def connect():
	    s = socket.socket(socket.AF_UNIX)
	    s.settimeout(float(sys.argv[2]))
	    s.connect(sys.argv[1])
	    return s
	client = http.client.HTTPConnection("x")
	client.sock = connect()
	def load():
	    client.request("GET", "/")
	    answer = client.getresponse()
	    answer.read()
	    return answer.getheader("endpoint-load-metrics").split("=")[1]
	print(load())
	silent = connect()
	end = time.monotonic() + float(sys.argv[2])
	while (now := load()) == "0.25" and time.monotonic() < end:
	    time.sleep(0.01)
	print(now)
	EOF
	assertEquals '0.25 0.5' "$(xargs <"$DIR/said")"
	stops_well
}

# leaves WORKER APPLICATION PROOF OPTION TEXT: what the application says of its load
# is TEXT.
leaves() {
	serves "$1" "$2" "$3" "$4" || return 0
	load >/dev/null
	assertContains "$1" "$(cat "$DIR/head")" '200 OK'
	assertEquals "$1" "$5" \
	    "$(grep -i load-metrics "$DIR/head" | tr -d '\r')"
	stops_well
}

testNoWorkerReportsTheLoadByDefault() {
	leaves apppool-wsgi hello_wsgi:application true '' ''
	leaves apppool-rack hello.ru "$RACK" '' ''
	leaves apppool-psgi hello.psgi "$PSGI" '' ''
}

testAnApplicationMayReportItself() {
	own='Endpoint-Load-Metrics: TEXT eps=1'
	leaves apppool-wsgi own:application true 'load_report = true' "$own"
	leaves apppool-rack own.ru "$RACK" 'load_report = true' "$own"
	leaves apppool-psgi own.psgi "$PSGI" 'load_report = true' "$own"
}

. tests/e2e/lib.sh
