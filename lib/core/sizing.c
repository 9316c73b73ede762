/*
 * More processes: to keep the minimum and the spare ones, for connections
 * that wait, and for a load that is high.
 *
 * Sources: AnyEvent::Fork::Pool (`start`: how long all must be busy; `idle`),
 * Passenger's ApplicationPool text (a minimum that is kept, spawning kept to
 * the least), Apache's prefork (starts that double while the need remains),
 * the FastCGI process manager (load).
 */

#include "core/policy.h"

static uint32_t
least_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Starts a process; the caller knows that the ceilings allow it. */
static void
launch(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t n;

	lifecycle_start(p, app);
	n = app_processes(a);
	promise_started(&a->promise, n > a->surge ? n - a->surge : n,
	    app_stop_delay(a), p->now);
}

/* --- for the minimum and for waiters ------------------------------------- */

/* Processes that are missing to the minimum, or are about to leave it. */
static uint32_t
missing_of(const struct pool *p, const struct app *a)
{
	uint32_t lasting = bounds_lasting(a), least = bounds_least(p, a);

	if (!bounds_kept(p, a))
		return 0;
	if (lasting < least)
		return least - lasting;
	/* A refused connection does not wait, and yet asks for a process. */
	return a->refused_down > 0 && lasting == 0 ? 1 : 0;
}

/* Since when the longest waiting connection waits, prefetched or not. */
static tstamp
waiting_since(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp at = queue_since(p, app);

	if (!ilist_empty(&a->prefetched))
		at = tstamp_min(at, p->conns[a->prefetched.first].arrived);
	return at;
}

/* When the pace of growth allows the next step. */
static tstamp
paced(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp from = waiting_since(p, app), at;

	if (a->renewing)
		return 0;
	at = tstamp_add(from > a->grown ? from : a->grown, app_patience(a));
	if (a->options.growth == GROWTH_LINEAR) {
		/* Starts may take less than start_delay, yet none is sooner. */
		tstamp next =
		    tstamp_add(a->promise.started, a->options.start_delay);

		at = at > next ? at : next;
	}
	return at;
}

/* When the next growth is due; TSTAMP_NEVER: none is wanted, or may be. */
static tstamp
growth_due(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (app_demand(a) == 0 || bounds_under_own(a) == 0)
		return TSTAMP_NEVER;
	return bounds_lasting(a) == 0 || app_is_late(a) ? 0 : paced(p, app);
}

/* Processes that the waiters need beyond those that are starting. */
static uint32_t
need_of(const struct app *a)
{
	uint32_t starting = a->in_state[PROCESS_STARTING];
	uint32_t each = a->renewing ? 1 : a->options.concurrency;
	uint32_t need = (app_demand(a) + each - 1) / each;

	return need > starting ? need - starting : 0;
}

/* How many starts the waiters call for now; those starting count for it. */
static uint32_t
step(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t starting = a->in_state[PROCESS_STARTING];
	uint32_t pace = a->pace, need = need_of(a);
	bool late = app_is_late(a);

	if (paced(p, app) > p->now && !late)
		return 1; /* the first process, which no pace holds up */
	a->grown = p->now;
	if (a->options.start_delay == 0 || a->options.growth == GROWTH_ALL ||
	    a->renewing || late)
		return need;
	if (a->options.growth == GROWTH_LINEAR)
		return least_of(need, 1);
	a->pace = least_of(2 * pace, 1u << 16);
	return least_of(need, pace > starting ? pace - starting : 0);
}

static void
start(struct pool *p, uint32_t app, uint32_t n, bool missing)
{
	n = bounds_allowed(&p->apps[app], n);
	if (n > 0)
		shrink_slack(p);
	for (; n > 0; n--) {
		/* A place that is free now goes to the line first. */
		if (places_free(p) == 0 ||
		    (!missing && !ilist_empty(&p->places))) {
			places_want(p, app, n, missing);
			return;
		}
		launch(p, app);
	}
	places_drop(p, app);
}

