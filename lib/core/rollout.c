/*
 * Processes that are to be replaced: of an older generation, too old, too
 * large.  The new process is ready before an old one leaves, so that there
 * are never fewer than there were.
 */

#include "core/mechanism.h"
#include "core/pool.h"

/* How many processes are started at a time, beyond those that exist. */
static uint32_t
rollout_surge(const struct app *a)
{
	uint32_t tenth = app_ready(a) / 10;

	return tenth > 1 ? tenth : 1;
}

static void
rollout_set(
    struct pool *p, uint32_t app, enum rollout_state state, uint32_t surge)
{
	struct app *a = &p->apps[app];

	a->touched |= MARK_COUNT;
	p->surge = p->surge - a->rollout.surge + surge;
	a->rollout.surge = surge;
	a->rollout.state = (uint8_t)state;
	a->rollout.stamp = state == ROLLOUT_UNDER_WAY ? p->stamps : 0;
	if (state != ROLLOUT_UNDER_WAY)
		a->rollout.canary.processes = 0;
}

void
rollout_replace(struct pool *p, uint32_t app)
{
	uint32_t n = room_list(p, app, 0)->last;

	if (p->apps[app].outdated == 0 || app_is_doubtful(&p->apps[app]) ||
	    p->apps[app].rollout.canary.processes > 0)
		return;
	/* An idle process, the last to be given a connection, or any. */
	if (n == ILIST_NONE || p->processes[n].outdated == 0)
		for (n = room_next(p, app, ILIST_NONE);
		     p->processes[n].outdated == 0;)
			n = room_next(p, app, n);
	process_stop(p, n, p->processes[n].outdated);
}

/* --- canaries ------------------------------------------------------------ */

/*
 * Fewer sessions prove nothing. A session is slow if it takes CANARY_TIMES what
 * 99 of 100 took before; a share of slow or lost ones is too large if it is
 * CANARY_TIMES that of the old generation in the same time, and one in
 * CANARY_SHARE at least.
 */
#define CANARY_TIMES 2
#define CANARY_SHARE 20
#define CANARY_MIN_LOST 2
#define CANARY_MIN_SLOW 5

static bool
canary_is_worse(const struct app_canary *c, uint64_t new, uint64_t old)
{
	return new *CANARY_SHARE >= c->new.all &&
	    (c->old.all == 0 ||
		new * c->old.all > CANARY_TIMES *old * c->new.all);
}

void
canary_session(struct pool *p, const struct process *x, bool lost, tspan took)
{
	struct app *a = &p->apps[x->app];
	struct app_canary *c = &a->rollout.canary;
	struct canary_sessions *of =
	    x->stamp > a->rollout.stamp ? &c->new : &c->old;

	if (c->processes == 0)
		return;
	of->all++;
	of->lost += lost;
	of->slow += !lost && c->slow > 0 && took > c->slow;
	if (c->new.lost >= CANARY_MIN_LOST &&
	    canary_is_worse(c, c->new.lost, c->old.lost))
		c->fault = CANARY_LOST;
	else if (c->new.slow >= CANARY_MIN_SLOW &&
	    canary_is_worse(c, c->new.slow, c->old.slow))
		c->fault = CANARY_SLOW;
}

/* Ends the look when its time is over; else gives the end of it. */
static tstamp
canary_step(struct pool *p, struct app *a, bool act)
{
	struct app_canary *c = &a->rollout.canary;
	tstamp until = tstamp_add(p->now, a->options.canary.time);

	if (c->processes == 0 || c->fault != CANARY_WELL)
		return TSTAMP_NEVER;
	if (act && c->until == 0 && app_ready(a) - a->outdated >= c->processes)
		c->until = until;
	if (act && c->until != 0 && c->until <= p->now) {
		/* While only old processes serve, nothing is known. */
		if (c->new.all > 0 || c->old.all == 0 || until == p->now)
			c->processes = 0;
		c->old = c->new = (struct canary_sessions){ 0 };
		c->until = until;
	}
	return c->processes == 0 || c->until == 0 ? TSTAMP_NEVER : c->until;
}

/* --- rollouts ------------------------------------------------------------ */

void
rollout_add(struct pool *p, uint32_t app, uint32_t process)
{
	struct app *a = &p->apps[app];

	if (process == ILIST_NONE || !app_rolling(a)) {
		a->rollout.canary = (struct app_canary){ 0 };
		if (process == ILIST_NONE) {
			a->rollout.canary.processes =
			    MIN(a->options.canary.processes, app_ready(a));
			a->rollout.canary.slow = CANARY_TIMES *
			    window_share(&a->session_time, 0.99, p->now);
		}
		a->rollout.ready = app_ready(a);
		rollout_set(p, app, ROLLOUT_UNDER_WAY,
		    MAX(rollout_surge(a), a->rollout.canary.processes));
		a->rollout.size = a->outdated;
	}
	if (process != ILIST_NONE) {
		if (p->processes[process].outdated == 0)
			a->rollout.size++;
		process_outdate(p, process, END_RESTARTED);
		return;
	}
	for (uint32_t n = 0; n < p->nprocesses; n++) {
		if (p->processes[n].app != app)
			continue;
		if (p->processes[n].state == PROCESS_STARTING)
			process_stop(p, n, END_RESTARTED);
		else
			process_outdate(p, n, END_RESTARTED);
	}
	a->rollout.size = a->outdated;
}

