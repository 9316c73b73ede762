/*
 * AnyEvent::Fork::Pool, as its source has it.  max is max_processes, idle is
 * min_processes (its manual calls it the minimum size); load is 2 (with
 * concurrency: one more than it), start 0.1 s, stop 10 s, its defaults.
 *
 * It hands out jobs itself: to the worker with the fewest, be it starting,
 * `load` at most; the others wait in common.  A job stays where it is, though
 * another worker falls idle.
 *
 * While jobs wait, or fewer than `idle` workers are idle, one more starts
 * every `start` seconds, and no stop is due.  An empty pool starts one at
 * once.
 *
 * The timer of stops begins when a worker falls idle and no more than `idle`
 * are (the comment beside it has it the other way round), and ends when none
 * is; every `stop` seconds one idle worker is stopped, until no more than
 * `idle` are left.  So with idle = 0 it never stops any, and with idle = 1 it
 * can stop the last.
 */

#include <assert.h>
#include <stdlib.h>

#include "core/deadlines.h"
#include "core/ilist.h"
#include "sim/engine.h"
#include "sim/policy.h"

#define ANYEVENT_START TSPAN_MSECONDS(100)
#define ANYEVENT_STOP TSPAN_SECONDS(10)

struct anyevent_worker {
	uint32_t app;
	uint32_t load; /* jobs in its hands */
	bool ready;
	struct ilist held; /* jobs that it is to get when it is ready */
};

struct anyevent_app {
	const struct conf_app *conf;
	uint32_t count; /* workers, but for those that leave */
	uint32_t idle; /* those of them that have no job */
	struct ilist free; /* numbers of workers */
	struct ilist *by_load; /* workers, 0 … load */
	struct ilist queue; /* jobs that no worker could take */
};

struct anyevent {
	struct manager manager;
	struct anyevent_app *apps;
	uint32_t napps;
	struct anyevent_worker *workers;
	struct ilink *worker_links; /* lists free and by_load */
	struct ilink *request_links; /* lists queue and held */
	struct deadlines timers; /* 2 for each app, see below */
	void *memory; /* of timers */
};

/* The timers of an app. */
static uint32_t
start_timer(uint32_t app)
{
	return 2 * app;
}

static uint32_t
stop_timer(uint32_t app)
{
	return 2 * app + 1;
}

static struct anyevent *
anyevent_of(struct manager *m)
{
	return (struct anyevent *)m;
}

static uint32_t
anyevent_load(const struct anyevent_app *a)
{
	return a->conf->concurrency + 1;
}

/* A timer that runs already goes on. */
static void
anyevent_wind(struct anyevent *p, uint32_t timer, tstamp at)
{
	if (deadlines_get(&p->timers, timer) == TSTAMP_NEVER)
		deadlines_set(&p->timers, timer, at);
}

static void
anyevent_want_start(struct anyevent *p, uint32_t app, tstamp now)
{
	deadlines_set(&p->timers, stop_timer(app), TSTAMP_NEVER);
	anyevent_wind(p, start_timer(app), now + ANYEVENT_START);
}

/* --- workers ------------------------------------------------------------ */

/* Ready ones before those that start; of equals who was given work first. */
static void
worker_place(struct anyevent *p, uint32_t worker)
{
	struct anyevent_worker *w = &p->workers[worker];
	struct ilist *l = &p->apps[w->app].by_load[w->load];

	if (w->ready && w->load == 0)
		ilist_push_front(l, p->worker_links, worker);
	else
		ilist_push_back(l, p->worker_links, worker);
}

static void
worker_displace(struct anyevent *p, uint32_t worker)
{
	struct anyevent_worker *w = &p->workers[worker];

	ilist_remove(
	    &p->apps[w->app].by_load[w->load], p->worker_links, worker);
}

static void
worker_start(struct anyevent *p, uint32_t app)
{
	struct anyevent_app *a = &p->apps[app];
	uint32_t worker = a->free.first;

	/* There are twice as many numbers: those that leave keep theirs. */
	if (worker == ILIST_NONE)
		return;
	ilist_remove(&a->free, p->worker_links, worker);
	p->workers[worker] = (struct anyevent_worker){ .app = app };
	ilist_init(&p->workers[worker].held);
	a->count++;
	a->idle++;
	worker_place(p, worker);
	engine_start(p->manager.engine, worker, app, a->conf->concurrency);
}

