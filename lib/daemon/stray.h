#ifndef DAEMON_STRAY_H
#define DAEMON_STRAY_H

/*
 * Programs under handoff = listen that listen on a TCP address of their own
 * instead of the sockets they were given: their clients would wait for ever
 * while the processes seem to run. And programs under native that do so instead
 * of speaking with the daemon, and are never ready. A lane looks at the sockets
 * of the processes, and of what these have started.
 *
 * A program may have such an address besides, for figures. So it counts as a
 * stray only if no epoll of its has ours, and one has that address while no
 * thread is in a call that may accept, or a connection has waited for a while.
 */

#include "daemon/worker.h"

/* The group is new, or goes. */
void stray_init(struct group *g);
void stray_fini(struct group *g);

/* A process was started, of any app. */
void stray_started(struct worker *w, tstamp now);

/* Processes have become ready; of any app. */
void stray_look(struct group *g, tstamp now);

/* A process that is ready was looked at: a young one may listen only now. */
void stray_sampled(struct worker *w, tstamp now);

/* A connection waits and no process has ever accepted; or not so any more. */
void stray_awaited(struct group *g, bool awaited, tstamp now);

/* A process accepts. */
void stray_accepted(struct group *g);

/* Whether a look is under way that may find a stray soon. */
bool stray_is_unknown(const struct group *g, tstamp now);

#endif
