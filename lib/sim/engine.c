/* Virtual time: workers and requests, played as the manager asks. */

#include <sys/param.h>

#include <assert.h>

#include "core/ilist.h"
#include "sim/simulate.h"

/* Longest run after the end of the load. */
#define ENGINE_DRAIN TSPAN_SECONDS(3600)

/* From the end of a worker to its place being free. */
#define ENGINE_EXIT TSPAN_MSECONDS(5)

#define ONE 1u
#define MINUS_ONE UINT32_MAX

/*
 * The present figures of an app, from whose integrals over time the means, the
 * series and the waste of a result come.  If there are several apps, the tally
 * of each is linked to that of all together: what is done to one is done to
 * both.  tally_of() comes before every change of a figure.
 */
struct tally {
	struct tally *total; /* NULL: this is that, or the only app */
	struct result_app *out;
	tstamp now;
	uint32_t processes; /* workers: starting, idle and active */
	uint32_t existing; /* leaving ones included */
	uint32_t busy; /* workers with a request in service */
	uint32_t need; /* workers that the manager finds to be needed */
	uint32_t idle; /* workers that are ready and have no request */
	uint32_t unheld; /* requests that wait and no worker holds */
	uint32_t unread; /* requests that lie in the sockets of workers */
	tstamp unread_since; /* beside an idle worker; 0: there is no such */
};

enum engine_worker_state {
	ENGINE_FREE, /* the number is */
	ENGINE_STARTING,
	ENGINE_READY,
};

struct engine_worker {
	uint8_t state; /* enum engine_worker_state */
	bool leaving; /* told to stop, or killed */
	bool killed;
	uint32_t app;
	uint32_t concurrency;
	struct ilist serving; /* requests; at most `concurrency` */
	struct ilist unread; /* empty if it could read one */
};

struct engine_request {
	tstamp arrived;
	tstamp given; /* to its worker */
	tspan service;
	uint32_t app;
	uint32_t worker; /* ILIST_NONE: none holds it */
	bool used;
};

struct engine {
	tspan start_time;
	struct manager *manager;
	struct load_source *load;
	struct result *result;
	struct tally *tallies; /* of the apps, and behind them of all */
	struct engine_worker *workers;
	struct engine_request *requests;
	struct ilink *links; /* of requests: free, serving, unread ones */
	struct ilist free_requests;
	uint32_t exited; /* worker whose exit is being told; or ILIST_NONE */
	struct ilist left; /* requests that it had not read */
	/* Of each worker, and behind those: the ends of requests in service. */
	struct deadlines deadlines;
	tstamp now;
	tstamp end; /* of the load; TSTAMP_NEVER: not known yet */
	bool over; /* the load is: workers count no longer */
};

/* --- figures ------------------------------------------------------------ */

/* The bucket of `now`; NULL: that is outside the load. */
static struct series_bucket *
tally_bucket(const struct engine *e, struct tally *t)
{
	return e->over || t->now < ENGINE_EPOCH
	    ? NULL
	    : series_at(&t->out->series, t->now - ENGINE_EPOCH);
}

/* Brings the figures of the app to the present, before they change. */
static struct tally *
tally_of(struct engine *e, uint32_t app)
{
	struct tally *t;

	for (t = &e->tallies[app]; t != NULL; t = t->total) {
		struct result_app *out = t->out;

		if (e->now <= t->now)
			continue;
		if (t->unheld > 0 && t->idle > 0)
			out->idle_while_waiting += e->now - t->now;
		if (t->unread == 0 || t->idle == 0)
			t->unread_since = 0;
		else if (t->unread_since == 0)
			t->unread_since = t->now;
		if (t->unread_since != 0)
			out->idle_while_unread += e->now - t->now;
		if (e->over)
			t->now = e->now;
		else if (t->now < ENGINE_EPOCH)
			t->now = tstamp_min(ENGINE_EPOCH, e->now);
		while (t->now < e->now) {
			struct series_bucket *b = tally_bucket(e, t);
			tspan width = out->series.width;
			tspan left = width - (t->now - ENGINE_EPOCH) % width;
			tstamp until = MIN(e->now, t->now + left);
			double time = (double)(until - t->now);
			uint32_t waiting = t->unheld + t->unread;

			b->processes += time * t->processes;
			b->busy += time * t->busy;
			b->waiting += time * waiting;
			b->most_processes =
			    MAX(b->most_processes, t->processes);
			b->most_waiting = MAX(b->most_waiting, waiting);
			out->existing += time * t->existing;
			out->need += time * t->need;
			out->most_need = MAX(out->most_need, t->need);
			if (t->unheld > 0)
				out->wasted += time * t->idle;
			t->now = until;
		}
	}
	return &e->tallies[app];
}

