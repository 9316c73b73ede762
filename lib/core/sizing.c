/*
 * Fewer processes: those idle too long, those that the load estimate finds to
 * be more than are needed, and those over a ceiling.  And more: to keep the
 * minimum and the spare ones, for connections that wait, for a load that is
 * high, and for a wait that is promised.
 *
 * Sources: AnyEvent::Fork::Pool (`start`: how long all must be busy; `stop`:
 * how long between two stops; `idle`), Passenger's ApplicationPool text (a
 * minimum that is kept, spawning kept to the least), Apache's prefork (starts
 * that double while the need remains), the FastCGI process manager (load,
 * thresholds, kill interval, slack).
 */

#include "core/mechanism.h"
#include "core/pool.h"

/* --- fewer ---------------------------------------------------------------- */

bool
sizing_is_over(const struct pool *p, const struct app *a)
{
	/*
	 * A minimum was lowered under what there is, in an app of jobs: no load
	 * or idleness says that it has too many.
	 */
	if (app_has_jobs(a) && a->in_state[PROCESS_STARTING] == 0 &&
	    bounds_kept(p, a) && !app_is_doubtful(a) &&
	    bounds_spare(p, a) > 0 && bounds_lasting(a) > a->options.min_idle)
		return true;
	return app_processes(a) > a->options.max_processes + a->rollout.surge ||
	    (p->count > p->max_processes + p->surge &&
		app_processes(a) > bounds_least(p, a));
}

/*
 * Whether all processes are wanted, or about to be.  A waiter for a lock would
 * want back one that is stopped now; old processes idle while new ones, which
 * come first, may fail; and all leave when the backlog is empty, not before.
 */
static bool
sizing_needs_all(const struct app *a)
{
	return a->in_state[PROCESS_STARTING] > 0 || a->phase != APP_RUNNING ||
	    app_is_doubtful(a) || app_waiting(a) > 0 || app_demand(a) > 0 ||
	    (a->intake.accepting != ACCEPTING_OPEN && !a->renewing);
}

/* Whether one process fewer would still be enough. */
static bool
sizing_may_shrink(const struct pool *p, const struct app *a)
{
	return !sizing_needs_all(a) &&
	    bounds_lasting(a) > bounds_wanted(p, a) &&
	    (a->options.min_idle == 0 ||
		a->in_state[PROCESS_IDLE] > a->options.min_idle);
}

/* When the pace of stops allows one, if it is due at this time. */
static tstamp
sizing_stop_at(const struct app *a, tstamp due)
{
	tstamp paced = tstamp_add(a->promise.stopped, a->shrinking.stop_delay);

	return a->promise.stopped != 0 && due < paced ? paced : due;
}

/* The process that is needed least; ILIST_NONE: all are needed. */
static uint32_t
sizing_victim(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (!sizing_may_shrink(p, a))
		return ILIST_NONE;
	for (uint32_t i = 0; i < a->options.concurrency; i++) {
		const struct ilist *l = room_list(p, app, i);

		if (!ilist_empty(l))
			return l->last;
	}
	return ILIST_NONE;
}

/* --- marks, by load ------------------------------------------------------ */

static void
sizing_unmark(struct pool *p, struct app *a)
{
	a->touched |= MARK_COUNT;
	p->marked -= a->shrinking.marked;
	a->shrinking.marked = 0;
	a->shrinking.victims = 0;
}

/* Whether the load would still be low with one more marked. */
static bool
sizing_is_needless(const struct pool *p, const struct app *a)
{
	uint32_t n = app_ready(a), marked = a->shrinking.marked;

	if (a->options.target_wait > 0 || !sizing_may_shrink(p, a) ||
	    n <= marked || bounds_lasting(a) - marked <= bounds_least(p, a) ||
	    a->in_state[PROCESS_IDLE] < marked + a->options.min_idle)
		return false;
	n -= marked;
	if (n == 1)
		return 100 * a->load.work < a->options.load.single_threshold;
	return 100 * a->load.work < a->options.load.multi_threshold * (n - 1);
}

/* Stops one for a mark; if none can be stopped, drops all marks. */
static void
sizing_stop_one_marked(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t victim = sizing_victim(p, app);

	if (victim == ILIST_NONE) {
		sizing_unmark(p, a);
		return;
	}
	a->shrinking.marked--;
	p->marked--;
	if (a->shrinking.victims > 0)
		a->shrinking.victims--;
	promise_stopped(&a->promise, p->now);
	process_stop(p, victim, END_LOAD);
}

/* A start is wanted: stops what is marked, if all places are nearly taken. */
static void
sizing_use_slack(struct pool *p)
{
	if (p->count + p->process_slack <= p->max_processes)
		return;
	for (uint32_t app = 0; app < p->napps && p->marked > 0; app++) {
		if (p->apps[app].shrinking.marked == 0)
			continue;
		while (p->apps[app].shrinking.marked > 0)
			sizing_stop_one_marked(p, app);
		settle_by(p, app, p->now);
	}
}

