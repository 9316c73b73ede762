#ifndef DAEMON_HOLD_H
#define DAEMON_HOLD_H

/*
 * Apps that an operator holds. A drained app leaves its clients in the backlog
 * of its listeners until it is resumed; a stopped app closes its listeners
 * until it is started. Both serve what they have accepted, have no process
 * then, and stay so across reloads.
 */

#include "daemon/group.h"

/* The app is running. */
void hold_drain(struct group *g, tstamp now);

/* The app is drained, or being so. */
void hold_resume(struct group *g, tstamp now);

/* The app is in any of these states; a start under way comes to nothing. */
void hold_stop(struct group *g, tstamp now);

/*
 * The app is stopped, and has no listener any more. Its listeners are opened in
 * a lane; afterwards it runs, or is still stopped, for start_error, which is
 * logged, or because of a hold_stop() or a reload meanwhile.
 */
void hold_start(struct group *g, tstamp now);

/* The group goes. */
void hold_forget(struct group *g);

/* A new group of the same app is held as the former one is. */
void hold_inherit(struct group *g, const struct group *former, tstamp now);

#endif
