/* Facts about processes: their start, what they say, their end. */

#include <assert.h>

#include "core/mechanism.h"
#include "core/pool.h"

void
pool_start_queued(struct pool *p, uint32_t process, bool queued, tstamp now)
{
	struct process *x = &p->processes[process];

	settle_at(p, now);
	x->queued = queued;
	if (!queued)
		x->started = now;
	process_arm(p, process);
}

void
pool_spawned(struct pool *p, uint32_t process, tstamp now)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	settle_at(p, now);
	a->figures.spawned++;
	if (a->options.sessions)
		return;
	x->executed = now;
	process_arm(p, process);
	if (a->options.ready_after == 0) {
		if (process_ready(p, process))
			rollout_replace(p, x->app);
		settle_app(p, x->app, 0);
	}
}

void
pool_spawn_failed(struct pool *p, uint32_t process, bool no_room, tstamp now)
{
	uint32_t app = p->processes[process].app;
	bool wanted = !p->processes[process].asked;
	struct app *a = &p->apps[app];

	settle_at(p, now);
	if (wanted && no_room) {
		a->failure.rest_until = tstamp_add(now, POOL_NO_ROOM_REST);
		a->touched |= MARK_FAILURE;
	} else if (wanted) {
		a->figures.exits[END_SPAWN]++;
		failure_end(p, process, END_SPAWN);
	}
	process_free(p, process);
	settle_app(p, app, 0);
}

void
pool_spoke(struct pool *p, uint32_t process, tstamp now)
{
	settle_at(p, now);
	if (!p->processes[process].cooling)
		return;
	p->processes[process].cooling = false;
	room_file(p, process);
	process_arm(p, process);
	settle_app(p, p->processes[process].app, 0);
}

bool
pool_ready(struct pool *p, uint32_t process, tstamp now)
{
	struct process *x = &p->processes[process];

	settle_at(p, now);
	if (x->ready)
		return false;
	if (process_ready(p, process))
		rollout_replace(p, x->app);
	settle_app(p, x->app, 0);
	return true;
}

/* Counts the session of a connection that a process has, and frees that. */
static void
pool_session_end(struct pool *p, uint32_t conn, enum session_end end)
{
	struct process *x = &p->processes[p->conns[conn].process];
	struct app *a = &p->apps[x->app];
	tspan took = p->now - p->conns[conn].begun;

	if (end == SESSION_LOST) {
		a->figures.lost++;
	} else {
		if (end == SESSION_DONE)
			a->figures.completed++;
		else
			a->figures.parked++;
		/* An old process proves nothing of the new ones. */
		if (x->stamp > a->rollout.stamp)
			app_served(a, x);
		app_measure(a, took, p->now);
	}
	canary_session(p, x, end == SESSION_LOST, took);
	queue_free(p, conn);
	x->requests++;
}

bool
pool_session_over(struct pool *p, uint32_t process, uint32_t conn,
    enum session_end end, tstamp now)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	settle_at(p, now);
	if (conn >= p->nconns || p->conns[conn].state != CONN_HANDED ||
	    p->conns[conn].process != process)
		return false;
	pool_session_end(p, conn, end);
	x->used = p->now;
	x->cooling = false;
	process_event(p, process, PROCESS_DONE);
	if (process_spend(p, process))
		;
	else if (x->state == PROCESS_IDLE && sizing_is_over(p, a))
		/* Later it is busy again, as long as connections wait. */
		process_stop(p, process, END_RESIZED);
	else if ((x->state == PROCESS_IDLE || x->state == PROCESS_ACTIVE) &&
	    !rollout_yield(p, process))
		(void)places_yield(p, process);
	settle_app(p, x->app, 0);
	return true;
}

void
pool_blind(struct pool *p, uint32_t process, tstamp now)
{
	settle_at(p, now);
	p->processes[process].blind = true;
	process_arm(p, process);
}

void
pool_replace(struct pool *p, uint32_t process, tstamp now)
{
	const struct process *x = &p->processes[process];
	uint32_t app = x->app;

	settle_at(p, now);
	if (x->state == PROCESS_STARTING) {
		process_stop(p, process, END_RESTARTED);
	} else if (x->state == PROCESS_IDLE || x->state == PROCESS_ACTIVE) {
		app_forgive(&p->apps[app]);
		rollout_add(p, app, process);
		settle_places(p);
	}
	settle_app(p, app, 0);
}

void
pool_detach(struct pool *p, uint32_t process, tstamp now)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];
	uint32_t app = x->app;

	settle_at(p, now);
	if (x->asked || x->state == PROCESS_DYING)
		return;
	process_detach(p, process);
	/* Another process takes its place at once. */
	if (bounds_kept(p, a) && !a->renewing && !bounds_paused(p, a) &&
	    bounds_allowed(a, 1) > 0 && places_free(p, 0) > 0)
		process_start(p, app);
	settle_app(p, app, 0);
}

