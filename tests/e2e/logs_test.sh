#!/bin/sh
# What processes have printed, as `apppoolctl logs` shows it.

# prints APP LINES [OPTION...]: a job whose process runs these lines of a shell
# and stays; options stand in a line each.
prints() {
	prints_app=$1
	printf '%s\nexec sleep 600\n' "$2" >"$DIR/$1.sh"
	shift 2
	printf '%s\n' 'handoff = none' "$@" | job "$prints_app" /bin/sh "$DIR/$prints_app.sh"
}

# fails APP LINES: the same, but its process ends with status 3.
fails() {
	printf '%s\nexit 3\n' "$2" >"$DIR/$1.sh"
	printf '%s\n' 'handoff = none' 'start_limit = 1' |
	    job "$1" /bin/sh "$DIR/$1.sh"
}

# lines [OPTION...]: without times, and identifiers of processes.
lines() {
	ctl logs "$@" | sed -E 's/^[^ ]* //; s,/[a-z0-9]{8}:,/ID:,'
}

# has_lines COUNT [OPTION...]: whether there are so many.
has_lines() {
	has_count=$1
	shift
	[ "$(lines "$@" | wc -l)" -eq "$has_count" ]
}

# has_line TEXT [OPTION...]: whether a line ends so.
has_line() {
	has_text=$1
	shift
	ctl logs -n 100000 "$@" 2>/dev/null | grep -q -e "$has_text\$"
}

# has_left ID: whether no worker of web is called so.
has_left() {
	! status apps web workers '*' id | grep -q "$1"
}

testLinesOfAnAppHaveTimeProcessAndStream() {
	{
		prints web 'echo one; echo two >&2'
		prints shop 'echo three'
	} | conf
	pool_run
	await has_line two
	await has_line three
	await has_line one
	assertEquals 'stderr   web/ID: two
stdout   web/ID: one' "$(lines web | sort)"
	assertEquals 3 "$(lines | wc -l)"
	assertContains "$(ctl logs shop)" \
	    "Z stdout   shop/$(status apps shop workers 0 id): three"
	assertContains "$(ctl logs shop)" "$(date -u +%Y-%m-%dT)"
}

testTheNewestLinesAreShown() {
	prints web 'seq 1 30' | conf
	pool_run
	await has_line 30
	assertEquals 20 "$(lines | wc -l)"
	assertEquals 'stdout   web/ID: 29
stdout   web/ID: 30' "$(lines -n 2 web)"
	assertEquals 'no lines' "$(ctl logs -n 0)"
}

testLinesOfAProcessAreFoundWhenItIsGone() {
	starts 'min_processes = 2 max_processes = 2' app web --print 'begun\n'
	await has_lines 2 web
	id=$(status apps web workers 0 id)
	ctl restart "$id" >/dev/null
	await has_left "$id"
	assertEquals 'stdout   web/ID: begun' "$(lines "$id")"
	assertEquals 'apppoolctl: no app or worker nobody' \
	    "$(ctl logs nobody 2>&1)"
	ctl logs nobody 2>/dev/null
	assertEquals 1 $?
}

testAnAppThatPrintsWithoutEndPushesOutNoLinesOfOthers() {
	{
		prints quiet 'echo hello'
		prints web 'seq 1 100000; echo over'
	} | conf
	pool_run
	await has_line over web
	await has_line hello quiet
	assertEquals 'stdout   quiet/ID: hello' "$(lines quiet)"
	assertFalse 'the first line of web is still there' 'has_line " 1" web'
	assertContains "$(ctl events -n 100)" 'quiet: worker'
}

testAFollowerSeesLinesAsTheyComeUntilTheDaemonEnds() {
	prints web 'echo first
	while ! [ -e "'"$DIR"'/go" ]; do sleep 0.01; done
	echo second' | conf
	pool_run
	await has_line first
	start_process "$APPPOOLCTL" -s "$DIR/control.sock" logs -f web \
	    >"$DIR/followed" 2>"$DIR/follow.err"
	follower=$STARTED
	await grep -q 'first$' "$DIR/followed"
	: >"$DIR/go"
	await grep -q 'second$' "$DIR/followed"
	pool_stop
	finish "$follower"
	assertEquals 1 "$RC"
	assertEquals 'apppoolctl: the daemon has stopped' \
	    "$(cat "$DIR/follow.err")"
	assertEquals 2 "$(wc -l <"$DIR/followed")"
}

