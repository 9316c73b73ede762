/*
 * Processes and waits over time, in characters.  A column is a stretch of time;
 * how high it is filled is the mean of that stretch for processes, and the
 * longest for waits: processes are what it costs, waiting is what hurts.
 */

#include <stdlib.h>
#include <string.h>

#include "sim/chart.h"
#include "sim/view.h"
#include "sim/words.h"

/* Rows of processes at most; of waits, just so many. */
#define ROWS_PROCESSES 10
#define ROWS_WAIT 4

/* The widest label of an axis, and what stands behind it. */
#define MARGIN 9

#define TIME_STEPS_MAX 8

struct glyphs {
	const char *busy;
	const char *idle;
	const char *limit; /* max_processes, where there are none */
	const char *axis; /* up */
	const char *corner;
	const char *line; /* along */
	const char *tick;
	const char *levels[9]; /* from nothing to a full cell */
};

static const struct glyphs ascii = {
	.busy = "#",
	.idle = ".",
	.limit = "-",
	.axis = "|",
	.corner = "+",
	.line = "-",
	.tick = "+",
	.levels = { " ", ".", ".", ".", ":", ":", ":", "#", "#" },
};

static const struct glyphs blocks = {
	.busy = "█",
	.idle = "░",
	.limit = "╌",
	.axis = "│",
	.corner = "└",
	.line = "─",
	.tick = "┴",
	.levels = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
};

struct drawing {
	const struct chart *chart;
	const struct glyphs *glyphs;
	double limit; /* max_processes; 0: unknown */
	FILE *out;
};

/* --- rows --------------------------------------------------------------- */

/* The left edge of a row. */
static void
put_edge(const struct drawing *d, const char *label, const char *glyph)
{
	(void)fprintf(d->out, "%*s %s", MARGIN - 2, label, glyph);
}

/* The label has to be short. */
static void
put_count_edge(const struct drawing *d, double n, bool labelled)
{
	struct words label = words_count((uint64_t)(n + 0.5));

	if (n >= 999.5e6) {
		label = words_number(n / 1e9);
		(void)strlcat(label.text, "G", sizeof(label.text));
	} else if (n >= 999.5e3) {
		label = words_number(n / 1e6);
		(void)strlcat(label.text, "M", sizeof(label.text));
	}
	put_edge(d, labelled ? label.text : "", d->glyphs->axis);
}

/* Leaves out blanks at the end of a line, on which comparisons trip. */
static void
put_cells(const struct drawing *d, const char *const *cells)
{
	unsigned blanks = 0;

	for (unsigned i = 0; i < d->chart->n; i++) {
		if (*cells[i] == ' ') {
			blanks++;
			continue;
		}
		(void)fprintf(d->out, "%*s%s", (int)blanks, "", cells[i]);
		blanks = 0;
	}
	(void)fputc('\n', d->out);
}

/* --- the axis of time --------------------------------------------------- */

static unsigned
column_of(const struct chart *c, tspan at)
{
	return (unsigned)((double)at / (double)c->length * c->n);
}

static void
put_time_line(const struct drawing *d, tspan step)
{
	const struct chart *c = d->chart;
	tspan at = step;

	put_edge(d, "0", d->glyphs->corner);
	for (unsigned i = 0; i < c->n; i++) {
		bool ticks = at <= c->length && column_of(c, at) <= i;

		(void)fputs(ticks ? d->glyphs->tick : d->glyphs->line, d->out);
		if (ticks)
			at += step;
	}
	(void)fputc('\n', d->out);
}

static void
put_time_labels(const struct drawing *d, tspan step)
{
	const struct chart *c = d->chart;
	unsigned at_column = 0;

	(void)fprintf(d->out, "%*s", MARGIN, "");
	for (tspan at = step; at <= c->length; at += step) {
		struct words label = words_span(at);
		unsigned width = (unsigned)strlen(label.text);
		unsigned column = column_of(c, at);

		/* The label is centred below its tick, if there is room. */
		column = column > width / 2 ? column - width / 2 : 0;
		if (column + width > c->n + 1)
			column = c->n + 1 - width;
		if (column < at_column)
			continue;
		(void)fprintf(
		    d->out, "%*s%s", (int)(column - at_column), "", label.text);
		at_column = column + width;
	}
	(void)fputc('\n', d->out);
}

