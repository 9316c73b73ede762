/* What comes due in the life of a process, and when. */

#include <assert.h>

#include "core/pool_private.h"

/* When the next step of stopping is due. */
static tstamp
timing_step_deadline(const struct pool *p, const struct process *x)
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

/* Its oldest session that is not prefetched; ILIST_NONE: it has none. */
static uint32_t
timing_oldest(const struct process *x)
{
	return x->conns.first == x->prefetched ? ILIST_NONE : x->conns.first;
}

/* When its oldest session is known to be so old; a timeout of 0: never. */
static tstamp
timing_aged(const struct pool *p, const struct process *x, tspan timeout)
{
	uint32_t oldest = timing_oldest(x);

	if (timeout == 0 || oldest == ILIST_NONE || x->blind ||
	    x->step >= STEP_TERM)
		return TSTAMP_NEVER;
	return tstamp_add(p->conns[oldest].begun, timeout);
}

static tstamp
timing_request_deadline(const struct pool *p, const struct process *x)
{
	return timing_aged(p, x, p->apps[x->app].options.request_timeout);
}

/* It is told once. */
static tstamp
timing_slow_deadline(const struct pool *p, const struct process *x)
{
	uint32_t oldest = timing_oldest(x);

	if (oldest != ILIST_NONE && p->conns[oldest].slow)
		return TSTAMP_NEVER;
	return timing_aged(p, x, p->apps[x->app].options.slow_timeout);
}

static tstamp
timing_session_deadline(const struct pool *p, const struct process *x)
{
	return tstamp_min(
	    timing_request_deadline(p, x), timing_slow_deadline(p, x));
}

/*
 * Whether the app's failures are forgiven once this process has lived for
 * min_server_life: it was started after the last of them.
 */
static bool
timing_redeems(const struct app *a, const struct process *x)
{
	return (a->backoff.delay != 0 || a->failed_starts != 0) &&
	    x->started > a->backoff.failed_at;
}

/* When it is too old; TSTAMP_NEVER: at no time. */
static tstamp
timing_life_end(const struct app *a, const struct process *x)
{
	const struct app_options *o = &a->options;
	double jitter = (double)o->max_lifetime_jitter * x->jitter / 4294967296;

	if (o->max_lifetime == 0)
		return TSTAMP_NEVER;
	return tstamp_add(x->started, o->max_lifetime + (tspan)jitter);
}

tstamp
timing_deadline(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];
	tstamp at = TSTAMP_NEVER;

	switch ((enum process_state)x->state) {
	case PROCESS_STARTING:
		if (x->queued)
			return TSTAMP_NEVER;
		return x->executed != 0
		    ? tstamp_add(x->executed, a->options.ready_after)
		    : tstamp_add(x->started, a->options.start_timeout);
	case PROCESS_IDLE:
	case PROCESS_ACTIVE:
		at = timing_session_deadline(p, x);
		if (x->cooling)
			at = tstamp_min(at, x->cool_until);
		if (timing_redeems(a, x))
			at = tstamp_min(at,
			    tstamp_add(x->started, a->options.min_server_life));
		if (x->outdated == 0)
			at = tstamp_min(at, timing_life_end(a, x));
		return at;
	case PROCESS_RETIRING:
		at = timing_session_deadline(p, x);
		return tstamp_min(at, timing_step_deadline(p, x));
	case PROCESS_STOPPING:
		return timing_step_deadline(p, x);
	default:
		return TSTAMP_NEVER;
	}
}

void
timing_arm(struct pool *p, uint32_t process)
{
	deadlines_set(
	    &p->process_deadlines, process, timing_deadline(p, process));
}

static void
timing_next_step(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	lifecycle_escalate(
	    p, process, (enum process_step)(x->step + 1), x->end);
}

/* What is due while it is ready. */
static void
timing_tick_ready(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	if (x->cooling && x->cool_until <= p->now) {
		x->cooling = false;
		room_file(p, process);
	}
	if (timing_redeems(a, x) &&
	    p->now - x->started >= a->options.min_server_life) {
		backoff_reset(&a->backoff);
		a->failed_starts = 0;
	}
	if (x->outdated == 0 && timing_life_end(a, x) <= p->now)
		rollout_condemn(p, process, END_LIFETIME);
}

/* What its oldest session has brought about; true: its end. */
static bool
timing_tick_session(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	if (timing_request_deadline(p, x) <= p->now) {
		lifecycle_escalate(p, process, STEP_TERM, END_REQUEST_TIMEOUT);
		return true;
	}
	if (timing_slow_deadline(p, x) <= p->now) {
		p->conns[timing_oldest(x)].slow = true;
		pool_act_process(p, ACTION_SLOW, process);
	}
	return false;
}

void
timing_tick(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	switch ((enum process_state)x->state) {
	case PROCESS_STARTING:
		if (x->executed != 0)
			lifecycle_ready(p, process);
		else
			lifecycle_escalate(
			    p, process, STEP_TERM, END_START_TIMEOUT);
		return;
	case PROCESS_IDLE:
	case PROCESS_ACTIVE:
		if (timing_tick_session(p, process))
			return;
		timing_tick_ready(p, process);
		timing_arm(p, process);
		return;
	case PROCESS_RETIRING:
		if (timing_tick_session(p, process))
			return;
		if (timing_step_deadline(p, x) > p->now) {
			timing_arm(p, process);
			return;
		}
		timing_next_step(p, process);
		return;
	case PROCESS_STOPPING:
		timing_next_step(p, process);
		return;
	default:
		assert(!"a process that is dead has no deadline");
	}
}
