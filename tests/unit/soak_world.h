#ifndef TESTS_UNIT_SOAK_WORLD_H
#define TESTS_UNIT_SOAK_WORLD_H

/*
 * An imaginary kernel around a pool: processes that live and die, sockets
 * that hold what was sent and not read, backlogs, and a clock.  It carries
 * out what the pool wants done, and asserts rules of its own for what may be
 * wanted, beside those of pool_check().
 *
 * All randomness is drawn from one seed.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/pool.h"

#include "../support/pool_check.h"

#define WORLD_APPS 24
#define WORLD_PROCESSES 200
#define WORLD_CONNS 1200
#define WORLD_LOCKS 4096

/* A process. */
enum world_fate {
	FATE_NONE,
	FATE_ASKED, /* its SPAWN is under way */
	FATE_ALIVE,
	FATE_DEAD, /* what it did not read is being taken back */
};

struct world_process {
	uint8_t fate; /* enum world_fate */
	uint32_t app;
	bool queued; /* asked for, but others are started first */
	bool ready; /* said so, or never does */
	bool stopped; /* STOP, TERM or KILL has been carried out */
	bool killed;
	bool ignores_stop; /* and TERM */
	bool ignores_kill; /* for now */
	bool exited; /* not killed by a signal */
};

/* A connection. */
enum world_place {
	PLACE_NONE,
	PLACE_INSIDE, /* accepted; the daemon has it */
	PLACE_SENT, /* lies in the socket of a process */
	PLACE_TAKEN, /* the process has read it */
};

struct world_conn {
	uint8_t place; /* enum world_place */
	uint32_t app;
	uint32_t process;
};

struct world_app {
	bool used;
	bool paused; /* the listener is not looked at */
	bool muted; /* nobody looks at its listener, and clients may come */
	bool shut; /* its listener is closed as soon as its backlog is empty */
	bool emptied; /* its listener is closed */
	bool closing;
	bool drained;
	bool over;
	uint32_t backlog;
	struct app_options options;
	/* How connections ended. */
	uint64_t completed, refused, abandoned, lost;
	uint32_t parked; /* connections that a process has parked, */
	uint32_t held; /* and new ones that say nothing */
	uint32_t asked; /* locks that are not answered yet */
	/* A process took nothing, or connections were prefetched. */
	bool excused;
};

/* A lock that the pool has been given. */
struct world_lock {
	bool held;
	uint32_t app;
};

static struct world {
	struct pool pool;
	void *memory;
	tstamp now;
	struct prng random;
	bool calm; /* nothing new comes, and nothing fails */
	bool touches; /* each fact settles its app with all steps */
	uint32_t hasty; /* facts in one turn of the loop, about */
	uint32_t crowd; /* clients that come together, at most */
	tspan horizon; /* a deadline so far away is not waited for */
	uint64_t events;
	uint64_t actions;
	uint64_t digest; /* of all actions, in their order */
	struct world_app apps[WORLD_APPS];
	struct world_process processes[WORLD_PROCESSES];
	struct world_conn conns[WORLD_CONNS];
	struct world_lock locks[WORLD_LOCKS];
} w;

/* 0 … n-1 */
static inline uint32_t
world_random(uint32_t n)
{
	return (uint32_t)(prng_next(&w.random) % n);
}

/* Once in n times; never when all is calm. */
static inline bool
world_chance(uint32_t n)
{
	return !w.calm && world_random(n) == 0;
}

/* --- what is asked of processes and connections -------------------------- */

/* A process of this fate, any of them; ILIST_NONE: there is none. */
static inline uint32_t
world_find_process(enum world_fate fate)
{
	uint32_t from = world_random(w.pool.limits.processes);

	for (uint32_t i = 0; i < w.pool.nprocesses; i++) {
		uint32_t n = (from + i) % w.pool.nprocesses;

		if (w.processes[n].fate == fate)
			return n;
	}
	return ILIST_NONE;
}

