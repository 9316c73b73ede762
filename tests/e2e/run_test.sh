#!/bin/sh
# One app without a file: `apppoold run`.

. tests/e2e/examples_help.sh

# starts_up WORD...: `apppoold run` in $DIR at $PORT, with the control socket
# that other functions ask; returns when it answers or has ended.
starts_up() {
	: >"$DIR/log"
	PORT=$(free_port)
	start_process env -C "$DIR" "$APPPOOLD" run -l "127.0.0.1:$PORT" \
	    -o "control=$DIR/control.sock" "$@" >>"$DIR/log" 2>&1 </dev/null
	POOL=$STARTED
	wait_for "$LIMIT" pool_answers_or_ends
}

# is_up WORD...: the same, and the program is ready.
is_up() {
	starts_up "$@"
	ctl wait >"$DIR/wait" 2>&1 || fail "$*: $(cat "$DIR/wait" "$DIR/log")"
}

# ends_with STATUS WORD...: the program cannot be served.
ends_with() {
	ends_rc=$1
	shift
	starts_up "$@"
	finish "$POOL"
	assertEquals "$*: $(cat "$DIR/log")" "$ends_rc" "$RC"
}

# run_says WORD...: what `apppoold run` tells in $DIR is in $SAID.
run_says() {
	SAID=$(timeout "$LIMIT" env -C "$DIR" "$APPPOOLD" run "$@" \
	    2>&1 </dev/null)
	RC=$?
}

# printed WORD...: the file that it prints, without warnings.
printed() {
	timeout "$LIMIT" env -C "$DIR" "$APPPOOLD" run --print "$@" 2>/dev/null
}

# ---------------------------------------------------------------- the way

# is_served HANDOFF PROTOCOL WHY WORD...: for `each`.
is_served() {
	way_handoff=$1 way_protocol=$2 way_why=$3
	shift 3
	file=$(printed "$@")
	assertContains "$file" "	handoff = $way_handoff
"
	assertContains "$file" "	protocol = $way_protocol
"
	way_line=$(echo "$file" | sed -n '1s/^# apppoold run: //p')
	assertContains "$way_line" "$way_why"
	assertContains "$way_line" ": handoff = $way_handoff, protocol = $way_protocol (-o handoff="
}

testTheWayOfAProgramIsFoundFromItsName() {
	each is_served <<-END
	accept fastcgi 'php-cgi speaks FastCGI' php-cgi
	accept fastcgi 'php-cgi8.2 speaks FastCGI' /opt/php-cgi8.2 -c php.ini
	accept fastcgi 'blog.fcgi speaks FastCGI' ./blog.fcgi
	accept http 'it is given' gunicorn site:app
	listen http 'node.js holds many connections, and takes' node ./node.js
	native http 'site:app is for WSGI, and loaded by apppool-wsgi' site:app
	native http 'is for WSGI' 'site.web:make_app()'
	native http 'hello.ru is for Rack' hello.ru
	native http 'hello.psgi is for PSGI' ./hello.psgi
	stdio raw 'shell.sh is a script of the shell' sh shell.sh
	accept raw 'is not known' ./no-such-program
	END
}

testTheWayOfAScriptIsFoundFromItsFirstLineAndWhatItUses() {
	printf '#!/usr/bin/env -S perl -w\nuse FCGI;\n' >"$DIR/one"
	printf '#!/usr/bin/perl\nuse AppPool;\n' >"$DIR/two"
	printf '#!/usr/bin/python3\nimport apppool\n' >"$DIR/three"
	printf '#!/bin/bash\nread line\n' >"$DIR/four"
	printf '#!/usr/bin/python3\nimport socket\n' >"$DIR/five"
	printf '#!/usr/bin/perl\nuse CGI::Fast;\n' >"$DIR/six"
	chmod 755 "$DIR/one" "$DIR/two" "$DIR/three" "$DIR/four" "$DIR/five" \
	    "$DIR/six"
	each is_served <<-END
	accept fastcgi 'one uses FCGI' ./one
	native raw 'two uses AppPool' ./two
	native raw 'three uses apppool' ./three
	stdio raw 'four is a script of the shell' ./four
	accept raw 'five is not known' ./five
	accept fastcgi 'six uses CGI::Fast' ./six
	accept fastcgi 'perl-fcgi.pl uses FCGI' perl -w perl-fcgi.pl
	native raw 'three uses apppool' python3 -u three
	END
}

testTheWayOfABinaryIsFoundFromWhatItIsLinkedWith() {
	printf '\177ELF...\377 Go buildinf:...' >"$DIR/gopher"
	chmod 755 "$DIR/gopher"
	each is_served <<-END
	accept fastcgi 'fcgi uses libfcgi' $BUILD/tests/e2e/workers/fcgi
	native raw 'speaks the protocol of apppool-worker(7)' $TWORKER
	listen raw 'gopher is written in Go' ./gopher
	accept raw 'is not known' $BUILD/tests/e2e/workers/acceptor-static
	END
}

