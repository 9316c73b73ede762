# shellcheck shell=sh
#
# Functions for the tests of the examples; see lib.sh.

# example NAME: the configuration is that of the example, at $DIR; further
# options come from stdin, or none. For an ordinary user the processes run as
# that user, and the port is one that such a user may have.
example() {
	unprivileged='/^	user = /d; /^	socket_group = /d; s/:873"/:8730"/'
	! is_root || unprivileged=
	{
		sed -e "s,/run/apppoold/,$DIR/," -e "s,/usr/sbin/nginx,$NGINX," \
		    -e "s,/run/nginx-,$DIR/nginx-," -e "s,/srv/git,$DIR/git,g" \
		    -e "s,/var/spool/cron-sh,$DIR/jobs," -e "$unprivileged" \
		    -e '$d' "etc/examples/$1.conf"
		cat
		echo '}'
	} | conf
}

# program_of EXAMPLE, app_of EXAMPLE: the path of its program, the name of its
# app.
program_of() {
	sed -n -e "s,/usr/sbin/nginx,$NGINX," \
	    -e 's/^	command = { "\([^"]*\)".*/\1/p' "etc/examples/$1.conf"
}

app_of() {
	sed -n 's/^app "\(.*\)" {$/\1/p' "etc/examples/$1.conf"
}

# is_there EXAMPLE: whether its program is installed; what lacks is in $ABSENT.
is_there() {
	ABSENT=$(program_of "$1")
	case $ABSENT in
	./*) ABSENT=$DIR/$ABSENT ;;
	apppool-*) ABSENT=$BUILD/libexec/$ABSENT ;;
	esac
	# Processes of root's are nobody's, who may not be able to enter this tree.
	as_nobody=
	! is_root || as_nobody='setpriv --reuid=65534 --clear-groups'
	$as_nobody test -x "$ABSENT" || return
	case $1 in
	perl-fcgi)
		ABSENT=FCGI.pm
		/usr/bin/perl -MFCGI -e 1 2>/dev/null || return
		;;
	psgi)
		ABSENT=libplack-perl
		/usr/bin/perl -MPlack -MSocket::MsgHdr -e 1 2>/dev/null ||
		    return
		;;
	rack)
		ABSENT=/usr/share/doc/ruby-rack
		[ -e "$ABSENT" ] || return
		;;
	sinatra)
		ABSENT='ruby-sinatra or ruby-bundler'
		[ -e "$DIR/Gemfile.lock" ] || (cd "$DIR" &&
		    bundle lock --local) >/dev/null 2>&1 || return
		;;
	django)
		ABSENT=python3-django
		/usr/bin/python3 -c 'import django' 2>/dev/null || return
		;;
	esac
}

# has EXAMPLE: the program, nginx and wrk; else the test is skipped.
has() {
	is_there "$1" || { skip "no $ABSENT"; return 1; }
	for program in "$NGINX" /usr/bin/wrk; do
		[ -x "$program" ] || { skip "no $program"; return 1; }
	done
}

# nginx EXAMPLE: starts the web server for it; returns when it listens at $URL.
nginx() {
	port=$(free_port) URL=http://127.0.0.1:$port
	{
		! is_root || echo 'user www-data;'
		echo "daemon off; pid $DIR/nginx.pid; error_log $DIR/nginx.log;"
		echo 'events { worker_connections 4000; }'
		echo "http { root $DIR; log_format status \$status;"
		echo "access_log $DIR/nginx.statuses status;"
		for kind in client_body proxy fastcgi uwsgi scgi; do
			echo "${kind}_temp_path $DIR/nginx.$kind;"
		done
		sed -e "s,/run/apppoold/,$DIR/," \
		    -e "s/127.0.0.1:80../127.0.0.1:$port/" \
		    -e "s,/var/www/html,$DIR/www," "etc/examples/$1.nginx"
		echo '}'
	} >"$DIR/nginx.conf"
	rm -f "$DIR/nginx.pid" "$DIR/nginx.statuses"
	start_process "$NGINX" -c "$DIR/nginx.conf" -e "$DIR/nginx.log"
	# nginx writes its pid when it listens.
	await test -s "$DIR/nginx.pid"
}

# get [PATH]: a page, or the error of curl.
get() {
	curl -sSf --max-time "$LIMIT" "$URL/${1:-page.php}" 2>&1
}

# assert_restarts COUNT [PATH [OPTION-OF-wrk...]]: wrk asks for a page until COUNT
# requests are answered, and while all processes are replaced, twice; none fails.
assert_restarts() {
	restarts_count=$1 restarts_url=$URL/${2:-page.php}
	shift $(($# < 2 ? 1 : 2))
	start_process wrk -t 1 -c 4 -d 600 --timeout "${LIMIT}s" "$@" \
	    "$restarts_url" >"$DIR/wrk" 2>&1
	restarts_load=$STARTED
	wait_for $((6 * LIMIT)) has_answers "$restarts_count" ||
	    fail "after $(answers): $(cat "$DIR/wrk")"
	for round in 1 2; do
		await has_answers $(($(answers) + 20))
		assertTrue "$round" "ctl restart $APP >'$DIR/told' 2>&1"
	done
	await has_answers $(($(answers) + 20))
	kill -INT "$restarts_load"
	finish "$restarts_load"
	assertEquals 'no request fails' '0 ' \
	    "$RC $(grep -E 'Non-2xx|Socket errors' "$DIR/wrk")"
}

# answers: how many nginx has given.
answers() {
	wc -l <"$DIR/nginx.statuses"
}

has_answers() {
	[ "$(answers)" -ge "$1" ]
}

# serve EXAMPLE: starts the pool and the web server.
serve() {
	example "$1"
	pool_start
	APP=$(app_of "$1")
	nginx "$1"
}

assert_nothing_lost() {
	await has_no_sessions
	assert_none_lost "$APP"
	assert_accounts "$APP"
}

has_no_sessions() {
	status_is 0 apps "$APP" sessions
}

file_setup() {
	for file in etc/examples/*; do
		case $file in
		*.conf | *.nginx) ;;
		*) cp "$file" "$DIR" ;;
		esac
	done
	# nginx as it is installed, or as contrib/peers unpacked it.
	NGINX=/usr/sbin/nginx
	[ -x "$NGINX" ] || NGINX=$PWD/build/peers$NGINX
	cp "${NGINX%/usr/sbin/nginx}"/etc/nginx/fastcgi.conf \
	    "${NGINX%/usr/sbin/nginx}"/etc/nginx/*_params "$DIR" 2>/dev/null
	mkdir "$DIR/www"
	cat >"$DIR/www/page.php" <<-'END'
	<?php
	if (isset($_GET["die"]))
	    posix_kill(getmypid(), SIGKILL);
	while (isset($_GET["sleep"]) && !file_exists("awake")) {
	    usleep(10000);
	    clearstatcache();
	}
	echo getmypid(), " page\n";
	END
	cc -o "$DIR/libfcgi" etc/examples/libfcgi.c -lfcgi 2>/dev/null
	cc -static -o "$DIR/static" etc/examples/static.c 2>/dev/null
	: # tests of a program that could not be built are skipped
}
