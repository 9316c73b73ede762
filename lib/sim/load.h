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
 * How the rate changes.  The rate of an app is its mean: over the period of a
 * burst or day, over the whole of a ramp.  So profiles can be compared.
 */
enum profile_kind {
	PROFILE_STEADY,
	PROFILE_BURST, /* each period begins `factor` times as high as it ends
			*/
	PROFILE_DAY, /* a sine wave that starts at its lowest point */
	PROFILE_RAMP, /* straight from one rate to another */
};

struct profile {
	enum profile_kind kind;
	tspan period; /* over 0; BURST (1m by default) and DAY (1d) */
	tspan burst; /* under `period`; BURST: its high part (5s) */
	double factor; /* at least 1; BURST (10) */
	double depth; /* 0 … 1; DAY: the amplitude over the mean (0.8) */
	double from; /* RAMP: times the mean, at the start (0) */
	double to; /* RAMP: at the end (2 - from) */
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
 * cannot be read (whoever wants it twice must not name "-").
 *
 * With a trace, rates, services and the profile are of no account; it ends at
 * `length` if that is not 0.  A trace is a file of lines
 *
 *	arrival,app,service
 *
 * both times in seconds with decimals, arrivals in order; the app may be left
 * empty if there is but one.  A first line of just these words, empty lines
 * and those that begin with # say nothing.  It is read as it is needed, in
 * bounded memory, whatever its size.
 */
struct load *load_open(const struct load_spec *spec);
void load_close(struct load *l);

/* The next one; *out is untouched but for LOAD_ARRIVAL. */
enum load_got load_next(struct load *l, struct arrival *out);

/* "FILE:LINE: what is wrong there"; NULL: nothing has been so far. */
const char *load_mistake(const struct load *l);

/*
 * The words of the command line; false: *why_out says what would be valid,
 * *out is untouched.  Durations are those of pool.conf(5), shares are percent.
 *
 *	fixed:20ms  exponential:20ms  lognormal:20ms[:SIGMA]
 *	bimodal:1ms:200ms:1%
 *	steady  burst[:FACTOR[:EVERY[:LENGTH]]]  day[:PERIOD[:DEPTH]]
 *	ramp[:FROM:TO]
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
