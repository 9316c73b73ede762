#ifndef SUPPORT_CLIENTS_H
#define SUPPORT_CLIENTS_H

/*
 * Many clients in one thread.  Each connects, sends one request, reads until
 * the end of the stream and closes; how it ended is told to a callback.  In a
 * closed loop as many as `concurrency` are open at any time; with a `rate` they
 * come in a Poisson stream, whether or not the earlier ones are served.
 */

#include <stdint.h>

#include "client.h"
#include "core/tstamp.h"

struct clients_totals {
	int64_t started;
	int64_t ends[CLIENT_ENDS];
	tspan elapsed; /* from the first start to the last end */
};

/* 0, or -1 with errno when the run could not be set up. */
int clients_run(const struct client_plan *plan, struct clients_totals *out);

/* Raises the soft descriptor limit to the hard one, which is returned. */
int clients_raise_nofile(void);

#endif
