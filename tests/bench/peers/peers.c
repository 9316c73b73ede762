/*
 * All policies, and those that look at nothing but idle workers:
 *
 * static: always max_processes.
 *
 * php-fpm, pm = dynamic: pm.max_children is max_processes.  The other sizes
 * stand to it as in the pool file that comes with php-fpm (5, 1, 3),
 * pm.start_servers is half way between them by default:
 *
 *	pm.min_spare_servers = max_processes / 5, at least 1
 *	pm.max_spare_servers = max_processes * 3 / 5, at least min_processes
 *	pm.start_servers = the mean of both, at least min_processes
 *
 * Once a second it counts the idle children; starting ones are none.  Over
 * pm.max_spare_servers the idle child with the longest life is stopped.  Under
 * pm.min_spare_servers as many are forked as are missing, but at most 1, 2, 4
 * … 32 in seconds that follow each other.
 *
 * php-fpm, pm = ondemand: pm.max_children is max_processes, there is no
 * minimum.  Whenever a connection comes and no child is idle one is forked;
 * starting children are not counted.  Once a second the idle child with the
 * longest life, and no other, is stopped if it has done nothing for more than
 * pm.process_idle_timeout, 10 seconds.  Connections go round, so that under
 * traffic no child is idle for so long.
 *
 * Apache's prefork MPM: MaxRequestWorkers is max_processes.  The other sizes
 * stand to it as their defaults to its own (256, 5, 5, 10):
 *
 *	StartServers = max_processes * 5 / 256, at least 1 and min_processes
 *	MinSpareServers = max_processes * 5 / 256, at least 1
 *	MaxSpareServers = max_processes * 10 / 256, at least min_processes
 *		and one more than MinSpareServers
 *
 * Once a second it counts the idle children, starting ones included.  Over
 * MaxSpareServers one is stopped: it wakes a child that blocks in accept(),
 * and so the longest blocked.  Under MinSpareServers 1, 2, 4 … 32 are forked
 * in seconds that follow each other, however few are missing.
 */

#include <assert.h>
#include <stdlib.h>

#include "core/prng.h"
#include "sim/simulate.h"

#include "peers.h"

#define SECOND TSPAN_SECONDS(1)

#define PREFORK_WORKERS 256
#define PREFORK_MIN 5
#define PREFORK_MAX 10

/* Seconds, as php-fpm counts them: whole ones. */
#define FPM_IDLE_TIMEOUT 10

static struct policy *
policy_of(struct manager *m)
{
	return (struct policy *)m;
}

/* --- workers ------------------------------------------------------------ */

/* The list in which the worker is to wait; NULL: it has no room. */
static struct ilist *
place_of(const struct policy *p, const struct policy_worker *w)
{
	const struct policy_app *a = &p->apps[w->app];

	if (w->serving >= a->capacity)
		return NULL;
	if (p->ops->assigns)
		return policy_is_active(w) ? &a->open[w->serving] : NULL;
	return w->state == POLICY_IDLE || w->state == POLICY_BUSY ? a->open
								  : NULL;
}

/* The worker is in that state from now on, and has so many requests. */
static void
set_worker(struct policy *p, uint32_t worker, enum policy_state state,
    uint32_t serving)
{
	struct policy_worker *w = &p->workers[worker];
	struct policy_app *a = &p->apps[w->app];
	bool fewer = serving < w->serving;
	struct ilist *to;

	a->count[w->state]--;
	a->count[state]++;
	w->state = (uint8_t)state;
	w->serving = serving;
	to = place_of(p, w);
	/* A worker that has finished goes on waiting where it does. */
	if (to == w->place && fewer)
		return;
	if (w->place != NULL)
		ilist_remove(w->place, p->worker_links, worker);
	w->place = to;
	if (to != NULL && p->ops->assigns && state == POLICY_IDLE)
		ilist_push_front(to, p->worker_links, worker);
	else if (to != NULL)
		ilist_push_back(to, p->worker_links, worker);
}

