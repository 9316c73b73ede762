#ifndef CORE_WINDOW_H
#define CORE_WINDOW_H

/*
 * The distribution of a length of time over the last minute: seven histograms
 * of ten seconds each, six of them complete.  A bucket is an eighth of a power
 * of two wide, so a percentile is at most 1/8 too high; what is over 2^40 ns
 * (18 minutes) shares the last one.  The maximum is exact.  And the histogram
 * of all that was ever added, by bounds as OpenMetrics wants them.
 */

#include "core/tstamp.h"

/* Bounds; one bucket more has what is over the last of them. */
#define BUCKETS_BOUNDS 18

struct buckets {
	uint64_t counts[BUCKETS_BOUNDS + 1]; /* of each bucket alone */
	double sum; /* seconds */
};

/* The longest time in each bucket. */
extern const tspan buckets_bounds[BUCKETS_BOUNDS];

#define WINDOW_SLOTS 7
#define WINDOW_SLOT TSPAN_SECONDS(10)
#define WINDOW_FIRST 10 /* 2^10 ns */
#define WINDOW_LAST 40
#define WINDOW_BUCKETS (8 * (WINDOW_LAST - WINDOW_FIRST) + 1)

/* Fields that one addition changes lie together. */
struct window_slot {
	int64_t epoch; /* which ten seconds, counted since time 0 */
	tspan max;
	uint32_t total;
	uint32_t counts[WINDOW_BUCKETS];
};

struct window {
	struct window_slot slots[WINDOW_SLOTS];
	struct buckets ever;
};

/* All zero is empty. */
void window_add(struct window *w, tspan value, tstamp now);

/*
 * The value that a share (0 … 1) of what was added in the last minute did not
 * exceed; 0 if nothing was added.
 */
tspan window_share(const struct window *w, double share, tstamp now);

/*
 * The share that did not exceed the value: within a bucket, as if all lengths
 * in it were as frequent; -1 if nothing was added.
 */
double window_within(const struct window *w, tspan value, tstamp now);

/* How many a second; since `since`, if later, but at least of one second. */
double window_rate(const struct window *w, tstamp since, tstamp now);

#endif
