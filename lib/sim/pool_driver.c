/* The core in virtual time. */

#include <assert.h>
#include <stdlib.h>

#include "conf/conf_pool.h"
#include "core/pool.h"
#include "sim/engine.h"
#include "sim/pool_driver.h"

/* In front of an app: requests that could not come in yet, in order. */
struct door {
	struct ilist backlog;
	uint32_t room; /* places that it has */
	bool muted; /* nobody looks at it until ACTION_RESUME */
};

struct pool_driver {
	struct manager manager; /* first: see manager.h */
	const struct conf *conf;
	uint64_t seed;
	struct pool_limits limits;
	struct pool pool;
	void *memory; /* the pool's */
	struct door *doors; /* of the apps */
	struct ilink *links; /* of requests in backlogs */
	uint32_t *conn_of; /* of a request */
	uint32_t *request_of; /* of a connection */
};

static struct pool_driver *
pool_driver(struct manager *m)
{
	return (struct pool_driver *)m;
}

/* --- doors -------------------------------------------------------------- */

static void
pool_driver_accept(
    struct pool_driver *d, uint32_t app, uint32_t request, tstamp now)
{
	uint32_t conn = pool_arrived(&d->pool, app, now);

	d->request_of[conn] = request;
	d->conn_of[request] = conn;
}

/* Lets in what the app has room for. */
static void
pool_driver_resume(struct pool_driver *d, uint32_t app, tstamp now)
{
	struct door *door = &d->doors[app];

	while (!ilist_empty(&door->backlog)) {
		uint32_t request = door->backlog.first;

		if (!pool_may_accept(&d->pool, app)) {
			door->muted = true;
			pool_accept_paused(&d->pool, app, now);
			return;
		}
		ilist_remove(&door->backlog, d->links, request);
		pool_driver_accept(d, app, request, now);
	}
	door->muted = false;
	pool_accept_resumed(&d->pool, app, now);
}

/* --- actions ------------------------------------------------------------ */

static void
pool_driver_spawn(struct pool_driver *d, const struct action *a, tstamp now)
{
	const struct app_options *o = &d->pool.apps[a->app].options;

	pool_spawned(&d->pool, a->process, now);
	engine_start(d->manager.engine, a->process, a->app, o->concurrency);
}

static void
pool_driver_take(struct pool_driver *d, const struct action *a, tstamp now)
{
	uint32_t request = engine_take(d->manager.engine, a->process);

	pool_taken(&d->pool, a->process,
	    request == ILIST_NONE ? ILIST_NONE : d->conn_of[request], now);
}

