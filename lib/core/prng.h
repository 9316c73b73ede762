#ifndef CORE_PRNG_H
#define CORE_PRNG_H

/*
 * Pseudo-random numbers for jitter: repeatable from a seed, not secret.
 * The generator is splitmix64 (Steele, Lea, Flood: "Fast splittable
 * pseudorandom number generators", 2014).
 */

#include <stdint.h>

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

#endif
