#!/bin/sh
# The examples are there to be copied. Each is started with the programs of
# others that it names, and with its web server before it.

. tests/e2e/examples_help.sh

NAMES='php-cgi libfcgi perl-fcgi gunicorn http-server node shell static
wsgi rack psgi uvicorn django sinatra mapserver nginx-app git rsync cron'

LOAD=${LOAD:-$((1000 / ${SLOW:-1}))}

# ---------------------------------------------------------------- each

testEachExampleIsValid() {
	for name in $NAMES; do
		is_there "$name" || continue
		example "$name" </dev/null
		said=$("$APPPOOLD" -t -c "$DIR/pool.conf" 2>&1)
		assertEquals "$name: $said" 0 $?
	done
}

# beside EXAMPLE: puts the file, as it is, into the folder of its programs.
beside() {
	sed "s,/usr/sbin/nginx,$NGINX," "etc/examples/$1.conf" \
	    >"$DIR/$1.conf"
}

# The file is in a folder of its own, with the compiled programs beside it.
testEachExampleIsValidWhereItIsInstalled() {
	is_root || { skip 'needs root'; return; }
	for name in $NAMES; do
		is_there "$name" || continue
		beside "$name"
		said=$("$APPPOOLD" -t -c "$DIR/$name.conf" 2>&1)
		assertEquals "$name: $said" 0 $?
	done
}

# bare COMMAND...: on a machine without /run/apppoold.
bare() {
	unshare -m sh -c 'mount -t tmpfs -o mode=755 none /run && exec "$@"' \
	    sh "$@"
}

testRootNeedNotMakeRunApppooldForTheExamples() {
	bare true 2>/dev/null || { skip 'unshare needs root'; return; }
	for name in counter $NAMES; do
		[ "$name" = counter ] || is_there "$name" || continue
		beside "$name"
		said=$(bare "$APPPOOLD" -t -c "$DIR/$name.conf" 2>&1)
		assertEquals "$name: $said" 0 $?
	done
}

testOrdinaryUsersAreToldThatOnlyRootCanMakeRunApppoold() {
	bare true 2>/dev/null || { skip 'unshare needs root'; return; }
	for name in counter $NAMES; do
		beside "$name"
		said=$(bare setpriv --reuid=65534 --regid=65534 --clear-groups \
		    "$APPPOOLD" -t -c "$DIR/$name.conf" 2>&1)
		assertEquals "$name: $said" 78 $?
		assertContains "$said" 'directory /run/apppoold is not there, and only root can make it'
	done
}

# nginx ends connections whose clients have left, as those of wrk have.
assert_parked() {
	get >"$DIR/page"
	await has_parked
}

has_parked() {
	[ "$(status apps "$APP" parked)" -gt 0 ]
}

# assert_example NAME [REQUESTS]: it answers, also the daemon's question, under
# load, and while its processes are replaced.
assert_example() {
	has "$1" || return 0
	serve "$1" </dev/null
	path=page.php
	[ "$1" != mapserver ] || path='page.php?mode=map'
	# An image has bytes that a variable of the shell cannot have.
	case $(get "$path" | tr -d '\0') in
	*page* | ?PNG*) ;;
	*) fail "$(get "$path")" ;;
	esac
	ping_path=/$path
	[ "$1" != php-cgi ] || ping_path=$DIR/www/page.php
	assertTrue ping "ctl ping $APP --path '$ping_path' >'$DIR/ping'"
	assert_restarts "${2:-$LOAD}" "$path"
	grep -q 'handoff = listen' "etc/examples/$1.conf" ||
	    assert_nothing_lost
	! grep -q keep_alive "etc/examples/$1.conf" || assert_parked
	stops_well
}

# Six times as many requests of PHP, to meet what happens seldom.
testEachExampleServesUnderLoad() {
	each assert_example <<-'END'
	php-cgi $((LOAD * 6))
	libfcgi
	perl-fcgi
	gunicorn
	wsgi
	rack
	psgi
	http-server
	node
	uvicorn
	django
	sinatra
	mapserver $((LOAD / 10))
	shell $((LOAD / 10))
	static
	END
}

testTheExampleOfNodeServesWithHandoffAccept() {
	has node || return 0
	example node <<-EOF
	concurrency = 100
	EOF
	sed -i 's/handoff = listen/handoff = accept/; /^	nonblocking/d' \
	    "$DIR/pool.conf"
	pool_start
	APP=node
	nginx node
	assert_restarts "$LOAD"
	assert_nothing_lost
	stops_well
}

testNodeLeavesTheListeningSocketToTheNextProcess() {
	has node || return 0
	serve node </dev/null
	node=$(status apps node workers 0 pid)
	kill -TERM "$node"
	await is_gone "$node"
	assertContains "$(get)" page
}

# The arbiter of gunicorn starts another worker.
testAWorkerOfGunicornThatIsKilledCostsNoRequest() {
	has gunicorn || return 0
	serve gunicorn </dev/null
	for round in 1 2 3; do
		answer=$(get)
		assertContains "$round" "$answer" page
		worker=${answer#process }
		await has_no_sessions
		kill -KILL "${worker%%:*}"
	done
	assertContains "$(get)" page
	assert_nothing_lost
	assertEquals 2 "$(status apps gunicorn spawned)"
}

testGunicornEndsWhenTheDaemonIsKilled() {
	has gunicorn || return 0
	serve gunicorn </dev/null
	answer=$(get)
	worker=${answer#process }
	assertFalse 'there is no arbiter' no_arbiters
	kill -KILL "$POOL"
	await is_gone "${worker%%:*}"
	wait_for $((6 * LIMIT)) no_arbiters || fail 'an arbiter goes on'
}

# no_arbiters: of this file; nginx goes on.
no_arbiters() {
	! leftovers | xargs -I @ cat /proc/@/cmdline 2>/dev/null |
	    grep -q gunicorn
}

# ---------------------------------------------------------------- PHP

testAPhpPageThatCrashesDelaysNoOther() {
	has php-cgi || return 0
	serve php-cgi </dev/null
	for round in 1 2 3 4 5 6; do
		assertContains "$round" "$(get 'page.php?die=1')" 502
	done
	await status_is 2 apps php idle
	assertFalse 'starts had to wait' "said 'next start in'"
}

. tests/e2e/lib.sh
