/* The locks of limits, between the core and the registered limiter. */

#include "daemon/locks.h"
#include "core/action.h"
#include "sys/log.h"

/* Until the next attempt to have a limiter for which there was no memory. */
#define LOCKS_REST TSPAN_SECONDS(1)

static void
granted(void *arg, uint32_t lock, tstamp now)
{
	struct group *g = arg;

	pool_lock_granted(&g->sup->pool, g->app, lock, now);
}

static void
denied(void *arg, bool timed_out, tstamp now)
{
	struct group *g = arg;

	pool_lock_denied(&g->sup->pool, g->app, timed_out, now);
}

static bool
unreachable(void *arg, tstamp until, tstamp now)
{
	struct group *g = arg;
	bool open = g->conf->limit.fail == CONF_LIMIT_FAIL_OPEN;

	pool_lock_unavailable(&g->sup->pool, g->app, open, until, now);
	return open;
}

static const struct limiter_events events = {
	.granted = granted,
	.denied = denied,
	.unreachable = unreachable,
};

void
locks_configure(struct group *g, tstamp now)
{
	const struct services *all = &g->sup->services;

	/* A limiter without a limit stays: it may have locks to give back. */
	if (g->conf->limit.server == NULL || all->limiter == NULL)
		return;
	if (g->limiter == NULL)
		g->limiter =
		    all->limiter->create(all->counter_arg, g->name, &events, g);
	if (g->limiter == NULL)
		log_warn("%s: limit", g->name);
	else if (all->limiter->configure(g->limiter, g->conf))
		pool_limit_moved(&g->sup->pool, g->app, now);
}

void
locks_free(struct group *g)
{
	if (g->limiter != NULL)
		g->sup->services.limiter->free(g->limiter);
	g->limiter = NULL;
}

void
locks_ask(struct supervisor *s, const struct action *a, tstamp now)
{
	struct limiter *l = s->groups[a->app]->limiter;

	if (l == NULL)
		pool_lock_unavailable(
		    &s->pool, a->app, true, now + LOCKS_REST, now);
	else
		s->services.limiter->ask(l, now);
}

void
locks_give_back(struct supervisor *s, const struct action *a, tstamp now)
{
	s->services.limiter->give_back(
	    s->groups[a->app]->limiter, a->lock, now);
}

unsigned
locks_descriptors(const struct services *all, const struct conf_app *conf)
{
	return all->limiter == NULL ? 0 : all->limiter->descriptors(conf);
}

const struct limiter_figures *
locks_figures(const struct group *g)
{
	return g->limiter == NULL
	    ? NULL
	    : g->sup->services.limiter->figures(g->limiter);
}
