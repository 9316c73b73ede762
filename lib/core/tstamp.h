#ifndef CORE_TSTAMP_H
#define CORE_TSTAMP_H

/*
 * Time as everything here knows it: nanoseconds of one clock that never runs
 * backwards (CLOCK_MONOTONIC in the daemon, a counter in the simulator).
 * A signed 64-bit count holds 292 years.
 */

#include <stdint.h>

/* A point in time. */
typedef int64_t tstamp;

/* A length of time; never negative unless a comment says so. */
typedef int64_t tspan;

/* Later than everything: "no deadline". */
#define TSTAMP_NEVER INT64_MAX

#define TSPAN_USECONDS(n) ((tspan)(n)*1000)
#define TSPAN_MSECONDS(n) ((tspan)(n)*1000000)
#define TSPAN_SECONDS(n) ((tspan)(n)*1000000000)

/* The span in seconds, for people: their messages have "%g s". */
static inline double
tspan_to_seconds(tspan span)
{
	return (double)span / 1e9;
}

/* The sum of both, or TSTAMP_NEVER where that is past the end of time. */
static inline tstamp
tstamp_add(tstamp at, tspan span)
{
	return span >= TSTAMP_NEVER - at ? TSTAMP_NEVER : at + span;
}

static inline tstamp
tstamp_min(tstamp a, tstamp b)
{
	return a < b ? a : b;
}

#endif
