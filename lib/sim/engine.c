/* Workers and requests, played as time passes and as the manager asks. */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "sim/engine.h"

#define ONE 1u
#define MINUS_ONE UINT32_MAX

/* --- figures ------------------------------------------------------------ */

/* Brings the figures of the app to the present, before they change. */
static struct tally *
tally_of(struct engine *e, uint32_t app)
{
	struct tally *t = &e->tallies[app];

	tally_to(t, e->now);
	return t;
}

/* Counts a worker in or out. */
static void
count_worker(struct tally *t, const struct engine_worker *w, uint32_t by)
{
	for (; t != NULL; t = t->total) {
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

/* Every change of a worker stands between these two. */
static void
begin_change(struct engine *e, const struct engine_worker *w)
{
	count_worker(tally_of(e, w->app), w, MINUS_ONE);
}

static void
end_change(struct engine *e, const struct engine_worker *w)
{
	count_worker(&e->tallies[w->app], w, ONE);
}

/* --- events ------------------------------------------------------------- */

static uint32_t
number_of(const struct engine *e, const struct engine_worker *w)
{
	return (uint32_t)(w - e->workers);
}

/* The event is that of a worker or request that has ended meanwhile. */
static bool
is_stale(const void *arg, const struct event *event)
{
	const struct engine *e = arg;
	uint32_t n = event->number;

	if (n < e->manager->workers)
		return e->workers[n].order != event->order;
	return e->requests[n - e->manager->workers].order != event->order;
}

static uint64_t
later(struct engine *e, tspan span, uint32_t number)
{
	if (e->events.count == e->events.capacity)
		events_sweep(&e->events, is_stale, e);
	return events_put(&e->events, tstamp_add(e->now, span), number);
}

/* --- requests ----------------------------------------------------------- */

/* The client of a connection that has ended will come again. */
static void
let_go(struct engine *e, uint32_t app, bool served)
{
	if (e->clients != NULL && e->now >= ENGINE_EPOCH)
		clients_leave(e->clients, app, served, e->now - ENGINE_EPOCH);
}

static void
free_request(struct engine *e, uint32_t request)
{
	e->requests[request].used = false;
	e->requests[request].order = 0;
	ilist_push_front(&e->free_requests, e->links, request);
	e->present--;
}

static void
lose_requests(struct engine *e, struct ilist *list)
{
	while (!ilist_empty(list)) {
		uint32_t n = list->first;

		e->result->apps[e->requests[n].app].lost++;
		let_go(e, e->requests[n].app, false);
		ilist_remove(list, e->links, n);
		free_request(e, n);
	}
}

void
engine_admit(struct engine *e, uint32_t app, tspan service)
{
	struct result_app *out = &e->result->apps[app];
	struct tally *t = tally_of(e, app);
	uint32_t n = e->free_requests.first;

	out->arrived++;
	out->work += (double)service;
	if (n == ILIST_NONE) {
		out->refused++;
		out->overflowed++;
		tally_count(
		    t, (struct series_counts){ .arrived = 1, .refused = 1 });
		let_go(e, app, false);
		return;
	}
	tally_count(t, (struct series_counts){ .arrived = 1 });
	ilist_remove(&e->free_requests, e->links, n);
	e->present++;
	e->requests[n] = (struct engine_request){
		.arrived = e->now,
		.service = service,
		.app = app,
		.worker = ILIST_NONE,
		.used = true,
	};
	tally_unheld(t, ONE);
	e->manager->ops->arrived(e->manager, app, n, e->now);
}

void
engine_refuse(struct engine *e, uint32_t request, enum engine_refusal how)
{
	const struct engine_request *r = &e->requests[request];
	struct result_app *out = &e->result->apps[r->app];
	struct tally *t = tally_of(e, r->app);

	assert(r->used && r->worker == ILIST_NONE);
	tally_unheld(t, MINUS_ONE);
	if (how == ENGINE_TIMED_OUT)
		out->timed_out++;
	else
		out->refused++;
	if (how == ENGINE_OVERFLOWED)
		out->overflowed++;
	tally_count(t, (struct series_counts){ .refused = 1 });
	let_go(e, r->app, false);
	free_request(e, request);
}

void
engine_promise(struct engine *e, uint32_t app, tspan target_wait)
{
	e->result->apps[app].target_wait = target_wait;
}

void
engine_need(struct engine *e, uint32_t app, uint32_t need)
{
	if (e->tallies[app].need != need)
		tally_of(e, app)->need = need;
}

uint32_t
engine_app_of(const struct engine *e, uint32_t request)
{
	return e->requests[request].app;
}

/* --- what workers do ---------------------------------------------------- */

/* Reads what lies in the worker's socket while it can serve more. */
static void
read_unread(struct engine *e, struct engine_worker *w)
{
	while (w->serving.count < w->concurrency && !ilist_empty(&w->unread)) {
		uint32_t n = w->unread.first;
		struct engine_request *r = &e->requests[n];

		if (r->given < e->now)
			tally_read(&e->tallies[r->app], r->given);
		ilist_remove(&w->unread, e->links, n);
		ilist_push_back(&w->serving, e->links, n);
		histogram_add(
		    &e->result->apps[r->app].wait, e->now - r->arrived);
		tally_wait(&e->tallies[r->app], e->now - r->arrived);
		r->order = later(e, r->service, e->manager->workers + n);
	}
}

/* The worker is to leave, and nothing is left to do for it. */
static void
begin_exit(struct engine *e, struct engine_worker *w)
{
	w->order = later(e, e->options->exit_time, number_of(e, w));
}

static void
play_ready(struct engine *e, struct engine_worker *w)
{
	begin_change(e, w);
	w->state = ENGINE_READY;
	w->order = 0;
	if (w->leaving)
		begin_exit(e, w);
	end_change(e, w);
	if (!w->leaving)
		e->manager->ops->ready(e->manager, number_of(e, w), e->now);
}

static void
play_exit(struct engine *e, struct engine_worker *w)
{
	uint32_t worker = number_of(e, w);
	struct tally *t = &e->tallies[w->app];

	begin_change(e, w);
	w->state = ENGINE_FREE;
	tally_unread(t, w->unread.count);
	e->left = w->unread;
	e->exited = worker;
	if (!e->over)
		e->result->apps[w->app].ended++;
	/* The manager may start another worker under this number. */
	e->manager->ops->exited(e->manager, worker, w->killed, e->now);
	tally_unread(t, -e->left.count);
	lose_requests(e, &e->left);
	e->exited = ILIST_NONE;
}

static void
play_end(struct engine *e, uint32_t n)
{
	struct engine_request *r = &e->requests[n];
	uint32_t worker = r->worker;
	struct engine_worker *w = &e->workers[worker];

	begin_change(e, w);
	e->result->apps[r->app].completed++;
	let_go(e, r->app, true);
	ilist_remove(&w->serving, e->links, n);
	free_request(e, n);
	read_unread(e, w);
	end_change(e, w);
	if (w->leaving && w->serving.count == 0)
		begin_exit(e, w);
	e->manager->ops->finished(e->manager, worker, n, e->now);
}

void
engine_play(struct engine *e)
{
	struct event event = events_pop(&e->events);
	struct engine_worker *w;

	if (is_stale(e, &event))
		return;
	if (event.number >= e->manager->workers) {
		play_end(e, event.number - e->manager->workers);
		return;
	}
	w = &e->workers[event.number];
	if (w->state == ENGINE_STARTING && !w->killed)
		play_ready(e, w);
	else
		play_exit(e, w);
}

/* --- services for the manager ------------------------------------------- */

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
	if (tally_count(
		tally_of(e, app), (struct series_counts){ .spawned = 1 }))
		e->result->apps[app].spawned_running++;
	w->order = later(e, e->options->start_time, worker);
	end_change(e, w);
}

void
engine_stop(struct engine *e, uint32_t worker)
{
	struct engine_worker *w = &e->workers[worker];

	assert(w->state != ENGINE_FREE);
	if (w->leaving)
		return;
	begin_change(e, w);
	w->leaving = true;
	end_change(e, w);
	/* A starting worker hears of it when it is ready. */
	if (w->state == ENGINE_READY && w->serving.count == 0)
		begin_exit(e, w);
}

void
engine_kill(struct engine *e, uint32_t worker)
{
	struct engine_worker *w = &e->workers[worker];

	assert(w->state != ENGINE_FREE);
	if (w->killed)
		return;
	begin_change(e, w);
	lose_requests(e, &w->serving);
	w->leaving = true;
	w->killed = true;
	begin_exit(e, w);
	end_change(e, w);
}

void
engine_give(struct engine *e, uint32_t worker, uint32_t request)
{
	struct engine_worker *w = &e->workers[worker];
	struct engine_request *r = &e->requests[request];

	assert(w->state == ENGINE_READY && !w->leaving);
	assert(r->used && r->worker == ILIST_NONE && r->app == w->app);
	begin_change(e, w);
	tally_unheld(&e->tallies[w->app], MINUS_ONE);
	r->worker = worker;
	r->given = e->now;
	ilist_push_back(&w->unread, e->links, request);
	read_unread(e, w);
	end_change(e, w);
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
	tally_unread(t, MINUS_ONE);
	tally_unheld(t, ONE);
	e->result->apps[r->app].taken++;
	return n;
}

/* --- begin and end ------------------------------------------------------ */

/*
 * Room for as many events as can come, and as many that have been called off:
 * when these fill the heap they are swept out.
 */
static int
allocate(struct engine *e)
{
	uint32_t workers = e->manager->workers, requests = e->manager->requests;

	e->tallies = calloc(e->result->apps_len + 1, sizeof(*e->tallies));
	e->workers = calloc(workers, sizeof(*e->workers));
	e->requests = calloc(requests, sizeof(*e->requests));
	e->links = calloc(requests, sizeof(*e->links));
	if (e->tallies != NULL && e->workers != NULL && e->requests != NULL &&
	    e->links != NULL &&
	    events_init(&e->events, 2 * (workers + requests)) == 0)
		return 0;
	engine_fini(e);
	errno = ENOMEM;
	return -1;
}

/* Buckets as wide as at the end where that is known, else small ones. */
static void
begin_tallies(struct engine *e, const struct load_spec *load)
{
	tspan width = load->length == 0
	    ? TSPAN_MSECONDS(1)
	    : (load->length + SERIES_BUCKETS - 1) / SERIES_BUCKETS;
	struct result *r = e->result;
	struct tally *total = NULL;

	if (r->apps_len > 1) {
		total = &e->tallies[r->apps_len];
		tally_init(total, &r->total, NULL, ENGINE_EPOCH, width);
	}
	for (size_t i = 0; i < r->apps_len; i++) {
		r->apps[i].name = load->apps[i].name;
		tally_init(
		    &e->tallies[i], &r->apps[i], total, ENGINE_EPOCH, width);
	}
}

int
engine_init(struct engine *e, const struct engine_options *o,
    const struct load_spec *load, struct manager *m, struct result *out)
{
	assert(o->start_time < ENGINE_EPOCH);
	*e = (struct engine){
		.options = o,
		.manager = m,
		.result = out,
		.exited = ILIST_NONE,
		.now = ENGINE_EPOCH - o->start_time,
	};
	if (allocate(e) == -1)
		return -1;
	if (load->closed && (e->clients = clients_new(load)) == NULL) {
		engine_fini(e);
		return -1;
	}
	m->engine = e;
	out->manager = m->name;
	begin_tallies(e, load);
	ilist_init(&e->free_requests);
	ilist_init(&e->left);
	for (uint32_t n = 0; n < m->requests; n++)
		ilist_push_back(&e->free_requests, e->links, n);
	return 0;
}

void
engine_fini(struct engine *e)
{
	clients_free(e->clients);
	free(e->tallies);
	free(e->workers);
	free(e->requests);
	free(e->links);
	events_fini(&e->events);
}

void
engine_close(struct engine *e)
{
	e->over = true;
	e->result->length = e->now - ENGINE_EPOCH;
	for (uint32_t app = 0; app < e->result->apps_len; app++)
		tally_close(tally_of(e, app));
}

void
engine_sum_up(struct engine *e)
{
	struct result *r = e->result;

	for (uint32_t n = 0; n < e->manager->requests; n++) {
		const struct engine_request *q = &e->requests[n];
		struct result_app *out = &r->apps[q->app];

		if (!q->used)
			continue;
		out->unfinished++;
		/* A request that still waits has waited so long at least. */
		if (q->order == 0)
			histogram_add(&out->wait, e->now - q->arrived);
	}
	for (uint32_t app = 0; app < r->apps_len; app++)
		tally_finish(tally_of(e, app), r->length);
	if (r->apps_len > 1)
		tally_finish(&e->tallies[r->apps_len], r->length);
	r->ran = e->now - ENGINE_EPOCH;
	result_sum(r);
}
