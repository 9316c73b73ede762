#ifndef SIM_LOAD_SPEC_H
#define SIM_LOAD_SPEC_H

/*
 * The description of a load: connections in the order of their arrival, each
 * for one app and with the time that a worker will need for it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tstamp.h"

/* How long a worker needs for one connection. */
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
	uint32_t clients; /* that come again (clients.h); 0: none */
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
	tspan length; /* nothing arrives at this time or later */
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

#endif
