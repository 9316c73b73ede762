/*
 * Fewer processes: those idle too long, those that the load estimate
 * finds to be more than are needed, and those over a ceiling.
 *
 * Sources: AnyEvent::Fork::Pool (`stop`: how long between two stops), the
 * FastCGI process manager (thresholds, kill interval, slack).
 */

#include "core/policy.h"

/*
 * Whether a minimum was lowered under what there is, in an app of jobs: no
 * load or idleness says that it has too many.
 */
static bool
is_surplus(const struct pool *p, const struct app *a)
{
	return app_has_jobs(a) && a->in_state[PROCESS_STARTING] == 0 &&
	    bounds_kept(p, a) && !app_is_doubtful(a) &&
	    bounds_spare(p, a) > 0 && bounds_lasting(a) > a->options.min_idle;
}

bool
shrink_over(const struct pool *p, const struct app *a)
{
	return is_surplus(p, a) ||
	    app_processes(a) > a->options.max_processes + a->surge ||
	    (p->count > p->max_processes + p->surge &&
		app_processes(a) > bounds_least(p, a));
}

/*
 * Whether all processes are wanted, or about to be; or will all leave when the
 * backlog is empty, and not before.  A waiter for a lock has no use for one
 * process more, but would want back one that is stopped now; and an old process
 * idles while the new ones, which come first, may fail.
 */
static bool
is_barred(const struct app *a)
{
	return a->in_state[PROCESS_STARTING] > 0 || a->phase != APP_RUNNING ||
	    app_is_doubtful(a) || app_waiting(a) > 0 || app_demand(a) > 0 ||
	    (a->accepting != ACCEPTING_OPEN && !a->renewing);
}

bool
shrink_allowed(const struct pool *p, const struct app *a)
{
	return !is_barred(a) && bounds_lasting(a) > bounds_wanted(p, a) &&
	    (a->options.min_idle == 0 ||
		a->in_state[PROCESS_IDLE] > a->options.min_idle);
}

/* When the pace of stops allows one, if it is due at this time. */
static tstamp
paced(const struct app *a, tstamp due)
{
	tstamp paced = tstamp_add(a->shrunk, app_stop_delay(a));

	return a->shrunk != 0 && due < paced ? paced : due;
}

static void
stop(struct pool *p, uint32_t process, enum process_end why)
{
	struct app *a = &p->apps[p->processes[process].app];

	a->shrunk = p->now;
	promise_stopped(&a->promise, p->now);
	(void)lifecycle_stop(p, process, why);
}

/* --- idle --------------------------------------------------------------- */

/* When the longest idle process has idled for long; TSTAMP_NEVER: none has. */
static tstamp
idle_due(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	uint32_t last = room_list(p, app, 0)->last;

	tspan most = app_idle_time(a);

	if (most == 0 || last == ILIST_NONE)
		return TSTAMP_NEVER;
	return paced(a, tstamp_add(p->processes[last].used, most));
}

/* --- load --------------------------------------------------------------- */

static void
unmark(struct pool *p, struct app *a)
{
	app_touch(a, MARK_COUNT);
	p->marked -= a->marked;
	a->marked = 0;
	a->victims = 0;
}

bool
shrink_needless(const struct pool *p, const struct app *a)
{
	uint32_t n = app_ready(a);

	if (a->options.target_wait > 0 || !shrink_allowed(p, a) ||
	    n <= a->marked ||
	    bounds_lasting(a) - a->marked <= bounds_least(p, a) ||
	    a->in_state[PROCESS_IDLE] < a->marked + a->options.min_idle)
		return false;
	n -= a->marked;
	if (n == 1)
		return 100 * a->load.work < a->options.single_threshold;
	return 100 * a->load.work < a->options.multi_threshold * (n - 1);
}

void
shrink_mark(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	tspan interval = a->options.kill_interval;

	if (!shrink_needless(p, a))
		return;
	if (a->marked == 0)
		a->kill_at = tstamp_add(
		    p->now, interval - (p->now - a->added) % interval);
	app_touch(a, MARK_COUNT);
	a->marked++;
	p->marked++;
}

/* The process that is needed least; ILIST_NONE: all are needed. */
static uint32_t
victim_of(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	if (!shrink_allowed(p, a))
		return ILIST_NONE;
	for (uint32_t i = 0; i < a->options.concurrency; i++) {
		struct ilist *l = room_list(p, app, i);

		if (!ilist_empty(l))
			return l->last;
	}
	return ILIST_NONE;
}

void
shrink_retime(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->marked > 0)
		a->kill_at = tstamp_min(
		    a->kill_at, tstamp_add(p->now, a->options.kill_interval));
}

/* Stops one for a mark; if none can be stopped, drops all marks. */
static void
kill_marked(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t victim = victim_of(p, app);

	if (victim == ILIST_NONE) {
		unmark(p, a);
		return;
	}
	a->marked--;
	p->marked--;
	if (a->victims > 0)
		a->victims--;
	stop(p, victim, END_LOAD);
}

void
shrink_slack(struct pool *p)
{
	if (p->count + p->process_slack <= p->max_processes)
		return;
	for (uint32_t app = 0; app < p->napps && p->marked > 0; app++) {
		if (p->apps[app].marked == 0)
			continue;
		while (p->apps[app].marked > 0)
			kill_marked(p, app);
		tables_revisit(p, app);
	}
}

/* When the next stop for a mark is due. */
static tstamp
kill_due(const struct app *a)
{
	if (a->victims > 0)
		return paced(a, 0);
	return a->marked > 0 ? a->kill_at : TSTAMP_NEVER;
}

static void
stop_marked(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->marked == 0)
		return;
	if (is_barred(a) || a->options.target_wait > 0)
		unmark(p, a);
	if (a->marked > 0 && a->kill_at <= p->now) {
		a->victims = a->marked;
		a->kill_at = tstamp_add(a->kill_at, a->options.kill_interval);
		if (a->kill_at <= p->now)
			a->kill_at =
			    tstamp_add(p->now, a->options.kill_interval);
	}
	while (a->victims > 0 && kill_due(a) <= p->now)
		kill_marked(p, app);
}

/* --- a promised wait ----------------------------------------------------- */

void
shrink_promised(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t victim = victim_of(p, app);
	uint32_t n =
	    a->options.exit_ends ? app_processes(a) : bounds_lasting(a);

	if (victim != ILIST_NONE && a->promise.need > 0 &&
	    n > promise_most(&a->promise, p->now) &&
	    promise_stop_due(&a->promise, app_stop_delay(a)) <= p->now)
		stop(p, victim, END_LOAD);
}

/* --- all ---------------------------------------------------------------- */

void
shrink_update(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	struct ilist *idle = room_list(p, app, 0);

	while (idle->count > 0 && shrink_over(p, a))
		(void)lifecycle_stop(p, idle->last, END_RESIZED);
	while (idle_due(p, app) <= p->now && shrink_allowed(p, a))
		stop(p, idle->last, END_IDLE);
	stop_marked(p, app);
}

tstamp
shrink_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp at = idle_due(p, app);

	if (at != TSTAMP_NEVER && !shrink_allowed(p, a))
		at = TSTAMP_NEVER;
	return tstamp_min(at, kill_due(a));
}
