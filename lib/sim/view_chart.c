/*
 * Processes and waiting connections over time, in characters.  A column is a
 * stretch of time; how high it is filled is the mean of that stretch for
 * processes, and the peak for what waits: one is what it costs, the other is
 * what hurts.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/view_private.h"

/* At most so many; of what waits, just so many. */
#define ROWS_PROCESSES 10
#define ROWS_WAITING 4

/* The widest label of an axis, and what stands behind it. */
#define MARGIN 9

#define COLUMNS_MAX 256
#define TIME_STEPS_MAX 8

struct glyphs {
	const char *busy;
	const char *idle;
	const char *axis; /* up */
	const char *corner;
	const char *line; /* along */
	const char *tick;
	const char *levels[9]; /* from nothing to a full cell */
};

static const struct glyphs ascii = {
	.busy = "#",
	.idle = ".",
	.axis = "|",
	.corner = "+",
	.line = "-",
	.tick = "+",
	.levels = { " ", ".", ".", ".", ":", ":", ":", "#", "#" },
};

static const struct glyphs blocks = {
	.busy = "█",
	.idle = "░",
	.axis = "│",
	.corner = "└",
	.line = "─",
	.tick = "┴",
	.levels = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
};

struct chart {
	const struct glyphs *glyphs;
	FILE *out;
	tspan length;
	unsigned n; /* columns */
	struct view_column columns[COLUMNS_MAX];
};

/* The left edge of a row; label: or NULL. */
static void
put_edge(const struct chart *c, const char *label)
{
	(void)fprintf(c->out, "%*s %s", MARGIN - 2, label == NULL ? "" : label,
	    c->glyphs->axis);
}

/* The label has to be short. */
static void
put_count_edge(const struct chart *c, double n, bool labelled)
{
	struct words label = words_count((uint64_t)(n + 0.5));

	if (n >= 999.5e6) {
		label = words_number(n / 1e9);
		(void)strlcat(label.text, "G", sizeof(label.text));
	} else if (n >= 999.5e3) {
		label = words_number(n / 1e6);
		(void)strlcat(label.text, "M", sizeof(label.text));
	}
	put_edge(c, labelled ? label.text : NULL);
}

/* Blanks at the end of a line are nothing but a trap for those who compare. */
struct blanks {
	FILE *out;
	unsigned held;
};

static void
put_cell(struct blanks *b, const char *glyph)
{
	if (strcmp(glyph, " ") == 0) {
		b->held++;
		return;
	}
	for (; b->held > 0; b->held--)
		(void)fputc(' ', b->out);
	(void)fputs(glyph, b->out);
}

/* --- the axis of time --------------------------------------------------- */

static unsigned
column_of(const struct chart *c, tspan at)
{
	return (unsigned)((double)at / (double)c->length * c->n);
}

static void
put_time_line(const struct chart *c, tspan step)
{
	unsigned column = 0;

	(void)fprintf(c->out, "%*s %s", MARGIN - 2, "0", c->glyphs->corner);
	for (tspan at = step; at <= c->length; at += step) {
		unsigned tick = column_of(c, at);

		for (; column < tick && column < c->n; column++)
			(void)fputs(c->glyphs->line, c->out);
		if (column < c->n) {
			(void)fputs(c->glyphs->tick, c->out);
			column++;
		}
	}
	for (; column < c->n; column++)
		(void)fputs(c->glyphs->line, c->out);
	(void)fputc('\n', c->out);
}

static void
put_time_labels(const struct chart *c, tspan step)
{
	unsigned at_column = 0;

	(void)fprintf(c->out, "%*s", MARGIN, "");
	for (tspan at = step; at <= c->length; at += step) {
		struct words label = words_span(at);
		unsigned width = (unsigned)strlen(label.text);
		unsigned column = column_of(c, at);

		/* In the middle below its tick, if there is room. */
		column = column > width / 2 ? column - width / 2 : 0;
		if (column + width > c->n + 1)
			column = c->n + 1 - width;
		if (column < at_column)
			continue;
		(void)fprintf(
		    c->out, "%*s%s", (int)(column - at_column), "", label.text);
		at_column = column + width;
	}
	(void)fputc('\n', c->out);
}