tstamp
sizing_shrink(struct pool *p, uint32_t app, bool act)
{
	struct app *a = &p->apps[app];
	struct app_shrinking *s = &a->shrinking;
	struct ilist *idle = room_list(p, app, 0);
	tstamp next = tstamp_add(p->now, a->options.load.kill_interval), at,
	       used;

	while (act && idle->count > 0 && sizing_is_over(p, a))
		process_stop(p, idle->last, END_RESIZED);
	/* The process that is idle for longest, once that is too long. */
	for (;;) {
		at = TSTAMP_NEVER;
		used = idle->count > 0 ? p->processes[idle->last].used : 0;
		/* One that accepts by itself may have a quiet connection. */
		if (s->idle_time != 0 && idle->count > 0 &&
		    (!a->options.listens ||
			s->looked >= tstamp_add(used, s->idle_time / 2)))
			at = sizing_stop_at(a, tstamp_add(used, s->idle_time));
		if ((act && at > p->now) || !sizing_may_shrink(p, a))
			at = TSTAMP_NEVER;
		if (!act || at == TSTAMP_NEVER)
			break;
		promise_stopped(&a->promise, p->now);
		process_stop(p, idle->last, END_IDLE);
	}
	if (!act) {
		if (s->victims > 0)
			return tstamp_min(at, sizing_stop_at(a, 0));
		return s->marked > 0 ? tstamp_min(at, s->kill_at) : at;
	}
	if (s->marked > 0 &&
	    (sizing_needs_all(a) || a->options.target_wait > 0))
		sizing_unmark(p, a);
	if (s->marked == 0)
		return TSTAMP_NEVER;
	/* kill_interval may have become shorter. */
	s->kill_at = tstamp_min(s->kill_at, next);
	if (s->kill_at <= p->now) {
		s->victims = s->marked;
		s->kill_at =
		    tstamp_add(s->kill_at, a->options.load.kill_interval);
		if (s->kill_at <= p->now)
			s->kill_at = next;
	}
	while (s->victims > 0 && sizing_stop_at(a, 0) <= p->now)
		sizing_stop_one_marked(p, app);
	return TSTAMP_NEVER;
}

/* --- for the minimum and for waiters ------------------------------------- */

/* With target_wait: one connection in a hundred may wait so long. */
static tspan
sizing_tolerance(const struct app *a)
{
	return APP_TOLERANCE *
	    tstamp_min(a->options.target_wait, a->options.start_delay);
}

tspan
sizing_patience(const struct app *a)
{
	tspan most = a->options.start_delay;

	if (a->start_time == 0)
		return most;
	if (a->options.target_wait == 0 ||
	    app_demand(a) >= (double)app_processes(a) * a->options.concurrency)
		return tstamp_min(a->start_time, most);
	return sizing_tolerance(a);
}

/* Starts a process; the caller knows that the ceilings allow it. */
static void
sizing_launch(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t n, surge = a->rollout.surge;

	process_start(p, app);
	n = app_processes(a);
	promise_started(&a->promise, n > surge ? n - surge : n,
	    a->shrinking.stop_delay, p->now);
}

/* Processes that are missing to the minimum, or are about to leave it. */
static uint32_t
sizing_missing(const struct pool *p, const struct app *a)
{
	uint32_t lasting = bounds_lasting(a), min = bounds_least(p, a);

	if (!bounds_kept(p, a))
		return 0;
	if (lasting < min)
		return min - lasting;
	/* A refused connection does not wait, and yet asks for a process. */
	return a->failure.refused > 0 && lasting == 0 ? 1 : 0;
}

/* Processes that the waiters need beyond those that are starting. */
static uint32_t
sizing_need(const struct app *a)
{
	uint32_t starting = a->in_state[PROCESS_STARTING];
	uint32_t each = a->renewing ? 1 : a->options.concurrency;
	uint32_t need = (app_demand(a) + each - 1) / each;

	return need > starting ? need - starting : 0;
}

/* When the pace of growth allows the next step. */
static tstamp
sizing_paced(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp from = pool_waiting_since(p, app), at, next;

	if (a->renewing)
		return 0;
	if (!ilist_empty(&a->prefetched))
		from = tstamp_min(from, p->conns[a->prefetched.first].arrived);
	at = tstamp_add(MAX(from, a->growing.stepped), sizing_patience(a));
	if (a->options.growth != GROWTH_LINEAR)
		return at;
	/* Starts may take less than start_delay, yet none is sooner. */
	next = tstamp_add(a->promise.started, a->options.start_delay);
	return at > next ? at : next;
}

