/* Facts about connections: they come, and some come back. */

#include <assert.h>

#include "core/pool_private.h"

bool
pool_has_numbers(const struct pool *p)
{
	return p->nconns - p->free_conns.count < p->limits.conns;
}

bool
pool_may_accept(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (!a->options.sessions || a->phase > APP_CLOSING ||
	    !pool_has_numbers(p))
		return false;
	if (app_waiting(a) < app_max_queue(a) || a->failed ||
	    a->options.close_when_full)
		return true;
	return !a->options.limited && room_exists(p, app);
}

uint32_t
pool_arrived(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];
	uint32_t conn;

	pool_at(p, now);
	conn = queue_admit(p, app);
	queue_serve(p, app);
	if (p->conns[conn].state == CONN_WAITING) {
		if (a->failed)
			queue_refuse(p, conn, CAUSE_APP_FAILED);
		else if (app_waiting(a) > app_max_queue(a))
			queue_refuse(p, conn, CAUSE_FULL);
		if (p->conns[conn].state == CONN_REFUSED && app_ready(a) == 0)
			a->refused_while_down = true;
		if (app_waiting(a) >= app_max_queue(a) && !a->full) {
			a->full = true;
			pool_tell(p, app, NEWS_FULL, ILIST_NONE);
		}
	}
	pool_settle(p, app);
	return conn;
}

void
pool_accept_paused(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	pool_at(p, now);
	a->resuming = false;
	if (a->drained || a->phase > APP_CLOSING)
		return;
	if (!a->pending) {
		a->pending = true;
		a->pending_since = now;
	}
	pool_settle(p, app);
}

void
pool_accept_resumed(struct pool *p, uint32_t app, tstamp now)
{
	pool_at(p, now);
	p->apps[app].resuming = false;
	p->apps[app].pending = false;
	pool_settle(p, app);
}

void
pool_backlog(struct pool *p, uint32_t app, uint32_t depth, tstamp now)
{
	struct app *a = &p->apps[app];

	pool_at(p, now);
	assert(a->options.listens);
	if (depth > 0 && a->backlog == 0)
		a->pending_since = now;
	a->backlog = a->drained ? 0 : depth;
	a->pending = a->backlog > 0;
	pool_settle(p, app);
}

void
pool_abandoned(struct pool *p, uint32_t conn, tstamp now)
{
	struct conn *c = &p->conns[conn];
	struct app *a = &p->apps[c->app];

	pool_at(p, now);
	queue_leave(p, conn);
	a->figures.abandoned++;
	queue_free(p, conn);
	pool_settle(p, c->app);
}

/* Back to the queue; the process goes on with what remains to it. */
static void
pool_take_from(struct pool *p, uint32_t conn)
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

	pool_at(p, now);
	if (conn == ILIST_NONE) {
		prefetch_none(p, process);
		timing_arm(p, process);
	} else {
		assert(p->conns[conn].state == CONN_HANDED &&
		    p->conns[conn].process == process);
		p->apps[app].figures.retaken++;
		pool_take_from(p, conn);
	}
	pool_settle(p, app);
}

void
pool_hand_failed(struct pool *p, uint32_t conn, tstamp now)
{
	uint32_t process = p->conns[conn].process;
	struct process *x = &p->processes[process];

	pool_at(p, now);
	assert(p->conns[conn].state == CONN_HANDED);
	x->cooling = true;
	x->cool_until = tstamp_add(now, POOL_COOL);
	pool_take_from(p, conn);
	pool_settle(p, x->app);
}
