/*
 * Processes that are to be replaced: of an older generation, too old, too
 * large.  The new one is ready before an old one leaves, so that there are
 * never fewer than there were.
 */

#include "core/pool_private.h"

/* How many are started at a time, beyond what there is. */
static uint32_t
rollout_surge(const struct app *a)
{
	uint32_t tenth = app_ready(a) / 10;

	return tenth > 1 ? tenth : 1;
}

static void
rollout_set_surge(struct pool *p, uint32_t app, uint32_t surge)
{
	struct app *a = &p->apps[app];

	p->surge = p->surge - a->surge + surge;
	a->surge = surge;
}

void
rollout_condemn(struct pool *p, uint32_t process, enum process_end why)
{
	struct process *x = &p->processes[process];

	if (x->state != PROCESS_IDLE && x->state != PROCESS_ACTIVE)
		return;
	if (x->outdated == 0)
		p->apps[x->app].outdated++;
	x->outdated = (uint8_t)why;
	room_file(p, process);
	timing_arm(p, process);
}

void
rollout_forget(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	if (x->outdated != 0)
		p->apps[x->app].outdated--;
	x->outdated = 0;
}

static void
rollout_dismiss(struct pool *p, uint32_t process)
{
	lifecycle_tell(
	    p, process, (enum process_end)p->processes[process].outdated);
}

/*
 * Whether an old one may leave for a new one. One that was ready and died at
 * once says that the others may, too: until one has served or lived on, the
 * old ones stay.
 */
static bool
rollout_trusts(const struct app *a)
{
	return !app_rolling(a) || a->failed_starts == 0;
}

/* An idle one, which would be the last to be given a connection. */
static uint32_t
rollout_idle(const struct pool *p, uint32_t app)
{
	uint32_t last = room_list(p, app, 0)->last;

	return last != ILIST_NONE && p->processes[last].outdated != 0
	    ? last
	    : ILIST_NONE;
}

void
rollout_relieve(struct pool *p, uint32_t app)
{
	uint32_t n = rollout_idle(p, app);

	if (p->apps[app].outdated == 0 || !rollout_trusts(&p->apps[app]))
		return;
	if (n == ILIST_NONE)
		for (n = room_first(p, app); p->processes[n].outdated == 0;)
			n = room_next(p, n);
	rollout_dismiss(p, n);
}

void
rollout_begin(struct pool *p, uint32_t app)
{
	rollout_set_surge(p, app, rollout_surge(&p->apps[app]));
	for (uint32_t n = 0; n < p->nprocesses; n++) {
		if (p->processes[n].app != app)
			continue;
		if (p->processes[n].state == PROCESS_STARTING)
			lifecycle_tell(p, n, END_RESTARTED);
		else
			rollout_condemn(p, n, END_RESTARTED);
	}
	p->apps[app].rollout_size = p->apps[app].outdated;
	p->apps[app].given_up = false;
}

/* The new generation does not live: the old one stays. */
static void
rollout_give_up(struct pool *p, uint32_t app)
{
	for (uint32_t n = 0; n < p->nprocesses; n++)
		if (p->processes[n].app == app &&
		    p->processes[n].outdated == END_RESTARTED) {
			rollout_forget(p, n);
			room_file(p, n);
			timing_arm(p, n);
		}
	rollout_set_surge(p, app, 0);
	p->apps[app].given_up = true;
	pool_tell(p, app, NEWS_GIVEN_UP, ILIST_NONE);
}

/* Replacements that are wanted beyond those that are starting. */
static uint32_t
rollout_wanted(const struct app *a)
{
	uint32_t surge = app_rolling(a) ? a->surge : rollout_surge(a);
	uint32_t wanted = a->outdated < surge ? a->outdated : surge;
	uint32_t starting = a->in_state[PROCESS_STARTING];

	if (!rollout_trusts(a) && app_processes(a) >= a->rollout_size + surge)
		return 0;
	return wanted > starting ? wanted - starting : 0;
}

/* Whether a replacement has a place; that of a generation may go beyond. */
static bool
rollout_has_place(const struct pool *p, const struct app *a)
{
	uint32_t used = p->nprocesses - p->free_processes.count;

	if (app_rolling(a))
		return used < p->limits.processes &&
		    app_processes(a) < a->options.max_processes + a->surge;
	return app_processes(a) < a->options.max_processes &&
	    places_free(p) > 0 && ilist_empty(&p->places);
}

bool
rollout_yield(struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];

	if (x->outdated == 0 || !rollout_trusts(a) || rollout_wanted(a) == 0 ||
	    a->leaving.count > a->stuck ||
	    (rollout_has_place(p, a) && a->rest_until <= p->now))
		return false;
	rollout_dismiss(p, process);
	return true;
}

/* One start or one farewell; false: there is nothing to be done for now. */
static bool
rollout_step(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t idle = rollout_idle(p, app);
	bool place = rollout_has_place(p, a);

	if (rollout_wanted(a) == 0)
		return false;
	if (idle != ILIST_NONE && !app_rolling(a) &&
	    sizing_lasting(a) > sizing_least(p, a) &&
	    a->in_state[PROCESS_IDLE] > a->options.min_idle) {
		/* It is not needed at all. */
		rollout_dismiss(p, idle);
		return true;
	}
	if (place && !sizing_paused(p, a)) {
		lifecycle_begin(p, app);
		return true;
	}
	if (idle != ILIST_NONE && rollout_trusts(a) &&
	    a->in_state[PROCESS_STOPPING] == 0 &&
	    a->in_state[PROCESS_DYING] == 0 &&
	    (!place || a->rest_until > p->now)) {
		/* There is no room for both. */
		rollout_dismiss(p, idle);
		return true;
	}
	return false;
}

void
rollout_update(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (a->outdated == 0 && !app_rolling(a))
		return;
	if (app_rolling(a) && a->failed_starts >= a->options.start_limit)
		rollout_give_up(p, app);
	if (a->phase != APP_RUNNING || p->phase != POOL_RUNNING) {
		/* All leave, and none is replaced. */
		rollout_set_surge(p, app, 0);
		return;
	}
	/* Those whose successors were not trusted when they became ready. */
	while (app_rolling(a) && a->outdated > 0 && rollout_trusts(a) &&
	    app_ready(a) > a->rollout_size)
		rollout_relieve(p, app);
	while (a->outdated > 0 && rollout_step(p, app))
		;
	if (a->outdated == 0)
		rollout_set_surge(p, app, 0);
}

tstamp
rollout_deadline(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp gate;

	if (a->outdated == 0 || a->phase != APP_RUNNING ||
	    rollout_wanted(a) == 0)
		return TSTAMP_NEVER;
	gate = pool_start_gate(p, app);
	return gate > p->now ? gate : TSTAMP_NEVER;
}
