#!/bin/sh
# handoff = accept: php-cgi, libfcgi, Perl and Python, as they are in Debian.

. tests/e2e/accept_help.sh

# page [NAME [QUERY [ADDRESS]]]: the answer of FastCGI for a file in $DIR.
page() {
	REQUEST_METHOD=GET SCRIPT_NAME="/${1:-page.php}" QUERY_STRING="$2" \
	    SCRIPT_FILENAME="$DIR/${1:-page.php}" REDIRECT_STATUS=200 \
	    timeout "$LIMIT" cgi-fcgi -bind -connect "${3:-$DIR/web.sock}" |
	    sed -n '$p'
}

# pages COUNT...: so many, one after the other; prints which have no answer.
pages() {
	pages_left=$1
	shift
	while [ "$pages_left" -gt 0 ]; do
		pages_left=$((pages_left - 1))
		[ -n "$(page "$@")" ] || echo "none for the last but $pages_left"
	done
}

# page_behind: asks, as the process $PAGE, for a page that waits for `release`;
# returns when a worker has it. The page is in $DIR/page in the end.
page_behind() {
	rm -f "$DIR/released"
	page page.php wait >"$DIR/page" &
	PAGE=$!
	await status_is 1 apps web sessions
}

php() {
	accepts web php-cgi "$@"
}

python_app() {
	accepts web "$PYTHON" "$DIR/server.py" "$@"
}

more_setup() {
	cp "$BUILD/tests/e2e/workers/fcgi" "$DIR"
	cat >"$DIR/page.php" <<-'END'
	<?php
	$query = $_SERVER["QUERY_STRING"] ?? "";
	if ($query === "die")
	    posix_kill(getmypid(), SIGKILL);
	while ($query === "wait" && !file_exists("released")) {
	    usleep(1000);
	    clearstatcache();
	}
	echo getmypid(), " page\n";
	END
	cat >"$DIR/fcgi.pl" <<-'END'
	use FCGI;
	my $count = 0;
	my $request = FCGI::Request();
	while ($request->Accept() >= 0) {
	    print "Content-Type: text/plain\r\n\r\n", "$$ ", ++$count, "\n";
	}
	END
	cat >"$DIR/server.py" <<-'END'
	import http.server
	import os
	import socket
	import sys
	import time

	class Handler(http.server.BaseHTTPRequestHandler):
	    def do_GET(self):
	        while self.path == "/wait" and not os.path.exists("released"):
	            time.sleep(0.001)
	        self.send_response(200)
	        self.end_headers()
	        self.wfile.write(f"{self.client_address}\n".encode())

	    def log_message(self, *args):
	        pass

	kind = "HTTPServer" if len(sys.argv) == 1 else sys.argv[1]
	server = getattr(http.server, kind)(("", 0), Handler, False)
	server.socket = socket.socket(fileno=0)
	server.serve_forever()
	END
}

# ---------------------------------------------------------------- php-cgi

testPhpCgiServesPages() {
	starts '' php
	assertContains "$(page)" ' page'
	assertEquals '' "$(pages 50)"
	await status_is 51 apps web completed
	assert_accounts web
}

# Another user than ours could not enter this tree, in which the adapter is.
testPhpCgiBehindAnAdapterInTheCommandServes() {
	starts "min_processes = 2 user = \"$(id -un)\"" \
	    server web apppool-accept php-cgi
	assertEquals '' "$(pages 20)"
	assertEquals native "$(status apps web handoff)"
	await status_is '20 2' apps web completed,idle
	kill -KILL "$(program)"
	assertContains "$(page)" ' page'
	assertEquals 0 "$(status apps web lost)"
}

testTheStatusShowsTheMemoryOfPhpCgiNotOfTheAdapter() {
	starts '' php
	# The adapter alone has less than a megabyte.
	assertTrue "[ $(status apps web workers 0 rss) -gt 4000000 ]"
}

testPhpCgiServesOverTcp() {
	port=$(free_port)
	starts "listen += \"127.0.0.1:$port\"" php
	assertContains "$(page page.php '' "127.0.0.1:$port")" ' page'
}

testAPhpPageThatSleepsDoesNotHoldUpOthers() {
	starts 'min_processes = 2' php
	page_behind
	assertEquals '' "$(pages 10)"
	await status_is 10 apps web completed
	release
	wait "$PAGE"
	assertContains "$(cat "$DIR/page")" ' page'
}

testTheRecyclingOfPhpCgiCostsNoConnectionAndIsNoFailure() {
	starts 'environment = { "PHP_FCGI_MAX_REQUESTS=5" } max_processes = 1' \
	    php
	assertEquals '' "$(pages 31)"
	await status_is 31 apps web completed
	assertEquals 0 "$(status apps web lost)"
	assertEquals 7 "$(status apps web spawned)"
	assertFalse 'no pause is made' "grep -q 'next start' '$DIR/log'"
}

