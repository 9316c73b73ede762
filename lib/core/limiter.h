#ifndef CORE_LIMITER_H
#define CORE_LIMITER_H

/*
 * What a limit in front of an app and the client of the PoolCounter server
 * that asks for its locks have in common: the events that the client reports,
 * and its figures.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"

/* Each request for a lock is answered by one of these calls. */
struct limiter_events {
	/* The lock is given back under this number, its own. */
	void (*granted)(void *arg, uint32_t lock, tstamp now);
	void (*denied)(void *arg, bool timed_out, tstamp now);
	/*
	 * The server does not answer, and is not to be asked before `until`.
	 * Returns whether connections are let in without locks meanwhile.
	 */
	bool (*unreachable)(void *arg, tstamp until, tstamp now);
};

struct limiter_figures {
	unsigned held; /* locks that connections or waiters have */
	unsigned asked; /* requests that are not answered yet */
	uint64_t granted;
	uint64_t full; /* answers QUEUE_FULL */
	uint64_t timed_out; /* answers TIMEOUT */
	uint64_t unreachable; /* requests without an answer */
};

#endif
