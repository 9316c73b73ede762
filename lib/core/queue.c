/*
 * Connections: in, through the queue, into the hands of a process, and out
 * by exactly one end.
 *
 * A queue is in the order of arrival.  What comes back from a process that
 * died goes to its old place, which is at or near the head.
 *
 * Prefetched connections were handed to a process beyond its concurrency and
 * lie unread in its socket.  They are taken back when another process has room;
 * but not at once: most are soon read, and taking back costs more than that.
 *
 * A limit in front of an app is a lock of a PoolCounter, from before the
 * hand-over to the end of the session.  No more are asked for than there are
 * places, so that none is held by a connection that could not be served.
 */

#include <assert.h>

#include "core/mechanism.h"
#include "core/pool.h"

/* How long it lies behind a busy process; where prefetch is auto, less. */
#define QUEUE_PATIENCE TSPAN_MSECONDS(5)
#define QUEUE_PATIENCE_AUTO TSPAN_MSECONDS(2)

/* --- prefetched connections ---------------------------------------------- */

static void
queue_unprefetch(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];

	if (p->processes[c->process].prefetched == conn)
		p->processes[c->process].prefetched = p->conn_links[conn].next;
	ilist_remove(&p->apps[c->app].prefetched, p->prefetch_links, conn);
	p->apps[c->app].touched |= MARK_PREFETCH;
	c->prefetched = false;
}

/* The session begins, and the waiting is over. */
static void
queue_begin(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];
	struct app *a = &p->apps[c->app];
	tspan waited = p->now - c->arrived;

	if (c->prefetched)
		queue_unprefetch(p, conn);
	c->begun = p->now;
	if (c->retries > 0)
		return;
	window_add(&a->queue_wait, waited, p->now);
	a->promise.given++;
	/* How long a lock was waited for says nothing here. */
	if (!a->options.limited && waited > app_target(a))
		a->promise.missed++;
}

void
queue_received(struct pool *p, uint32_t process, tstamp before)
{
	struct process *x = &p->processes[process];

	while (x->prefetched != ILIST_NONE &&
	    p->conns[x->prefetched].handed < before)
		queue_begin(p, x->prefetched);
}

tstamp
queue_recall_due(const struct pool *p, const struct app *a)
{
	if (ilist_empty(&a->prefetched) || a->options.private_queue ||
	    a->room.places == 0)
		return TSTAMP_NEVER;
	return tstamp_add(p->conns[a->prefetched.first].handed,
	    a->options.prefetch_auto ? QUEUE_PATIENCE_AUTO : QUEUE_PATIENCE);
}

/* --- in and out ---------------------------------------------------------- */

/* Gives back the lock that the connection holds, if it does. */
static void
queue_unlock(struct pool *p, struct conn *c)
{
	if (c->lock != ILIST_NONE)
		actions_put(p, ACTION_UNLOCK, c->app, c->lock);
	c->lock = ILIST_NONE;
}

/* Takes a waiter off its list; it must go somewhere else at once. */
static void
queue_leave(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];
	struct app *a = &p->apps[c->app];

	assert(c->state == CONN_WAITING);
	ilist_remove(a->options.limited && c->cleared ? &a->cleared : &a->queue,
	    p->conn_links, conn);
	if (app_waiting(a) == 0)
		a->touched |= MARK_EMPTIED;
}

/* Puts the connection where it belongs by its order of arrival. */
static void
queue_insert(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];
	struct app *a = &p->apps[c->app];
	uint32_t at = ILIST_NONE;
	struct ilist *queue;

	/* A lock of a former limit is of no use: it needs another one. */
	if (c->former) {
		queue_unlock(p, c);
		c->cleared = c->former = false;
	}
	queue = a->options.limited && c->cleared ? &a->cleared : &a->queue;
	if (!ilist_empty(queue) && p->conns[queue->last].seq > c->seq) {
		at = queue->first;
		while (p->conns[at].seq < c->seq)
			at = p->conn_links[at].next;
	}
	ilist_insert(queue, p->conn_links, conn, at);
	a->touched |= MARK_WAITER;
	c->state = CONN_WAITING;
	a->figures.max_waiting = MAX(a->figures.max_waiting, app_waiting(a));
}

/* Takes an assigned or handed connection off its process. */
static void
queue_detach(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];
	struct process *x = &p->processes[c->process];

	if (c->prefetched)
		queue_unprefetch(p, conn);
	else if (x->prefetched != ILIST_NONE)
		queue_begin(p, x->prefetched);
	ilist_remove(&x->conns, p->conn_links, conn);
	c->process = ILIST_NONE;
	p->apps[c->app].figures.sessions--;
}

void
queue_free(struct pool *p, uint32_t conn)
{
	struct conn *c = &p->conns[conn];

	if (c->state == CONN_WAITING)
		queue_leave(p, conn);
	else if (c->state != CONN_REFUSED)
		queue_detach(p, conn);
	queue_unlock(p, c);
	c->state = CONN_FREE;
	ilist_push_front(&p->free_conns, p->conn_links, conn);
}

