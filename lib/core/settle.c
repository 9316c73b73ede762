/*
 * Settling: a fact notes what happened and then settles the app it concerns,
 * which hands out what waits, and starts and stops what is due.
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

/* Resumes accepting for a paused app, once there is room again. */
static void
resume(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->accepting != ACCEPTING_PENDING || a->options.listens)
		return;
	if (!tables_have_conn(p))
		p->conns_full = true;
	if (!queue_may_accept(p, app))
		return;
	a->accepting = ACCEPTING_RESUMING;
	actions_app(p, ACTION_RESUME, app);
}

/*
 * A free number resumes one app.  If that app has no use for the number,
 * pool_accept_resumed() leads back here, to the next app.
 */
void
settle_numbers(struct pool *p)
{
	if (!p->conns_full || !tables_have_conn(p))
		return;
	for (uint32_t i = 0; i < p->napps; i++) {
		uint32_t app = (p->resume_next + i) % p->napps;
		const struct app *a = &p->apps[app];

		if (a->accepting != ACCEPTING_PENDING ||
		    !queue_may_accept(p, app))
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
		(void)lifecycle_escalate(p, n, STEP_STOP, why);
	}
}

/* Tells once that a held app has no process any more. */
static void
rest(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->phase != APP_HELD || a->at_rest || app_living(a) != a->stuck)
		return;
	a->at_rest = true;
	actions_news(p, app, NEWS_AT_REST, ILIST_NONE);
}

/*
 * Stops the processes of an app that closes or is held when nothing waits any
 * more.
 */
static void
wind_down(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->phase == APP_DRAINED && app_waiting(a) == 0) {
		app_enter(a, APP_SERVED);
		stop_all(p, app,
		    p->phase == POOL_RUNNING ? END_CLOSED : END_SHUTDOWN);
	}
	if (a->phase == APP_HOLDING && app_waiting(a) == 0) {
		app_enter(a, APP_SERVED);
		stop_all(p, app, (enum process_end)a->held_for);
	}
	rest(p, app);
	if (a->phase == APP_STUCK && a->stuck == 0)
		app_enter(a, APP_UNSTUCK);
	if (a->phase == APP_STOPPING && app_living(a) == a->stuck &&
	    a->over == 0) {
		a->over = ++p->stamps;
		actions_app(p, ACTION_OVER, app);
	}
}

/* Serves or refuses connections that have come back to a leaving app. */
static void
reopen(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (!app_is_ending(a) || app_waiting(a) == 0)
		return;
	if (a->phase <= APP_STOPPING && !a->ended && p->phase != POOL_ENDING) {
		app_enter(a, APP_RETURNED);
		a->over = 0;
	} else {
		queue_refuse_all(p, app, CAUSE_STOPPING);
	}
}

void
settle_end_app(struct pool *p, uint32_t app, enum process_end why)
{
	struct app *a = &p->apps[app];
	uint32_t n, next;

	queue_refuse_all(p, app, CAUSE_STOPPING);
	app_enter(a, APP_ENDED);
	a->backlog = 0;
	a->accepting = ACCEPTING_OPEN;
	for (n = room_first(p, app); n != ILIST_NONE; n = next) {
		next = room_next(p, n);
		(void)lifecycle_escalate(p, n, STEP_TERM, why);
		if (p->processes[n].state != PROCESS_GONE)
			lifecycle_arm(p, n);
	}
}

static tstamp
leave_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	return a->ended || a->phase == APP_OVER ? TSTAMP_NEVER : a->leave_by;
}

/*
 * An app that leaves ends after its stop_timeout. Sessions that hang, or a lock
 * that never comes, would keep it otherwise, and all that waits for them; and a
 * configuration that removes and adds it again and again would pile up others.
 */
static void
leave_in_time(struct pool *p, uint32_t app)
{
	if (leave_deadline(p, app) > p->now)
		return;
	p->apps[app].ended = true;
	settle_end_app(p, app, END_CLOSED);
}

/* --- settling ------------------------------------------------------------- */

/* Sums up time in which a connection waits beside an idle process. */
static void
watch_waste(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	bool waste = a->in_state[PROCESS_IDLE] > 0 &&
	    (app_servable(a)->count > 0 ||
		(a->prefetched.count > 0 && prefetch_is_due(p, app)));

	if (waste && a->waste_since == 0) {
		a->waste_since = p->now;
	} else if (!waste && a->waste_since != 0) {
		a->idle_while_waiting += p->now - a->waste_since;
		a->waste_since = 0;
	}
}

/* Announces that the app is ready, the first time that it is. */
static void
announce(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (app_is_announced(a) || app_rolling(a) || a->phase != APP_RUNNING ||
	    !app_is_ready(a))
		return;
	app_judge(a, VERDICT_READY);
	actions_news(p, app, NEWS_READY, ILIST_NONE);
}

/* Marks of changes after which an app may have too many processes. */
#define MARK_FEWER \
	(MARK_EMPTIED | MARK_PREFETCH | MARK_ROOM | MARK_COUNT | MARK_FAILURE)

