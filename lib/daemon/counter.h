#ifndef DAEMON_COUNTER_H
#define DAEMON_COUNTER_H

/*
 * Locks of PoolCounter: the process that gives them to everybody, and the
 * limits of apps, which ask for them there or at other servers.
 */

#include "daemon/group.h"
#include "sys/counter_wire.h"

/* --- poolcounter.c: apppool-counter, run where pool.conf names `counter` -- */

/* An address of it; the texts stay until the next reload. */
struct counter_address {
	const char *where; /* in pool.conf's words */
	char listens[160]; /* where it really listens, for people */
	char reach[160]; /* the same for a process of this machine */
};

int poolcounter_init(struct supervisor *s);

/* A change to what conf says, in the steps of struct control_ops. */
void poolcounter_prepare(
    struct supervisor *s, const struct conf *conf, struct openings *openings);
void poolcounter_commit(
    struct supervisor *s, const struct conf *conf, tstamp now);
void poolcounter_abort(struct supervisor *s);

/*
 * A client of the daemon's own: our end of a connection to the counter; -1 and
 * errno.
 */
int poolcounter_join(struct supervisor *s);

/* A child is dead, which may be the counter. */
void poolcounter_exited(
    struct supervisor *s, const struct reap_death *death, tstamp now);

/* Has the process end, within that time, and closes the listeners. */
void poolcounter_stop(struct supervisor *s, tspan limit);

/* The lanes have ended. */
void poolcounter_fini(struct supervisor *s);

/* Number i: processes of this machine are told the first. NULL: no more. */
const struct counter_address *poolcounter_address(
    const struct supervisor *s, size_t i);

/* False: the configuration has no counter. */
bool poolcounter_figures(
    const struct supervisor *s, struct counter_figures *out);

/* --- limiter.c: a lock in front of each connection of an app -------------- */

/* g->limiter is as the configuration wants it, or NULL without memory. */
void limiter_configure(struct group *g, tstamp now);

/* ACTION_LOCK and ACTION_UNLOCK. */
void limiter_ask(struct supervisor *s, const struct action *a, tstamp now);
void limiter_give_back(
    struct supervisor *s, const struct action *a, tstamp now);

/* How many descriptors the limit of an app may need. */
unsigned limiter_descriptors(const struct conf_app *conf);

#endif
