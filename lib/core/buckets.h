#ifndef CORE_BUCKETS_H
#define CORE_BUCKETS_H

/*
 * The histogram of a length of time since the beginning, as OpenMetrics has
 * it: counts by upper bounds that never change, from 100 µs to 60 s.
 */

#include <stdint.h>

#include "core/tstamp.h"

/* Bounds; one bucket more has what is over the last of them. */
#define BUCKETS_BOUNDS 18

struct buckets {
	uint64_t counts[BUCKETS_BOUNDS + 1]; /* of each bucket alone */
	double sum; /* seconds */
};

/* All zero is empty. */
void buckets_add(struct buckets *b, tspan value);

/* The longest time in a bucket; bucket: less than BUCKETS_BOUNDS. */
tspan buckets_bound(unsigned bucket);

#endif
