/* Settling: what waits is handed out, what is due is started and stopped. */

#include <assert.h>

#include "core/mechanism.h"
#include "core/pool.h"

void
settle_at(struct pool *p, tstamp now)
{
	assert(now >= p->now);
	p->now = now;
}

/* --- an app that leaves --------------------------------------------------- */

/*
 * All processes of the app are told to stop: it has served what waits, or ends
 * at once, and refuses that.
 */
static void
settle_end_app(
    struct pool *p, uint32_t app, enum app_event event, enum process_end why)
{
	struct app *a = &p->apps[app];
	enum process_step step = event == APP_ENDED ? STEP_TERM : STEP_STOP;
	uint32_t n, next;

	if (event == APP_ENDED) {
		queue_refuse_all(p, app, CAUSE_STOPPING);
		a->intake = (struct app_intake){ .accepting = ACCEPTING_OPEN };
	}
	app_enter(a, event);
	for (n = room_next(p, app, ILIST_NONE); n != ILIST_NONE; n = next) {
		next = room_next(p, app, n);
		process_escalate(p, n, step, why);
		/* At the end of the pool a step made before is over sooner. */
		if (p->processes[n].state != PROCESS_GONE)
			process_arm(p, n);
	}
}

/*
 * Serves or refuses connections that have come back to an app that is held or
 * leaves.  One that leaves ends after its stop_timeout: sessions that hang, or
 * a lock that never comes, would keep it otherwise, and all that waits for
 * them; and a configuration that drops and adds it again would pile up others.
 */
static tstamp
settle_leaving(struct pool *p, uint32_t app, bool act)
{
	struct app *a = &p->apps[app];
	struct app_leaving *l = &a->leaving;
	tstamp at = TSTAMP_NEVER;

	if (a->phase >= APP_CLOSING && a->phase != APP_OVER && !l->ended)
		at = l->by;
	if (act && at <= p->now) {
		l->ended = true;
		settle_end_app(p, app, APP_ENDED, END_CLOSED);
	}
	if (!act || !app_is_ending(a) || app_waiting(a) == 0)
		return at;
	if (a->phase <= APP_STOPPING && !l->ended && p->phase != POOL_ENDING) {
		app_enter(a, APP_RETURNED);
		l->over = 0;
	} else {
		queue_refuse_all(p, app, CAUSE_STOPPING);
	}
	return at;
}

/*
 * Stops the processes of an app that closes or is held when nothing waits any
 * more, and tells when none is left.
 */
static void
settle_wind_down(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	enum process_end why = (enum process_end)a->leaving.why;

	if (a->phase == APP_DRAINED)
		why = p->phase == POOL_RUNNING ? END_CLOSED : END_SHUTDOWN;
	if ((a->phase == APP_DRAINED || a->phase == APP_HOLDING) &&
	    app_waiting(a) == 0)
		settle_end_app(p, app, APP_SERVED, why);
	if (a->phase == APP_HELD && !a->leaving.at_rest &&
	    app_living(a) == a->stuck) {
		a->leaving.at_rest = true;
		actions_news(p, app, NEWS_AT_REST, ILIST_NONE);
	}
	if (a->phase == APP_STUCK && a->stuck == 0)
		app_enter(a, APP_UNSTUCK);
	if (a->phase == APP_STOPPING && app_living(a) == a->stuck &&
	    a->leaving.over == 0) {
		a->leaving.over = ++p->stamps;
		actions_put(p, ACTION_OVER, app, 0);
	}
}

/* --- one app ------------------------------------------------------------- */

/* Resumes accepting for a paused app, once there is room again. */
static void
settle_accepting(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->options.listens)
		return;
	if (!tables_have_conn(p))
		p->conns_full = true;
	if (!pool_may_accept(p, app))
		return;
	a->intake.accepting = ACCEPTING_RESUMING;
	actions_put(p, ACTION_RESUME, app, 0);
}

/*
 * The app has failed after so many failed starts without a ready process: its
 * waiters are refused.  An app that is told to leave lacks nothing.
 */
