/* Virtual time: what comes next, and who is told. */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine_private.h"

/* Events between two looks at how far it is. */
#define ENGINE_LOOK 65536

/* --- set-up ------------------------------------------------------------- */

static void
engine_fini(struct engine *e)
{
	free(e->tallies);
	free(e->processes);
	free(e->requests);
	free(e->links);
	events_fini(&e->events);
}

/*
 * As many as can come, and as many that have been called off: when these
 * fill the heap they are swept out.
 */
static uint32_t
engine_capacity(const struct manager *m)
{
	return 2 * (m->processes + m->requests);
}

static int
engine_allocate(struct engine *e)
{
	const struct manager *m = e->manager;
	size_t apps = e->result->apps_len;

	e->tallies = calloc(apps + 1, sizeof(*e->tallies));
	e->processes = calloc(m->processes, sizeof(*e->processes));
	e->requests = calloc(m->requests, sizeof(*e->requests));
	e->links = calloc(m->requests, sizeof(*e->links));
	if (e->tallies != NULL && e->processes != NULL && e->requests != NULL &&
	    e->links != NULL &&
	    events_init(&e->events, engine_capacity(m)) == 0)
		return 0;
	engine_fini(e);
	errno = ENOMEM;
	return -1;
}

/* Buckets as they are at the end where that is known, else small ones. */
static tspan
engine_width(const struct engine_options *o)
{
	if (o->length == 0)
		return TSPAN_MSECONDS(1);
	return (o->length + SERIES_BUCKETS - 1) / SERIES_BUCKETS;
}

static void
engine_init(struct engine *e, const char *const *names)
{
	struct result *r = e->result;
	tspan width = engine_width(e->options);

	r->manager = e->manager->name;
	for (size_t i = 0; i < r->apps_len; i++) {
		r->apps[i].name = names[i];
		tally_init(&e->tallies[i], &r->apps[i], ENGINE_EPOCH, width);
	}
	if (r->apps_len > 1) {
		e->total = &e->tallies[r->apps_len];
		tally_init(e->total, &r->total, ENGINE_EPOCH, width);
	}
	ilist_init(&e->free_requests);
	ilist_init(&e->estate);
	e->buried = ILIST_NONE;
	for (uint32_t n = 0; n < e->manager->requests; n++)
		ilist_push_back(&e->free_requests, e->links, n);
	e->now = ENGINE_EPOCH - e->options->start_time;
	e->end = e->options->length == 0 ? TSTAMP_NEVER
					 : ENGINE_EPOCH + e->options->length;
}

/* --- connections -------------------------------------------------------- */

void
engine_request_free(struct engine *e, uint32_t request)
{
	e->requests[request].used = false;
	e->requests[request].order = 0;
	ilist_push_front(&e->free_requests, e->links, request);
	e->present--;
}

/* Looks at the arrival after this one. -1: the trace has a mistake. */
static int
engine_look_ahead(struct engine *e)
{
	switch (load_next(e->load, &e->next)) {
	case LOAD_ARRIVAL:
		assert(e->next.app < e->result->apps_len);
		assert(ENGINE_EPOCH + e->next.at >= e->now);
		e->next_at = ENGINE_EPOCH + e->next.at;
		return 0;
	case LOAD_END:
		e->next_at = TSTAMP_NEVER;
		if (e->end == TSTAMP_NEVER)
			e->end = e->now > ENGINE_EPOCH ? e->now : ENGINE_EPOCH;
		return 0;
	case LOAD_MISTAKE:
		break;
	}
	errno = 0;
	return -1;
}

static void
engine_admit(struct engine *e)
{
	uint32_t app = e->next.app, n = e->free_requests.first;
	struct result_app *out = &e->result->apps[app];
	struct series_bucket *b;

	engine_pass(e, app);
	out->arrived++;
	b = tally_bucket(&e->tallies[app]);
	if (b != NULL)
		b->arrived++;
	if (b != NULL && e->total != NULL)
		tally_bucket(e->total)->arrived++;
	if (n == ILIST_NONE) {
		out->refused++;
		out->overflowed++;
		if (b != NULL)
			b->refused++;
		return;
	}
	ilist_remove(&e->free_requests, e->links, n);
	e->present++;
	e->requests[n] = (struct request){
		.arrived = e->now,
		.service = e->next.service,
		.app = app,
		.process = ILIST_NONE,
		.used = true,
	};
	engine_unheld(e, app, 1);
	e->manager->ops->arrived(e->manager, app, n, e->now);
}

/* --- time --------------------------------------------------------------- */

static void
engine_close(struct engine *e)
{
	e->now = e->end;
	e->over = true;
	e->result->length = e->end - ENGINE_EPOCH;
	for (uint32_t app = 0; app < e->result->apps_len; app++) {
		engine_pass(e, app);
		tally_close(&e->tallies[app]);
	}
	if (e->total != NULL)
		tally_close(e->total);
}

/* What comes next at `at`. 1; 0: that was all; -1 and errno. */
static int
engine_turn(struct engine *e)
{
	const struct manager_ops *ops = e->manager->ops;
	tstamp event = events_first(&e->events), due = ops->due(e->manager);
	tstamp at = tstamp_min(tstamp_min(event, due), e->next_at);

	if (!e->over && at >= e->end) {
		engine_close(e);
		return 1;
	}
	if (e->over &&
	    (e->present == 0 || at > tstamp_add(e->end, ENGINE_DRAIN)))
		return 0;
	if (at > e->now)
		e->now = at;
	if (event == at) {
		struct event first = events_pop(&e->events);

		engine_play(e, &first);
	} else if (e->next_at == at) {
		engine_admit(e);
		return engine_look_ahead(e) == -1 ? -1 : 1;
	} else {
		ops->tick(e->manager, e->now);
	}
	return 1;
}

static int
engine_loop(struct engine *e)
{
	const struct engine_options *o = e->options;
	int going = 1;

	e->manager->engine = e;
	e->manager->ops->started(e->manager, e->now);
	if (engine_look_ahead(e) == -1)
		return -1;
	while (going == 1) {
		going = engine_turn(e);
		if (++e->result->events % ENGINE_LOOK == 0 &&
		    o->progress != NULL && e->now > ENGINE_EPOCH)
			o->progress(o->progress_arg, e->now - ENGINE_EPOCH);
	}
	return going;
}

int
engine_run(const struct engine_options *o, struct load *load,
    const char *const *names, struct manager *m, struct result *out)
{
	struct engine e = {
		.options = o, .load = load, .manager = m, .result = out
	};
	int going;

	assert(o->start_time < ENGINE_EPOCH);
	if (engine_allocate(&e) == -1)
		return -1;
	engine_init(&e, names);
	going = engine_loop(&e);
	if (going == 0)
		engine_sum_up(&e);
	engine_fini(&e);
	return going;
}

/* --- what a manager may look at ----------------------------------------- */

uint32_t
engine_app_of(const struct engine *e, uint32_t request)
{
	return e->requests[request].app;
}
