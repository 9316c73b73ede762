#!/bin/sh
# make install puts files where they belong, and uninstall removes these alone.

# The programs are installed from a copy: another PREFIX has some of it built
# anew, and other tests run programs of the one there is.
file_setup() {
	mkdir "$DIR/build"
	cp -a "$BUILD"/*.a "$BUILD"/lib*.so* "$BUILD/libexec" "$BUILD/obj" \
	    "$BUILD/contrib" "$BUILD/sources" "$BUILD/compiled-in" "$DIR/build"
	cp -a "$BIN/apppoold" "$BIN/apppoolctl" "$DIR"
	ROOT=$DIR/root
	install_as install DESTDIR="$ROOT"
}

# install_as GOAL [NAME=VALUE...]: make, as a packager calls it: not as a part
# of the make that runs the tests.
install_as() {
	env -u MAKEFLAGS make -s "$@" BUILD="$DIR/build" BIN="$DIR" BOOTSTRAP=: \
	    >"$DIR/out" 2>&1 || fail "$(cat "$DIR/out")"
}

installed() {
	(cd "$ROOT" && find . ! -type d | sort)
}

testProgramsLibrariesPagesAndUnitsAreInstalled() {
	for file in sbin/apppoold bin/apppoolctl lib/libapppool.a \
	    lib/libapppool.so.1 include/apppool.h lib/pkgconfig/apppool.pc \
	    libexec/apppoold/apppool-stdio libexec/apppoold/apppool-keeper \
		    share/bash-completion/completions/apppoolctl \
	    share/zsh/site-functions/_apppoolctl \
	    bin/apppool-convert share/man/man1/apppool-convert.1 \
	    share/man/man8/apppoold.8 share/man/man5/pool.conf.5 \
	    lib/systemd/system/apppoold.service \
	    lib/systemd/system/apppoold@.service; do
		assertTrue "$file" "[ -e '$ROOT/usr/local/$file' ]"
	done
}

testEveryManualPageIsInstalledInItsSection() {
	for page in man/*; do
		assertTrue "$page" "[ -s '$ROOT/usr/local/share/man/man${page##*.}/\
${page##*/}' ]"
	done
}

testEveryExampleIsInstalled() {
	for example in etc/examples/* contrib/workers/*.c; do
		assertTrue "$example" "[ -s '$ROOT/usr/local/share/doc/apppoold/examples/\
${example##*/}' ]"
	done
}

testConfigurationsOfOtherProgramsAreInstalled() {
	for file in haproxy/haproxy.cfg monitoring/alerts.yml; do
		cmp -s "contrib/$file" "$ROOT/usr/local/share/doc/apppoold/$file" ||
		    fail "$file"
	done
}

testEverySampleWorkerIsInstalled() {
	for worker in hello hello.py stampede.py apppool-jobs apppool-jobs-perl \
	    apppool-psgi apppool-rack apppool-wsgi; do
		assertTrue "$worker" "[ -x '$ROOT/usr/local/libexec/apppoold/$worker' ]"
	done
}

testTheModulesOfWorkersAreInstalledAndNoPrograms() {
	for module in AppPool.pm AppPoolJobs.pm apppool.py apppool.rb \
	    apppool_http.py apppool_jobs.py; do
		assertEquals "$module" 644 \
		    "$(stat -c %a "$ROOT/usr/local/libexec/apppoold/$module")"
	done
}

testInstallingTwiceInstallsTheSameFiles() {
	before=$(installed)
	install_as install DESTDIR="$ROOT"
	assertEquals "$before" "$(installed)"
}

testInstallUnderDestdirSaysNothing() {
	assertEquals '' "$(grep -vE '^(AR|CC|LINK) ' "$DIR/out")"
}

testTheInstalledProgramRuns() {
	assertEquals 'apppoold 0.1.0' "$("$ROOT/usr/local/sbin/apppoold" -V)"
}

testTheInstalledProgramFindsItsAdapters() {
	cat >"$DIR/pool.conf" <<-EOF
	control = ""
	app "web" { listen = "unix:web.sock" command = cat handoff = stdio }
	EOF
	assertEquals "$DIR/pool.conf: no mistakes" \
	    "$("$ROOT/usr/local/sbin/apppoold" -t -c "$DIR/pool.conf" 2>&1)"
}

