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

	if (a->accepting != ACCEPTING_PENDING || a->options.listens)
		return;
	if (!tables_have_conn(p))
		p->conns_full = true;
	if (!queue_may_accept(p, app))
		return;
	a->accepting = (uint8_t)app_accepting_next(a->accepting, ACCEPT_CALLED);
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
enter(struct app *a, enum app_event e)
{
	a->phase = (uint8_t)app_phase_next(a->phase, e);
	app_touch(a, MARK_ALL);
}

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

	if (a->phase == APP_DRAINED && app_waiting(a) == 0) {
		enter(a, APP_SERVED);
		stop_all(p, app,
		    p->phase == POOL_RUNNING ? END_CLOSED : END_SHUTDOWN);
	}
	if (a->phase == APP_STUCK && a->stuck == 0)
		enter(a, APP_UNSTUCK);
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

	if (a->phase < APP_STOPPING || app_waiting(a) == 0)
		return;
	if (a->phase == APP_STOPPING && p->phase != POOL_ENDING) {
		enter(a, APP_RETURNED);
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

	if (app_is_announced(a) || app_rolling(a) || a->phase != APP_RUNNING ||
	    !app_is_ready(a))
		return;
	a->health = (uint8_t)app_health_next(a->health, VERDICT_READY);
	actions_news(p, app, NEWS_READY, ILIST_NONE);
}

/* What calls for a step as long as it holds; beside enum app_mark. */
enum {
	HOLDS_LEAVING = 1 << 8, /* the app is not running */
	HOLDS_PREFETCH = 1 << 9, /* connections are prefetched */
	HOLDS_LIMITED = 1 << 10,
	HOLDS_OVER = 1 << 11, /* a lowered ceiling is not kept yet */
	HOLDS_ROLLOUT = 1 << 12, /* processes are to be replaced */
	HOLDS_GROWTH = 1 << 13, /* processes are wanted, or were just now */
	HOLDS_SPARE = 1 << 14, /* idle processes are kept */
	HOLDS_ESTIMATE = 1 << 15, /* the load was not updated for long */
	HOLDS_LINE = 1 << 16, /* an app waits for a place */
	HOLDS_UNREADY = 1 << 17, /* ready was not announced */
	HOLDS_PENDING = 1 << 18, /* a listener is paused */
	HOLDS_MARKED = 1 << 19, /* processes are marked to stop */
	HOLDS_WASTE = 1 << 20, /* a connection waits beside an idle process */
};

static uint32_t
holding(const struct pool *p, const struct app *a)
{
	const struct app_options *o = &a->options;
	bool over = p->count > p->max_processes + p->surge;
	bool growth = app_waits_for_place(a) || a->first != 0 ||
	    (app_demand(a) > 0 ? app_processes(a) < o->max_processes
			       : a->pace != 1 || a->grown != 0);
	bool due = p->now >= tstamp_add(a->load.updated, o->update_interval);

	return (a->phase != APP_RUNNING ? HOLDS_LEAVING : 0) |
	    (!ilist_empty(&a->prefetched) ? HOLDS_PREFETCH : 0) |
	    (o->limited ? HOLDS_LIMITED : 0) | (over ? HOLDS_OVER : 0) |
	    (a->outdated > 0 || app_rolling(a) ? HOLDS_ROLLOUT : 0) |
	    (growth ? HOLDS_GROWTH : 0) |
	    (o->min_idle > 0 || a->spare != SPARE_ENOUGH ? HOLDS_SPARE : 0) |
	    (due ? HOLDS_ESTIMATE : 0) |
	    (!ilist_empty(&p->places) ? HOLDS_LINE : 0) |
	    (!app_is_announced(a) ? HOLDS_UNREADY : 0) |
	    (app_is_pending(a) ? HOLDS_PENDING : 0) |
	    (a->marked != 0 ? HOLDS_MARKED : 0) |
	    (a->waste_since != 0 ? HOLDS_WASTE : 0);
}

