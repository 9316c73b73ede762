/*
 * Connections: in, through the queue, into the hands of a process, and out
 * by exactly one end.
 *
 * A queue is in the order of arrival.  What comes back from a process that
 * died goes to its old place, which is at or near the head.
 *
 * A limit in front of an app is a lock, counted by a PoolCounter that several
 * machines may share: it is taken before the hand-over and given back at the
 * end of the session.  Locks are asked for only as far as there are places,
 * so that none is held by a connection that could not be served.
 */

#include <assert.h>

#include "core/mechanism.h"

static uint32_t
free_number(struct pool *p)
{
	uint32_t c = p->free_conns.first;

	if (c != ILIST_NONE) {
		ilist_remove(&p->free_conns, p->conn_links, c);
		return c;
	}
	assert(p->nconns < p->limits.conns);
	return p->nconns++;
}

/* The list on which the connection waits, or would wait. */
static struct ilist *
queue_of(struct pool *p, const struct conn *c)
{
	struct app *a = &p->apps[c->app];

	return a->options.limited && c->cleared ? &a->cleared : &a->queue;
}

/* Gives back the lock that the connection holds, if it does. */
static void
unlock(struct pool *p, struct conn *c)
{
	if (c->lock != ILIST_NONE)
		actions_unlock(p, c->app, c->lock);
	c->lock = ILIST_NONE;
}

/* The connection needs another lock if that which it has is of no use. */
static void
forget_lock(struct pool *p, struct conn *c)
{
	if (!c->former)
		return;
	unlock(p, c);
	c->cleared = false;
	c->former = false;
}

void
queue_free(struct pool *p, uint32_t conn)
{
	unlock(p, &p->conns[conn]);
	p->conns[conn].state = CONN_FREE;
	ilist_push_front(&p->free_conns, p->conn_links, conn);
}

void
queue_leave(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];
	struct app *a = &p->apps[c->app];

	assert(c->state == CONN_WAITING);
	ilist_remove(queue_of(p, c), p->conn_links, conn);
	if (app_waiting(a) == 0)
		app_touch(a, MARK_EMPTIED);
}

static void
count_waiting(struct app *a, uint32_t n)
{
	if (n > a->figures.max_waiting)
		a->figures.max_waiting = n;
}

/* Puts the connection where it belongs by its order of arrival. */
static void
insert(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];
	struct app *a = &p->apps[c->app];
	struct ilist *queue = queue_of(p, c);
	uint32_t at = ILIST_NONE;

	if (!ilist_empty(queue) && p->conns[queue->last].seq > c->seq) {
		at = queue->first;
		while (p->conns[at].seq < c->seq)
			at = p->conn_links[at].next;
	}
	ilist_insert(queue, p->conn_links, conn, at);
	app_touch(a, MARK_WAITER);
	c->state = CONN_WAITING;
	count_waiting(a, app_waiting(a));
}

bool
queue_may_accept(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (!a->options.sessions || app_is_deaf(a) || !tables_have_conn(p))
		return false;
	if (app_waiting(a) < app_max_queue(a) || app_has_failed(a) ||
	    a->options.close_when_full)
		return true;
	return !a->options.limited && room_exists(p, app);
}

void
queue_detach(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];
	struct process *x = &p->processes[c->process];

	prefetch_leaves(p, conn);
	ilist_remove(&x->conns, p->conn_links, conn);
	c->process = ILIST_NONE;
	p->apps[c->app].figures.sessions--;
}

void
queue_return(struct pool *p, uint32_t conn)
{
	uint32_t process = p->conns[conn].process;

	queue_detach(p, conn);
	p->processes[process].handed--;
	lifecycle_expire(p, process, false);
	forget_lock(p, &p->conns[conn]);
	insert(p, conn);
}

/* --- serving ------------------------------------------------------------- */

/* Gives the process a connection that is on no list. */
static void
assign(struct pool *p, uint32_t conn, uint32_t process)
{
	struct conn *c = &p->conns[conn];
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[c->app];

	assert(room_has(p, process));
	ilist_push_back(&x->conns, p->conn_links, conn);
	c->state = CONN_ASSIGNED;
	c->process = process;
	c->handed = p->now;
	x->used = p->now;
	x->handed++;
	prefetch_given(p, conn);
	if (x->handed == x->request_limit)
		lifecycle_expire(p, process, true);
	a->figures.sessions++;
	(void)lifecycle_event(p, process, PROCESS_GIVEN);
	actions_conn(p, ACTION_HAND, conn, 0);
	if (lifecycle_is_spent(p, process))
		(void)lifecycle_stop(p, process, END_REQUESTS);
}

/* Whether the connection needs a younger process than this. */
static bool
is_too_old(const struct pool *p, uint32_t process, uint32_t conn)
{
	return p->apps[p->conns[conn].app].renewing &&
	    p->processes[process].started < p->conns[conn].arrived;
}

uint32_t
queue_admit(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	bool at_once =
	    app_waiting(a) == 0 && !a->options.limited && !a->renewing;
	uint32_t process = at_once ? room_best(p, app) : ILIST_NONE;
	uint32_t number = free_number(p);

	p->conns[number] = (struct conn){ .app = app,
		.process = ILIST_NONE,
		.lock = ILIST_NONE,
		.seq = ++p->stamps,
		.arrived = p->now };
	/* With a limit a connection wants a process once it has its lock. */
	if (!a->options.limited)
		promise_arrived(&a->promise, app_present(a) + 1);
	if (process == ILIST_NONE) {
		insert(p, number);
		return number;
	}
	count_waiting(a, 1);
	a->full = false;
	assign(p, number, process);
	return number;
}

