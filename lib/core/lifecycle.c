/*
 * The life of a process: its start, its states, the steps of its stopping,
 * its end; and what comes due on the way.
 */

#include <assert.h>

#include "core/mechanism.h"

/* --- states ------------------------------------------------------------- */

/* Traits of a state, for the sums over processes. */
enum {
	READY = 1 << 0,
	BOUND = 1 << 1, /* by min and max */
	ENDING = 1 << 2, /* its place is free soon */
};

static const uint8_t traits[PROCESS_STATES] = {
	[PROCESS_STARTING] = BOUND,
	[PROCESS_IDLE] = BOUND | READY,
	[PROCESS_ACTIVE] = BOUND | READY,
	[PROCESS_STOPPING] = ENDING,
	[PROCESS_DYING] = ENDING,
};

/* Adds the process to the sums over processes, or takes it off: one = -1u. */
static void
count(struct pool *p, const struct process *x, uint32_t one)
{
	if (x->state == PROCESS_GONE)
		return;
	p->apps[x->app].in_state[x->state] += one;
	if ((traits[x->state] & BOUND) != 0)
		p->count += one;
	else if (x->apart)
		return;
	else if ((traits[x->state] & ENDING) != 0)
		p->ending += one;
	else if (x->end == END_EVICTED)
		p->promised += one;
}

void
lifecycle_expire(struct pool *p, uint32_t process, bool expiring)
{
	struct process *x = &p->processes[process];

	if (expiring == x->expiring)
		return;
	app_touch(&p->apps[x->app], MARK_COUNT);
	p->apps[x->app].expiring += expiring ? 1u : -1u;
	x->expiring = expiring;
}

bool
lifecycle_is_spent(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];

	if (!x->expiring)
		return false;
	return x->state == PROCESS_IDLE ||
	    (x->state == PROCESS_ACTIVE && !x->single &&
		process_sessions(x) < x->concurrency);
}

static void
set_outdated(struct pool *p, struct process *x, uint8_t why)
{
	p->apps[x->app].outdated +=
	    (why != 0 ? 1u : 0u) - (x->outdated != 0 ? 1u : 0u);
	x->outdated = why;
}

static void
enter(struct pool *p, uint32_t process, enum process_state s)
{
	struct process *x = &p->processes[process];

	if (s == x->state)
		return;
	if ((traits[x->state] & traits[s] & READY) == 0)
		app_touch(&p->apps[x->app], MARK_COUNT);
	count(p, x, -1u);
	x->state = (uint8_t)s;
	count(p, x, 1);
	if ((traits[s] & READY) == 0)
		set_outdated(p, x, 0);
	if ((traits[s] & BOUND) == 0)
		lifecycle_expire(p, process, false);
	x->since = p->now;
}

bool
lifecycle_event(struct pool *p, uint32_t process, enum process_event e)
{
	enum process_state s = process_next(p->processes[process].state, e);

	if (s == PROCESS_STATES)
		return false;
	enter(p, process, s);
	room_file(p, process);
	lifecycle_arm(p, process);
	/* The last session of a detached process has ended. */
	if (s == PROCESS_STOPPING && p->processes[process].step == STEP_NONE)
		(void)lifecycle_escalate(p, process, STEP_STOP, END_DETACHED);
	return true;
}

void
lifecycle_outdate(struct pool *p, uint32_t process, enum process_end why)
{
	struct process *x = &p->processes[process];

	if ((traits[x->state] & READY) == 0)
		return;
	set_outdated(p, x, (uint8_t)why);
	room_file(p, process);
	lifecycle_arm(p, process);
}

void
lifecycle_keep(struct pool *p, uint32_t process)
{
	set_outdated(p, &p->processes[process], 0);
	room_file(p, process);
	lifecycle_arm(p, process);
}

/* --- start and end ------------------------------------------------------- */