uint32_t
policy_start(struct policy *p, uint32_t app, uint32_t n, tstamp now)
{
	struct policy_app *a = &p->apps[app];
	uint32_t started;

	for (started = 0; started < n && !ilist_empty(&a->free); started++) {
		uint32_t worker = a->free.first;

		ilist_remove(&a->free, p->worker_links, worker);
		p->workers[worker].started = now;
		p->total++;
		set_worker(p, worker, POLICY_STARTING, 0);
		engine_start(
		    p->manager.engine, worker, app, a->conf->pool.concurrency);
	}
	return started;
}

void
policy_stop(struct policy *p, uint32_t worker)
{
	const struct policy_worker *w = &p->workers[worker];

	assert(policy_is_active(w));
	set_worker(p, worker, POLICY_LEAVING, w->serving);
	engine_stop(p->manager.engine, worker);
}

static void
worker_ready(struct manager *m, uint32_t worker, tstamp now)
{
	struct policy *p = policy_of(m);
	struct policy_worker *w = &p->workers[worker];

	if (w->state != POLICY_STARTING)
		return;
	w->active = now;
	set_worker(
	    p, worker, w->serving > 0 ? POLICY_BUSY : POLICY_IDLE, w->serving);
	while (!ilist_empty(&w->held)) {
		uint32_t request = w->held.first;

		ilist_remove(&w->held, p->request_links, request);
		engine_give(m->engine, worker, request);
	}
	policy_accept(p, &p->apps[w->app], now);
}

static void
worker_exited(struct manager *m, uint32_t worker, bool killed, tstamp now)
{
	struct policy *p = policy_of(m);
	const struct policy_worker *w = &p->workers[worker];

	(void)killed;
	(void)now;
	assert(w->state == POLICY_LEAVING);
	p->total--;
	set_worker(p, worker, POLICY_FREE, 0);
	ilist_push_front(&p->apps[w->app].free, p->worker_links, worker);
}

/* --- connections -------------------------------------------------------- */

/* The worker whose turn it is; ILIST_NONE: none has room. */
static uint32_t
next_worker(const struct policy_app *a)
{
	uint32_t n = 0;

	while (n + 1 < a->opens && ilist_empty(&a->open[n]))
		n++;
	return a->open[n].first;
}

/* The worker, which has room, accepts the request. */
static void
worker_accept(struct policy *p, uint32_t worker, uint32_t request, tstamp now)
{
	struct policy_worker *w = &p->workers[worker];
	bool starting = w->state == POLICY_STARTING;

	w->active = now;
	p->accepted[request] = now;
	set_worker(p, worker, starting ? POLICY_STARTING : POLICY_BUSY,
	    w->serving + 1);
	if (starting)
		ilist_push_back(&w->held, p->request_links, request);
	else
		engine_give(p->manager.engine, worker, request);
	if (p->ops->accepted != NULL)
		p->ops->accepted(p, worker, request, now);
}

void
policy_accept(struct policy *p, struct policy_app *a, tstamp now)
{
	uint32_t worker;

	while (!ilist_empty(&a->queue) &&
	    (worker = next_worker(a)) != ILIST_NONE) {
		uint32_t request = a->queue.first;

		ilist_remove(&a->queue, p->request_links, request);
		worker_accept(p, worker, request, now);
	}
}

static void
request_arrived(struct manager *m, uint32_t app, uint32_t request, tstamp now)
{
	struct policy *p = policy_of(m);
	struct policy_app *a = &p->apps[app];
	uint32_t worker = next_worker(a);
	bool waits = worker == ILIST_NONE;

	p->app_of[request] = app;
	if (waits &&
	    a->queue.count >=
		a->conf->listen.backlog + a->conf->pool.max_queue) {
		engine_refuse(m->engine, request, ENGINE_OVERFLOWED);
		return;
	}
	if (waits)
		ilist_push_back(&a->queue, p->request_links, request);
	else
		worker_accept(p, worker, request, now);
	if (p->ops->arrived != NULL)
		p->ops->arrived(p, app, request, waits, now);
}

static void
request_finished(
    struct manager *m, uint32_t worker, uint32_t request, tstamp now)
{
	struct policy *p = policy_of(m);
	struct policy_worker *w = &p->workers[worker];
	tspan served = now - p->accepted[request];
	bool idle = w->state == POLICY_BUSY && w->serving == 1;

