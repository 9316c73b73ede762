#ifndef COUNTER_LIMITER_H
#define COUNTER_LIMITER_H

/*
 * A limit in front of an app: locks of a PoolCounter server, on this machine
 * or another, asked for when the core wants one and given back when it says
 * so. Each lock has a connection of its own, so that a request that waits
 * never stands before a release, and a lock ends with its connection if all
 * else fails.
 */

#include "daemon/group.h"

struct action;
struct limiter;

/*
 * Makes or changes g->limiter as the group's configuration wants it. Without
 * memory for it the server counts as unreachable.
 */
void limiter_configure(struct group *g);

/* How many descriptors the limit of an app may need. */
unsigned limiter_descriptors(const struct conf_app *conf);

/* Closes every connection: the server takes the locks back. */
void limiter_free(struct limiter *l);

/* ACTION_LOCK and ACTION_UNLOCK. */
void limiter_ask(struct supervisor *s, const struct action *a, tstamp now);
void limiter_give_back(
    struct supervisor *s, const struct action *a, tstamp now);

/* When limiter_tick() is due: servers that do not answer. */
tstamp limiter_deadline(const struct supervisor *s);
void limiter_tick(struct supervisor *s, tstamp now);

/* For the status. */
struct limiter_figures {
	unsigned held; /* locks that connections or waiters have */
	unsigned asked; /* requests that are not answered yet */
	uint64_t granted;
	uint64_t full; /* answers QUEUE_FULL */
	uint64_t timed_out; /* answers TIMEOUT */
	uint64_t unreachable; /* requests without an answer */
};

/* NULL: the group has no limit. */
const struct limiter_figures *limiter_figures(const struct group *g);

#endif
