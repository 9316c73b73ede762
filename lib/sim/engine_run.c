/* Virtual time: what comes next. */

#include <assert.h>
#include <errno.h>

#include "sim/engine.h"

/* Events between two calls of options->progress(). */
#define PROGRESS_EVENTS 65536

struct run {
	struct engine engine;
	struct load *load;
	tstamp end; /* of the load; TSTAMP_NEVER: not known yet */
	tstamp next_at; /* of the arrival to come; TSTAMP_NEVER: none is */
	struct arrival next;
};

/* Clients may come sooner than it seemed before the last event. */
static void
look_at_clients(struct run *r)
{
	const struct engine *e = &r->engine;
	tstamp due = clients_due(e->clients);

	r->next_at = e->over || due == TSTAMP_NEVER
	    ? TSTAMP_NEVER
	    : tstamp_add(ENGINE_EPOCH, due);
}

/* Looks at the arrival after this one. -1: the trace has a mistake. */
static int
look_ahead(struct run *r)
{
	const struct engine *e = &r->engine;

	if (e->clients != NULL)
		return 0;
	switch (load_next(r->load, &r->next)) {
	case LOAD_ARRIVAL:
		assert(r->next.app < e->result->apps_len);
		assert(ENGINE_EPOCH + r->next.at >= e->now);
		r->next_at = ENGINE_EPOCH + r->next.at;
		return 0;
	case LOAD_END:
		r->next_at = TSTAMP_NEVER;
		if (r->end == TSTAMP_NEVER)
			r->end = e->now > ENGINE_EPOCH ? e->now : ENGINE_EPOCH;
		return 0;
	case LOAD_MISTAKE:
		break;
	}
	errno = 0;
	return -1;
}

/* Plays what comes next. 1; 0: that was all; -1 and errno. */
static int
turn(struct run *r)
{
	struct engine *e = &r->engine;
	const struct manager_ops *ops = e->manager->ops;
	tstamp event = events_first(&e->events), due = ops->due(e->manager);
	tstamp at;

	if (e->clients != NULL)
		look_at_clients(r);
	at = tstamp_min(tstamp_min(event, due), r->next_at);
	if (!e->over && at >= r->end) {
		e->now = r->end;
		engine_close(e);
		return 1;
	}
	if (e->over &&
	    (e->present == 0 || at > tstamp_add(r->end, ENGINE_DRAIN)))
		return 0;
	if (at > e->now)
		e->now = at;
	if (event == at) {
		engine_play(e);
	} else if (r->next_at == at) {
		if (e->clients != NULL)
			r->next = clients_connect(e->clients);
		engine_admit(e, r->next.app, r->next.service);
		return look_ahead(r) == -1 ? -1 : 1;
	} else {
		ops->tick(e->manager, e->now);
	}
	return 1;
}

static int
play_all(struct run *r)
{
	struct engine *e = &r->engine;
	const struct engine_options *o = e->options;
	int going = 1;

	e->manager->ops->started(e->manager, e->now);
	if (look_ahead(r) == -1)
		return -1;
	while (going == 1) {
		going = turn(r);
		if (++e->result->events % PROGRESS_EVENTS == 0 &&
		    o->progress != NULL && e->now > ENGINE_EPOCH)
			o->progress(o->progress_arg, e->now - ENGINE_EPOCH);
	}
	return going;
}

int
engine_run(const struct engine_options *o, struct load *load, struct manager *m,
    struct result *out)
{
	const struct load_spec *spec = load_spec(load);
	struct run r = {
		.load = load,
		.end = spec->length == 0 ? TSTAMP_NEVER
					 : ENGINE_EPOCH + spec->length,
	};
	int going;

	if (engine_init(&r.engine, o, spec, m, out) == -1)
		return -1;
	going = play_all(&r);
	if (going == 0)
		engine_sum_up(&r.engine);
	engine_fini(&r.engine);
	return going;
}