	w->active = now;
	set_worker(p, worker, idle ? POLICY_IDLE : w->state, w->serving - 1);
	policy_accept(p, &p->apps[w->app], now);
	if (p->ops->finished != NULL)
		p->ops->finished(p, worker, served, now);
}

/* --- time --------------------------------------------------------------- */

static void
manager_started(struct manager *m, tstamp now)
{
	struct policy *p = policy_of(m);
	struct prng random = { .state = p->seed };

	p->next = TSTAMP_NEVER;
	if (p->ops->period > 0)
		p->next = now + prng_span(&random, p->ops->period - 1) + 1;
	for (uint32_t app = 0; app < p->napps; app++) {
		const struct policy_app *a = &p->apps[app];

		policy_start(p, app,
		    a->served ? p->ops->begin(p, app)
			      : a->conf->pool.min_processes,
		    now);
	}
}

static tstamp
manager_due(const struct manager *m)
{
	const struct policy *p = (const struct policy *)m;
	uint32_t number;

	if (p->ops->due == NULL)
		return p->next;
	return tstamp_min(p->next, deadlines_first(&p->deadlines, &number));
}

static void
manager_tick(struct manager *m, tstamp now)
{
	struct policy *p = policy_of(m);
	uint32_t number;

	while (deadlines_first(&p->deadlines, &number) <= now)
		p->ops->due(p, number, now);
	if (now < p->next)
		return;
	p->next += p->ops->period;
	for (uint32_t app = 0; app < p->napps; app++) {
		if (p->apps[app].served)
			p->ops->ticked(p, app, now);
	}
}

/* --- memory ------------------------------------------------------------- */

static void
manager_fini(struct manager *m)
{
	struct policy *p = policy_of(m);

	for (uint32_t app = 0; p->apps != NULL && app < p->napps; app++)
		free(p->apps[app].open);
	free(p->worker_states);
	free(p->app_states);
	free(p->memory);
	free(p->accepted);
	free(p->app_of);
	free(p->request_links);
	free(p->worker_links);
	free(p->workers);
	free(p->apps);
	free(p);
}

static bool
app_init(struct policy *p, struct policy_app *a, const struct conf_app *conf)
{
	a->conf = conf;
	a->served = conf->pool.sessions;
	a->numbers = conf->pool.max_processes * (1 + p->ops->assigns);
	a->base = p->manager.workers;
	a->capacity = conf->pool.concurrency + p->ops->assigns;
	a->opens = p->ops->assigns ? a->capacity : 1;
	a->open = calloc(a->opens, sizeof(*a->open));
	p->manager.workers += a->numbers;
	p->manager.requests += conf->listen.backlog + conf->pool.max_queue +
	    conf->pool.max_processes * a->capacity;
	return a->open != NULL;
}

static bool
allocate(struct policy *p, uint32_t workers, uint32_t requests)
{
	uint32_t numbers = requests + 2 * p->napps;
	size_t size = 0;

	p->workers = calloc(workers, sizeof(*p->workers));
	p->worker_links = calloc(workers, sizeof(*p->worker_links));
	p->request_links = calloc(requests, sizeof(*p->request_links));
	p->accepted = calloc(requests, sizeof(*p->accepted));
	p->app_of = calloc(requests, sizeof(*p->app_of));
	deadlines_carve(&p->deadlines, NULL, &size, numbers);
	p->memory = calloc(1, size);
	size = 0;
	p->app_states = calloc(p->napps, p->ops->app_size);
	p->worker_states = calloc(workers, p->ops->worker_size);
	if (p->memory != NULL)
		deadlines_carve(&p->deadlines, p->memory, &size, numbers);
	return p->workers != NULL && p->worker_links != NULL &&
	    p->request_links != NULL && p->accepted != NULL &&
	    p->app_of != NULL && p->memory != NULL && p->app_states != NULL &&
	    p->worker_states != NULL;
}

