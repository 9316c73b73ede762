/* A table of all apps, fitted to a width. */

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/overview.h"

/* Bytes of the longest text in the table. */
#define TEXT_MAX 8192

/* A longer name is cut, for there is more to see; below 100 columns, to 16. */
#define NAME_WIDTH 24
#define NAME_WIDTH_NARROW 16

struct overview_row {
	const struct json_value *app;
	size_t place; /* in the answer */
};

/* --- the table ---------------------------------------------------------- */

/* A text that was escaped is UTF-8. */
static size_t
columns_of(const struct text *cell)
{
	size_t columns = 0;

	for (size_t i = 0; i < cell->len; columns++)
		i += text_char_length(cell->data + i, cell->len - i);
	return columns;
}

static void
widen(struct overview *o, const struct json_value *app)
{
	for (int i = 0; i < CELL_COLUMNS; i++) {
		size_t columns;

		cell_make(&o->cell, app, (enum cell_column)i);
		columns = columns_of(&o->cell);
		if (columns > o->widths[i])
			o->widths[i] = columns;
	}
}

static void
measure(struct overview *o)
{
	widen(o, NULL);
	for (size_t i = 0; i < o->nrows; i++)
		widen(o, o->rows[i].app);
}

bool
overview_init(struct overview *o, const struct json_value *status)
{
	const struct json_value *apps = json_tree_member(status, "apps");

	*o = (struct overview){ .status = status };
	text_init(&o->cell, TEXT_MAX);
	if (apps == NULL || apps->type != JSON_ARRAY) {
		errno = EINVAL;
		return false;
	}
	for (const struct json_value *app = apps->first; app != NULL;
	     app = app->next)
		o->nrows++;
	o->rows = calloc(o->nrows + 1, sizeof(*o->rows));
	if (o->rows == NULL)
		return false;
	apps = apps->first;
	for (size_t i = 0; i < o->nrows; i++, apps = apps->next)
		o->rows[i] = (struct overview_row){ .app = apps, .place = i };
	measure(o);
	return true;
}

void
overview_fini(struct overview *o)
{
	free(o->rows);
	text_fini(&o->cell);
}

const char *
overview_app(const struct overview *o, size_t row)
{
	const char *name = json_tree_string(o->rows[row].app, "name");

	return name == NULL ? "" : name;
}

/* --- sorting ------------------------------------------------------------ */

/* How much a state needs a look. */
static double
state_weight(const struct json_value *app)
{
	const char *state = json_tree_string(app, "state");

	if (state == NULL || strcmp(state, "running") == 0)
		return 0;
	return strcmp(state, "failed") == 0 ? 2 : 1;
}

/* The figure that rows are sorted by, the largest first. */
static double
sort_weight(const struct json_value *app, enum cell_column by)
{
	if (by == CELL_STATE)
		return state_weight(app);
	if (by == CELL_FAILURE)
		return json_tree_string(app, "last_failure") != NULL;
	return cell_figure(app, by);
}

static int
compare_names(const struct json_value *a, const struct json_value *b)
{
	const char *name = json_tree_string(a, "name");
	const char *other = json_tree_string(b, "name");

	return name == NULL || other == NULL ? 0 : strcmp(name, other);
}

static int
compare(const void *one, const void *other, void *arg)
{
	const struct overview_row *a = one, *b = other;
	enum cell_column by = *(const enum cell_column *)arg;
	double x = sort_weight(a->app, by), y = sort_weight(b->app, by);

	/* Apps without the figure come last. */
	if (isnan(x) != isnan(y))
		return isnan(x) ? 1 : -1;
	if (!isnan(x) && x != y)
		return x > y ? -1 : 1;
	if (by == CELL_APP)
		return compare_names(a->app, b->app);
	return a->place < b->place ? -1 : a->place > b->place;
}

void
overview_sort(struct overview *o, enum cell_column by)
{
	qsort_r(o->rows, o->nrows, sizeof(*o->rows), compare, &by);
}

/* --- lines -------------------------------------------------------------- */

/* Puts the first columns of the cell; where some are missing, "+" is last. */
static void
put_cut(struct text *out, const struct text *cell, size_t width)
{
	size_t at = 0;

	for (size_t i = 0; i + 1 < width; i++)
		at += text_char_length(cell->data + at, cell->len - at);
	text_put(out, cell->data, at);
	text_put(out, "+", 1);
}

static void
put_spaces(struct text *out, size_t n)
{
	for (; n > 0; n--)
		text_put(out, " ", 1);
}

/* Puts the cell in so many columns, a figure to the right. */
static void
put_fitted(struct text *out, const struct text *cell, size_t width, bool figure)
{
	size_t columns = columns_of(cell);

	if (columns > width) {
		put_cut(out, cell, width);
		return;
	}
	if (figure)
		put_spaces(out, width - columns);
	text_put(out, cell->data, cell->len);
	if (!figure)
		put_spaces(out, width - columns);
}

static void
end_line(struct text *out)
{
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->len--;
}

/* The width of a column in a table of this width; 0: it has no bound. */
static size_t
column_width(const struct overview *o, int column, size_t width)
{
	size_t most = width < 100 ? NAME_WIDTH_NARROW : NAME_WIDTH;

	if (column != CELL_APP || width == 0 || o->widths[column] < most)
		return o->widths[column];
	return most;
}

static void
put_line(struct overview *o, const struct json_value *app, size_t width,
    struct text *out)
{
	size_t left = width == 0 ? SIZE_MAX : width;

	for (int i = 0; i < CELL_COLUMNS && left > 0; i++) {
		bool figure =
		    i != CELL_APP && i != CELL_STATE && i != CELL_FAILURE;
		size_t wide = column_width(o, i, width);

		wide = wide < left ? wide : left;
		cell_make(&o->cell, app, (enum cell_column)i);
		put_fitted(out, &o->cell, wide, figure);
		left -= wide;
		if (left > 0) {
			text_put(out, " ", 1);
			left--;
		}
	}
	end_line(out);
}

void
overview_headings(struct overview *o, size_t width, struct text *out)
{
	put_line(o, NULL, width, out);
}

void
overview_row(struct overview *o, size_t row, size_t width, struct text *out)
{
	put_line(o, o->rows[row].app, width, out);
}

void
overview_daemon(struct overview *o, size_t width, struct text *out)
{
	const struct json_value *s = o->status;
	struct text *cell = &o->cell;

	text_clear(cell);
	cell_put_string(cell, json_tree_string(s, "state"));
	text_puts(cell, " for ");
	cell_put_span(cell, json_tree_number(s, "uptime"));
	text_printf(cell,
	    ", processes %.0f/%.0f, active %.0f, waiting %.0f, generation "
	    "%.0f, ",
	    json_tree_number(s, "processes"),
	    json_tree_number(s, "max_processes"), json_tree_number(s, "active"),
	    json_tree_number(s, "waiting"), json_tree_number(s, "generation"));
	cell_put_string(cell, json_tree_string(s, "config"));
	put_fitted(out, cell, width == 0 ? columns_of(cell) : width, false);
	end_line(out);
}

void
overview_table(struct overview *o, size_t width, struct text *out)
{
	overview_daemon(o, width, out);
	text_puts(out, "\n");
	overview_headings(o, width, out);
	text_puts(out, "\n");
	for (size_t i = 0; i < o->nrows; i++) {
		overview_row(o, i, width, out);
		text_puts(out, "\n");
	}
}