/* A connection at this place, of this process if it is not ILIST_NONE. */
static inline uint32_t
world_find_conn(enum world_place place, uint32_t process)
{
	uint32_t from = world_random(w.pool.limits.conns);

	for (uint32_t i = 0; i < w.pool.nconns; i++) {
		uint32_t n = (from + i) % w.pool.nconns;

		if (w.conns[n].place == place &&
		    (process == ILIST_NONE || w.conns[n].process == process))
			return n;
	}
	return ILIST_NONE;
}

/* --- facts --------------------------------------------------------------- */

static inline void
world_accept(uint32_t app)
{
	uint32_t conn = pool_arrived(&w.pool, app, w.now);

	assert(w.conns[conn].place == PLACE_NONE);
	w.conns[conn].place = PLACE_INSIDE;
	w.conns[conn].app = app;
	w.conns[conn].process = ILIST_NONE;
	w.apps[app].backlog--;
}

/* The listener is readable, or the pool resumes accepting. */
static inline void
world_listen(uint32_t app, bool resumed)
{
	struct world_app *a = &w.apps[app];
	uint32_t left = resumed ? 64 : 1 + world_random(8);

	if (a->muted)
		return;

	while (left > 0 && a->backlog > 0) {
		if (!pool_may_accept(&w.pool, app)) {
			a->paused = true;
			pool_accept_paused(&w.pool, app, w.now);
			return;
		}
		world_accept(app);
		left--;
	}
	if (resumed) {
		a->paused = false;
		pool_accept_resumed(&w.pool, app, w.now);
	}
}

static inline void
world_spawned(uint32_t n)
{
	struct world_process *x = &w.processes[n];

	if (x->queued) {
		x->queued = false;
		pool_start_queued(&w.pool, n, false, w.now);
		return;
	}
	if (world_chance(20) || (x->stopped && world_chance(3))) {
		x->fate = FATE_NONE;
		pool_spawn_failed(&w.pool, n, world_random(2) == 0, w.now);
		return;
	}
	x->fate = FATE_ALIVE;
	x->ready = !w.apps[x->app].options.sessions;
	pool_spawned(&w.pool, n, w.now);
}

static inline void
world_die(uint32_t n)
{
	static const enum process_end ends[] = { END_EXIT, END_FAILURE,
		END_SIGNAL };

	enum process_end how = ends[world_random(3)];

	w.processes[n].fate = FATE_DEAD;
	w.processes[n].exited = how != END_SIGNAL;
	pool_died(&w.pool, n, how, w.now);
}

/* The process was not ended for what it said. */
static inline bool
world_succeeds(uint32_t n)
{
	const struct process *x = &w.pool.processes[n];

	return !x->asked || (x->end != END_FAIL && x->end != END_NONSENSE);
}

/* Takes one connection back from a dead process, or frees its number. */
static inline void
world_clear_dead(uint32_t n)
{
	struct world_process *x = &w.processes[n];
	uint32_t conn = world_find_conn(PLACE_SENT, n);

	if (conn != ILIST_NONE && !world_chance(20)) {
		w.conns[conn].place = PLACE_INSIDE;
		pool_retaken(&w.pool, conn, w.now);
		return;
	}
	/* A connection that could not be taken back is lost. */
	for (uint32_t c = 0; c < w.pool.nconns; c++)
		if ((w.conns[c].place == PLACE_SENT ||
			w.conns[c].place == PLACE_TAKEN) &&
		    w.conns[c].process == n) {
			w.conns[c].place = PLACE_NONE;
			if (x->exited && world_succeeds(n) &&
			    w.apps[x->app].options.exit_ends)
				w.apps[x->app].completed++;
			else
				w.apps[x->app].lost++;
		}
	x->fate = FATE_NONE;
	pool_gone(&w.pool, n, w.now);
}

/* --- actions ------------------------------------------------------------- */

static inline void
world_spawn(const struct action *a)
{
	struct world_process *x = &w.processes[a->process];

	assert(x->fate == FATE_NONE);
	assert(!w.apps[a->app].over);
	*x = (struct world_process){ .fate = FATE_ASKED, .app = a->app };
	x->ignores_stop = world_chance(10);
	x->ignores_kill = world_chance(50);
	x->queued = world_chance(2);
	if (x->queued)
		pool_start_queued(&w.pool, a->process, true, w.now);
	else if (world_chance(4))
		world_spawned(a->process);
}

