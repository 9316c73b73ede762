#!/bin/sh
# Programs of Debian served as they are, by handoff = accept: each way under
# load, while its processes are replaced, and while they are killed; see
# tests/real/run. A line for each goes to $TABLE.

. tests/e2e/accept_help.sh

# tries SERVED OPTIONS: the app of $COMMAND, asked by client.py for $TARGET, has
# answers with $TEXT in them, and status says that it accepts by SERVED; with
# template = true among the OPTIONS its processes come from a template.
tries() {
	way=$1
	case $2 in *template*) way=template ;; esac
	starts "min_processes = 3 max_processes = 3 user = www-data
	    protocol = $PROTOCOL min_server_life = 0 restart_delay = 10ms $2" \
	    command_of
	loads
	more 60
	enough 0
	line=$counts
	loads
	more 10
	restarts
	more 10
	enough 0
	line="$line $counts"
	loads
	for round in 1 2 3 4 5 6; do
		more 5
		kill_one "$round"
		await status_is '3 0' apps web processes,starting
	done
	[ "$way" != template ] || kill -KILL "$(status apps web template pid)"
	more 10
	enough 6
	assertEquals "$1" "$(status apps web accept_by)"
	[ "$way" != template ] ||
	    await status_is ready apps web template state
	assert_accounts web
	line="$line $counts $(pss)"
	# While nothing else runs.
	restarts
	# shellcheck disable=SC2086,SC2154 # numbers; shunit2's name of the test
	printf '%-14s %-8s %6d %2d %6d %2d %6d %2d %6.1f %7.1f\n' \
	    "${_shunit_test_#test}" "$way" $line \
	    "$(status apps web start_time)e3" >>"$TABLE"
	stops_well
}

command_of() {
	# shellcheck disable=SC2086 # words
	accepts web $COMMAND
}

loads() {
	rm -f "$DIR/enough"
	# shellcheck disable=SC2086 # words
	start_process "$PYTHON" tests/real/client.py "$DIR/web.sock" \
	    "$DIR/enough" "$TEXT" $TARGET >"$DIR/load" 2>"$DIR/errors"
	LOAD=$STARTED
}

# more COUNT: that many sessions later.
more() {
	more_than=$(($(status apps web completed) + $1))
	wait_for $((6 * LIMIT)) has_completed $more_than ||
	    fail "not $1 more requests: $(cat "$DIR/errors")"
}

has_completed() {
	[ "$(status apps web completed)" -ge "$1" ]
}

# enough MOST: ends the load, its counts in $counts; at most so many requests had
# no right answer.
enough() {
	: >"$DIR/enough"
	finish "$LOAD" $((6 * LIMIT))
	counts=$(cat "$DIR/load")
	[ "${counts#* }" -le "$1" ] || fail "$way: $counts: $(cat "$DIR/errors")"
}

# restarts: all processes are replaced.
restarts() {
	timeout $((6 * LIMIT)) "$APPPOOLCTL" -s "$DIR/control.sock" restart web \
	    >"$DIR/told" 2>&1 || fail "$way: $(cat "$DIR/told")"
}

# kill_one ROUND: a process of the app; of two, the adapter in odd rounds, its
# program in even ones.
kill_one() {
	victim=$(status apps web workers '*' pid | sed -n "$(($1 % 3 + 1))p")
	[ $(($1 % 2)) -eq 1 ] || [ "$(status apps web accept_by)" = library ] ||
	    victim=$(children "$victim")
	# shellcheck disable=SC2086 # numbers
	kill -KILL $victim
}

# pss: of all processes of the app, in MiB.
pss() {
	for pid in $(leftovers); do
		[ "$pid" = "$POOL" ] || cat "/proc/$pid/smaps_rollup"
	done 2>/dev/null | awk '/^Pss:/ { sum += $2 } END { print sum / 1024 }'
}

# fastcgi COMMAND TEXT TARGET NAME=VALUE...: a program of FastCGI, each way.
fastcgi() {
	PROTOCOL=fastcgi COMMAND=$1 TEXT=$2
	shift 2
	TARGET=$*
	ACCEPT_BY=auto tries library ''
	ACCEPT_BY=auto tries library 'template = true'
	ACCEPT_BY=seccomp tries seccomp ''
}

# wsgi COMMAND TEXT TARGET: gunicorn with one worker, which is a child that
# accepts: the app comes to seccomp by itself, too.
wsgi() {
	PROTOCOL=http COMMAND="gunicorn -w 1 $1" TEXT=$2 TARGET=$3
	ACCEPT_BY=seccomp tries seccomp ''
	ACCEPT_BY=auto tries seccomp ''
}

# ---------------------------------------------------------------- programs