void
queue_return(struct pool *p, uint32_t conn)
{
	uint32_t process = p->conns[conn].process;

	queue_detach(p, conn);
	p->processes[process].handed--;
	process_expire(p, process, false);
	queue_insert(p, conn);
	process_event(p, process, PROCESS_DONE);
}

/* --- the next one -------------------------------------------------------- */

/*
 * The process that is handed a connection ahead: the one that was given one
 * least recently.  Where the pool decides by itself, none is whose session
 * has lasted long already.
 */
static uint32_t
queue_best_ahead(const struct pool *p, const struct app *a)
{
	const struct ilist *l = app_home(a, HOME_PREFETCH);
	const uint32_t ends[] = { l->first, l->last };

	if (!a->options.prefetch_auto || ilist_empty(l))
		return l->first;
	if (!app_prefetches(a))
		return ILIST_NONE;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t conn = p->processes[ends[i]].conns.first;

		if (p->now - p->conns[conn].begun <= 2 * a->session.usual)
			return ends[i];
	}
	return ILIST_NONE;
}

static uint32_t
queue_best(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t n;

	for (; a->room.lowest < a->room.lists; a->room.lowest++) {
		const struct ilist *l = room_list(p, app, a->room.lowest);

		if (ilist_empty(l))
			continue;
		if (!p->processes[l->first].blind ||
		    p->processes[l->first].outdated != 0 ||
		    (a->room.lowest > 0 && a->options.private_queue))
			return l->first;
		/*
		 * A blind process may still have what it was given last: the
		 * one that was used longest ago, of the newest generation.
		 */
		n = l->last;
		while (n != l->first && p->processes[n].outdated != 0)
			n = p->process_links[n].prev;
		return n;
	}
	return queue_best_ahead(p, a);
}

/* --- serving ------------------------------------------------------------- */

bool
pool_may_accept(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (!a->options.sessions || app_is_shut(a) || !tables_have_conn(p))
		return false;
	if (app_waiting(a) < app_max_queue(a) || a->failed ||
	    a->options.close_when_full)
		return true;
	if (a->options.limited)
		return false;
	/* Whether queue_best() gives a process, also a moment later. */
	for (uint32_t i = a->room.lowest; i < a->room.lists; i++)
		if (!ilist_empty(room_list(p, app, i)))
			return true;
	/* Time may take the place behind a session away before it is used. */
	return !a->options.prefetch_auto &&
	    queue_best_ahead(p, a) != ILIST_NONE;
}

/* Gives the process a connection that is on no list. */
static void
queue_assign(struct pool *p, uint32_t conn, uint32_t process)
{
	struct conn *c = &p->conns[conn];
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[c->app];

	assert(room_has(p, process));
	ilist_push_back(&x->conns, p->conn_links, conn);
	c->state = CONN_ASSIGNED;
	c->process = process;
	c->handed = c->begun = x->used = p->now;
	c->slow = false;
	x->handed++;
	if (x->conns.count <= a->options.concurrency) {
		queue_begin(p, conn);
	} else {
		if (x->prefetched == ILIST_NONE)
			x->prefetched = conn;
		c->prefetched = true;
		ilist_push_back(&a->prefetched, p->prefetch_links, conn);
		a->touched |= MARK_PREFETCH;
	}
	if (x->handed == x->request_limit)
		process_expire(p, process, true);
	a->figures.sessions++;
	process_event(p, process, PROCESS_GIVEN);
	actions_put(p, ACTION_HAND, conn, 0);
	(void)process_spend(p, process);
}

static void
queue_serve(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	const struct ilist *servable = app_servable(a);

	while (!ilist_empty(servable)) {
		uint32_t process = queue_best(p, app), conn = servable->first;

		if (process == ILIST_NONE)
			return;
		if (a->renewing &&
		    p->processes[process].started < p->conns[conn].arrived) {
			/* The connection needs a younger process. */
			process_stop(p, process, END_RESTARTED);
			continue;
		}
		queue_leave(p, conn);
		queue_assign(p, conn, process);
	}
	/* Waiters that are left wait for locks. */
	if (app_waiting(a) > 0)
		return;
	a->intake.full = false;
	/* The next connection wants a process that is younger than itself. */
	while (a->renewing && !ilist_empty(room_list(p, app, 0)))
		process_stop(p, room_list(p, app, 0)->first, END_RESTARTED);
}

uint32_t
queue_admit(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t process = ILIST_NONE, conn = p->free_conns.first;

	if (app_waiting(a) == 0 && !a->options.limited && !a->renewing)
		process = queue_best(p, app);
	if (conn != ILIST_NONE) {
		ilist_remove(&p->free_conns, p->conn_links, conn);
	} else {
		assert(p->nconns < p->limits.conns);
		conn = p->nconns++;
	}
	p->conns[conn] = (struct conn){ .app = app,
		.process = ILIST_NONE,
		.lock = ILIST_NONE,
		.seq = ++p->stamps,
		.arrived = p->now };
	/* With a limit a connection wants a process once it has its lock. */
	if (!a->options.limited)
		promise_arrived(&a->promise, app_present(a) + 1);
	if (process == ILIST_NONE) {
		queue_insert(p, conn);
		queue_serve(p, app);
		return conn;
	}
	if (a->figures.max_waiting == 0)
		a->figures.max_waiting = 1;
	a->intake.full = false;
	queue_assign(p, conn, process);
	return conn;
}