static uint32_t
free_number(struct pool *p)
{
	uint32_t n = p->free_processes.first;

	if (n != ILIST_NONE) {
		ilist_remove(&p->free_processes, p->process_links, n);
		return n;
	}
	assert(p->nprocesses < p->limits.processes);
	return p->nprocesses++;
}

/* After how many sessions the process retires; 0: at no number. */
static uint64_t
most_requests(const struct app *a, const struct process *x)
{
	const struct app_options *o = &a->options;
	uint64_t tenth = o->max_requests / 10;

	if (x->single || o->exit_ends)
		return 1;
	return o->max_requests == 0
	    ? 0
	    : o->max_requests + ((tenth + 1) * x->jitter >> 32);
}

void
lifecycle_limit(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	uint64_t limit = most_requests(&p->apps[x->app], x);

	x->request_limit = limit;
	if (limit != 0 && limit <= x->handed) {
		/* Without one more, all idle processes would leave at once. */
		x->request_limit = x->handed + (x->expiring ? 0 : 1);
	} else {
		lifecycle_expire(p, process, false);
	}
}

void
lifecycle_start(struct pool *p, uint32_t app)
{
	uint32_t n = free_number(p);
	struct process *x = &p->processes[n];
	struct app *a = &p->apps[app];

	/* Only a rollout goes beyond the ceilings. */
	assert(p->living < p->max_processes || app_rolling(a));
	assert(app_processes(a) < a->options.max_processes + a->surge);
	*x = (struct process){ 0 };
	x->app = app;
	x->generation = a->generation;
	x->concurrency = a->options.concurrency;
	x->stamp = ++p->stamps;
	x->started = p->now;
	x->used = p->now;
	x->prefetched = ILIST_NONE;
	x->jitter = (uint32_t)prng_next(&p->prng);
	ilist_init(&x->conns);
	x->single = a->renewing;
	a->called = false;
	lifecycle_limit(p, n);
	p->living++;
	(void)lifecycle_event(p, n, PROCESS_STARTED);
	actions_process(p, ACTION_SPAWN, n);
}

bool
lifecycle_ready(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	x->ready = true;
	x->used = p->now;
	a->refused_down = 0;
	/* Without sessions ready_after has passed, which measures nothing. */
	if (a->options.sessions)
		app_measure_start(a, p->now - x->started);
	(void)lifecycle_event(p, process, PROCESS_READY);
	return x->state == PROCESS_IDLE;
}

void
lifecycle_free(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	assert(ilist_empty(&x->conns));
	if (x->stuck)
		p->apps[x->app].stuck--;
	if (x->apart)
		p->apps[x->app].apart--;
	else
		p->living--;
	(void)lifecycle_event(p, process, PROCESS_FREED);
	ilist_push_front(&p->free_processes, p->process_links, process);
}

/* --- stopping ------------------------------------------------------------ */

bool
lifecycle_stop(struct pool *p, uint32_t process, enum process_end why)
{
	return !p->processes[process].asked &&
	    lifecycle_escalate(p, process, STEP_STOP, why);
}

/* From now on no ceiling counts the process. */
static void
set_apart(struct pool *p, struct process *x)
{
	if (x->apart)
		return;
	count(p, x, -1u);
	x->apart = true;
	count(p, x, 1);
	p->apps[x->app].apart++;
	app_touch(&p->apps[x->app], MARK_COUNT);
	p->living--;
}

/* SIGKILL did not end the process. */
static void
give_up(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	set_apart(p, x);
	x->stuck = true;
	p->apps[x->app].stuck++;
	app_touch(&p->apps[x->app], MARK_COUNT);
	actions_news(p, x->app, NEWS_STUCK, process);
}

void
lifecycle_detach(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	if (x->state != PROCESS_ACTIVE) {
		if (lifecycle_stop(p, process, END_DETACHED))
			set_apart(p, x);
		return;
	}
	x->asked = true;
	x->end = END_DETACHED;
	set_apart(p, x);
	(void)lifecycle_event(p, process, PROCESS_RELEASED);
}

