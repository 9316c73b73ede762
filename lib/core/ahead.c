/*
 * Prefetch: connections that were handed to a process beyond its concurrency
 * and lie unread in its socket.  When another process has room they are taken
 * back and given to it; but not at once, for most are soon read, and taking
 * back costs more than it brings then.
 */

#include <assert.h>

#include "core/pool_private.h"

/* How long a connection lies behind a busy process before it is taken back. */
#define AHEAD_PATIENCE TSPAN_MSECONDS(5)

static void
ahead_remove(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];

	ilist_remove(&p->apps[c->app].ahead, p->ahead_links, conn);
	c->ahead = false;
}

/* The process has come to it. */
static void
ahead_promote(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];

	p->processes[c->process].ahead = p->conn_links[conn].next;
	ahead_remove(p, conn);
	c->begun = p->now;
}

void
ahead_given(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];
	struct process *x = &p->processes[c->process];

	c->begun = p->now;
	c->slow = false;
	if (process_sessions(x) <= p->apps[c->app].options.concurrency)
		return;
	if (x->ahead == ILIST_NONE)
		x->ahead = conn;
	c->ahead = true;
	ilist_push_back(&p->apps[c->app].ahead, p->ahead_links, conn);
}

void
ahead_leaves(struct pool *p, uint32_t conn)
{
	const struct conn *c = &p->conns[conn];
	struct process *x = &p->processes[c->process];

	if (c->ahead) {
		if (x->ahead == conn)
			x->ahead = p->conn_links[conn].next;
		ahead_remove(p, conn);
	} else if (x->ahead != ILIST_NONE) {
		ahead_promote(p, x->ahead);
	}
}

void
ahead_none(struct pool *p, uint32_t process)
{
	while (p->processes[process].ahead != ILIST_NONE)
		ahead_promote(p, p->processes[process].ahead);
}

void
ahead_sort(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	uint32_t n = 0;

	/* What it has begun with it goes on with, even if that is more now. */
	for (uint32_t c = x->conns.first; c != x->ahead;
	     c = p->conn_links[c].next)
		n++;
	while (
	    x->ahead != ILIST_NONE && n++ < p->apps[x->app].options.concurrency)
		ahead_promote(p, x->ahead);
}

/* When the oldest may be taken back, if somebody has room for it then. */
static tstamp
ahead_due(const struct pool *p, const struct app *a)
{
	if (ilist_empty(&a->ahead) || a->options.private_queue ||
	    a->places == 0)
		return TSTAMP_NEVER;
	return tstamp_add(p->conns[a->ahead.first].handed, AHEAD_PATIENCE);
}

bool
ahead_is_due(const struct pool *p, uint32_t app)
{
	return ahead_due(p, &p->apps[app]) <= p->now;
}

void
ahead_recall(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->taking || !ahead_is_due(p, app))
		return;
	a->taking = true;
	pool_act_app(p, ACTION_TAKE, app);
}

tstamp
ahead_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	return a->taking ? TSTAMP_NEVER : ahead_due(p, a);
}
