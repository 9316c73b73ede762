#ifndef SIM_VIEW_PRIVATE_H
#define SIM_VIEW_PRIVATE_H

/* What the files view*.c share: tables, time in columns. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/tstamp.h"
#include "sim/result.h"
#include "sim/simulate.h"
#include "sim/words.h"

/* --- what of a result is not one of its fields -------------------------- */

/* Turned away, for whatever reason. */
static inline uint64_t
view_refusals(const struct result_app *r)
{
	return r->refused + r->timed_out;
}

/* --- tables ------------------------------------------------------------- */

#define VIEW_COLUMNS 16

/* Where it goes, and what can be shown there. */
struct view_style {
	unsigned width; /* characters in a line */
	bool utf8; /* block elements can be shown */
};

struct view_style view_style(FILE *out);

/*
 * Cells, row by row, `columns` in each; the first row has the titles.  The
 * first column stands left, the others right.
 */
void view_table(
    const struct words *cells, size_t rows, size_t columns, FILE *out);

/* --- time in columns ---------------------------------------------------- */

/* Means of the time it stands for. */
struct view_column {
	double processes;
	double busy;
	double waiting;
	double arrived; /* per second */
	uint32_t most_processes;
	uint32_t most_waiting;
};

/* The time from 0 to length in n columns of equal width. */
void view_columns(
    const struct series *s, tspan length, struct view_column *out, size_t n);

/*
 * A step for an axis from 0 to `top`, so that it has at most `most` of them
 * (at least 2): 1, 2 or 5 times a power of ten, at least 1.
 */
double view_step(double top, unsigned most);

/* The same for time, in the steps that clocks have. */
tspan view_time_step(tspan top, unsigned most);

/* --- what view_text() is made of ---------------------------------------- */

void view_load(const struct simulation *s, const struct result *r, FILE *out);

void view_figures(const struct result_app *r, FILE *out);

void view_chart(const struct result *r, struct view_style style, FILE *out);

/* Elements of an SVG picture that is 960 wide and 640 high. -1 and errno. */
int view_panels(const struct result *r, FILE *out);

/* All of view_svg(). -1 and errno; what cannot be written shows in ferror(). */
int view_picture(const struct simulation *s, const struct result *r, FILE *out);

#endif
