# shellcheck shell=sh
#
# Functions for the tests of templates; see lib.sh.

file_setup() {
	mkdir -m 1777 "$DIR/marks"
	cp tests/e2e/workers/template.py "$DIR/template.py"
}

# behaving HOW [ARGUMENT]: an app whose first template behaves so, and all later
# ones well; what else it has comes from stdin.
behaving() {
	rm -rf "$DIR/marks/$1"
	{
		echo 'template = true'
		echo 'restart_delay = 10ms'
		cat
	} | server web "$PYTHON" "$DIR/template.py" "$1" "$DIR/marks/$1" "$2"
}

# The number of the template that is ready, or nothing.
template() {
	# shellcheck disable=SC2046 # words
	set -- $(status apps web template state,pid)
	[ "$1" = ready ] && echo "$2"
}

has_template() {
	template >/dev/null
}

# has_another_template THAN
has_another_template() {
	other=$(template) && [ "$other" != "$1" ]
}

# origin PID: the identifier of the process that it is, or is forked from.
origin() {
	tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^APPPOOL_ID=//p'
}

workers() {
	status apps web workers '*' pid | grep '^[0-9]'
}

# come_from TEMPLATE: whether all workers are forked by it, and there are some.
come_from() {
	[ -n "$(workers)" ] || return
	for pid in $(workers); do
		[ "$(origin "$pid")" = "$(origin "$1")" ] || return
	done
}

# Whether all have a number by now.
workers_are() {
	[ "$(workers | wc -l)" -eq "$1" ]
}

# serves_despite HOW TEXT [ARGUMENT]: the app does, the log has the text, and
# new workers come from a better template.
serves_despite() {
	starts "start_timeout = $((2 * SLOW))s kill_timeout = 100ms
	    min_processes = 2 max_processes = 2" behaving "$1" "$3"
	assertNotEquals "$1: $(web)" '' "$(web)"
	assertTrue "$1: the log has $2" "said '$2'"
	await has_template
	for worker in $(workers); do
		kill -KILL "$worker"
	done
	await come_from "$(template)"
	assert_accounts web
}
