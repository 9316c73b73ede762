/* Facts about processes: their start, what they say, their end. */

#include <assert.h>

#include "core/pool.h"
#include "core/settle.h"

/* The process is ready; if it is idle, an outdated process leaves for it. */
static void
become_ready(struct pool *p, uint32_t process)
{
	if (lifecycle_ready(p, process))
		rollout_replace(p, p->processes[process].app);
}

/* Ends the process for what it has done or said. */
static void
end(struct pool *p, uint32_t process, enum process_step step,
    enum process_end why)
{
	if (lifecycle_escalate(p, process, step, why))
		failure_end(p, process, why);
}

void
pool_start_queued(struct pool *p, uint32_t process, tstamp now)
{
	settle_at(p, now);
	p->processes[process].queued = true;
	lifecycle_arm(p, process);
}

void
pool_start_began(struct pool *p, uint32_t process, tstamp now)
{
	struct process *x = &p->processes[process];

	settle_at(p, now);
	x->queued = false;
	x->started = now;
	lifecycle_arm(p, process);
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
	lifecycle_arm(p, process);
	if (a->options.ready_after == 0) {
		become_ready(p, process);
		settle_app(p, x->app);
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
		a->rest_until = tstamp_add(now, POOL_NO_ROOM_REST);
		app_touch(a, MARK_FAILURE);
	} else if (wanted) {
		a->figures.exits[END_SPAWN]++;
		failure_spawn(p, process);
	}
	lifecycle_free(p, process);
	settle_app(p, app);
}

void
pool_spoke(struct pool *p, uint32_t process, tstamp now)
{
	settle_at(p, now);
	if (!p->processes[process].cooling)
		return;
	p->processes[process].cooling = false;
	room_file(p, process);
	lifecycle_arm(p, process);
	settle_app(p, p->processes[process].app);
}

bool
pool_ready(struct pool *p, uint32_t process, tstamp now)
{
	struct process *x = &p->processes[process];

	settle_at(p, now);
	if (x->ready)
		return false;
	become_ready(p, process);
	settle_app(p, x->app);
	return true;
}

/* Whether the process has received this connection and may end it. */
static bool
holds(const struct pool *p, uint32_t process, uint32_t conn)
{
	return conn < p->nconns && p->conns[conn].state == CONN_HANDED &&
	    p->conns[conn].process == process;
}

/* Frees the connection and the process, which may have to leave now. */
static void
session_over(struct pool *p, uint32_t process, uint32_t conn)
{
	struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];

	queue_detach(p, conn);
	queue_free(p, conn);
	x->requests++;
	x->used = p->now;
	x->cooling = false;
	(void)lifecycle_event(p, process,
	    ilist_empty(&x->conns) ? PROCESS_EMPTIED : PROCESS_DONE);
	if (lifecycle_is_spent(p, process))
		(void)lifecycle_stop(p, process, END_REQUESTS);
	else if (x->state == PROCESS_IDLE && shrink_over(p, a))
		/* Later it is busy again, as long as connections wait. */
		(void)lifecycle_stop(p, process, END_RESIZED);
	else if ((x->state == PROCESS_IDLE || x->state == PROCESS_ACTIVE) &&
	    !rollout_yield(p, process))
		(void)places_yield(p, process);
	settle_app(p, x->app);
}

/* The process has served the connection well. */
static void
served(struct pool *p, uint32_t process, uint32_t conn)
{
	struct app *a = &p->apps[p->processes[process].app];
	tspan took;

	/* A session of an old process proves nothing of the new ones. */
	if (app_is_tried(a, &p->processes[process]))
		app_served(a, &p->processes[process]);
	took = p->now - p->conns[conn].begun;
	window_add(&a->session_time, took, p->now);
	promise_served(&a->promise, took);
	app_measure_session(a, took);
	session_over(p, process, conn);
}

bool
pool_done(struct pool *p, uint32_t process, uint32_t conn, tstamp now)
{
	settle_at(p, now);
	if (!holds(p, process, conn))
		return false;
	p->apps[p->processes[process].app].figures.completed++;
	served(p, process, conn);
	return true;
}

bool
pool_parked(struct pool *p, uint32_t process, uint32_t conn, tstamp now)
{
	settle_at(p, now);
	if (!holds(p, process, conn))
		return false;
	p->apps[p->processes[process].app].figures.parked++;
	served(p, process, conn);
	return true;
}

bool
pool_lost(struct pool *p, uint32_t process, uint32_t conn, tstamp now)
{
	settle_at(p, now);
	if (!holds(p, process, conn))
		return false;
	p->apps[p->processes[process].app].figures.lost++;
	session_over(p, process, conn);
	return true;
}

