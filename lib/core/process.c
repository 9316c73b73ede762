/*
 * The life of a process: its start, its states as a table, the steps of its
 * stopping, its end; and what comes due on the way.
 */

#include <assert.h>

#include "core/mechanism.h"

/* --- states ------------------------------------------------------------- */

/* The state after each event.  HOLE: an event that cannot be here. */
/* clang-format off */
enum {
	HOLE = PROCESS_STATES,
	GONE = PROCESS_GONE, STARTING = PROCESS_STARTING,
	IDLE = PROCESS_IDLE, ACTIVE = PROCESS_ACTIVE,
	DETACHED = PROCESS_DETACHED, RETIRING = PROCESS_RETIRING,
	STOPPING = PROCESS_STOPPING, DYING = PROCESS_DYING
};
static const unsigned char process_table[PROCESS_STATES][PROCESS_EVENTS] = {
/*	               STARTED   READY     GIVEN   DONE      EMPTIED   RELEASED  TOLD      DIED   FREED */
[PROCESS_GONE] =     { STARTING, HOLE,     HOLE,   HOLE,     HOLE,     HOLE,     HOLE,     HOLE,  HOLE },
[PROCESS_STARTING] = { HOLE,     IDLE,     HOLE,   HOLE,     HOLE,     HOLE,     STOPPING, DYING, GONE },
[PROCESS_IDLE] =     { HOLE,     HOLE,     ACTIVE, HOLE,     HOLE,     HOLE,     STOPPING, DYING, HOLE },
[PROCESS_ACTIVE] =   { HOLE,     HOLE,     ACTIVE, ACTIVE,   IDLE,     DETACHED, RETIRING, DYING, HOLE },
[PROCESS_DETACHED] = { HOLE,     HOLE,     HOLE,   DETACHED, STOPPING, HOLE,     RETIRING, DYING, HOLE },
[PROCESS_RETIRING] = { HOLE,     HOLE,     HOLE,   RETIRING, STOPPING, HOLE,     RETIRING, DYING, HOLE },
[PROCESS_STOPPING] = { HOLE,     STOPPING, HOLE,   HOLE,     HOLE,     HOLE,     STOPPING, DYING, GONE },
[PROCESS_DYING] =    { HOLE,     DYING,    HOLE,   DYING,    DYING,    HOLE,     HOLE,     HOLE,  GONE },
};
/* clang-format on */

/* Traits of a state, for the sums over processes. */
enum {
	READY = 1 << 0,
	BOUND = 1 << 1, /* by min and max */
	ENDING = 1 << 2, /* its place is free soon */
};

static const uint8_t process_traits[PROCESS_STATES] = {
	[PROCESS_STARTING] = BOUND,
	[PROCESS_IDLE] = BOUND | READY,
	[PROCESS_ACTIVE] = BOUND | READY,
	[PROCESS_STOPPING] = ENDING,
	[PROCESS_DYING] = ENDING,
};

/* Adds the process to the sums over processes, or takes it off: one = -1u. */
static void
process_count(struct pool *p, const struct process *x, uint32_t one)
{
	if (x->state == PROCESS_GONE)
		return;
	p->apps[x->app].in_state[x->state] += one;
	if ((process_traits[x->state] & BOUND) != 0)
		p->count += one;
	else if (x->apart)
		return;
	else if ((process_traits[x->state] & ENDING) != 0)
		p->ending += one;
	else if (x->end == END_EVICTED)
		p->promised += one;
}

void
process_expire(struct pool *p, uint32_t process, bool expiring)
{
	struct process *x = &p->processes[process];

	if (expiring == x->expiring)
		return;
	p->apps[x->app].touched |= MARK_COUNT;
	p->apps[x->app].expiring += expiring ? 1u : -1u;
	x->expiring = expiring;
}