/* Counts in the bucket of `now`, unless that is outside the load. */
static void
tally_count(const struct engine *e, struct tally *t, enum series_count what)
{
	for (; t != NULL && tally_bucket(e, t) != NULL; t = t->total)
		tally_bucket(e, t)->counts[what]++;
}

/* Counts requests in or out that no worker holds, and that lie unread. */
static void
tally_requests(struct tally *t, uint32_t unheld, uint32_t unread)
{
	for (; t != NULL; t = t->total) {
		t->unheld += unheld;
		t->unread += unread;
	}
}

/* A request that was given to a worker then is read, or taken back. */
static void
tally_read(struct tally *t, tstamp given)
{
	for (; t != NULL; t = t->total) {
		tspan lay = t->now - MAX(t->unread_since, given);

		if (t->unread_since != 0)
			t->out->longest_unread =
			    MAX(t->out->longest_unread, lay);
	}
}

/* Every change of a worker stands between MINUS_ONE and ONE of it. */
static void
tally_worker(struct engine *e, const struct engine_worker *w, uint32_t by)
{
	for (struct tally *t = tally_of(e, w->app); t != NULL; t = t->total) {
		t->existing += by;
		if (w->serving.count > 0)
			t->busy += by;
		t->unread += by * w->unread.count;
		if (w->leaving)
			continue;
		t->processes += by;
		if (w->state == ENGINE_READY && w->serving.count == 0)
			t->idle += by;
	}
}

/* --- requests ----------------------------------------------------------- */

static void
request_free(struct engine *e, uint32_t request)
{
	e->requests[request].used = false;
	deadlines_set(
	    &e->deadlines, e->manager->workers + request, TSTAMP_NEVER);
	ilist_push_front(&e->free_requests, e->links, request);
}

static void
requests_lose(struct engine *e, struct ilist *list)
{
	while (!ilist_empty(list)) {
		uint32_t n = list->first;

		e->result->apps[e->requests[n].app].lost++;
		load_left(
		    e->load, e->requests[n].app, false, e->now - ENGINE_EPOCH);
		ilist_remove(list, e->links, n);
		request_free(e, n);
	}
}

static void
request_refused(struct engine *e, uint32_t app, enum engine_refusal how)
{
	struct result_app *out = &e->result->apps[app];

	out->refused += how != ENGINE_TIMED_OUT;
	out->timed_out += how == ENGINE_TIMED_OUT;
	out->overflowed += how == ENGINE_OVERFLOWED;
	tally_count(e, &e->tallies[app], SERIES_REFUSED);
	load_left(e->load, app, false, e->now - ENGINE_EPOCH);
}

static void
request_arrives(struct engine *e, uint32_t app, tspan service)
{
	struct result_app *out = &e->result->apps[app];
	struct tally *t = tally_of(e, app);
	uint32_t n = e->free_requests.first;

	out->work += (double)service;
	tally_count(e, t, SERIES_ARRIVED);
	if (n == ILIST_NONE) {
		request_refused(e, app, ENGINE_OVERFLOWED);
		return;
	}
	ilist_remove(&e->free_requests, e->links, n);
	e->requests[n] = (struct engine_request){
		.arrived = e->now,
		.service = service,
		.app = app,
		.worker = ILIST_NONE,
		.used = true,
	};
	tally_requests(t, ONE, 0);
	e->manager->ops->arrived(e->manager, app, n, e->now);
}

void
engine_refuse(struct engine *e, uint32_t request, enum engine_refusal how)
{
	const struct engine_request *r = &e->requests[request];

	assert(r->used && r->worker == ILIST_NONE);
	tally_requests(tally_of(e, r->app), MINUS_ONE, 0);
	request_refused(e, r->app, how);
	request_free(e, request);
}

/* --- workers ------------------------------------------------------------ */

