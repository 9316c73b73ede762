#ifndef SIM_VIEW_H
#define SIM_VIEW_H

/* What a simulation shows. */

#include <stdio.h>

#include "core/tstamp.h"
#include "sim/result.h"
#include "sim/simulate.h"

/* The figures and the chart, for people. */
void view_text(const struct simulation *s, const struct result *r, FILE *out);

/* All of it as one JSON object. */
void view_json(const struct simulation *s, const struct result *r, FILE *out);

/* The chart as a picture. -1 and errno. */
int view_svg(
    const struct simulation *s, const struct result *r, const char *file);

/*
 * A bar on standard error, where that is a terminal; nothing elsewhere, nor in
 * the first half second.  length 0: it is not known.
 */
struct view_progress {
	const char *name; /* what runs */
	tspan length;
	double began; /* real time in seconds; 0: not yet */
	double shown; /* likewise */
};

void view_progress(struct view_progress *p, tstamp at);
void view_progress_end(struct view_progress *p);

#endif
