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

uint32_t
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

tstamp
pool_start_gate(const struct pool *p, uint32_t app)
{
	return sizing_gate(&p->apps[app]);
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
	/* Who was refused does not wait, and yet asks for a process. */
	return a->missed && lasting == 0 ? 1 : 0;
}

/* When the pace of growth allows the next step. */
static tstamp
sizing_paced(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp from = pool_oldest(p, app);

	return tstamp_add(
	    from > a->grown ? from : a->grown, a->options.start_delay);
}

/* When the next growth is due; TSTAMP_NEVER: nobody waits, or none may be. */
static tstamp
sizing_due(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (app_demand(a) == 0 || sizing_under_own(a) == 0)
		return TSTAMP_NEVER;
	return sizing_lasting(a) == 0 ? 0 : sizing_paced(p, app);
}

/* What the waiters need beyond those that are starting. */
static uint32_t
sizing_need(const struct app *a)
{
	uint32_t starting = a->in_state[PROCESS_STARTING];
	uint32_t need = app_demand(a) / a->options.concurrency;

	need += app_demand(a) % a->options.concurrency != 0 ? 1 : 0;
	return need > starting ? need - starting : 0;
}

/* How many starts the waiters call for now; those starting count for it. */
static uint32_t
sizing_step(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t starting = a->in_state[PROCESS_STARTING];
	uint32_t pace = a->pace, need = sizing_need(a);

	if (sizing_paced(p, app) > p->now)
		return 1; /* the first, which no pace holds up */
	a->grown = p->now;
	if (a->options.start_delay == 0)
		return need;
	a->pace = sizing_min(2 * pace, 1u << 16);
	return sizing_min(need, pace > starting ? pace - starting : 0);
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

/*
 * Asks for n places among max_processes, in order of asking; but a minimum
 * that is not kept comes before all growth.
 */
static void
sizing_want_places(struct pool *p, uint32_t app, uint32_t n, bool missing)
{
	struct app *a = &p->apps[app];

	a->wanted = n;
	if (a->wants_place && !missing)
		return;
	sizing_drop_place(p, app);
	a->wants_place = true;
	if (missing)
		ilist_push_front(&p->places, p->app_links, app);
	else
		ilist_push_back(&p->places, p->app_links, app);
}

/* How many of n starts the app's own limits allow. */
static uint32_t
sizing_allowed(const struct app *a, uint32_t n)
{
	if (sizing_on_trial(a))
		n = sizing_min(n, a->in_state[PROCESS_STARTING] == 0 ? 1 : 0);
	return sizing_min(n, sizing_under_own(a));
}

static void
sizing_start(struct pool *p, uint32_t app, uint32_t n, bool missing)
{
	for (n = sizing_allowed(&p->apps[app], n); n > 0; n--) {
		/* A place that is free now is for those who came before. */
		if (sizing_under_all(p) == 0 ||
		    (!missing && !ilist_empty(&p->places))) {
			sizing_want_places(p, app, n, missing);
			return;
		}
		life_begin(p, app);
	}
	sizing_drop_place(p, app);
}

/* Whether nothing may be started now. */
static bool
sizing_paused(const struct pool *p, const struct app *a)
{
	return a->phase >= APP_STOPPING || p->phase == POOL_ENDING ||
	    sizing_gate(a) > p->now;
}

static void
sizing_grow(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t missing;

	if (app_demand(a) == 0) {
		a->pace = 1;
		a->grown = 0;
	}
	if (sizing_paused(p, a)) {
		sizing_drop_place(p, app);
		return;
	}
	missing = sizing_missing(p, a);
	if (missing > 0)
		sizing_start(p, app, missing, true);
	else if (sizing_due(p, app) <= p->now)
		sizing_start(p, app, sizing_step(p, app), false);
	else if (app_demand(a) == 0)
		sizing_drop_place(p, app);
}

/* A place is free and the app is the first who asked for one. */
static void
sizing_take_place(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t n;

	sizing_drop_place(p, app);
	if (sizing_paused(p, a))
		return;
	n = sizing_missing(p, a);
	if (n > 0) {
		sizing_start(p, app, n, true);
		return;
	}
	n = sizing_allowed(a, sizing_min(a->wanted, sizing_need(a)));
	if (n == 0)
		return;
	life_begin(p, app);
	if (n > 1)
		sizing_want_places(p, app, n - 1, false);
}

/* --- shrinking ---------------------------------------------------------- */

/* Whether a ceiling was lowered under what there is. */
static bool
sizing_over(const struct pool *p, const struct app *a)
{
	uint32_t least = sizing_kept(p, a) ? a->options.min_processes : 0;

	return app_processes(a) > a->options.max_processes ||
	    (p->count > p->max_processes && app_processes(a) > least);
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

		sizing_take_place(p, app);
		pool_arm_app(p, app);
	}
}

tstamp
sizing_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp at = sizing_idle_due(p, app), start;

	if (a->phase >= APP_STOPPING || p->phase == POOL_ENDING ||
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
