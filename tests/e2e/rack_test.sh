#!/bin/sh
# An application of Sinatra, as it is, behind apppool-rack.

file_setup() {
	cp tests/e2e/workers/sinatra.ru "$DIR"
}

# sinatra: an app of it, for conf; further options come from stdin.
sinatra() {
	cat <<-END
	app "sinatra" {
		listen = "unix:$DIR/sinatra.sock"
		command = { "apppool-rack", "sinatra.ru" }
		directory = "$DIR"
		environment = { "RACK_ENV=production", "GENERATION=first" }
		protocol = http
		min_processes = 2
		max_processes = 4
	END
	cat
	echo '}'
}

# Processes of root's are nobody's, who may not be able to enter this tree.
as_nobody() {
	if is_root; then
		setpriv --reuid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

# serves: starts the pool, unless something is missing.
serves() {
	for needed in /usr/share/doc/ruby-rack /usr/share/doc/ruby-sinatra \
	    "$BUILD/libexec/apppool-rack"; do
		as_nobody test -e "$needed" || { skip "no $needed"; return 1; }
	done
	sinatra | conf
	pool_start
}

# page PATH [OPTION...]: of curl.
page() {
	page_path=$1
	shift
	http_get --unix-socket "$DIR/sinatra.sock" "$@" "http://x$page_path"
}

testSinatraIsServed() {
	serves </dev/null || return 0
	assertEquals 'hello a b of first' "$(page /hello/a%20b)"
	assertEquals 'one two' "$(page /stream)"
	assertEquals 'a b&c' "$(page /form -d 'x=a&y=b%26c')"
	assertEquals 'no 418' "$(page /halt -w ' %{http_code}')"
	assertEquals 404 "$(page /missing -o "$DIR/page" -w '%{http_code}')"
	assertTrue ping "ctl ping sinatra --path /hello/ping >'$DIR/ping'"
	stops_well
}

# visit COUNT [OPTION...]: by crowd.py.
visit() {
	visit_count=$1
	shift
	timeout $((6 * LIMIT)) "$PYTHON" tests/e2e/crowd.py "$DIR/sinatra.sock" \
	    "$visit_count" --text 'hello you of ' "$@" /hello/you >"$DIR/visited"
	assertEquals "$(cat "$DIR/visited")" 0 $?
}

# assert_reload_is_unnoticed COUNT [--keep]: by so many requests or more, of which
# none fails; each has a connection of its own, unless they are kept.
assert_reload_is_unnoticed() {
	visit "$1" --words 2 ${2:+"$2"} --midway "sed -i s/=first/=second/ \
	    '$DIR/pool.conf'; '$APPPOOLCTL' -s '$DIR/control.sock' reload"
	visits=$(sed -n 's/^0 of \([0-9]*\) .* first second$/\1/p' "$DIR/visited")
	assertTrue "$(cat "$DIR/visited")" "[ ${visits:-0} -ge $1 ]"
	await status_is 0 apps sinatra sessions
	assert_none_lost sinatra
	accepted=$(status apps sinatra accepted)
	if [ "$2" ]; then
		assertTrue "$accepted connections" "[ $accepted -le 16 ]"
	else
		assertEquals "$visits" "$(status apps sinatra completed)"
	fi
	assert_accounts sinatra
	stops_well
}

testNoRequestFailsInAReload() {
	serves </dev/null || return 0
	assert_reload_is_unnoticed 600
}

testNoRequestFailsInAReloadWhileConnectionsAreParked() {
	serves <<-EOF || return 0
	keep_alive = true
	EOF
	assert_reload_is_unnoticed 600 --keep
}

testNoRequestFailsInAReloadOfATemplate() {
	serves <<-EOF || return 0
	template = true
	EOF
	assertEquals 2 "$(status apps sinatra template forked)"
	assert_reload_is_unnoticed 400
	assertFalse 'no template failed' "said 'processes are started without it'"
}

testAWarmProcessBecomesTheTemplate() {
	serves <<-EOF || return 0
	template = true
	refork_after = 20
	EOF
	visit 100
	assertContains "$(tail -n 1 "$DIR/visited")" 'connections first'
	await said 'forked by worker'
	await status_is null apps sinatra rollout
	await status_is ready apps sinatra template state
	assertEquals 'hello you of first' "$(page /hello/you)"
	assertEquals 0 "$(status apps sinatra template failures)"
	stops_well
}

testAnApplicationThatCannotBeLoadedIsToldOf() {
	serves </dev/null || return 0
	pool_stop
	echo 'require "no_such_file"' >"$DIR/broken.ru"
	sed -i "s,\"sinatra.ru\",\"$DIR/broken.ru\"," "$DIR/pool.conf"
	pool_run
	await said 'LoadError: cannot load such file -- no_such_file'
	assertContains "$(status apps sinatra last_failure)" 'broken.ru: LoadError'
}

. tests/e2e/lib.sh