static void
settle_health(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	bool failed = !app_is_ending(a) &&
	    a->failed_starts >= a->options.start_limit && app_ready(a) == 0;

	if (failed && !a->failed)
		actions_news(p, app, NEWS_FAILED, ILIST_NONE);
	else if (!failed && a->failed && app_ready(a) > 0)
		actions_news(p, app, NEWS_RECOVERED, ILIST_NONE);
	a->failed = failed;
	if (failed)
		queue_refuse_all(p, app, CAUSE_APP_FAILED);
}

/* Sums up time in which a connection waits beside an idle process. */
static void
settle_idle_waiting(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	struct app_idle_waiting *w = &a->idle_waiting;
	bool waits = a->in_state[PROCESS_IDLE] > 0 &&
	    (app_servable(a)->count > 0 ||
		(a->prefetched.count > 0 && queue_recall_due(p, a) <= p->now));

	if (waits && w->since == 0) {
		w->since = p->now;
	} else if (!waits && w->since != 0) {
		w->sum += p->now - w->since;
		w->since = 0;
	}
}

tstamp
settle_steps(struct pool *p, uint32_t app, unsigned marks, bool act)
{
	struct app *a = &p->apps[app];
	tstamp at = TSTAMP_NEVER;

	if (a->phase != APP_RUNNING)
		at = settle_leaving(p, app, act);
	if (MARKED(a, marks, MARK_WAITER | MARK_EMPTIED | MARK_ROOM) ||
	    a->prefetched.count > 0 || a->options.limited)
		at = tstamp_min(at, queue_step(p, app, marks, act));
	if (act && MARKED(a, marks, MARK_WAITER | MARK_COUNT | MARK_FAILURE))
		settle_health(p, app);
	if (MARKED(a, marks, MARK_FEWER) || a->shrinking.marked > 0 ||
	    p->count > p->max_processes + p->surge)
		at = tstamp_min(at, sizing_shrink(p, app, act));
	if (a->outdated > 0 || a->rollout.surge > 0)
		at = tstamp_min(at, rollout_step(p, app, act));
	if (MARKED(a, marks, MARK_MORE) || a->options.limited ||
	    a->prefetched.count > 0)
		at = tstamp_min(at, sizing_grow(p, app, act));
	if (a->options.min_idle > 0 || a->growing.spare != SPARE_ENOUGH)
		at = tstamp_min(at, sizing_spare(p, app, act));
	if (MARKED(a, marks, MARK_FEWER | MARK_LOAD))
		at = tstamp_min(at, sizing_load(p, app, act));
	if (app_has_need(a) &&
	    MARKED(a, marks, MARK_LOAD | (MARK_FEWER & ~MARK_ROOM)))
		at = tstamp_min(at, sizing_promise(p, app, act));
	if (!act)
		return at;
	if (p->places.count > 0)
		places_offer(p, app);
	if (!a->announced && !app_rolling(a) && a->phase == APP_RUNNING &&
	    app_is_ready(a)) {
		a->announced = true;
		actions_news(p, app, NEWS_READY, ILIST_NONE);
	}
	if (a->intake.accepting == ACCEPTING_PENDING)
		settle_accepting(p, app);
	if (MARKED(a, marks, MARK_WAITER | MARK_ROOM | MARK_PREFETCH) ||
	    a->prefetched.count > 0 || a->idle_waiting.since != 0)
		settle_idle_waiting(p, app);
	if (a->phase != APP_RUNNING)
		settle_wind_down(p, app);
	return TSTAMP_NEVER;
}

/*
 * A free number resumes one app.  If that app has no use for the number,
 * pool_accept_resumed() leads back here, to the next app.
 */
void
settle_numbers(struct pool *p)
{
	if (!p->conns_full || !tables_have_conn(p))
		return;
	for (uint32_t i = 0; i < p->napps; i++) {
		uint32_t app = (p->resume_next + i) % p->napps;
		const struct app *a = &p->apps[app];

		if (a->intake.accepting != ACCEPTING_PENDING ||
		    !pool_may_accept(p, app))
			continue;
		p->resume_next = app + 1;
		settle_accepting(p, app);
		return;
	}
	p->conns_full = false;
}

