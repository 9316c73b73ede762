#!/bin/sh
# apppool-convert: files of other tools become pool.conf. Lines of a file in
# tests/convert that begin with ";=", "#=" or "//=" have to be in the result.

CONVERT=contrib/convert/apppool-convert
PEERS=build/peers

file_setup() {
	# Two files ask for these.
	export CONVERT_SECRET=hidden CONVERT_HOST=127.0.0.1
}

# converts [OPTION...] FILE...: what comes out is $DIR/out.conf.
converts() {
	converted=$*
	"$CONVERT" "$@" >"$DIR/out.conf" 2>"$DIR/said"
	assertEquals "$converted: $(cat "$DIR/said")" 0 $?
}

# What -t says of a file that is right on a machine that lacks something.
lacks='there is none of that name|(chroot|directory|program) /.*: (No|Perm)'
lacks=$lacks'|only root can|somebody else listens|ports under|is not in PATH'

# is_valid: whether the result has no mistake but what this machine lacks.
is_valid() {
	"$APPPOOLCTL" simulate -c "$DIR/out.conf" --for 1ms >"$DIR/said" 2>&1
	assertEquals "$converted: $(cat "$DIR/said")" 0 $?
	"$APPPOOLD" -t -c "$DIR/out.conf" 2>&1 |
	    grep -vE "$lacks|no mistakes|: [0-9]+ mistakes?|\(warning\)" \
	    >"$DIR/said"
	assertEquals "$converted" '' "$(cat "$DIR/said")"
}

testEachFileOfOursBecomesAValidPool() {
	count=0
	for file in tests/convert/*/*.* tests/convert/*/*/Procfile*; do
		grep -qs '^\(;\|#\|//\)= ' "$file" || continue
		count=$((count + 1))
		# Without a section of that name nothing tells what it is.
		kind=
		[ "${file##*/}" != languages.ini ] || kind='--from uwsgi'
		# shellcheck disable=SC2086 # two words
		converts $kind "$file"
		sed -i "s,$PWD/contrib/workers,LIBEXEC," "$DIR/out.conf"
		missing=$("$PYTHON" tests/convert/missing.py "$file" "$DIR/out.conf")
		assertEquals "$file" '' "$missing"
		is_valid
	done
	assertEquals 20 "$count"
}

# ships PACKAGE FILE...: what a package of Debian has becomes a valid pool.
ships() {
	ships_package=$1
	shift
	for file; do
		[ -e "$PEERS/$file" ] ||
		    { skip "no $PEERS/$file of $ships_package"; return 1; }
		converts "$PEERS/$file"
		is_valid
	done
}

testThePoolsOfPhpFpmAsDebianShipsThemConvert() {
	ships php8.2-fpm etc/php/8.2/fpm/pool.d/www.conf \
	    lib/systemd/system/php8.2-fpm.service || return 0
	converts $PEERS/etc/php/8.2/fpm/php-fpm.conf \
	    $PEERS/etc/php/8.2/fpm/pool.d/www.conf
	assertContains "$(cat "$DIR/out.conf")" '"/usr/bin/php-cgi8.2"'
	# Each line of its comments that is an option, too.
	sed 's/^;\([a-z_.]* = .\)/\1/; s/^;\([a-z_]*\[.*\] = .\)/\1/' \
	    $PEERS/etc/php/8.2/fpm/pool.d/www.conf >"$DIR/all.conf"
	assertTrue 'more than forty' \
	    "[ $(grep -c '^[a-z].* = ' "$DIR/all.conf") -gt 40 ]"
	converts "$DIR/all.conf"
	is_valid
	assertNotContains "$(cat "$DIR/out.conf")" 'unknown to'
}

