/*
 * Prefetch: connections that were handed to a process beyond its concurrency
 * and lie unread in its socket.  When another process has room they are taken
 * back and given to it; but not at once, for most are soon read, and taking
 * back costs more than it brings then.
 */

#include "core/mechanism.h"

/*
 * How long a connection lies behind a busy process before it is taken back; and
 * where the pool hands ahead by itself, never behind a session that is long.
 */
#define PATIENCE TSPAN_MSECONDS(5)
#define PATIENCE_AUTO TSPAN_MSECONDS(2)

static void
take_off(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];

	ilist_remove(&p->apps[c->app].prefetched, p->prefetch_links, conn);
	app_touch(&p->apps[c->app], MARK_PREFETCH);
	c->prefetched = false;
}

/* Its session begins, and its waiting is over. */
static void
begin(struct pool *p, struct conn *c)
{
	struct app *a = &p->apps[c->app];
	tspan waited = p->now - c->arrived;

	c->begun = p->now;
	if (c->retries > 0)
		return;
	window_add(&a->queue_wait, waited, p->now);
	/* How long a lock was waited for says nothing here. */
	promise_given(
	    &a->promise, !a->options.limited && waited > app_target(a));
}

/* The process has come to the connection. */
static void
begin_session(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];

	p->processes[c->process].prefetched = p->conn_links[conn].next;
	take_off(p, conn);
	begin(p, c);
}

void
prefetch_given(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];
	struct process *x = &p->processes[c->process];

	c->begun = p->now;
	c->slow = false;
	if (process_sessions(x) <= p->apps[c->app].options.concurrency) {
		begin(p, c);
		return;
	}
	if (x->prefetched == ILIST_NONE)
		x->prefetched = conn;
	c->prefetched = true;
	ilist_push_back(&p->apps[c->app].prefetched, p->prefetch_links, conn);
	app_touch(&p->apps[c->app], MARK_PREFETCH);
}

void
prefetch_leaves(struct pool *p, uint32_t conn)
{
	const struct conn *c = &p->conns[conn];
	struct process *x = &p->processes[c->process];

	if (c->prefetched) {
		if (x->prefetched == conn)
			x->prefetched = p->conn_links[conn].next;
		take_off(p, conn);
	} else if (x->prefetched != ILIST_NONE) {
		begin_session(p, x->prefetched);
	}
}

void
prefetch_none(struct pool *p, uint32_t process)
{
	while (p->processes[process].prefetched != ILIST_NONE)
		begin_session(p, p->processes[process].prefetched);
}

void
prefetch_sort(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	uint32_t n = 0;

	/* Sessions that have begun go on, even if there are more than that. */
	for (uint32_t c = x->conns.first; c != x->prefetched;
	     c = p->conn_links[c].next)
		n++;
	while (x->prefetched != ILIST_NONE &&
	    n++ < p->apps[x->app].options.concurrency)
		begin_session(p, x->prefetched);
}

/* When the oldest may be taken back, if another process has room. */
static tstamp
due(const struct pool *p, const struct app *a)
{
	if (ilist_empty(&a->prefetched) || a->options.private_queue ||
	    a->places == 0)
		return TSTAMP_NEVER;
	return tstamp_add(p->conns[a->prefetched.first].handed,
	    a->options.prefetch_auto ? PATIENCE_AUTO : PATIENCE);
}

bool
prefetch_is_due(const struct pool *p, uint32_t app)
{
	return due(p, &p->apps[app]) <= p->now;
}

void
prefetch_recall(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->taking || !prefetch_is_due(p, app))
		return;
	a->taking = true;
	actions_app(p, ACTION_TAKE, app);
}

tstamp
prefetch_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	return a->taking ? TSTAMP_NEVER : due(p, a);
}
