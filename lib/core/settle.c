/*
 * What follows from a fact: each one notes what happened and then settles the
 * app it concerns, which hands out what waits, and starts and stops what is
 * due.
 */

#include <assert.h>

#include "core/pool_private.h"

void
pool_at(struct pool *p, tstamp now)
{
	assert(now >= p->now);
	p->now = now;
}

/* Time in which somebody waits beside a process without a session. */
static void
pool_watch_waste(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	bool waste = a->in_state[PROCESS_IDLE] > 0 &&
	    (!ilist_empty(app_servable(a)) || prefetch_is_due(p, app));

	if (waste && a->waste_since == 0) {
		a->waste_since = p->now;
	} else if (!waste && a->waste_since != 0) {
		a->idle_while_waiting += p->now - a->waste_since;
		a->waste_since = 0;
	}
}

/* Lets a listener in that was turned away, once there is room again. */
static void
pool_call(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (!a->pending || a->resuming || a->options.listens)
		return;
	if (!pool_has_numbers(p))
		p->conns_full = true;
	if (!pool_may_accept(p, app))
		return;
	a->resuming = true;
	pool_act_app(p, ACTION_RESUME, app);
}

/*
 * One number frees one app: who has no use for it says pool_accept_resumed(),
 * which calls the next.
 */
void
pool_resume_full(struct pool *p)
{
	if (!p->conns_full || !pool_has_numbers(p))
		return;
	for (uint32_t i = 0; i < p->napps; i++) {
		uint32_t app = (p->resume_next + i) % p->napps;
		const struct app *a = &p->apps[app];

		if (!a->pending || a->resuming || !pool_may_accept(p, app))
			continue;
		p->resume_next = app + 1;
		pool_call(p, app);
		return;
	}
	p->conns_full = false;
}

void
pool_tell_all(struct pool *p, uint32_t app, enum process_end why)
{
	uint32_t n, next;

	for (n = room_first(p, app); n != ILIST_NONE; n = next) {
		next = room_next(p, n);
		if (p->processes[n].home != HOME_LEAVING)
			lifecycle_tell(p, n, why);
	}
}

/* A closing app: when nothing waits any more its processes leave. */
static void
pool_wind_down(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->phase == APP_CLOSING && a->drained && app_waiting(a) == 0 &&
	    !a->pending) {
		a->phase = APP_STOPPING;
		pool_tell_all(p, app,
		    p->phase == POOL_RUNNING ? END_CLOSED : END_SHUTDOWN);
	}
	if (a->haunted && a->stuck == 0) {
		a->haunted = false;
		a->phase = APP_STOPPING;
	}
	if (a->phase == APP_STOPPING && app_living(a) == a->stuck &&
	    a->over == 0) {
		a->over = ++p->stamps;
		pool_act_app(p, ACTION_OVER, app);
	}
}

/* An app that is leaving, and to which connections have come back. */
static void
pool_reopen(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (app_waiting(a) == 0)
		return;
	if (a->phase == APP_STOPPING && p->phase != POOL_ENDING) {
		a->phase = APP_CLOSING;
		a->over = 0;
	} else {
		queue_refuse_all(p, app, CAUSE_STOPPING);
	}
}

/* The first time that it is ready is worth telling. */
static void
pool_announce(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->announced || app_rolling(a) || a->phase != APP_RUNNING ||
	    !app_is_ready(a))
		return;
	a->announced = true;
	pool_tell(p, app, NEWS_READY, ILIST_NONE);
}

void
pool_settle(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->phase >= APP_STOPPING)
		pool_reopen(p, app);
	/* What comes back late is served rather than refused. */
	queue_serve(p, app);
	prefetch_recall(p, app);
	queue_expire(p, app);
	limit_update(p, app);
	failure_judge(p, app);
	if (a->failed)
		queue_refuse_all(p, app, CAUSE_APP_FAILED);
	sizing_update(p, app);
	places_offer(p, app);
	pool_announce(p, app);
	pool_call(p, app);
	pool_watch_waste(p, app);
	if (a->phase != APP_RUNNING)
		pool_wind_down(p, app);
	pool_arm_app(p, app);
	places_serve(p);
	pool_resume_full(p);
}

/* --- time --------------------------------------------------------------- */

tstamp
pool_app_deadline(const struct pool *p, uint32_t app)
{
	tstamp at = tstamp_min(queue_deadline(p, app), sizing_deadline(p, app));

	at = tstamp_min(at, prefetch_deadline(p, app));
	return tstamp_min(at, limit_deadline(p, app));
}

void
pool_arm_app(struct pool *p, uint32_t app)
{
	tstamp at = pool_app_deadline(p, app);

	/* A later deadline may stay early: it costs one look, not one each. */
	if (at < deadlines_get(&p->app_deadlines, app))
		deadlines_set(&p->app_deadlines, app, at);
}

void
pool_revisit(struct pool *p, uint32_t app)
{
	if (p->now < deadlines_get(&p->app_deadlines, app))
		deadlines_set(&p->app_deadlines, app, p->now);
}

tstamp
pool_deadline(const struct pool *p)
{
	uint32_t n;
	tstamp at = deadlines_first(&p->app_deadlines, &n);

	at = tstamp_min(at, deadlines_first(&p->process_deadlines, &n));
	if (p->phase == POOL_STOPPING)
		at = tstamp_min(at, p->stop_at - p->stop_grace);
	return at;
}

void
pool_tick(struct pool *p, tstamp now)
{
	uint32_t n, app;

	pool_at(p, now);
	if (p->phase == POOL_STOPPING && p->stop_at - p->stop_grace <= now)
		pool_stop_now(p, p->stop_grace, now);
	/* What is done for the one may bring a deadline of the other. */
	while (pool_deadline(p) <= now) {
		if (deadlines_first(&p->process_deadlines, &n) <= now) {
			app = p->processes[n].app;
			timing_tick(p, n);
		} else {
			(void)deadlines_first(&p->app_deadlines, &app);
			deadlines_set(&p->app_deadlines, app, TSTAMP_NEVER);
		}
		pool_settle(p, app);
	}
}

tstamp
pool_waiting_since(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp at = a->pending ? a->pending_since : TSTAMP_NEVER;

	if (app_waiting(a) > 0)
		at = tstamp_min(at, p->conns[queue_first(p, app)].arrived);
	return at;
}

tspan
pool_idle_while_waiting(const struct pool *p, uint32_t app, tstamp now)
{
	const struct app *a = &p->apps[app];

	return a->idle_while_waiting +
	    (a->waste_since == 0 ? 0 : now - a->waste_since);
}
