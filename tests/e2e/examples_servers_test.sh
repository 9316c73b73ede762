#!/bin/sh
# Examples that are no page behind nginx: nginx itself, git, rsync, jobs, the
# status page. Each is started with the program of others that it names.

. tests/e2e/examples_help.sh

# serve_at EXAMPLE: starts the pool, with the only port of the example at $PORT.
serve_at() {
	PORT=$(free_port)
	example "$1" </dev/null
	sed -i "s/\(listen = \".*:\)[0-9]*\"/\1$PORT\"/" "$DIR/pool.conf"
	pool_start
	APP=$(app_of "$1")
}

# assert_lasts COMMAND...: it succeeds each time, from beginning to end, while
# all processes are replaced.
assert_lasts() {
	rm -f "$DIR/enough"
	# shellcheck disable=SC2016 # the inner shell's
	start_process sh -c 'until [ -e "$0" ]; do "$@" >&2 || exit; echo; done' \
	    "$DIR/enough" "$@" >"$DIR/lasted" 2>"$DIR/errors"
	lasts=$STARTED
	for round in 1 2 3; do
		await has_lasted $(($(wc -l <"$DIR/lasted") + 2))
		assertTrue "$round" "ctl restart $APP >'$DIR/told' 2>&1"
	done
	: >"$DIR/enough"
	finish "$lasts"
	assertEquals "$(cat "$DIR/errors")" 0 "$RC"
}

has_lasted() {
	[ "$(wc -l <"$DIR/lasted")" -ge "$1" ]
}

# ---------------------------------------------------------------- nginx

# serve_nginx: starts the pool with it; its pages are at $URL.
serve_nginx() {
	PORT=$(free_port) URL=http://127.0.0.1:$PORT
	{
		sed -e "s/127.0.0.1:8097/127.0.0.1:$PORT/" \
		    -e "s,/var/log/nginx/access.log,$DIR/nginx.statuses," \
		    -e '$d' etc/examples/nginx-app.nginx
		for kind in client_body proxy fastcgi uwsgi scgi; do
			echo "${kind}_temp_path $DIR/nginx.$kind;"
		done
		echo '}'
	} >"$DIR/nginx-app.nginx"
	example nginx-app </dev/null
	sed -i "s/127.0.0.1:8097/127.0.0.1:$PORT/" "$DIR/pool.conf"
	pool_start
	APP=nginx
}

# Connections that are kept are closed by each nginx that stops.
testNginxIsReplacedUnderLoadWithoutAFailedRequest() {
	has nginx-app || return 0
	serve_nginx
	assertContains "$(get)" page
	assertTrue ping "ctl ping nginx >'$DIR/ping'"
	assert_restarts 20 page.php -H 'Connection: close'
	stops_well
	assertEquals 'files of processes' '' \
	    "$(find "$DIR" -name 'nginx-*.pid')"
}

testARequestThatNginxIsReadingWhenItIsReplacedIsAnswered() {
	has nginx-app || return 0
	serve_nginx
	old=$(status apps nginx workers 0 pid)
	start_process socket_client "127.0.0.1:$PORT" \
	    's.send(b"GET /half HTTP/1.0\r\n")' \
	    "open('$DIR/half', 'w')" \
	    "while not os.path.exists('$DIR/whole'): time.sleep(0.01)" \
	    's.send(b"\r\n")' \
	    'print(read().decode())' >"$DIR/answer" 2>&1
	client=$STARTED
	await test -e "$DIR/half"
	start_process "$APPPOOLCTL" -s "$DIR/control.sock" restart nginx \
	    >"$DIR/told"
	await is_by_another "$old"
	: >"$DIR/whole"
	finish "$client"
	assertContains "$(cat "$DIR/answer")" /half
	await is_gone "$old"
	stops_well
}

