/* The processes: what they do when they are started, given and stopped. */

#include <assert.h>

#include "sim/engine_private.h"

#define ONE 1u
#define MINUS_ONE UINT32_MAX

/* --- what there is ------------------------------------------------------ */

static void
played_add(struct tally *t, const struct played *x, uint32_t by)
{
	t->existing += by;
	if (x->serving.count > 0)
		t->busy += by;
	t->unread += by * x->unread.count;
	if (x->leaving)
		return;
	t->processes += by;
	if (x->state == PLAYED_READY && x->serving.count == 0)
		t->idle += by;
}

/* Counts a process in or out; every change stands between the two. */
static void
engine_count(struct engine *e, const struct played *x, uint32_t by)
{
	played_add(&e->tallies[x->app], x, by);
	if (e->total != NULL)
		played_add(e->total, x, by);
}

static void
engine_change(struct engine *e, const struct played *x)
{
	engine_pass(e, x->app);
	engine_count(e, x, MINUS_ONE);
}

static void
engine_changed(struct engine *e, const struct played *x)
{
	engine_count(e, x, ONE);
}

static uint64_t
engine_later(struct engine *e, tspan span, uint32_t number)
{
	if (e->events.count == e->events.capacity)
		events_sweep(&e->events, engine_is_stale, e);
	return events_put(&e->events, tstamp_add(e->now, span), number);
}

static void
engine_read_out(struct engine *e, const struct request *r)
{
	tally_read(&e->tallies[r->app], r->given);
	if (e->total != NULL)
		tally_read(e->total, r->given);
}

/* --- what processes do -------------------------------------------------- */

static uint32_t
engine_number(const struct engine *e, const struct played *x)
{
	return (uint32_t)(x - e->processes);
}

/* Reads what lies in its socket while it can serve more. */
static void
played_read(struct engine *e, struct played *x)
{
	while (x->serving.count < x->concurrency && !ilist_empty(&x->unread)) {
		uint32_t n = x->unread.first;
		struct request *r = &e->requests[n];

		if (r->given < e->now)
			engine_read_out(e, r);
		ilist_remove(&x->unread, e->links, n);
		ilist_push_back(&x->serving, e->links, n);
		histogram_add(
		    &e->result->apps[r->app].wait, e->now - r->arrived);
		r->order =
		    engine_later(e, r->service, e->manager->processes + n);
	}
}

/* Nothing is left to do for one that leaves. */
static void
played_exit(struct engine *e, struct played *x)
{
	x->order = engine_later(e, e->options->exit_time, engine_number(e, x));
}

static void
played_lose(struct engine *e, struct ilist *list)
{
	while (!ilist_empty(list)) {
		uint32_t n = list->first;

		e->result->apps[e->requests[n].app].lost++;
		ilist_remove(list, e->links, n);
		engine_request_free(e, n);
	}
}

static void
played_ready(struct engine *e, struct played *x)
{
	engine_change(e, x);
	x->state = PLAYED_READY;
	x->order = 0;
	if (x->leaving)
		played_exit(e, x);
	engine_changed(e, x);
	if (!x->leaving)
		e->manager->ops->ready(e->manager, engine_number(e, x), e->now);
}

static void
played_gone(struct engine *e, struct played *x)
{
	uint32_t process = engine_number(e, x), app = x->app;
	bool killed = x->killed;

	engine_change(e, x);
	x->state = PLAYED_NONE;
	e->tallies[app].unread += x->unread.count;
	if (e->total != NULL)
		e->total->unread += x->unread.count;
	e->estate = x->unread;
	e->buried = process;
	if (!e->over)
		e->result->apps[app].ended++;
	e->manager->ops->exited(e->manager, process, killed, e->now);
	e->tallies[app].unread -= e->estate.count;
	if (e->total != NULL)
		e->total->unread -= e->estate.count;
	played_lose(e, &e->estate);
	e->buried = ILIST_NONE;
}

static void
played_done(struct engine *e, uint32_t n)
{
	struct request *r = &e->requests[n];
	uint32_t process = r->process;
	struct played *x = &e->processes[process];

	engine_change(e, x);
	e->result->apps[r->app].completed++;
	ilist_remove(&x->serving, e->links, n);
	engine_request_free(e, n);
	played_read(e, x);
	engine_changed(e, x);
	if (x->leaving && x->serving.count == 0)
		played_exit(e, x);
	e->manager->ops->finished(e->manager, process, n, e->now);
}

