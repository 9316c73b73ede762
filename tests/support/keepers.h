#ifndef SUPPORT_KEEPERS_H
#define SUPPORT_KEEPERS_H

/*
 * HTTP clients that keep their connections, in one thread: all are connected
 * at once, and most are idle.  An error ends the program.
 */

#include <stdint.h>

#include "core/tstamp.h"
#include "endpoint.h"
#include "samples.h"

struct keepers;

/* Requests in a Poisson stream, each on an idle connection drawn at random. */
struct keepers_load {
	double rate; /* a second */
	tspan span;
	uint64_t seed;
	struct samples *times; /* microseconds from due to answered */
};

struct keepers_totals {
	int64_t asked, answered;
	tspan elapsed; /* from the first request to the last answer */
};

/* Returns when each client has been answered once. */
struct keepers *keepers_open(const struct endpoint *to, int count);
void keepers_run(struct keepers *k, const struct keepers_load *load,
    struct keepers_totals *out);
void keepers_close(struct keepers *k);

#endif