testRunPrintsThePlainPathOfAnInstalledWorker() {
	assertContains "$(cd "$DIR" &&
	    "$ROOT/usr/local/sbin/apppoold" run --print shop:app)" \
	    "{ \"$ROOT/usr/local/libexec/apppoold/apppool-wsgi\", "
}

testTheInstalledApppoolctlNeedsNoOtherProgram() {
	assertEquals 'apppoolctl 0.1.0' "$("$ROOT/usr/local/bin/apppoolctl" -V)"
	assertContains "$("$ROOT/usr/local/bin/apppoolctl" simulate -h)" '--rate'
}

testTheInstalledConverterNamesTheInstalledWorker() {
	printf 'web: /venv/bin/gunicorn shop:app\n' |
	    "$ROOT/usr/local/bin/apppool-convert" - >"$DIR/converted" 2>&1
	assertEquals "$(cat "$DIR/converted")" 0 $?
	assertContains "$(cat "$DIR/converted")" \
	    "\"$ROOT/usr/local/libexec/apppoold/apppool-wsgi\""
}

# An example that names a path of the sources would be of no use there.
testTheInstalledExamplesStandAlone() {
	assertEquals '' "$(grep -lF '../' "$ROOT"/usr/local/share/doc/*/examples/*)"
}

testTheFoldersInUnitsPagesAndProgramsAreThoseOfTheInstallation() {
	other=$DIR/other$DIR/prefix
	install_as install DESTDIR="$DIR/other" PREFIX="$DIR/prefix" \
	    SYSCONFDIR="$DIR/prefix/etc"
	assertEquals '' "$(grep -rnE '=.*[ =]/(usr|etc)/' "$other/lib/systemd")"
	assertContains "$("$other/sbin/apppoold" -h)" \
	    "($DIR/prefix/etc/apppoold/pool.conf)"
	man=$other/share/man/man7/apppool-handoff.7
	assertEquals '' "$(grep -n /usr/local "$man")"
	assertEquals 2 "$(grep -c "Pa $DIR/prefix/libexec/apppoold/" "$man")"
	install_as uninstall DESTDIR="$DIR/other" PREFIX="$DIR/prefix" \
	    SYSCONFDIR="$DIR/prefix/etc"
	assertEquals '' "$(find "$DIR/other" ! -type d)"
}

testAWorkerCompilesWithTheInstalledLibrary() {
	sed -n 's/^Libs: *//p; s/^Cflags: *//p' \
	    "$ROOT/usr/local/lib/pkgconfig/apppool.pc" >"$DIR/flags"
	assertTrue '' "[ -s '$DIR/flags' ]"
	${CC:-cc} -D_GNU_SOURCE -o "$DIR/hello" contrib/workers/hello.c \
	    -I"$ROOT/usr/local/include" -L"$ROOT/usr/local/lib" -lapppool
	assertEquals 0 $?
	assertContains "$(readelf -d "$DIR/hello")" 'libapppool.so.1'
}

# ---------------------------------------------------------------- as root

# here COMMAND...: on a machine without /run/apppoold, with what is installed
# in $DIR/prefix.
here() {
	unshare -m sh -c 'mount -t tmpfs -o mode=755 none /run && exec "$@"' \
	    sh env "PATH=$DIR/prefix/sbin:$DIR/prefix/bin:$PATH" "$@"
}

# installed_here: make install, once; false if this is not root's machine.
installed_here() {
	here true 2>/dev/null || { skip 'unshare needs root'; return 1; }
	[ ! -d "$DIR/prefix" ] || return 0
	install_as install PREFIX="$DIR/prefix" SYSCONFDIR="$DIR/prefix/etc"
	cp "$DIR/out" "$DIR/installed"
}

