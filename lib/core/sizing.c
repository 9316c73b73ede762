/*
 * More processes: to keep the minimum and the spare ones, for those who wait,
 * and for a load that is high.
 *
 * Sources: AnyEvent::Fork::Pool (`start`: how long all must be busy; `idle`),
 * Passenger's ApplicationPool text (a minimum that is kept, spawning kept to
 * the least), Apache's prefork (starts that double while the need remains),
 * the FastCGI process manager (load).
 */

#include "core/pool_private.h"

bool
sizing_kept(const struct pool *p, const struct app *a)
{
	return p->phase == POOL_RUNNING && a->phase == APP_RUNNING;
}

uint32_t
sizing_least(const struct pool *p, const struct app *a)
{
	return sizing_kept(p, a) && !a->renewing ? a->options.min_processes : 0;
}

uint32_t
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
	tspan most = a->options.restart_delay_max;
	/* It may have been made shorter meanwhile. */
	tstamp gate =
	    tstamp_min(b->until, tstamp_add(b->failed_at, most + most / 4));

	if (sizing_on_trial(a))
		gate = tstamp_add(b->failed_at, most);
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
	uint32_t lasting = sizing_lasting(a), least = sizing_least(p, a);

	if (!sizing_kept(p, a))
		return 0;
	if (lasting < least)
		return least - lasting;
	/* Who was refused does not wait, and yet asks for a process. */
	return a->refused_while_down && lasting == 0 ? 1 : 0;
}

/* When the pace of growth allows the next step. */
static tstamp
sizing_paced(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp from = pool_waiting_since(p, app);

	if (a->renewing)
		return 0;
	if (!ilist_empty(&a->prefetched))
		from = tstamp_min(from, p->conns[a->prefetched.first].arrived);
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
	uint32_t each = a->renewing ? 1 : a->options.concurrency;
	uint32_t need = (app_demand(a) + each - 1) / each;

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
	if (a->options.start_delay == 0 || a->renewing)
		return need;
	a->pace = sizing_min(2 * pace, 1u << 16);
	return sizing_min(need, pace > starting ? pace - starting : 0);
}

uint32_t
sizing_allowed(const struct app *a, uint32_t n)
{
	if (sizing_on_trial(a))
		n = sizing_min(n, a->in_state[PROCESS_STARTING] == 0 ? 1 : 0);
	return sizing_min(n, sizing_under_own(a));
}

static void
sizing_start(struct pool *p, uint32_t app, uint32_t n, bool missing)
{
	n = sizing_allowed(&p->apps[app], n);
	if (n > 0)
		shrink_slack(p);
	for (; n > 0; n--) {
		/* A place that is free now is for those who came before. */
		if (places_free(p) == 0 ||
		    (!missing && !ilist_empty(&p->places))) {
			places_want(p, app, n, missing);
			return;
		}
		lifecycle_begin(p, app);
	}
	places_drop(p, app);
}

bool
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
		places_drop(p, app);
		return;
	}
	missing = sizing_missing(p, a);
	if (missing > 0)
		sizing_start(p, app, missing, true);
	else if (sizing_due(p, app) <= p->now)
		sizing_start(p, app, sizing_step(p, app), false);
	else if (sizing_due(p, app) == TSTAMP_NEVER)
		places_drop(p, app);
	spare_begin(p, app);
}

void
sizing_take_place(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t n, wanted = a->wanted;

	places_drop(p, app);
	if (sizing_paused(p, a))
		return;
	n = sizing_missing(p, a);
	if (n > 0) {
		sizing_start(p, app, n, true);
		return;
	}
	n = sizing_allowed(a, sizing_min(wanted, sizing_need(a)));
	if (n == 0)
		return;
	lifecycle_begin(p, app);
	if (n > 1)
		places_want(p, app, n - 1, false);
}

/* --- load --------------------------------------------------------------- */

/* When the load estimate is next of use. */
static tstamp
sizing_update_due(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if ((!a->options.sessions && !a->options.listens) ||
	    a->phase >= APP_STOPPING ||
	    (load_at_rest(&a->load) && !shrink_needless(p, a)))
		return TSTAMP_NEVER;
	return tstamp_add(a->load.updated, a->options.update_interval);
}

/* Whether the load estimate calls for one more process. */
static bool
sizing_overloaded(const struct pool *p, const struct app *a)
{
	return sizing_kept(p, a) && !a->renewing && !sizing_paused(p, a) &&
	    a->in_state[PROCESS_STARTING] == 0 && app_ready(a) > 0 &&
	    !load_at_rest(&a->load) &&
	    app_load(a, p->now) >= a->options.grow_threshold;
}

static void
sizing_estimate(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	const struct app_options *o = &a->options;

	if (sizing_update_due(p, app) > p->now)
		return;
	load_update(&a->load, o->gain, o->update_interval, p->now);
	if (!sizing_overloaded(p, a) || !spare_add(p, app))
		shrink_mark(p, app);
}

/* --- all ---------------------------------------------------------------- */

void
sizing_update(struct pool *p, uint32_t app)
{
	shrink_update(p, app);
	rollout_update(p, app);
	sizing_grow(p, app);
	spare_keep(p, app);
	sizing_estimate(p, app);
}

void
sizing_release(struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	p->marked -= a->marked;
	p->surge -= a->surge;
	p->denied -= a->spare_denied ? 1 : 0;
}

/* When waiters, or a minimum that is not kept, bring the next start. */
static tstamp
sizing_start_due(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp start;

	if (a->wants_place)
		return TSTAMP_NEVER;
	start =
	    sizing_missing(p, a) > 0 || a->first > 0 ? 0 : sizing_due(p, app);
	if (start == TSTAMP_NEVER)
		return start;
	if (start < sizing_gate(a))
		start = sizing_gate(a);
	/*
	 * What is due and was not done just now is held up by a ceiling or by
	 * a start under way: not time ends that, but an event.
	 */
	return start > p->now ? start : TSTAMP_NEVER;
}

tstamp
sizing_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp at =
	    tstamp_min(shrink_deadline(p, app), sizing_update_due(p, app));

	if (a->phase >= APP_STOPPING || p->phase == POOL_ENDING)
		return at;
	at = tstamp_min(at, rollout_deadline(p, app));
	at = tstamp_min(at, spare_deadline(p, app));
	return tstamp_min(at, sizing_start_due(p, app));
}