void
settle_app(struct pool *p, uint32_t app, unsigned marks)
{
	struct app *a = &p->apps[app];
	const char *state;

	/* A mark of a step calls for later steps now, for others next time. */
	marks |= a->touched;
	a->touched = 0;
	if (deadlines_get(&p->app_deadlines, app) <= p->now)
		marks = MARK_ALL;
	(void)settle_steps(p, app, marks, true);
	settle_by(p, app, settle_steps(p, app, marks, false));
	state = app_state_name(a);
	if (state != a->state.name)
		a->state = (struct app_state){ state, p->now };
	settle_places(p);
	settle_numbers(p);
}

void
settle_places(struct pool *p)
{
	/* As almost always: no app wants a place, and none has just left. */
	if (ilist_empty(&p->places) && p->denied == 0 &&
	    p->place_cache.app == ILIST_NONE)
		return;
	while (!ilist_empty(&p->places) && places_free(p, 0) > 0) {
		uint32_t app = p->places.first;

		sizing_take_place(p, app);
		settle_by(p, app, settle_steps(p, app, 0, false));
	}
	places_reconsider(p);
	/* Spare processes come last: no connection waits for them. */
	for (uint32_t app = 0;
	     app < p->napps && p->denied > 0 && places_free(p, 0) > 0; app++)
		if (p->apps[app].growing.spare == SPARE_DENIED) {
			(void)sizing_spare(p, app, true);
			settle_by(p, app, settle_steps(p, app, 0, false));
		}
}

/* --- actions and time ---------------------------------------------------- */

bool
pool_next_action(struct pool *p, struct action *out)
{
	while (actions_next(p, out)) {
		struct app *app = &p->apps[out->app];

		switch ((enum action_kind)out->kind) {
		case ACTION_SPAWN:
			p->processes[out->process].launched = true;
			return true;
		case ACTION_HAND:
			p->conns[out->conn].state = CONN_HANDED;
			return true;
		case ACTION_TAKE:
			if (queue_recall_due(p, app) > p->now) {
				app->taking = 0;
				app->touched |= MARK_PREFETCH;
				settle_by(p, out->app,
				    settle_steps(p, out->app, 0, false));
				continue; /* it is wanted no longer */
			}
			out->process = p->conns[app->prefetched.first].process;
			return true;
		case ACTION_REFUSE:
			queue_free(p, out->conn);
			settle_numbers(p);
			return true;
		case ACTION_OVER:
			app->leaving.over = 0;
			app_enter(
			    app, app->stuck > 0 ? APP_LEFT_STUCK : APP_LEFT);
			return true;
		case ACTION_TELL:
			app->news &= ~(1u << out->cause);
			return true;
		default:
			return true;
		}
	}
	return false;
}

tstamp
pool_deadline(const struct pool *p)
{
	uint32_t n;
	tstamp at = deadlines_first(&p->app_deadlines, &n);

	at = tstamp_min(at, deadlines_first(&p->process_deadlines, &n));
	if (p->phase == POOL_STOPPING)
		at = tstamp_min(at, p->stop_at - p->stop_grace);
	return at;
}

void
pool_stop_now(struct pool *p, tspan grace, tstamp now)
{
	settle_at(p, now);
	if (p->phase == POOL_ENDING && grace >= p->stop_grace)
		return;
	p->phase = POOL_ENDING;
	p->stop_grace = grace;
	for (uint32_t app = 0; app < p->napps; app++) {
		if (p->apps[app].phase == APP_FREE)
			continue;
		settle_end_app(p, app, APP_ENDED, END_SHUTDOWN);
		settle_app(p, app, 0);
	}
}

void
pool_tick(struct pool *p, tstamp now)
{
	uint32_t n, app;
	bool starting;

	settle_at(p, now);
	if (p->phase == POOL_STOPPING && p->stop_at - p->stop_grace <= now)
		pool_stop_now(p, p->stop_grace, now);
	/* The tick of a process may bring a deadline of an app. */
	while (pool_deadline(p) <= now) {
		if (deadlines_first(&p->process_deadlines, &n) <= now) {
			app = p->processes[n].app;
			starting = p->processes[n].state == PROCESS_STARTING;
			(void)process_live(p, n, true);
			if (starting && p->processes[n].state == PROCESS_IDLE)
				rollout_replace(p, app);
			settle_app(p, app, 0);
			continue;
		}
		(void)deadlines_first(&p->app_deadlines, &n);
		deadlines_set(&p->app_deadlines, n, TSTAMP_NEVER);
		settle_app(p, n, MARK_ALL);
	}
}