/* How many starts the waiters call for now; those starting count for it. */
static uint32_t
sizing_next_step(struct pool *p, uint32_t app, bool late)
{
	struct app *a = &p->apps[app];
	uint32_t starting = a->in_state[PROCESS_STARTING];
	uint32_t pace = a->growing.pace, need = sizing_need(a);

	if (sizing_paced(p, app) > p->now && !late)
		return 1; /* the first process, which no pace holds up */
	a->growing.stepped = p->now;
	if (a->options.start_delay == 0 || a->options.growth == GROWTH_ALL ||
	    a->renewing || late)
		return need;
	if (a->options.growth == GROWTH_LINEAR)
		return MIN(need, 1);
	a->growing.pace = MIN(2 * pace, 1u << 16);
	return MIN(need, pace > starting ? pace - starting : 0);
}

/* Starts so many, as the ceilings allow, and gets in line for the others. */
static void
sizing_start(struct pool *p, uint32_t app, uint32_t n, bool missing)
{
	n = bounds_allowed(&p->apps[app], n);
	if (n > 0)
		sizing_use_slack(p);
	for (; n > 0; n--) {
		/* A place that is free now goes to the line first. */
		if (places_free(p, 0) == 0 ||
		    (!missing && !ilist_empty(&p->places))) {
			places_want(p, app, n, missing);
			return;
		}
		sizing_launch(p, app);
	}
	places_want(p, app, 0, false);
}

/* Starts a process if there is a place for it now; false: there is none. */
static bool
sizing_add(struct pool *p, uint32_t app)
{
	if (bounds_allowed(&p->apps[app], 1) == 0)
		return false;
	sizing_use_slack(p);
	if (places_free(p, 0) == 0 || !ilist_empty(&p->places))
		return false;
	sizing_launch(p, app);
	return true;
}

void
sizing_take_place(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t n, wanted = a->places_wanted;

	places_want(p, app, 0, false);
	if (bounds_paused(p, a))
		return;
	n = sizing_missing(p, a);
	if (n > 0) {
		sizing_start(p, app, n, true);
		return;
	}
	n = bounds_allowed(a, MIN(wanted, sizing_need(a)));
	if (n == 0)
		return;
	sizing_launch(p, app);
	if (n > 1)
		places_want(p, app, n - 1, false);
}

tstamp
sizing_grow(struct pool *p, uint32_t app, bool act)
{
	struct app *a = &p->apps[app];
	struct app_growing *g = &a->growing;
	uint32_t demand = app_demand(a), missing = sizing_missing(p, a);
	/* With target_wait it would take too long to serve all that wait. */
	bool late = demand > 0 && a->options.target_wait > 0 &&
	    a->options.growth != GROWTH_LINEAR &&
	    demand * promise_session(&a->promise) >
		tspan_to_seconds(sizing_tolerance(a)) *
		    ((double)app_processes(a) * a->options.concurrency);
	tstamp due = TSTAMP_NEVER, gate;

	if (missing > 0)
		due = 0;
	else if (demand > 0 && bounds_under_own(a) > 0)
		due = bounds_lasting(a) == 0 || late ? 0 : sizing_paced(p, app);
	if (!act) {
		if (a->places_wanted > 0 || app_is_ending(a) ||
		    p->phase == POOL_ENDING)
			return TSTAMP_NEVER;
		if (g->first > 0)
			due = 0;
		if (due == TSTAMP_NEVER)
			return due;
		gate = pool_start_gate(a);
		due = MAX(due, gate);
		/*
		 * A start that is due and was not made just now is held up by a
		 * ceiling or by a start under way: an event ends that.
		 */
		return due > p->now ? due : TSTAMP_NEVER;
	}
	if (demand == 0) {
		g->pace = 1;
		g->stepped = 0;
	}
	if (bounds_paused(p, a)) {
		places_want(p, app, 0, false);
	} else {
		if (missing > 0)
			sizing_start(p, app, missing, true);
		else if (due <= p->now)
			sizing_start(
			    p, app, sizing_next_step(p, app, late), false);
		else if (due == TSTAMP_NEVER)
			places_want(p, app, 0, false);
		while (bounds_kept(p, a) && bounds_lasting(a) < g->first &&
		    bounds_lasting(a) < a->options.min_idle &&
		    sizing_add(p, app))
			;
		/* Other starts without a place come one by one later. */
		g->first = 0;
	}
	if (a->places_wanted > 0 || g->first > 0 ||
	    (demand > 0 && bounds_under_own(a) > 0))
		a->touched |= MARK_GROWTH;
	return TSTAMP_NEVER;
}

