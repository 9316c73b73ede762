/*
 * The core as a manager, on one host or on many behind a balancer such as
 * HAProxy: each host is a core of its own, and all are one manager. What the
 * engine tells becomes facts, and the actions that follow are carried out by
 * the engine. The balancer knows how many connections each host has, and what
 * the agent of a host has last reported.
 */

#include <sys/param.h>

#include <assert.h>

#include "core/pool.h"
#include "sim/simulate.h"

/* From one report of an agent to the next. */
#define AGENT_INTERVAL TSPAN_SECONDS(2)

/* An app on a host. */
struct target {
	uint32_t has; /* connections, after the latest fact of the host */
	uint32_t most; /* what the agent has reported */
	uint32_t need; /* processes, as it counts in the tallies */
	/* The connections that the kernel keeps in front of the app. */
	struct ilist backlog; /* requests, in the order of their arrival */
};

struct host {
	struct driver *driver;
	uint32_t first; /* the number of its first worker */
	uint64_t seed;
	struct pool pool;
	void *memory; /* the pool's */
	uint32_t *request_of; /* of a connection */
};

struct driver {
	struct manager manager; /* first */
	const struct conf *conf;
	struct balancer_spec balancer;
	struct pool_limits limits; /* of a host */
	struct host *hosts;
	struct target *targets; /* of each app, by host */
	uint32_t last; /* host that a connection was sent to */
	struct prng prng; /* for BALANCER_RANDOM2 */
	struct ilist *queues; /* the balancer's, of the apps */
	/* Of a request: */
	struct ilink *links; /* in a queue, or in a backlog */
	uint32_t *conn_of;
	/* By host: its core's; and behind those: of the reports of agents. */
	struct deadlines deadlines;
};

/* --- a host ------------------------------------------------------------- */

static struct target *
host_target(const struct host *h, uint32_t app)
{
	const struct driver *d = h->driver;

	return &d->targets[(size_t)app * d->balancer.hosts +
	    (size_t)(h - d->hosts)];
}

static void
host_accept(struct host *h, uint32_t app, uint32_t request, tstamp now)
{
	uint32_t conn = pool_arrived(&h->pool, app, now);

	h->request_of[conn] = request;
	h->driver->conn_of[request] = conn;
}

static void
host_resume(struct host *h, uint32_t app, tstamp now)
{
	struct target *t = host_target(h, app);

	while (!ilist_empty(&t->backlog)) {
		uint32_t request = t->backlog.first;

		if (!pool_may_accept(&h->pool, app)) {
			pool_accept_paused(&h->pool, app, now);
			return;
		}
		ilist_remove(&t->backlog, h->driver->links, request);
		host_accept(h, app, request, now);
	}
	pool_accept_resumed(&h->pool, app, now);
}

