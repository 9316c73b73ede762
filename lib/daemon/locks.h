#ifndef DAEMON_LOCKS_H
#define DAEMON_LOCKS_H

/*
 * The limits of apps: locks that the core wants are asked for at, and given
 * back to, the registered client of a PoolCounter server.
 */

#include "daemon/group.h"

struct action;
struct services;

/*
 * Makes or changes g->limiter as the group's configuration wants it. Without
 * memory for it, connections are let in without locks.
 */
void locks_configure(struct group *g, tstamp now);

/* Closes every connection of g->limiter, which may be NULL. */
void locks_free(struct group *g);

/* ACTION_LOCK and ACTION_UNLOCK. */
void locks_ask(struct supervisor *s, const struct action *a, tstamp now);
void locks_give_back(struct supervisor *s, const struct action *a, tstamp now);

/* How many descriptors the limit of an app may need. */
unsigned locks_descriptors(
    const struct services *all, const struct conf_app *conf);

/* Figures of the group's limit; NULL: it has none. */
const struct limiter_figures *locks_figures(const struct group *g);

#endif
