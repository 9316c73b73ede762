/*
 * The status of a daemon for people: a table of its apps, fitted to a width,
 * and everything about some of them, limits beside use.
 */

#include <sys/ioctl.h>
#include <sys/param.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "sim/simulate.h"
#include "sys/loop.h"
#include "sys/number.h"

/* Bytes of the longest text of a member, or of a cell of the table. */
#define TEXT_MAX 8192

/* A longer name is cut, for there is more to see; below 100 columns, to 16. */
#define NAME_WIDTH 24
#define NAME_WIDTH_NARROW 16

/* --- members of an answer ------------------------------------------------ */

/*
 * The member of this path, which ends with ":", "}" or a NUL: KEY, KEY.KEY of
 * an object in it, or of PATH|PATH the first that is not null.
 */
static const json_t *
form_member(const json_t *object, const char *path)
{
	const json_t *at = object;
	char key[64];

	for (;;) {
		size_t len = strcspn(path, ".|:}");

		(void)snprintf(key, sizeof(key), "%.*s", (int)len, path);
		at = json_object_get(at, key);
		path += len;
		if (*path == '|' && (at == NULL || json_is_null(at)))
			at = object;
		else if (*path != '.')
			return at;
		path++;
	}
}

/* NaN: the member is no number. */
static double
form_number(const json_t *object, const char *path)
{
	const json_t *n = form_member(object, path);

	return json_is_number(n) ? json_number_value(n) : NAN;
}

const char *
form_string(const json_t *object, const char *path)
{
	return json_string_value(form_member(object, path));
}

static size_t
form_width(const struct text *t)
{
	size_t width = 0, n;

	for (size_t i = 0; i < t->len; i += n == 0 ? 1 : n, width++)
		n = text_char_length(t->data + i, t->len - i);
	return width;
}

/* Puts a text into so many columns; a longer one goes on, or "+" cuts it. */
static void
form_pad(
    struct text *out, const struct text *t, size_t width, bool left, bool cut)
{
	const size_t is = form_width(t);
	size_t at = 0;

	cut = cut && is > width;
	for (size_t i = 0; i + 1 < width && cut; i++)
		at += text_char_length(t->data + at, t->len - at);
	for (size_t i = is; i < width && !left; i++)
		text_put(out, " ", 1);
	text_put(out, t->data, cut ? at : t->len);
	text_puts(out, cut ? "+" : "");
	for (size_t i = is; i < width && left; i++)
		text_put(out, " ", 1);
}

/* Bytes: "512", "64.0K", "1.5G". */
static void
form_put_size(struct text *t, double n)
{
	const char *unit = "";

	for (const char *next = "KMGTPE"; n >= 1024 && *next != '\0'; next++) {
		n /= 1024;
		unit = next;
	}
	text_printf(t, "%.*f%.1s", *unit != '\0', n, unit);
}

/* "exited with status 3 before it was ready: gone" is "exit 3: gone". */
static void
put_short(struct text *cell, const char *s)
{
	static const struct {
		const char *words;
		const char
		    *instead; /* NULL: a hint follows, which is left out */
	} shorter[] = {
		{ "exited with status ", "exit " },
		{ "killed by signal ", "signal " },
		{ " before it was ready", "" },
		{ "; ", NULL },
	};
	const size_t len = sizeof(shorter) / sizeof(shorter[0]);

	while (*s != '\0') {
		size_t i = 0;

		while (i < len &&
		    strncmp(s, shorter[i].words, strlen(shorter[i].words)) != 0)
			i++;
		if (i == len) {
			size_t n = text_char_length(s, strlen(s));

			n = n == 0 ? 1 : n;
			text_escaped(cell, s, n);
			s += n;
			continue;
		}
		if (shorter[i].instead == NULL)
			return;
		text_puts(cell, shorter[i].instead);
		s += strlen(shorter[i].words);
	}
}

