/*
 * How many processes an app has: when one more is started, when one stops.
 *
 * Sources: AnyEvent::Fork::Pool (`start`, `stop`: how long all must be busy,
 * how long between two stops), Passenger's ApplicationPool text (a minimum
 * that is kept, spawning kept to the least), Apache's prefork (starts that
 * double while the need remains).
 */

#include "core/pool_private.h"

/* Whether min_processes are kept up: not of an app that is leaving. */
static bool
sizing_kept(const struct pool *p, const struct app *a)
{
	return p->phase == POOL_RUNNING && a->phase == APP_RUNNING;
}

/* Processes that are here to stay. */
static uint32_t
sizing_lasting(const struct app *a)
{
	return app_processes(a) - a->expiring;
}

/* How many more the app's own ceiling allows. */
static uint32_t
sizing_under_own(const struct app *a)
{
	uint32_t n = app_processes(a);

	return n < a->options.max_processes ? a->options.max_processes - n : 0;
}

/* How many more the global ceiling, and the table, allow. */
static uint32_t
sizing_under_all(const struct pool *p)
{
	uint32_t used = p->nprocesses - p->free_processes.count;
	uint32_t table = p->limits.processes - used;
	uint32_t places =
	    p->living < p->max_processes ? p->max_processes - p->living : 0;

	return places < table ? places : table;
}

static uint32_t
sizing_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Failed starts in a row pause all growth but for a trial now and then. */
static bool
sizing_on_trial(const struct app *a)
{
	return a->failed_starts >= a->options.start_limit;
}

/* No start before this time. */
static tstamp
sizing_gate(const struct app *a)
{
	const struct backoff *b = &a->backoff;
	tstamp gate = b->until;

	if (sizing_on_trial(a))
		gate = tstamp_add(b->failed_at, a->options.restart_delay_max);
	else if (app_demand(a) > 0 && app_ready(a) == 0 && b->delay != 0)
		gate = tstamp_min(
		    gate, tstamp_add(b->failed_at, a->options.restart_delay));
	return gate > a->rest_until ? gate : a->rest_until;
}

/* What is missing to the minimum, or to replace what is about to leave. */
static uint32_t
sizing_missing(const struct pool *p, const struct app *a)
{
	uint32_t lasting = sizing_lasting(a);

	if (!sizing_kept(p, a))
		return 0;
	if (lasting < a->options.min_processes)
		return a->options.min_processes - lasting;
	/* A failed app has no waiters: what it refused asks for the trial. */
	return a->failed && a->missed && lasting == 0 ? 1 : 0;
}

/* When the next growth is due; TSTAMP_NEVER: nobody waits. */
static tstamp
sizing_due(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp due;

	if (app_demand(a) == 0)
		return TSTAMP_NEVER;
	if (sizing_lasting(a) == 0)
		return 0;
	due = tstamp_add(pool_oldest(p, app), a->options.start_delay);
	if (a->grown != 0 && due < tstamp_add(a->grown, a->options.start_delay))
		due = tstamp_add(a->grown, a->options.start_delay);
	return due;
}

/* How many starts the waiters call for now; those starting count for it. */
static uint32_t
sizing_needed(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t starting = a->in_state[PROCESS_STARTING];
	uint32_t need = (app_demand(a) - 1) / a->options.concurrency + 1;

	if (sizing_lasting(a) == 0)
		return 1;
	if (a->options.start_delay != 0) {
		need = sizing_min(need, a->pace);
		a->pace = sizing_min(2 * a->pace, 1u << 16);
	}
	a->grown = p->now;
	return need > starting ? need - starting : 0;
}

/* Asks for a place among max_processes, in order of asking. */
static void
sizing_want_place(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->wants_place)
		return;
	a->wants_place = true;
	ilist_push_back(&p->places, p->app_links, app);
}

static void
sizing_drop_place(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (!a->wants_place)
		return;
	a->wants_place = false;
	ilist_remove(&p->places, p->app_links, app);
}

static void
sizing_start(struct pool *p, uint32_t app, uint32_t n)
{
	struct app *a = &p->apps[app];

	n = sizing_min(n, sizing_under_own(a));
	if (sizing_on_trial(a) && n > 0)
		n = a->in_state[PROCESS_STARTING] == 0 ? 1 : 0;
	for (; n > 0; n--) {
		if (sizing_under_all(p) == 0) {
			sizing_want_place(p, app);
			return;
		}
		life_begin(p, app);
	}
	sizing_drop_place(p, app);
}

static void
sizing_grow(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t n;

	if (app_demand(a) == 0) {
		a->pace = 1;
		a->grown = 0;
	}
	if (a->phase == APP_STOPPING || p->phase == POOL_ENDING ||
	    sizing_gate(a) > p->now)
		return;
	n = sizing_missing(p, a);
	if (n == 0 && sizing_due(p, app) <= p->now)
		n = sizing_needed(p, app);
	if (n > 0)
		sizing_start(p, app, n);
	else if (app_demand(a) == 0)
		sizing_drop_place(p, app);
}

/* --- shrinking ---------------------------------------------------------- */

static bool
sizing_over(const struct pool *p, const struct app *a)
{
	return app_processes(a) > a->options.max_processes ||
	    p->count > p->max_processes;
}

/* When the longest idle process may stop; TSTAMP_NEVER: none may. */
static tstamp
sizing_idle_due(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	uint32_t last = room_list(p, app, 0)->last;
	tstamp due;

	if (a->options.max_idle_time == 0 || last == ILIST_NONE ||
	    sizing_lasting(a) <= a->options.min_processes ||
	    app_demand(a) > 0 || a->in_state[PROCESS_STARTING] > 0)
		return TSTAMP_NEVER;
	due = tstamp_add(p->processes[last].used, a->options.max_idle_time);
	if (a->shrunk != 0 &&
	    due < tstamp_add(a->shrunk, a->options.stop_delay))
		due = tstamp_add(a->shrunk, a->options.stop_delay);
	return due;
}

static void
sizing_shrink(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	struct ilist *idle = room_list(p, app, 0);

	while (sizing_over(p, a) && !ilist_empty(idle))
		life_tell(p, idle->last, END_RESIZED);
	while (sizing_idle_due(p, app) <= p->now) {
		a->shrunk = p->now;
		life_tell(p, idle->last, END_IDLE);
	}
}

void
sizing_update(struct pool *p, uint32_t app)
{
	sizing_shrink(p, app);
	sizing_grow(p, app);
}

void
sizing_places(struct pool *p)
{
	while (!ilist_empty(&p->places) && sizing_under_all(p) > 0) {
		uint32_t app = p->places.first;

		sizing_drop_place(p, app);
		sizing_grow(p, app);
		pool_arm_app(p, app);
		if (p->apps[app].wants_place)
			return;
	}
}

tstamp
sizing_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp at = sizing_idle_due(p, app), start;

	if (a->phase == APP_STOPPING || p->phase == POOL_ENDING ||
	    a->wants_place)
		return at;
	start = sizing_missing(p, a) > 0 ? 0 : sizing_due(p, app);
	if (start == TSTAMP_NEVER)
		return at;
	if (start < sizing_gate(a))
		start = sizing_gate(a);
	/*
	 * What is due and was not done just now is held up by a ceiling or by
	 * a start under way: not time ends that, but an event.
	 */
	return start > p->now ? tstamp_min(at, start) : at;
}
