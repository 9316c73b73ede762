/* Facts about connections and about the locks that some wait for. */

#include <assert.h>

#include "core/pool.h"
#include "core/settle.h"

/* How long no lock is asked for after a waiter was denied one. */
#define LOCK_AGAIN TSPAN_MSECONDS(100)

bool
pool_may_accept(const struct pool *p, uint32_t app)
{
	return queue_may_accept(p, app);
}

/* Gives the connection a number and a process, a place, or a refusal. */
static uint32_t
admit(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t conn = queue_admit(p, app);

	if (p->conns[conn].state == CONN_WAITING)
		queue_serve(p, app);
	if (p->conns[conn].state == CONN_WAITING) {
		app_call(a);
		if (app_has_failed(a))
			queue_refuse(p, conn, CAUSE_APP_FAILED);
		else if (app_waiting(a) > app_max_queue(a))
			queue_refuse(p, conn, CAUSE_FULL);
		if (p->conns[conn].state == CONN_REFUSED && app_ready(a) == 0)
			a->refused_down++;
		if (app_waiting(a) >= app_max_queue(a) && !a->full) {
			a->full = true;
			actions_news(p, app, NEWS_FULL, ILIST_NONE);
		}
	}
	settle_app(p, app);
	return conn;
}

uint32_t
pool_arrived(struct pool *p, uint32_t app, tstamp now)
{
	settle_at(p, now);
	p->apps[app].figures.accepted++;
	return admit(p, app);
}

/* --- parked connections --------------------------------------------------- */

void
pool_held(struct pool *p, uint32_t app, tstamp now)
{
	settle_at(p, now);
	p->apps[app].figures.accepted++;
	p->apps[app].figures.parked++;
}

static struct app_figures *
unpark(struct pool *p, uint32_t app, tstamp now)
{
	struct app_figures *f = &p->apps[app].figures;

	settle_at(p, now);
	assert(f->parked > 0);
	f->parked--;
	return f;
}

uint32_t
pool_unparked(struct pool *p, uint32_t app, tstamp now)
{
	(void)unpark(p, app, now);
	return admit(p, app);
}

void
pool_park_ended(struct pool *p, uint32_t app, enum park_end end, tstamp now)
{
	struct app_figures *f = unpark(p, app, now);

	switch (end) {
	case PARK_SERVED:
		f->completed++;
		break;
	case PARK_ABANDONED:
		f->abandoned++;
		break;
	case PARK_TIMED_OUT:
		f->timed_out++;
		break;
	case PARK_REFUSED:
		f->refused++;
		break;
	}
}

/* --- listeners ------------------------------------------------------------ */

static void
set_accepting(struct app *a, enum app_accepting state)
{
	a->accepting = (uint8_t)state;
	app_touch(a, MARK_WAITER | MARK_EMPTIED);
}

void
pool_accept_paused(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	if (app_is_deaf(a) || a->phase == APP_DRAINED)
		return;
	if (a->accepting == ACCEPTING_OPEN)
		a->pending_since = now;
	set_accepting(a, ACCEPTING_PENDING);
	settle_app(p, app);
}

void
pool_accept_resumed(struct pool *p, uint32_t app, tstamp now)
{
	settle_at(p, now);
	set_accepting(&p->apps[app], ACCEPTING_OPEN);
	settle_app(p, app);
}

void
pool_backlog(struct pool *p, uint32_t app, uint32_t depth, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	assert(a->options.listens);
	if (depth > 0 && a->backlog == 0)
		a->pending_since = now;
	if (depth > a->backlog)
		app_call(a);
	a->backlog = app_is_deaf(a) || a->phase == APP_DRAINED ? 0 : depth;
	set_accepting(a, a->backlog > 0 ? ACCEPTING_PENDING : ACCEPTING_OPEN);
	settle_app(p, app);
}

void
pool_abandoned(struct pool *p, uint32_t conn, tstamp now)
{
	struct conn *c = &p->conns[conn];
	struct app *a = &p->apps[c->app];

	settle_at(p, now);
	queue_leave(p, conn);
	a->figures.abandoned++;
	queue_free(p, conn);
	settle_app(p, c->app);
}

/* Puts the connection back to the queue; its process goes on without it. */
static void
take_from(struct pool *p, uint32_t conn)
{
	uint32_t process = p->conns[conn].process;
	struct process *x = &p->processes[process];

	queue_return(p, conn);
	(void)lifecycle_event(p, process,
	    ilist_empty(&x->conns) ? PROCESS_EMPTIED : PROCESS_DONE);
}

void
pool_taken(struct pool *p, uint32_t process, uint32_t conn, tstamp now)
{
	uint32_t app = p->processes[process].app;

	settle_at(p, now);
	if (conn == ILIST_NONE) {
		prefetch_none(p, process);
		lifecycle_arm(p, process);
	} else {
		assert(p->conns[conn].state == CONN_HANDED &&
		    p->conns[conn].process == process);
		p->apps[app].figures.retaken++;
		take_from(p, conn);
	}
	settle_app(p, app);
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
	take_from(p, conn);
	settle_app(p, x->app);
}

/* --- a limit in front of an app ------------------------------------------ */

static struct app *
lock_answered(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	assert(a->lock_requests > 0);
	a->lock_requests--;
	return a;
}

void
pool_lock_granted(struct pool *p, uint32_t app, uint32_t lock, tstamp now)
{
	struct app *a = lock_answered(p, app, now);

	if (a->options.limited && !ilist_empty(&a->queue))
		queue_clear(p, a->queue.first, lock);
	else
		actions_unlock(p, app, lock);
	settle_app(p, app);
}

void
pool_lock_denied(struct pool *p, uint32_t app, bool timed_out, tstamp now)
{
	struct app *a = lock_answered(p, app, now);

	if (!a->options.close_when_full)
		a->lock_after = tstamp_add(now, LOCK_AGAIN);
	else if (!ilist_empty(&a->queue))
		queue_refuse(p, a->queue.first,
		    timed_out ? CAUSE_TIMED_OUT : CAUSE_LIMIT);
	settle_app(p, app);
}

void
pool_limit_moved(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	a->lock_after = 0;
	a->lock_free_until = 0;
	queue_forget_locks(p, app);
	settle_app(p, app);
}

void
pool_lock_unavailable(
    struct pool *p, uint32_t app, bool open, tstamp until, tstamp now)
{
	struct app *a = lock_answered(p, app, now);

	a->lock_after = until;
	if (open)
		a->lock_free_until = until;
	else if (a->options.close_when_full && !ilist_empty(&a->queue))
		queue_refuse(p, a->queue.first, CAUSE_LIMIT);
	settle_app(p, app);
}