/* Puts a member, as what stands behind the colon wants it. */
static void
form_put_member(struct text *out, const json_t *value, const char *how)
{
	const bool left = *how == '-';
	char *type = NULL;
	size_t width = strtoul(how + left, &type, 10), i;
	double n = json_number_value(value);
	const char *key;
	char date[32] = "";
	json_t *member;
	struct tm tm = { 0 };
	struct text t;
	time_t at;

	text_init(&t, TEXT_MAX);
	if (json_is_object(value)) {
		json_object_foreach((json_t *)value, key, member)
		{
			text_printf(&t, "%s%s %.0f", t.len == 0 ? "" : ", ",
			    key, json_number_value(member));
		}
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, member)
		{
			text_puts(&t, i == 0 ? "" : ", ");
			if (json_is_string(member))
				text_escaped(&t, json_string_value(member),
				    json_string_length(member));
		}
	} else if (json_is_string(value) && *type == 's') {
		put_short(&t, json_string_value(value));
	} else if (json_is_string(value)) {
		text_escaped(
		    &t, json_string_value(value), json_string_length(value));
	} else if (!json_is_number(value)) {
		text_puts(&t, width > 0 ? "-" : "");
	} else if (*type == 't') {
		text_puts(&t, words_span((tspan)(n * 1e9)).text);
	} else if (*type == 'a') {
		at = time(NULL) - (time_t)n;
		(void)gmtime_r(&at, &tm);
		(void)strftime(date, sizeof(date), "%FT%TZ", &tm);
		text_puts(&t, date);
	} else if (*type == 'b') {
		form_put_size(&t, trunc(n));
	} else if (*type == 'd' || (*type == 'r' && n > 0 && n < 100)) {
		text_printf(&t, "%.1f", n);
	} else {
		text_printf(&t, "%.*f", *type == 'f' ? 2 : 0, n);
	}
	form_pad(out, &t, width, left, false);
	text_fini(&t);
}

/* Whether what is in brackets behind such a member is put. */
static bool
form_holds(const json_t *object, const char *member)
{
	const bool null = *member == '-' || *member == '+';
	const json_t *v =
	    form_member(object, member + (null || *member == '?'));

	if (v == NULL || json_is_null(v))
		return *member == '-';
	return null ? *member == '+'
		    : !json_is_false(v) &&
		(!json_is_number(v) || json_number_value(v) > 0) &&
		(!json_is_array(v) || json_array_size(v) > 0) &&
		(!json_is_object(v) || json_object_size(v) > 0);
}

/*
 * Puts a text in which {PATH} stands for the member: strings are escaped, those
 * of an array, and an object's numbers with their keys, with commas between;
 * numbers are whole. Behind a colon may stand a width, after a "-" if the text
 * is to be left of its blanks, where null is "-"; then t for a time, a for the
 * date that long ago, b for bytes, d or f for one or two decimals, r for one
 * under 100, s for a failure in short.
 * What is in brackets, others in them too, is left out if its first member is
 * null, false, 0 or empty. {?PATH} is such a member that is not shown; {+PATH}
 * one that is not null, {-PATH} one that is.
 */
static void
form_put(struct text *out, const json_t *object, const char *form)
{
	while (*form != '\0') {
		size_t len = strcspn(form, "{[]");

		text_put(out, form, len);
		form += len;
		if (*form == '{') {
			const char *how = form + strcspn(form, ":}");

			if (strchr("?+-", form[1]) == NULL)
				form_put_member(out,
				    form_member(object, form + 1),
				    how + (*how == ':'));
			form = strchr(how, '}') + 1;
		} else if (*form == '[' &&
		    !form_holds(object, strchr(form, '{') + 1)) {
			int depth = 0;

			do
				depth += (*form == '[') - (*form == ']');
			while (*form++ != ']' || depth > 0);
		} else if (*form != '\0') {
			form++;
		}
	}
}

/* --- everything ----------------------------------------------------------- */