testTheFilesOfSupervisorAsDebianShipsThemConvert() {
	sample=usr/lib/python3/dist-packages/supervisor/skel/sample.conf
	ships supervisor lib/systemd/system/supervisor.service || return 0
	# All options of programs are commented out in it.
	sed 's/^;\([a-z_]*=\)/\1/; s/^;\(\[.*\)/\1/' "$PEERS/$sample" \
	    >"$DIR/sample.conf"
	converts "$DIR/sample.conf"
	is_valid
	assertContains "$(cat "$DIR/out.conf")" 'app "theprogramname"'
	assertNotContains "$(cat "$DIR/out.conf")" 'unknown to'
}

testTheFilesOfUwsgiAsDebianShipsThemConvert() {
	examples=usr/share/doc/uwsgi-core/examples/conffile
	ships uwsgi $examples/vassals/broodlord.ini $examples/vassals/cc.ini \
	    lib/systemd/system/uwsgi-app@.service \
	    lib/systemd/system/uwsgi-emperor.service || return 0
	# Debian has options for all apps.
	mkdir -p "$DIR/etc/uwsgi/apps-enabled" "$DIR/usr/share/uwsgi/conf"
	cp $PEERS/usr/share/uwsgi/conf/default.ini "$DIR/usr/share/uwsgi/conf"
	printf '[uwsgi]\nmodule = shop\n' \
	    >"$DIR/etc/uwsgi/apps-enabled/shop.ini"
	converts "$DIR/etc/uwsgi/apps-enabled/shop.ini"
	is_valid
	assertContains "$(cat "$DIR/out.conf")" 'user = "www-data"'
	assertContains "$(cat "$DIR/out.conf")" '"unix:/run/uwsgi/app/shop/socket"'
}

testTheProcfilesOfForemanAsDebianShipsThemConvert() {
	set -- "$PEERS"/usr/share/rubygems-integration/all/gems/foreman-*
	ships ruby-foreman "${1#"$PEERS"/}/data/example/Procfile"
}

# refuses STATUS MESSAGE [OPTION...] FILE: with that end of the message.
refuses() {
	wanted=$1 message=$2
	shift 2
	said=$("$CONVERT" "$@" 2>&1 >"$DIR/out.conf")
	assertEquals "$said" "$wanted" $?
	assertEquals "apppool-convert: $message" "$said"
	assertFalse 'nothing is printed' "[ -s '$DIR/out.conf' ]"
}

# of NAME TEXT: a file with that text; printf's escapes are lines.
of() {
	# shellcheck disable=SC2059 # escapes
	printf "$2" >"$DIR/$1"
}

testAMistakeIsToldWithItsFileAndLine() {
	refuses 66 "$DIR/none.ini: No such file or directory" "$DIR/none.ini"
	of broken.json '{\n  "listeners": {},\n  "applications": x\n'
	refuses 65 "$DIR/broken.json:3: Expecting value" "$DIR/broken.json"
	of odd.json '{ "applications": { "a": 3 } }'
	refuses 65 "$DIR/odd.json:applications/a: this is not as Unit has it" \
	    "$DIR/odd.json"
	of www.conf '[www]\npm = static\npm.max_children = many\n'
	refuses 65 "$DIR/www.conf:3: pm.max_children = many: this is no number" \
	    "$DIR/www.conf"
	of lines.ini '[uwsgi]\nmodule = a\n= 3\n'
	refuses 65 "$DIR/lines.ini:3: '= 3' is no NAME = VALUE" "$DIR/lines.ini"
	of Procfile 'web: echo "half\n'
	refuses 65 "$DIR/Procfile:1: echo \"half: No closing quotation" \
	    "$DIR/Procfile"
	of a.conf '[program:a]\ncommand=a %%(color)s\n'
	refuses 65 "$DIR/a.conf:2: command: %(color)s is unknown" "$DIR/a.conf"
	of a.service '[Service]\nUser=a\n'
	refuses 65 "$DIR/a.service:1: there is no ExecStart" "$DIR/a.service"
	of a.socket '[Socket]\nListenStream=1\n'
	rm "$DIR/a.service"
	refuses 66 "$DIR/a.service: a socket needs its service" "$DIR/a.socket"
	of empty.ini '[uwsgi]\nmaster = true\n'
	refuses 65 "$DIR/empty.ini: it has no program to run" "$DIR/empty.ini"
	refuses 65 "contrib/peers:1: this is of no kind that is known; --from \
names one: php-fpm, uwsgi, supervisord, unit, procfile, systemd" contrib/peers
	refuses 65 "$BUILD/tests/e2e/look:1: this is no text" "$BUILD/tests/e2e/look"
	"$CONVERT" --from nothing a 2>"$DIR/said"
	assertEquals 64 $?
	assertContains "$(cat "$DIR/said")" "invalid choice: 'nothing'"
	assertContains "$("$CONVERT" --help)" 'usage: apppool-convert'
}

