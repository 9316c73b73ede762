/*
 * The core in virtual time: the actions that it wants done are the services of
 * the engine, and what the engine tells are the facts that the core is told.
 */

#include <assert.h>
#include <stdlib.h>

#include "core/pool.h"
#include "sim/simulate.h"

/* The connections that the kernel keeps in front of an app. */
struct backlog {
	struct ilist requests; /* in the order of their arrival */
	uint32_t room; /* for requests */
	bool paused; /* accepting is, until ACTION_RESUME */
};

struct pool_driver {
	struct manager manager; /* first: see engine.h */
	const struct conf *conf;
	uint64_t seed;
	struct pool_limits limits;
	struct pool pool;
	void *memory; /* the pool's */
	struct backlog *backlogs; /* of the apps */
	struct ilink *links; /* of requests in backlogs */
	uint32_t *conn_of; /* of a request */
	uint32_t *request_of; /* of a connection */
};

static struct pool_driver *
driver_of(struct manager *m)
{
	return (struct pool_driver *)m;
}

/* --- accepting ---------------------------------------------------------- */

static void
driver_accept(struct pool_driver *d, uint32_t app, uint32_t request, tstamp now)
{
	uint32_t conn = pool_arrived(&d->pool, app, now);

	d->request_of[conn] = request;
	d->conn_of[request] = conn;
}

/* Accepts what the app has room for. */
static void
driver_resume(struct pool_driver *d, uint32_t app, tstamp now)
{
	struct backlog *b = &d->backlogs[app];

	while (!ilist_empty(&b->requests)) {
		uint32_t request = b->requests.first;

		if (!pool_may_accept(&d->pool, app)) {
			b->paused = true;
			pool_accept_paused(&d->pool, app, now);
			return;
		}
		ilist_remove(&b->requests, d->links, request);
		driver_accept(d, app, request, now);
	}
	b->paused = false;
	pool_accept_resumed(&d->pool, app, now);
}

/* --- actions ------------------------------------------------------------ */

static void
driver_act(struct pool_driver *d, const struct action *a, tstamp now)
{
	struct engine *e = d->manager.engine;
	uint32_t request;

	switch ((enum action_kind)a->kind) {
	case ACTION_SPAWN:
		pool_spawned(&d->pool, a->process, now);
		engine_start(e, a->process, a->app,
		    d->pool.apps[a->app].options.concurrency);
		break;
	case ACTION_HAND:
		engine_give(e, a->process, d->request_of[a->conn]);
		break;
	case ACTION_TAKE:
		request = engine_take(e, a->process);
		pool_taken(&d->pool, a->process,
		    request == ILIST_NONE ? ILIST_NONE : d->conn_of[request],
		    now);
		break;
	case ACTION_REFUSE:
		engine_refuse(e, d->request_of[a->conn],
		    a->cause == CAUSE_TIMED_OUT ? ENGINE_TIMED_OUT
						: ENGINE_REFUSED);
		break;
	case ACTION_STOP:
		engine_stop(e, a->process);
		break;
	case ACTION_TERM:
	case ACTION_KILL:
		engine_kill(e, a->process);
		break;
	case ACTION_RESUME:
		driver_resume(d, a->app, now);
		break;
	case ACTION_LOCK:
	case ACTION_UNLOCK:
	case ACTION_OVER:
		abort(); /* no app has a limit, none is closed */
	case ACTION_SLOW:
	case ACTION_TELL:
		break;
	}
}

static void
driver_settle(struct pool_driver *d, tstamp now)
{
	struct action a;

	while (pool_next_action(&d->pool, &a))
		driver_act(d, &a, now);
}

/* --- what the engine tells ---------------------------------------------- */

/*
 * The limit in front of an app is left out: the server that grants it has
 * other clients, whose load is not known here.
 */
static void
driver_started(struct manager *m, tstamp now)
{
	struct pool_driver *d = driver_of(m);
	const struct conf *conf = d->conf;
	struct app_options o;

	pool_init(
	    &d->pool, &d->limits, d->memory, conf->max_processes, d->seed, now);
	pool_resize(&d->pool, conf->max_processes, conf->process_slack, now);
	for (uint32_t i = 0; i < conf->apps_len; i++) {
		uint32_t app;

		o = conf->apps[i].pool;
		o.limited = false;
		app = pool_app_add(&d->pool, &o, now);
		assert(app == i);
		engine_need(m->engine, app, o.target_wait, 0);
	}
	driver_settle(d, now);
}