/* Keepers that do not answer, the cgroup, the template. */
static void
put_parts(struct text *out, json_t *app)
{
	json_t *value;
	size_t i;

	json_array_foreach(json_object_get(app, "keepers"), i,
	    value) if (!json_is_true(json_object_get(value, "answers")))
	    form_put(out, value,
		"  keeper (pid {pid}) does not answer: another "
		"takes over\n");
	form_put(out, app,
	    "[{+cgroup}  cgroup: cpu {cgroup.cpu:t}[, memory "
	    "{cgroup.memory:b}][ (peak {cgroup.memory_peak:b})][, "
	    "{cgroup.tasks} tasks][, {cgroup.oom_kills} killed for want of "
	    "memory][{+cgroup.cpu_pressure}\n    waited of 10 s: cpu "
	    "{cgroup.cpu_pressure} %, memory {cgroup.memory_pressure} %, io "
	    "{cgroup.io_pressure} %]\n]"
	    "[{+template}  template {template.state}[, pid {template.pid}][, "
	    "age {template.age:t}][, RSS {template.rss:b}]; forked "
	    "{template.forked}, failures {template.failures}\n"
	    "[  its last failure: {template.last_failure}\n]]");
}

static void
put_app(struct text *out, json_t *app)
{
	const double of = form_number(app, "rollout.of");
	size_t before;

	form_put(out, app,
	    "\n{name}: {state}, {handoff}[ by {accept_by}][, {listen}][, next "
	    "start in {backoff_until:t}]\n"
	    "[{+state_for}  {state} since {state_for:a} ({state_for:t} ago)\n]"
	    "[  close_delay: accepts clients for another {closing_in:t}\n]"
	    "[{?sockets_restored}  socket files put back: {sockets_restored}\n]"
	    "  processes {processes}/{max_processes} (min {min_processes}): "
	    "{starting} starting, [{+sessions}{idle} idle, {active} active]"
	    "[{-sessions}{idle} ready]; {retiring} retiring, {stopping} "
	    "stopping[, {detached} detached][, {stuck} stuck]\n");

	/* Load, a rollout and a size of its own: a line of what there is. */
	before = out->len;
	form_put(out, app,
	    "[{+load}; load {load} %]"
	    "[{+rollout.reason}; generation {rollout.generation} given up]");
	if (form_string(app, "rollout.reason") == NULL && !isnan(of))
		text_printf(out, "; generation %.0f replaces %.0f",
		    form_number(app, "rollout.generation"),
		    of - form_number(app, "rollout.done"));
	form_put(out, app,
	    "[{+rollout.canary}; canary {rollout.canary}, "
	    "{rollout.canary_left:t} left]"
	    "[{?rolled_back}; rolled back until the next reload]"
	    "[{?resized}; resized, the file says {file_min_processes} to "
	    "{file_max_processes}]");
	if (out->len > before && !out->failed) {
		memcpy(out->data + before, "  ", 2);
		text_puts(out, "\n");
	}

	form_put(out, app,
	    "[{+auto}  max_processes auto: [{-auto.goal}nothing measured yet]"
	    "[{+auto.goal}at most {auto.goal} = least of memory "
	    "{auto.by_memory} = ({auto.memory:b} - {auto.reserve:b} reserve - "
	    "{auto.others:b} others) / {auto.process_memory:b}"
	    "[{+auto.by_processors}, processors {auto.by_processors} = 1.5 * "
	    "{auto.processors:d} / {auto.process_share:f}], bound "
	    "{auto.bound}]\n]"
	    "[{+sessions}  waiting {waiting}/{max_queue}"
	    "[{?waiting} (oldest {oldest_wait:t})], most {max_waiting}"
	    "[{+backlog}, backlog {backlog}][, parked {parked}], sessions "
	    "{sessions}[, prefetch {prefetch}]; idle while waiting "
	    "{idle_while_waiting:t}\n"
	    "  connections {accepted} accepted, {completed} completed, {lost} "
	    "lost; {retaken} retaken\n"
	    "  not served: {refused} refused, {timed_out} timed out, "
	    "{abandoned} abandoned\n"
	    "[{+rate}  last minute: {rate:d}/s; wait p50 {queue_wait.p50:t}, "
	    "p90 {queue_wait.p90:t}, p99 {queue_wait.p99:t}, max "
	    "{queue_wait.max:t}\n"
	    "    session p50 {session_time.p50:t}, p90 {session_time.p90:t}, "
	    "p99 {session_time.p99:t}, max {session_time.max:t}\n]"
	    "[{?target_wait}  promise: {target_wait:t}[{+kept}, kept for "
	    "{kept:d} %][; need {need}]\n]"
	    "[{-target_wait}[  need {need}\n]]]"
	    "[{-sessions}[{+backlog}  waiting {backlog}, all in the "
	    "backlog\n]]"
	    "  spawned {spawned}, failed starts {spawn_failures}[, a start "
	    "takes {start_time:t}][; ended: {exits}]\n"
	    "[{+last_failure}  last failure[ {last_failure_age:t} ago]: "
	    "{last_failure}\n]"
	    "[{+rollout.reason}  given up[ {rollout.age:t} ago]: "
	    "{rollout.reason}\n]");
	put_parts(out, app);
}