void
process_event(struct pool *p, uint32_t process, enum process_event e)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint8_t s;

	if (e == PROCESS_DONE && ilist_empty(&x->conns))
		e = PROCESS_EMPTIED;
	s = process_table[x->state][e];
	assert(s != HOLE);
	if (s != x->state) {
		if ((process_traits[x->state] & process_traits[s] & READY) == 0)
			a->touched |= MARK_COUNT;
		process_count(p, x, -1u);
		x->state = s;
		process_count(p, x, 1);
		if ((process_traits[s] & READY) == 0 && x->outdated != 0) {
			a->outdated--;
			x->outdated = 0;
		}
		if ((process_traits[s] & BOUND) == 0)
			process_expire(p, process, false);
		x->since = p->now;
	}
	room_file(p, process);
	process_arm(p, process);
	/* The last session of a detached process has ended. */
	if (s == PROCESS_STOPPING && x->step == STEP_NONE)
		process_escalate(p, process, STEP_STOP, END_DETACHED);
}

void
process_outdate(struct pool *p, uint32_t process, enum process_end why)
{
	struct process *x = &p->processes[process];

	if ((process_traits[x->state] & READY) == 0)
		return;
	p->apps[x->app].outdated +=
	    (why != 0 ? 1u : 0u) - (x->outdated != 0 ? 1u : 0u);
	x->outdated = (uint8_t)why;
	room_file(p, process);
	process_arm(p, process);
}

/* --- start and end ------------------------------------------------------- */

void
process_limit(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	const struct app_options *o = &p->apps[x->app].options;
	uint64_t limit = o->max_requests, tenth = limit / 10;

	if (x->single || o->exit_ends)
		limit = 1;
	else if (limit != 0)
		limit += (tenth + 1) * x->jitter >> 32;
	x->request_limit = limit;
	if (limit != 0 && limit <= x->handed)
		/* Without one more, all idle processes would leave at once. */
		x->request_limit = x->handed + (x->expiring ? 0 : 1);
	else
		process_expire(p, process, false);
}

void
process_start(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];
	uint32_t n = p->free_processes.first;
	struct process *x;

	/* Only a rollout goes beyond the ceilings. */
	assert(p->living < p->max_processes || app_rolling(a));
	assert(app_processes(a) < a->options.max_processes + a->rollout.surge);
	if (n != ILIST_NONE) {
		ilist_remove(&p->free_processes, p->process_links, n);
	} else {
		assert(p->nprocesses < p->limits.processes);
		n = p->nprocesses++;
	}
	x = &p->processes[n];
	*x = (struct process){
		.app = app,
		.generation = a->generation,
		.concurrency = a->options.concurrency,
		.stamp = ++p->stamps,
		.started = p->now,
		.used = p->now,
		.prefetched = ILIST_NONE,
		.jitter = (uint32_t)prng_next(&p->prng),
		.single = a->renewing,
	};
	ilist_init(&x->conns);
	a->failure.called = false;
	process_limit(p, n);
	p->living++;
	process_event(p, n, PROCESS_STARTED);
	actions_put(p, ACTION_SPAWN, n, 0);
}

bool
process_ready(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	tspan took = p->now - x->started;

	x->ready = true;
	x->used = p->now;
	a->failure.refused = 0;
	/* Without sessions ready_after has passed, which measures nothing. */
	if (a->options.sessions && took > 0) {
		if (a->start_time == 0)
			a->start_time = took;
		else
			a->start_time += (took - a->start_time) / 2;
		app_time_stops(a);
		/* The next growth, or `auto` stop, may be sooner. */
		a->touched |= MARK_GROWTH | MARK_COUNT;
	}
	process_event(p, process, PROCESS_READY);
	return x->state == PROCESS_IDLE;
}

void
process_free(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	assert(ilist_empty(&x->conns));
	if (x->stuck)
		p->apps[x->app].stuck--;
	if (x->apart)
		p->apps[x->app].apart--;
	else
		p->living--;
	process_event(p, process, PROCESS_FREED);
	ilist_push_front(&p->free_processes, p->process_links, process);
}