void
sizing_take_place(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t n, wanted = a->places_wanted;

	places_drop(p, app);
	if (bounds_paused(p, a))
		return;
	n = missing_of(p, a);
	if (n > 0) {
		start(p, app, n, true);
		return;
	}
	n = bounds_allowed(a, least_of(wanted, need_of(a)));
	if (n == 0)
		return;
	launch(p, app);
	if (n > 1)
		places_want(p, app, n - 1, false);
}

/* --- for no connection that waits yet ------------------------------------ */

/* Starts a process if there is a place for it now; false: there is none. */
static bool
add_spare(struct pool *p, uint32_t app)
{
	if (bounds_allowed(&p->apps[app], 1) == 0)
		return false;
	shrink_slack(p);
	if (places_free(p) == 0 || !ilist_empty(&p->places))
		return false;
	launch(p, app);
	return true;
}

/* Starts the processes that the app begins with, as far as places go. */
static void
begin(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	while (bounds_kept(p, a) && bounds_lasting(a) < a->first &&
	    bounds_lasting(a) < a->options.min_idle && add_spare(p, app))
		;
	/* Processes without a place now come one by one, as others do. */
	a->first = 0;
}

/* Starts what is wanted now, or gets in line for it. */
static void
grow(struct pool *p, uint32_t app)
{
	uint32_t missing = missing_of(p, &p->apps[app]);
	tstamp due;

	if (missing > 0) {
		start(p, app, missing, true);
		return;
	}
	due = growth_due(p, app);
	if (due <= p->now)
		start(p, app, step(p, app), false);
	else if (due == TSTAMP_NEVER)
		places_drop(p, app);
}

void
sizing_grow(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t demand = app_demand(a);

	if (demand == 0) {
		a->pace = 1;
		a->grown = 0;
	}
	if (bounds_paused(p, a)) {
		places_drop(p, app);
	} else {
		grow(p, app);
		begin(p, app);
	}
	if (a->places_wanted > 0 || a->first > 0 ||
	    (demand > 0 && bounds_under_own(a) > 0))
		app_touch(a, MARK_GROWTH);
}

tstamp
sizing_grow_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp at;

	if (a->places_wanted > 0 || app_is_ending(a) || p->phase == POOL_ENDING)
		return TSTAMP_NEVER;
	at = missing_of(p, a) > 0 || a->first > 0 ? 0 : growth_due(p, app);
	if (at == TSTAMP_NEVER)
		return at;
	if (at < bounds_gate(a))
		at = bounds_gate(a);
	/*
	 * A start that is due and was not made just now is held up by a
	 * ceiling or by a start under way: not time ends that, but an event.
	 */
	return at > p->now ? at : TSTAMP_NEVER;
}

/* Whether there are fewer idle or starting processes than min_idle. */
static bool
is_short(const struct pool *p, const struct app *a)
{
	uint32_t spare =
	    a->in_state[PROCESS_IDLE] + a->in_state[PROCESS_STARTING];

	return spare < a->options.min_idle &&
	    app_processes(a) < a->options.max_processes && bounds_kept(p, a) &&
	    !a->renewing && !app_has_failed(a);
}

static void
set_spare(struct pool *p, struct app *a, enum app_spare state)
{
	p->denied += (state == SPARE_DENIED ? 1u : 0u) -
	    (a->spare == SPARE_DENIED ? 1u : 0u);
	if (a->spare == SPARE_ENOUGH)
		a->short_since = p->now;
	a->spare = (uint8_t)state;
}

void
sizing_spare(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->options.min_idle == 0 && a->spare == SPARE_ENOUGH)
		return;
	set_spare(p, a, is_short(p, a) ? SPARE_SHORT : SPARE_ENOUGH);
	while (is_short(p, a) && !bounds_paused(p, a) &&
	    tstamp_add(a->short_since, a->options.start_delay) <= p->now) {
		if (!add_spare(p, app)) {
			set_spare(p, a, SPARE_DENIED);
			return;
		}
		a->short_since = p->now;
	}
}

