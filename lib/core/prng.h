#ifndef CORE_PRNG_H
#define CORE_PRNG_H

/*
 * Pseudo-random numbers, repeatable and not secret: splitmix64 (Steele, Lea,
 * Flood: "Fast splittable pseudorandom number generators", 2014).
 *
 * And the delay of the next start after failures: delay, twice that, and so on
 * to delay_max, each with up to a quarter of jitter, so that apps that failed
 * together do not come back together.
 */

#include "core/tstamp.h"

struct prng {
	uint64_t state;
};

static inline uint64_t
prng_next(struct prng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* 0 … span, both included; the bias is below span / 2^64. */
static inline tspan
prng_span(struct prng *r, tspan span)
{
	return (tspan)(prng_next(r) % ((uint64_t)span + 1));
}

/* All 0: nothing has failed. */
struct backoff {
	tspan delay; /* of the last failure; 0: none */
	tstamp failed_at; /* the last failure */
	tstamp until; /* no start before; 0: at any time */
};

/*
 * A process that was started at `started` has failed at `now`.  Processes that
 * fail together are one failure: the delay grows only if this process was
 * started after the last failure.
 */
static inline void
backoff_failed(struct backoff *b, tstamp started, tspan delay, tspan delay_max,
    struct prng *prng, tstamp now)
{
	if (b->delay == 0)
		b->delay = delay;
	else if (started >= b->failed_at)
		b->delay = b->delay > delay_max / 2 ? delay_max : 2 * b->delay;
	if (b->delay > delay_max)
		b->delay = delay_max;
	b->failed_at = now;
	b->until = tstamp_add(now, b->delay + prng_span(prng, b->delay / 4));
}

#endif
