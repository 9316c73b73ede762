/* Locks of a PoolCounter in front of an app. */

#include <assert.h>
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
	bool open;

	l->figures.asked--;
	l->figures.unreachable++;
	open = l->events->unreachable(l->events_arg, now + LIMITER_REST, now);
	log_limited(&l->rate, now, LOG_LEVEL_WARN,
	    "%s: limit: %s: %s; connections are %s for a second", l->app,
	    l->server, why, open ? "let in without it" : "held back");
}

void
limiter_ask(struct limiter *l, tstamp now)
{
	struct lock *k = TAILQ_FIRST(&l->idle);

	l->figures.asked++;
	if (k != NULL)
		lock_ask(k, now);
	else if (lock_new(l, now) == NULL)
		limiter_unreachable(l, strerror(errno), now);
}

void
limiter_give_back(struct limiter *l, uint32_t lock, tstamp now)
{
	assert(lock < l->ntokens && l->tokens[lock] != NULL);
	l->figures.held--;
	lock_release(l->tokens[lock], now);
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

static void
check(struct timer *t, tstamp now)
{
	struct limiter *l = TIMER_OWNER(t, struct limiter, check);
	struct lock *k, *next;

	for (k = TAILQ_FIRST(&l->locks); k != NULL; k = next) {
		next = TAILQ_NEXT(k, next);
		if (k->deadline <= now)
			lock_fail(k, "it does not answer", now);
		else
			timer_advance(&l->loop->timers, &l->check, k->deadline);
	}
}

struct limiter *
limiter_new(struct loop *loop, struct poolcounter *own, const char *app,
    const struct limiter_events *events, void *events_arg)
{
	struct limiter *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->loop = loop;
	l->own = own;
	l->app = app;
	l->events = events;
	l->events_arg = events_arg;
	timer_init(&l->check, check);
	TAILQ_INIT(&l->locks);
	TAILQ_INIT(&l->idle);
	return l;
}

void
limiter_configure(struct limiter *l, const struct conf_limit *limit)
{
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
	timer_set(&l->loop->timers, &l->check, TSTAMP_NEVER);
	free(l->tokens);
	free(l);
}

const struct limiter_figures *
limiter_figures(const struct limiter *l)
{
	return &l->figures;
}
