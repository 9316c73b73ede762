#ifndef DAEMON_UNREAD_H
#define DAEMON_UNREAD_H

/*
 * What a living process has been handed and has not received yet: it lies in
 * its socket, of which we hold its end too.
 */

#include "daemon/worker.h"

struct action;

/*
 * Since when it has received nothing though a connection lies unread in its
 * socket; TSTAMP_NEVER: it has received all it was handed.
 */
tstamp unread_since(struct worker *w, tstamp now);

/* ACTION_TAKE: receives the oldest of it in the place of the process. */
void unread_take(struct supervisor *s, const struct action *a, tstamp now);

#endif