testPhpCgiKilledWhileIdleCostsNoConnection() {
	starts 'min_processes = 2 restart_delay = 10ms' php
	for round in 1 2 3; do
		# The answer is there before it waits again.
		await status_is 2 apps web idle
		kill -KILL "$(program)"
		assertContains "$round" "$(page)" ' page'
	done
	assertEquals 0 "$(status apps web lost)"
}

testPhpCgiKilledInAPageLosesThatPageAlone() {
	starts 'min_processes = 2' php
	assertEquals '' "$(page page.php die 2>/dev/null)"
	assertEquals '' "$(pages 10)"
	await status_is 1 apps web lost
	assert_accounts web
}

testAStopFinishesThePhpPage() {
	php </dev/null | conf
	pool_start -v
	page_behind
	kill -TERM "$POOL"
	await said stopping
	release
	ends_well
	wait "$PAGE"
	assertContains "$(cat "$DIR/page")" ' page'
	await said 'exited with status 0 (shutdown)'
}

testChildrenThatPhpCgiForksServe() {
	starts 'environment = { "PHP_FCGI_CHILDREN=2" } concurrency = 2
	    max_processes = 1' php
	page_behind
	assertContains "$(page)" ' page'
	await status_is 1 apps web completed
	release
	wait "$PAGE"
	await status_is 2 apps web completed
}

# ---------------------------------------------------------------- libfcgi

# serves_fifty COMMAND...: one process of the app counts all its pages.
serves_fifty() {
	conf_of 'max_processes = 1' accepts web "$@"
	pool_start -v
	assertEquals '' "$(pages 49)"
	assertEquals 50 "$(nth 2 "$(page)")"
	await status_is 50 apps web completed
	pool_stop
	await said 'exited with status 0 (shutdown)'
}

testProgramsOfLibfcgiInCAndPerlServe() {
	each serves_fifty <<-'END'
	"$DIR/fcgi"
	perl "$DIR/fcgi.pl"
	END
}

testFcgiwrapServesScripts() {
	[ -x /usr/sbin/fcgiwrap ] || { skip 'no fcgiwrap'; return; }
	conf_of 'max_processes = 1' accepts web /usr/sbin/fcgiwrap
	pool_start -v
	cat >"$DIR/script.cgi" <<-'END'
	#!/bin/sh
	echo "Content-Type: text/plain"
	echo
	echo "of $PPID with $QUERY_STRING"
	END
	chmod +x "$DIR/script.cgi"
	first=$(page script.cgi one)
	assertContains "$first" ' with one'
	assertEquals "${first% one} two" "$(page script.cgi two)"
	assertEquals '' "$(pages 20 script.cgi)"
	await status_is '22 1 0' apps web completed,spawned,lost
	by=seccomp
	[ "$ACCEPT_BY" != auto ] || by=library
	assertEquals "$by" "$(status apps web accept_by)"
	pool_stop
	await said 'exited with status 0 (shutdown)'
}

testFcgiWebServerAddrsOfLibfcgiAdmitsByTheClientsAddress() {
	port=$(free_port)
	for address in 127.0.0.1 127.0.0.9; do
		accepts web "$DIR/fcgi" <<-EOF | sed '/^listen = "unix/d' | conf
		environment = { "FCGI_WEB_SERVER_ADDRS=$address" }
		listen = "127.0.0.1:$port"
		EOF
		pool_start
		case $address in
		127.0.0.1)
			assertEquals 1 "$(nth 2 "$(page '' '' "127.0.0.1:$port")")"
			;;
		*)
			# The program turns the connection away, and goes on.
			page '' '' "127.0.0.1:$port" >/dev/null 2>&1
			await status_is 1 apps web completed
			assertEquals 1 "$(status apps web idle)"
			;;
		esac
		pool_stop
	done
}

# ---------------------------------------------------------------- Python

# urls COUNT PORT: prints those that fail.
urls() {
	urls_left=$1
	while [ "$urls_left" -gt 0 ]; do
		urls_left=$((urls_left - 1))
		http_get "http://127.0.0.1:$2/" || echo "failed: $urls_left"
	done | grep -v "('127.0.0.1', [0-9]*)"
}

testAPythonHttpServerServes() {
	port=$(free_port)
	python_app <<-EOF | sed '/^listen = "unix/d' | conf
	listen = "127.0.0.1:$port"
	EOF
	pool_start
	assertEquals '' "$(urls 30 "$port")"
	await status_is 30 apps web completed
}

testAPythonHttpServerWithThreadsServesSeveralAtATime() {
	port=$(free_port)
	python_app ThreadingHTTPServer <<-EOF | sed '/^listen = "unix/d' | conf
	listen = "127.0.0.1:$port"
	concurrency = 3
	max_processes = 1
	EOF
	pool_start
	rm -f "$DIR/released"
	http_get "http://127.0.0.1:$port/wait" >"$DIR/slow" &
	slow=$!
	await status_is 1 apps web sessions
	assertEquals '' "$(urls 10 "$port")"
	await status_is 10 apps web completed
	assertEquals 1 "$(status apps web sessions)"
	release
	wait "$slow"
	await status_is 11 apps web completed
}

. tests/e2e/lib.sh