/* Reads what lies in the worker's socket while it can serve more. */
static void
worker_read(struct engine *e, struct engine_worker *w)
{
	struct tally *t = &e->tallies[w->app];

	while (w->serving.count < w->concurrency && !ilist_empty(&w->unread)) {
		uint32_t n = w->unread.first;
		struct engine_request *r = &e->requests[n];
		tspan wait = e->now - r->arrived;

		if (r->given < e->now)
			tally_read(t, r->given);
		ilist_remove(&w->unread, e->links, n);
		ilist_push_back(&w->serving, e->links, n);
		histogram_add(&e->result->apps[r->app].wait, wait);
		for (struct tally *of = t; of != NULL; of = of->total) {
			struct series_bucket *b = tally_bucket(e, of);

			if (b != NULL)
				b->longest_wait = MAX(b->longest_wait, wait);
		}
		deadlines_set(&e->deadlines, e->manager->workers + n,
		    tstamp_add(e->now, r->service));
	}
}

/* The worker is to leave, and nothing is left to do for it. */
static void
worker_exits(struct engine *e, struct engine_worker *w)
{
	deadlines_set(&e->deadlines, (uint32_t)(w - e->workers),
	    tstamp_add(e->now, ENGINE_EXIT));
}

/* The start of a worker is over, or the worker is gone. */
static void
play_worker(struct engine *e, uint32_t worker)
{
	struct engine_worker *w = &e->workers[worker];
	struct tally *t = &e->tallies[w->app];

	tally_worker(e, w, MINUS_ONE);
	if (w->state == ENGINE_STARTING && !w->killed) {
		w->state = ENGINE_READY;
		if (w->leaving)
			worker_exits(e, w);
		tally_worker(e, w, ONE);
		if (!w->leaving)
			e->manager->ops->ready(e->manager, worker, e->now);
		return;
	}
	w->state = ENGINE_FREE;
	tally_requests(t, 0, w->unread.count);
	e->left = w->unread;
	e->exited = worker;
	if (!e->over)
		e->result->apps[w->app].ended++;
	/* The manager may start another worker under this number. */
	e->manager->ops->exited(e->manager, worker, w->killed, e->now);
	tally_requests(t, 0, -e->left.count);
	requests_lose(e, &e->left);
	e->exited = ILIST_NONE;
}

static void
play_request(struct engine *e, uint32_t n)
{
	struct engine_request *r = &e->requests[n];
	uint32_t worker = r->worker;
	struct engine_worker *w = &e->workers[worker];

	tally_worker(e, w, MINUS_ONE);
	e->result->apps[r->app].completed++;
	load_left(e->load, r->app, true, e->now - ENGINE_EPOCH);
	ilist_remove(&w->serving, e->links, n);
	request_free(e, n);
	worker_read(e, w);
	tally_worker(e, w, ONE);
	if (w->leaving && w->serving.count == 0)
		worker_exits(e, w);
	e->manager->ops->finished(e->manager, worker, n, e->now);
}

void
engine_start(
    struct engine *e, uint32_t worker, uint32_t app, uint32_t concurrency)
{
	struct engine_worker *w = &e->workers[worker];

	assert(worker < e->manager->workers && w->state == ENGINE_FREE);
	*w = (struct engine_worker){
		.state = ENGINE_STARTING,
		.app = app,
		.concurrency = concurrency,
	};
	ilist_init(&w->serving);
	ilist_init(&w->unread);
	if (!e->over)
		e->result->apps[app].spawned++;
	tally_count(e, tally_of(e, app), SERIES_SPAWNED);
	deadlines_set(&e->deadlines, worker, tstamp_add(e->now, e->start_time));
	tally_worker(e, w, ONE);
}

void
engine_stop(struct engine *e, uint32_t worker)
{
	struct engine_worker *w = &e->workers[worker];

	assert(w->state != ENGINE_FREE);
	if (w->leaving)
		return;
	tally_worker(e, w, MINUS_ONE);
	w->leaving = true;
	tally_worker(e, w, ONE);
	/* A starting worker hears of it when it is ready. */
	if (w->state == ENGINE_READY && w->serving.count == 0)
		worker_exits(e, w);
}

void
engine_kill(struct engine *e, uint32_t worker)
{
	struct engine_worker *w = &e->workers[worker];

	assert(w->state != ENGINE_FREE);
	if (w->killed)
		return;
	tally_worker(e, w, MINUS_ONE);
	requests_lose(e, &w->serving);
	w->leaving = true;
	w->killed = true;
	worker_exits(e, w);
	tally_worker(e, w, ONE);
}

