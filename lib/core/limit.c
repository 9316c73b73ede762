/*
 * A limit in front of an app: a lock, counted by a PoolCounter that several
 * machines may share, is taken before each hand-over and given back at the
 * end of the session.  Locks are asked for only as far as there are places,
 * so that none is held by a connection that could not be served.
 */

#include <assert.h>

#include "core/pool_private.h"

/* How long a waiter that was not let in keeps its place before it asks on. */
#define LIMIT_AGAIN TSPAN_MSECONDS(100)

static void
limit_give_back(struct pool *p, uint32_t app, uint32_t lock)
{
	pool_act(p,
	    (struct action){ .kind = ACTION_UNLOCK,
		.app = app,
		.process = ILIST_NONE,
		.conn = ILIST_NONE,
		.lock = lock,
		.stamp = p->apps[app].stamp });
}

void
limit_unlock(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];

	if (c->lock != ILIST_NONE)
		limit_give_back(p, c->app, c->lock);
	c->lock = ILIST_NONE;
}

/* Nobody needs a lock for now: the server cannot be reached. */
static bool
limit_is_open(const struct pool *p, const struct app *a)
{
	return p->now < a->lock_free_until;
}

void
limit_update(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (!a->options.limited)
		return;
	if (limit_is_open(p, a)) {
		while (!ilist_empty(&a->queue))
			queue_clear(p, a->queue.first, ILIST_NONE);
		queue_serve(p, app);
		return;
	}
	if (p->now < a->lock_after || a->phase >= APP_STOPPING)
		return;
	while (a->lock_requests + a->cleared.count < a->places &&
	    a->lock_requests < a->queue.count) {
		a->lock_requests++;
		pool_act_app(p, ACTION_LOCK, app);
	}
}

tstamp
limit_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (!a->options.limited || ilist_empty(&a->queue) ||
	    p->now >= a->lock_after)
		return TSTAMP_NEVER;
	return a->lock_after;
}

void
limit_switch(struct pool *p, uint32_t app, bool limited)
{
	struct app *a = &p->apps[app];
	struct ilist *from = limited ? &a->queue : &a->cleared;
	uint32_t c, next;

	if (a->options.limited == limited)
		return;
	a->options.limited = limited;
	/* Whoever holds a lock keeps it, and its place. */
	for (c = from->first; c != ILIST_NONE; c = next) {
		next = p->conn_links[c].next;
		if (!p->conns[c].cleared)
			continue;
		ilist_remove(from, p->conn_links, c);
		queue_insert(p, c);
	}
}

void
pool_lock_granted(struct pool *p, uint32_t app, uint32_t lock, tstamp now)
{
	struct app *a = &p->apps[app];

	pool_at(p, now);
	assert(a->lock_requests > 0);
	a->lock_requests--;
	if (a->options.limited && !ilist_empty(&a->queue))
		queue_clear(p, a->queue.first, lock);
	else
		limit_give_back(p, app, lock);
	pool_settle(p, app);
}

void
pool_lock_denied(struct pool *p, uint32_t app, bool timed_out, tstamp now)
{
	struct app *a = &p->apps[app];

	pool_at(p, now);
	assert(a->lock_requests > 0);
	a->lock_requests--;
	if (!a->options.close_when_full)
		a->lock_after = tstamp_add(now, LIMIT_AGAIN);
	else if (!ilist_empty(&a->queue))
		queue_refuse(p, a->queue.first,
		    timed_out ? CAUSE_TIMED_OUT : CAUSE_LIMIT);
	pool_settle(p, app);
}

void
pool_lock_unavailable(
    struct pool *p, uint32_t app, bool open, tstamp until, tstamp now)
{
	struct app *a = &p->apps[app];

	pool_at(p, now);
	assert(a->lock_requests > 0);
	a->lock_requests--;
	a->lock_after = until;
	if (open)
		a->lock_free_until = until;
	else if (a->options.close_when_full && !ilist_empty(&a->queue))
		queue_refuse(p, a->queue.first, CAUSE_LIMIT);
	pool_settle(p, app);
}
