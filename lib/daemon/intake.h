#ifndef DAEMON_INTAKE_H
#define DAEMON_INTAKE_H

/* Connections: from the doors into the pool, and out of the queue. */

#include "daemon/group.h"

struct action;

/*
 * Opens doors at this address of an app (several where the service manager
 * gave several sockets of one name) and appends them to out: bound and
 * listening, but looked at by nobody. None where the app is broken because
 * nobody knows the host. 0; or -1 and errno, logged, and then out is as it
 * was.
 */
int intake_open(const struct conf_app *conf, const struct conf_listen *where,
    struct doors *out);

/* Puts a door that is on no list into use for the group. */
void intake_adopt(struct door *d, struct group *g);

/* Takes a door out of use, off its group, as intake_open() gave it. */
void intake_detach(struct door *d);

/* The group's doors are in the loop, or out of it. */
void intake_mute(struct group *g, bool muted);

/* Somebody shut the door's socket down: another one takes its place. */
void intake_rebind(struct door *d, tstamp now);

/* Owner, mode and backlog as its group's configuration has them. */
void intake_update(struct door *d);

/*
 * Closes the door for newcomers. What is in its backlog is still accepted;
 * then it is closed and freed.
 */
void intake_leave(struct door *d, tstamp now);

/* Closes and frees it at once; it may be out of use. */
void intake_close(struct door *d);

/* The app accepts no more: all its doors leave. */
void intake_leave_all(struct group *g, tstamp now);
void intake_close_all(struct group *g);

/* ACTION_RESUME: there is room again. */
void intake_resume(struct group *g, tstamp now);

/* ACTION_REFUSE. */
void intake_refuse(struct supervisor *s, const struct action *a, tstamp now);

/* When intake_tick() is due, and what it does: doors that rest or leave. */
tstamp intake_deadline(const struct supervisor *s);
void intake_tick(struct supervisor *s, tstamp now);

/* Drops connections whose client has left while they waited. */
void intake_sweep(struct supervisor *s, tstamp now);

#endif