static void
pool_driver_carry(struct pool_driver *d, const struct action *a, tstamp now)
{
	struct engine *e = d->manager.engine;

	switch ((enum action_kind)a->kind) {
	case ACTION_SPAWN:
		pool_driver_spawn(d, a, now);
		break;
	case ACTION_HAND:
		engine_give(e, a->process, d->request_of[a->conn]);
		break;
	case ACTION_TAKE:
		pool_driver_take(d, a, now);
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
		pool_driver_resume(d, a->app, now);
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
pool_driver_settle(struct pool_driver *d, tstamp now)
{
	struct action a;

	while (pool_next_action(&d->pool, &a))
		pool_driver_carry(d, &a, now);
}

/* --- what the engine tells ---------------------------------------------- */

/*
 * A limit in front of an app is that of a server which others use too: it is
 * left out.
 */
static void
pool_driver_started(struct manager *m, tstamp now)
{
	struct pool_driver *d = pool_driver(m);
	const struct conf *conf = d->conf;
	struct app_options o;

	pool_init(
	    &d->pool, &d->limits, d->memory, conf->max_processes, d->seed, now);
	pool_resize(&d->pool, conf->max_processes, conf->process_slack, now);
	for (uint32_t i = 0; i < conf->apps_len; i++) {
		uint32_t app;

		conf_pool_options(&conf->apps[i], &o);
		o.limited = false;
		app = pool_app_add(&d->pool, &o, now);
		assert(app == i);
		(void)app;
	}
	pool_driver_settle(d, now);
}

static void
pool_driver_arrived(
    struct manager *m, uint32_t app, uint32_t request, tstamp now)
{
	struct pool_driver *d = pool_driver(m);
	struct door *door = &d->doors[app];

	if (!d->pool.apps[app].options.sessions) {
		engine_refuse(m->engine, request, ENGINE_REFUSED);
	} else if (!door->muted && pool_may_accept(&d->pool, app)) {
		pool_driver_accept(d, app, request, now);
	} else if (door->backlog.count == door->room) {
		engine_refuse(m->engine, request, ENGINE_OVERFLOWED);
	} else {
		ilist_push_back(&door->backlog, d->links, request);
		if (!door->muted)
			pool_accept_paused(&d->pool, app, now);
		door->muted = true;
	}
	pool_driver_settle(d, now);
}

static void
pool_driver_ready(struct manager *m, uint32_t process, tstamp now)
{
	struct pool_driver *d = pool_driver(m);

	uint32_t app = d->pool.processes[process].app;
	bool sound;

	/* Job workers were ready when they were spawned. */
	if (!d->pool.apps[app].options.sessions)
		return;
	sound = pool_ready(&d->pool, process, now);
	assert(sound);
	pool_driver_settle(d, now);
}

static void
pool_driver_finished(
    struct manager *m, uint32_t process, uint32_t request, tstamp now)
{
	struct pool_driver *d = pool_driver(m);

	bool sound = pool_done(&d->pool, process, d->conn_of[request], now);

	assert(sound);
	pool_driver_settle(d, now);
}

static void
pool_driver_exited(struct manager *m, uint32_t process, bool killed, tstamp now)
{
	struct pool_driver *d = pool_driver(m);
	uint32_t request;

	pool_died(&d->pool, process, killed ? END_SIGNAL : END_EXIT, now);
	while ((request = engine_take(m->engine, process)) != ILIST_NONE)
		pool_retaken(&d->pool, d->conn_of[request], now);
	pool_gone(&d->pool, process, now);
	pool_driver_settle(d, now);
}

static tstamp
pool_driver_due(const struct manager *m)
{
	return pool_deadline(&((const struct pool_driver *)m)->pool);
}

static void
pool_driver_tick(struct manager *m, tstamp now)
{
	struct pool_driver *d = pool_driver(m);

	pool_tick(&d->pool, now);
	pool_driver_settle(d, now);
}

/* --- set-up ------------------------------------------------------------- */

static void
pool_driver_fini(struct manager *m)
{
	struct pool_driver *d = pool_driver(m);

	free(d->memory);
	free(d->doors);
	free(d->links);
	free(d->conn_of);
	free(d->request_of);
	free(d);
}

static bool
pool_driver_allocate(struct pool_driver *d)
{
	uint32_t requests = d->manager.requests;

	d->memory = calloc(1, pool_memory(&d->limits));
	d->doors = calloc(d->limits.apps, sizeof(*d->doors));
	d->links = calloc(requests, sizeof(*d->links));
	d->conn_of = calloc(requests, sizeof(*d->conn_of));
	d->request_of = calloc(d->limits.conns, sizeof(*d->request_of));
	return d->memory != NULL && d->doors != NULL && d->links != NULL &&
	    d->conn_of != NULL && d->request_of != NULL;
}

struct manager *
pool_driver_new(const struct conf *conf, uint64_t seed)
{
	static const struct manager_ops ops = {
		.started = pool_driver_started,
		.arrived = pool_driver_arrived,
		.ready = pool_driver_ready,
		.finished = pool_driver_finished,
		.exited = pool_driver_exited,
		.due = pool_driver_due,
		.tick = pool_driver_tick,
		.fini = pool_driver_fini,
	};
	struct pool_driver *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->conf = conf;
	d->seed = seed;
	conf_pool_limits(conf, &d->limits);
	d->manager = (struct manager){
		.ops = &ops,
		.name = "apppoold",
		.workers = d->limits.processes,
		.requests = d->limits.conns + 1,
	};
	for (size_t i = 0; i < conf->apps_len; i++)
		d->manager.requests += conf->apps[i].backlog;
	if (!pool_driver_allocate(d)) {
		pool_driver_fini(&d->manager);
		return NULL;
	}
	for (size_t i = 0; i < conf->apps_len; i++) {
		ilist_init(&d->doors[i].backlog);
		d->doors[i].room = conf->apps[i].backlog;
	}
	return &d->manager;
}
