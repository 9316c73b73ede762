/*
 * The life of a process: birth, the steps of its stopping, its end, and what
 * its end means for the app.
 */

#include <assert.h>

#include "core/pool_private.h"

static bool
life_counts(enum process_state s)
{
	return s == PROCESS_STARTING || s == PROCESS_IDLE ||
	    s == PROCESS_ACTIVE;
}

/* Whether it has no session any more and sets its place free soon. */
static bool
life_ends(enum process_state s)
{
	return s == PROCESS_STOPPING || s == PROCESS_DYING;
}

static void
life_enter(struct pool *p, uint32_t process, enum process_state s)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	if (s == x->state)
		return;
	if (x->outdated != 0 && s != PROCESS_IDLE && s != PROCESS_ACTIVE)
		rollout_forget(p, process);
	if (!x->stuck)
		p->ending +=
		    (life_ends(s) ? 1u : 0u) - (life_ends(x->state) ? 1u : 0u);
	p->count += life_counts(s) ? 1 : 0;
	p->count -= life_counts(x->state) ? 1 : 0;
	if (x->state != PROCESS_GONE)
		a->in_state[x->state]--;
	if (s != PROCESS_GONE)
		a->in_state[s]++;
	if (x->expiring && !life_counts(s)) {
		x->expiring = false;
		a->expiring--;
	}
	x->state = (uint8_t)s;
	x->since = p->now;
}

bool
life_event(struct pool *p, uint32_t process, enum process_event e)
{
	enum process_state s = process_next(p->processes[process].state, e);

	if (s == PROCESS_STATES)
		return false;
	life_enter(p, process, s);
	room_file(p, process);
	life_arm(p, process);
	return true;
}

static uint32_t
life_number(struct pool *p)
{
	uint32_t n = p->free_processes.first;

	if (n != ILIST_NONE) {
		ilist_remove(&p->free_processes, p->process_links, n);
		return n;
	}
	assert(p->nprocesses < p->limits.processes);
	return p->nprocesses++;
}

void
life_begin(struct pool *p, uint32_t app)
{
	uint32_t n = life_number(p);
	struct process *x = &p->processes[n];
	const struct app_options *o = &p->apps[app].options;

	*x = (struct process){ 0 };
	x->app = app;
	x->generation = p->apps[app].generation;
	x->stamp = ++p->stamps;
	x->born = p->now;
	x->used = p->now;
	x->ahead = ILIST_NONE;
	x->jitter = (uint32_t)prng_next(&p->prng);
	ilist_init(&x->conns);
	if (o->max_requests != 0)
		x->request_limit = o->max_requests +
		    prng_next(&p->prng) % (o->max_requests_jitter + 1);
	if (p->apps[app].renewing || o->exit_ends)
		x->request_limit = 1;
	p->living++;
	(void)life_event(p, n, PROCESS_BORN);
	pool_act_process(p, ACTION_SPAWN, n);
}

void
life_free(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	assert(ilist_empty(&x->conns));
	if (x->stuck)
		p->apps[x->app].stuck--;
	else
		p->living--;
	(void)life_event(p, process, PROCESS_FREED);
	ilist_push_front(&p->free_processes, p->process_links, process);
}

static void life_blame(struct pool *p, uint32_t process, enum process_end end);

void
life_tell(struct pool *p, uint32_t process, enum process_end why)
{
	struct process *x = &p->processes[process];

	if (x->asked || x->state == PROCESS_DYING)
		return;
	if (!x->launched) {
		/* Its ACTION_SPAWN is now stale: nobody will start it. */
		life_free(p, process);
		return;
	}
	x->asked = true;
	x->end = (uint8_t)why;
	x->step = STEP_STOP;
	x->step_at = p->now;
	(void)life_event(p, process, PROCESS_TOLD);
	pool_act_process(p, ACTION_STOP, process);
	life_blame(p, process, why);
}

void
life_escalate(struct pool *p, uint32_t process, enum process_step step,
    enum process_end why)
{
	struct process *x = &p->processes[process];
	bool first = !x->asked;

