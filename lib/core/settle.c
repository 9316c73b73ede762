/*
 * What follows from a fact: each notes what happened and then settles the
 * app it concerns, which hands out what waits, and starts and stops what is
 * due.
 */

#include <assert.h>

#include "core/settle.h"

void
settle_at(struct pool *p, tstamp now)
{
	assert(now >= p->now);
	p->now = now;
}

/* --- listeners ----------------------------------------------------------- */

/* Resumes accepting where it is paused, once there is room again. */
static void
resume(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (!a->pending || a->resuming || a->options.listens)
		return;
	if (!tables_have_conn(p))
		p->conns_full = true;
	if (!queue_may_accept(p, app))
		return;
	a->resuming = true;
	actions_app(p, ACTION_RESUME, app);
}

/*
 * A number that is free resumes one app: if it has no use for the number,
 * pool_accept_resumed() comes back here for the next app.
 */
void
settle_numbers(struct pool *p)
{
	if (!p->conns_full || !tables_have_conn(p))
		return;
	for (uint32_t i = 0; i < p->napps; i++) {
		uint32_t app = (p->resume_next + i) % p->napps;
		const struct app *a = &p->apps[app];

		if (!a->pending || a->resuming || !queue_may_accept(p, app))
			continue;
		p->resume_next = app + 1;
		resume(p, app);
		return;
	}
	p->conns_full = false;
}

/* --- an app that leaves --------------------------------------------------- */

static void
stop_all(struct pool *p, uint32_t app, enum process_end why)
{
	uint32_t n, next;

	for (n = room_first(p, app); n != ILIST_NONE; n = next) {
		next = room_next(p, n);
		if (p->processes[n].home != HOME_LEAVING)
			(void)lifecycle_stop(p, n, why);
	}
}

/* A closing app: when nothing waits any more its processes leave. */
static void
wind_down(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->phase == APP_CLOSING && a->drained && app_waiting(a) == 0 &&
	    !a->pending) {
		a->phase = APP_STOPPING;
		stop_all(p, app,
		    p->phase == POOL_RUNNING ? END_CLOSED : END_SHUTDOWN);
	}
	if (a->haunted && a->stuck == 0) {
		a->haunted = false;
		a->phase = APP_STOPPING;
	}
	if (a->phase == APP_STOPPING && app_living(a) == a->stuck &&
	    a->over == 0) {
		a->over = ++p->stamps;
		actions_app(p, ACTION_OVER, app);
	}
}

/* An app that is leaving, and to which connections have come back. */
static void
reopen(struct pool *p, uint32_t app)
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

/* --- settling ------------------------------------------------------------- */

/* Time in which a connection waits beside a process without a session. */
static void
watch_waste(struct pool *p, uint32_t app)
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

/* The first time that the app is ready is worth telling. */
static void
announce(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->announced || app_rolling(a) || a->phase != APP_RUNNING ||
	    !app_is_ready(a))
		return;
	a->announced = true;
	actions_news(p, app, NEWS_READY, ILIST_NONE);
}

void
settle_app(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->phase >= APP_STOPPING)
		reopen(p, app);
	/* What comes back late is served rather than refused. */
	queue_serve(p, app);
	prefetch_recall(p, app);
	queue_expire(p, app);
	queue_ask_locks(p, app);
	failure_judge(p, app);
	shrink_update(p, app);
	rollout_update(p, app);
	sizing_grow(p, app);
	sizing_spare(p, app);
	sizing_estimate(p, app);
	places_offer(p, app);
	announce(p, app);
	resume(p, app);
	watch_waste(p, app);
	if (a->phase != APP_RUNNING)
		wind_down(p, app);
	settle_arm(p, app);
	settle_places(p);
	settle_numbers(p);
}

void
settle_places(struct pool *p)
{
	while (!ilist_empty(&p->places) && places_free(p) > 0) {
		uint32_t app = p->places.first;

		sizing_take_place(p, app);
		settle_arm(p, app);
	}
	places_reconsider(p);
	/* Then apps that lack a spare process, for which nothing waits. */
	for (uint32_t app = 0;
	     app < p->napps && p->denied > 0 && places_free(p) > 0; app++)
		if (p->apps[app].spare_denied) {
			sizing_spare(p, app);
			settle_arm(p, app);
		}
}

void
settle_process(struct pool *p, uint32_t process)
{
	uint32_t app = p->processes[process].app;

	switch (lifecycle_tick(p, process)) {
	case DUE_READY:
		rollout_replace(p, app);
		break;
	case DUE_LATE:
		failure_end(p, process, END_START_TIMEOUT);
		break;
	case DUE_PROVEN:
		failure_forgive(p, app);
		lifecycle_arm(p, process);
		break;
	case DUE_NOTHING:
		break;
	}
	settle_app(p, app);
}

/* --- deadlines ------------------------------------------------------------ */

tstamp
settle_deadline(const struct pool *p, uint32_t app)
{
	tstamp at = queue_deadline(p, app);

	at = tstamp_min(at, shrink_deadline(p, app));
	at = tstamp_min(at, rollout_deadline(p, app));
	at = tstamp_min(at, sizing_grow_deadline(p, app));
	at = tstamp_min(at, sizing_spare_deadline(p, app));
	at = tstamp_min(at, sizing_estimate_deadline(p, app));
	at = tstamp_min(at, prefetch_deadline(p, app));
	return tstamp_min(at, queue_lock_deadline(p, app));
}

void
settle_arm(struct pool *p, uint32_t app)
{
	tstamp at = settle_deadline(p, app);

	/* A later deadline may stay early: it costs one look, not one each. */
	if (at < deadlines_get(&p->app_deadlines, app))
		deadlines_set(&p->app_deadlines, app, at);
}
