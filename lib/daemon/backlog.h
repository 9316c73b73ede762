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
 * A lane looks at the sockets that the processes have open. Those that hold
 * connections are in use, though they may use no processor. Where connections
 * wait and none has been accepted, or a program under native says nothing, it
 * may listen on a port of its own instead: its users are told.
 */

#include "daemon/worker.h"

/* The group is new, or goes. */
void backlog_init(struct group *g);
void backlog_fini(struct group *g);

/* A connection waits, or a listener was shut down. */
void backlog_woken(struct group *g, tstamp now);

/* Looks at once. */
void backlog_look(struct group *g, tstamp now);

/* A process, of any app, was started; the first of the app is ready. */
void backlog_started(struct worker *w, tstamp now);
void backlog_ready(struct group *g);

/*
 * The process uses no processor: asks whether it, or another one, holds a
 * connection, if the app has more of them than it must; the core is told.
 */
void backlog_sampled(struct worker *w, tstamp now);

/* "it listens on :3000 itself: ...", of the newest processes; "": it is not so.
 */
const char *backlog_wrong_port(const struct group *g);

#endif
