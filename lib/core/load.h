#ifndef CORE_LOAD_H
#define CORE_LOAD_H

/*
 * How busy an app's processes have been: an exponentially decaying estimate.
 * Busy time is integrated, so that a process that is stuck in a long session
 * is busy; and each interval weighs by its length, so that a late update is as
 * right as an update in time.
 *
 * Source: the FastCGI process manager's gain and update interval; but that
 * program sums ended requests in integers over two windows.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"

struct load {
	double work; /* processes busy, on average, as of `updated` */
	double area; /* busy nanoseconds since then, until `seen` */
	double busy; /* processes busy from `seen` on */
	bool known; /* there was an update */
	tstamp updated;
	tstamp seen;
};

void load_init(struct load *l, tstamp now);

/* So many processes are busy from now on. */
void load_set(struct load *l, double busy, tstamp now);

/*
 * Takes the time since the last update into the estimate, with the weight
 * `gain` if that is `interval` long.  0 < gain <= 1, interval > 0.
 */
void load_update(struct load *l, double gain, tspan interval, tstamp now);

/* The estimate that an update would give, in processes. */
double load_work(const struct load *l, double gain, tspan interval, tstamp now);

/* Whether the estimate is nothing and updates would leave it so. */
bool load_at_rest(const struct load *l);

#endif