testTheCommandsThatInstallSaysRunHelloConf() {
	installed_here || return 0
	assertContains "$(cat "$DIR/installed")" "$DIR/prefix/share/man"
	# Somebody may have the port; and here is no service manager.
	steps=$(sed -n 's/^	//p' "$DIR/installed" |
	    sed 's,^systemctl .*,apppoold -D,')
	assertEquals 3 "$(echo "$steps" | wc -l)"
	hello=$DIR/prefix/share/doc/apppoold/examples/hello.conf
	sed -i "s/127.0.0.1:8080/127.0.0.1:$(free_port)/" "$hello"
	said=$(here sh -ec "$steps
	    apppoolctl stop" 2>&1)
	assertEquals "$said" 0 $?
	assertContains "$said" 'hello '
}

# steps EXAMPLE VERB: what its comment says to type that begins with the verb.
steps() {
	sed -n "s/^#	\($2 .*\)/\1/p" "$1"
}

# prepared EXAMPLE: whether the program is there, or could be compiled.
prepared() {
	(cd "${1%/*}" && eval "$(steps "$1" cc)" &&
	    eval "$(steps "$1" bundle)") >/dev/null 2>&1 || return
	case $1 in
	*/perl-fcgi.conf) perl -MFCGI -e 1 2>/dev/null || return ;;
	*/django.conf) /usr/bin/python3 -c 'import django' 2>/dev/null ||
		return ;;
	*/rack.conf) [ -e /usr/share/doc/ruby-rack ] || return ;;
	*/jobs-perl.conf) perl -MSocket::MsgHdr -e 1 2>/dev/null || return ;;
	*/psgi.conf) perl -MPlack -MSocket::MsgHdr -e 1 2>/dev/null || return ;;
	esac
	program=$(sed -n 's/^	command = { "\([^"]*\)".*/\1/p' "$1")
	case $program in
	*/*) [ -x "$program" ] ;;
	*) [ -x "$DIR/prefix/libexec/apppoold/$program" ] ;;
	esac
}

testEachExampleIsCopiedToTheDefaultFileAndServes() {
	installed_here || return 0
	mkdir "$DIR/jobs"
	for example in "$DIR"/prefix/share/doc/apppoold/examples/*.conf; do
		name=${example##*/}
		app=$(sed -n 's/^app "\(.*\)" {$/\1/p' "$example")
		[ "$app" ] || continue
		prepared "$example" || { skip "no program of $name"; continue; }
		path=/
		if [ "$app" = php ]; then
			path=$DIR/page.php
			: >"$path"
		fi
		pong=': 200 '
		grep -q '^	protocol = ' "$example" || pong=': connected'
		ask="apppoolctl ping '$app' --path '$path'"
		! grep -q '^	handoff = none' "$example" ||
		    { ask='apppoolctl wait' pong=ready; }
		# Another program may have the port.
		port=$(free_port)
		sed -e "s/\(\"127.0.0.1\|\"\*\):[0-9]*\"/\1:$port\"/" \
		    -e "s,/var/spool/cron-sh,$DIR/jobs," "$example" \
		    >"$DIR/prefix/etc/apppoold/pool.conf"
		[ "$app" != nginx ] ||
		    sed -i "s/127.0.0.1:8097/127.0.0.1:$port/" "${example%.conf}.nginx"
		said=$(cd / && here timeout "$LIMIT" sh -c "apppoold -D && {
		    $ask; asked=\$?; apppoolctl stop && exit \$asked; }" 2>&1)
		assertEquals "$name: $said" 0 $?
		assertContains "$name" "$said" "$pong"
	done
}

testEachExampleIsValidInItsFolder() {
	installed_here || return 0
	for example in "$DIR"/prefix/share/doc/apppoold/examples/*.conf; do
		prepared "$example" || continue
		said=$(cd "${example%/*}" &&
		    here unshare -n apppoold -t -c "${example##*/}" 2>&1)
		assertEquals "$said" 0 $?
	done
}

testUninstallRemovesTheInstalledFilesAlone() {
	mkdir -p "$ROOT/usr/local/bin" && : >"$ROOT/usr/local/bin/other"
	install_as uninstall DESTDIR="$ROOT"
	assertEquals ./usr/local/bin/other "$(installed)"
	assertFalse 'no folder of ours is left' \
	    "find '$ROOT' -name '*apppool*' | grep -q ."
}

. tests/e2e/lib.sh