bool
engine_is_stale(const void *arg, const struct event *event)
{
	const struct engine *e = arg;
	uint32_t n = event->number;

	if (n < e->manager->processes)
		return e->processes[n].order != event->order;
	return e->requests[n - e->manager->processes].order != event->order;
}

void
engine_play(struct engine *e, const struct event *event)
{
	struct played *x;

	if (engine_is_stale(e, event))
		return;
	if (event->number >= e->manager->processes) {
		played_done(e, event->number - e->manager->processes);
		return;
	}
	x = &e->processes[event->number];
	if (x->state == PLAYED_STARTING && !x->killed)
		played_ready(e, x);
	else
		played_gone(e, x);
}

/* --- services ----------------------------------------------------------- */

static void
engine_count_spawn(struct engine *e, uint32_t app)
{
	struct result_app *out = &e->result->apps[app];
	struct series_bucket *b = tally_bucket(&e->tallies[app]);

	if (!e->over)
		out->spawned++;
	if (b == NULL)
		return;
	out->spawned_running++;
	b->spawned++;
	if (e->total != NULL)
		tally_bucket(e->total)->spawned++;
}

void
engine_start(
    struct engine *e, uint32_t process, uint32_t app, uint32_t concurrency)
{
	struct played *x = &e->processes[process];

	assert(process < e->manager->processes && x->state == PLAYED_NONE);
	*x = (struct played){
		.state = PLAYED_STARTING,
		.app = app,
		.concurrency = concurrency,
	};
	ilist_init(&x->serving);
	ilist_init(&x->unread);
	engine_pass(e, app);
	engine_count_spawn(e, app);
	x->order = engine_later(e, e->options->start_time, process);
	engine_changed(e, x);
}

void
engine_stop(struct engine *e, uint32_t process)
{
	struct played *x = &e->processes[process];

	assert(x->state != PLAYED_NONE);
	if (x->leaving)
		return;
	engine_change(e, x);
	x->leaving = true;
	engine_changed(e, x);
	/* One that is starting hears of it when it is ready. */
	if (x->state == PLAYED_READY && x->serving.count == 0)
		played_exit(e, x);
}

void
engine_kill(struct engine *e, uint32_t process)
{
	struct played *x = &e->processes[process];

	assert(x->state != PLAYED_NONE);
	if (x->killed)
		return;
	engine_change(e, x);
	played_lose(e, &x->serving);
	x->leaving = true;
	x->killed = true;
	played_exit(e, x);
	engine_changed(e, x);
}

void
engine_give(struct engine *e, uint32_t process, uint32_t request)
{
	struct played *x = &e->processes[process];
	struct request *r = &e->requests[request];

	assert(x->state == PLAYED_READY && !x->leaving);
	assert(r->used && r->process == ILIST_NONE && r->app == x->app);
	engine_change(e, x);
	engine_unheld(e, x->app, MINUS_ONE);
	r->process = process;
	r->given = e->now;
	ilist_push_back(&x->unread, e->links, request);
	played_read(e, x);
	engine_changed(e, x);
}

uint32_t
engine_take(struct engine *e, uint32_t process)
{
	struct played *x = &e->processes[process];
	bool buried = process == e->buried;
	struct ilist *list = buried ? &e->estate : &x->unread;
	uint32_t n = list->first, app;

	if (n == ILIST_NONE)
		return n;
	app = e->requests[n].app;
	engine_pass(e, app);
	engine_read_out(e, &e->requests[n]);
	ilist_remove(list, e->links, n);
	e->requests[n].process = ILIST_NONE;
	e->tallies[app].unread--;
	if (e->total != NULL)
		e->total->unread--;
	engine_unheld(e, app, ONE);
	e->result->apps[app].taken++;
	return n;
}

void
engine_refuse(struct engine *e, uint32_t request, enum engine_refusal how)
{
	const struct request *r = &e->requests[request];
	struct result_app *out = &e->result->apps[r->app];
	struct series_bucket *b;

	assert(r->used && r->process == ILIST_NONE);
	engine_pass(e, r->app);
	engine_unheld(e, r->app, MINUS_ONE);
	if (how == ENGINE_TIMED_OUT)
		out->timed_out++;
	else
		out->refused++;
	if (how == ENGINE_OVERFLOWED)
		out->overflowed++;
	b = tally_bucket(&e->tallies[r->app]);
	if (b != NULL)
		b->refused++;
	if (b != NULL && e->total != NULL)
		tally_bucket(e->total)->refused++;
	engine_request_free(e, request);
}
