#ifndef DAEMON_PICKUP_H
#define DAEMON_PICKUP_H

/*
 * Connections that a living process has been handed and has not received yet:
 * they lie in its end of the channel, of which we have a copy.
 */

#include "daemon/worker.h"

struct action;

/*
 * Since when the process has received nothing though a connection lies unread
 * in its socket; TSTAMP_NEVER: it has received all it was handed.
 */
tstamp pickup_since(struct worker *w, tstamp now);

/*
 * The process was handed a connection: whether it receives that is looked at,
 * until it has, for pickup_timeout, which the pool is told in time.
 */
void pickup_await(struct worker *w, tstamp now);

/* ACTION_TAKE: receives the oldest message in the place of the process. */
void pickup_take(struct supervisor *s, const struct action *a, tstamp now);

#endif