static inline void
world_hand(const struct action *a)
{
	const struct world_process *x = &w.processes[a->process];
	struct world_conn *c = &w.conns[a->conn];

	assert(x->fate == FATE_ALIVE && x->ready && !x->stopped);
	assert(c->place == PLACE_INSIDE && c->app == x->app);
	if (world_chance(30)) {
		w.apps[a->app].excused = true;
		pool_hand_failed(&w.pool, a->conn, w.now);
		if (world_chance(4))
			pool_quit(&w.pool, a->process, END_NONSENSE, w.now);
		return;
	}
	c->place = PLACE_SENT;
	c->process = a->process;
}

static inline void
world_refuse(const struct action *a)
{
	assert(w.conns[a->conn].place == PLACE_INSIDE);
	w.conns[a->conn].place = PLACE_NONE;
	w.apps[a->app].refused++;
}

/* Checks that no connection has waited beside an idle process. */
static inline void
world_check_waste(uint32_t app)
{
	assert(w.apps[app].excused ||
	    app_idle_waiting(&w.pool.apps[app], w.now) == 0);
}

static inline bool
world_is_shrinking(const struct process *x)
{
	return x->end == END_IDLE || x->end == END_LOAD;
}

/*
 * Checks that a stop for idleness or load leaves min_processes, but for
 * processes that ended for other reasons in the same tick, maybe later.
 */
static inline void
world_check_stop(const struct action *a)
{
	const struct process *x = w.pool.processes;
	const struct app *app = &w.pool.apps[a->app];
	uint32_t left = app_processes(app);

	if (!world_is_shrinking(&x[a->process]))
		return;
	for (uint32_t n = 0; n < w.pool.nprocesses; n++)
		if (x[n].state >= PROCESS_DETACHED && x[n].app == a->app &&
		    !world_is_shrinking(&x[n]) && x[n].since == w.now)
			left++;
	assert(app->phase != APP_RUNNING || w.hasty > 1 ||
	    w.pool.phase != POOL_RUNNING || app->renewing ||
	    left >= app->options.min_processes);
}

static inline void
world_signal(const struct action *a)
{
	struct world_process *x = &w.processes[a->process];

	assert(x->fate == FATE_ASKED || x->fate == FATE_ALIVE);
	if (a->kind == ACTION_STOP)
		world_check_stop(a);
	x->stopped = true;
	x->killed = x->killed || a->kind == ACTION_KILL;
	if (x->queued && world_chance(2)) {
		/* The queued start is called off. */
		x->fate = FATE_NONE;
		pool_spawn_failed(&w.pool, a->process, true, w.now);
	}
}

/* A parked connection ends, of those that were served or of the others. */
static inline void
world_end_parked(uint32_t app, bool served)
{
	struct world_app *a = &w.apps[app];
	enum park_end how = PARK_SERVED;

	if (served) {
		a->parked--;
		a->completed++;
	} else {
		a->held--;
		how = (enum park_end)(PARK_ABANDONED + world_random(3));
		if (how == PARK_ABANDONED)
			a->abandoned++;
		else
			a->refused++;
	}
	pool_park_ended(&w.pool, app, how, w.now);
}

static inline void
world_over(const struct action *a)
{
	struct world_app *app = &w.apps[a->app];

	for (uint32_t n = 0; n < w.pool.nprocesses; n++)
		/* Processes that are left are stuck. */
		assert(w.processes[n].fate == FATE_NONE ||
		    w.processes[n].fate == FATE_DEAD ||
		    w.processes[n].app != a->app || w.processes[n].killed);
	app->over = true;
	world_check_waste(a->app);
	if (w.pool.apps[a->app].stuck > 0)
		return;
	while (app->parked > 0)
		world_end_parked(a->app, true);
	while (app->held > 0)
		world_end_parked(a->app, false);
	assert(w.pool.apps[a->app].figures.completed == app->completed);
	assert(w.pool.apps[a->app].figures.lost == app->lost);
	assert(w.pool.apps[a->app].figures.abandoned == app->abandoned);
	assert(w.pool.apps[a->app].figures.refused +
		w.pool.apps[a->app].figures.timed_out ==
	    app->refused);
	app->used = false;
	pool_app_free(&w.pool, a->app);
	/* The locks end with the connections of the app to the server. */
	for (uint32_t i = 0; i < WORLD_LOCKS; i++)
		if (w.locks[i].app == a->app)
			w.locks[i].held = false;
}

