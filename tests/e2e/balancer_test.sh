#!/bin/sh
# HAProxy before daemons, with the configuration that is installed.

HAPROXY=/usr/sbin/haproxy
[ -x "$HAPROXY" ] || {
	contrib/peers build/peers
	HAPROXY=$PWD/build/peers$HAPROXY
}
if ! [ -x "$HAPROXY" ]; then
	echo 'skip balancer: no haproxy'
	echo '## passed=0 total=0'
	exit 0
fi

haproxy() {
	LD_LIBRARY_PATH=$(echo "$PWD"/build/peers/usr/lib/*-gnu) \
	    exec "$HAPROXY" "$@"
}

testTheConfigurationOfHaproxyIsValid() {
	said=$(haproxy -c -f contrib/haproxy/haproxy.cfg 2>&1)
	assertEquals "$said" 0 $?
	assertNotContains "$said" WARNING
}

# A drain, a stop, a broken deployment, a SIGKILL and a slow host, under load.
testNoRequestFailsButThoseOfAKilledDaemon() {
	said=$(tests/bench/balancer --short 2>&1)
	assertEquals "$said" 0 $?
}

# pools: the daemon of that configuration, on other ports; HAProxy is before it,
# at $HTTP and $TCP.
pools() {
	WEB=$(free_port) SHOP=$(free_port) CHAT=$(free_port)
	AGENT=$(free_port) STATUS=$(free_port)
	{
		cat <<-EOF
		control_mode = 0666
		app "web" {
			listen = "127.0.0.1:$WEB"
			protocol = http
			command = "$BUILD/contrib/hello"
			max_processes = 3
		}
		app "shop" {
			listen = "127.0.0.1:$SHOP"
			handoff = accept
			protocol = fastcgi
			command = php-cgi
			clear_environment = true
		}
		app "chat" {
			listen = "127.0.0.1:$CHAT"
			command = "$TWORKER"
			concurrency = 1
			max_processes = 5
		}
		app "agent" {
			listen = "127.0.0.1:$AGENT"
			handoff = stdio
			command = { "$APPPOOLCTL", "-s", "$DIR/control.sock", "agent" }
			min_server_life = 0
		}
		app "status" {
			listen = "127.0.0.1:$STATUS"
			protocol = http
			command = { "apppool-web", "-s", "$DIR/control.sock" }
			max_processes = 1
			concurrency = 100
		}
		EOF
	} | conf
	pool_start
	HTTP=127.0.0.1:$(free_port) TCP=127.0.0.1:$(free_port)
	mkdir -p "$DIR/www"
	cat >"$DIR/www/page.php" <<-'EOF'
	<?php echo "page of ", $_GET["of"], "\n";
	EOF
	sed -e "s/ :80$/ $HTTP/" -e "s/ :7000$/ $TCP/" -e "s,/srv/shop,$DIR/www," \
	    -e "s/10.0.0.[12]:8080/127.0.0.1:$WEB/" \
	    -e "s/10.0.0.[12]:9000/127.0.0.1:$SHOP/" \
	    -e "s/10.0.0.[12]:7000/127.0.0.1:$CHAT/" \
	    -e "/server b/s/127.0.0.1/127.0.0.99/" \
	    -e "s/port 8079/port $STATUS/" -e "s/port 7532/port $AGENT/" \
	    -e '/^frontend stats/,$d' -e 's/inter 1s/inter 400ms/' \
	    -e "s,^global,&\n	stats socket $DIR/haproxy.sock level admin," \
	    contrib/haproxy/haproxy.cfg >"$DIR/haproxy.cfg"
	printf '%s\n' 'frontend stats' "bind $DIR/haproxy.http" 'mode http' \
	    'stats enable' 'stats uri /' >>"$DIR/haproxy.cfg"
	start_process haproxy -db -f "$DIR/haproxy.cfg" >>"$DIR/log" 2>&1
	await server_is UP web
}

# column NAME APP: of its server a, as HAProxy has it.
column() {
	http_get --unix-socket "$DIR/haproxy.http" 'http://x/;csv' |
	    awk -F , -v "name=$1" -v "app=$2" '
		NR == 1 { while ($(++column) != name) {} }
		$1 == app && $2 == "a" { print $column }'
}

# server_is STATUS APP: for await. HAProxy takes a server for UP before the first
# check: a check must have succeeded.
server_is() {
	case $(column status "$2" 2>/dev/null) in
	"$1"*) ;;
	*) return 1 ;;
	esac
	[ "$1" != UP ] || server_has check_status 'L7OK' "$2" ||
	    server_has check_status '* L7OK' "$2"
}

# server_has COLUMN VALUE APP: likewise.
server_has() {
	[ "$(column "$1" "$3" 2>/dev/null)" = "$2" ]
}

testHttpFastcgiAndOtherProtocolsAreServed() {
	pools
	assertContains "$(http_get "http://$HTTP/")" Hello
	await server_is UP shop
	assertEquals 'page of today' "$(http_get "http://$HTTP/page.php?of=today")"
	await server_is UP chat
	assertContains "$(ask "$TCP")" hello
	# The other server is not there.
	assertContains "$(http_get "http://$HTTP/")" Hello
}

testHaproxyTakesWhatTheAgentSays() {
	pools
	await server_has slim 3 web
	await server_has slim 5 chat
	ctl drain web >/dev/null
	await server_has weight 0 web
	ctl resume web >/dev/null
	await server_has weight 100 web
	await server_is UP web
	assertContains "$(http_get "http://$HTTP/")" Hello
	ctl stop chat >/dev/null
	await server_is DOWN chat
	assertContains "$(column last_agt chat)" 'by operator'
	ctl start chat >/dev/null
	await server_is UP chat
	assertContains "$(ask "$TCP")" hello
}

# A word such as "ready" would undo that.
testTheAgentLeavesAnOperatorsDrainInHaproxyAlone() {
	pools
	socket_client "unix:$DIR/haproxy.sock" \
	    's.sendall(b"set server web/a state drain\n")' 'read()'
	await server_is DRAIN web
	ctl stop web >/dev/null
	await server_is DOWN web
	ctl start web >/dev/null
	await server_is DRAIN web
}

. tests/e2e/lib.sh
