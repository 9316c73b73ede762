/* The pool as a whole: its memory; facts about apps; and the end of all. */

#include <assert.h>
#include <string.h>

#include "core/mechanism.h"
#include "core/pool.h"

/* --- memory ------------------------------------------------------------- */

/* Lays the tables out in the memory; gives the bytes that takes. */
static size_t
pool_lay_out(struct pool *p, const struct pool_limits *l, char *memory)
{
	const size_t apps = l->apps, processes = l->processes, conns = l->conns;
	/* Stale actions are dropped when the ring is full. */
	const size_t ring = 6 * processes + 4 * conns + 16 * apps;
	size_t used = 0;

	p->limits = *l;
	LAYOUT_CARVE(p->apps, memory, &used, apps);
	LAYOUT_CARVE(p->processes, memory, &used, processes);
	LAYOUT_CARVE(p->conns, memory, &used, conns);
	LAYOUT_CARVE(p->app_links, memory, &used, apps);
	LAYOUT_CARVE(p->process_links, memory, &used, processes);
	LAYOUT_CARVE(p->conn_links, memory, &used, conns);
	LAYOUT_CARVE(p->prefetch_links, memory, &used, conns);
	LAYOUT_CARVE(p->rooms, memory, &used, apps * l->sessions);
	LAYOUT_CARVE(p->actions.ring, memory, &used, ring);
	p->actions.capacity = (uint32_t)ring;
	deadlines_carve(&p->app_deadlines, memory, &used, l->apps);
	deadlines_carve(&p->process_deadlines, memory, &used, l->processes);
	return used;
}

size_t
pool_memory(const struct pool_limits *limits)
{
	struct pool none = { 0 };

	return pool_lay_out(&none, limits, NULL);
}

void
pool_init(struct pool *p, const struct pool_limits *limits, void *memory,
    uint32_t max_processes, uint64_t seed, tstamp now)
{
	assert(now > 0);
	memset(p, 0, sizeof(*p));
	(void)pool_lay_out(p, limits, memory);
	ilist_init(&p->free_processes);
	ilist_init(&p->free_conns);
	ilist_init(&p->places);
	p->place_cache.app = ILIST_NONE;
	p->prng.state = seed;
	p->max_processes = max_processes;
	p->stop_at = TSTAMP_NEVER;
	p->now = now;
}

/* The beginning of a table, from p to the pool `to`. */
#define POOL_COPY(table, n) memcpy(to.table, p->table, (n) * sizeof(*to.table))

void
pool_move(struct pool *p, const struct pool_limits *limits, void *memory)
{
	const uint32_t apps = p->napps, processes = p->nprocesses;
	const uint32_t conns = p->nconns;
	struct pool to = *p;

	assert(limits->apps >= p->limits.apps &&
	    limits->processes >= p->limits.processes &&
	    limits->conns >= p->limits.conns &&
	    limits->sessions >= p->limits.sessions);
	(void)pool_lay_out(&to, limits, memory);
	/* The used part of the tables alone: other pages stay untouched. */
	POOL_COPY(apps, apps);
	POOL_COPY(processes, processes);
	POOL_COPY(conns, conns);
	POOL_COPY(app_links, apps);
	POOL_COPY(process_links, processes);
	POOL_COPY(conn_links, conns);
	POOL_COPY(prefetch_links, conns);
	POOL_COPY(app_deadlines.heap, to.app_deadlines.count);
	POOL_COPY(app_deadlines.where, apps);
	POOL_COPY(process_deadlines.heap, to.process_deadlines.count);
	POOL_COPY(process_deadlines.where, processes);
	for (uint32_t a = 0; a < apps; a++)
		memcpy(room_list(&to, a, 0), room_list(p, a, 0),
		    p->limits.sessions * sizeof(struct ilist));
	for (uint32_t i = 0; i < p->actions.count; i++)
		to.actions.ring[i] =
		    p->actions
			.ring[(p->actions.first + i) % p->actions.capacity];
	to.actions.first = 0;
	*p = to;
	/* Full tables may have held up processes and connections. */
	settle_places(p);
	settle_numbers(p);
}

/* --- apps --------------------------------------------------------------- */

uint32_t
pool_app_add(struct pool *p, const struct app_options *o, tstamp now)
{
	uint32_t app = 0;
	struct app *a;

	settle_at(p, now);
	while (app < p->napps && p->apps[app].phase != APP_FREE)
		app++;
	if (app == p->napps) {
		assert(p->napps < p->limits.apps);
		p->napps++;
	}
	a = &p->apps[app];
	*a = (struct app){ 0 };
	a->options = *o;
	app_time_stops(a);
	app_enter(a, APP_ADDED);
	a->stamp = ++p->stamps;
	a->growing.pace = 1;
	a->growing.first = MIN(o->min_idle, o->max_processes);
	a->shrinking.origin = now;
	a->load = (struct load){ .updated = now, .seen = now };
	a->promise =
	    (struct promise){ .updated = now, .newest = now / PROMISE_SLOT };
	room_init(p, app);
	ilist_init(&a->prefetched);
	ilist_init(&a->queue);
	ilist_init(&a->cleared);
	settle_app(p, app, 0);
	return app;
}

