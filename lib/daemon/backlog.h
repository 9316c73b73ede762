#ifndef DAEMON_BACKLOG_H
#define DAEMON_BACKLOG_H

/*
 * Apps whose processes accept connections themselves (handoff = listen). The
 * daemon keeps their sockets and looks at how many wait in them: while there
 * is nothing to see it waits in the loop for a connection, and then looks now
 * and then until none has waited for a while.
 *
 * It may take a second until a process accepts. Until the backlog has been
 * seen to become shorter since it was started, or it has been seen to hold a
 * connection, or for start_timeout, it is taken to be starting: one of the
 * connections that wait is for it.
 *
 * Processes that hold connections are in use, though they may use no
 * processor. Which ones do is looked up in a lane: the kernel's list of
 * sockets, and the descriptors of each process.
 */

#include "daemon/group.h"

/* The group is new, or goes. */
void backlog_init(struct group *g);
void backlog_fini(struct group *g);

/* A connection waits, or a listener was shut down. */
void backlog_woken(struct group *g, tstamp now);

/* Looks at once. */
void backlog_look(struct group *g, tstamp now);

/*
 * Asks which processes hold connections, if the app has more of them than it
 * must; the core is told.
 */
void backlog_look_for_owners(struct group *g, tstamp now);

#endif
