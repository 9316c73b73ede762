#ifndef SIM_VIEW_H
#define SIM_VIEW_H

/* What a simulation shows. */

#include <stdbool.h>
#include <stdio.h>

#include "core/tstamp.h"
#include "sim/load.h"
#include "sim/result.h"
#include "sim/simulate.h"

/*
 * The figures and the chart, for people: as wide as the terminal, in the
 * characters of its locale.  What cannot be written shows in ferror(out).
 */
void view_text(const struct simulation *s, const struct result *r, FILE *out);

/*
 * All of it as one JSON object. -1 and errno: it is cut short; what cannot be
 * written shows in ferror(out).
 */
int view_json(const struct simulation *s, const struct result *r, FILE *out);

/*
 * The same load through several managers, the first of them ours: one table,
 * or one JSON object, as above.
 */
void view_compare(const struct simulation *s, const struct result *results,
    size_t len, FILE *out);
int view_compare_json(const struct simulation *s, const struct result *results,
    size_t len, FILE *out);

/* The chart as a picture. -1 and errno. */
int view_svg(
    const struct simulation *s, const struct result *r, const char *file);

enum view_progress_state {
	VIEW_PROGRESS_NOT_BEGUN,
	VIEW_PROGRESS_UNSEEN, /* standard error is no terminal */
	VIEW_PROGRESS_HIDDEN, /* no bar yet */
	VIEW_PROGRESS_SHOWN,
};

/*
 * A bar on standard error, where that is a terminal; nothing elsewhere, nor in
 * the first half second.
 */
struct view_progress {
	const char *name; /* what runs */
	tspan length; /* 0: it is not known */
	const struct load *load; /* else it is known by what has been read */
	enum view_progress_state state;
	double began; /* monotonic clock, in seconds; once begun */
	double shown; /* likewise, the last time; if shown */
};

void view_progress(struct view_progress *p, tstamp at);
void view_progress_end(struct view_progress *p);

#endif
