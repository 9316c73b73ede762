/* Locks of a PoolCounter in front of an app. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter/limiter_private.h"
#include "sys/log.h"

/* A request without an answer. */
void
limiter_unreachable(struct limiter *l, const char *why, tstamp now)
{
	struct group *g = l->group;
	bool open = g->conf->limit_fail == CONF_LIMIT_FAIL_OPEN;

	l->figures.asked--;
	l->figures.unreachable++;
	log_limited(&l->rate, now, LOG_LEVEL_WARN,
	    "%s: limit: %s: %s; connections are %s for a second", g->conf->name,
	    l->server, why, open ? "let in without it" : "held back");
	pool_lock_unavailable(
	    &g->sup->pool, g->app, open, now + LIMITER_REST, now);
}

void
limiter_ask(struct supervisor *s, const struct action *a, tstamp now)
{
	struct limiter *l = s->groups[a->app]->limiter;
	struct lock *k;

	if (l == NULL) {
		pool_lock_unavailable(
		    &s->pool, a->app, true, now + LIMITER_REST, now);
		return;
	}
	l->figures.asked++;
	k = TAILQ_FIRST(&l->idle);
	if (k != NULL)
		lock_ask(k, now);
	else if (lock_new(l, now) == NULL)
		limiter_unreachable(l, strerror(errno), now);
}

void
limiter_give_back(struct supervisor *s, const struct action *a, tstamp now)
{
	struct limiter *l = s->groups[a->app]->limiter;
	struct lock *k;

	/* The limit may have been taken away, and its locks with it. */
	if (l == NULL || a->lock >= l->ntokens)
		return;
	k = l->tokens[a->lock];
	if (k == NULL)
		return;
	l->figures.held--;
	lock_release(k, now);
}

/* --- configuration ------------------------------------------------------ */

static void
limiter_set(struct limiter *l, const struct conf_limit *limit)
{
	double seconds = (double)limit->timeout / 1e9;

	(void)snprintf(l->server, sizeof(l->server), "%s", limit->server);
	l->where = limit->where;
	l->local = limit->local;
	l->timeout = limit->timeout;
	/* Servers of old know whole seconds only. */
	(void)snprintf(l->request, sizeof(l->request), "ACQ4ME %s %u %u %.*f\n",
	    limit->key, limit->workers, limit->maxqueue,
	    limit->timeout % TSPAN_SECONDS(1) == 0 ? 0 : 3, seconds);
}

/* Idle connections go; those in use when they have done their work. */
static void
limiter_drop_idle(struct limiter *l)
{
	struct lock *k;

	while ((k = TAILQ_FIRST(&l->idle)) != NULL)
		lock_free(k);
}

void
limiter_configure(struct group *g)
{
	const struct conf_limit *limit = &g->conf->limit;
	struct limiter *l = g->limiter;

	/* Locks that are held are still to be given back: it stays. */
	if (limit->server == NULL)
		return;
	if (l == NULL) {
		l = calloc(1, sizeof(*l));
		if (l == NULL) {
			log_warn("%s: limit", g->conf->name);
			return;
		}
		l->group = g;
		l->check_at = TSTAMP_NEVER;
		TAILQ_INIT(&l->locks);
		TAILQ_INIT(&l->idle);
		TAILQ_INSERT_TAIL(&g->sup->limiters, l, next);
		g->limiter = l;
	}
	limiter_drop_idle(l);
	limiter_set(l, limit);
}

unsigned
limiter_descriptors(const struct conf_app *conf)
{
	unsigned each = conf->limit.local ? 2 : 1;

	if (conf->limit.server == NULL)
		return 0;
	return each * (conf->max_processes * conf->concurrency + LIMITER_SPARE);
}

void
limiter_free(struct limiter *l)
{
	struct lock *k;

	limiter_drop_idle(l);
	while ((k = TAILQ_FIRST(&l->locks)) != NULL)
		lock_free(k);
	TAILQ_REMOVE(&l->group->sup->limiters, l, next);
	l->group->limiter = NULL;
	free(l->tokens);
	free(l);
}

/* --- time --------------------------------------------------------------- */

tstamp
limiter_deadline(const struct supervisor *s)
{
	tstamp at = TSTAMP_NEVER;
	const struct limiter *l;

	TAILQ_FOREACH(l, &s->limiters, next)
		at = tstamp_min(at, l->check_at);
	return at;
}

static void
limiter_check(struct limiter *l, tstamp now)
{
	struct lock *k, *next;

	l->check_at = TSTAMP_NEVER;
	for (k = TAILQ_FIRST(&l->locks); k != NULL; k = next) {
		next = TAILQ_NEXT(k, next);
		if (k->deadline <= now)
			lock_fail(k, "it does not answer", now);
		else
			l->check_at = tstamp_min(l->check_at, k->deadline);
	}
}

void
limiter_tick(struct supervisor *s, tstamp now)
{
	struct limiter *l;

	TAILQ_FOREACH(l, &s->limiters, next)
		if (l->check_at <= now)
			limiter_check(l, now);
}

const struct limiter_figures *
limiter_figures(const struct group *g)
{
	return g->limiter == NULL ? NULL : &g->limiter->figures;
}
