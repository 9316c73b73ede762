#!/bin/sh
# apppool-wsgi and an application of others: the one of Flask's tutorial, as it
# comes with the package of Debian.

EXAMPLES=/usr/share/doc/python3-flask/examples

# flaskr [OPTION...]: the application at $DIR/web.sock; has a page to show.
flaskr() {
	[ -d "$EXAMPLES/flaskr" ] || { skip "no $EXAMPLES"; return 1; }
	rm -rf "$DIR/flask"
	mkdir "$DIR/flask"
	cp -r "$EXAMPLES/flaskr" "$DIR/flask"
	(cd "$DIR/flask" && "$PYTHON" -m flask --app flaskr init-db) >"$DIR/out" ||
	    fail "$(cat "$DIR/out")"
	chmod -R a+rwX "$DIR/flask"
	flaskr_conf 1 "$@"
	pool_start
	curl_in /auth/register -d username=one -d password=two
	curl_in /auth/login -d username=one -d password=two
	curl_in /create -d 'title=The first post' -d body=text
}

# flaskr_conf VERSION [OPTION...]: with another version the processes change.
flaskr_conf() {
	# Others may not be able to enter this tree.
	user=
	! is_root || user='user = root'
	conf <<-EOF
	app "web" {
		listen = "unix:$DIR/web.sock"
		command = { "apppool-wsgi", "flaskr:create_app()" }
		directory = "$DIR/flask"
		environment = "VERSION=$1"
		protocol = http
		min_processes = 2
		max_processes = 4
		$user
		$2
	}
	EOF
}

# curl_in PATH [OPTION...]: with the cookies of the session.
curl_in() {
	curl_path=$1
	shift
	curl -sSf --max-time "$LIMIT" --unix-socket "$DIR/web.sock" \
	    -b "$DIR/cookies" -c "$DIR/cookies" -o "$DIR/page" "$@" \
	    "http://localhost$curl_path" || fail "$curl_path"
}

# assert_crowd COUNT [OPTION...]: so many requests, a reload in the middle, none
# failed.
assert_crowd() {
	reload="'$APPPOOLCTL' -s '$DIR/control.sock' reload"
	"$PYTHON" tests/e2e/crowd.py "$DIR/web.sock" "$@" \
	    --midway "$reload >'$DIR/reload' 2>&1" / /auth/login >"$DIR/crowd"
	assertEquals "$(cat "$DIR/crowd" "$DIR/reload")" 0 $?
	echo "# $(tail -n 1 "$DIR/crowd")"
	assert_none_lost
	assert_accounts web
}

# serves_through_a_reload COUNT OPTIONS-OF-APP [OPTION-OF-crowd...]: by processes
# of a new version then.
serves_through_a_reload() {
	requests=$1 options=$2
	shift 2
	flaskr "$options" || return 1
	before=$(status apps web workers '*' pid)
	flaskr_conf 2 "$options"
	assert_crowd "$requests" "$@"
	curl_in /
	assertContains "$(cat "$DIR/page")" 'The first post'
	for pid in $before; do
		await is_gone "$pid"
	done
	stops_well
}

testAnUnmodifiedApplicationOfFlaskServesThroughAReload() {
	serves_through_a_reload 600 '' || return 0
}

testAnApplicationOfFlaskServesThroughAReloadOfItsTemplate() {
	serves_through_a_reload 400 'template = true' || return 0
}

testAReloadCostsNoRequestOfClientsThatKeepTheirConnections() {
	serves_through_a_reload 400 'keep_alive = true' --keep || return 0
	assertContains "$(tail -n 1 "$DIR/crowd")" 'over 8 connections'
}

# loaded [OPTION...]: an application that loads a lot, and has four processes.
loaded() {
	cat >"$DIR/loaded.py" <<-END
	import os, random, time
	DATA = [str(number) for number in range(300000)]

	def application(environ, start_response):
	    time.sleep(0.05)
	    start_response("200 OK", [])
	    return [f"{os.getpid()} {random.random()}\\n".encode()]
	END
	user=
	! is_root || user='user = root'
	conf <<-EOF
	app "web" {
		listen = "unix:$DIR/web.sock"
		command = { "apppool-wsgi", "loaded" }
		protocol = http
		min_processes = 4
		max_processes = 4
		$user
		$1
	}
	EOF
	pool_start
	await status_is 4 apps web idle
}

# memory FIELD: of smaps_rollup, of all processes in all.
memory() {
	for pid in $(status apps web workers '*' pid); do
		sed -n "s/^$1:  *//p" "/proc/$pid/smaps_rollup"
	done | awk '{ sum += $1 } END { print sum }'
}

testProcessesOfATemplateShareWhatWasLoaded() {
	loaded
	plain=$(memory Pss)
	pool_stop
	loaded 'template = true'
	shared=$(memory Pss)
	echo "# PSS of four: $plain KiB, of a template $shared KiB"
	assertTrue "[ $((shared * 2)) -lt '$plain' ]"
}

testProcessesOfATemplateDrawDifferentRandomNumbers() {
	loaded 'template = true'
	seq 32 | xargs -P 8 -I{} curl -sSf --max-time "$LIMIT" \
	    --unix-socket "$DIR/web.sock" http://localhost/ >"$DIR/drawn"
	assertEquals 32 "$(cut -d ' ' -f 2 "$DIR/drawn" | sort -u | wc -l)"
	assertNotEquals 1 "$(cut -d ' ' -f 1 "$DIR/drawn" | sort -u | wc -l)"
}

. tests/e2e/lib.sh
