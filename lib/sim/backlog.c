/* Workers that accept for themselves, from one backlog for each app. */

#include <assert.h>
#include <stdlib.h>

#include "core/prng.h"
#include "sim/backlog.h"
#include "sim/engine.h"

static struct backlog *
backlog_of(struct manager *m)
{
	return (struct backlog *)m;
}

/* Connections that wait for the app at most. */
static uint32_t
backlog_room(const struct backlog_app *a)
{
	return a->conf->backlog + a->conf->max_queue;
}

uint32_t
backlog_living(const struct backlog_app *a)
{
	return backlog_active(a) + a->leaving;
}

uint32_t
backlog_active(const struct backlog_app *a)
{
	return a->starting + a->idle + a->busy;
}

/* --- workers ------------------------------------------------------------ */

uint32_t
backlog_start(struct backlog *b, uint32_t app, uint32_t n, tstamp now)
{
	struct backlog_app *a = &b->apps[app];
	uint32_t started;

	for (started = 0; started < n && !ilist_empty(&a->free); started++) {
		uint32_t worker = a->free.first;

		ilist_remove(&a->free, b->worker_links, worker);
		b->workers[worker] = (struct backlog_worker){
			.state = WORKER_STARTING, .app = app, .born = now
		};
		a->starting++;
		b->total++;
		engine_start(
		    b->manager.engine, worker, app, a->conf->concurrency);
	}
	return started;
}

static bool
worker_open(const struct backlog *b, const struct backlog_worker *w)
{
	return w->state == WORKER_READY &&
	    w->serving < b->apps[w->app].conf->concurrency;
}

void
backlog_stop(struct backlog *b, uint32_t worker)
{
	struct backlog_worker *w = &b->workers[worker];
	struct backlog_app *a = &b->apps[w->app];

	assert(backlog_is_active(w));

	if (worker_open(b, w))
		ilist_remove(&a->open, b->worker_links, worker);
	if (w->state == WORKER_STARTING)
		a->starting--;
	else if (w->serving == 0)
		a->idle--;
	else
		a->busy--;
	a->leaving++;
	w->state = WORKER_LEAVING;
	engine_stop(b->manager.engine, worker);
}

uint32_t
backlog_longest_blocked(const struct backlog *b, uint32_t app)
{
	uint32_t worker = b->apps[app].open.first;

	while (worker != ILIST_NONE && b->workers[worker].serving > 0)
		worker = b->worker_links[worker].next;
	return worker;
}

uint32_t
backlog_oldest_idle(const struct backlog *b, uint32_t app)
{
	const struct ilist *open = &b->apps[app].open;
	uint32_t oldest = ILIST_NONE, worker;

	for (worker = open->first; worker != ILIST_NONE;
	     worker = b->worker_links[worker].next) {
		const struct backlog_worker *w = &b->workers[worker];

		if (w->serving > 0)
			continue;
		if (oldest == ILIST_NONE || w->born < b->workers[oldest].born)
			oldest = worker;
	}
	return oldest;
}

/* --- connections -------------------------------------------------------- */

/* The worker, which has room, accepts the request. */
static void
worker_accept(struct backlog *b, uint32_t worker, uint32_t request, tstamp now)
{
	struct backlog_worker *w = &b->workers[worker];
	struct backlog_app *a = &b->apps[w->app];

	ilist_remove(&a->open, b->worker_links, worker);
	if (w->serving++ == 0) {
		a->idle--;
		a->busy++;
	}
	w->active = now;
	b->begun[request] = now;
	engine_give(b->manager.engine, worker, request);
	if (worker_open(b, w))
		ilist_push_back(&a->open, b->worker_links, worker);
}

/* The oldest waiters go to those that are blocked. */
static void
backlog_serve(struct backlog *b, struct backlog_app *a, tstamp now)
{
	while (!ilist_empty(&a->queue) && !ilist_empty(&a->open)) {
		uint32_t request = a->queue.first;

		ilist_remove(&a->queue, b->request_links, request);
		worker_accept(b, a->open.first, request, now);
		if (b->ops->begun != NULL)
			b->ops->begun(b, request);
	}
}

static void
backlog_arrived(struct manager *m, uint32_t app, uint32_t request, tstamp now)
{
	struct backlog *b = backlog_of(m);
	struct backlog_app *a = &b->apps[app];
	bool waits = ilist_empty(&a->open);

	if (waits && a->queue.count >= backlog_room(a)) {
		engine_refuse(m->engine, request, ENGINE_OVERFLOWED);
		return;
	}
	if (waits)
		ilist_push_back(&a->queue, b->request_links, request);
	else
		worker_accept(b, a->open.first, request, now);
	if (b->ops->arrived != NULL)
		b->ops->arrived(b, app, request, waits, now);
}

static void
backlog_finished(
    struct manager *m, uint32_t worker, uint32_t request, tstamp now)
{
	struct backlog *b = backlog_of(m);
	struct backlog_worker *w = &b->workers[worker];
	struct backlog_app *a = &b->apps[w->app];
	bool was_open = worker_open(b, w);
	tspan served = now - b->begun[request];

