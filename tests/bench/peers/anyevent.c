/*
 * AnyEvent::Fork::Pool, as its source has it.  max is max_processes, idle is
 * min_processes (its manual calls it the minimum size); load is 2 (with
 * concurrency: one more than it), start 0.1 s, stop 10 s, its defaults.
 *
 * It hands out jobs itself: to the worker with the fewest, be it starting,
 * `load` at most; the others wait in common.  A job stays where it is, though
 * another worker falls idle.
 *
 * While jobs wait, or fewer than `idle` workers are idle, one more starts
 * every `start` seconds, and no stop is due.  An empty pool starts one at
 * once.
 *
 * The timer of stops begins when a worker falls idle and no more than `idle`
 * are (the comment beside it has it the other way round), and ends when none
 * is; every `stop` seconds one idle worker is stopped, until no more than
 * `idle` are left.  So with idle = 0 it never stops any, and with idle = 1 it
 * can stop the last.
 */

#include "peers.h"

#define START TSPAN_MSECONDS(100)
#define STOP TSPAN_SECONDS(10)

/* The deadlines of an app. */
static uint32_t
start_timer(uint32_t app)
{
	return 2 * app;
}

static uint32_t
stop_timer(uint32_t app)
{
	return 2 * app + 1;
}

/* A timer that runs already goes on. */
static void
wind(struct policy *p, uint32_t timer, tstamp at)
{
	if (deadlines_get(&p->deadlines, timer) == TSTAMP_NEVER)
		deadlines_set(&p->deadlines, timer, at);
}

static void
unwind(struct policy *p, uint32_t timer)
{
	deadlines_set(&p->deadlines, timer, TSTAMP_NEVER);
}

static void
want_start(struct policy *p, uint32_t app, tstamp now)
{
	const struct policy_app *a = &p->apps[app];

	if (policy_active(a) >= a->conf->pool.max_processes)
		return;
	unwind(p, stop_timer(app));
	wind(p, start_timer(app), now + START);
}

/* Workers without a job, starting ones included. */
static uint32_t
idle(const struct policy_app *a)
{
	return a->open[0].count;
}

static uint32_t
begin(struct policy *p, uint32_t app)
{
	return p->apps[app].conf->pool.min_processes;
}

/* --- jobs --------------------------------------------------------------- */

static void
accepted(struct policy *p, uint32_t worker, uint32_t request, tstamp now)
{
	uint32_t app = p->workers[worker].app;
	const struct policy_app *a = &p->apps[app];

	(void)request;
	/* A worker that was busy before leaves the idle ones alone. */
	if (p->workers[worker].serving > 1)
		return;
	if (idle(a) == 0)
		unwind(p, stop_timer(app));
	if (idle(a) < a->conf->pool.min_processes)
		want_start(p, app, now);
}

/* Assigns the jobs that wait; for the rest more workers are wanted. */
static void
schedule(struct policy *p, uint32_t app, tstamp now)
{
	struct policy_app *a = &p->apps[app];

	policy_accept(p, a, now);
	if (!ilist_empty(&a->queue) && policy_active(a) > 0)
		want_start(p, app, now);
}

static void
arrived(
    struct policy *p, uint32_t app, uint32_t request, bool waits, tstamp now)
{
	(void)request;
	if (!waits)
		return;
	if (policy_active(&p->apps[app]) == 0)
		policy_start(p, app, 1, now);
	schedule(p, app, now);
}

static void
finished(struct policy *p, uint32_t worker, tspan served, tstamp now)
{
	uint32_t app = p->workers[worker].app;
	const struct policy_app *a = &p->apps[app];

	(void)served;
	if (p->workers[worker].serving == 0 &&
	    idle(a) <= a->conf->pool.min_processes)
		wind(p, stop_timer(app), now + STOP);
	schedule(p, app, now);
}

/* --- time --------------------------------------------------------------- */

static void
start_due(struct policy *p, uint32_t app, tstamp now)
{
	const struct policy_app *a = &p->apps[app];

	if ((idle(a) >= a->conf->pool.min_processes &&
		ilist_empty(&a->queue)) ||
	    policy_active(a) >= a->conf->pool.max_processes) {
		unwind(p, start_timer(app));
		return;
	}
	deadlines_set(&p->deadlines, start_timer(app), now + START);
	policy_start(p, app, 1, now);
	schedule(p, app, now);
}

static void
stop_due(struct policy *p, uint32_t app, tstamp now)
{
	const struct policy_app *a = &p->apps[app];

	if (idle(a) > 0)
		policy_stop(p, a->open[0].first);
	deadlines_set(&p->deadlines, stop_timer(app),
	    idle(a) <= a->conf->pool.min_processes ? TSTAMP_NEVER : now + STOP);
}

static void
due(struct policy *p, uint32_t timer, tstamp now)
{
	if (timer == start_timer(timer / 2))
		start_due(p, timer / 2, now);
	else
		stop_due(p, timer / 2, now);
}

const struct policy_ops policy_anyevent = {
	.name = "AnyEvent::Fork::Pool",
	.assigns = true,
	.begin = begin,
	.arrived = arrived,
	.accepted = accepted,
	.finished = finished,
	.due = due,
};