tstamp
sizing_spare(struct pool *p, uint32_t app, bool act)
{
	struct app *a = &p->apps[app];
	struct app_growing *g = &a->growing;
	tspan delay = a->options.start_delay;
	enum app_spare was = g->spare;
	uint32_t lacks = 0, min = a->options.min_idle;
	uint32_t spare =
	    a->in_state[PROCESS_IDLE] + a->in_state[PROCESS_STARTING];
	tstamp due, gate;

	if (spare < min && bounds_kept(p, a) && !a->renewing && !a->failed)
		lacks = MIN(min - spare, bounds_under_own(a));
	if (act && (min > 0 || was != SPARE_ENOUGH)) {
		g->spare = lacks > 0 ? SPARE_SHORT : SPARE_ENOUGH;
		if (was == SPARE_ENOUGH)
			g->short_since = p->now;
	}
	for (; act && lacks > 0 && !bounds_paused(p, a) &&
	     tstamp_add(g->short_since, delay) <= p->now;
	     lacks--) {
		if (!sizing_add(p, app)) {
			g->spare = SPARE_DENIED;
			break;
		}
		g->short_since = p->now;
	}
	p->denied += (g->spare == SPARE_DENIED ? 1u : 0u) -
	    (was == SPARE_DENIED ? 1u : 0u);
	if (g->spare != SPARE_SHORT || app_is_ending(a) ||
	    p->phase == POOL_ENDING)
		return TSTAMP_NEVER;
	due = tstamp_add(g->short_since, delay);
	gate = pool_start_gate(a);
	return due < gate ? gate : due;
}

tstamp
sizing_load(struct pool *p, uint32_t app, bool act)
{
	struct app *a = &p->apps[app];
	struct app_shrinking *s = &a->shrinking;
	const struct app_options *o = &a->options;
	tstamp due = TSTAMP_NEVER;

	if (!app_has_jobs(a) && !app_is_ending(a) &&
	    (!load_at_rest(&a->load) || sizing_is_needless(p, a)))
		due = tstamp_add(a->load.updated, o->load.update_interval);
	if (!act || due > p->now)
		return due;
	load_update(&a->load, o->load.gain, o->load.update_interval, p->now);
	if (o->target_wait == 0 && bounds_kept(p, a) && !a->renewing &&
	    !bounds_paused(p, a) && a->in_state[PROCESS_STARTING] == 0 &&
	    app_ready(a) > 0 && !load_at_rest(&a->load) &&
	    app_load(a, p->now) >= o->load.grow_threshold && sizing_add(p, app))
		return TSTAMP_NEVER;
	if (!sizing_is_needless(p, a))
		return TSTAMP_NEVER;
	if (s->marked == 0)
		s->kill_at = tstamp_add(p->now,
		    o->load.kill_interval -
			(p->now - s->origin) % o->load.kill_interval);
	a->touched |= MARK_COUNT;
	s->marked++;
	p->marked++;
	return TSTAMP_NEVER;
}

/* --- for a promised wait -------------------------------------------------- */

static tstamp
sizing_promise_due(const struct pool *p, const struct app *a)
{
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
	    bounds_lasting(a) <= 1 || !sizing_may_shrink(p, a))
		return TSTAMP_NEVER;
	due = promise_stop_due(&a->promise, a->shrinking.stop_delay);
	return due > next ? due : next;
}

tstamp
sizing_promise(struct pool *p, uint32_t app, bool act)
{
	struct app *a = &p->apps[app];
	struct promise *m = &a->promise;
	const struct app_options *o = &a->options;
	tstamp at = sizing_promise_due(p, a);
	bool due = at <= p->now;
	uint32_t victim, n;

	if (!act)
		return at;
	if (due) {
		promise_update(m,
		    &(struct promise_terms){ .target = app_target(a),
			.each = o->concurrency,
			.most = o->max_processes,
			.present = app_present(a),
			.size = app_processes(a),
			.overhead = o->exit_ends ? a->start_time : 0 },
		    p->now);
		a->growing.denied = false;
	}
	if (o->target_wait == 0)
		return at;
	victim = due ? sizing_victim(p, app) : ILIST_NONE;
	n = o->exit_ends ? app_processes(a) : bounds_lasting(a);
	if (victim != ILIST_NONE && m->need > 0 &&
	    n > promise_most(m, p->now).size &&
	    promise_stop_due(m, a->shrinking.stop_delay) <= p->now) {
		promise_stopped(m, p->now);
		process_stop(p, victim, END_LOAD);
	}
	while (bounds_lasting(a) < bounds_wanted(p, a) && !a->growing.denied)
		a->growing.denied = bounds_paused(p, a) || !sizing_add(p, app);
	/* The next estimate finds the place free. */
	if (due && a->growing.denied && !bounds_paused(p, a) &&
	    bounds_allowed(a, 1) > 0 && places_free(p, p->ending) == 0)
		(void)places_evict(p, app);
	return TSTAMP_NEVER;
}
