#ifndef SIM_VIEW_H
#define SIM_VIEW_H

/* The result of a simulation, shown.  A failed write shows in ferror(out). */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/tstamp.h"
#include "sim/load_spec.h"
#include "sim/result.h"
#include "sim/verdict.h"

/* The question that a result answers. */
struct simulation {
	const char *config; /* a file */
	struct load_spec load;
	tspan start_time;
	const struct verdict *verdicts; /* of the apps; NULL: there are none */
};

/* The figures, for people. */
void view_text(const struct simulation *s, const struct result *r, FILE *out);

/* The whole result as one JSON object. -1 and errno: it is cut short. */
int view_json(const struct simulation *s, const struct result *r, FILE *out);

/*
 * A picture, of the app of this number; of all together if there
 * is no such app. -1 and errno.
 */
int view_svg(const struct simulation *s, const struct result *r, size_t app,
    const char *file);

/* --- parts of these ----------------------------------------------------- */

/* The picture to an open file. -1 and errno: no memory. */
int view_svg_put(
    const struct simulation *s, const struct result *r, size_t app, FILE *out);

/* "50/s, exponential:50ms", "20 clients, think fixed:1s, fixed:100ms" */
void view_text_load(const struct load_app *app, FILE *out);

void view_text_figures(const struct result_app *r, FILE *out);

#endif