/* One that has no job. */
static void
worker_stop(struct anyevent *p, uint32_t worker)
{
	struct anyevent_app *a = &p->apps[p->workers[worker].app];

	worker_displace(p, worker);
	a->count--;
	a->idle--;
	engine_stop(p->manager.engine, worker);
}

static void
worker_take(struct anyevent *p, uint32_t worker, uint32_t request)
{
	struct anyevent_worker *w = &p->workers[worker];

	worker_displace(p, worker);
	w->load++;
	worker_place(p, worker);
	if (w->ready)
		engine_give(p->manager.engine, worker, request);
	else
		ilist_push_back(&w->held, p->request_links, request);
}

/* The one with the fewest jobs. */
static uint32_t
worker_least(const struct anyevent_app *a)
{
	uint32_t load = 0;

	assert(a->count > 0);
	while (ilist_empty(&a->by_load[load]))
		load++;
	return a->by_load[load].first;
}

/* --- jobs --------------------------------------------------------------- */

static void
anyevent_schedule(struct anyevent *p, uint32_t app, tstamp now)
{
	struct anyevent_app *a = &p->apps[app];

	while (!ilist_empty(&a->queue) && a->count > 0) {
		uint32_t worker = worker_least(a), request = a->queue.first;
		uint32_t load = p->workers[worker].load;

		if (load >= anyevent_load(a)) {
			if (a->count < a->conf->max_processes)
				anyevent_want_start(p, app, now);
			return;
		}
		if (load == 0 && --a->idle == 0)
			deadlines_set(
			    &p->timers, stop_timer(app), TSTAMP_NEVER);
		if (load == 0 && a->idle < a->conf->min_processes &&
		    a->count < a->conf->max_processes)
			anyevent_want_start(p, app, now);
		ilist_remove(&a->queue, p->request_links, request);
		worker_take(p, worker, request);
	}
}

static void
anyevent_arrived(struct manager *m, uint32_t app, uint32_t request, tstamp now)
{
	struct anyevent *p = anyevent_of(m);
	struct anyevent_app *a = &p->apps[app];

	if (a->queue.count >= a->conf->backlog + a->conf->max_queue) {
		engine_refuse(m->engine, request, ENGINE_OVERFLOWED);
		return;
	}
	if (a->count == 0)
		worker_start(p, app);
	ilist_push_back(&a->queue, p->request_links, request);
	anyevent_schedule(p, app, now);
}

static void
anyevent_finished(
    struct manager *m, uint32_t worker, uint32_t request, tstamp now)
{
	struct anyevent *p = anyevent_of(m);
	struct anyevent_worker *w = &p->workers[worker];
	struct anyevent_app *a = &p->apps[w->app];

	(void)request;
	worker_displace(p, worker);
	w->load--;
	worker_place(p, worker);
	if (w->load == 0 && ++a->idle <= a->conf->min_processes)
		anyevent_wind(p, stop_timer(w->app), now + ANYEVENT_STOP);
	anyevent_schedule(p, w->app, now);
}

/* --- births and deaths -------------------------------------------------- */

static void
anyevent_ready(struct manager *m, uint32_t worker, tstamp now)
{
	struct anyevent *p = anyevent_of(m);
	struct anyevent_worker *w = &p->workers[worker];

	(void)now;
	worker_displace(p, worker);
	w->ready = true;
	worker_place(p, worker);
	while (!ilist_empty(&w->held)) {
		uint32_t request = w->held.first;

		ilist_remove(&w->held, p->request_links, request);
		engine_give(m->engine, worker, request);
	}
}

static void
anyevent_exited(struct manager *m, uint32_t worker, bool killed, tstamp now)
{
	struct anyevent *p = anyevent_of(m);

	(void)killed;
	(void)now;
	ilist_push_front(
	    &p->apps[p->workers[worker].app].free, p->worker_links, worker);
}

static void
anyevent_started(struct manager *m, tstamp now)
{
	struct anyevent *p = anyevent_of(m);
	uint32_t app;

	(void)now;
	for (app = 0; app < p->napps; app++) {
		while (p->apps[app].count < p->apps[app].conf->min_processes)
			worker_start(p, app);
	}
}

/* --- time --------------------------------------------------------------- */

static tstamp
anyevent_due(const struct manager *m)
{
	uint32_t timer;

	return deadlines_first(&((const struct anyevent *)m)->timers, &timer);
}

