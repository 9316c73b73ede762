# shellcheck shell=sh
#
# What the tests of the examples share; see lib.sh.

# example NAME: its file is the configuration, at $DIR, with what it needs
# beside it. Further options come from stdin, or none. As an ordinary user we
# are that one.
example() {
	unprivileged='/^	user = /d; /^	socket_group = /d'
	! is_root || unprivileged=
	{
		sed -e "s,/run/apppoold/,$DIR/," -e "$unprivileged" -e '$d' \
		    "etc/examples/$1.conf"
		cat
		echo '}'
	} | conf
}

# The program of an example and what else it is made of.
program_of() {
	sed -n 's/^	command = { "\([^"]*\)".*/\1/p' "etc/examples/$1.conf"
}

app_of() {
	sed -n 's/^app "\(.*\)" {$/\1/p' "etc/examples/$1.conf"
}

# is_there EXAMPLE: whether its program is; what lacks is in $ABSENT.
is_there() {
	ABSENT=$(program_of "$1")
	case $ABSENT in
	./*) ABSENT=$DIR/$ABSENT ;;
	esac
	[ -x "$ABSENT" ] || return
	if [ "$1" = perl-fcgi ]; then
		ABSENT=FCGI.pm
		/usr/bin/perl -MFCGI -e 1 2>/dev/null || return
	fi
}

# has EXAMPLE: it and all before it; else the test is skipped.
has() {
	is_there "$1" || { skip "no $ABSENT"; return 1; }
	for program in "$NGINX" /usr/bin/wrk; do
		[ -x "$program" ] || { skip "no $program"; return 1; }
	done
}

# nginx EXAMPLE: its side of the web server; returns when it listens at $URL.
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
	# It writes that when it listens.
	await test -s "$DIR/nginx.pid"
}

# get [PATH]: a page, or what is wrong with it.
get() {
	curl -sSf --max-time "$LIMIT" "$URL/${1:-page.php}" 2>&1
}

# serve EXAMPLE: both sides of it.
serve() {
	example "$1"
	pool_start
	APP=$(app_of "$1")
	nginx "$1"
}

assert_nothing_lost() {
	await has_no_sessions
	for key in lost refused timed_out; do
		assertEquals "$key" 0 "$(status apps "$APP" "$key")"
	done
	assert_accounts "$APP"
}

has_no_sessions() {
	status_is 0 apps "$APP" sessions
}

file_setup() {
	cp etc/examples/*.p[ly] etc/examples/*.js etc/examples/*.sh "$DIR"
	# Where it is installed, or where contrib/peers unpacked it.
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
	: # what could not be built is skipped
}
