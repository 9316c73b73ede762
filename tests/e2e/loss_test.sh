#!/bin/sh
# Requests under every change that an operator makes: none fails. LOSS_ROUNDS and
# LOSS_REQUESTS make it longer.

ROUNDS=${LOSS_ROUNDS:-2}
REQUESTS=${LOSS_REQUESTS:-300}

# loses CHANGE...: what loss.py prints.
loses() {
	PORT=$(free_port)
	cat >"$DIR/answer.py" <<-'EOF'
	import os

	def application(environ, start_response):
	    size = len(environ["wsgi.input"].read())
	    start_response("200 OK", [("Content-Type", "text/plain")])
	    return [("%s %d" % (os.environ["ANSWER"], size)).encode()]
	EOF
	chmod a+rx "$DIR"
	conf <<-EOF
	app "web" {
		listen = { "127.0.0.1:$PORT", "unix:$DIR/web.sock" }
		socket_mode = 0666
		command = { "$PYTHON", "$PWD/contrib/workers/apppool-wsgi",
		    "answer:application" }
		directory = "$DIR"
		environment = "ANSWER=A"
		protocol = http
		min_processes = 14
		max_processes = 14
	}
	EOF
	# The tree may be built anew meanwhile.
	cp -r "$APPPOOLD" "$BUILD/libexec" "$DIR"
	APPPOOLD=$DIR/apppoold pool_start
	"$PYTHON" tests/e2e/loss.py "$APPPOOLCTL" "$DIR/control.sock" \
	    "$DIR/pool.conf" "$ROUNDS" "$REQUESTS" "$@" >"$DIR/lost" 2>&1
	assertEquals "$(cat "$DIR/lost")" 0 $?
	sed 's/^/# /' "$DIR/lost"
	assertEquals '0 0 0 0' \
	    "$(status apps web refused,timed_out,abandoned,lost)"
}

testNoRequestFailsWhileThePoolIsChanged() {
	loses reload restart upgrade resize kill detach
}

. tests/e2e/lib.sh
