#ifndef SIM_LOAD_PRIVATE_H
#define SIM_LOAD_PRIVATE_H

/* What the files load*.c share: the parts that a load is drawn from. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/prng.h"
#include "core/tstamp.h"
#include "sim/load.h"

/* Over 0, at most 1: good for a logarithm. */
static inline double
draw_share(struct prng *r)
{
	return (double)((prng_next(r) >> 11) + 1) * 0x1p-53;
}

/* --- the rate over time ------------------------------------------------- */

/*
 * A profile, cut into parts in which the rate runs straight.  Rates are
 * multiples of the mean, times are seconds.
 */
struct curve {
	const struct profile *profile;
	double run; /* length of the run */
	double period; /* of the profile; the parts are those of one period */
	struct prng prng; /* when bursts come */
	uint64_t periods; /* begun */
	unsigned next; /* part of this period */
	double burst_at; /* in this period */
	/* The part we are in. */
	double start; /* since the start of the run */
	double length; /* may be infinite */
	double from; /* the rate at its start */
	double slope; /* by which the rate changes in a second */
};

/* Stands before its first part. */
void curve_init(
    struct curve *c, const struct profile *p, tspan run, uint64_t seed);

/* To the next part. There always is one, be it after the end of the run. */
void curve_next(struct curve *c);

/* How much of the mean rate's work the whole part holds, in seconds of it. */
double curve_part(const struct curve *c);

/* The point of time in the part at which it has held so much. */
double curve_after(const struct curve *c, double held);

/* --- service times ------------------------------------------------------ */

/* At least 1 ns. */
tspan service_draw(const struct service *s, struct prng *r);

/* --- one of many, by weight --------------------------------------------- */

/* In constant time; A. J. Walker's aliases. */
struct mix {
	uint32_t len;
	struct mix_slot {
		double share; /* of this slot that is its own number's */
		uint32_t other; /* whose the rest is */
	} * slots;
};

/* weights: at least one over 0. -1 and errno: no memory. */
int mix_init(struct mix *m, const double *weights, uint32_t len);
void mix_fini(struct mix *m);
uint32_t mix_draw(const struct mix *m, struct prng *r);

/* --- traces ------------------------------------------------------------- */

struct trace;

/* NULL and errno. */
struct trace *trace_open(const struct load_spec *spec);
void trace_close(struct trace *t);
enum load_got trace_next(struct trace *t, struct arrival *out);
const char *trace_mistake(const struct trace *t);
double trace_read(const struct trace *t);

#endif
