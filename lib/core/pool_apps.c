/* Facts about apps: how they come, change and go; and the end of all. */

#include <assert.h>

#include "core/pool.h"
#include "core/settle.h"

static uint32_t
free_number(struct pool *p)
{
	for (uint32_t n = 0; n < p->napps; n++)
		if (p->apps[n].phase == APP_FREE)
			return n;
	assert(p->napps < p->limits.apps);
	return p->napps++;
}

static void
empty_backlog(struct app *a)
{
	a->backlog = 0;
	a->accepting = ACCEPTING_OPEN;
}

/* Settles the app after a change that every step may depend on. */
static void
settle_all(struct pool *p, uint32_t app)
{
	app_touch(&p->apps[app], MARK_ALL);
	settle_app(p, app);
}

/* Has the app begin with min_idle processes. */
static void
set_first(struct app *a)
{
	const struct app_options *o = &a->options;

	a->first =
	    o->min_idle < o->max_processes ? o->min_idle : o->max_processes;
}

uint32_t
pool_app_add(struct pool *p, const struct app_options *o, tstamp now)
{
	uint32_t app = free_number(p);
	struct app *a = &p->apps[app];

	settle_at(p, now);
	*a = (struct app){ 0 };
	a->options = *o;
	app_enter(&p->apps[app], APP_ADDED);
	a->stamp = ++p->stamps;
	a->pace = 1;
	a->added = now;
	set_first(a);
	load_init(&a->load, now);
	promise_init(&a->promise, now);
	room_init(p, app);
	ilist_init(&a->prefetched);
	ilist_init(&a->queue);
	ilist_init(&a->cleared);
	window_init(&a->queue_wait);
	window_init(&a->session_time);
	settle_all(p, app);
	return app;
}

/* Files every process anew under options that change what has room. */
static void
refile(struct pool *p, uint32_t app, const struct app_options *o)
{
	struct ilist moving;
	uint32_t n;

	ilist_init(&moving);
	while ((n = room_first(p, app)) != ILIST_NONE) {
		room_unfile(p, n);
		ilist_push_front(&moving, p->process_links, n);
	}
	p->apps[app].options = *o;
	room_init(p, app);
	while ((n = moving.first) != ILIST_NONE) {
		ilist_remove(&moving, p->process_links, n);
		prefetch_sort(p, n);
		lifecycle_limit(p, n);
		room_file(p, n);
		lifecycle_arm(p, n);
	}
	load_set(&p->apps[app].load,
	    (double)p->apps[app].busy / room_whole(&p->apps[app]), p->now);
}

void
pool_app_change(
    struct pool *p, uint32_t app, const struct app_options *o, tstamp now)
{
	settle_at(p, now);
	queue_set_limited(p, app, o->limited);
	refile(p, app, o);
	shrink_retime(p, app);
	settle_all(p, app);
}

/* Former failures are forgotten, and ready is announced anew. */
static void
begin_anew(struct app *a)
{
	a->refused_down = 0;
	a->jobs_done = 0;
	app_judge(a, VERDICT_RESTARTED);
	app_forgive(a);
}

void
pool_app_restart(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	a->generation++;
	begin_anew(a);
	rollout_begin(p, app);
	settle_places(p);
	settle_all(p, app);
}

void
pool_app_renew(struct pool *p, uint32_t app, bool on, tstamp now)
{
	settle_at(p, now);
	p->apps[app].renewing = on && p->apps[app].options.sessions;
	settle_all(p, app);
}

void
pool_app_hold(struct pool *p, uint32_t app, enum process_end why, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	app_enter(a, why == END_DRAINED ? APP_MUTED : APP_SHUT);
	a->held_for = (uint8_t)why;
	a->first = 0;
	if (why == END_DRAINED)
		empty_backlog(a);
	settle_all(p, app);
}

void
pool_app_resume(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	app_enter(a, APP_RESUMED);
	a->ended = false;
	a->over = 0;
	empty_backlog(a);
	set_first(a);
	begin_anew(a);
	settle_all(p, app);
}

void
pool_app_close(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	/* The stop of the pool has a time of its own. */
	if (a->phase < APP_CLOSING)
		a->leave_by = p->phase == POOL_RUNNING
		    ? tstamp_add(now, a->options.stop_timeout)
		    : TSTAMP_NEVER;
	app_enter(a, APP_CLOSED);
	settle_all(p, app);
}

void
pool_app_drained(struct pool *p, uint32_t app, tstamp now)
{
	settle_at(p, now);
	app_enter(&p->apps[app], APP_EMPTIED);
	empty_backlog(&p->apps[app]);
	settle_all(p, app);
}

void
pool_app_free(struct pool *p, uint32_t app)
{
	assert(p->apps[app].places_wanted == 0);
	sizing_release(p, app);
	app_enter(&p->apps[app], APP_FREED);
	deadlines_set(&p->app_deadlines, app, TSTAMP_NEVER);
}

void
pool_resize(struct pool *p, uint32_t max_processes, uint32_t slack, tstamp now)
{
	settle_at(p, now);
	p->max_processes = max_processes;
	p->process_slack = slack;
	for (uint32_t app = 0; app < p->napps; app++)
		if (p->apps[app].phase != APP_FREE) {
			settle_all(p, app);
		}
}

/* --- stopping everything ------------------------------------------------ */

void
pool_stop(struct pool *p, tspan budget, tspan grace, tstamp now)
{
	settle_at(p, now);
	if (p->phase != POOL_RUNNING)
		return;
	p->phase = POOL_STOPPING;
	p->stop_at = tstamp_add(now, budget);
	p->stop_grace = grace < budget ? grace : budget;
	for (uint32_t app = 0; app < p->napps; app++)
		if (p->apps[app].phase != APP_FREE)
			pool_app_close(p, app, now);
}

void
pool_stop_now(struct pool *p, tspan grace, tstamp now)
{
	settle_at(p, now);
	if (p->phase == POOL_ENDING && grace >= p->stop_grace)
		return;
	p->phase = POOL_ENDING;
	p->stop_grace = grace;
	for (uint32_t app = 0; app < p->napps; app++) {
		if (p->apps[app].phase == APP_FREE)
			continue;
		settle_end_app(p, app, END_SHUTDOWN);
		settle_all(p, app);
	}
}