/* What may leave an app with more processes than it needs. */
#define FEWER (MARK_EMPTIED | MARK_PREFETCH | MARK_ROOM | MARK_COUNT)

/* What changes how many processes are wanted, or when they may start. */
#define GROWTH \
	(MARK_WAITER | MARK_EMPTIED | MARK_PREFETCH | MARK_COUNT | \
	    MARK_FAILURE | HOLDS_PREFETCH | HOLDS_LIMITED | HOLDS_GROWTH)

#define WASTE \
	(MARK_WAITER | MARK_ROOM | MARK_PREFETCH | HOLDS_PREFETCH | HOLDS_WASTE)

/*
 * The steps that may follow from a fact, in their order: what calls for each
 * (any of these bits), the step, and when time calls for it.  A connection
 * that comes back late is served rather than refused.
 */
#define STEPS(STEP) \
	STEP(HOLDS_LEAVING, reopen, never) \
	STEP(MARK_WAITER | MARK_EMPTIED | MARK_ROOM, queue_serve, never) \
	STEP(MARK_PREFETCH | HOLDS_PREFETCH, prefetch_recall, \
	    prefetch_deadline) \
	STEP(MARK_WAITER, queue_expire, queue_deadline) \
	STEP(HOLDS_LIMITED, queue_ask_locks, queue_lock_deadline) \
	STEP(MARK_WAITER | MARK_COUNT | MARK_FAILURE, failure_judge, never) \
	STEP( \
	    FEWER | HOLDS_OVER | HOLDS_MARKED, shrink_update, shrink_deadline) \
	STEP(HOLDS_ROLLOUT, rollout_update, rollout_deadline) \
	STEP(GROWTH, sizing_grow, sizing_grow_deadline) \
	STEP(HOLDS_SPARE, sizing_spare, sizing_spare_deadline) \
	STEP(FEWER | MARK_LOAD | HOLDS_ESTIMATE, sizing_estimate, \
	    sizing_estimate_deadline) \
	STEP(HOLDS_LINE, places_offer, never) \
	STEP(HOLDS_UNREADY, announce, never) \
	STEP(HOLDS_PENDING, resume, never) \
	STEP(WASTE, watch_waste, never) \
	STEP(HOLDS_LEAVING, wind_down, never)

static inline tstamp
never(const struct pool *p, uint32_t app)
{
	(void)p;
	(void)app;
	return TSTAMP_NEVER;
}

#define EARLIER(bits, run, deadline) \
	if ((calls & (bits)) != 0) \
		at = tstamp_min(at, deadline(p, app));

/* When time calls for one of these steps. */
static tstamp
deadline_of(const struct pool *p, uint32_t app, uint32_t calls)
{
	tstamp at = TSTAMP_NEVER;

	STEPS(EARLIER)
	return at;
}

static void
arm(struct pool *p, uint32_t app, uint32_t calls)
{
	tstamp at = deadline_of(p, app, calls);

	/* A later deadline may stay early: it costs one look, not one each. */
	if (at < deadlines_get(&p->app_deadlines, app))
		deadlines_set(&p->app_deadlines, app, at);
}

void
settle_arm(struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	arm(p, app, a->touched | holding(p, a));
}

tstamp
settle_deadline(const struct pool *p, uint32_t app)
{
	return deadline_of(p, app, UINT32_MAX);
}

#define RUN(bits, run, deadline) \
	if (((calls | a->touched) & (bits)) != 0) \
		run(p, app);

void
settle_app(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t calls = a->touched | holding(p, a);

	/* What a step touches is for the steps after it, and for next time. */
	a->touched = 0;
	if (deadlines_get(&p->app_deadlines, app) <= p->now)
		calls |= MARK_ALL;
	STEPS(RUN)
	arm(p, app, calls | a->touched);
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
		if (app_lacks_spare(&p->apps[app])) {
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
