/*
 * The core as a manager: what the engine tells becomes facts, and the actions
 * that follow are carried out by the engine.
 */

#include <sys/param.h>

#include <assert.h>

#include "core/pool.h"
#include "sim/simulate.h"

/* The connections that the kernel keeps in front of an app. */
struct backlog {
	struct ilist requests; /* in the order of their arrival */
	uint32_t room; /* for requests */
	bool paused; /* accepting is, until ACTION_RESUME */
};

struct pool_driver {
	struct manager manager; /* first */
	const struct conf *conf;
	uint64_t seed;
	struct pool_limits limits;
	struct pool pool;
	void *memory; /* the pool's */
	struct backlog *backlogs; /* of the apps */
	uint32_t *needs; /* of the apps: as they count in the tallies */
	uint32_t *request_of; /* of a connection */
	/* Of all hosts together: */
	struct ilink *links; /* of requests in backlogs */
	uint32_t *conn_of; /* of a request */
};

static void
driver_accept(struct pool_driver *d, uint32_t app, uint32_t request, tstamp now)
{
	uint32_t conn = pool_arrived(&d->pool, app, now);

	d->request_of[conn] = request;
	d->conn_of[request] = conn;
}

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

static void
driver_settle(struct pool_driver *d, tstamp now)
{
	struct engine *e = d->manager.engine;
	const uint32_t first = d->manager.first;
	struct action a;
	uint32_t request;

	while (pool_next_action(&d->pool, &a))
		switch ((enum action_kind)a.kind) {
		case ACTION_SPAWN:
			pool_spawned(&d->pool, a.process, now);
			engine_start(e, first + a.process, a.app,
			    d->pool.apps[a.app].options.concurrency);
			break;
		case ACTION_HAND:
			engine_give(
			    e, first + a.process, d->request_of[a.conn]);
			break;
		case ACTION_TAKE:
			request = engine_take(e, first + a.process);
			pool_taken(&d->pool, a.process,
			    request == ILIST_NONE ? ILIST_NONE
						  : d->conn_of[request],
			    now);
			break;
		case ACTION_REFUSE:
			engine_refuse(e, d->request_of[a.conn],
			    a.cause == CAUSE_TIMED_OUT ? ENGINE_TIMED_OUT
						       : ENGINE_REFUSED);
			break;
		case ACTION_STOP:
			engine_stop(e, first + a.process);
			break;
		case ACTION_TERM:
		case ACTION_KILL:
			engine_kill(e, first + a.process);
			break;
		case ACTION_RESUME:
			driver_resume(d, a.app, now);
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

/*
 * The limit in front of an app is left out: the server that grants it has
 * other clients, whose load is not known here.
 */
static void
driver_started(struct manager *m, tstamp now)
{
	struct pool_driver *d = (struct pool_driver *)m;
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
		engine_promise(m->engine, app, o.target_wait);
	}
	driver_settle(d, now);
}

static void
driver_arrived(struct manager *m, uint32_t app, uint32_t request, tstamp now)
{
	struct pool_driver *d = (struct pool_driver *)m;
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
	struct pool_driver *d = (struct pool_driver *)m;
	bool sound;

	worker -= m->first;
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
	struct pool_driver *d = (struct pool_driver *)m;
	bool sound = pool_session_over(&d->pool, worker - m->first,
	    d->conn_of[request], SESSION_DONE, now);

	assert(sound);
	driver_settle(d, now);
}

static void
driver_exited(struct manager *m, uint32_t worker, bool killed, tstamp now)
{
	struct pool_driver *d = (struct pool_driver *)m;
	const uint32_t process = worker - m->first;
	uint32_t request;

	pool_died(&d->pool, process, killed ? END_SIGNAL : END_EXIT, now);
	while ((request = engine_take(m->engine, worker)) != ILIST_NONE)
		pool_retaken(&d->pool, d->conn_of[request], now);
	pool_gone(&d->pool, process, now);
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
	struct pool_driver *d = (struct pool_driver *)m;

	pool_tick(&d->pool, now);
	driver_settle(d, now);
	/* Needs are estimated at ticks. */
	for (uint32_t i = 0; i < d->conf->apps_len; i++) {
		uint32_t need = d->pool.apps[i].promise.need;

		if (d->needs[i] != need)
			engine_need(m->engine, i, need - d->needs[i]);
		d->needs[i] = need;
	}
}

static void
driver_fini(struct manager *m)
{
	struct pool_driver *d = (struct pool_driver *)m;

	free(d->memory);
	free(d->backlogs);
	free(d->needs);
	free(d->request_of);
	if (m->first == 0) {
		free(d->links);
		free(d->conn_of);
	}
	free(d);
}

uint32_t
pool_driver_serves(const struct manager *m, uint32_t app)
{
	const struct pool_driver *d = (const struct pool_driver *)m;
	const struct pool *p = &d->pool;

	return MAX(pool_may_have(p, app, p->now), 1) *
	    p->apps[app].options.concurrency;
}

void
pool_drivers_new(const struct conf *conf, uint64_t seed, uint32_t hosts,
    struct manager **out)
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
	struct prng seeds = { .state = seed };
	struct pool_driver *d, *former = NULL;

	for (uint32_t host = 0; host < hosts; host++, former = d) {
		d = result_alloc(1, sizeof(*d));
		d->conf = conf;
		d->seed = host == 0 ? seed : prng_next(&seeds);
		conf_pool_limits(conf, &d->limits);
		d->manager = (struct manager){
			.ops = &ops,
			.name = "apppoold",
			.first = host * d->limits.processes,
			.workers = d->limits.processes,
			.requests = d->limits.conns + 1,
		};
		d->memory = result_alloc(1, pool_memory(&d->limits));
		d->backlogs =
		    result_alloc(d->limits.apps, sizeof(*d->backlogs));
		d->needs = result_alloc(d->limits.apps, sizeof(*d->needs));
		d->request_of =
		    result_alloc(d->limits.conns, sizeof(*d->request_of));
		for (size_t i = 0; i < conf->apps_len; i++) {
			ilist_init(&d->backlogs[i].requests);
			d->backlogs[i].room = conf->apps[i].listen.backlog;
			d->manager.requests += d->backlogs[i].room;
		}
		if (former == NULL) {
			size_t n = (size_t)hosts * d->manager.requests;

			d->links = result_alloc(n, sizeof(*d->links));
			d->conn_of = result_alloc(n, sizeof(*d->conn_of));
		} else {
			d->links = former->links;
			d->conn_of = former->conn_of;
		}
		out[host] = &d->manager;
	}
}