void
engine_give(struct engine *e, uint32_t worker, uint32_t request)
{
	struct engine_worker *w = &e->workers[worker];
	struct engine_request *r = &e->requests[request];

	assert(w->state == ENGINE_READY && !w->leaving);
	assert(r->used && r->worker == ILIST_NONE && r->app == w->app);
	tally_worker(e, w, MINUS_ONE);
	tally_requests(&e->tallies[w->app], MINUS_ONE, 0);
	r->worker = worker;
	r->given = e->now;
	ilist_push_back(&w->unread, e->links, request);
	worker_read(e, w);
	tally_worker(e, w, ONE);
}

uint32_t
engine_take(struct engine *e, uint32_t worker)
{
	struct ilist *list =
	    worker == e->exited ? &e->left : &e->workers[worker].unread;
	uint32_t n = list->first;
	struct engine_request *r;
	struct tally *t;

	if (n == ILIST_NONE)
		return n;
	r = &e->requests[n];
	t = tally_of(e, r->app);
	tally_read(t, r->given);
	ilist_remove(list, e->links, n);
	r->worker = ILIST_NONE;
	tally_requests(t, ONE, MINUS_ONE);
	e->result->apps[r->app].taken++;
	return n;
}

void
engine_need(struct engine *e, uint32_t app, uint32_t by)
{
	tally_of(e, app)->need += by;
}

/* --- the run ------------------------------------------------------------ */

/* Plays what comes next. 1; 0: that was all; -1: a mistake in the trace. */
static int
engine_turn(struct engine *e)
{
	const struct manager_ops *ops = e->manager->ops;
	const uint32_t workers = e->manager->workers;
	tstamp due = ops->due(e->manager), next = TSTAMP_NEVER, event, at;
	struct arrival arrival;
	uint32_t first;

	if (!e->over) {
		switch (load_look(e->load, &next)) {
		case LOAD_ARRIVAL:
			next = tstamp_add(ENGINE_EPOCH, next);
			break;
		case LOAD_END:
			if (e->end == TSTAMP_NEVER)
				e->end = MAX(e->now, ENGINE_EPOCH);
			break;
		case LOAD_MISTAKE:
			return -1;
		}
	}
	event = deadlines_first(&e->deadlines, &first);
	at = tstamp_min(tstamp_min(event, due), next);
	if (!e->over && at >= e->end) {
		/* The load ends here. */
		e->now = e->end;
		e->result->length = e->now - ENGINE_EPOCH;
		for (uint32_t app = 0; app < e->result->apps_len; app++)
			(void)tally_of(e, app);
		e->over = true;
		return 1;
	}
	if (e->over &&
	    (e->free_requests.count == e->manager->requests ||
		at > tstamp_add(e->end, ENGINE_DRAIN)))
		return 0;
	if (at > e->now)
		e->now = at;
	if (event == at) {
		deadlines_set(&e->deadlines, first, TSTAMP_NEVER);
		if (first < workers)
			play_worker(e, first);
		else
			play_request(e, first - workers);
	} else if (next == at) {
		arrival = load_take(e->load);
		request_arrives(e, arrival.app, arrival.service);
	} else {
		ops->tick(e->manager, e->now);
	}
	return 1;
}

static void
engine_total(struct result *r)
{
	struct result_app *t = &r->total;

	if (r->apps_len == 1) {
		*t = r->apps[0];
		t->name = NULL;
		return;
	}
	/* An idle process of one app is no waste of another's connections. */
	t->idle_while_waiting = t->idle_while_unread = t->longest_unread = 0;
	t->wasted = 0;
	for (size_t app = 0; app < r->apps_len; app++) {
		const struct result_app *a = &r->apps[app];

		t->completed += a->completed;
		t->refused += a->refused;
		t->overflowed += a->overflowed;
		t->timed_out += a->timed_out;
		t->lost += a->lost;
		t->unfinished += a->unfinished;
		t->work += a->work;
		histogram_merge(&t->wait, &a->wait);
		t->spawned += a->spawned;
		t->ended += a->ended;
		t->taken += a->taken;
		t->wasted += a->wasted;
		t->idle_while_waiting += a->idle_while_waiting;
		t->idle_while_unread += a->idle_while_unread;
		t->longest_unread = MAX(t->longest_unread, a->longest_unread);
	}
}

