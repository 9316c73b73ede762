#ifndef COUNTER_LIMITER_H
#define COUNTER_LIMITER_H

/*
 * A limit in front of an app: locks of a PoolCounter server, on this machine
 * or another, asked for when the core wants one and given back when it says
 * so. Each lock has a connection of its own, so that a request that waits
 * never stands before a release, and a lock ends with its connection if all
 * else fails.
 */

#include <stdint.h>

#include "conf/conf.h"
#include "core/limiter.h"

struct limiter;

/*
 * own: the struct poolcounter of this daemon, whose loop is used. app is for
 * the log; it, events and events_arg outlive the limiter. NULL and errno.
 */
struct limiter *limiter_create(void *own, const char *app,
    const struct limiter_events *events, void *events_arg);

/*
 * Sets the servers and the request; conf has a limit.  True: servers or key
 * are others than before, and requests that are not answered go to these.
 */
bool limiter_configure(struct limiter *l, const struct conf_app *conf);

/* Closes every connection: the server takes the locks back. */
void limiter_free(struct limiter *l);

/* Asks for a lock; one of the events is the answer, perhaps within this call.
 */
void limiter_ask(struct limiter *l, tstamp now);

/* Gives a lock back that was granted under this number. */
void limiter_give_back(struct limiter *l, uint32_t lock, tstamp now);

const struct limiter_figures *limiter_figures(const struct limiter *l);

/* How many descriptors the limit of an app may need. */
unsigned limiter_descriptors(const struct conf_app *conf);

#endif
