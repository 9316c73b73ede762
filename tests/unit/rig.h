#ifndef TESTS_UNIT_RIG_H
#define TESTS_UNIT_RIG_H

/*
 * A pool in virtual time.  Each fact goes in through a function of this file,
 * which checks every invariant afterwards; what the pool wants done comes out
 * of rig_did() as one line of words:
 *
 *	spawn 1, hand 3>1, refuse 4 full, stop 1, term 1, kill 1, resume 0,
 *	over 0
 *
 * with connections before '>' and processes after it; resume, lock and over
 * name the app, unlock the lock.  News of apps are left out unless rig.tells
 * is set.
 */

#include <stdarg.h>
#include <stdlib.h>

#include "core/pool.h"

#include "../support/pool_check.h"

#include "check.h"

static struct {
	struct pool pool;
	struct app_options o; /* of the app that a test adds */
	void *memory;
	tstamp now;
	uint64_t spawned[100]; /* stamps of processes */
	bool tells;
	uint32_t unread; /* what a TAKE brings back; ILIST_NONE: nothing */
	char text[8192];
	size_t len;
} rig;

/* The start of time, not zero; tests count milliseconds from here. */
#define RIG_START TSPAN_SECONDS(1000)

static inline struct app_options
rig_options(void)
{
	return (struct app_options){
		.min_processes = 1,
		.max_processes = 8,
		.concurrency = 1,
		.max_queue = 20,
		.retry_limit = 2,
		.start_limit = 3,
		.sessions = true,
		.start_delay = TSPAN_MSECONDS(100),
		.stop_delay = TSPAN_SECONDS(1),
		.max_idle_time = 0,
		.update_interval = TSPAN_SECONDS(10),
		.gain = 0.5,
		.grow_threshold = 90,
		.multi_threshold = 0,
		.kill_interval = TSPAN_SECONDS(60),
		.start_timeout = TSPAN_SECONDS(30),
		.pickup_timeout = TSPAN_SECONDS(10),
		.restart_delay = TSPAN_SECONDS(1),
		.restart_delay_max = TSPAN_SECONDS(60),
		.min_server_life = TSPAN_SECONDS(30),
		.stop_timeout = TSPAN_SECONDS(20),
		.kill_timeout = TSPAN_SECONDS(5),
	};
}

static inline struct pool_limits
rig_limits(void)
{
	return (struct pool_limits){
		.apps = 4, .processes = 40, .conns = 200, .sessions = 6
	};
}

/* Ends the pool there is. */
static inline void
rig_end(void)
{
	if (rig.memory != NULL)
		pool_check(&rig.pool);
	free(rig.memory);
	rig.memory = NULL;
}

/* A new pool, with rig.o of its own, in the place of the former. */
static inline void
rig_begin_with(struct pool_limits limits, uint32_t max_processes)
{
	rig_end();
	memset(&rig, 0, sizeof(rig));
	rig.now = RIG_START;
	rig.memory = calloc(1, pool_memory(&limits));
	rig.o = rig_options();
	pool_init(
	    &rig.pool, &limits, rig.memory, max_processes, 12345, rig.now);
}

static inline void
rig_begin(void)
{
	rig_begin_with(rig_limits(), 20);
}

/* Each test finds an empty pool, with room for 20 processes. */
static inline void
rig_start(int argc, char **argv)
{
	check_start(argc, argv);
	check.begin = rig_begin;
	check.end = rig_end;
}