void
queue_serve(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	const struct ilist *servable = app_servable(a);
	uint32_t conn;

	while (!ilist_empty(servable)) {
		uint32_t process = room_best(p, app);

		if (process == ILIST_NONE)
			return;
		conn = servable->first;
		if (is_too_old(p, process, conn)) {
			(void)lifecycle_stop(p, process, END_RESTARTED);
			continue;
		}
		queue_leave(p, conn);
		assign(p, conn, process);
	}
	/* Waiters that are left wait for locks. */
	if (app_waiting(a) > 0)
		return;
	a->full = false;
	/* The next connection wants a process that is younger than itself. */
	while (a->renewing && !ilist_empty(room_list(p, app, 0)))
		(void)lifecycle_stop(
		    p, room_list(p, app, 0)->first, END_RESTARTED);
}

/* --- refusing ------------------------------------------------------------ */

void
queue_refuse(struct pool *p, uint32_t conn, enum action_cause cause)
{
	struct conn *c = &p->conns[conn];
	struct app *a = &p->apps[c->app];

	queue_leave(p, conn);
	unlock(p, c);
	c->state = CONN_REFUSED;
	a->over = 0; /* which must come after the refusal */
	if (cause == CAUSE_TIMED_OUT)
		a->figures.timed_out++;
	else
		a->figures.refused++;
	actions_conn(p, ACTION_REFUSE, conn, cause);
}

void
queue_refuse_all(struct pool *p, uint32_t app, enum action_cause cause)
{
	struct app *a = &p->apps[app];

	while (!ilist_empty(&a->cleared))
		queue_refuse(p, a->cleared.first, cause);
	while (!ilist_empty(&a->queue))
		queue_refuse(p, a->queue.first, cause);
}

/* The waiter that has waited longest; ILIST_NONE: there is no waiter. */
static uint32_t
oldest(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	uint32_t c = a->queue.first, cleared = a->cleared.first;

	if (c == ILIST_NONE)
		return cleared;
	if (cleared == ILIST_NONE)
		return c;
	return p->conns[cleared].seq < p->conns[c].seq ? cleared : c;
}

tstamp
queue_since(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp at =
	    a->accepting != ACCEPTING_OPEN ? a->pending_since : TSTAMP_NEVER;

	if (app_waiting(a) > 0)
		at = tstamp_min(at, p->conns[oldest(p, app)].arrived);
	return at;
}

tstamp
queue_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (a->options.queue_timeout == 0 || app_waiting(a) == 0)
		return TSTAMP_NEVER;
	return tstamp_add(
	    p->conns[oldest(p, app)].arrived, a->options.queue_timeout);
}

void
queue_expire(struct pool *p, uint32_t app)
{
	while (queue_deadline(p, app) <= p->now)
		queue_refuse(p, oldest(p, app), CAUSE_TIMED_OUT);
}

/* --- locks --------------------------------------------------------------- */

void
queue_clear(struct pool *p, uint32_t conn, uint32_t lock)
{
	struct conn *c = &p->conns[conn];
	struct app *a = &p->apps[c->app];

	queue_leave(p, conn);
	c->lock = lock;
	c->cleared = true;
	insert(p, conn);
	promise_arrived(&a->promise, app_present(a));
}

void
queue_forget_locks(struct pool *p, uint32_t app)
{
	for (uint32_t n = 0; n < p->nconns; n++) {
		struct conn *c = &p->conns[n];

		if (c->state == CONN_FREE || c->app != app ||
		    c->lock == ILIST_NONE)
			continue;
		c->former = true;
		if (c->state != CONN_WAITING)
			continue;
		queue_leave(p, n);
		forget_lock(p, c);
		insert(p, n);
	}
}

void
queue_ask_locks(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (!a->options.limited)
		return;
	if (p->now < a->lock_free_until) {
		while (!ilist_empty(&a->queue))
			queue_clear(p, a->queue.first, ILIST_NONE);
		queue_serve(p, app);
		return;
	}
	if (p->now < a->lock_after || app_is_ending(a))
		return;
	while (a->lock_requests + a->cleared.count < a->places &&
	    a->lock_requests < a->queue.count) {
		a->lock_requests++;
		actions_app(p, ACTION_LOCK, app);
	}
}

tstamp
queue_lock_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (!a->options.limited || ilist_empty(&a->queue) ||
	    p->now >= a->lock_after)
		return TSTAMP_NEVER;
	return a->lock_after;
}

void
queue_set_limited(struct pool *p, uint32_t app, bool limited)
{
	struct app *a = &p->apps[app];
	struct ilist *from = limited ? &a->queue : &a->cleared;
	uint32_t c, next;

	if (a->options.limited == limited)
		return;
	a->options.limited = limited;
	/* A connection with a lock keeps the lock, and its place. */
	for (c = from->first; c != ILIST_NONE; c = next) {
		next = p->conn_links[c].next;
		if (!p->conns[c].cleared)
			continue;
		ilist_remove(from, p->conn_links, c);
		insert(p, c);
	}
}
