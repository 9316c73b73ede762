#!/bin/sh
# The image of contrib/container, run as by docker with a read-only root, no
# capability and no network. Called by tests/package/run, which has built it.

# engine COMMAND...
engine() {
	tests/package/engine "$@"
}

# A site beside that of the image, mounted in its place.
file_setup() {
	mkdir "$DIR/site" && cp contrib/container/index.php "$DIR/site"
	# shellcheck disable=SC2016 # PHP's
	echo '<?php sleep((int)$_GET["s"]); echo "slept";' \
	    >"$DIR/site/sleep.php"
	echo '<?php echo strlen(file_get_contents("php://input"));' \
	    >"$DIR/site/size.php"
	# A process that nobody waits for: its parent has ended.
	echo '<?php shell_exec("setsid sleep 1 >/dev/null 2>&1 &");' \
	    >"$DIR/site/orphan.php"
	chmod -R a+rX "$DIR/site"
}

# begin [OPTION-OF-engine-run...]: process 1 of the container is $POOL, its log is
# $DIR/log.
begin() {
	STARTED_AT=$(now_ms)
	start_process tests/package/engine run -v "$DIR/site:/srv/site" "$@" \
	    "$IMAGE" >"$DIR/stdout" 2>"$DIR/log"
	ENGINE=$STARTED
	wait_for "$LIMIT" has_begun || fail "no container: $(cat "$DIR/log")"
}

has_begun() {
	is_over "$ENGINE" && return
	POOL=$(children "$ENGINE") && POOL=${POOL%% *} &&
	    grep -qs '^apppoold' "/proc/${POOL:-none}/cmdline"
}

# begin_well [OPTION...]: it serves.
begin_well() {
	begin --read-only "$@"
	await is_healthy
}

# beside [OPTION-OF-engine-exec] -- [COMMAND...]: as `docker exec` does.
beside() {
	beside_options=''
	while [ "$1" != -- ]; do
		beside_options="$beside_options $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # words
	engine exec $beside_options "$POOL" "$IMAGE" "$@"
}

# The command of HEALTHCHECK.
is_healthy() {
	beside -- >"$DIR/health" 2>&1
}

healthy_for() {
	beside -u "$1" -- >"$DIR/health" 2>&1
}

# get PATH [OPTION-OF-curl...]: from the network of the container.
get() {
	get_path=$1
	shift
	nsenter -t "$POOL" -n curl -sS --max-time $((3 * LIMIT)) "$@" \
	    "http://127.0.0.1:8080$get_path"
}

# stop: as `docker stop` does; the exit status is in $RC, milliseconds in $TOOK.
stop() {
	stop_at=$(now_ms)
	kill -TERM "$POOL"
	finish "$ENGINE" $((2 * LIMIT))
	TOOK=$(($(now_ms) - stop_at))
}

stop_well() {
	stop
	assertEquals "$(cat "$DIR/log")" 0 "$RC"
}

# All processes of the container, by their numbers here.
processes() {
	pid_space=$(readlink "/proc/$POOL/ns/pid")
	for process in /proc/[0-9]*; do
		[ "$(readlink "$process/ns/pid")" != "$pid_space" ] ||
		    echo "${process#/proc/}"
	done 2>/dev/null
}

# process NAME: the first child of process 1 whose command begins so.
process() {
	for child in $(children "$POOL"); do
		case $(tr '\0' ' ' <"/proc/$child/cmdline") in
		"$1"*) echo "$child" && break ;;
		esac
	done
}

is_new() {
	new=$(process "$1") && [ -n "$new" ] && [ "$new" != "$2" ]
}

testNginxServesAPageOfPhp() {
	begin_well
	assertContains "$(get /)" 'PHP 8'
	assertEquals 404 "$(get /none.php -o /dev/null -w '%{http_code}')"
	stop_well
}

testPrometheusAndProbesAreAnsweredOnAPortOfTheirOwn() {
	begin_well
	assertContains "$(nsenter -t "$POOL" -n curl -sS --max-time "$LIMIT" \
	    http://127.0.0.1:8079/metrics)" 'apppool_max_processes{app="php"} 8'
	assertEquals ok "$(nsenter -t "$POOL" -n curl -sS --max-time "$LIMIT" \
	    http://127.0.0.1:8079/healthz)"
	# The page's answer is a moment old.
	await is_ready
	stop_well
}

readiness() {
	nsenter -t "$POOL" -n curl -s --max-time "$LIMIT" -o /dev/null \
	    -w '%{http_code}' http://127.0.0.1:8079/readyz
}

is_unready() {
	[ "$(readiness)" = 503 ]
}

is_ready() {
	[ "$(readiness)" = 200 ]
}