/* --- what comes out ----------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static inline void
rig_write(const char *fmt, ...)
{
	va_list ap;

	if (rig.len > 0 && rig.len + 2 < sizeof(rig.text))
		rig.len += (size_t)sprintf(rig.text + rig.len, ", ");
	va_start(ap, fmt);
	rig.len += (size_t)vsnprintf(
	    rig.text + rig.len, sizeof(rig.text) - rig.len, fmt, ap);
	va_end(ap);
	if (rig.len >= sizeof(rig.text))
		rig.len = sizeof(rig.text) - 1;
}

static inline void
rig_write_action(const struct action *a)
{
	static const char *const causes[] = {
		[CAUSE_FULL] = "full",
		[CAUSE_TIMED_OUT] = "late",
		[CAUSE_APP_FAILED] = "failed",
		[CAUSE_LIMIT] = "limit",
		[CAUSE_RETRIES] = "retries",
		[CAUSE_STOPPING] = "stopping",
	};
	static const char *const news[] = {
		[NEWS_BACKOFF] = "backoff",
		[NEWS_FAILED] = "failed",
		[NEWS_RECOVERED] = "recovered",
		[NEWS_READY] = "ready",
		[NEWS_FULL] = "full",
		[NEWS_GIVEN_UP] = "given up",
		[NEWS_AT_REST] = "at rest",
		[NEWS_STUCK] = "stuck",
	};
	static const char *const verbs[] = {
		[ACTION_SPAWN] = "spawn",
		[ACTION_HAND] = "hand",
		[ACTION_TAKE] = "take",
		[ACTION_REFUSE] = "refuse",
		[ACTION_STOP] = "stop",
		[ACTION_TERM] = "term",
		[ACTION_KILL] = "kill",
		[ACTION_SLOW] = "slow",
		[ACTION_RESUME] = "resume",
		[ACTION_LOCK] = "lock",
		[ACTION_UNLOCK] = "unlock",
		[ACTION_OVER] = "over",
		[ACTION_TELL] = "tell",
	};
	const char *verb = verbs[a->kind];

	switch ((enum action_kind)a->kind) {
	case ACTION_HAND:
		rig_write("%s %u>%u", verb, a->conn, a->process);
		break;
	case ACTION_TAKE:
		rig_write("%s %u", verb, a->process);
		pool_taken(&rig.pool, a->process, rig.unread, rig.now);
		break;
	case ACTION_REFUSE:
		rig_write("%s %u %s", verb, a->conn, causes[a->cause]);
		break;
	case ACTION_UNLOCK:
		rig_write("%s %u", verb, a->lock);
		break;
	case ACTION_LOCK:
	case ACTION_RESUME:
	case ACTION_OVER:
		rig_write("%s %u", verb, a->app);
		break;
	case ACTION_TELL:
		if (rig.tells)
			rig_write("%s %u %s", verb, a->app, news[a->cause]);
		break;
	default:
		rig_write("%s %u", verb, a->process);
		break;
	}
}

/* Takes all actions out; says what has come out since the last time. */
static inline const char *
rig_did(void)
{
	static char did[sizeof(rig.text)];
	struct action a;

	while (pool_next_action(&rig.pool, &a))
		rig_write_action(&a);
	pool_check(&rig.pool);
	memcpy(did, rig.text, rig.len);
	did[rig.len] = '\0';
	rig.len = 0;
	return did;
}

/* A fact, whatever the pool wants done after it. */
#define LET(fact) \
	do { \
		fact; \
		(void)rig_did(); \
	} while (0)

/* A fact, and what the pool wants done after it. */
#define AFTER(fact, wanted) \
	do { \
		fact; \
		CHECK_STR(wanted, rig_did()); \
	} while (0)

/* --- time --------------------------------------------------------------- */

/* Goes to so many milliseconds after the start, ticking when it is due. */
static inline void
rig_at(int64_t ms)
{
	tstamp until = RIG_START + TSPAN_MSECONDS(ms), at;

	CHECK(until >= rig.now);
	while ((at = pool_deadline(&rig.pool)) <= until) {
		rig.now = at > rig.now ? at : rig.now;
		pool_tick(&rig.pool, rig.now);
		pool_check(&rig.pool);
		if (!CHECK(pool_deadline(&rig.pool) > rig.now))
			break;
	}
	rig.now = until;
}

/* The pool wants these done then, and nothing a millisecond before. */
#define NOT_BEFORE(ms, wanted) \
	do { \
		AFTER(rig_at((ms)-1), ""); \
		AFTER(rig_at(ms), wanted); \
	} while (0)

/* When the pool wants to be called, in milliseconds after the start. */
static inline int64_t
rig_due(void)
{
	tstamp at = pool_deadline(&rig.pool);

	return at == TSTAMP_NEVER ? -1 : (at - RIG_START) / 1000000;
}

/* --- facts -------------------------------------------------------------- */

static inline uint32_t
rig_add(const struct app_options *o)
{
	uint32_t app = pool_app_add(&rig.pool, o, rig.now);

	pool_check(&rig.pool);
	return app;
}

static inline void
rig_change(uint32_t app, const struct app_options *o)
{
	pool_app_change(&rig.pool, app, o, rig.now);
	pool_check(&rig.pool);
}