testAHandoffThatIsAskedForIsTaken() {
	file=$(printed -o handoff=stdio php-cgi)
	assertContains "$file" '# apppoold run: php-cgi: handoff = stdio, protocol = fastcgi
'
	file=$(printed -o handoff=none ./nothing)
	assertContains "$file" 'handoff = none'
	assertNotContains "$file" protocol
	assertNotContains "$file" listen
}

# ---------------------------------------------------------------- programs

# gives_a_page EXAMPLE WORD...: an HTTP server; for `each`.
gives_a_page() {
	is_there "$1" || { skip "no $ABSENT"; return; }
	shift
	is_up "$@"
	page=$(http_get "http://127.0.0.1:$PORT/page")
	assertContains "$*" "$page" process
	stops_well
}

testEachKindOfProgramIsServed() {
	each gives_a_page <<-END
	wsgi hello_wsgi:application
	rack hello.ru
	psgi hello.psgi
	node node node.js
	gunicorn gunicorn hello_wsgi:application
	shell -o handoff=stdio sh shell.sh
	shell sh ./shell.sh
	http-server /usr/bin/python3 http-server.py
	static ./static
	END
}

# pings EXAMPLE PATH WORD...: a FastCGI program; for `each`.
pings() {
	is_there "$1" || { skip "no $ABSENT"; return; }
	ping_path=$2
	shift 2
	is_up "$@"
	assertTrue 'FastCGI is told' "said ':$PORT by FastCGI (a web server'"
	assertContains "$*" "$(ctl ping "$(status apps 0 name)" \
	    --path "$ping_path" 2>&1)" ' 200'
	stops_well
}

testEachKindOfFastcgiProgramIsServed() {
	each pings <<-END
	php-cgi $DIR/www/page.php php-cgi
	perl-fcgi /page perl perl-fcgi.pl
	libfcgi /page ./libfcgi
	END
}

testAWorkerIsServed() {
	is_up "$TWORKER"
	assertContains "$(ask "127.0.0.1:$PORT")" hello
	stops_well
}

# ---------------------------------------------------------------- options

# is_refused STATUS TEXT WORD...: for `each`.
is_refused() {
	refused_rc=$1 refused_text=$2
	shift 2
	run_says "$@"
	assertEquals "$*: $SAID" "$refused_rc" "$RC"
	assertContains "$SAID" "$refused_text"
}

