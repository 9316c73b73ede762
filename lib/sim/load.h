#ifndef SIM_LOAD_H
#define SIM_LOAD_H

/*
 * A load: connections in the order of their arrival, each for one app and
 * with the time that a process will need for it.  It is drawn at random from
 * a description, or read from a trace.  The same description and seed give
 * the same load, whoever serves it.
 *
 * Arrivals of an app are a Poisson process whose rate follows the profile.
 * Service times are independent of it and of each other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tstamp.h"

/* How long a process needs for one connection. Words: see load_service(). */
enum service_kind {
	SERVICE_FIXED, /* always `mean` */
	SERVICE_EXPONENTIAL, /* of that mean */
	SERVICE_LOGNORMAL, /* of that mean; sigma is of its logarithm */
	SERVICE_BIMODAL, /* `mean`, or with the probability `share`: `other` */
};

struct service {
	enum service_kind kind;
	tspan mean; /* over 0; SERVICE_BIMODAL: the common one */
	double sigma; /* over 0; SERVICE_LOGNORMAL */
	tspan other; /* over 0; SERVICE_BIMODAL: the rare one */
	double share; /* 0 … 1; SERVICE_BIMODAL */
};

/*
 * How the rate changes.  The rate of an app is its mean, over the run or over
 * each period, so that profiles can be compared.  Between the points named
 * here the rate runs straight.
 */
enum profile_kind {
	PROFILE_STEADY,
	/* Quiet, but for one burst at a random time of each period. */
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
	struct service service;
};

struct load_spec {
	const struct load_app
	    *apps; /* the number of an app is its place here */
	size_t apps_len;
	struct profile profile;
	tspan length; /* nothing arrives at this time or later */
	uint64_t seed;
	const char
	    *trace; /* a file ("-": standard input), or NULL; see below */
};

struct arrival {
	tstamp at; /* since the start of the load; never decreases */
	uint32_t app;
	tspan service; /* over 0 */
};

enum load_got {
	LOAD_ARRIVAL,
	LOAD_END,
	LOAD_MISTAKE, /* in the trace; see load_mistake() */
};

struct load;

/*
 * The spec must outlive the load. NULL and errno: no memory, or the trace
 * cannot be opened (whoever wants it twice must not name "-").
 *
 * With a trace, rates, services and the profile are of no account; it ends at
 * `length` if that is not 0.  A trace is a file of lines
 *
 *	arrival,app,service time
 *
 * both times bare seconds or with a unit of pool.conf(5), arrivals in order;
 * the app may be left empty if there is but one.  A first line of titles,
 * empty lines and those that begin with # say nothing.  Arrivals that are
 * times of day (seconds since 1970) count from the first of them.  It is read
 * as it is needed, in bounded memory, whatever its size.
 */
struct load *load_open(const struct load_spec *spec);
void load_close(struct load *l);

/* The next one; *out is untouched but for LOAD_ARRIVAL. */
enum load_got load_next(struct load *l, struct arrival *out);

/*
 * After LOAD_MISTAKE: "FILE:LINE: what is wrong there", several such lines if
 * there are more mistakes in the trace; else NULL.
 */
const char *load_mistake(const struct load *l);

/* How much of the trace has been read, 0 … 1; below 0: nobody knows. */
double load_read(const struct load *l);

/*
 * The words of the command line; false: *why_out says what would be valid,
 * *out is untouched.  Durations are those of pool.conf(5), a share is percent.
 *
 *	fixed:TIME
 *	exponential:MEAN
 *	lognormal:MEAN,SIGMA
 *	lognormal:p50=TIME,p99=TIME
 *	bimodal:TIME,RARE,SHARE
 *
 *	steady
 *	burst[:FACTOR[,LENGTH[,PERIOD]]]
 *	day[:PERIOD]
 *	ramp
 *
 * A bare duration is a fixed service time.
 */
bool load_service(const char *text, struct service *out, const char **why_out);
bool load_profile(const char *text, struct profile *out, const char **why_out);

/* Connections per second: "12.5", "1000/s", "90/m", "500/h". */
bool load_rate(const char *text, double *out, const char **why_out);

/* A duration, as in pool.conf(5). */
bool load_span(const char *text, tspan *out, const char **why_out);

/* The mean of a service time. */
tspan load_service_mean(const struct service *s);

#endif
