# shellcheck shell=sh
# A daemon whose program on disk a test may replace.

# The program on disk, which a test may replace, and beside it what it starts.
file_setup() {
	mkdir "$DIR/bin"
	restore_program
	mkdir "$DIR/bin/libexec"
	cp "$BUILD"/libexec/apppool-* "$DIR/bin/libexec/"
	cp "$BUILD/tests/e2e/workers/parker" "$DIR"
}

restore_program() {
	cp "$BIN/apppoold" "$DIR/bin/apppoold.new"
	mv "$DIR/bin/apppoold.new" "$DIR/bin/apppoold"
}

# replace_program: by the text on standard input.
replace_program() {
	cat >"$DIR/bin/apppoold.new"
	chmod +x "$DIR/bin/apppoold.new"
	mv "$DIR/bin/apppoold.new" "$DIR/bin/apppoold"
}

# upgradable [OPTION...]: the daemon, as pool_start.
upgradable() {
	restore_program
	APPPOOLD=$DIR/bin/apppoold pool_start "$@"
}

upgrade() {
	ctl upgrade >"$DIR/upgrade" 2>&1
}

assert_upgraded() {
	assertTrue "$(cat "$DIR/upgrade")" "grep -qE \
	    '^upgraded from .* to .*, with a pause of [0-9.]+ ms$' '$DIR/upgrade'"
	assertTrue "the pid" "[ '$(status pid)' -eq '$POOL' ]"
}
