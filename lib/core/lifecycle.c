/* The life of a process: birth, the steps of its stopping, its end. */

#include <assert.h>

#include "core/pool_private.h"

static bool
lifecycle_counts(enum process_state s)
{
	return s == PROCESS_STARTING || s == PROCESS_IDLE ||
	    s == PROCESS_ACTIVE;
}

/* Whether it has no session any more and sets its place free soon. */
static bool
lifecycle_ends(enum process_state s)
{
	return s == PROCESS_STOPPING || s == PROCESS_DYING;
}

/* Whether it sets its place free when its sessions have ended. */
static bool
lifecycle_promises(const struct process *x, enum process_state s)
{
	return s == PROCESS_RETIRING && x->end == END_EVICTED;
}

/* Takes a place into account, or out of it, that becomes free at its end. */
static void
lifecycle_count_end(
    struct pool *p, const struct process *x, enum process_state s, uint32_t one)
{
	if (x->stuck)
		return;
	p->ending += lifecycle_ends(s) ? one : 0;
	p->promised += lifecycle_promises(x, s) ? one : 0;
}

void
lifecycle_expire(struct pool *p, uint32_t process, bool expiring)
{
	struct process *x = &p->processes[process];

	p->apps[x->app].expiring +=
	    (expiring ? 1u : 0u) - (x->expiring ? 1u : 0u);
	x->expiring = expiring;
}

static void
lifecycle_enter(struct pool *p, uint32_t process, enum process_state s)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	if (s == x->state)
		return;
	if (x->outdated != 0 && s != PROCESS_IDLE && s != PROCESS_ACTIVE)
		rollout_forget(p, process);
	lifecycle_count_end(p, x, s, 1);
	lifecycle_count_end(p, x, x->state, -1u);
	p->count += lifecycle_counts(s) ? 1 : 0;
	p->count -= lifecycle_counts(x->state) ? 1 : 0;
	if (x->state != PROCESS_GONE)
		a->in_state[x->state]--;
	if (s != PROCESS_GONE)
		a->in_state[s]++;
	if (!lifecycle_counts(s))
		lifecycle_expire(p, process, false);
	x->state = (uint8_t)s;
	x->since = p->now;
}

bool
lifecycle_event(struct pool *p, uint32_t process, enum process_event e)
{
	enum process_state s = process_next(p->processes[process].state, e);

	if (s == PROCESS_STATES)
		return false;
	lifecycle_enter(p, process, s);
	room_file(p, process);
	timing_arm(p, process);
	return true;
}

static uint32_t
lifecycle_number(struct pool *p)
{
	uint32_t n = p->free_processes.first;

	if (n != ILIST_NONE) {
		ilist_remove(&p->free_processes, p->process_links, n);
		return n;
	}
	assert(p->nprocesses < p->limits.processes);
	return p->nprocesses++;
}

/* After how many sessions it retires, by the options; 0: at no number. */
static uint64_t
lifecycle_requests(const struct app *a, const struct process *x)
{
	const struct app_options *o = &a->options;
	double jitter = ((double)o->max_requests_jitter + 1) * x->jitter;

	if (x->single || o->exit_ends)
		return 1;
	return o->max_requests == 0
	    ? 0
	    : o->max_requests + (uint64_t)(jitter / 4294967296);
}

void
lifecycle_limit(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint64_t limit = lifecycle_requests(a, x);

	x->request_limit = limit;
	if (limit != 0 && limit <= x->handed) {
		/* Else all that are idle would leave at once. */
		x->request_limit = x->handed + (x->expiring ? 0 : 1);
	} else {
		lifecycle_expire(p, process, false);
	}
}

void
lifecycle_begin(struct pool *p, uint32_t app)
{
	uint32_t n = lifecycle_number(p);
	struct process *x = &p->processes[n];

	/* Only a rollout goes beyond the ceilings. */
	assert(p->living < p->max_processes || app_rolling(&p->apps[app]));
	assert(app_processes(&p->apps[app]) <
	    p->apps[app].options.max_processes + p->apps[app].surge);
	*x = (struct process){ 0 };
	x->app = app;
	x->generation = p->apps[app].generation;
	x->concurrency = p->apps[app].options.concurrency;
	x->stamp = ++p->stamps;
	x->started = p->now;
	x->used = p->now;
	x->prefetched = ILIST_NONE;
	x->jitter = (uint32_t)prng_next(&p->prng);
	ilist_init(&x->conns);
	x->single = p->apps[app].renewing;
	lifecycle_limit(p, n);
	p->living++;
	(void)lifecycle_event(p, n, PROCESS_BORN);
	pool_act_process(p, ACTION_SPAWN, n);
}

void
lifecycle_ready(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	x->ready = true;
	x->used = p->now;
	p->apps[x->app].refused_while_down = false;
	(void)lifecycle_event(p, process, PROCESS_READY);
	if (x->state == PROCESS_IDLE)
		rollout_relieve(p, x->app);
}

void
lifecycle_free(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	assert(ilist_empty(&x->conns));
	if (x->stuck)
		p->apps[x->app].stuck--;
	else
		p->living--;
	(void)lifecycle_event(p, process, PROCESS_FREED);
	ilist_push_front(&p->free_processes, p->process_links, process);
}

void
lifecycle_tell(struct pool *p, uint32_t process, enum process_end why)
{
	struct process *x = &p->processes[process];

	if (x->asked || x->state == PROCESS_DYING)
		return;
	if (!x->launched) {
		/* Its ACTION_SPAWN is now stale: nobody will start it. */
		lifecycle_free(p, process);
		return;
	}
	x->asked = true;
	x->end = (uint8_t)why;
	x->step = STEP_STOP;
	x->step_at = p->now;
	(void)lifecycle_event(p, process, PROCESS_TOLD);
	pool_act_process(p, ACTION_STOP, process);
	failure_end(p, process, why);
}

void
lifecycle_escalate(struct pool *p, uint32_t process, enum process_step step,
    enum process_end why)
{
	struct process *x = &p->processes[process];
	bool first = !x->asked;

	if (x->step >= step || x->state == PROCESS_DYING)
		return;
	if (!x->launched) {
		lifecycle_free(p, process);
		return;
	}
	if (first) {
		x->asked = true;
		x->end = (uint8_t)why;
	}
	x->step = (uint8_t)step;
	x->step_at = p->now;
	if (step == STEP_STUCK) {
		lifecycle_count_end(p, x, x->state, -1u);
		x->stuck = true;
		p->apps[x->app].stuck++;
		p->living--;
		pool_tell(p, x->app, NEWS_STUCK, process);
	}
	(void)lifecycle_event(p, process, PROCESS_TOLD);
	if (step == STEP_TERM)
		pool_act_process(p, ACTION_TERM, process);
	if (step == STEP_KILL)
		pool_act_process(p, ACTION_KILL, process);
	if (first)
		failure_end(p, process, why);
}
