/* A table of all apps, fitted to a width. */

#include <sys/ioctl.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "sys/number.h"

/* Bytes of the longest text in the table. */
#define TEXT_MAX 8192

/* A longer name is cut, for there is more to see; below 100 columns, to 16. */
#define NAME_WIDTH 24
#define NAME_WIDTH_NARROW 16

static const struct {
	const char *heading;
	const char *form; /* of its text; NULL: see make_cell() */
	const char *figure; /* that rows are sorted by; NULL: of none */
	bool left; /* its text; figures stand to the right */
} columns[COLUMNS_ALL] = {
	[COLUMN_APP] = { "APP", "{name}", NULL, true },
	[COLUMN_STATE] = { "STATE", "{state}", NULL, true },
	[COLUMN_PROCESSES] = { "PROCS", "{processes:1}/{max_processes:1}",
	    "processes", false },
	[COLUMN_ACTIVE] = { "ACTIVE", "{active:1}", "active", false },
	[COLUMN_WAITING] = { "WAIT", "{waiting:1}", "waiting", false },
	[COLUMN_OLDEST] = { "OLDEST", "{oldest_wait:1t}", "oldest_wait",
	    false },
	[COLUMN_RATE] = { "RATE", "{rate:1}", "rate", false },
	[COLUMN_P99] = { "P99", "{queue_wait.p99:1t}", "queue_wait.p99",
	    false },
	[COLUMN_REFUSED] = { "REFUSED", "{refused:1}", "refused", false },
	[COLUMN_FAILURE] = { "LAST FAILURE", NULL, NULL, true },
};

/* --- cells -------------------------------------------------------------- */

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

/*
 * The failure of a rollout that was given up, or the last one, and how long ago
 * that was; and when the next start is due, if that has to wait.
 */
static void
put_failure(struct text *cell, const json_t *app)
{
	const char *why = form_string(app, "rollout.reason");
	const char *ago = "[ ({rollout.age:t} ago)]";

	if (why != NULL) {
		form_put(
		    cell, app, "generation {rollout.generation} given up: ");
	} else {
		why = form_string(app, "last_failure");
		ago = "[ ({last_failure_age:t} ago)]";
	}
	if (why != NULL) {
		put_short(cell, why);
		form_put(cell, app, ago);
	}
	if (form_number(app, "backoff_until") > 0) {
		text_puts(cell, cell->len == 0 ? "" : "; ");
		form_put(cell, app, "next start in {backoff_until:t}");
	}
}

/* The figure of an app in a column; NaN: there is none. */
static double
figure_of(const json_t *app, enum column column)
{
	/* Without sessions no process is ever active. */
	if (columns[column].figure == NULL ||
	    (column == COLUMN_ACTIVE && isnan(form_number(app, "sessions"))))
		return NAN;
	return form_number(app, columns[column].figure);
}

/* Makes the text of an app in a column; app NULL: of the headings. */
static void
make_cell(struct text *cell, const json_t *app, enum column column)
{
	const double n = figure_of(app, column);

	text_clear(cell);
	if (app == NULL)
		text_puts(cell, columns[column].heading);
	else if (column == COLUMN_FAILURE)
		put_failure(cell, app);
	else if (column == COLUMN_ACTIVE && isnan(n))
		text_puts(cell, "-");
	else if (column == COLUMN_RATE && n > 0 && n < 100)
		form_put(cell, app, "{rate:1d}");
	else
		form_put(cell, app, columns[column].form);
}

/* --- the order of rows --------------------------------------------------- */

/* The figure that rows are sorted by, the largest first. */
static double
weight_of(const json_t *app, enum column by)
{
	const char *state = form_string(app, "state");

	if (by == COLUMN_FAILURE)
		return form_string(app, "last_failure") != NULL;
	if (by == COLUMNS_ALL)
		return 0;
	if (by != COLUMN_STATE)
		return figure_of(app, by);
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
	return a->place < b->place ? -1 : a->place > b->place;
}

static int
compare_names(const void *one, const void *other)
{
	const struct table_row *a = one, *b = other;

	return strcmp(form_string(a->app, "name"), form_string(b->app, "name"));
}

/* --- the table ---------------------------------------------------------- */

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
		t->rows[row] = (struct table_row){ .place = row,
			.app = json_array_get(apps, row) };
		if (form_string(t->rows[row].app, "name") == NULL)
			goto fail;
		t->rows[row].weight = weight_of(t->rows[row].app, by);
	}
	if (by != COLUMNS_ALL)
		qsort(t->rows, t->nrows, sizeof(*t->rows),
		    by == COLUMN_APP ? compare_names : compare_rows);

	for (enum column i = 0; i < COLUMNS_ALL; i++) {
		t->widths[i] = strlen(columns[i].heading);
		for (size_t row = 0; row < t->nrows; row++) {
			size_t width;

			make_cell(&t->cell, t->rows[row].app, i);
			width = form_width(&t->cell);
			if (width > t->widths[i])
				t->widths[i] = width;
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

/* --- lines -------------------------------------------------------------- */

/* Puts the cell; where some of it is missing, "+" is last. */
static void
put_fitted(struct text *out, const struct text *cell, size_t width, bool left)
{
	size_t at = 0;

	if (form_width(cell) <= width) {
		form_pad(out, cell, width, left);
		return;
	}
	for (size_t i = 0; i + 1 < width; i++)
		at += text_char_length(cell->data + at, cell->len - at);
	text_put(out, cell->data, at);
	text_put(out, "+", 1);
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
		put_fitted(out, &t->cell,
		    width == 0 ? form_width(&t->cell) : width, true);
	}
	for (enum column i = 0;
	     row != TABLE_DAEMON && i < COLUMNS_ALL && left > 0; i++) {
		size_t wide = t->widths[i];

		if (i == COLUMN_APP && width != 0 && wide > name_width)
			wide = name_width;
		wide = wide < left ? wide : left;
		make_cell(&t->cell, app, i);
		put_fitted(out, &t->cell, wide, columns[i].left);
		left -= wide;
		if (left > 0) {
			text_put(out, " ", 1);
			left--;
		}
	}
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->len--;
}

void
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
