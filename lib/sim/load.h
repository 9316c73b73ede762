#ifndef SIM_LOAD_H
#define SIM_LOAD_H

/*
 * A load is drawn at random from its description, or read from a trace
 * (trace.h).  The same description and seed give the same load.
 *
 * Arrivals of an app are a Poisson process whose rate follows the profile.
 * Service times are independent of it and of each other.
 */

#include "core/prng.h"
#include "sim/load_spec.h"

struct load;

/*
 * The spec must outlive the load. NULL and errno: no memory, or the trace
 * cannot be opened ("-" can be read but once).
 *
 * With a trace, rates, services and the profile are of no account; it ends at
 * `length` if that is not 0.
 */
struct load *load_open(const struct load_spec *spec);
void load_close(struct load *l);

/* Gives the next arrival; *out is untouched but for LOAD_ARRIVAL. */
enum load_got load_next(struct load *l, struct arrival *out);

/*
 * After LOAD_MISTAKE: "FILE:LINE: what is wrong there", several such lines if
 * there are more mistakes in the trace; else NULL.
 */
const char *load_mistake(const struct load *l);

/* How much of the trace has been read, 0 … 1; below 0: that is not known. */
double load_read(const struct load *l);

/* The description that load_open() was given. */
const struct load_spec *load_spec(const struct load *l);

/* A service time at random, at least 1 ns unless the mean is 0. */
tspan load_draw(const struct service *s, struct prng *r);

/* The mean of a service time. */
tspan load_service_mean(const struct service *s);

/* The highest rate of a profile over its mean. */
double load_peak(const struct profile *p);

#endif