# A client that stops reading, while 200,000 lines come.
testAFollowerThatIsTooSlowLearnsHowManyLinesItHasMissed() {
	prints web 'echo begun
	while ! [ -e "'"$DIR"'/go2" ]; do sleep 0.01; done
	seq 2 200000' | conf
	pool_run
	start_process "$APPPOOLCTL" -s "$DIR/control.sock" logs -f \
	    >"$DIR/followed"
	await grep -q 'begun$' "$DIR/followed"
	pause_process "$STARTED"
	: >"$DIR/go2"
	wait_for $((6 * LIMIT)) has_line 200000 || fail 'not all was printed'
	kill -CONT "$STARTED"
	await grep -q ' 200000$' "$DIR/followed"
	assertTrue 'nothing was lost' "grep -q ' lines lost: ' '$DIR/followed'"
	assertEquals 200000 "$(awk '
	    / lines lost: / { n += $1; next }
	    NF > 1 { n++ }
	    END { print n }' "$DIR/followed")"
}

testWhereOutputGoesElsewhereThatIsSaid() {
	{
		prints web 'echo one' "output = \"$DIR/web.log\""
		prints none 'echo one' 'output = null'
		prints same 'echo one' 'output = inherit'
	} | conf
	pool_run
	assertEquals "apppoolctl: web: output = $DIR/web.log: look there" \
	    "$(ctl logs web 2>&1)"
	ctl logs -f web 2>/dev/null
	assertEquals 1 $?
	assertContains "$(ctl logs none 2>&1)" 'none: output = null: '
	assertContains "$(ctl logs same 2>&1)" 'same: output = inherit: '
	assertEquals "web: output = $DIR/web.log: look there" \
	    "$(ctl logs | head -n 1)"
}

testOldLinesOfAnAppWhoseOutputHasMovedAreToldAsSuch() {
	prints web 'echo one' | conf
	pool_run
	await has_line one
	prints web 'echo two' "output = \"$DIR/web.log\"" | conf
	ctl reload >/dev/null
	assertEquals "web: output = $DIR/web.log: look there" \
	    "$(ctl logs web | head -n 1)"
	assertContains "$(ctl logs web | tail -n 1)" ': one'
	assertContains "$(ctl -j logs web | head -n 1)" '"line":"one"'
}

testBytesThatATerminalObeysAreHarmless() {
	prints web "printf 'a\\033[31m\\000b\\377\"\\n'" | conf
	pool_run
	await has_line 'b\\xff"'
	assertEquals 'stdout   web/ID: a\x1b[31m\x00b\xff"' "$(lines)"
	assertEquals "a$(printf '\033')[31m|b$(printf '\357\277\275')\" stdout web" \
	    "$(ctl -j logs | "$PYTHON" -c '
import json, sys
line = json.loads(sys.stdin.readline())
print(line["line"].replace("\0", "|"), line["stream"], line["app"])')"
}

testALongLineIsCut() {
	prints web 'head -c 5000 /dev/zero | tr "\\0" x; echo; echo next' | conf
	pool_run
	await has_line next
	assertEquals $((1024 + 18)) "$(lines | head -n 1 | wc -m)"
}

testTheStatusOfAFailedAppEndsWithItsLastLines() {
	{
		fails bad 'echo starting; seq 1 11 >&2; echo "no database" >&2'
		prints web 'echo one'
	} | conf
	pool_run
	await status_is failed apps bad state
	ctl status bad >"$DIR/shown"
	assertEquals 10 "$(grep -cE '^  [^ ]*Z std(out|err) [a-z0-9]{8}: ' \
	    "$DIR/shown")"
	assertEquals 10 "$(tail -n 10 "$DIR/shown" | grep -c ': ')"
	assertTrue 'the reason is there' \
	    "tail -n 10 '$DIR/shown' | grep -q ' stderr .*: no database'"
	assertTrue 'since when' "grep -qE \
	    '^  failed since [0-9-]*T[0-9:]*Z \([0-9.]*m?s ago\)' '$DIR/shown'"
	assertEquals 10 "$(status apps bad last_output '*' line | wc -l)"
	assertEquals null "$(status apps web last_output)"
	await has_line one web
	await status_is running apps web state
	assertEquals one "$(ctl -j status web | "$PYTHON" -c '
import json, sys
app, = json.load(sys.stdin)["apps"]
print(app["last_output"][0]["line"])
assert app["state_for"] <= app["workers"][0]["age"]')"
}

testTheStatusShowsTheLastLinesAfterTheFirstFailedStart() {
	conf <<-'EOF'
	app "bad" {
		handoff = none
		command = { sh, -c, 'echo "no database" >&2; exit 3' }
		restart_delay = 1h
	}
	EOF
	pool_run
	await status_is 1 apps bad spawn_failures
	assertEquals starting "$(status apps bad state)"
	assertContains "$(ctl status bad | tail -n 1)" ': no database'
}

. tests/e2e/lib.sh
