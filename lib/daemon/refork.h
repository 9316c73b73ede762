#ifndef DAEMON_REFORK_H
#define DAEMON_REFORK_H

/*
 * refork_after: a worker that has served so many requests forks the next
 * template of its app, once for each template that was started by itself. So
 * new workers begin with what that one has loaded since its start.
 */

#include "daemon/worker.h"

/* The group is new, or has other options. */
void refork_init(struct group *g);
void refork_configure(struct group *g, tstamp now);

/*
 * A session of the worker is over, as the core knows. One that connections wait
 * for is never idle: it forks before it receives the next.
 */
void refork_done(struct worker *w, tstamp now);

/*
 * The worker has said FORKED, of this process; pid 0: it could not. False: it
 * was not asked.
 */
bool refork_answered(
    const struct worker *w, uint64_t serial, pid_t pid, tstamp now);

/* The group is freed next. */
void refork_fini(struct group *g);

#endif
