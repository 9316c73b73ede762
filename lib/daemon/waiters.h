#ifndef DAEMON_WAITERS_H
#define DAEMON_WAITERS_H

/* Connections that wait in the daemon, or are refused by it. */

#include "daemon/group.h"

struct action;

/* ACTION_REFUSE. */
void waiters_refuse(struct supervisor *s, const struct action *a, tstamp now);

/* For refusals_init(): closes the connection of a group whose refusal is over.
 */
void waiters_refused(void *owner, int fd, bool tcp, bool drain);

/* Logs, now and then, that max_queue is reached, and what that leads to. */
void waiters_tell_full(struct group *g, tstamp now);

/* Drops, about each second, connections whose client has left. */
void waiters_sweep(struct supervisor *s, tstamp now);

#endif