bool
process_put_back(struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	a->expiring += x->expiring;
	a->outdated += x->outdated != 0;
	a->stuck += x->stuck;
	a->apart += x->apart;
	p->living += !x->apart;
	process_count(p, x, 1);
	return room_put_back(p, process);
}

/* --- stopping ------------------------------------------------------------ */

void
process_stop(struct pool *p, uint32_t process, enum process_end why)
{
	if (!p->processes[process].asked)
		process_escalate(p, process, STEP_STOP, why);
}

bool
process_spend(struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];

	if (!x->expiring ||
	    (x->state != PROCESS_IDLE &&
		(x->state != PROCESS_ACTIVE || x->single ||
		    x->conns.count >= x->concurrency)))
		return false;
	process_stop(p, process, END_REQUESTS);
	return true;
}

/* From now on no ceiling counts the process. */
static void
process_set_apart(struct pool *p, struct process *x)
{
	if (x->apart)
		return;
	process_count(p, x, -1u);
	x->apart = true;
	process_count(p, x, 1);
	p->apps[x->app].apart++;
	p->apps[x->app].touched |= MARK_COUNT;
	p->living--;
}

void
process_detach(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];

	if (x->state != PROCESS_ACTIVE) {
		process_stop(p, process, END_DETACHED);
		if (x->state != PROCESS_GONE)
			process_set_apart(p, x);
		return;
	}
	x->asked = true;
	x->end = END_DETACHED;
	process_set_apart(p, x);
	process_event(p, process, PROCESS_RELEASED);
}

void
process_escalate(struct pool *p, uint32_t process, enum process_step step,
    enum process_end why)
{
	static const enum action_kind kinds[] = { [STEP_STOP] = ACTION_STOP,
		[STEP_TERM] = ACTION_TERM,
		[STEP_KILL] = ACTION_KILL };
	struct process *x = &p->processes[process];
	bool first = !x->asked;

	if (x->step >= step || x->state == PROCESS_DYING)
		return;
	if (!x->launched) {
		/* The stale ACTION_SPAWN starts no process. */
		process_free(p, process);
		return;
	}
	if (first) {
		x->asked = true;
		x->end = (uint8_t)why;
	}
	x->step = (uint8_t)step;
	x->step_at = p->now;
	if (step == STEP_STUCK) {
		/* SIGKILL did not end the process. */
		process_set_apart(p, x);
		x->stuck = true;
		p->apps[x->app].stuck++;
		actions_news(p, x->app, NEWS_STUCK, process);
	}
	process_event(p, process, PROCESS_TOLD);
	if (step < STEP_STUCK)
		actions_put(p, kinds[step], process, 0);
	if (first)
		failure_end(p, process, why);
}

/* --- deadlines ----------------------------------------------------------- */

static tstamp
process_step_due(const struct pool *p, const struct process *x)
{
	const struct app_options *o = &p->apps[x->app].options;
	bool ending = p->phase == POOL_ENDING;

	if (x->step == STEP_STOP)
		return tstamp_add(x->step_at, o->stop_timeout);
	if (x->step == STEP_TERM && ending)
		return tstamp_add(x->step_at, p->stop_grace);
	if (x->step == STEP_NONE || x->step == STEP_STUCK)
		return TSTAMP_NEVER;
	/* In the end the other half is for all that comes after. */
	return tstamp_add(
	    x->step_at, ending ? o->kill_timeout / 2 : o->kill_timeout);
}

/* When the oldest session is too old, or is slow, which is told once. */
static tstamp
process_session_due(
    const struct pool *p, const struct process *x, bool *slow_out)
{
	const struct app_options *o = &p->apps[x->app].options;
	tstamp late = TSTAMP_NEVER, slow = TSTAMP_NEVER;
	const struct conn *c;

	/* Sessions come before what is prefetched. */
	if (x->conns.first == x->prefetched || x->blind || x->step >= STEP_TERM)
		return TSTAMP_NEVER;
	c = &p->conns[x->conns.first];
	if (o->request_timeout != 0)
		late = tstamp_add(c->begun, o->request_timeout);
	if (o->slow_timeout != 0 && !c->slow)
		slow = tstamp_add(c->begun, o->slow_timeout);
	*slow_out = late > p->now && slow <= p->now;
	return tstamp_min(late, slow);
}