static void
lists_init(struct policy *p, struct policy_app *a)
{
	a->count[POLICY_FREE] = a->numbers;
	ilist_init(&a->free);
	ilist_init(&a->queue);
	for (uint32_t i = 0; i < a->opens; i++)
		ilist_init(&a->open[i]);
	for (uint32_t i = a->base; i < a->base + a->numbers; i++) {
		p->workers[i].app = (uint32_t)(a - p->apps);
		ilist_init(&p->workers[i].held);
		ilist_push_back(&a->free, p->worker_links, i);
	}
}

static bool
init(struct policy *p, const struct conf *conf)
{
	p->conf = conf;
	p->napps = (uint32_t)conf->apps_len;
	p->apps = calloc(p->napps, sizeof(*p->apps));
	if (p->apps == NULL)
		return false;
	for (uint32_t i = 0; i < p->napps; i++)
		if (!app_init(p, &p->apps[i], &conf->apps[i]))
			return false;
	if (!allocate(p, p->manager.workers, p->manager.requests))
		return false;
	for (uint32_t i = 0; i < p->napps; i++)
		lists_init(p, &p->apps[i]);
	return true;
}

static struct manager *
policy_new(const struct policy_ops *ops, const struct conf *conf, uint64_t seed)
{
	static const struct manager_ops manager_ops = {
		.started = manager_started,
		.arrived = request_arrived,
		.ready = worker_ready,
		.finished = request_finished,
		.exited = worker_exited,
		.due = manager_due,
		.tick = manager_tick,
		.fini = manager_fini,
	};
	struct policy *p = calloc(1, ops->size == 0 ? sizeof(*p) : ops->size);

	assert(conf->apps_len > 0);
	if (p == NULL)
		return NULL;
	p->manager = (struct manager){
		.ops = &manager_ops, .name = ops->name, .requests = 1
	};
	p->ops = ops;
	p->seed = seed;
	if (init(p, conf))
		return &p->manager;
	manager_fini(&p->manager);
	return NULL;
}

/* --- static ------------------------------------------------------------- */

static uint32_t
begin_static(struct policy *p, uint32_t app)
{
	return p->apps[app].conf->pool.max_processes;
}

static const struct policy_ops policy_static = {
	.name = "static",
	.begin = begin_static,
};

/* --- a band of idle workers --------------------------------------------- */

/* Starts in one second at most, of Apache and of php-fpm. */
#define BAND_RATE_MAX 32

/* The bounds in which the idle workers of an app are kept. */
struct band {
	uint32_t min;
	uint32_t max; /* at least min */
	uint32_t rate; /* starts in the next second, if any are needed */
};

static struct band *
band_of(struct policy *p, uint32_t app)
{
	return (struct band *)p->app_states + app;
}

static uint32_t
most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void
band_start(struct policy *p, uint32_t app, uint32_t n, tstamp now)
{
	struct band *b = band_of(p, app);

	if (policy_start(p, app, n, now) == 0)
		b->rate = 1;
	else if (b->rate < BAND_RATE_MAX)
		b->rate *= 2;
}

/* The idle worker that has waited longest; ILIST_NONE: there is none. */
static uint32_t
longest_blocked(const struct policy *p, uint32_t app)
{
	uint32_t worker = p->apps[app].open->first;

	while (worker != ILIST_NONE && p->workers[worker].serving > 0)
		worker = p->worker_links[worker].next;
	return worker;
}

/* The idle worker with the longest life; ILIST_NONE: there is none. */
static uint32_t
oldest_idle(const struct policy *p, uint32_t app)
{
	const struct policy_worker *w = p->workers;
	uint32_t oldest = ILIST_NONE, worker;

	for (worker = p->apps[app].open->first; worker != ILIST_NONE;
	     worker = p->worker_links[worker].next) {
		if (w[worker].serving > 0)
			continue;
		if (oldest == ILIST_NONE ||
		    w[worker].started < w[oldest].started)
			oldest = worker;
	}
	return oldest;
}

/* --- Apache prefork ----------------------------------------------------- */

static uint32_t
begin_prefork(struct policy *p, uint32_t app)
{
	const struct conf_app *conf = p->apps[app].conf;
	struct band *b = band_of(p, app);

	b->rate = 1;
	b->min =
	    most(conf->pool.max_processes * PREFORK_MIN / PREFORK_WORKERS, 1);
	b->max = most(conf->pool.max_processes * PREFORK_MAX / PREFORK_WORKERS,
	    most(b->min + 1, conf->pool.min_processes));
	/* StartServers and MinSpareServers have the same default. */
	return most(b->min, conf->pool.min_processes);
}