static void
put_time_axis(const struct chart *c)
{
	unsigned most = c->n / 8;
	tspan step;

	if (most > TIME_STEPS_MAX)
		most = TIME_STEPS_MAX;
	step = view_time_step(c->length, most);
	put_time_line(c, step);
	put_time_labels(c, step);
}

/* --- processes ---------------------------------------------------------- */

static void
put_process_row(const struct chart *c, double middle)
{
	struct blanks b = { .out = c->out };

	for (unsigned i = 0; i < c->n; i++) {
		if (c->columns[i].busy >= middle)
			put_cell(&b, c->glyphs->busy);
		else if (c->columns[i].processes >= middle)
			put_cell(&b, c->glyphs->idle);
		else
			put_cell(&b, " ");
	}
	(void)fputc('\n', c->out);
}

static void
put_processes(const struct chart *c)
{
	double top = 1, step;
	unsigned rows;

	for (unsigned i = 0; i < c->n; i++) {
		if (c->columns[i].processes > top)
			top = c->columns[i].processes;
	}
	step = view_step(top, ROWS_PROCESSES);
	/* A mean may come out a little over what there ever was. */
	rows = (unsigned)ceil(top / step - 1e-6);
	(void)fprintf(c->out, "Processes: %s busy, %s idle", c->glyphs->busy,
	    c->glyphs->idle);
	if (c->n >= 40)
		(void)fprintf(c->out, "; a column is %s",
		    words_span(c->length / c->n).text);
	(void)fputc('\n', c->out);
	for (unsigned row = rows; row > 0; row--) {
		put_count_edge(
		    c, row * step, (rows - row) % 2 == 0 || rows <= 4);
		put_process_row(c, (row - 0.5) * step);
	}
}

/* --- waiting connections ------------------------------------------------ */

static void
put_waiting_row(const struct chart *c, unsigned row, double top)
{
	struct blanks b = { .out = c->out };

	for (unsigned i = 0; i < c->n; i++) {
		double height = c->columns[i].most_waiting / top * ROWS_WAITING;
		double part = (height - row) * 8;
		unsigned level = part >= 8 ? 8 : part > 0 ? (unsigned)part : 0;

		/* However little it is, it is there. */
		if (row == 0 && level == 0 && height > 0)
			level = 1;
		put_cell(&b, c->glyphs->levels[level]);
	}
	(void)fputc('\n', c->out);
}

static void
put_waiting(const struct chart *c)
{
	uint32_t most = 0;

	for (unsigned i = 0; i < c->n; i++) {
		if (c->columns[i].most_waiting > most)
			most = c->columns[i].most_waiting;
	}
	if (most == 0) {
		(void)fputs("Waiting: never one\n", c->out);
		return;
	}
	(void)fputs("Waiting: the most in each column\n", c->out);
	for (unsigned row = ROWS_WAITING; row > 0; row--) {
		put_count_edge(c, most, row == ROWS_WAITING);
		put_waiting_row(c, row - 1, most);
	}
	put_time_axis(c);
}

void
view_chart(const struct result *r, struct view_style style, FILE *out)
{
	struct chart *c;

	/* All at one moment: there is nothing to be drawn. */
	if (r->length == 0 || r->total.series.used == 0)
		return;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return;
	c->glyphs = style.utf8 ? &blocks : &ascii;
	c->out = out;
	c->length = r->length;
	c->n = style.width - MARGIN - 1;
	if (c->n > COLUMNS_MAX)
		c->n = COLUMNS_MAX;
	view_columns(&r->total.series, r->length, c->columns, c->n);
	(void)fputc('\n', out);
	put_processes(c);
	put_time_axis(c);
	(void)fputc('\n', out);
	put_waiting(c);
	free(c);
}