static void
driver_arrived(struct manager *m, uint32_t app, uint32_t request, tstamp now)
{
	struct pool_driver *d = driver_of(m);
	struct backlog *b = &d->backlogs[app];

	if (!d->pool.apps[app].options.sessions) {
		engine_refuse(m->engine, request, ENGINE_REFUSED);
	} else if (!b->paused && pool_may_accept(&d->pool, app)) {
		driver_accept(d, app, request, now);
	} else if (b->requests.count == b->room) {
		engine_refuse(m->engine, request, ENGINE_OVERFLOWED);
	} else {
		ilist_push_back(&b->requests, d->links, request);
		if (!b->paused)
			pool_accept_paused(&d->pool, app, now);
		b->paused = true;
	}
	driver_settle(d, now);
}

static void
driver_ready(struct manager *m, uint32_t worker, tstamp now)
{
	struct pool_driver *d = driver_of(m);
	bool sound;

	/* Workers without sessions were ready when they were started. */
	if (!d->pool.apps[d->pool.processes[worker].app].options.sessions)
		return;
	sound = pool_ready(&d->pool, worker, now);
	assert(sound);
	driver_settle(d, now);
}

static void
driver_finished(
    struct manager *m, uint32_t worker, uint32_t request, tstamp now)
{
	struct pool_driver *d = driver_of(m);
	bool sound = pool_session_over(
	    &d->pool, worker, d->conn_of[request], SESSION_DONE, now);

	assert(sound);
	driver_settle(d, now);
}

static void
driver_exited(struct manager *m, uint32_t worker, bool killed, tstamp now)
{
	struct pool_driver *d = driver_of(m);
	uint32_t request;

	pool_died(&d->pool, worker, killed ? END_SIGNAL : END_EXIT, now);
	while ((request = engine_take(m->engine, worker)) != ILIST_NONE)
		pool_retaken(&d->pool, d->conn_of[request], now);
	pool_gone(&d->pool, worker, now);
	driver_settle(d, now);
}

static tstamp
driver_due(const struct manager *m)
{
	return pool_deadline(&((const struct pool_driver *)m)->pool);
}

static void
driver_tick(struct manager *m, tstamp now)
{
	struct pool_driver *d = driver_of(m);

	pool_tick(&d->pool, now);
	driver_settle(d, now);
	/* Needs are estimated at ticks. */
	for (uint32_t i = 0; i < d->conf->apps_len; i++) {
		const struct app *app = &d->pool.apps[i];

		engine_need(
		    m->engine, i, app->options.target_wait, app->promise.need);
	}
}

/* --- set-up ------------------------------------------------------------- */

static void
driver_fini(struct manager *m)
{
	struct pool_driver *d = driver_of(m);

	free(d->memory);
	free(d->backlogs);
	free(d->links);
	free(d->conn_of);
	free(d->request_of);
	free(d);
}

struct manager *
pool_driver_new(const struct conf *conf, uint64_t seed)
{
	static const struct manager_ops ops = {
		.started = driver_started,
		.arrived = driver_arrived,
		.ready = driver_ready,
		.finished = driver_finished,
		.exited = driver_exited,
		.due = driver_due,
		.tick = driver_tick,
		.fini = driver_fini,
	};
	struct pool_driver *d = result_alloc(1, sizeof(*d));
	uint32_t requests;

	d->conf = conf;
	d->seed = seed;
	conf_pool_limits(conf, &d->limits);
	requests = d->limits.conns + 1;
	for (size_t i = 0; i < conf->apps_len; i++)
		requests += conf->apps[i].listen.backlog;
	d->manager = (struct manager){
		.ops = &ops,
		.name = "apppoold",
		.workers = d->limits.processes,
		.requests = requests,
	};
	d->memory = result_alloc(1, pool_memory(&d->limits));
	d->backlogs = result_alloc(d->limits.apps, sizeof(*d->backlogs));
	d->links = result_alloc(requests, sizeof(*d->links));
	d->conn_of = result_alloc(requests, sizeof(*d->conn_of));
	d->request_of = result_alloc(d->limits.conns, sizeof(*d->request_of));
	for (size_t i = 0; i < conf->apps_len; i++) {
		ilist_init(&d->backlogs[i].requests);
		d->backlogs[i].room = conf->apps[i].listen.backlog;
	}
	return &d->manager;
}
