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

# says APP TEXT: its card has that, be it hidden or not; for await.
says() {
	card_text=$(in_card "$1" 'card.textContent') &&
	    case $card_text in *"$2"*) ;; *) false ;; esac
}

# verdict_is TEXT: at the head of the page.
verdict_is() {
	[ "$(page eval "document.getElementById('verdict').textContent")" = "$1" ]
}

# first_card_is APP
first_card_is() {
	[ "$(page eval "document.querySelector('.card').dataset.app")" = "$1" ]
}

# history_of COUNT: makes the page believe that so many steps are known.
history_of() {
	page eval "setHour({ step: 10, steps: 360, elapsed: 5, apps: { web:
	    { processes: Array(Number($1)).fill(2) } } }); hour.length"
}

# marks: the texts below the time axis of web, with commas.
marks() {
	in_card web "[...card.querySelectorAll('.ticks span')]
	    .map(mark => mark.textContent).join()"
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
	await verdict_is 'All 4 apps are well'
	assertContains "$(page eval "document.querySelector('header').textContent")" \
	    'of 64 processes run'
	assertContains "$(page eval "document.querySelector('header').textContent")" \
	    "$DIR/pool.conf"
}

testFiguresStandBesideTheirLimits() {
	await says web '0 of 6 processes busy2 run, at least 2'
	assertTrue 'the queue' 'says web "nobody waitsroom for 5"'
	await says web 'at most 6'
}

testAJobHasNoQueue() {
	assertEquals 1 "$(in_card job "card.querySelectorAll('.facts li').length")"
	await says job '3 of 3 processes run'
	await cells_are 3 job idle
}

testTheAxisHasTimesInTheFirstMinute() {
	await matches '^([0-9][0-9]:[0-9][0-9]:[0-9][0-9],)+now$' marks
	await card_shows true web "/^M/.test(card.querySelector('path.running')
	    .getAttribute('d'))"
	assertContains "$(in_card web "card.querySelector('.chart')
	    .getAttribute('aria-label')")" 'until now: at most 2 processes'
}

# matches PATTERN COMMAND: what it prints.
matches() {
	"$2" | grep -Eq "$1"
}

testTheAxisGrowsUpToAnHour() {
	assertEquals '40 seconds' 60 "$(history_of 4)"
	assertEquals '2 minutes' 125 "$(history_of 13)"
	assertEquals 'a day' 3600 "$(history_of 8640)"
	await matches '^([0-9][0-9]:[0-9][0-9],)+now$' \
	    history_of_an_hour_and_marks
	page eval 'nextHistory = 0' >/dev/null
}

history_of_an_hour_and_marks() {
	page eval "setHour({ step: 10, steps: 360, elapsed: 5, apps: { web:
	    { processes: Array(360).fill(2) } } });
	    drawChart(cards.get('web'), { name: 'web', max_processes: 6 }); 0" \
	    >/dev/null
	marks
}

testAPointOfTheChartTellsItsTimeAndValues() {
	page eval "(() => {
		const ticks = document.querySelector('[data-app=web] .ticks');
		const box = ticks.getBoundingClientRect();
		ticks.parentNode.dispatchEvent(new PointerEvent('pointermove',
		    { bubbles: true, clientX: box.right - 1 }));
	})()" >/dev/null
	assertContains "$(page eval "document.getElementById('tip').textContent
	    .replace(/^now|^[0-9:]{8}, [0-9]+ seconds ago/, 'at: ')")" \
	    'at: 2 processes running'
	page eval 'document.body.click()' >/dev/null
}

# Output of a program is text, whatever it looks like.
testAFailedAppIsFirstAndTellsWhyAndWhatToDo() {
	ask "unix:$DIR/broken.sock" >/dev/null 2>&1
	await first_card_is broken
	await says broken 'exited with status 3 before it was ready: no <b>data'
	assertTrue 'since when' 'says broken "failed at "'
	assertTrue 'what to do' 'says broken "apppoolctl restart broken"'
	assertEquals 0 "$(in_card broken "card.querySelectorAll('.say b').length")"
	assertTrue 'why' 'says broken "1 ended by itself, with an error (failure)"'
	assertTrue 'head' 'verdict_is "1 of 4 apps needs attention: broken"'
	assertEquals '1 of 4 apps needs attention: broken' \
	    "$(page eval document.title)"
}

testAFailedAppShowsItsLastLinesOfOutput() {
	await card_shows 'no <b>database</b>' broken \
	    "card.querySelector('.lines li:last-child bdi').textContent"
	assertEquals 0 "$(in_card web "card.querySelectorAll('.lines').length")"
}

testAStoppedAppTellsHowToStartIt() {
	ctl stop job >/dev/null
	await says job 'has been stopped since'
	assertTrue 'what to do' 'says job "To start it: apppoolctl start job"'
	assertTrue 'no trouble' 'verdict_is "1 of 4 apps needs attention: broken"'
	ctl start job >/dev/null
	await cells_are 3 job idle
}

# ---------------------------------------------------------------- live

testAPoolThatGrowsIsSeenGrowing() {
	await cells_are 2 web
	occupy growth 6
	await cells_are 6 web active
	assertEquals 'none is reloaded' 0 "$(page eval \
	    "performance.getEntriesByType('navigation')[0].type === 'reload'
		? 1 : 0")"
	await says web '6 busy'
	dismiss growth
	await cells_are 6 web idle
}

testAFullQueueTellsWhatIsWrongAndWhatHelps() {
	occupy growth 6
	occupy queue 5
	await says web '5 requests wait'
	web >/dev/null 2>&1
	await says web 'web turned away 1 request in the last minute.'
	assertTrue 'why' 'says web "All 6 processes are busy."'
	assertTrue 'what helps' 'says web "apppoolctl resize web 2 12"'
	await says web '5 requests waiting, the first for'
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
	await says web 'All 6 processes were busy.'
	assertTrue 'later' 'says web "apppoolctl resize web 2 12"'
}

testDetailsOfAProcessComeWithTheMouseOrAClick() {
	page eval "window.cell = document.querySelector('[data-app=web] button');
	    cell.dispatchEvent(new PointerEvent('pointerover',
		{ bubbles: true, pointerType: 'mouse' })); 0" >/dev/null
	assertContains "$(page eval "document.getElementById('tip').textContent")" \
	    "PID$(status apps web workers 0 pid)"
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
	await says web '1 killed by a signal that the daemon had not sent'
	await says web 'web had a failure at'
}

testALostRequestIsToldWithTheCommandForItsOutput() {
	occupy victim
	await cells_are 1 web active
	kill -KILL "$(in_card web \
	    "card.querySelector('button.active').worker.pid")"
	await says web 'lost 1 request in the last 5 minutes'
	assertTrue 'what to do' 'says web "Its output: apppoolctl logs web"'
	dismiss victim
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
		const clear = n => getComputedStyle(n).backgroundColor
		    === 'rgba(0, 0, 0, 0)';
		return Math.floor(Math.min(...['h2.bad', '.say.dim', 'code', 'summary',
		    '.legend span', '.facts span + span', '.lines time'].map(n => {
			const node = document.querySelector('.card ' + n);
			const text = of(node, 'color');
			let behind = node;
			while (clear(behind))
				behind = behind.parentNode;
			const back = of(behind, 'backgroundColor');
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