void
details_put(const json_t *status, struct text *out)
{
	const char *state = form_string(status, "state");
	json_t *app, *worker, *line, *without = NULL;
	size_t i, j;

	form_put(out, status, "apppoold {version}, pid {pid}, up {uptime:t}");
	if (state != NULL && strcmp(state, "running") != 0)
		form_put(out, status, ", {state}");
	form_put(out, status,
	    ", {config} (generation {generation})\n"
	    "processes {processes}/{max_processes}, active {active}, waiting "
	    "{waiting}\n"
	    "[{+auto}  max_processes auto: [{-auto.goal}nothing measured yet]"
	    "[{+auto.goal}at most {auto.goal} = least of memory "
	    "{auto.by_memory} = {living} + {auto.left:b} left of "
	    "{auto.memory:b} / {auto.process_memory:b}, bound {auto.bound}]\n]"
	    "[{+counter}\ncounter:[ {counter.listen}]\n"
	    "  clients {counter.clients}/{counter.max_clients}, keys "
	    "{counter.keys}/{counter.max_keys}, locks held "
	    "{counter.processing}, waiting {counter.waiting}\n"
	    "  locks {counter.total_acquired} taken, "
	    "{counter.processed_count} ended; {counter.full_queues} found "
	    "the queue full\n]");
	if (form_number(status, "counter.refused_clients") > 0 ||
	    form_number(status, "counter.refused_keys") > 0)
		form_put(out, status,
		    "  turned away {counter.refused_clients} clients, "
		    "{counter.refused_keys} keys\n");
	json_array_foreach(json_object_get(status, "apps"), i, app)
	{
		const json_t *workers = json_object_get(app, "workers");

		put_app(out, app);
		if (form_string(app, "backlog_unknown") != NULL)
			without = app;
		if (json_array_size(workers) > 0)
			text_puts(out,
			    "  ID          PID SLOT STATE    SESS  SERVED    "
			    "AGE    FOR    RSS    CPU STATUS\n");
		json_array_foreach(workers, j, worker)
		{
			state = form_string(worker, "state");
			/* Without known sessions, idle is called ready. */
			if (state != NULL && strcmp(state, "idle") == 0 &&
			    isnan(form_number(worker, "sessions")))
				(void)json_object_set_new(
				    worker, "state", json_string("ready"));
			form_put(out, worker,
			    "  {id:-8} {pid:6} {slot:4} {state:-8} "
			    "{sessions:4} {requests:7} {age:6t} "
			    "{busy_for|idle_for:6t} {rss:6b} {cpu:6t}"
			    "[ {status}][ \"{request}\"]\n");
		}
		if (form_string(app, "last_failure") == NULL)
			continue;
		json_array_foreach(json_object_get(app, "last_output"), j, line)
		{
			form_put(
			    out, line, "  {time} {stream:-6} {id}: {line}\n");
		}
	}
	if (without != NULL)
		form_put(
		    out, without, "\nbacklog unknown: {backlog_unknown}\n");
}