/* Counts what is left of the connections, and completes the result. */
static void
engine_sum_up(struct engine *e)
{
	struct result *r = e->result;
	const double length = r->length > 0 ? (double)r->length : 1;

	for (uint32_t n = 0; n < e->manager->requests; n++) {
		const struct engine_request *q = &e->requests[n];
		struct result_app *out = &r->apps[q->app];

		if (!q->used)
			continue;
		out->unfinished++;
		/* A request that still waits has waited so long at least. */
		if (deadlines_get(&e->deadlines, e->manager->workers + n) ==
		    TSTAMP_NEVER)
			histogram_add(&out->wait, e->now - q->arrived);
	}
	for (uint32_t i = 0; i < r->apps_len + (r->apps_len > 1); i++) {
		/* Time has passed for all together with each app. */
		struct tally *t =
		    i < r->apps_len ? tally_of(e, i) : &e->tallies[i];
		struct result_app *out = t->out;

		for (uint32_t k = 0; k < out->series.used; k++) {
			const struct series_bucket *b = &out->series.buckets[k];

			out->arrived += b->counts[SERIES_ARRIVED];
			out->spawned_running += b->counts[SERIES_SPAWNED];
			out->processes += b->processes;
			out->busy += b->busy;
			out->most_processes =
			    MAX(out->most_processes, b->most_processes);
			out->most_waiting =
			    MAX(out->most_waiting, b->most_waiting);
		}
		out->processes /= length;
		out->busy /= length;
		out->need /= length;
		out->existing /= length;
		out->wasted /= length;
	}
	r->ran = e->now - ENGINE_EPOCH;
	engine_total(r);
}

bool
engine_run(const struct load_spec *spec, tspan start_time, struct manager *m,
    struct result *out)
{
	const size_t apps = spec->apps_len, several = apps > 1;
	struct tally *t = result_alloc(apps + 1, sizeof(*t));
	struct engine *e = result_alloc(1, sizeof(*e));
	int going;

	assert(start_time < ENGINE_EPOCH);
	*e = (struct engine){
		.start_time = start_time,
		.manager = m,
		.load = load_open(spec),
		.result = out,
		.tallies = t,
		.workers = result_alloc(m->workers, sizeof(*e->workers)),
		.requests = result_alloc(m->requests, sizeof(*e->requests)),
		.links = result_alloc(m->requests, sizeof(*e->links)),
		.exited = ILIST_NONE,
		.now = ENGINE_EPOCH - start_time,
		.end = spec->length == 0 ? TSTAMP_NEVER
					 : ENGINE_EPOCH + spec->length,
	};
	if (e->load == NULL)
		err(EX_NOINPUT, "simulate: %s", spec->trace);
	*out = (struct result){ .manager = m->name,
		.apps = result_alloc(apps, sizeof(*out->apps)),
		.apps_len = apps };
	result_deadlines(&e->deadlines, (size_t)m->workers + m->requests);
	ilist_init(&e->free_requests);
	ilist_init(&e->left);
	for (uint32_t n = 0; n < m->requests; n++)
		ilist_push_back(&e->free_requests, e->links, n);
	/* A single app needs no tally of all. */
	for (size_t i = 0; i < apps + several; i++) {
		t[i].out = i < apps ? &out->apps[i] : &out->total;
		t[i].total = i < apps && several ? &t[apps] : NULL;
		/* As wide as at the end where that is known, else small. */
		t[i].out->series.width = spec->length == 0
		    ? TSPAN_MSECONDS(1)
		    : (spec->length + SERIES_BUCKETS - 1) / SERIES_BUCKETS;
		if (i < apps)
			out->apps[i].name = spec->apps[i].name;
	}
	m->engine = e;
	m->ops->started(m, e->now);
	do {
		going = engine_turn(e);
		out->events++;
	} while (going == 1);
	if (going == 0)
		engine_sum_up(e);
	else
		(void)fprintf(stderr, "%s\n", load_mistake(e->load));
	m->ops->fini(m);
	load_close(e->load);
	result_deadlines_fini(&e->deadlines);
	free(e->links);
	free(e->requests);
	free(e->workers);
	free(e->tallies);
	free(e);
	return going == 0;
}
