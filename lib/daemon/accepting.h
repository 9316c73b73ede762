#ifndef DAEMON_ACCEPTING_H
#define DAEMON_ACCEPTING_H

/*
 * Connections: from the listeners into the pool. Listeners are in the loop
 * while their app has room. When it has none, all listeners of the app are
 * paused, and the core calls (ACTION_RESUME) when there is room again: so at
 * saturation a connection costs one accept() and no epoll_ctl().
 */

#include "daemon/listeners.h"

struct action;

/* Accepts for the group, from a listener that is on no list, from now on. */
void accepting_begin(struct app_listener *l, struct group *g);

/* The same for all of a list, which is empty then. */
void accepting_begin_all(struct app_listeners *opened, struct group *g);

/* ACTION_RESUME: there is room again. */
void accepting_resume(struct supervisor *s, const struct action *a, tstamp now);

/*
 * Closes the listener for newcomers. What is in its backlog is still
 * accepted; then it is closed and freed.
 */
void accepting_leave(struct app_listener *l, tstamp now);

/*
 * Whether a listener that leaves can be used again: that of a Unix socket was
 * shut down for good, and another one may have its file.
 */
bool accepting_may_return(const struct app_listener *l);

/* It leaves no more, and lets newcomers in. */
void accepting_return(struct app_listener *l);

/* The app accepts no more: leaves all its listeners. */
void accepting_leave_all(struct group *g, tstamp now);

#endif