/* --- the table ----------------------------------------------------------- */

/* Figures stand to the right, and rows are sorted by the first of a column. */
static const struct {
	const char *heading;
	const char *form; /* of its text */
	bool left; /* its text is none of figures */
} columns[COLUMNS_ALL] = {
	[COLUMN_APP] = { "APP", "{name}", true },
	[COLUMN_STATE] = { "STATE", "{state}", true },
	[COLUMN_PROCESSES] = { "PROCS", "{processes:1}/{max_processes:1}",
	    false },
	/* Without sessions no process is ever active. */
	[COLUMN_ACTIVE] = { "ACTIVE", "[{+sessions}{active:1}][{-sessions}-]",
	    false },
	[COLUMN_WAITING] = { "WAIT", "{waiting:1}", false },
	[COLUMN_OLDEST] = { "OLDEST", "{oldest_wait:1t}", false },
	[COLUMN_RATE] = { "RATE", "{rate:1r}", false },
	[COLUMN_P99] = { "P99", "{queue_wait.p99:1t}", false },
	[COLUMN_REFUSED] = { "REFUSED", "{refused:1}", false },
	[COLUMN_FAILURE] = { "LAST FAILURE",
	    "[{+rollout.reason}generation {rollout.generation} given up: ]"
	    "{rollout.reason|last_failure:s}[{+rollout.reason|last_failure}"
	    "[ ({rollout.age|last_failure_age:t} ago)]]"
	    "[{?backoff_until}[{+rollout.reason|last_failure}; ]next start in "
	    "{backoff_until:t}]",
	    true },
};

/* Makes the text of an app in a column; app NULL: of the headings. */
static void
make_cell(struct text *cell, const json_t *app, enum column column)
{
	text_clear(cell);
	if (app == NULL)
		text_puts(cell, columns[column].heading);
	else
		form_put(cell, app, columns[column].form);
}

/* The figure that rows are sorted by, the largest first; NaN: there is none. */
static double
weight_of(const json_t *app, enum column by)
{
	const char *state = form_string(app, "state");

	if (by == COLUMN_FAILURE)
		return form_string(app, "last_failure") != NULL;
	if (by == COLUMNS_ALL || by == COLUMN_APP)
		return 0;
	if (by == COLUMN_ACTIVE)
		return isnan(form_number(app, "sessions"))
		    ? NAN
		    : form_number(app, "active");
	if (by != COLUMN_STATE)
		return form_number(app, columns[by].form + 1);
	if (state == NULL || strcmp(state, "running") == 0)
		return 0;
	return strcmp(state, "failed") == 0 ? 2 : 1;
}