static void
prefork_ticked(struct policy *p, uint32_t app, tstamp now)
{
	const struct policy_app *a = &p->apps[app];
	struct band *b = band_of(p, app);
	uint32_t idle = a->count[POLICY_IDLE] + a->count[POLICY_STARTING],
		 worker;

	if (idle < b->min) {
		band_start(p, app, b->rate, now);
		return;
	}
	b->rate = 1;
	if (idle <= b->max)
		return;
	worker = longest_blocked(p, app);
	if (worker != ILIST_NONE)
		policy_stop(p, worker);
}

static const struct policy_ops policy_prefork = {
	.name = "Apache prefork",
	.period = SECOND,
	.app_size = sizeof(struct band),
	.begin = begin_prefork,
	.ticked = prefork_ticked,
};

/* --- php-fpm dynamic ---------------------------------------------------- */

static uint32_t
begin_fpm_dynamic(struct policy *p, uint32_t app)
{
	const struct conf_app *conf = p->apps[app].conf;
	struct band *b = band_of(p, app);

	b->rate = 1;
	b->min = most(conf->pool.max_processes / 5, 1);
	b->max = most(conf->pool.max_processes * 3 / 5,
	    most(b->min, conf->pool.min_processes));
	return most(b->min + (b->max - b->min) / 2, conf->pool.min_processes);
}

static void
fpm_dynamic_ticked(struct policy *p, uint32_t app, tstamp now)
{
	struct band *b = band_of(p, app);
	uint32_t idle = p->apps[app].count[POLICY_IDLE];

	if (idle < b->min) {
		band_start(p, app,
		    b->rate < b->min - idle ? b->rate : b->min - idle, now);
		return;
	}
	b->rate = 1;
	if (idle > b->max)
		policy_stop(p, oldest_idle(p, app));
}

static const struct policy_ops policy_fpm_dynamic = {
	.name = "php-fpm dynamic",
	.period = SECOND,
	.app_size = sizeof(struct band),
	.begin = begin_fpm_dynamic,
	.ticked = fpm_dynamic_ticked,
};

/* --- php-fpm ondemand --------------------------------------------------- */

static uint32_t
begin_fpm_ondemand(struct policy *p, uint32_t app)
{
	(void)p;
	(void)app;
	return 0;
}

static void
fpm_ondemand_arrived(
    struct policy *p, uint32_t app, uint32_t request, bool waits, tstamp now)
{
	(void)request;
	if (waits)
		policy_start(p, app, 1, now);
}

static void
fpm_ondemand_ticked(struct policy *p, uint32_t app, tstamp now)
{
	uint32_t oldest = oldest_idle(p, app);

	if (oldest != ILIST_NONE &&
	    p->workers[oldest].active / SECOND <
		now / SECOND - FPM_IDLE_TIMEOUT)
		policy_stop(p, oldest);
}

static const struct policy_ops policy_fpm_ondemand = {
	.name = "php-fpm ondemand",
	.period = SECOND,
	.begin = begin_fpm_ondemand,
	.arrived = fpm_ondemand_arrived,
	.ticked = fpm_ondemand_ticked,
};

/* --- all ---------------------------------------------------------------- */

struct manager *
policies_new(enum policies policy, const struct conf *conf, uint64_t seed)
{
	static const struct policy_ops *const all[] = {
		[POLICIES_STATIC] = &policy_static,
		[POLICIES_FPM_DYNAMIC] = &policy_fpm_dynamic,
		[POLICIES_FPM_ONDEMAND] = &policy_fpm_ondemand,
		[POLICIES_PREFORK] = &policy_prefork,
		[POLICIES_UWSGI] = &policy_uwsgi,
		[POLICIES_FASTCGI] = &policy_fastcgi,
		[POLICIES_ANYEVENT] = &policy_anyevent,
	};

	assert(policy < POLICIES_LEN);
	return policy_new(all[policy], conf, seed);
}