void
pool_blind(struct pool *p, uint32_t process, tstamp now)
{
	settle_at(p, now);
	p->processes[process].blind = true;
	lifecycle_arm(p, process);
}

void
pool_replace(struct pool *p, uint32_t process, tstamp now)
{
	const struct process *x = &p->processes[process];
	uint32_t app = x->app;

	settle_at(p, now);
	if (x->state == PROCESS_STARTING) {
		(void)lifecycle_stop(p, process, END_RESTARTED);
	} else if (x->state == PROCESS_IDLE || x->state == PROCESS_ACTIVE) {
		app_forgive(&p->apps[app]);
		rollout_add(p, process);
		settle_places(p);
	}
	settle_app(p, app);
}

void
pool_detach(struct pool *p, uint32_t process, tstamp now)
{
	uint32_t app = p->processes[process].app;

	settle_at(p, now);
	if (p->processes[process].asked ||
	    p->processes[process].state == PROCESS_DYING)
		return;
	lifecycle_detach(p, process);
	sizing_succeed(p, app);
	settle_app(p, app);
}

void
pool_retire(struct pool *p, uint32_t process, tstamp now)
{
	settle_at(p, now);
	end(p, process, STEP_STOP, END_RETIRED);
	settle_app(p, p->processes[process].app);
}

void
pool_misbehaved(
    struct pool *p, uint32_t process, enum process_end why, tstamp now)
{
	settle_at(p, now);
	end(p, process, STEP_KILL, why);
	settle_app(p, p->processes[process].app);
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
	a->idle_while_waiting += now - since;
	end(p, process, STEP_KILL, END_PICKUP_TIMEOUT);
	settle_app(p, x->app);
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
	lifecycle_outdate(p, process, END_MEMORY);
	settle_app(p, x->app);
}

void
pool_unheard(struct pool *p, uint32_t process, bool replaceable, tstamp now)
{
	const struct process *x = &p->processes[process];

	settle_at(p, now);
	if (x->state == PROCESS_STARTING || !replaceable)
		(void)lifecycle_stop(p, process, END_KEEPER);
	else if (x->outdated == 0)
		lifecycle_outdate(p, process, END_KEEPER);
	settle_app(p, x->app);
}

void
pool_worked(struct pool *p, uint32_t process, double processors, bool in_use,
    tstamp now)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint32_t whole = room_whole(a);

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
	settle_app(p, x->app);
}

/* Returns connections that were promised to a dead process and never sent. */
static void
return_assigned(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	uint32_t c, next;

	for (c = x->conns.first; c != ILIST_NONE; c = next) {
		next = p->conn_links[c].next;
		if (p->conns[c].state == CONN_ASSIGNED)
			queue_return(p, c);
	}
}

/* A job that ends well before ready_after was ready, and so is its app. */
static void
job_done(struct pool *p, uint32_t process)
{
	struct app *a = &p->apps[p->processes[process].app];

	if (!app_has_jobs(a))
		return;
	become_ready(p, process);
	a->jobs_done++;
}

void
pool_died(struct pool *p, uint32_t process, enum process_end how, tstamp now)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	settle_at(p, now);
	x->exited = how != END_SIGNAL;
	if (how == END_EXIT && x->state == PROCESS_STARTING)
		job_done(p, process);
	a->figures.exits[x->asked ? x->end : how]++;
	if (!x->asked)
		failure_end(p, process, how);
	(void)lifecycle_event(p, process, PROCESS_DIED);
	prefetch_none(p, process);
	return_assigned(p, process);
	settle_app(p, x->app);
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
	settle_app(p, c->app);
}

/* Counts a session that the exit of its process has ended well. */
static void
count_done(struct pool *p, uint32_t process, uint32_t conn)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	a->figures.completed++;
	x->requests++;
	window_add(&a->session_time, p->now - p->conns[conn].begun, p->now);
	promise_served(&a->promise, p->now - p->conns[conn].begun);
	/* A process with one session proves by that what others prove by age.
	 */
	if (app_is_tried(a, x))
		app_lived(a, x);
}

void
pool_gone(struct pool *p, uint32_t process, tstamp now)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint32_t app = x->app, c;
	bool failed =
	    x->asked && (x->end == END_FAIL || x->end == END_NONSENSE);
	bool done = a->options.exit_ends && x->exited && !failed;

	settle_at(p, now);
	while ((c = x->conns.first) != ILIST_NONE) {
		if (done)
			count_done(p, process, c);
		else
			a->figures.lost++;
		queue_detach(p, c);
		queue_free(p, c);
	}
	lifecycle_free(p, process);
	settle_app(p, app);
}