/* Marks of changes after which it may have too few, or may start some. */
#define MARK_MORE \
	(MARK_WAITER | MARK_EMPTIED | MARK_PREFETCH | MARK_COUNT | \
	    MARK_FAILURE | MARK_GROWTH)

#define ANY(bits) (((marks | a->touched) & (bits)) != 0)

/*
 * The steps that may follow from a fact, in their order: a condition that
 * calls for the step, the step, and for TIMED steps when time calls for it.
 * A mark calls once, other conditions call as long as they hold.  Serving
 * comes before expiring: a connection that comes back late is served rather
 * than refused.
 */
#define STEPS(STEP, TIMED) \
	TIMED(a->phase >= APP_CLOSING, leave_in_time, leave_deadline) \
	STEP(a->phase != APP_RUNNING, reopen) \
	STEP(ANY(MARK_WAITER | MARK_EMPTIED | MARK_ROOM), queue_serve) \
	TIMED(a->prefetched.count > 0, prefetch_recall, prefetch_deadline) \
	TIMED(ANY(MARK_WAITER), queue_expire, queue_deadline) \
	TIMED(a->options.limited, queue_ask_locks, queue_lock_deadline) \
	STEP(ANY(MARK_WAITER | MARK_COUNT | MARK_FAILURE), failure_judge) \
	TIMED(ANY(MARK_FEWER) || a->marked > 0 || \
		p->count > p->max_processes + p->surge, \
	    shrink_update, shrink_deadline) \
	TIMED( \
	    a->outdated > 0 || a->surge > 0, rollout_update, rollout_deadline) \
	TIMED(ANY(MARK_MORE) || a->options.limited || a->prefetched.count > 0, \
	    sizing_grow, sizing_grow_deadline) \
	TIMED(a->options.min_idle > 0 || a->spare != SPARE_ENOUGH, \
	    sizing_spare, sizing_spare_deadline) \
	TIMED(ANY(MARK_FEWER | MARK_LOAD), sizing_estimate, \
	    sizing_estimate_deadline) \
	TIMED(app_has_need(a) && ANY(MARK_LOAD | (MARK_FEWER & ~MARK_ROOM)), \
	    sizing_promise, sizing_promise_deadline) \
	STEP(p->places.count > 0, places_offer) \
	STEP(!app_is_announced(a), announce) \
	STEP(a->accepting == ACCEPTING_PENDING, resume) \
	STEP(ANY(MARK_WAITER | MARK_ROOM | MARK_PREFETCH) || \
		a->prefetched.count > 0 || a->waste_since != 0, \
	    watch_waste) \
	STEP(a->phase != APP_RUNNING, wind_down)

#define RUN(calls, run, ...) \
	if (calls) \
		run(p, app);

#define EARLIER(calls, run, deadline) \
	if (calls) \
		at = tstamp_min(at, deadline(p, app));

#define SKIP(calls, run)

/* The earliest deadline of the steps that these marks call for. */
static tstamp
deadline_of(const struct pool *p, uint32_t app, unsigned marks)
{
	const struct app *a = &p->apps[app];
	tstamp at = TSTAMP_NEVER;

	STEPS(SKIP, EARLIER)
	return at;
}

static void
arm(struct pool *p, uint32_t app, unsigned marks)
{
	tstamp at = deadline_of(p, app, marks);

	/* A later deadline may stay early: it costs one look, not one each. */
	if (at < deadlines_get(&p->app_deadlines, app))
		deadlines_set(&p->app_deadlines, app, at);
}

void
settle_arm(struct pool *p, uint32_t app)
{
	arm(p, app, 0);
}

tstamp
settle_deadline(const struct pool *p, uint32_t app)
{
	return deadline_of(p, app, MARK_ALL);
}

void
settle_app(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	unsigned marks = a->touched;

	/* A mark of a step calls for later steps now, for others next time. */
	a->touched = 0;
	if (deadlines_get(&p->app_deadlines, app) <= p->now)
		marks = MARK_ALL;
	STEPS(RUN, RUN)
	arm(p, app, marks);
	settle_places(p);
	settle_numbers(p);
}

void
settle_places(struct pool *p)
{
	/* As almost always: no app wants a place, and none has just left. */
	if (ilist_empty(&p->places) && p->denied == 0 &&
	    p->place_cache.app == ILIST_NONE)
		return;
	while (!ilist_empty(&p->places) && places_free(p) > 0) {
		uint32_t app = p->places.first;

		sizing_take_place(p, app);
		settle_arm(p, app);
	}
	places_reconsider(p);
	/* Spare processes come last: no connection waits for them. */
	for (uint32_t app = 0;
	     app < p->napps && p->denied > 0 && places_free(p) > 0; app++)
		if (p->apps[app].spare == SPARE_DENIED) {
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
	case DUE_NOTHING:
		break;
	}
	settle_app(p, app);
}