/* Answers a request for a lock. */
static inline void
world_answer(uint32_t app)
{
	uint32_t lock = world_random(WORLD_LOCKS);

	assert(w.apps[app].asked > 0);
	w.apps[app].asked--;
	if (world_chance(5)) {
		pool_lock_answered(&w.pool, app,
		    world_random(2) == 0 ? LIMIT_TIMED_OUT : LIMIT_DENIED, 0, 0,
		    w.now);
		return;
	}
	if (world_chance(30)) {
		pool_lock_answered(&w.pool, app,
		    world_random(2) == 0 ? LIMIT_OPEN : LIMIT_CLOSED, 0,
		    w.now + world_random(1000000000), w.now);
		return;
	}
	while (w.locks[lock].held)
		lock = (lock + 1) % WORLD_LOCKS;
	w.locks[lock] = (struct world_lock){ .held = true, .app = app };
	pool_lock_answered(&w.pool, app, LIMIT_GRANTED, lock, 0, w.now);
}

static inline void
world_unlock(const struct action *a)
{
	assert(w.locks[a->lock].held && w.locks[a->lock].app == a->app);
	w.locks[a->lock].held = false;
}

/* Takes back the oldest connection that the process has not read. */
static inline void
world_take(const struct action *a)
{
	uint32_t conn = ILIST_NONE;

	assert(w.processes[a->process].fate == FATE_ALIVE);
	assert(w.apps[a->app].excused);
	for (uint32_t c = w.pool.processes[a->process].conns.first;
	     c != ILIST_NONE && conn == ILIST_NONE;
	     c = w.pool.conn_links[c].next)
		if (w.conns[c].place == PLACE_SENT)
			conn = c;
	if (conn != ILIST_NONE)
		w.conns[conn].place = PLACE_INSIDE;
	pool_taken(&w.pool, a->process, conn, w.now);
}

static inline void
world_carry_out(const struct action *a)
{
	switch ((enum action_kind)a->kind) {
	case ACTION_SPAWN:
		world_spawn(a);
		return;
	case ACTION_HAND:
		world_hand(a);
		return;
	case ACTION_TAKE:
		world_take(a);
		return;
	case ACTION_SLOW:
		return;
	case ACTION_REFUSE:
		world_refuse(a);
		return;
	case ACTION_STOP:
	case ACTION_TERM:
	case ACTION_KILL:
		world_signal(a);
		return;
	case ACTION_RESUME:
		assert(w.apps[a->app].paused);
		world_listen(a->app, true);
		return;
	case ACTION_LOCK:
		w.apps[a->app].asked++;
		return;
	case ACTION_UNLOCK:
		world_unlock(a);
		return;
	case ACTION_OVER:
		world_over(a);
		return;
	case ACTION_TELL:
		assert(w.apps[a->app].used);
		return;
	}
}

/* Marks everything of each app, if that is wanted. */
static inline void
world_touch(void)
{
	for (uint32_t app = 0; app < w.pool.napps && w.touches; app++)
		w.pool.apps[app].touched |= MARK_ALL;
}

static inline void
world_settle(void)
{
	struct action a;

	while (pool_next_action(&w.pool, &a)) {
		uint64_t word = (uint64_t)a.kind << 56 ^
		    (uint64_t)a.cause << 48 ^ (uint64_t)a.process << 24 ^
		    a.conn ^ (uint64_t)a.app << 40;

		w.actions++;
		w.digest = (w.digest ^ word) * 0x100000001b3;
		world_touch();
		world_carry_out(&a);
		pool_check(&w.pool);
	}
}

#endif