/* --- refusing ------------------------------------------------------------ */

void
queue_refuse(struct pool *p, uint32_t conn, enum action_cause cause)
{
	struct conn *c = &p->conns[conn];
	struct app *a = &p->apps[c->app];

	queue_leave(p, conn);
	queue_unlock(p, c);
	c->state = CONN_REFUSED;
	a->leaving.over = 0; /* which must come after the refusal */
	if (cause == CAUSE_TIMED_OUT)
		a->figures.timed_out++;
	else
		a->figures.refused++;
	actions_put(p, ACTION_REFUSE, conn, cause);
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
queue_oldest(const struct pool *p, uint32_t app)
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
pool_waiting_since(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp at = TSTAMP_NEVER;

	if (a->intake.accepting != ACCEPTING_OPEN)
		at = a->intake.pending_since;
	if (app_waiting(a) > 0)
		at = tstamp_min(at, p->conns[queue_oldest(p, app)].arrived);
	return at;
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
	queue_insert(p, conn);
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
		queue_insert(p, n);
	}
}

tstamp
queue_step(struct pool *p, uint32_t app, unsigned marks, bool act)
{
	struct app *a = &p->apps[app];
	tspan timeout = a->options.queue_timeout;
	tstamp at = TSTAMP_NEVER, due;
	uint32_t oldest;

	if (act && MARKED(a, marks, MARK_WAITER | MARK_EMPTIED | MARK_ROOM))
		queue_serve(p, app);
	if (a->prefetched.count > 0) {
		if (act && a->taking == 0 && queue_recall_due(p, a) <= p->now) {
			a->taking = p->now;
			actions_put(p, ACTION_TAKE, app, 0);
		}
		if (a->taking == 0)
			at = queue_recall_due(p, a);
	}
	/* A connection that comes back late is served rather than refused. */
	while (MARKED(a, marks, MARK_WAITER) && timeout != 0 &&
	    (oldest = queue_oldest(p, app)) != ILIST_NONE) {
		due = tstamp_add(p->conns[oldest].arrived, timeout);
		if (due > p->now || !act) {
			at = tstamp_min(at, due);
			break;
		}
		queue_refuse(p, oldest, CAUSE_TIMED_OUT);
	}
	if (!a->options.limited)
		return at;
	if (act && p->now < a->limit.free_until) {
		while (!ilist_empty(&a->queue))
			queue_clear(p, a->queue.first, ILIST_NONE);
		queue_serve(p, app);
	} else if (act && p->now >= a->limit.after && !app_is_ending(a)) {
		/* As many locks are asked for as there are places. */
		while (a->limit.requests + a->cleared.count < a->room.places &&
		    a->limit.requests < a->queue.count) {
			a->limit.requests++;
			actions_put(p, ACTION_LOCK, app, 0);
		}
	}
	if (!ilist_empty(&a->queue) && p->now < a->limit.after)
		at = tstamp_min(at, a->limit.after);
	return at;
}

void
queue_change(struct pool *p, uint32_t app, const struct app_options *o)
{
	struct app *a = &p->apps[app];
	struct ilist *from = o->limited ? &a->queue : &a->cleared, moving;
	bool was_limited = a->options.limited;
	uint32_t n, c, next;

	/* A connection with a lock keeps the lock, and its place. */
	a->options.limited = o->limited;
	for (c = from->first; c != ILIST_NONE && was_limited != o->limited;
	     c = next) {
		next = p->conn_links[c].next;
		if (!p->conns[c].cleared)
			continue;
		ilist_remove(from, p->conn_links, c);
		queue_insert(p, c);
	}
	ilist_init(&moving);
	while ((n = room_next(p, app, ILIST_NONE)) != ILIST_NONE) {
		room_unfile(p, n);
		ilist_push_front(&moving, p->process_links, n);
	}
	a->options = *o;
	app_time_stops(a);
	room_init(p, app);
	while ((n = moving.first) != ILIST_NONE) {
		struct process *x = &p->processes[n];
		uint32_t begun = 0;

		ilist_remove(&moving, p->process_links, n);
		/*
		 * Sessions that have begun go on, even if there are more than
		 * `concurrency` now; prefetched ones begin up to that.
		 */
		for (c = x->conns.first; c != x->prefetched;
		     c = p->conn_links[c].next)
			begun++;
		while (x->prefetched != ILIST_NONE && begun++ < o->concurrency)
			queue_begin(p, x->prefetched);
		process_limit(p, n);
		room_file(p, n);
		process_arm(p, n);
	}
	load_set(&a->load, (double)a->busy / a->room.whole, p->now);
}