	if (x->step >= step || x->state == PROCESS_DYING)
		return;
	if (!x->launched) {
		life_free(p, process);
		return;
	}
	if (first) {
		x->asked = true;
		x->end = (uint8_t)why;
	}
	x->step = (uint8_t)step;
	x->step_at = p->now;
	if (step == STEP_STUCK) {
		p->ending -= life_ends(x->state) ? 1 : 0;
		x->stuck = true;
		p->apps[x->app].stuck++;
		p->living--;
		pool_tell(p, x->app, NEWS_STUCK, process);
	}
	(void)life_event(p, process, PROCESS_TOLD);
	if (step == STEP_TERM)
		pool_act_process(p, ACTION_TERM, process);
	if (step == STEP_KILL)
		pool_act_process(p, ACTION_KILL, process);
	if (first)
		life_blame(p, process, why);
}

/* When the next step of stopping is due. */
static tstamp
life_step_deadline(const struct pool *p, const struct process *x)
{
	const struct app_options *o = &p->apps[x->app].options;
	tspan grace = p->phase == POOL_ENDING ? p->stop_grace : o->kill_timeout;

	switch ((enum process_step)x->step) {
	case STEP_STOP:
		return tstamp_add(x->step_at, o->stop_timeout);
	case STEP_TERM:
		return tstamp_add(x->step_at, grace);
	case STEP_KILL:
		return tstamp_add(x->step_at, o->kill_timeout);
	default:
		return TSTAMP_NEVER;
	}
}

/* Its oldest session that is not ahead; ILIST_NONE: it has none. */
static uint32_t
life_oldest(const struct process *x)
{
	return x->conns.first == x->ahead ? ILIST_NONE : x->conns.first;
}

/* When its oldest session has run for request_timeout. */
static tstamp
life_request_deadline(const struct pool *p, const struct process *x)
{
	tspan timeout = p->apps[x->app].options.request_timeout;
	uint32_t oldest = life_oldest(x);

	if (timeout == 0 || oldest == ILIST_NONE || x->step >= STEP_TERM)
		return TSTAMP_NEVER;
	return tstamp_add(p->conns[oldest].begun, timeout);
}

/* When its oldest session has run for slow_timeout, unless that is told. */
static tstamp
life_slow_deadline(const struct pool *p, const struct process *x)
{
	tspan timeout = p->apps[x->app].options.slow_timeout;
	uint32_t oldest = life_oldest(x);

	if (timeout == 0 || oldest == ILIST_NONE || p->conns[oldest].slow ||
	    x->step >= STEP_TERM)
		return TSTAMP_NEVER;
	return tstamp_add(p->conns[oldest].begun, timeout);
}

static tstamp
life_session_deadline(const struct pool *p, const struct process *x)
{
	return tstamp_min(
	    life_request_deadline(p, x), life_slow_deadline(p, x));
}

/*
 * Whether the app's failures are forgiven once this process has lived for
 * min_server_life: it was started after the last of them.
 */
static bool
life_redeems(const struct app *a, const struct process *x)
{
	return (a->backoff.delay != 0 || a->failed_starts != 0) &&
	    x->born > a->backoff.failed_at;
}

/* When it is too old; TSTAMP_NEVER: at no time. */
static tstamp
life_end(const struct app *a, const struct process *x)
{
	const struct app_options *o = &a->options;
	double jitter = (double)o->max_lifetime_jitter * x->jitter / 4294967296;

	if (o->max_lifetime == 0)
		return TSTAMP_NEVER;
	return tstamp_add(x->born, o->max_lifetime + (tspan)jitter);
}

tstamp
life_deadline(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];
	tstamp at = TSTAMP_NEVER;

	switch ((enum process_state)x->state) {
	case PROCESS_STARTING:
		if (x->queued)
			return TSTAMP_NEVER;
		return tstamp_add(x->born, a->options.start_timeout);
	case PROCESS_IDLE:
	case PROCESS_ACTIVE:
		at = life_session_deadline(p, x);
		if (x->cooling)
			at = tstamp_min(at, x->cool_until);
		if (life_redeems(a, x))
			at = tstamp_min(at,
			    tstamp_add(x->born, a->options.min_server_life));
		if (x->outdated == 0)
			at = tstamp_min(at, life_end(a, x));
		return at;
	case PROCESS_RETIRING:
		at = life_session_deadline(p, x);
		return tstamp_min(at, life_step_deadline(p, x));
	case PROCESS_STOPPING:
		return life_step_deadline(p, x);
	default:
		return TSTAMP_NEVER;
	}
}

void
life_arm(struct pool *p, uint32_t process)
{
	deadlines_set(
	    &p->process_deadlines, process, life_deadline(p, process));
}

static void
life_next_step(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	life_escalate(p, process, (enum process_step)(x->step + 1), x->end);
}