static int
compare_rows(const void *one, const void *other)
{
	const struct table_row *a = one, *b = other;

	/* Apps without the figure come last. */
	if (isnan(a->weight) != isnan(b->weight))
		return isnan(a->weight) ? 1 : -1;
	if (!isnan(a->weight) && a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->name == NULL ? 0 : strcmp(a->name, b->name);
}

bool
table_init(struct table *t, json_t *status, enum column by)
{
	const json_t *apps = json_object_get(status, "apps");

	*t = (struct table){ .status = status, .nrows = json_array_size(apps) };
	text_init(&t->cell, TEXT_MAX);
	t->rows = calloc(t->nrows + 1, sizeof(*t->rows));
	if (t->rows == NULL || !json_is_array(apps))
		goto fail;
	for (size_t row = 0; row < t->nrows; row++) {
		const json_t *app = json_array_get(apps, row);
		const char *name = form_string(app, "name");

		if (name == NULL)
			goto fail;
		t->rows[row] = (struct table_row){ app,
			by == COLUMN_APP ? name : NULL, weight_of(app, by) };
	}
	/* Equals stay in the order of the answer. */
	if (mergesort(t->rows, t->nrows, sizeof(*t->rows), compare_rows) == -1)
		goto fail;
	for (enum column i = 0; i < COLUMNS_ALL; i++) {
		t->widths[i] = strlen(columns[i].heading);
		for (size_t row = 0; row < t->nrows; row++) {
			make_cell(&t->cell, t->rows[row].app, i);
			t->widths[i] = MAX(t->widths[i], form_width(&t->cell));
		}
	}
	return true;

fail:
	table_fini(t);
	return false;
}

void
table_fini(struct table *t)
{
	free(t->rows);
	text_fini(&t->cell);
	json_decref(t->status);
	*t = (struct table){ 0 };
}

int
table_ask(const struct ask *daemon, enum column by, struct table *t)
{
	const char *const words[] = { "apps", NULL };
	struct table fresh;
	json_t *answer;
	int status = ask_json(daemon, words, &answer);

	if (status != EX_OK)
		return status;
	if (!table_init(&fresh, answer, by)) {
		(void)fputs("apppoolctl: the daemon answers otherwise: another "
			    "version?\n",
		    daemon->errors == NULL ? stderr : daemon->errors);
		return EX_PROTOCOL;
	}
	table_fini(t);
	*t = fresh;
	return EX_OK;
}

void
table_put_row(struct table *t, size_t row, size_t width, struct text *out)
{
	const json_t *app = row < t->nrows ? t->rows[row].app : NULL;
	const size_t name_width = width < 100 ? NAME_WIDTH_NARROW : NAME_WIDTH;
	size_t left = width == 0 ? SIZE_MAX : width;

	if (row == TABLE_DAEMON) {
		text_clear(&t->cell);
		form_put(&t->cell, t->status,
		    "{state} for {uptime:t}, processes "
		    "{processes}/{max_processes}, active {active}, waiting "
		    "{waiting}, generation {generation}, {config}");
		form_pad(out, &t->cell, width, true, width != 0);
	}
	for (enum column i = 0;
	     row != TABLE_DAEMON && i < COLUMNS_ALL && left > 0; i++) {
		size_t wide = MIN(t->widths[i], left);

		if (i == COLUMN_APP && width != 0)
			wide = MIN(wide, name_width);
		make_cell(&t->cell, app, i);
		form_pad(out, &t->cell, wide, columns[i].left, true);
		left -= wide;
		if (left > 0) {
			text_put(out, " ", 1);
			left--;
		}
	}
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->len--;
}

static void
table_put(struct table *t, struct text *out)
{
	const char *set = getenv("COLUMNS");
	size_t width = 0; /* in columns; 0: no bound */
	struct winsize size;
	uint64_t n;

	if (set != NULL && number_parse(set, strlen(set), &n))
		width = n > SIZE_MAX / 2 ? 0 : (size_t)n;
	else if (isatty(STDOUT_FILENO) &&
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	for (size_t row = 0; row < t->nrows + 2; row++) {
		table_put_row(t,
		    row == 0       ? TABLE_DAEMON
			: row == 1 ? TABLE_HEADINGS
				   : row - 2,
		    width, out);
		text_puts(out, "\n");
	}
}

int
table_show(const struct ask *daemon, tspan interval, uint64_t count)
{
	const struct timespec pause = clock_timespec(interval);
	struct table table = { 0 };
	int status = EX_OK;
	struct text out;

	text_init(&out, CTL_TEXT_MAX);
	for (uint64_t i = 0; status == EX_OK && (count == 0 || i < count);
	     i++) {
		if (i > 0) {
			(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
			(void)puts("");
		}
		status = table_ask(daemon, COLUMNS_ALL, &table);
		if (status != EX_OK)
			break;
		text_clear(&out);
		table_put(&table, &out);
		status = ask_put(&out);
	}
	text_fini(&out);
	table_fini(&table);
	return status;
}
