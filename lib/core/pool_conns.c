/* Facts about connections and about the locks that some wait for. */

#include <assert.h>

#include "core/mechanism.h"
#include "core/pool.h"

/* How long no lock is asked for after a waiter was denied one. */
#define LOCK_AGAIN TSPAN_MSECONDS(100)

/* A connection has come to wait: a failed app tries a start soon. */
static void
pool_call(struct app *a)
{
	if (!a->failed || a->failure.called)
		return;
	a->failure.called = true;
	a->touched |= MARK_FAILURE;
}

/* Gives the connection a number and a process, a place, or a refusal. */
static uint32_t
pool_admit(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t conn = queue_admit(p, app);

	if (p->conns[conn].state == CONN_WAITING) {
		pool_call(a);
		if (a->failed)
			queue_refuse(p, conn, CAUSE_APP_FAILED);
		else if (app_waiting(a) > app_max_queue(a))
			queue_refuse(p, conn, CAUSE_FULL);
		if (p->conns[conn].state == CONN_REFUSED && app_ready(a) == 0)
			a->failure.refused++;
		if (app_waiting(a) >= app_max_queue(a) && !a->intake.full) {
			a->intake.full = true;
			actions_news(p, app, NEWS_FULL, ILIST_NONE);
		}
	}
	settle_app(p, app, 0);
	return conn;
}

uint32_t
pool_arrived(struct pool *p, uint32_t app, tstamp now)
{
	settle_at(p, now);
	p->apps[app].figures.accepted++;
	return pool_admit(p, app);
}

void
pool_held(struct pool *p, uint32_t app, tstamp now)
{
	settle_at(p, now);
	p->apps[app].figures.accepted++;
	p->apps[app].figures.parked++;
}

uint32_t
pool_unparked(struct pool *p, uint32_t app, tstamp now)
{
	settle_at(p, now);
	assert(p->apps[app].figures.parked > 0);
	p->apps[app].figures.parked--;
	return pool_admit(p, app);
}

void
pool_park_ended(struct pool *p, uint32_t app, enum park_end end, tstamp now)
{
	struct app_figures *f = &p->apps[app].figures;
	uint64_t *const ends[] = {
		[PARK_SERVED] = &f->completed,
		[PARK_ABANDONED] = &f->abandoned,
		[PARK_TIMED_OUT] = &f->timed_out,
		[PARK_REFUSED] = &f->refused,
	};

	settle_at(p, now);
	assert(f->parked > 0);
	f->parked--;
	++*ends[end];
}

void
pool_accept_paused(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	if (app_is_shut(a) || a->phase == APP_DRAINED)
		return;
	if (a->intake.accepting == ACCEPTING_OPEN)
		a->intake.pending_since = now;
	a->intake.accepting = ACCEPTING_PENDING;
	settle_app(p, app, MARK_WAITER | MARK_EMPTIED);
}

void
pool_accept_resumed(struct pool *p, uint32_t app, tstamp now)
{
	settle_at(p, now);
	p->apps[app].intake.accepting = ACCEPTING_OPEN;
	settle_app(p, app, MARK_WAITER | MARK_EMPTIED);
}

void
pool_backlog(struct pool *p, uint32_t app, uint32_t depth, tstamp now)
{
	struct app *a = &p->apps[app];
	struct app_intake *l = &a->intake;

	settle_at(p, now);
	assert(a->options.listens);
	if (depth > 0 && l->backlog == 0)
		l->pending_since = now;
	if (depth > l->backlog)
		pool_call(a);
	l->backlog = app_is_shut(a) || a->phase == APP_DRAINED ? 0 : depth;
	l->accepting = l->backlog > 0 ? ACCEPTING_PENDING : ACCEPTING_OPEN;
	settle_app(p, app, MARK_WAITER | MARK_EMPTIED);
}

void
pool_abandoned(struct pool *p, uint32_t conn, tstamp now)
{
	struct conn *c = &p->conns[conn];

	settle_at(p, now);
	assert(c->state == CONN_WAITING);
	p->apps[c->app].figures.abandoned++;
	queue_free(p, conn);
	settle_app(p, c->app, 0);
}

void
pool_taken(struct pool *p, uint32_t process, uint32_t conn, tstamp now)
{
	uint32_t app = p->processes[process].app;
	struct app *a = &p->apps[app];
	tstamp asked = a->taking;

	settle_at(p, now);
	a->taking = 0;
	a->touched |= MARK_PREFETCH;
	if (conn == ILIST_NONE) {
		queue_received(p, process, asked);
		process_arm(p, process);
	} else {
		assert(p->conns[conn].state == CONN_HANDED &&
		    p->conns[conn].process == process);
		a->figures.retaken++;
		queue_return(p, conn);
	}
	settle_app(p, app, 0);
}

void
pool_hand_failed(struct pool *p, uint32_t conn, tstamp now)
{
	uint32_t process = p->conns[conn].process;
	struct process *x = &p->processes[process];

	settle_at(p, now);
	assert(p->conns[conn].state == CONN_HANDED);
	x->cooling = true;
	x->cool_until = tstamp_add(now, POOL_COOL);
	queue_return(p, conn);
	settle_app(p, x->app, 0);
}

void
pool_lock_answered(struct pool *p, uint32_t app, enum limit_answer answer,
    uint32_t lock, tstamp until, tstamp now)
{
	struct app *a = &p->apps[app];
	const bool closes = a->options.close_when_full;
	const uint32_t first = a->queue.first;

	settle_at(p, now);
	assert(a->limit.requests > 0);
	a->limit.requests--;
	if (answer == LIMIT_GRANTED) {
		if (a->options.limited && first != ILIST_NONE)
			queue_clear(p, first, lock);
		else
			actions_put(p, ACTION_UNLOCK, app, lock);
	} else if (answer == LIMIT_OPEN) {
		a->limit.after = a->limit.free_until = until;
	} else {
		if (answer == LIMIT_CLOSED)
			a->limit.after = until;
		else if (!closes)
			a->limit.after = tstamp_add(now, LOCK_AGAIN);
		if (closes && first != ILIST_NONE)
			queue_refuse(p, first,
			    answer == LIMIT_TIMED_OUT ? CAUSE_TIMED_OUT
						      : CAUSE_LIMIT);
	}
	settle_app(p, app, 0);
}

void
pool_limit_moved(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	a->limit.after = 0;
	a->limit.free_until = 0;
	queue_forget_locks(p, app);
	settle_app(p, app, 0);
}