/* What is due while it is ready. */
static void
life_tick_ready(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	if (x->cooling && x->cool_until <= p->now) {
		x->cooling = false;
		room_file(p, process);
	}
	if (life_redeems(a, x) &&
	    p->now - x->born >= a->options.min_server_life) {
		backoff_reset(&a->backoff);
		a->failed_starts = 0;
	}
	if (x->outdated == 0 && life_end(a, x) <= p->now)
		rollout_condemn(p, process, END_LIFETIME);
}

/* What its oldest session has brought about; true: its end. */
static bool
life_tick_session(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	if (life_request_deadline(p, x) <= p->now) {
		life_escalate(p, process, STEP_TERM, END_REQUEST_TIMEOUT);
		return true;
	}
	if (life_slow_deadline(p, x) <= p->now) {
		p->conns[life_oldest(x)].slow = true;
		pool_act_process(p, ACTION_SLOW, process);
	}
	return false;
}

void
life_tick(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	switch ((enum process_state)x->state) {
	case PROCESS_STARTING:
		life_escalate(p, process, STEP_TERM, END_START_TIMEOUT);
		return;
	case PROCESS_IDLE:
	case PROCESS_ACTIVE:
		if (life_tick_session(p, process))
			return;
		life_tick_ready(p, process);
		life_arm(p, process);
		return;
	case PROCESS_RETIRING:
		if (life_tick_session(p, process))
			return;
		if (life_step_deadline(p, x) > p->now) {
			life_arm(p, process);
			return;
		}
		life_next_step(p, process);
		return;
	case PROCESS_STOPPING:
		life_next_step(p, process);
		return;
	default:
		assert(!"a process that is dead has no deadline");
	}
}

/* --- what an end means -------------------------------------------------- */

static void
life_back_off(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	const struct app_options *o = &a->options;
	tstamp failed_at = a->backoff.failed_at;

	backoff_failed(&a->backoff, x->born, o->restart_delay,
	    o->restart_delay_max, &p->prng, p->now);
	if (failed_at != p->now)
		pool_tell(p, x->app, NEWS_BACKOFF, process);
}

void
life_judge(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	bool failed =
	    a->failed_starts >= a->options.start_limit && app_ready(a) == 0;

	if (failed == a->failed)
		return;
	a->failed = failed;
	if (failed)
		pool_tell(p, app, NEWS_FAILED, ILIST_NONE);
	else if (app_ready(a) > 0)
		pool_tell(p, app, NEWS_RECOVERED, ILIST_NONE);
}

void
life_failed_start(struct pool *p, uint32_t process, bool for_good)
{
	struct app *a = &p->apps[p->processes[process].app];

	a->figures.spawn_failures++;
	a->failed_starts++;
	if (for_good && app_ready(a) == 0 &&
	    a->failed_starts < a->options.start_limit)
		a->failed_starts = a->options.start_limit;
	life_back_off(p, process);
}

/* Whether an end of this kind is the fault of the program. */
static bool
life_at_fault(
    const struct pool *p, const struct process *x, enum process_end end)
{
	bool served = x->requests > 0;

	/* It is one session's life; what ends it is nobody's failure. */
	if (p->apps[x->app].options.exit_ends && x->handed > 0)
		return false;
	switch (end) {
	case END_EXIT:
		return !served || !p->apps[x->app].options.sessions;
	case END_FAILURE:
	case END_SIGNAL:
	case END_START_TIMEOUT:
	case END_PICKUP_TIMEOUT:
	case END_NONSENSE:
	case END_FAIL:
		return true;
	case END_RETIRED:
		/* It may say so in its first session. */
		return x->handed == 0;
	default:
		return false;
	}
}

/*
 * Blames the app for the end, if there is cause to. An end that we ask for is
 * blamed when we do, and not when it comes: a successor is wanted at once.
 */
static void
life_blame(struct pool *p, uint32_t process, enum process_end end)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	if (!life_at_fault(p, x, end))
		return;
	if (!x->ready || end == END_START_TIMEOUT ||
	    (end == END_EXIT && x->requests == 0 && a->options.sessions))
		life_failed_start(p, process, false);
	else if (p->now - x->born < a->options.min_server_life && a->rolling)
		life_failed_start(p, process, false);
	else if (p->now - x->born < a->options.min_server_life)
		life_back_off(p, process);
}

void
life_account(struct pool *p, uint32_t process, enum process_end how)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	a->figures.exits[x->asked ? x->end : how]++;
	if (!x->asked)
		life_blame(p, process, how);
}
