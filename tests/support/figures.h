#ifndef SUPPORT_FIGURES_H
#define SUPPORT_FIGURES_H

/* A line of the table of handover: a sample of each figure for each round. */

#include "samples.h"

enum figure {
	FIGURE_RATE, /* connections a second */
	FIGURE_RATE_RATIO,
	FIGURE_COST, /* of the dispatcher, microseconds a connection */
	FIGURE_COST_RATIO,
	FIGURE_TOTAL, /* with its workers */
	FIGURE_TOTAL_RATIO,
	FIGURE_BUSY, /* percent of its processor */
	FIGURE_TIME, /* of each single connection, microseconds */
	FIGURES
};

struct figures {
	struct samples of[FIGURES];
};

void figures_init(struct figures *f);
void figures_fini(struct figures *f);
void figures_clear(struct figures *f);

/* Ratios of the last round: rates to `shared`, costs to `pass`. */
void figures_compare(struct figures *f, const struct figures *shared,
    const struct figures *pass);

/* The rest of the line of titles, or of values. */
void figures_print_titles(void);
void figures_print(struct figures *f);

#endif