testPagesAreServedForCloseDelayAfterSigterm() {
	begin_well -e CLOSE_DELAY=5s
	kill -TERM "$POOL"
	await is_unready
	assertContains "$(get /)" 'PHP 8'
	finish "$ENGINE" $((2 * LIMIT))
	assertEquals "$(cat "$DIR/log")" 0 "$RC"
}

testProcess1RunsWithoutAnyRight() {
	begin_well
	for pid in $(processes); do
		rights=$(sed -n 's/^\(Uid\|Cap[EBPAI].*\|NoNewPrivs\):\t//p' \
		    "/proc/$pid/status" | tr -s '\t\n0' '  0')
		assertEquals "$(tr '\0' ' ' <"/proc/$pid/cmdline")" \
		    '33 33 33 33 0 0 0 0 0 1 ' "$rights"
	done
	stop_well
}

testTheRootIsReadOnlyAndBodiesOfRequestsGoToTmp() {
	begin_well
	assertContains "$(beside -u 0:0 -- touch /etc/file 2>&1)" Read-only
	head -c 900000 /dev/zero >"$DIR/body"
	assertEquals 900000 "$(get /size.php --data-binary "@$DIR/body")"
	stop_well
}

testAWritableRootIsServedToo() {
	begin
	await is_healthy
	assertContains "$(get /)" 'PHP 8'
	stop_well
}

testAnyUserCanRunIt() {
	begin --read-only -u 12345:0
	await healthy_for 12345:0
	assertContains "$(get /)" 'PHP 8'
	stop_well
}

testHealthIsRedWithTheReasonWhenAnAppFails() {
	cp contrib/container/nginx.conf "$DIR/nginx.conf"
	begin_well -e EXIT_ON_FAILED=false \
	    -v "$DIR/nginx.conf:/etc/apppoold/nginx.conf"
	assertEquals well "$(cat "$DIR/health")"
	echo 'nonsense;' >>"$DIR/nginx.conf"
	kill -KILL "$(process nginx:)"
	wait_for $((3 * LIMIT)) said 'nginx: failed' || fail "$(cat "$DIR/log")"
	assertFalse is_healthy
	assertContains "$(cat "$DIR/health")" 'nginx has failed'
	assertContains "$(cat "$DIR/health")" 'unknown directive "nonsense"'
	stop_well
}

testSigtermLetsARunningRequestEnd() {
	begin_well
	get '/sleep.php?s=2' >"$DIR/answer" 2>&1 &
	CLIENT=$!
	await php_is_active
	stop_well
	wait "$CLIENT"
	assertEquals slept "$(cat "$DIR/answer")"
}

php_is_active() {
	beside -- apppoolctl -j status php | grep -q '"active":1'
}

# Requests one after the other, each with a connection of its own, by four
# clients, until nobody listens any more.
testAStopUnderLoadAnswersAllWithAPage() {
	begin_well
	start_process nsenter -t "$POOL" -n "$PYTHON" -c '
import http.client, threading
def ask():
    try:
        while True:
            c = http.client.HTTPConnection("127.0.0.1", 8080, timeout=30)
            c.request("GET", "/")
            c.getresponse().read()
            c.close()
    except (OSError, http.client.HTTPException):
        pass
for _ in range(4):
    threading.Thread(target=ask).start()'
	await has_said 300 '" 200 '
	stop_well
	finish "$STARTED"
	assertFalse "$(grep '" 5[0-9][0-9] ' "$DIR/log" | head -n 3)" \
	    "grep -q '\" 5[0-9][0-9] ' $DIR/log"
}

testARequestLongerThanStopTimeoutIsCutOffInTime() {
	begin_well -e STOP_TIMEOUT=2s
	get '/sleep.php?s=60' >"$DIR/answer" 2>&1 &
	CLIENT=$!
	await php_is_active
	stop_well
	wait "$CLIENT"
	assertTrue "$TOOK ms" "[ $TOOK -ge 900 ]"
	assertTrue "$TOOK ms" "[ $TOOK -lt $((2000 + 1000 * SLOW)) ]"
}

testAKilledNginxIsReplacedAndClientsWait() {
	begin_well
	old=$(process nginx:)
	serving=$(children "$old")
	kill -KILL "$old"
	# What these have accepted ends with them.
	for pid in $serving; do
		await is_gone "$pid"
	done
	assertContains "$(get /)" 'PHP 8'
	await is_new nginx: "$old"
	stop_well
}

testAKilledPhpIsReplaced() {
	begin_well
	old=$(process /usr/bin/php-cgi)
	# shellcheck disable=SC2046 # numbers
	kill -KILL $(for pid in $(children "$POOL"); do
		! grep -q php-cgi "/proc/$pid/cmdline" || echo "$pid"
	done)
	assertContains "$(get /)" 'PHP 8'
	await is_new /usr/bin/php-cgi "$old"
	stop_well
}

