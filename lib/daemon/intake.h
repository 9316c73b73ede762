#ifndef DAEMON_INTAKE_H
#define DAEMON_INTAKE_H

/* Connections: from the doors into the pool, and out of the queue. */

#include "daemon/group.h"

/*
 * A door of the group at this address, open and in the loop. NULL and errno,
 * the reason having been logged.
 */
struct door *intake_open(struct group *g, const struct conf_listen *where);

/* Owner, mode, backlog as the group's configuration now says. */
void intake_update(struct door *d);

/* Gives the door to another group. */
void intake_move(struct door *d, struct group *g);

/*
 * Closes the door for newcomers. What is in its backlog is still accepted;
 * then it is closed and freed.
 */
void intake_leave(struct door *d, tstamp now);

/* Closes and frees it at once. */
void intake_close(struct door *d);

/* ACTION_ACCEPT: there is room again. */
void intake_resume(struct group *g, tstamp now);

/* ACTION_REFUSE. */
void intake_refuse(struct supervisor *s, uint32_t conn);

/* When intake_tick() is due, and what it does: doors that rest or leave. */
tstamp intake_deadline(const struct supervisor *s);
void intake_tick(struct supervisor *s, tstamp now);

/* Drops connections whose client has left while they waited. */
void intake_sweep(struct supervisor *s, tstamp now);

#endif
