#!/bin/sh
# Missing packages, as make names and installs them, on machines that have each
# file that proves one, but hardly a program.

file_setup() {
	mkdir "$DIR/contrib" "$DIR/bin"
	sed '/^needs=/,/^.$/s,  */[^ ]*, /,' contrib/bootstrap \
	    >"$DIR/contrib/bootstrap"
	printf '#!/bin/sh\n' >"$DIR/contrib/peers"
	# Our apt-get talks, and knows all packages but those in the file unknown.
	cat >"$DIR/apt-get" <<-END
	#!/bin/sh
	echo 'Reading package lists...'
	case " \$* " in *' install '*) ;; *) exit 0 ;; esac
	for package; do
		! grep -qsx -e "\$package" "$DIR/unknown" || exit 100
	done
	for package; do
		sed -n "s/^[a-z-]*  *\([^ /|]*\).* \$package$/\1/p" contrib/bootstrap
	done | while read -r program; do
		cp /bin/true "$DIR/bin/\$program"
	done
	END
	chmod 755 "$DIR"/contrib/* "$DIR/apt-get"
}

# machine UID: that of a user, whom sudo, if it is there, asks no password.
machine() {
	rm -rf "${DIR:?}/bin" "$DIR/build" "$DIR/unknown"
	mkdir "$DIR/bin"
	for tool in sh cp env grep mkdir sed sort tr; do
		ln -s "$(command -v $tool)" "$DIR/bin/$tool"
	done
	printf '#!/bin/sh\necho %s\n' "$1" >"$DIR/bin/id"
	cp "$DIR/apt-get" /bin/true "$DIR/bin"
	chmod 755 "$DIR/bin/id"
}

with_sudo() {
	printf '#!/bin/sh\nshift\nexec "$@"\n' >"$DIR/bin/sudo"
	chmod 755 "$DIR/bin/sudo"
}

# bootstrap PURPOSE...: what it says is in $SAID.
bootstrap() {
	SAID=$(cd "$DIR" && PATH=$DIR/bin contrib/bootstrap "$@" 2>&1)
	RC=$?
}

testWithoutRightsOneLineToPasteServesRunAndCheck() {
	machine 1000
	bootstrap build run
	assertEquals 69 "$RC"
	assertEquals "su -c 'apt-get update && apt-get install -y \
--no-install-recommends curl gunicorn libfcgi-bin mandoc musl-tools nodejs \
php-cgi procps strace wrk zsh'" "$SAID"
	for_run=$SAID
	bootstrap build check
	assertEquals 69 "$RC"
	assertEquals "$for_run" "$SAID"
}

testWithRightsOneLineSaysWhatIsInstalled() {
	for user in 0 1000; do
		machine $user
		[ $user -eq 0 ] || with_sudo
		bootstrap build run
		assertEquals "0 installing curl" "$RC $SAID"
		bootstrap build check
		assertEquals "0 installing gunicorn libfcgi-bin mandoc musl-tools \
nodejs php-cgi procps strace wrk zsh" "$RC $SAID"
		bootstrap build check
		assertEquals "0 " "$RC $SAID"
	done
}

testAptIsHeardWhereItFails() {
	machine 0
	echo mandoc >"$DIR/unknown"
	bootstrap build check
	assertEquals 69 "$RC"
	assertContains "$SAID" 'Reading package lists'
	assertContains "$(echo "$SAID" | tail -n 1)" 'apt-get install -y'
}

testWhatTestsCanDoWithoutIsAskedForOnce() {
	machine 0
	echo wrk >"$DIR/unknown"
	bootstrap build check
	assertEquals 0 "$RC"
	assertNotContains "$SAID" 'Reading package lists'
	assertEquals "note: tests are skipped without gunicorn musl-tools nodejs \
strace wrk zsh" "$(echo "$SAID" | tail -n 1)"
	bootstrap build check
	assertEquals "0 " "$RC $SAID"
}

testAnUnknownPurposeIsAMistakeOfUsage() {
	machine 0
	bootstrap build nonsense
	assertEquals 64 "$RC"
	assertContains "$SAID" 'usage: contrib/bootstrap'
}

. tests/e2e/lib.sh