bool
lifecycle_escalate(struct pool *p, uint32_t process, enum process_step step,
    enum process_end why)
{
	static const enum action_kind actions[] = { [STEP_STOP] = ACTION_STOP,
		[STEP_TERM] = ACTION_TERM,
		[STEP_KILL] = ACTION_KILL };
	struct process *x = &p->processes[process];
	bool first = !x->asked;

	if (x->step >= step || x->state == PROCESS_DYING)
		return false;
	if (!x->launched) {
		/* The stale ACTION_SPAWN starts no process. */
		lifecycle_free(p, process);
		return false;
	}
	if (first) {
		x->asked = true;
		x->end = (uint8_t)why;
	}
	x->step = (uint8_t)step;
	x->step_at = p->now;
	if (step == STEP_STUCK)
		give_up(p, process);
	(void)lifecycle_event(p, process, PROCESS_TOLD);
	if (step != STEP_STUCK)
		actions_process(p, actions[step], process);
	return first;
}

/* --- deadlines ----------------------------------------------------------- */

/* When the next step of stopping is due. */
static tstamp
step_deadline(const struct pool *p, const struct process *x)
{
	const struct app_options *o = &p->apps[x->app].options;
	bool ending = p->phase == POOL_ENDING;
	tspan grace = ending ? p->stop_grace : o->kill_timeout;

	switch ((enum process_step)x->step) {
	case STEP_STOP:
		return tstamp_add(x->step_at, o->stop_timeout);
	case STEP_TERM:
		return tstamp_add(x->step_at, grace);
	case STEP_KILL:
		/* In the end the other half is for all that comes after. */
		return tstamp_add(
		    x->step_at, ending ? o->kill_timeout / 2 : o->kill_timeout);
	default:
		return TSTAMP_NEVER;
	}
}

/* The oldest session that is not prefetched; ILIST_NONE: there is none. */
static uint32_t
oldest_session(const struct process *x)
{
	return x->conns.first == x->prefetched ? ILIST_NONE : x->conns.first;
}

/* When the oldest session is known to be so old; a timeout of 0: never. */
static tstamp
session_aged(const struct pool *p, const struct process *x, tspan timeout)
{
	uint32_t oldest = oldest_session(x);

	if (timeout == 0 || oldest == ILIST_NONE || x->blind ||
	    x->step >= STEP_TERM)
		return TSTAMP_NEVER;
	return tstamp_add(p->conns[oldest].begun, timeout);
}

static tstamp
request_deadline(const struct pool *p, const struct process *x)
{
	return session_aged(p, x, p->apps[x->app].options.request_timeout);
}

/* A slow session is told once. */
static tstamp
slow_deadline(const struct pool *p, const struct process *x)
{
	uint32_t oldest = oldest_session(x);

	if (oldest != ILIST_NONE && p->conns[oldest].slow)
		return TSTAMP_NEVER;
	return session_aged(p, x, p->apps[x->app].options.slow_timeout);
}

static tstamp
session_deadline(const struct pool *p, const struct process *x)
{
	if (oldest_session(x) == ILIST_NONE)
		return TSTAMP_NEVER;
	return tstamp_min(request_deadline(p, x), slow_deadline(p, x));
}

/*
 * Whether something is proven once this process has lived for min_server_life:
 * it is the first of its generation, or was started after the last failure.
 */
static bool
proves(const struct app *a, const struct process *x)
{
	if (x->generation > a->proven)
		return true;
	return (a->backoff.delay != 0 || a->failed_starts != 0) &&
	    x->started > a->backoff.failed_at;
}

/* When max_lifetime ends; TSTAMP_NEVER: at no time. */
static tstamp
life_end(const struct app *a, const struct process *x)
{
	const struct app_options *o = &a->options;
	double jitter = (double)o->max_lifetime / 10 * x->jitter / 4294967296;

	if (o->max_lifetime == 0)
		return TSTAMP_NEVER;
	return tstamp_add(x->started, o->max_lifetime + (tspan)jitter);
}