testStandardInputIsAFile() {
	printf 'web: ./serve\n' | "$CONVERT" - >"$DIR/out.conf" 2>"$DIR/said"
	assertEquals 'apppool-convert: read the comments on 1 things. apppoold -t '\
'tells what this machine lacks.' "$(cat "$DIR/said")"
	assertContains "$(cat "$DIR/out.conf")" 'command = { "./serve" }'
}

# serves FILE SED...: the result, with what sed changes, runs.
serves() {
	sed "$2" "$1" >"$DIR/${1##*/}"
	converts "$DIR/${1##*/}"
	conf <"$DIR/out.conf"
	pool_start
}

# For an ordinary user: without what only root can have.
unprivileged() {
	is_root || echo '/^user /d;/^group /d;/^[ug]id /d;/^rlimit/d;/owner/d;
	    /^chown/d;/^listen.group/d'
}

testAPoolOfPhpFpmServesByPhpCgi() {
	for program in /usr/bin/php-cgi cgi-fcgi; do
		command -v $program >/dev/null || { skip "no $program"; return; }
	done
	echo '<?php echo ini_get("memory_limit"), getenv("TMP"),
	    ini_get("session.save_path"), " ", getenv("GREETING");' \
	    >"$DIR/page.php"
	serves tests/convert/php-fpm/www.conf "s,/run/php,$DIR,;$(unprivileged)"
	page=$(SCRIPT_FILENAME=$DIR/page.php REQUEST_METHOD=GET \
	    cgi-fcgi -bind -connect "$DIR/www.sock")
	assertContains "$page" \
	    '256M/var/tmp/www5;/var/lib/php/sessions a ; b'
	assertEquals 4 "$(status apps www processes)"
	stops_well
}

# A site, and beside it what is a virtual environment as far as we see.
site() {
	mkdir -p "$DIR/flask/current" "$DIR/flask/venv/bin"
	ln -s /usr/bin/python3 "$DIR/flask/venv/bin/python3"
	cat >"$DIR/flask/current/flask_site.py" <<-'END'
	import os
	def create_app():
	    def app(environ, start_response):
	        start_response("200 OK", [("Content-Type", "text/plain")])
	        return [os.environ["DATABASE"].encode()]
	    return app
	END
}

testAnAppOfUwsgiServesByAWorkerOfOurs() {
	! is_root || setpriv --reuid=65534 --clear-groups \
	    test -r contrib/workers/apppool-wsgi ||
	    { skip 'nobody cannot read this tree'; return; }
	site
	mkdir -m 1777 "$DIR/flask/log"
	serves tests/convert/uwsgi/flask.ini "s,/srv/,$DIR/,;s,/run/[^/]*,$DIR,
	    s,/var/log/uwsgi,$DIR/flask/log,;s/^uid = .*/uid = nobody/
	    s/^gid = .*/gid = nogroup/;s/= flask:www-data/= nobody/
	    $(unprivileged)"
	assertEquals 'postgres:///flask?user=a%20b' \
	    "$(http_get --unix-socket "$DIR/flask.sock" http://site/)"
	assertEquals 2 "$(status apps flask processes)"
	stops_well
}

. tests/e2e/lib.sh
