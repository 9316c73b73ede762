#ifndef DAEMON_LISTENING_H
#define DAEMON_LISTENING_H

/*
 * Apps whose processes accept connections themselves (handoff = listen). The
 * daemon keeps their sockets and looks at how many wait in them: while there
 * is nothing to see it waits in the loop for somebody to come, and then looks
 * now and then until nobody has waited for a while.
 *
 * It may take a second until a process accepts. Until the backlog has been seen
 * to become shorter since it was started, or it has been seen to hold a
 * connection, or for start_timeout, it is taken to be starting: one of those
 * who wait is for it.
 */

#include "daemon/supervisor.h"

/* The group has come, and then in group_free() goes again. */
void listening_add(struct group *g);
void listening_remove(struct group *g);

/* Somebody knocks at one of its doors, or one of them was broken. */
void listening_woken(struct group *g, tstamp now);

/* Looks at once. */
void listening_look(struct group *g, tstamp now);

/* A door was bound anew: its processes have the former one. */
void listening_rebound(struct group *g, tstamp now);

/* When listening_tick() is due. */
tstamp listening_deadline(const struct supervisor *s);
void listening_tick(struct supervisor *s, tstamp now);

#endif