	w->active = now;
	if (--w->serving == 0 && w->state == WORKER_READY) {
		a->busy--;
		a->idle++;
	}
	if (w->state == WORKER_READY && !was_open)
		ilist_push_back(&a->open, b->worker_links, worker);
	backlog_serve(b, a, now);
	if (b->ops->finished != NULL)
		b->ops->finished(b, worker, served, now);
}

/* --- births and deaths -------------------------------------------------- */

static void
backlog_ready(struct manager *m, uint32_t worker, tstamp now)
{
	struct backlog *b = backlog_of(m);
	struct backlog_worker *w = &b->workers[worker];
	struct backlog_app *a = &b->apps[w->app];

	if (w->state != WORKER_STARTING)
		return;
	w->state = WORKER_READY;
	w->active = now;
	a->starting--;
	a->idle++;
	ilist_push_back(&a->open, b->worker_links, worker);
	backlog_serve(b, a, now);
}

static void
backlog_exited(struct manager *m, uint32_t worker, bool killed, tstamp now)
{
	struct backlog *b = backlog_of(m);
	struct backlog_worker *w = &b->workers[worker];
	struct backlog_app *a = &b->apps[w->app];

	(void)killed;
	(void)now;
	assert(w->state == WORKER_LEAVING);
	a->leaving--;
	b->total--;
	w->state = WORKER_NONE;
	ilist_push_front(&a->free, b->worker_links, worker);
}

static void
backlog_started(struct manager *m, tstamp now)
{
	struct backlog *b = backlog_of(m);
	struct prng random = { .state = b->seed };
	uint32_t app;

	b->next = TSTAMP_NEVER;
	if (b->ops->period > 0)
		b->next = now + prng_span(&random, b->ops->period - 1) + 1;
	for (app = 0; app < b->napps; app++) {
		const struct backlog_app *a = &b->apps[app];

		backlog_start(b, app,
		    a->served ? b->ops->first(a->conf) : a->conf->min_processes,
		    now);
	}
}

/* --- time --------------------------------------------------------------- */

static tstamp
backlog_due(const struct manager *m)
{
	const struct backlog *b = (const struct backlog *)m;

	if (b->ops->due == NULL)
		return b->next;
	return tstamp_min(b->next, b->ops->due(b));
}

static void
backlog_tick(struct manager *m, tstamp now)
{
	struct backlog *b = backlog_of(m);
	uint32_t app;

	if (b->ops->woken != NULL)
		b->ops->woken(b, now);
	if (now < b->next)
		return;
	b->next += b->ops->period;
	for (app = 0; app < b->napps; app++) {
		if (b->apps[app].served)
			b->ops->ticked(b, app, now);
	}
}

/* --- memory ------------------------------------------------------------- */

static void
backlog_fini(struct manager *m)
{
	struct backlog *b = backlog_of(m);

	if (b->ops->fini != NULL)
		b->ops->fini(b);
	backlog_free(b);
}

static const struct manager_ops manager_ops = {
	.started = backlog_started,
	.arrived = backlog_arrived,
	.ready = backlog_ready,
	.finished = backlog_finished,
	.exited = backlog_exited,
	.due = backlog_due,
	.tick = backlog_tick,
	.fini = backlog_fini,
};

static void
backlog_app_init(
    struct backlog *b, struct backlog_app *a, const struct conf_app *conf)
{
	uint32_t i;

	a->conf = conf;
	a->served = conf->handoff != CONF_HANDOFF_NONE &&
	    conf->handoff != CONF_HANDOFF_LISTEN;
	a->base = b->manager.workers;
	ilist_init(&a->free);
	ilist_init(&a->open);
	ilist_init(&a->queue);
	for (i = 0; i < conf->max_processes; i++)
		ilist_push_back(&a->free, b->worker_links, a->base + i);
	b->manager.workers += conf->max_processes;
}

struct backlog *
backlog_new(size_t size, const struct backlog_ops *ops, const struct conf *conf,
    uint64_t seed)
{
	struct backlog *b = calloc(1, size);
	uint32_t processes = 0, requests = 1, i;

	assert(conf->apps_len > 0);
	if (b == NULL)
		return NULL;

	for (i = 0; i < conf->apps_len; i++) {
		const struct conf_app *a = &conf->apps[i];

		processes += a->max_processes;
		requests += a->backlog + a->max_queue +
		    a->max_processes * a->concurrency;
	}
	b->manager = (struct manager){
		.ops = &manager_ops, .name = ops->name, .requests = requests
	};
	b->ops = ops;
	b->seed = seed;
	b->napps = (uint32_t)conf->apps_len;
	b->apps = calloc(b->napps, sizeof(*b->apps));
	b->workers = calloc(processes, sizeof(*b->workers));
	b->worker_links = calloc(processes, sizeof(*b->worker_links));
	b->request_links = calloc(requests, sizeof(*b->request_links));
	b->begun = calloc(requests, sizeof(*b->begun));
	if (b->apps == NULL || b->workers == NULL || b->worker_links == NULL ||
	    b->request_links == NULL || b->begun == NULL) {
		backlog_free(b);
		return NULL;
	}
	for (i = 0; i < b->napps; i++)
		backlog_app_init(b, &b->apps[i], &conf->apps[i]);
	return b;
}

void
backlog_free(struct backlog *b)
{
	free(b->begun);
	free(b->request_links);
	free(b->worker_links);
	free(b->workers);
	free(b->apps);
	free(b);
}