/* Replacements that are wanted beyond those that are starting. */
static uint32_t
rollout_wanted(const struct app *a)
{
	uint32_t surge = app_rolling(a) ? a->rollout.surge : rollout_surge(a);
	uint32_t n = MIN(a->outdated, surge);
	uint32_t starting = a->in_state[PROCESS_STARTING];

	if (a->rollout.canary.processes > 0) {
		n = a->rollout.canary.processes;
		starting = app_processes(a) - a->outdated;
		return n > starting ? n - starting : 0;
	}
	/*
	 * A process that leaves keeps its slot until it has ended. The web
	 * server knows the ports of a surge beyond max_processes, and no more.
	 */
	if (a->options.numbered)
		starting += app_home(a, HOME_LEAVING)->count - a->apart;
	if (app_is_doubtful(a) && app_processes(a) >= a->rollout.ready + surge)
		return 0;
	return n > starting ? n - starting : 0;
}

/* Whether a replacement has a place; in a rollout, beyond the ceilings. */
static bool
rollout_has_place(const struct pool *p, const struct app *a)
{
	uint32_t used = p->nprocesses - p->free_processes.count;

	if (app_rolling(a))
		return used < p->limits.processes &&
		    app_processes(a) <
		    a->options.max_processes + a->rollout.surge;
	return app_processes(a) < a->options.max_processes &&
	    places_free(p, 0) > 0 && ilist_empty(&p->places);
}

bool
rollout_yield(struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];

	if (x->outdated == 0 || app_is_doubtful(a) || rollout_wanted(a) == 0 ||
	    a->rollout.canary.processes > 0 ||
	    app_home(a, HOME_LEAVING)->count > a->apart ||
	    (rollout_has_place(p, a) && a->failure.rest_until <= p->now))
		return false;
	process_stop(p, process, p->processes[process].outdated);
	return true;
}

/* Makes one start or one stop; false: none is possible for now. */
static bool
rollout_go_on(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t idle = room_list(p, app, 0)->last;
	bool place = rollout_has_place(p, a);

	if (rollout_wanted(a) == 0)
		return false;
	if (idle != ILIST_NONE && p->processes[idle].outdated == 0)
		idle = ILIST_NONE;
	if (idle != ILIST_NONE && !app_rolling(a) &&
	    bounds_lasting(a) > bounds_least(p, a) &&
	    a->in_state[PROCESS_IDLE] > a->options.min_idle) {
		/* The idle process is not needed at all. */
		process_stop(p, idle, p->processes[idle].outdated);
		return true;
	}
	if (place && !bounds_paused(p, a)) {
		process_start(p, app);
		return true;
	}
	if (idle != ILIST_NONE && a->rollout.canary.processes == 0 &&
	    (!app_is_doubtful(a) ||
		app_processes(a) > a->options.max_processes) &&
	    a->in_state[PROCESS_STOPPING] == 0 &&
	    a->in_state[PROCESS_DYING] == 0 &&
	    (!place || a->failure.rest_until > p->now)) {
		/* The old process must leave before the new one can start. */
		process_stop(p, idle, p->processes[idle].outdated);
		return true;
	}
	return false;
}

tstamp
rollout_step(struct pool *p, uint32_t app, bool act)
{
	struct app *a = &p->apps[app];
	tstamp gate, at = canary_step(p, a, act);

	if (act && app_rolling(a) &&
	    (a->failed_starts >= a->options.start_limit ||
		(a->rollout.canary.processes > 0 &&
		    a->rollout.canary.fault != CANARY_WELL))) {
		bool canary = a->rollout.canary.processes > 0;

		/* The new generation does not live: the old one stays. */
		for (uint32_t n = 0; n < p->nprocesses; n++)
			if (p->processes[n].app == app &&
			    p->processes[n].outdated == END_RESTARTED)
				process_outdate(p, n, 0);
		for (uint32_t n = 0; n < p->nprocesses && canary; n++)
			if (p->processes[n].state != PROCESS_GONE &&
			    p->processes[n].app == app &&
			    p->processes[n].stamp > a->rollout.stamp)
				process_stop(p, n, END_RESTARTED);
		if (canary) {
			/* Of the former program, which the caller may start. */
			a->generation++;
			app_forgive(a);
		}
		rollout_set(p, app, ROLLOUT_GIVEN_UP, 0);
		actions_news(p, app, NEWS_GIVEN_UP, ILIST_NONE);
	}
	if (act && bounds_kept(p, a)) {
		/*
		 * Retire old processes whose replacements became ready before
		 * the new generation was trusted.
		 */
		while (app_rolling(a) && a->outdated > 0 &&
		    a->rollout.canary.processes == 0 && !app_is_doubtful(a) &&
		    app_ready(a) > a->rollout.ready)
			rollout_replace(p, app);
		while (a->outdated > 0 && rollout_go_on(p, app))
			;
	}
	/* All are replaced; or all leave, and none is. */
	if (act && app_rolling(a) && (a->outdated == 0 || !bounds_kept(p, a)))
		rollout_set(p, app, ROLLOUT_NONE, 0);
	if (a->outdated == 0 || a->phase != APP_RUNNING ||
	    rollout_wanted(a) == 0)
		return at;
	gate = pool_start_gate(a);
	return gate > p->now ? tstamp_min(at, gate) : at;
}