# is_by_another PID: whether that process no longer has a child that answers.
is_by_another() {
	answer=$(get) || return
	answer=${answer#process }
	! children "$1" | grep -qw "${answer%%:*}"
}

testAMistakeInTheFileOfNginxLeavesTheOldOneInForce() {
	has nginx-app || return 0
	serve_nginx
	sed 's/return 200 "process/return 200 "renewed/' \
	    "$DIR/nginx-app.nginx" >"$DIR/good"
	echo 'nonsense;' >>"$DIR/nginx-app.nginx"
	await said 'unknown directive "nonsense"'
	assertContains "$(get)" process
	assertContains "$(ctl status)" nonsense
	cp "$DIR/good" "$DIR/nginx-app.nginx"
	await answers_with renewed
	stops_well
}

answers_with() {
	get | grep -q "$1"
}

# ---------------------------------------------------------------- stdio

testGitClonesThroughRestarts() {
	has git || return 0
	git init -q "$DIR/work"
	git -C "$DIR/work" -c user.name=A -c user.email=a@localhost commit -q \
	    --allow-empty -m 'a first one'
	mkdir -p "$DIR/git"
	git clone -q --mirror "$DIR/work" "$DIR/git/site.git"
	serve_at git
	url=git://127.0.0.1:$PORT/site.git
	git clone -q "$url" "$DIR/clone" 2>"$DIR/errors"
	assertEquals "$(cat "$DIR/errors")" 'a first one' \
	    "$(git -C "$DIR/clone" log --format=%s)"
	assert_lasts git -C "$DIR" ls-remote "$url"
	assert_nothing_lost
	stops_well
}

testGitServesNothingBesideItsFolder() {
	has git || return 0
	mkdir -p "$DIR/git"
	git init -q --bare "$DIR/private"
	serve_at git
	assertFalse 'beside' \
	    "git -C '$DIR' ls-remote git://127.0.0.1:$PORT/../private 2>'$DIR/errors'"
	stops_well
}

testRsyncCopiesThroughRestarts() {
	has rsync || return 0
	sed -i "s,/usr/share/doc,$DIR/www," "$DIR/rsync.rsyncd"
	serve_at rsync
	assert_lasts rsync "rsync://127.0.0.1:$PORT/doc/page.php" "$DIR/copy"
	assertTrue copy "cmp '$DIR/www/page.php' '$DIR/copy'"
	assert_nothing_lost
	stops_well
}

# ---------------------------------------------------------------- jobs

# serve_jobs OPTION...: starts the jobs, for the folder $DIR/jobs.
serve_jobs() {
	mkdir "$DIR/jobs"
	! is_root || chown nobody "$DIR/jobs"
	printf '%s\n' "$@" | example cron
	pool_run
}

testAJobIsStartedAgainAndAgain() {
	serve_jobs
	stop_process "$POOL"
	sed -i 's/restart_delay = 1m/restart_delay = 100ms/' "$DIR/pool.conf"
	pool_run
	for name in one two three; do
		echo "text of $name" >"$DIR/new"
		mv "$DIR/new" "$DIR/jobs/$name"
		await said "$name: text of $name"
	done
	assertEquals 'failures' 'null' "$(status apps cron last_failure)"
	stops_well
	rm -r "$DIR/jobs"
}

testRestartStartsAJobBeforeItsTime() {
	serve_jobs
	await status_is 0 apps cron processes
	echo early >"$DIR/jobs/file"
	ctl restart cron >"$DIR/told"
	await said 'file: early'
	stops_well
	rm -r "$DIR/jobs"
}

testAJobThatIsAskedToStopFinishesItsFileAndTakesNoOther() {
	mkfifo "$DIR/jobs.fifo"
	serve_jobs
	await status_is 0 apps cron processes
	mv "$DIR/jobs.fifo" "$DIR/jobs/slow"
	ctl restart cron >"$DIR/told"
	await is_taken
	echo late >"$DIR/jobs/z-late"
	kill -TERM "$POOL"
	await said 'stopping'
	echo finished >"$TAKEN"
	ends_well
	assertTrue finished "said 'slow: finished'"
	assertTrue 'the other file is left' "[ -e '$DIR/jobs/z-late' ]"
	rm -r "$DIR/jobs"
}

is_taken() {
	TAKEN=$(find "$DIR/jobs" -type p -name '.*')
	[ -n "$TAKEN" ]
}

# ---------------------------------------------------------------- others

# serve_status [MODE]: starts a file that sets control_mode, and includes the
# example.
serve_status() {
	PORT=$(free_port) URL=http://127.0.0.1:$PORT
	sed -e "s/:8079/:$PORT/" -e "s,/run/apppoold/,$DIR/," \
	    etc/examples/status.conf >"$DIR/status.conf"
	conf <<-EOF
	control_mode = $1
	include("status.conf")
	EOF
	pool_start
}

testTheStatusPageIsIncludedBesideAControlMode() {
	[ -e "$BUILD/libexec/apppool-web" ] || { skip 'no apppool-web'; return; }
	for mode in 0666 0777; do
		serve_status "$mode"
		assertEquals "$mode" "${mode#0}" \
		    "$(stat -c %a "$DIR/control.sock")"
		assertEquals ok "$(get healthz)"
		stops_well
	done
}

testTheStatusPageTellsOfAControlModeThatKeepsItOut() {
	[ -e "$BUILD/libexec/apppool-web" ] || { skip 'no apppool-web'; return; }
	is_root || { skip 'needs root: the page runs as nobody'; return; }
	serve_status 0660
	assertContains "$(curl -s "$URL/status.json")" 'control_mode = 0666'
	stops_well
}

testAWebSocketOfUvicornComesThroughNginx() {
	has uvicorn || return 0
	serve uvicorn </dev/null
	socket_client "127.0.0.1:$port" \
	    's.send(b"GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"' \
	    '    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"' \
	    '    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")' \
	    'text = b""' \
	    'while b"/chat\n" not in text: text += s.recv(1000)' \
	    'print(text)' >"$DIR/answer" 2>&1
	assertContains "$(cat "$DIR/answer")" ' 101 '
	stops_well
}

testClientsThatAreSlowToAskHoldNoProcessOfWsgiUp() {
	has wsgi || return 0
	serve wsgi </dev/null
	start_process socket_client "unix:$DIR/wsgi.sock" 'slow = [s]' \
	    'for _ in range(19):' \
	    '    slow.append(socket.socket(socket.AF_UNIX))' \
	    '    slow[-1].connect(port)' \
	    'for one in slow: one.send(b"GET / HTTP/1.1\r\nHost:")' \
	    'for one in slow:' \
	    '    try: assert one.recv(1) == b""' \
	    '    except ConnectionResetError: pass'
	slow=$STARTED
	await status_is 20 apps wsgi parked
	assertContains "$(get)" page
	assertEquals 2 "$(status apps wsgi processes)"
	stops_well
	finish "$slow"
	assertEquals 'they are closed' 0 "$RC"
}

. tests/e2e/lib.sh
