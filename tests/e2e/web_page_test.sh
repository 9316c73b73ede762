#!/bin/sh
# The status page in a browser, Debian's Chromium without a screen.
#
# PICTURES: a folder where pictures of the page shall be left.

if ! [ -x "${BUILD:-build}/libexec/apppool-web" ]; then
	echo 'skip web_page: no libmicrohttpd'
	echo '## passed=0 total=0'
	exit 0
elif ! /usr/bin/python3 tests/e2e/browser.py program >/dev/null 2>&1; then
	echo 'skip web_page: no Chromium'
	echo '## passed=0 total=0'
	exit 0
fi

. tests/e2e/web_help.sh

file_setup() {
	choose_url
	{
		app web <<-EOF
		min_processes = 2
		max_processes = 6
		max_queue = 5
		on_full = close
		max_idle_time = 0
		EOF
		app broken --print-error 'no <b>database</b>' --exit-at-once 3 <<-EOF
		start_limit = 1
		min_processes = 0
		EOF
		echo 'app "job" { handoff = none command = { "/bin/sleep", "1000" }
			min_processes = 3 }'
	} | web_conf
	pool_start
	start_process "$PYTHON" tests/e2e/browser.py serve \
	    "$DIR/browser.sock" "$URL/"
	wait_for $((3 * LIMIT)) has_page
}

# A page that is there has its first cards.
has_page() {
	[ "$(page eval "document.readyState === 'complete' &&
	    document.querySelectorAll('.card').length" 2>/dev/null)" = 4 ]
}

# page COMMAND...: see browser.py.
page() {
	"$PYTHON" tests/e2e/browser.py "$DIR/browser.sock" "$@"
}

# in_card APP EXPRESSION: of JavaScript, with its card as `card`.
in_card() {
	page eval "(card => $2)(document.querySelector('[data-app=$1]'))"
}

# card_shows VALUE APP EXPRESSION: for await.
card_shows() {
	[ "$(in_card "$2" "$3")" = "$1" ]
}

# cells_are COUNT APP [CLASS]: so many processes are shown.
cells_are() {
	card_shows "$1" "$2" \
	    "card.querySelectorAll('.cells button${3:+.$3}').length"
}

# tile APP NUMBER: what stands above its chart.
tile() {
	in_card "$1" "card.querySelectorAll('.tile .now')[$2].textContent"
}

# picture NAME: for people.
picture() {
	[ -z "$PICTURES" ] || page shot "$PICTURES/$1.png"
}

# ---------------------------------------------------------------- content

testEachAppHasACard() {
	assertEquals '["status","web","broken","job"]' "$(page eval \
	    "JSON.stringify([...document.querySelectorAll('.card')].map(
		card => card.dataset.app))")"
	assertEquals web "$(in_card web "card.querySelector('h2').textContent")"
}

testTheHeadTellsOfTheDaemon() {
	assertContains "$(page eval "document.querySelector('header').textContent")" \
	    'of 64 processes'
	assertContains "$(page eval "document.querySelector('header').textContent")" \
	    "$DIR/pool.conf"
}

testLimitsStandBesideUse() {
	await card_shows '2 of 6, min 2' web \
	    "card.querySelectorAll('.tile .now')[0].textContent"
	assertEquals '0 of 5' "$(tile web 2)"
}

testAJobHasNoQueue() {
	assertEquals 1 "$(in_card job \
	    "[...card.querySelectorAll('.tile')].filter(t => !t.hidden).length")"
	await cells_are 3 job idle
}

testEachTileHasAChartOfTheLastHour() {
	assertEquals 6 "$(in_card web "card.querySelectorAll('.tile svg').length")"
	# Refusals are not known before the second look.
	await card_shows true web "['Processes', 'Load', 'Waiting'].every((n, i) =>
	    /^M/.test(card.querySelectorAll('.curve')[i].getAttribute('d')))"
	assertContains "$(in_card web \
	    "card.querySelector('svg').getAttribute('aria-label')")" \
	    'Processes, the last hour: at most 2'
}

# Output of a program is text, whatever it looks like.
testAFailedAppTellsWhy() {
	ask "unix:$DIR/broken.sock" >/dev/null 2>&1
	await card_shows failed broken "card.querySelector('.state').textContent"
	await card_shows true broken "card.querySelector('.why').textContent
	    .includes('exited with status 3 before it was ready: no <b>data')"
	assertEquals 0 "$(in_card broken "card.querySelectorAll('.why b').length")"
	await card_shows '1 failure' broken \
	    "card.querySelector('.tags').textContent"
	assertEquals '(1 failed) apppoold' "$(page eval document.title)"
	assertEquals 'failed: broken' "$(page eval \
	    "document.getElementById('failed').textContent")"
}