/*
 * The same as process_live() for a ready process, but for its sessions: it has
 * room again, has proven itself, or is too old.
 */
static tstamp
process_age(struct pool *p, uint32_t process, bool act)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	tspan most = a->options.max_lifetime;
	tstamp at = TSTAMP_NEVER, due = TSTAMP_NEVER;

	if (x->cooling && act && x->cool_until <= p->now) {
		x->cooling = false;
		room_file(p, process);
	} else if (x->cooling) {
		at = x->cool_until;
	}
	/*
	 * To live on proves something if it is the first of its generation, or
	 * was started after the last failure.
	 */
	if (x->generation > a->proven ||
	    ((a->backoff.delay != 0 || a->failed_starts != 0) &&
		x->started > a->backoff.failed_at))
		due = tstamp_add(x->started, a->options.min_server_life);
	if (act && due <= p->now) {
		app_served(a, x);
		app_forgive(a);
	}
	at = tstamp_min(at, due);
	if (most == 0 || x->outdated != 0)
		return at;
	due = tstamp_add(x->started,
	    most + (tspan)((double)most / 10 * x->jitter / 4294967296));
	if (act && due <= p->now)
		process_outdate(p, process, END_LIFETIME);
	return tstamp_min(at, due);
}

tstamp
process_live(struct pool *p, uint32_t process, bool act)
{
	struct process *x = &p->processes[process];
	const struct app_options *o = &p->apps[x->app].options;
	tstamp at = TSTAMP_NEVER, due;
	bool slow = false;

	if (x->state == PROCESS_STARTING && !x->queued) {
		at = x->executed != 0
		    ? tstamp_add(x->executed, o->ready_after)
		    : tstamp_add(x->started, o->start_timeout);
		if (act && x->executed != 0)
			(void)process_ready(p, process);
		else if (act)
			process_escalate(
			    p, process, STEP_TERM, END_START_TIMEOUT);
		return at;
	}
	if (x->state <= PROCESS_STARTING || x->state == PROCESS_DYING)
		return TSTAMP_NEVER;
	if (!ilist_empty(&x->conns))
		at = process_session_due(p, x, &slow);
	if (act && at <= p->now) {
		if (!slow) {
			process_escalate(
			    p, process, STEP_TERM, END_REQUEST_TIMEOUT);
			return at;
		}
		p->conns[x->conns.first].slow = true;
		actions_put(p, ACTION_SLOW, process, 0);
	}
	if ((process_traits[x->state] & READY) != 0) {
		due = process_age(p, process, act);
	} else {
		due = process_step_due(p, x);
		if (act && due <= p->now) {
			process_escalate(p, process,
			    (enum process_step)(x->step + 1), x->end);
			return due;
		}
	}
	if (act)
		process_arm(p, process);
	return tstamp_min(at, due);
}

void
process_arm(struct pool *p, uint32_t process)
{
	deadlines_set(
	    &p->process_deadlines, process, process_live(p, process, false));
}

/* In the order of their enums. */
const char *const process_state_names[] = { "gone", "starting", "idle",
	"active", "detached", "retiring", "stopping", "dying" };

const char *const process_end_names[] = { "exit", "failure", "signal", "oom",
	"retired", "idle", "load", "evicted", "max_requests", "max_lifetime",
	"max_memory", "keeper", "resized", "detached", "restarted", "drained",
	"stopped", "closed", "shutdown", "start_timeout", "pickup_timeout",
	"request_timeout", "nonsense", "fail", "spawn" };

_Static_assert(sizeof(process_state_names) / sizeof(char *) == PROCESS_STATES &&
	sizeof(process_end_names) / sizeof(char *) == PROCESS_ENDS,
    "names");