static tstamp
ready_deadline(const struct pool *p, const struct process *x)
{
	const struct app *a = &p->apps[x->app];
	tstamp at = session_deadline(p, x);

	if (x->cooling)
		at = tstamp_min(at, x->cool_until);
	if (proves(a, x))
		at = tstamp_min(
		    at, tstamp_add(x->started, a->options.min_server_life));
	if (x->outdated == 0)
		at = tstamp_min(at, life_end(a, x));
	return at;
}

tstamp
lifecycle_deadline(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	const struct app_options *o = &p->apps[x->app].options;

	switch ((enum process_state)x->state) {
	case PROCESS_STARTING:
		if (x->queued)
			return TSTAMP_NEVER;
		return x->executed != 0
		    ? tstamp_add(x->executed, o->ready_after)
		    : tstamp_add(x->started, o->start_timeout);
	case PROCESS_IDLE:
	case PROCESS_ACTIVE:
		return ready_deadline(p, x);
	case PROCESS_DETACHED:
		return session_deadline(p, x);
	case PROCESS_RETIRING:
		return tstamp_min(session_deadline(p, x), step_deadline(p, x));
	case PROCESS_STOPPING:
		return step_deadline(p, x);
	default:
		return TSTAMP_NEVER;
	}
}

void
lifecycle_arm(struct pool *p, uint32_t process)
{
	deadlines_set(
	    &p->process_deadlines, process, lifecycle_deadline(p, process));
}

/* --- ticks --------------------------------------------------------------- */

static void
next_step(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	(void)lifecycle_escalate(
	    p, process, (enum process_step)(x->step + 1), x->end);
}

/* Reports or ends a session that is too old; true: the process is to end. */
static bool
tick_session(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	if (request_deadline(p, x) <= p->now) {
		(void)lifecycle_escalate(
		    p, process, STEP_TERM, END_REQUEST_TIMEOUT);
		return true;
	}
	if (slow_deadline(p, x) <= p->now) {
		p->conns[oldest_session(x)].slow = true;
		actions_process(p, ACTION_SLOW, process);
	}
	return false;
}

/* Does what is due while the process is ready. */
static void
tick_ready(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	if (x->cooling && x->cool_until <= p->now) {
		x->cooling = false;
		room_file(p, process);
	}
	if (proves(a, x) && p->now - x->started >= a->options.min_server_life)
		app_lived(a, x);
	if (x->outdated == 0 && life_end(a, x) <= p->now)
		lifecycle_outdate(p, process, END_LIFETIME);
	lifecycle_arm(p, process);
}

static enum lifecycle_due
tick_starting(struct pool *p, uint32_t process)
{
	if (p->processes[process].executed != 0)
		return lifecycle_ready(p, process) ? DUE_READY : DUE_NOTHING;
	return lifecycle_escalate(p, process, STEP_TERM, END_START_TIMEOUT)
	    ? DUE_LATE
	    : DUE_NOTHING;
}

enum lifecycle_due
lifecycle_tick(struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];

	switch ((enum process_state)x->state) {
	case PROCESS_STARTING:
		return tick_starting(p, process);
	case PROCESS_IDLE:
	case PROCESS_ACTIVE:
		if (!tick_session(p, process))
			tick_ready(p, process);
		break;
	case PROCESS_DETACHED:
		if (!tick_session(p, process))
			lifecycle_arm(p, process);
		break;
	case PROCESS_RETIRING:
		if (tick_session(p, process))
			break;
		if (step_deadline(p, x) > p->now)
			lifecycle_arm(p, process);
		else
			next_step(p, process);
		break;
	case PROCESS_STOPPING:
		next_step(p, process);
		break;
	default:
		assert(!"a process that is dead has no deadline");
	}
	return DUE_NOTHING;
}