testAMistakeNamesTheWordThatWasTyped() {
	each is_refused <<-'END'
	78 "-o max_procesess=4: unknown option 'max_procesess'; did you mean 'max_processes'?" -o max_procesess=4 cat
	78 "-o contrl=x: unknown option 'contrl'; did you mean 'control'?" -o contrl=x cat
	78 "-o pm.max_children=3: unknown option 'pm.max_children': write max_processes = 3" -o pm.max_children=3 cat
	78 "-o gain: write OPTION=VALUE" -o gain cat
	78 "-o ga{in=1: write OPTION=VALUE" -o ga{in=1 cat
	78 "-o gain=7: option 'gain': 7 is out of range" -o gain=7 cat
	78 "-o handoff=foo: option 'handoff': 'foo' is not one of native" -o handoff=foo cat
	78 "-o command=x: option 'command' is given twice (first at cat)" -o command=x cat
	78 "-o gain=0.3: option 'gain' is given twice (first at -o gain=0.2)" -o gain=0.2 -o gain=0.3 cat
	78 "-l 80808: option 'listen': '80808' is not an address" -l 80808 cat
	78 "-l *:8080: app 'cat': *:8080 and *:8080 are one address" -l '*:8080' -l '*:8080' cat
	78 "-l *:8080: option 'listen' cannot be used with handoff = none" -l '*:8080' -o handoff=none cat
	78 "-n 4:2: app 'cat': min_processes (4) is over max_processes (2)" -n 4:2 cat
	78 "-n few: option 'min_processes': 'few' is not a whole number" -n few cat
	78 "-n 2:: option 'max_processes': '' is not auto" -n 2: cat
	64 "run: no program is named" -n 2
	64 "requires an argument -- 'o'" -o
	64 "usage: apppoold" -x cat
	END
}

testOptionsThatAreForAFileAreRefused() {
	for words in '-c x run cat' '-D run cat' '-t run cat' '-T run cat' \
	    '--print' '--print cat'; do
		# shellcheck disable=SC2086 # words
		SAID=$("$APPPOOLD" $words 2>&1)
		assertEquals "$words" 64 $?
		assertContains "$SAID" 'for run'
	done
}

# has_sizes MIN MAX ALL WORD...: as the file has them, - for none; for `each`.
has_sizes() {
	file=$(printed "$4" "$5" cat)
	set -- "$1" "$2" "$3" \
	    "$(echo "$file" | sed -n 's/^	min_processes = //p')" \
	    "$(echo "$file" | sed -n 's/^	max_processes = //p')" \
	    "$(echo "$file" | sed -n 's/^max_processes = //p')"
	assertEquals "$1 $2 $3" "${4:--} ${5:--} ${6:--}"
}

testASizeIsAMinimumAndPerhapsAMaximum() {
	each has_sizes <<-END
	2 - - -n 2
	2 4 - -n 2:4
	0 1 - -n 0:1
	20 20 - -n 20
	100 100 100 -n 100
	1 80 80 -n 1:80
	- 80 80 -o max_processes=80
	- - - -o gain=0.1
	END
}

testAnOptionOfTheDaemonStandsOutsideOfTheApp() {
	file=$(printed -o log_level=debug -o stop_timeout=9s -o user=root cat)
	assertContains "$file" '
log_level = debug
'
	assertContains "$file" '
stop_timeout = 9s
'
	assertContains "$file" '
	stop_timeout = 9s
'
	assertContains "$file" '
	user = "root"
'
}

# shellcheck disable=SC2016 # the text is to stay as it is
testTheFileThatIsPrintedSaysTheSame() {
	odd='"$HOME" ${NONE} \ { } # // é'
	line='two
lines'
	printed -l "unix:sockets/a.sock" -l "127.0.0.1:$(free_port)" -n 1:3 \
	    -o environment="ODD=$odd" -o environment="LINE=$line" \
	    -o output=./lines -o handoff=stdio \
	    -- sh -c 'printf %s "$ODD$LINE$1$2"' sh "$odd" "$line" \
	    >"$DIR/printed.conf"
	mkdir -p "$DIR/sockets" "$DIR/elsewhere"
	mv "$DIR/printed.conf" "$DIR/elsewhere"
	SAID=$(env -C / "$APPPOOLD" -t -c "$DIR/elsewhere/printed.conf" 2>&1)
	assertEquals "$SAID" 0 $?
	(
		echo "control = \"$DIR/control.sock\""
		grep -v '^control' "$DIR/elsewhere/printed.conf"
	) >"$DIR/pool.conf"
	! is_root || chmod 1777 "$DIR/sockets"
	pool_start
	assertEquals "$odd$line$odd$line" "$(ask "unix:$DIR/sockets/a.sock")"
	assertEquals 3 "$(status apps sh max_processes)"
	stops_well
}

# ---------------------------------------------------------------- its life

# The control socket that it has told of, its own.
told_socket() {
	sed -n 's/.*apppoolctl -s \([^ ]*\) status shows it.*/\1/p' "$1"
}

testTwoAtOnceHaveTheirOwnControlSockets() {
	for n in 1 2; do
		PORT=$(free_port)
		start_process env XDG_RUNTIME_DIR="$DIR" "$APPPOOLD" run \
		    -l "127.0.0.1:$PORT" "$TWORKER" >"$DIR/log.$n" 2>&1
		await grep -q 'ready, 1 of' "$DIR/log.$n"
		assertContains "$(cat "$DIR/log.$n")" \
		    "clients reach it at 127.0.0.1:$PORT"
		eval "pid_$n=$STARTED port_$n=$PORT"
	done
	one=$(told_socket "$DIR/log.1") two=$(told_socket "$DIR/log.2")
	assertNotEquals "$one" "$two"
	for n in 1 2; do
		SAID=$("$APPPOOLCTL" -s "$(told_socket "$DIR/log.$n")" status)
		assertContains "$SAID" tworker
		eval "assertContains \"\$(ask 127.0.0.1:\$port_$n)\" hello"
	done
	# shellcheck disable=SC2154 # by eval
	for pid in "$pid_1" "$pid_2"; do
		kill -INT "$pid"
		finish "$pid"
		assertEquals 0 "$RC"
	done
	assertFalse 'control sockets stay' "[ -e '$one' ] || [ -e '$two' ]"
}

testControlCStopsIt() {
	is_up "$TWORKER"
	pool_stop INT
	assertEquals 0 "$RC"
	await no_leftovers
	assertFalse "[ -e '$DIR/control.sock' ]"
}

testAsRootTheProgramRunsAsNobodyAndItSaysSo() {
	is_root || { skip 'needs root'; return; }
	is_up "$TWORKER"
	said 'runs as nobody (-o user=NAME chooses another)' ||
	    fail "$(cat "$DIR/log")"
	assertEquals 65534 \
	    "$(stat -c %u "/proc/$(status apps tworker workers 0 pid)")"
	stops_well
	is_up -o user=root "$TWORKER"
	assertEquals 0 "$(times_said nobody)"
	stops_well
}

testThereIsNoFileToReloadAndAllStaysAsItIs() {
	is_up -o "log=$DIR/lines.log" "$TWORKER"
	pid=$(status apps tworker workers 0 pid)
	mv "$DIR/lines.log" "$DIR/lines.old"
	kill -HUP "$POOL"
	await test -e "$DIR/lines.log"
	await grep -q 'nothing to reload' "$DIR/lines.log" "$DIR/lines.old"
	SAID=$(ctl reload 2>&1)
	assertEquals 1 $?
	assertContains "$SAID" 'there is no file to read again'
	assertContains "$SAID" 'not reloaded'
	assertEquals "$pid" "$(status apps tworker workers 0 pid)"
	assertContains "$(ask "127.0.0.1:$PORT")" hello
	stops_well
	# What was logged after the signal is in the new file.
	assertContains "$(cat "$DIR/lines.log")" stopped
}

# ---------------------------------------------------------------- failures

testAProgramThatIsNotThereEndsItWithTheReason() {
	ends_with 69 ./no-such-program
	said "$DIR/no-such-program: No such file" || fail "$(cat "$DIR/log")"
	ends_with 69 no-such-program
	said "program 'no-such-program' is not in PATH" ||
	    fail "$(cat "$DIR/log")"
}

testAProgramThatFailsAtOnceIsStartedOnce() {
	ends_with 69 -o handoff=accept -- sh -c 'echo broken >&2; exit 3'
	said 'failed: exited with status 3 before it was ready: broken; handoff = accept expects the program to accept on descriptor 0 or 3' ||
	    fail "$(cat "$DIR/log")"
	assertEquals 1 "$(times_said 'before it was ready: broken (')"
	ends_with 69 no_such_module:app
	said "failed: no_such_module:app: ModuleNotFoundError" ||
	    fail "$(cat "$DIR/log")"
	assertEquals 0 "$(times_said expects)"
}

testAnAddressThatIsInUseEndsIt() {
	is_up "$TWORKER"
	run_says -l "127.0.0.1:$PORT" -o control= "$TWORKER"
	assertEquals "$SAID" 73 "$RC"
	assertContains "$SAID" "-l 127.0.0.1:$PORT: "
	assertContains "$SAID" 'already in use'
	stops_well
}

# opens_its_own HOW EXAMPLE WORD...: such a program ends it; for `each`.
opens_its_own() {
	opens_how=$1
	is_there "$2" || { skip "no $ABSENT"; return; }
	shift 2
	OWN=$(free_port)
	export OWN
	ends_with 69 "$@"
	said "failed: it listens on 127.0.0.1:$OWN itself: use $opens_how{fd: 3}, or -o handoff=none" ||
	    fail "$*: $(cat "$DIR/log")"
}

testAProgramThatOpensItsOwnPortEndsItWithWhatToAdd() {
	cat >"$DIR/own.js" <<-'END'
	require("http").createServer((q, r) => r.end("own\n"))
	    .listen(process.env.OWN, "127.0.0.1");
	END
	cat >"$DIR/own.py" <<-'END'
	import http.server, os
	http.server.HTTPServer(("127.0.0.1", int(os.environ["OWN"])),
	    http.server.SimpleHTTPRequestHandler).serve_forever()
	END
	each opens_its_own <<-END
	'' node node own.js
	'-o handoff=listen and ' http-server /usr/bin/python3 own.py
	'-o handoff=listen and ' http-server -o accept_by=seccomp /usr/bin/python3 own.py
	END
	# What it is told to add.
	start_process env -C "$DIR" "$APPPOOLD" run -o handoff=none \
	    -o "control=$DIR/control.sock" /usr/bin/python3 own.py \
	    >>"$DIR/log" 2>&1
	POOL=$STARTED
	await pool_answers
	await http_get -s -o "$DIR/page" "http://127.0.0.1:$OWN/own.py" 2>/dev/null
	assertContains "$(cat "$DIR/page")" serve_forever
	pool_stop INT
}

testAProgramWithASecondPortIsServed() {
	is_there node || { skip "no $ABSENT"; return; }
	OWN=$(free_port)
	export OWN
	cat >"$DIR/both.js" <<-'END'
	const server = () =>
	    require("http").createServer((q, r) => r.end("both\n"));
	server().listen(process.env.OWN, "127.0.0.1");
	server().listen({ fd: 3 });
	END
	is_up node both.js
	# By then two looks have been taken.
	await is_older 4.5
	assertEquals both "$(http_get "http://127.0.0.1:$PORT/")"
	assertEquals 0 "$(times_said 'listens on')"
	pool_stop
	assertEquals 0 "$RC"
}

# is_older SECONDS: whether the daemon has run for so long.
is_older() {
	status uptime | awk "{ exit \$1 < $1 }"
}

. tests/e2e/lib.sh
