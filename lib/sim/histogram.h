#ifndef SIM_HISTOGRAM_H
#define SIM_HISTOGRAM_H

/*
 * A distribution of times.  Each power of two is cut into 64 equal buckets: a
 * percentile is at most 1/64 too high, and never over the maximum, which is
 * exact.  So are the mean and whatever is under 64 ns, above all 0.  Times
 * over 2^50 ns (13 days) share the last bucket.
 */

#include <stdint.h>

#include "core/tstamp.h"

#define HISTOGRAM_PART 64
#define HISTOGRAM_LAST 50
#define HISTOGRAM_BUCKETS ((HISTOGRAM_LAST - 5) * HISTOGRAM_PART + 1)

struct histogram {
	uint64_t total;
	double sum; /* nanoseconds */
	tspan max;
	uint64_t counts[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, tspan value);
void histogram_merge(struct histogram *h, const struct histogram *other);

/*
 * The value that a share (0 … 1) of all did not exceed; 1 gives the exact
 * maximum; 0 if there is nothing.
 */
tspan histogram_share(const struct histogram *h, double share);

/* The share that did not exceed a value; 1 if there is nothing. */
double histogram_within(const struct histogram *h, tspan value);

/* Nanoseconds; 0 if there is nothing. */
double histogram_mean(const struct histogram *h);

#endif