void
pool_app_change(
    struct pool *p, uint32_t app, const struct app_options *o, tstamp now)
{
	settle_at(p, now);
	queue_change(p, app, o);
	settle_app(p, app, MARK_ALL);
}

/* Former failures are forgotten, and ready is announced anew. */
static void
pool_begin_anew(struct app *a)
{
	a->failure.refused = 0;
	a->failure.jobs_done = 0;
	a->announced = false;
	app_forgive(a);
}

void
pool_app_restart(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	a->generation++;
	pool_begin_anew(a);
	rollout_add(p, app, ILIST_NONE);
	settle_places(p);
	settle_app(p, app, MARK_ALL);
}

void
pool_app_roll_back(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];
	const uint32_t canary = a->options.canary.processes;

	if (a->rollout.canary.processes == 0) {
		a->options.canary.processes = 0;
		pool_app_restart(p, app, now);
		a->options.canary.processes = canary;
		return;
	}
	settle_at(p, now);
	a->rollout.canary.fault = CANARY_CALLED_OFF;
	settle_app(p, app, MARK_ALL);
}

void
pool_app_renew(struct pool *p, uint32_t app, bool on, tstamp now)
{
	settle_at(p, now);
	p->apps[app].renewing = on && p->apps[app].options.sessions;
	settle_app(p, app, MARK_ALL);
}

void
pool_app_hold_soon(
    struct pool *p, uint32_t app, enum process_end why, tstamp now)
{
	settle_at(p, now);
	p->apps[app].leaving.soon = (uint8_t)why;
	settle_app(p, app, 0);
}

void
pool_app_hold(struct pool *p, uint32_t app, enum process_end why, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	app_enter(a, why == END_DRAINED ? APP_MUTED : APP_SHUT);
	a->leaving.why = (uint8_t)why;
	a->growing.first = 0;
	if (why == END_DRAINED)
		a->intake = (struct app_intake){ .accepting = ACCEPTING_OPEN };
	settle_app(p, app, 0);
}

void
pool_app_resume(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	app_enter(a, APP_RESUMED);
	a->leaving.ended = false;
	a->leaving.over = 0;
	a->intake = (struct app_intake){ .accepting = ACCEPTING_OPEN };
	a->growing.first = MIN(a->options.min_idle, a->options.max_processes);
	pool_begin_anew(a);
	settle_app(p, app, 0);
}

void
pool_app_close(struct pool *p, uint32_t app, tstamp now)
{
	struct app *a = &p->apps[app];

	settle_at(p, now);
	/* The stop of the pool has a time of its own. */
	if (a->phase < APP_CLOSING)
		a->leaving.by = p->phase == POOL_RUNNING
		    ? tstamp_add(now, a->options.stop_timeout)
		    : TSTAMP_NEVER;
	app_enter(a, APP_CLOSED);
	settle_app(p, app, 0);
}

void
pool_app_drained(struct pool *p, uint32_t app, tstamp now)
{
	settle_at(p, now);
	app_enter(&p->apps[app], APP_EMPTIED);
	p->apps[app].intake =
	    (struct app_intake){ .accepting = ACCEPTING_OPEN };
	settle_app(p, app, 0);
}

void
pool_app_free(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	assert(a->places_wanted == 0);
	p->marked -= a->shrinking.marked;
	p->surge -= a->rollout.surge;
	p->denied -= a->growing.spare == SPARE_DENIED ? 1 : 0;
	app_enter(a, APP_FREED);
	deadlines_set(&p->app_deadlines, app, TSTAMP_NEVER);
}

void
pool_resize(struct pool *p, uint32_t max_processes, uint32_t slack, tstamp now)
{
	settle_at(p, now);
	p->max_processes = max_processes;
	p->process_slack = slack;
	for (uint32_t app = 0; app < p->napps; app++) {
		if (p->apps[app].phase == APP_FREE)
			continue;
		settle_app(p, app, MARK_ALL);
	}
}

void
pool_stop(struct pool *p, tspan budget, tspan grace, tstamp now)
{
	settle_at(p, now);
	if (p->phase != POOL_RUNNING)
		return;
	p->phase = POOL_STOPPING;
	p->stop_at = tstamp_add(now, budget);
	p->stop_grace = grace < budget ? grace : budget;
}