testDokuWiki() {
	fastcgi php-cgi 'Formatting Syntax' '/doku.php?id=wiki:syntax' \
	    SCRIPT_FILENAME=/usr/share/dokuwiki/doku.php
}

# FPM_SOCKETS names its sockets, and SIGQUIT ends it gracefully. The daemon does
# not see its sessions.
testPhpFpm() {
	TEXT='Formatting Syntax' way=listen
	TARGET='/doku.php?id=wiki:syntax
	    SCRIPT_FILENAME=/usr/share/dokuwiki/doku.php'
	printf '%s\n' '[global]' 'error_log = /proc/self/fd/2' \
	    'process_control_timeout = 10s' '[www]' \
	    "listen = $DIR/web.sock" 'pm = static' 'pm.max_children = 2' \
	    >"$DIR/fpm.conf"
	starts "handoff = listen stop_signal = QUIT user = www-data
	    min_processes = 2 max_processes = 2
	    environment += \"FPM_SOCKETS=$DIR/web.sock=3\"" \
	    server web php-fpm8.2 -F -y "$DIR/fpm.conf"
	loads
	for round in 1 2 3 4 5; do
		restarts
		assertEquals "round $round" running "$(status apps web state)"
	done
	enough 0
	# shellcheck disable=SC2086 # numbers
	printf '%-14s %-8s %18s %6d %2d\n' PhpFpm listen '' $counts >>"$TABLE"
	stops_well
}

testMediaWiki() {
	mkdir "$DIR/wiki"
	php /usr/share/mediawiki/maintenance/install.php --dbtype sqlite \
	    --dbpath "$DIR/wiki" --confpath "$DIR/wiki" --scriptpath /w \
	    --server http://localhost --pass 'a long password' Wiki Admin \
	    >"$DIR/wiki/log" 2>&1 || fail "$(cat "$DIR/wiki/log")"
	chown -R www-data "$DIR/wiki"
	export MW_CONFIG_FILE="$DIR/wiki/LocalSettings.php"
	fastcgi php-cgi 'MediaWiki has been installed' \
	    '/w/index.php?title=Main_Page' \
	    SCRIPT_FILENAME=/usr/share/mediawiki/index.php
}

testPhpLiteAdmin() {
	fastcgi php-cgi 'Page generated in' /phpliteadmin.php \
	    SCRIPT_FILENAME=/usr/share/phpliteadmin/phpliteadmin.php
}

testCgitByFcgiwrap() {
	git init -q "$DIR/git"
	git -C "$DIR/git" -c user.name=A -c user.email=a@localhost commit -q \
	    --allow-empty -m 'a first one'
	chown -R www-data "$DIR/git"
	printf 'repo.url=demo\nrepo.path=%s/git/.git\n' "$DIR" >"$DIR/cgitrc"
	fastcgi fcgiwrap 'a first one' /demo/log/ PATH_INFO=/demo/log/ \
	    "SCRIPT_FILENAME=/usr/lib/cgit/cgit.cgi CGIT_CONFIG=$DIR/cgitrc"
}

testMapServer() {
	echo 'MAP EXTENT -180 -90 180 90 SIZE 200 100 IMAGETYPE PNG
	    LAYER TYPE POLYGON STATUS DEFAULT
		FEATURE POINTS -90 -45 -90 45 90 45 -90 -45 END END
		CLASS STYLE COLOR 255 0 0 END END
	    END END' >"$DIR/world.map"
	echo 'CONFIG ENV MS_MAP_PATTERN "." END END' >"$DIR/mapserver"
	export MAPSERVER_CONFIG_FILE="$DIR/mapserver"
	fastcgi mapserv 'image/png' "/mapserv?map=$DIR/world.map&mode=map" \
	    SCRIPT_FILENAME=mapserv
}

testSmokePing() {
	mkdir -p /run/smokeping
	smokeping --debug >"$DIR/probe" 2>&1
	fastcgi /usr/share/smokeping/smokeping.cgi LocalMachine \
	    '/smokeping.cgi?target=Local' SCRIPT_FILENAME=smokeping.cgi
}

testRadicale() {
	printf '[auth]\ntype = none\n[storage]\nfilesystem_folder = %s\n' \
	    "$DIR/calendars" >"$DIR/radicale"
	mkdir "$DIR/calendars" && chown www-data "$DIR/calendars"
	export RADICALE_CONFIG="$DIR/radicale"
	wsgi radicale 'Radicale Web Interface' /.web/
}

testDjango() {
	mkdir "$DIR/django" && django-admin startproject pages "$DIR/django"
	"$PYTHON" "$DIR/django/manage.py" migrate >"$DIR/migrate" 2>&1
	chown -R www-data "$DIR/django"
	wsgi "--chdir $DIR/django pages.wsgi" 'Django administration' /admin/login/
}

. tests/e2e/lib.sh