# ---------------------------------------------------------------- live

testAPoolThatGrowsIsSeenGrowing() {
	await cells_are 2 web
	occupy growth 6
	await cells_are 6 web active
	assertEquals 'none is reloaded' 0 "$(page eval \
	    "performance.getEntriesByType('navigation')[0].type === 'reload'
		? 1 : 0")"
	occupy queue 5
	await card_shows '5 of 5' web \
	    "card.querySelectorAll('.tile .now')[2].textContent"
	web >/dev/null 2>&1
	picture light
	page dark >/dev/null
	picture dark
	page size 360 740 >/dev/null
	picture phone
	page size 0 0 >/dev/null
	page light >/dev/null
	dismiss growth
	dismiss queue
	await cells_are 6 web idle
}

testDetailsOfAProcessComeWithTheMouseAndStayWithAClick() {
	page eval "window.cell = document.querySelector('[data-app=web] button');
	    cell.dispatchEvent(new PointerEvent('pointerover',
		{ bubbles: true, pointerType: 'mouse' })); 0" >/dev/null
	assertContains "$(page eval "document.getElementById('tip').textContent")" \
	    "pid$(status apps web workers 0 pid)"
	page eval "cell.dispatchEvent(new PointerEvent('pointerout',
		{ bubbles: true, pointerType: 'mouse' })); 0" >/dev/null
	assertEquals true "$(page eval "document.getElementById('tip').hidden")"
	page eval 'cell.click(); 0' >/dev/null
	assertEquals false "$(page eval "document.getElementById('tip').hidden")"
	page eval 'document.body.click(); 0' >/dev/null
	assertEquals true "$(page eval "document.getElementById('tip').hidden")"
}

testAKilledProcessIsSeenWithItsReason() {
	pid=$(status apps web workers 0 pid)
	kill -KILL "$pid"
	await card_shows true web "card.querySelector('.tags').textContent
	    .includes('1 signal')"
}

# ---------------------------------------------------------------- screens

# assert_fits WIDTH: nothing is wider than the window.
assert_fits() {
	page size "$1" 740 >/dev/null
	assertTrue "$1" "[ '$(page eval 'document.scrollingElement.scrollWidth')' \
	    -le '$1' ]"
	page size 0 0 >/dev/null
}

testThePageFitsAPhoneAndAWideScreen() {
	assert_fits 320
	assert_fits 390
	assert_fits 2000
}

# contrast: of the text to the page, as WCAG 2 computes it.
contrast() {
	page eval "(() => {
		const lum = c => c.match(/[0-9.]+/g).slice(0, 3).map(v => v / 255)
		    .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
		    .reduce((a, v, i) => a + v * [.2126, .7152, .0722][i], 0);
		const of = (n, p) => lum(getComputedStyle(n)[p]);
		const card = of(document.querySelector('.card'), 'backgroundColor');
		return Math.floor(Math.min(...['h2', '.dim', '.tile .label', '.why',
		    '.state.running', '.tag.bad'].map(n => {
			const node = document.querySelector('.card ' + n);
			const own = getComputedStyle(node).backgroundColor;
			const text = of(node, 'color');
			const back = own === 'rgba(0, 0, 0, 0)' ? card : lum(own);
			return (Math.max(text, back) + .05)
			    / (Math.min(text, back) + .05);
		})) * 10);
	})()"
}

testTextCanBeReadInLightAndInDark() {
	for colours in dark light; do
		page $colours >/dev/null
		ratio=$(contrast)
		assertTrue "$colours: $ratio" "[ '$ratio' -ge 45 ]"
	done
	page light >/dev/null
}

# ---------------------------------------------------------------- manners

testTheConsoleHasNoErrors() {
	assertEquals '' "$(page errors)"
}

testNoOtherHostIsAsked() {
	assertEquals "127.0.0.1:$WEB_PORT" "$(page hosts)"
}

# Last, as the console has errors from here on.
testAPageWithoutADaemonSaysSoAndComesBack() {
	before=$(page eval "document.getElementById('note').hidden")
	assertEquals true "$before"
	mv "$DIR/control.sock" "$DIR/away.sock"
	await shows_note "control.sock: No such file"
	picture no-daemon
	mv "$DIR/away.sock" "$DIR/control.sock"
	await shows_no_note
}

shows_note() {
	page eval "document.getElementById('note').textContent" | grep -q "$1"
}

shows_no_note() {
	[ "$(page eval "document.getElementById('note').hidden")" = true ]
}

. tests/e2e/lib.sh