/* The app closes, and nothing is left in its backlog. */
static inline void
rig_leave(uint32_t app)
{
	pool_app_close(&rig.pool, app, rig.now);
	pool_app_drained(&rig.pool, app, rig.now);
}

static inline uint32_t
rig_arrive_at(uint32_t app)
{
	uint32_t conn;

	CHECK(pool_may_accept(&rig.pool, app));
	conn = pool_arrived(&rig.pool, app, rig.now);
	pool_check(&rig.pool);
	return conn;
}

static inline uint32_t
rig_arrive(void)
{
	return rig_arrive_at(0);
}

static inline void
rig_arrive_n(unsigned n)
{
	while (n-- > 0)
		(void)rig_arrive();
}

static inline void
rig_accept_paused(uint32_t app)
{
	CHECK(!pool_may_accept(&rig.pool, app));
	pool_accept_paused(&rig.pool, app, rig.now);
	pool_check(&rig.pool);
}

static inline void
rig_accept_resumed(uint32_t app)
{
	pool_accept_resumed(&rig.pool, app, rig.now);
	pool_check(&rig.pool);
}

static inline void
rig_spawned(uint32_t process)
{
	rig.spawned[process] = rig.pool.processes[process].stamp;
	pool_spawned(&rig.pool, process, rig.now);
	pool_check(&rig.pool);
}

static inline bool
rig_ready(uint32_t process)
{
	bool sound;

	if (rig.spawned[process] != rig.pool.processes[process].stamp)
		rig_spawned(process);
	sound = pool_ready(&rig.pool, process, rig.now);
	pool_check(&rig.pool);
	return sound;
}

/* The connection, or the oldest one that the process has. */
static inline bool
rig_done_of(uint32_t process, uint32_t conn)
{
	bool sound =
	    pool_session_over(&rig.pool, process, conn, SESSION_DONE, rig.now);

	pool_check(&rig.pool);
	return sound;
}

static inline bool
rig_done(uint32_t process)
{
	return rig_done_of(process, rig.pool.processes[process].conns.first);
}

static inline void
rig_hand_failed(uint32_t conn)
{
	pool_hand_failed(&rig.pool, conn, rig.now);
	pool_check(&rig.pool);
}

static inline void
rig_spawn_failed(uint32_t process, bool no_room)
{
	pool_spawn_failed(&rig.pool, process, no_room, rig.now);
	pool_check(&rig.pool);
}

static inline void
rig_died(uint32_t process, enum process_end how)
{
	pool_died(&rig.pool, process, how, rig.now);
	pool_check(&rig.pool);
}

static inline void
rig_retaken(uint32_t conn)
{
	pool_retaken(&rig.pool, conn, rig.now);
	pool_check(&rig.pool);
}

static inline void
rig_gone(uint32_t process)
{
	pool_gone(&rig.pool, process, rig.now);
	pool_check(&rig.pool);
}

/* The process dies, having received all that it was handed. */
static inline void
rig_exits(uint32_t process, enum process_end how)
{
	rig_died(process, how);
	rig_gone(process);
}

/* --- what is there ------------------------------------------------------ */

static inline const struct app *
rig_app(uint32_t app)
{
	return &rig.pool.apps[app];
}

static inline const struct process *
rig_process(uint32_t process)
{
	return &rig.pool.processes[process];
}

/* An app of which n processes are ready, the lowest number first in line. */
static inline uint32_t
rig_running(struct app_options o, uint32_t n)
{
	uint32_t app, min = o.min_processes, first = rig.pool.nprocesses;

	o.min_processes = n;
	app = rig_add(&o);
	(void)rig_did();
	for (uint32_t i = n; i > 0; i--)
		(void)rig_ready(first + i - 1);
	o.min_processes = min;
	rig_change(app, &o);
	(void)rig_did();
	return app;
}

/* The same app, to which so many connections have come. */
static inline uint32_t
rig_busy(struct app_options o, uint32_t n, unsigned conns)
{
	uint32_t app = rig_running(o, n);

	LET(rig_arrive_n(conns));
	return app;
}

/* The same app, whose first process in line has served a connection. */
static inline uint32_t
rig_serving(struct app_options o, uint32_t n)
{
	uint32_t app = rig_running(o, n), conn = rig_arrive_at(app);

	(void)rig_did();
	(void)rig_done_of(rig.pool.conns[conn].process, conn);
	return app;
}

#endif
