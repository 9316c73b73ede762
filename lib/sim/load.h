#ifndef SIM_LOAD_H
#define SIM_LOAD_H

/*
 * A load: connections in the order of their arrival, each for one app and with
 * the time that a worker will need for it.  It is drawn at random from its
 * description, recorded in a trace, or brought by clients who come again when
 * they have been served.  The same description and seed give the same load.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/prng.h"
#include "core/tstamp.h"

/* How long a worker needs for one connection. */
enum service_kind {
	SERVICE_FIXED, /* always `mean` */
	SERVICE_EXPONENTIAL, /* of that mean */
	SERVICE_LOGNORMAL, /* of that mean; sigma is of its logarithm */
	SERVICE_UNIFORM, /* from `mean` to `other` */
	SERVICE_BIMODAL, /* `mean`, or with the probability `share`: `other` */
};

struct service {
	enum service_kind kind;
	tspan mean; /* over 0; UNIFORM: the shortest; BIMODAL: the common one */
	double sigma; /* over 0; LOGNORMAL */
	tspan other; /* over 0; UNIFORM: the longest; BIMODAL: the rare one */
	double share; /* 0 … 1; BIMODAL */
};

/*
 * How the rate changes.  The rate of an app is its mean, over the run or over
 * each period, so that profiles can be compared.  Between the points named
 * here the rate runs straight.
 */
enum profile_kind {
	PROFILE_STEADY,
	/* A burst at a random time of each period. */
	PROFILE_BURST,
	/*
	 * From midnight to midnight: lowest at 4 (an eighth of the mean),
	 * highest at 11 and at 20 (1.8 and 1.7 times the mean).
	 */
	PROFILE_DAY,
	/* From nothing to twice the mean in the middle of the run, and back. */
	PROFILE_RAMP,
};

struct profile {
	enum profile_kind kind;
	double factor; /* BURST: the rate in a burst over that of the rest */
	tspan burst; /* BURST: how long one is; under `period` */
	tspan period; /* over 0; DAY: may be 0, then it is the run */
};

struct load_app {
	const char *name; /* as a trace calls it */
	double rate; /* connections per second; 0: none */
	uint32_t clients; /* that come again; 0: none */
	struct service think; /* of such a client; a mean of 0: not at all */
	struct service service;

	/* As they were typed; NULL: they were not. */
	const char *typed_rate;
	const char *typed_think;
	const char *typed_service;
};

struct load_spec {
	const struct load_app *apps; /* an app's number is its place here */
	size_t apps_len;
	bool closed; /* clients come again, and there are no rates */
	struct profile profile;
	tspan length; /* nothing arrives at this time or later; 0: a trace's */
	uint64_t seed;
	const char *trace; /* a file ("-": standard input), or NULL */
};

struct arrival {
	tstamp at; /* since the start of the load; never decreases */
	uint32_t app;
	tspan service; /* over 0 */
};

enum load_got {
	LOAD_ARRIVAL,
	LOAD_END,
	LOAD_MISTAKE, /* in the trace */
};

/* --- load.c --------------------------------------------------------------- */

/* A client that was turned away does not come back at the same moment. */
#define LOAD_RETRY TSPAN_MSECONDS(1)

struct load;

/*
 * The spec must outlive the load. NULL and errno: the trace cannot be opened;
 * "-" can be read but once.
 *
 * With a trace, rates, services and the profile are of no account; it ends at
 * `length` if that is not 0.
 */
struct load *load_open(const struct load_spec *spec);
void load_close(struct load *l);

/* The description that load_open() was given. */
const struct load_spec *load_spec(const struct load *l);

/*
 * LOAD_ARRIVAL: *at_out is when the next connection arrives, since the start
 * of the load; TSTAMP_NEVER: not before load_left().
 */
enum load_got load_look(struct load *l, tstamp *at_out);

/* The arrival that load_look() has told of. */
struct arrival load_take(struct load *l);

/* A connection has ended, now: a client of the app thinks, and comes again. */
void load_left(struct load *l, uint32_t app, bool served, tstamp now);

/* Both at once, for a load without clients; *out is as load_take() gives it. */
enum load_got load_next(struct load *l, struct arrival *out);

/*
 * After LOAD_MISTAKE: "FILE:LINE: what is wrong there", several such lines if
 * there are more mistakes in the trace; else NULL.
 */
const char *load_mistake(const struct load *l);

/* A service time at random, at least 1 ns unless the mean is 0. */
tspan load_draw(const struct service *s, struct prng *r);

/* The mean of a service time. */
tspan load_service_mean(const struct service *s);

/* The highest rate of a profile over its mean. */
double load_peak(const struct profile *p);

/* --- trace.c -------------------------------------------------------------- */

struct trace;

/* The name of the file in messages: "-" is standard input. */
const char *trace_name(const char *file);

/* The spec must outlive the trace. NULL and errno. */
struct trace *trace_open(const struct load_spec *spec);
void trace_close(struct trace *t);

/* The same as load_next() and load_mistake(). */
enum load_got trace_next(struct trace *t, struct arrival *out);
const char *trace_mistake(const struct trace *t);

#endif