testAnAppThatCannotStartEndsTheContainerWith69() {
	begin --read-only -e NGINX_WORKERS=many
	finish "$ENGINE" $((3 * LIMIT))
	assertEquals 69 "$RC"
	assertTrue "$(cat "$DIR/log")" "said 'nginx: exit_on_failed: stopping'"
	assertTrue "$(cat "$DIR/log")" "said 'directive invalid value'"
}

testAMissingProgramEndsTheContainerWith69AtOnce() {
	begin --read-only -e PATH=/usr/sbin
	finish "$ENGINE"
	assertEquals 69 "$RC"
	assertTrue "$(cat "$DIR/log")" "said \"'php-cgi' is not in PATH\""
}

testAWrongVariableEndsTheContainerWith78() {
	begin --read-only -e PHP_MAX=many
	finish "$ENGINE"
	assertEquals 78 "$RC"
	assertTrue "$(cat "$DIR/log")" "said \"'many' is not auto\""
}

testOrphansAreReaped() {
	begin_well
	get /orphan.php
	beside -- sh -c 'setsid sleep 1 >/dev/null 2>&1 &'
	await has_orphans 2
	await has_orphans 0
	await no_zombies
	stop_well
}

has_orphans() {
	orphans=0
	for child in $(children "$POOL"); do
		! grep -qs '^sleep' "/proc/$child/cmdline" ||
		    orphans=$((orphans + 1))
	done
	[ "$orphans" -eq "$1" ]
}

testSignalsReachProcess1() {
	begin_well
	beside -- sh -c 'kill -HUP 1'
	await said 'reloaded'
	kill -INT "$POOL"
	finish "$ENGINE"
	assertEquals 0 "$RC"
}

testTheLogIsJsonOnStandardErrorIfAskedFor() {
	begin_well -e LOG_FORMAT=json
	get / >/dev/null
	stop_well
	assertEquals '' "$(cat "$DIR/stdout")"
	assertContains "$("$PYTHON" -c '
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    print(event["level"], event.get("app"), event["text"])' <"$DIR/log")" \
	    'info nginx 127.0.0.1 - - '
}

# begin_refused [OPTION...]: no process of the container may call seccomp(2).
begin_refused() {
	begin --read-only --no-seccomp "$@"
}

testWhereSeccompIsRefusedTheLibraryServes() {
	begin_refused
	await is_healthy
	assertContains "$(get /)" 'PHP 8'
	assertEquals library "$(beside -- apppoolctl -j status php |
	    sed -n 's/.*"accept_by":"\([a-z]*\)".*/\1/p')"
	stop_well
}

# php_is OPTION...: the pool.conf of the image with another app php.
php_is() {
	{
		sed '/^app "php"/,$d' contrib/container/pool.conf
		echo 'app "php" {'
		echo 'listen = "unix:/run/apppoold/php.sock" command = php-cgi'
		echo "$* }"
	} >"$DIR/pool.conf"
}

testTheAdapterServesWithoutAnyRight() {
	php_is handoff = accept accept_by = seccomp
	begin_well -v "$DIR/pool.conf:/etc/apppoold/pool.conf"
	assertContains "$(get /)" 'PHP 8'
	stop_well
}

testWhereSeccompIsRefusedTheAdapterFailsWithTheReasonAndListenServes() {
	php_is handoff = accept accept_by = seccomp
	begin_refused -v "$DIR/pool.conf:/etc/apppoold/pool.conf"
	finish "$ENGINE" $((3 * LIMIT))
	assertEquals 69 "$RC"
	assertTrue "$(cat "$DIR/log")" "said 'handoff = listen does without'"
	php_is handoff = listen
	begin_refused -v "$DIR/pool.conf:/etc/apppoold/pool.conf"
	await is_healthy
	assertContains "$(get /)" 'PHP 8'
	stop_well
}

testTheImageAndTheContainerAreSmall() {
	begin_well
	ready=$(($(now_ms) - STARTED_AT))
	get / >/dev/null
	size=$(du -smx "$IMAGE/root" | cut -f 1)
	memory=0 count=0 ours=0
	for pid in $(processes); do
		kib=$(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup")
		memory=$((memory + kib)) count=$((count + 1))
		! grep -q '^apppoo' "/proc/$pid/cmdline" || ours=$((ours + kib))
	done
	echo "# image $size MiB, healthy after $ready ms, $count processes," \
	    "$memory KiB (PSS), of which apppoold $ours KiB"
	assertTrue "$size MiB" "[ $size -lt 200 ]"
	assertTrue "$ready ms" "[ $ready -lt $((5000 * SLOW)) ]"
	assertTrue "$count processes" "[ $count -le 8 ]"
	assertTrue "$memory KiB" "[ $memory -lt 60000 ]"
	stop_well
}

. tests/e2e/lib.sh