static void
anyevent_start_due(struct anyevent *p, uint32_t app, tstamp now)
{
	struct anyevent_app *a = &p->apps[app];
	uint32_t timer = start_timer(app);

	if ((a->idle >= a->conf->min_processes && ilist_empty(&a->queue)) ||
	    a->count >= a->conf->max_processes) {
		deadlines_set(&p->timers, timer, TSTAMP_NEVER);
		return;
	}
	deadlines_set(&p->timers, timer, now + ANYEVENT_START);
	worker_start(p, app);
	anyevent_schedule(p, app, now);
}

static void
anyevent_stop_due(struct anyevent *p, uint32_t app, tstamp now)
{
	struct anyevent_app *a = &p->apps[app];

	if (a->idle > 0)
		worker_stop(p, worker_least(a));
	deadlines_set(&p->timers, stop_timer(app),
	    a->idle <= a->conf->min_processes ? TSTAMP_NEVER
					      : now + ANYEVENT_STOP);
}

static void
anyevent_tick(struct manager *m, tstamp now)
{
	struct anyevent *p = anyevent_of(m);
	uint32_t timer;

	while (deadlines_first(&p->timers, &timer) <= now) {
		if (timer == start_timer(timer / 2))
			anyevent_start_due(p, timer / 2, now);
		else
			anyevent_stop_due(p, timer / 2, now);
	}
}

/* --- memory ------------------------------------------------------------- */

static void
anyevent_fini(struct manager *m)
{
	struct anyevent *p = anyevent_of(m);
	uint32_t app;

	for (app = 0; p->apps != NULL && app < p->napps; app++)
		free(p->apps[app].by_load);
	free(p->memory);
	free(p->request_links);
	free(p->worker_links);
	free(p->workers);
	free(p->apps);
	free(p);
}

static int
anyevent_app_init(struct anyevent *p, struct anyevent_app *a,
    const struct conf_app *conf, uint32_t base)
{
	uint32_t i;

	a->conf = conf;
	a->by_load = calloc(anyevent_load(a) + 1, sizeof(*a->by_load));
	if (a->by_load == NULL)
		return -1;
	for (i = 0; i <= anyevent_load(a); i++)
		ilist_init(&a->by_load[i]);
	ilist_init(&a->free);
	ilist_init(&a->queue);
	for (i = 0; i < 2 * conf->max_processes; i++) {
		p->workers[base + i].app = (uint32_t)(a - p->apps);
		ilist_push_back(&a->free, p->worker_links, base + i);
	}
	return 0;
}

static int
anyevent_apps_init(struct anyevent *p, const struct conf *conf)
{
	uint32_t app, base = 0;

	for (app = 0; app < p->napps; app++) {
		if (anyevent_app_init(
			p, &p->apps[app], &conf->apps[app], base) == -1)
			return -1;
		base += 2 * conf->apps[app].max_processes;
	}
	return 0;
}

struct manager *
policy_anyevent_new(const struct conf *conf, uint64_t seed)
{
	static const struct manager_ops ops = {
		.started = anyevent_started,
		.arrived = anyevent_arrived,
		.ready = anyevent_ready,
		.finished = anyevent_finished,
		.exited = anyevent_exited,
		.due = anyevent_due,
		.tick = anyevent_tick,
		.fini = anyevent_fini,
	};
	struct anyevent *p = calloc(1, sizeof(*p));
	uint32_t processes = 0, requests = 1, app;

	(void)seed;
	assert(conf->apps_len > 0);
	if (p == NULL)
		return NULL;
	p->napps = (uint32_t)conf->apps_len;
	for (app = 0; app < p->napps; app++) {
		const struct conf_app *a = &conf->apps[app];

		processes += 2 * a->max_processes;
		requests += a->backlog + a->max_queue +
		    a->max_processes * (a->concurrency + 1);
	}
	p->manager = (struct manager){ .ops = &ops,
		.name = "AnyEvent::Fork::Pool",
		.workers = processes,
		.requests = requests };
	p->apps = calloc(p->napps, sizeof(*p->apps));
	p->workers = calloc(processes, sizeof(*p->workers));
	p->worker_links = calloc(processes, sizeof(*p->worker_links));
	p->request_links = calloc(requests, sizeof(*p->request_links));
	p->memory = calloc(1, deadlines_memory(2 * p->napps));
	if (p->apps == NULL || p->workers == NULL || p->worker_links == NULL ||
	    p->request_links == NULL || p->memory == NULL ||
	    anyevent_apps_init(p, conf) == -1) {
		anyevent_fini(&p->manager);
		return NULL;
	}
	deadlines_init(&p->timers, p->memory, 2 * p->napps);
	return &p->manager;
}