void
pool_quit(struct pool *p, uint32_t process, enum process_end why, tstamp now)
{
	settle_at(p, now);
	process_escalate(
	    p, process, why == END_RETIRED ? STEP_STOP : STEP_KILL, why);
	settle_app(p, p->processes[process].app, 0);
}

void
pool_unread(struct pool *p, uint32_t process, tstamp since, tstamp now)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	settle_at(p, now);
	if (ilist_empty(&x->conns) || x->step >= STEP_KILL ||
	    now - since < a->options.pickup_timeout)
		return;
	/* The connection waited beside a process that did nothing for it. */
	a->idle_waiting.sum += now - since;
	process_escalate(p, process, STEP_KILL, END_PICKUP_TIMEOUT);
	settle_app(p, x->app, 0);
}

void
pool_measured(struct pool *p, uint32_t process, uint64_t memory, tstamp now)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];

	settle_at(p, now);
	if (a->options.max_memory == 0 || memory <= a->options.max_memory ||
	    x->outdated != 0)
		return;
	process_outdate(p, process, END_MEMORY);
	settle_app(p, x->app, 0);
}

void
pool_unheard(struct pool *p, uint32_t process, bool replaceable, tstamp now)
{
	const struct process *x = &p->processes[process];

	settle_at(p, now);
	if (x->state == PROCESS_STARTING || !replaceable)
		process_stop(p, process, END_KEEPER);
	else if (x->outdated == 0)
		process_outdate(p, process, END_KEEPER);
	settle_app(p, x->app, 0);
}

void
pool_worked(struct pool *p, uint32_t process, double processors, bool in_use,
    tstamp now)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint32_t whole = a->room.whole;

	settle_at(p, now);
	assert(a->options.listens && processors >= 0);
	if (x->state != PROCESS_IDLE)
		return;
	if (in_use) {
		x->used = now;
		room_file(p, process);
	}
	room_set_busy(p, process,
	    processors < 1 ? (uint32_t)(processors * whole) : whole);
	settle_app(p, x->app, 0);
}

void
pool_looked(struct pool *p, uint32_t app, tstamp began, tstamp now)
{
	settle_at(p, now);
	p->apps[app].shrinking.looked = began;
	settle_app(p, app, MARK_ROOM);
}

void
pool_died(struct pool *p, uint32_t process, enum process_end how, tstamp now)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint32_t c, next;

	settle_at(p, now);
	x->exited = how != END_SIGNAL && how != END_OOM;
	/* A job that ends well was ready, and so is its app. */
	if (how == END_EXIT && x->state == PROCESS_STARTING &&
	    app_has_jobs(a)) {
		if (process_ready(p, process))
			rollout_replace(p, x->app);
		a->failure.jobs_done++;
	}
	a->figures.exits[x->asked ? x->end : how]++;
	if (!x->asked)
		failure_end(p, process, how);
	process_event(p, process, PROCESS_DIED);
	queue_received(p, process, TSTAMP_NEVER);
	/* Connections that were promised to it and never sent. */
	for (c = x->conns.first; c != ILIST_NONE; c = next) {
		next = p->conn_links[c].next;
		if (p->conns[c].state == CONN_ASSIGNED)
			queue_return(p, c);
	}
	settle_app(p, x->app, 0);
}

void
pool_retaken(struct pool *p, uint32_t conn, tstamp now)
{
	struct conn *c = &p->conns[conn];
	struct app *a = &p->apps[c->app];

	settle_at(p, now);
	assert(c->state == CONN_HANDED);
	queue_return(p, conn);
	a->figures.retaken++;
	if (++c->retries > a->options.retry_limit)
		queue_refuse(p, conn, CAUSE_RETRIES);
	settle_app(p, c->app, 0);
}

void
pool_gone(struct pool *p, uint32_t process, tstamp now)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint32_t app = x->app;
	bool failed =
	    x->asked && (x->end == END_FAIL || x->end == END_NONSENSE);
	bool done = a->options.exit_ends && x->exited && !failed;

	settle_at(p, now);
	/* A session proves here what other apps prove by age. */
	if (done && !ilist_empty(&x->conns) && x->stamp > a->rollout.stamp)
		app_forgive(a);
	while (!ilist_empty(&x->conns))
		pool_session_end(
		    p, x->conns.first, done ? SESSION_DONE : SESSION_LOST);
	process_free(p, process);
	settle_app(p, app, 0);
}