/* Carries out what the core wants done. */
static void
host_act(struct host *h, tstamp now)
{
	struct driver *d = h->driver;
	struct engine *e = d->manager.engine;
	struct action a;
	uint32_t request;

	while (pool_next_action(&h->pool, &a))
		switch ((enum action_kind)a.kind) {
		case ACTION_SPAWN:
			pool_spawned(&h->pool, a.process, now);
			engine_start(e, h->first + a.process, a.app,
			    h->pool.apps[a.app].options.concurrency);
			break;
		case ACTION_HAND:
			engine_give(
			    e, h->first + a.process, h->request_of[a.conn]);
			break;
		case ACTION_TAKE:
			request = engine_take(e, h->first + a.process);
			pool_taken(&h->pool, a.process,
			    request == ILIST_NONE ? ILIST_NONE
						  : d->conn_of[request],
			    now);
			break;
		case ACTION_REFUSE:
			engine_refuse(e, h->request_of[a.conn],
			    a.cause == CAUSE_TIMED_OUT ? ENGINE_TIMED_OUT
						       : ENGINE_REFUSED);
			break;
		case ACTION_STOP:
			engine_stop(e, h->first + a.process);
			break;
		case ACTION_TERM:
		case ACTION_KILL:
			engine_kill(e, h->first + a.process);
			break;
		case ACTION_RESUME:
			host_resume(h, a.app, now);
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

/* A connection is sent to the host. */
static void
host_arrived(struct host *h, uint32_t app, uint32_t request, tstamp now)
{
	struct driver *d = h->driver;
	struct target *t = host_target(h, app);
	bool open = h->pool.apps[app].intake.accepting == ACCEPTING_OPEN;

	d->last = (uint32_t)(h - d->hosts);
	if (!h->pool.apps[app].options.sessions) {
		engine_refuse(d->manager.engine, request, ENGINE_REFUSED);
	} else if (open && pool_may_accept(&h->pool, app)) {
		host_accept(h, app, request, now);
	} else if (t->backlog.count == d->conf->apps[app].listen.backlog) {
		engine_refuse(d->manager.engine, request, ENGINE_OVERFLOWED);
	} else {
		ilist_push_back(&t->backlog, d->links, request);
		/* Until ACTION_RESUME. */
		if (open)
			pool_accept_paused(&h->pool, app, now);
	}
	host_act(h, now);
}

/* --- the balancer ------------------------------------------------------- */

/* What the agent of the host reports: connections that it can serve. */
static void
balancer_hear(struct driver *d, struct host *h)
{
	const struct pool *p = &h->pool;

	for (uint32_t app = 0; app < d->conf->apps_len; app++)
		host_target(h, app)->most = d->balancer.blind
		    ? UINT32_MAX
		    : MAX(pool_may_have(p, app, p->now), 1) *
			p->apps[app].options.concurrency;
}

/* Not a host that has as many as it can serve; NULL: there is no other. */
static struct host *
balancer_choose(struct driver *d, uint32_t app)
{
	const uint32_t n = d->balancer.hosts;
	const struct target *t = &d->targets[(size_t)app * n];
	uint32_t best = n, least = UINT32_MAX, host, other;

	if (d->balancer.kind == BALANCER_RANDOM2) {
		host = (uint32_t)(prng_next(&d->prng) % n);
		other = (uint32_t)(prng_next(&d->prng) % n);
		host = t[other].has < t[host].has ? other : host;
		return t[host].has < t[host].most ? &d->hosts[host] : NULL;
	}
	/* Hosts that are as good as each other take turns. */
	for (uint32_t i = 1; i <= n; i++) {
		host = d->last + i < n ? d->last + i : d->last + i - n;
		if (t[host].has >= t[host].most || t[host].has >= least)
			continue;
		best = host;
		least = t[host].has;
		if (d->balancer.kind == BALANCER_ROUNDROBIN)
			break;
	}
	return best == n ? NULL : &d->hosts[best];
}

/* Behind each fact of a host: it may have room, and another deadline. */
static void
driver_settle(struct driver *d, struct host *h, tstamp now)
{
	/* Without a balancer nobody asks what the host has. */
	const bool alone = d->balancer.hosts == 1 && d->balancer.blind;

	host_act(h, now);
	for (uint32_t app = 0; app < d->conf->apps_len && !alone; app++) {
		const struct app *a = &h->pool.apps[app];
		struct ilist *queue = &d->queues[app];
		struct target *t = host_target(h, app);

		t->has = app_present(a) + t->backlog.count;
		while (!ilist_empty(queue) && t->has < t->most) {
			uint32_t request = queue->first;

			ilist_remove(queue, d->links, request);
			host_arrived(h, app, request, now);
			t->has = app_present(a) + t->backlog.count;
		}
	}
	deadlines_set(
	    &d->deadlines, (uint32_t)(h - d->hosts), pool_deadline(&h->pool));
}

/* --- what the engine tells ---------------------------------------------- */

/*
 * The limit in front of an app is left out: the server that grants it has
 * other clients, whose load is not known here.
 */
static void
driver_started(struct manager *m, tstamp now)
{
	struct driver *d = (struct driver *)m;
	const struct conf *conf = d->conf;
	const uint32_t n = d->balancer.hosts;

	for (uint32_t i = 0; i < n; i++) {
		struct host *h = &d->hosts[i];

		pool_init(&h->pool, &d->limits, h->memory, conf->max_processes,
		    h->seed, now);
		pool_resize(
		    &h->pool, conf->max_processes, conf->process_slack, now);
		for (uint32_t k = 0; k < conf->apps_len; k++) {
			struct app_options o = conf->apps[k].pool;
			uint32_t app;

			o.limited = false;
			app = pool_app_add(&h->pool, &o, now);
			assert(app == k);
		}
		balancer_hear(d, h);
		/* The agents are asked one after the other. */
		if (!d->balancer.blind)
			deadlines_set(&d->deadlines, n + i,
			    now + AGENT_INTERVAL * (i + 1) / n);
		driver_settle(d, h, now);
	}
}

static void
driver_arrived(struct manager *m, uint32_t app, uint32_t request, tstamp now)
{
	struct driver *d = (struct driver *)m;
	struct host *h = balancer_choose(d, app);

	if (h == NULL) {
		ilist_push_back(&d->queues[app], d->links, request);
		return;
	}
	host_arrived(h, app, request, now);
	driver_settle(d, h, now);
}

static void
driver_ready(struct manager *m, uint32_t worker, tstamp now)
{
	struct driver *d = (struct driver *)m;
	struct host *h = &d->hosts[worker / d->limits.processes];
	uint32_t process = worker - h->first;
	bool sound;

	/* Workers without sessions were ready when they were started. */
	if (!h->pool.apps[h->pool.processes[process].app].options.sessions)
		return;
	sound = pool_ready(&h->pool, process, now);
	assert(sound);
	driver_settle(d, h, now);
}

static void
driver_finished(
    struct manager *m, uint32_t worker, uint32_t request, tstamp now)
{
	struct driver *d = (struct driver *)m;
	struct host *h = &d->hosts[worker / d->limits.processes];
	bool sound = pool_session_over(&h->pool, worker - h->first,
	    d->conn_of[request], SESSION_DONE, now);

	assert(sound);
	driver_settle(d, h, now);
}

static void
driver_exited(struct manager *m, uint32_t worker, bool killed, tstamp now)
{
	struct driver *d = (struct driver *)m;
	struct host *h = &d->hosts[worker / d->limits.processes];
	const uint32_t process = worker - h->first;
	uint32_t request;

	pool_died(&h->pool, process, killed ? END_SIGNAL : END_EXIT, now);
	while ((request = engine_take(m->engine, worker)) != ILIST_NONE)
		pool_retaken(&h->pool, d->conn_of[request], now);
	pool_gone(&h->pool, process, now);
	driver_settle(d, h, now);
}

static tstamp
driver_due(const struct manager *m)
{
	uint32_t number;

	return deadlines_first(&((const struct driver *)m)->deadlines, &number);
}

static void
driver_tick(struct manager *m, tstamp now)
{
	struct driver *d = (struct driver *)m;
	const uint32_t n = d->balancer.hosts;
	uint32_t number, need;
	struct host *h;

	(void)deadlines_first(&d->deadlines, &number);
	h = &d->hosts[number % n];
	if (number >= n) {
		balancer_hear(d, h);
		deadlines_set(&d->deadlines, number, now + AGENT_INTERVAL);
		driver_settle(d, h, now);
		return;
	}
	pool_tick(&h->pool, now);
	driver_settle(d, h, now);
	/* Needs are estimated at ticks. */
	for (uint32_t app = 0; app < d->conf->apps_len; app++) {
		struct target *t = host_target(h, app);

		need = h->pool.apps[app].promise.need;
		if (t->need != need)
			engine_need(m->engine, app, need - t->need);
		t->need = need;
	}
}

static void
driver_fini(struct manager *m)
{
	struct driver *d = (struct driver *)m;

	for (uint32_t i = 0; i < d->balancer.hosts; i++) {
		free(d->hosts[i].memory);
		free(d->hosts[i].request_of);
	}
	free(d->hosts);
	free(d->targets);
	free(d->queues);
	free(d->links);
	free(d->conn_of);
	result_deadlines_fini(&d->deadlines);
	free(d);
}

struct manager *
driver_new(
    const struct balancer_spec *spec, const struct conf *conf, uint64_t seed)
{
	static const struct balancer_spec alone = { .hosts = 1, .blind = true };
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
	struct driver *d = result_alloc(1, sizeof(*d));
	const size_t apps = conf->apps_len;
	size_t requests, n;

	d->conf = conf;
	d->balancer = spec->hosts == 0 ? alone : *spec;
	n = d->balancer.hosts;
	d->prng.state = ~seed;
	d->last = d->balancer.hosts - 1;
	conf_pool_limits(conf, &d->limits);
	requests = d->limits.conns + 1;
	for (size_t i = 0; i < apps; i++)
		requests += conf->apps[i].listen.backlog;
	requests *= n;
	d->manager = (struct manager){
		.ops = &ops,
		.name = "apppoold",
		.workers = (uint32_t)n * d->limits.processes,
		.requests = (uint32_t)requests,
	};
	d->targets = result_alloc(apps * n, sizeof(*d->targets));
	for (size_t i = 0; i < apps * n; i++)
		ilist_init(&d->targets[i].backlog);
	d->queues = result_alloc(apps, sizeof(*d->queues));
	for (size_t app = 0; app < apps; app++)
		ilist_init(&d->queues[app]);
	d->links = result_alloc(requests, sizeof(*d->links));
	d->conn_of = result_alloc(requests, sizeof(*d->conn_of));
	result_deadlines(&d->deadlines, 2 * n);
	d->hosts = result_alloc(n, sizeof(*d->hosts));
	for (uint32_t i = 0; i < n; i++) {
		struct host *h = &d->hosts[i];

		h->driver = d;
		h->first = i * d->limits.processes;
		h->seed = i == 0 ? seed : prng_next(&seeds);
		h->memory = result_alloc(1, pool_memory(&d->limits));
		h->request_of =
		    result_alloc(d->limits.conns, sizeof(*h->request_of));
	}
	return &d->manager;
}