static void
put_time_axis(const struct drawing *d)
{
	unsigned most = d->chart->n / 8;
	tspan step;

	if (most > TIME_STEPS_MAX)
		most = TIME_STEPS_MAX;
	step = chart_time_step(d->chart->length, most);
	put_time_line(d, step);
	put_time_labels(d, step);
}

/* --- panels ------------------------------------------------------------- */

static void
put_process_row(const struct drawing *d, double top, double step)
{
	const struct glyphs *g = d->glyphs;
	const char *cells[CHART_COLUMNS];
	bool limits = d->limit > top - step && d->limit <= top;
	double middle = top - step / 2;

	for (unsigned i = 0; i < d->chart->n; i++) {
		const double *values = d->chart->columns[i];

		cells[i] = values[CHART_BUSY] >= middle ? g->busy
		    : values[CHART_PROCESSES] >= middle ? g->idle
		    : limits                            ? g->limit
							: " ";
	}
	put_cells(d, cells);
}

static void
put_processes(const struct drawing *d)
{
	const struct chart *c = d->chart;
	double peak = chart_peak(c, CHART_PROCESSES);
	struct chart_axis axis;

	/* A limit that is far away would leave no room for the processes. */
	axis = chart_axis(
	    d->limit > peak && d->limit <= 2 * peak ? d->limit : peak,
	    ROWS_PROCESSES);
	(void)fprintf(d->out, "Processes: %s busy, %s idle", d->glyphs->busy,
	    d->glyphs->idle);
	if (d->limit > 0 && c->n >= 40)
		(void)fprintf(d->out, ", max_processes = %.0f", d->limit);
	if (c->n >= 60)
		(void)fprintf(d->out, "; a column is %s",
		    words_span(c->length / c->n).text);
	(void)fputc('\n', d->out);
	for (unsigned row = axis.steps; row > 0; row--) {
		put_count_edge(d, row * axis.step,
		    (axis.steps - row) % 2 == 0 || axis.steps <= 4);
		put_process_row(d, row * axis.step, axis.step);
	}
}

static void
put_wait_row(const struct drawing *d, unsigned row, double top)
{
	const char *cells[CHART_COLUMNS];

	for (unsigned i = 0; i < d->chart->n; i++) {
		double longest = d->chart->columns[i][CHART_LONGEST_WAIT];
		double part = (longest / top * ROWS_WAIT - row) * 8;
		unsigned level = part >= 8 ? 8 : part > 0 ? (unsigned)part : 0;

		/* Even the shortest wait is shown. */
		if (row == 0 && level == 0 && longest > 0)
			level = 1;
		cells[i] = d->glyphs->levels[level];
	}
	put_cells(d, cells);
}

static void
put_waits(const struct drawing *d)
{
	double longest = chart_peak(d->chart, CHART_LONGEST_WAIT);
	struct words top = words_span((tspan)longest);

	if (!(longest > 0)) {
		(void)fputs("Waits: none\n", d->out);
		return;
	}
	(void)fputs("Waits: the longest in each column\n", d->out);
	for (unsigned row = ROWS_WAIT; row > 0; row--) {
		put_edge(d, row == ROWS_WAIT ? top.text : "", d->glyphs->axis);
		put_wait_row(d, row - 1, longest);
	}
	put_time_axis(d);
}

void
view_chart(const struct result *r, unsigned width, bool utf8, FILE *out)
{
	struct drawing d = { .glyphs = utf8 ? &blocks : &ascii, .out = out };
	struct chart *c;

	/* A load of one moment has no time to be drawn over. */
	if (r->length == 0 || r->total.series.used == 0)
		return;
	c = chart_new(&r->total.series, r->length, width - MARGIN - 1);
	if (c == NULL)
		return;
	d.chart = c;
	d.limit = r->total.max_processes;
	(void)fputc('\n', out);
	put_processes(&d);
	put_time_axis(&d);
	(void)fputc('\n', out);
	put_waits(&d);
	free(c);
}
