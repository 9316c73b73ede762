#ifndef SUPPORT_CLIENTS_H
#define SUPPORT_CLIENTS_H

/*
 * Many clients in one thread.  Each connects, sends one request, reads until
 * the end of the stream and closes; how it ended is told to a callback.  In a
 * closed loop as many as `concurrency` are open at any time; with a `rate`
 * they come in a Poisson stream, whether or not the earlier ones are served.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tstamp.h"
#include "endpoint.h"

enum client_end {
	CLIENT_ANSWERED, /* a whole line came */
	CLIENT_EOF, /* connected, then the stream ended without one */
	CLIENT_RESET, /* connected, then reset without one */
	CLIENT_TIMEOUT, /* no end within the time allowed */
	CLIENT_REFUSED, /* nobody listens there */
	CLIENT_FAILED, /* never connected, for another reason */
	CLIENT_ENDS
};

/* The most of an answer that is kept, and the longest request. */
enum {
	CLIENT_KEPT = 240,
	CLIENT_REQUEST_MAX = 512
};

/* What became of one connection.  Times are of CLOCK_MONOTONIC. */
struct client_result {
	int64_t number; /* 0, 1, ... in order of their starts */
	enum client_end end;
	int error; /* errno of the failure, or 0 */
	tstamp started; /* just before connect() */
	tstamp connected; /* when it had succeeded; 0 if it never did */
	tstamp ended;
	const char *answer; /* its beginning, not terminated */
	size_t len;
};

struct clients_plan {
	struct endpoint to;
	int64_t count; /* connections to make, at least 1 */
	int concurrency; /* open at a time, at least 1 */
	double rate; /* a second; 0: closed loop */
	uint64_t seed; /* of the arrivals */
	tspan timeout; /* of one connection */
	tspan limit; /* no new ones start after so long */
	bool stop_on_refused; /* nor after the first that was refused */

	/* Writes request `number` into `buf`; returns its length. */
	size_t (*request)(void *arg, int64_t number, char *buf, size_t size);
	void (*ended)(void *arg, const struct client_result *result);
	void *arg;
};

struct clients_totals {
	int64_t started;
	int64_t ends[CLIENT_ENDS];
	tspan elapsed; /* from the first start to the last end */
};

/* 0, or -1 with errno when the run could not be set up. */
int clients_run(const struct clients_plan *plan, struct clients_totals *out);

/* "answered", "eof", ... */
const char *client_end_name(enum client_end end);

/* Raises the soft descriptor limit to the hard one, which is returned. */
int clients_raise_nofile(void);

/* CLOCK_MONOTONIC. */
tstamp clients_now(void);

#endif
