#!/bin/sh
# make install puts files where they belong, and uninstall removes these alone.

file_setup() {
	ROOT=$DIR/root
	install_as install DESTDIR="$ROOT" PREFIX=/usr
}

# install_as GOAL [NAME=VALUE...]: make, as a packager calls it.
install_as() {
	make -s "$@" BUILD="$BUILD" BIN="$BIN" BOOTSTRAP=: >"$DIR/out" 2>&1 ||
	    fail "$(cat "$DIR/out")"
}

installed() {
	(cd "$ROOT" && find . ! -type d | sort)
}

testProgramsLibrariesPagesAndUnitsAreInstalled() {
	for file in sbin/apppoold bin/apppoolctl lib/libapppool.a \
	    lib/libapppool.so.1 include/apppool.h lib/pkgconfig/apppool.pc \
	    libexec/apppoold/apppool-stdio libexec/apppoold/apppool-keeper \
	    share/man/man8/apppoold.8 share/man/man5/pool.conf.5 \
	    lib/systemd/system/apppoold.service; do
		assertTrue "$file" "[ -e '$ROOT/usr/$file' ]"
	done
}

testEveryManualPageIsInstalledInItsSection() {
	for page in man/*; do
		assertTrue "$page" "[ -s '$ROOT/usr/share/man/man${page##*.}/\
${page##*/}' ]"
	done
}

testEveryExampleIsInstalled() {
	assertEquals "$(ls etc/examples)" \
	    "$(ls "$ROOT/usr/share/doc/apppoold/examples")"
}

testInstallingTwiceInstallsTheSameFiles() {
	before=$(installed)
	install_as install DESTDIR="$ROOT" PREFIX=/usr
	assertEquals "$before" "$(installed)"
}

testTheInstalledProgramRuns() {
	assertEquals 'apppoold 0.1.0' "$("$ROOT/usr/sbin/apppoold" -V)"
}

testTheInstalledProgramFindsItsAdapters() {
	cat >"$DIR/pool.conf" <<-EOF
	control = ""
	app "web" { listen = "unix:web.sock" command = cat handoff = stdio }
	EOF
	assertEquals "$DIR/pool.conf: no mistakes" \
	    "$("$ROOT/usr/sbin/apppoold" -t -c "$DIR/pool.conf" 2>&1)"
}

testApppoolctlIsALinkToApppoold() {
	assertEquals "$(readlink -f "$ROOT/usr/sbin/apppoold")" \
	    "$(readlink -f "$ROOT/usr/bin/apppoolctl")"
}

testThePathsInManualPagesFollowThePrefix() {
	man=$ROOT/usr/share/man/man7/apppool-handoff.7
	assertEquals '' "$(grep -n /usr/local "$man")"
	assertEquals 2 "$(grep -c 'Pa /usr/libexec/apppoold/' "$man")"
}

# An example that names a path of the sources would be of no use there.
testTheInstalledExamplesStandAlone() {
	assertEquals '' "$(grep -lF '../' "$ROOT"/usr/share/doc/*/examples/*)"
}

testThePathsInUnitsFollowThePrefix() {
	install_as install DESTDIR="$DIR/other" PREFIX=/opt/pool \
	    SYSCONFDIR=/opt/etc
	assertEquals '' "$(grep -rnE '=.*[ =]/(usr|etc)/' \
	    "$DIR/other/opt/pool/lib/systemd")"
	install_as uninstall DESTDIR="$DIR/other" PREFIX=/opt/pool \
	    SYSCONFDIR=/opt/etc
	assertEquals '' "$(find "$DIR/other" ! -type d)"
}

testAWorkerCompilesWithTheInstalledLibrary() {
	sed -n 's/^Libs: *//p; s/^Cflags: *//p' \
	    "$ROOT/usr/lib/pkgconfig/apppool.pc" >"$DIR/flags"
	assertTrue '' "[ -s '$DIR/flags' ]"
	${CC:-cc} -D_GNU_SOURCE -o "$DIR/hello" contrib/workers/hello.c \
	    -I"$ROOT/usr/include" -L"$ROOT/usr/lib" -lapppool
	assertEquals 0 $?
	assertContains "$(readelf -d "$DIR/hello")" 'libapppool.so.1'
}

testUninstallRemovesTheInstalledFilesAlone() {
	mkdir -p "$ROOT/usr/bin" && : >"$ROOT/usr/bin/other"
	install_as uninstall DESTDIR="$ROOT" PREFIX=/usr
	assertEquals ./usr/bin/other "$(installed)"
	assertFalse 'no folder of ours is left' \
	    "find '$ROOT' -name '*apppool*' | grep -q ."
}

# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