tstamp
sizing_spare_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp due;

	if (a->spare != SPARE_SHORT || app_is_ending(a) ||
	    p->phase == POOL_ENDING)
		return TSTAMP_NEVER;
	due = tstamp_add(a->short_since, a->options.start_delay);
	return due < bounds_gate(a) ? bounds_gate(a) : due;
}

/* --- for the load --------------------------------------------------------- */

tstamp
sizing_estimate_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (app_has_jobs(a) || app_is_ending(a) ||
	    (load_at_rest(&a->load) && !shrink_needless(p, a)))
		return TSTAMP_NEVER;
	return tstamp_add(a->load.updated, a->options.update_interval);
}

/* Whether the load estimate calls for one more process. */
static bool
is_overloaded(const struct pool *p, const struct app *a)
{
	return a->options.target_wait == 0 && bounds_kept(p, a) &&
	    !a->renewing && !bounds_paused(p, a) &&
	    a->in_state[PROCESS_STARTING] == 0 && app_ready(a) > 0 &&
	    !load_at_rest(&a->load) &&
	    app_load(a, p->now) >= a->options.grow_threshold;
}

void
sizing_estimate(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	const struct app_options *o = &a->options;

	if (p->now - a->load.updated < o->update_interval ||
	    sizing_estimate_deadline(p, app) == TSTAMP_NEVER)
		return;
	load_update(&a->load, o->gain, o->update_interval, p->now);
	if (!is_overloaded(p, a) || !add_spare(p, app))
		shrink_mark(p, app);
}

/* --- for a promised wait -------------------------------------------------- */

tstamp
sizing_promise_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp next = tstamp_add(a->promise.updated, PROMISE_TICK), due;

	if (!app_has_need(a) || !bounds_kept(p, a))
		return TSTAMP_NEVER;
	if (a->busy > 0 || a->promise.sure)
		return next;
	/*
	 * At rest an estimate is of use only where it may stop a process: not
	 * the last one, which any need keeps.
	 */
	if (a->options.target_wait == 0 || a->promise.need == 0 ||
	    bounds_lasting(a) <= 1 || !shrink_allowed(p, a))
		return TSTAMP_NEVER;
	due = promise_stop_due(&a->promise, app_stop_delay(a));
	return due > next ? due : next;
}

static void
estimate_need(struct pool *p, struct app *a)
{
	const struct app_options *o = &a->options;
	struct promise_terms terms = {
		.target = app_target(a),
		.each = o->concurrency,
		.most = o->max_processes,
		.present = app_present(a),
		.size = app_processes(a),
		.overhead = o->exit_ends ? a->start_time : 0,
	};

	promise_update(&a->promise, &terms, p->now);
}

void
sizing_promise(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	bool due = sizing_promise_deadline(p, app) <= p->now;

	if (due) {
		estimate_need(p, a);
		a->need_denied = false;
	}
	if (a->options.target_wait == 0)
		return;
	if (due)
		shrink_promised(p, app);
	while (bounds_lasting(a) < bounds_wanted(p, a) && !a->need_denied)
		a->need_denied = bounds_paused(p, a) || !add_spare(p, app);
	/* The next estimate finds the place free. */
	if (due && a->need_denied && !bounds_paused(p, a) &&
	    bounds_allowed(a, 1) > 0)
		places_make(p, app);
}

void
sizing_succeed(struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (bounds_kept(p, a) && !a->renewing && !bounds_paused(p, a) &&
	    bounds_allowed(a, 1) > 0 && places_free(p) > 0)
		lifecycle_start(p, app);
}

void
sizing_release(struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	p->marked -= a->marked;
	p->surge -= a->surge;
	p->denied -= a->spare == SPARE_DENIED ? 1 : 0;
}
