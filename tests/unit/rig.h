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
#include <stddef.h>
#include <stdlib.h>

#include "core/pool.h"

#include "../support/pool_check.h"
#include "../support/usable.h"

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
	struct app_options o = usable_options();

	o.min_processes = 1;
	o.max_processes = 8;
	o.max_queue = 20;
	o.retry_limit = 2;
	o.start_limit = 3;
	o.start_delay = TSPAN_MSECONDS(100);
	o.stop_delay = TSPAN_SECONDS(1);
	o.min_server_life = TSPAN_SECONDS(30);
	o.stop_timeout = TSPAN_SECONDS(20);
	return o;
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

static inline void
rig_arrive_n(unsigned n)
{
	while (n-- > 0)
		(void)rig_arrive_at(0);
}

static inline void
rig_accept_paused(uint32_t app)
{
	CHECK(!pool_may_accept(&rig.pool, app));
	pool_accept_paused(&rig.pool, app, rig.now);
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
rig_died(uint32_t process, enum process_end how)
{
	pool_died(&rig.pool, process, how, rig.now);
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

static inline void
rig_stop(tspan budget, tspan grace)
{
	pool_stop(&rig.pool, budget, grace, rig.now);
	for (uint32_t app = 0; app < rig.pool.napps; app++)
		if (rig.pool.apps[app].phase != APP_FREE)
			pool_app_close(&rig.pool, app, rig.now);
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

/* --- plays ---------------------------------------------------------------- */

/*
 * A test in words: its steps happen one after the other, each one of these.
 *
 *	OPTION = VALUE		of rig.o
 *	FACT -> ACTIONS		and what the pool wants done after it
 *	FACT -> *		and whatever that is
 *	FACT			and it is seen later
 *	!FACT			which is refused
 *	-> ACTIONS		what it wants done now
 *	? FIGURE = VALUE	of app 0; or FIGURE N, of that app, process or
 *				connection
 *
 * Facts are functions of this file, or of core/pool.h, as rig_fact() has them;
 * what is left out at their end is 0. A value is a number, a time with its
 * unit, or a word; > VALUE is more than that.
 */
struct rig_play {
	const char *name;
	const char *steps[24];
};

/* A fact that the test program has for itself. */
struct rig_verb {
	const char *name;
	void (*happens)(int64_t a, int64_t b);
};

static const struct rig_play *rig_played;
static const struct rig_verb *rig_verbs; /* the last has no name; or NULL */

static inline int64_t
rig_number(const char *word)
{
	static const struct {
		const char *word;
		int64_t number;
	} words[] = { { "none", ILIST_NONE }, { "never", TSTAMP_NEVER },
		{ "auto", APP_AUTO }, { "double", GROWTH_DOUBLE },
		{ "linear", GROWTH_LINEAR }, { "all", GROWTH_ALL } };
	char *unit;
	double n;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i].word) == 0)
			return words[i].number;
	for (int end = END_EXIT; end < PROCESS_ENDS; end++)
		if (strcmp(word, process_end_names[end]) == 0)
			return end;
	n = strtod(word, &unit);
	if (strcmp(unit, "s") == 0)
		n *= 1e9;
	else if (strcmp(unit, "ms") == 0)
		n *= 1e6;
	else if (strcmp(unit, "us") == 0)
		n *= 1e3;
	else
		CHECK(unit != word && *unit == '\0');
	return (int64_t)n;
}

static inline bool
rig_set(const char *name, int64_t value)
{
#define RIG_OPTION(kind, name) \
	{ \
#name, kind, offsetof(struct app_options, name) \
	}
#define RIG_LOAD(kind, name) \
	{ \
#name, kind, offsetof(struct app_options, load.name) \
	}
	static const struct {
		const char *name;
		enum {
			WHOLE,
			TRUTH,
			SPAN,
			REAL,
			GROWTH
		} kind;
		size_t at;
	} options[] = {
		RIG_OPTION(WHOLE, min_processes),
		RIG_OPTION(WHOLE, max_processes),
		RIG_OPTION(WHOLE, min_idle),
		RIG_OPTION(WHOLE, concurrency),
		RIG_OPTION(WHOLE, prefetch),
		RIG_OPTION(TRUTH, prefetch_auto),
		RIG_OPTION(WHOLE, max_queue),
		RIG_OPTION(WHOLE, retry_limit),
		RIG_OPTION(WHOLE, start_limit),
		RIG_OPTION(SPAN, max_requests),
		RIG_OPTION(SPAN, max_memory),
		RIG_OPTION(TRUTH, sessions),
		RIG_OPTION(TRUTH, listens),
		RIG_OPTION(TRUTH, exit_ends),
		RIG_OPTION(TRUTH, private_queue),
		RIG_OPTION(TRUTH, close_when_full),
		RIG_OPTION(TRUTH, limited),
		RIG_OPTION(SPAN, queue_timeout),
		RIG_OPTION(SPAN, start_delay),
		RIG_OPTION(GROWTH, growth),
		RIG_OPTION(SPAN, stop_delay),
		RIG_OPTION(SPAN, max_idle_time),
		RIG_LOAD(SPAN, update_interval),
		RIG_LOAD(REAL, grow_threshold),
		RIG_LOAD(REAL, multi_threshold),
		RIG_LOAD(REAL, single_threshold),
		RIG_LOAD(SPAN, kill_interval),
		{ "canary", WHOLE,
		    offsetof(struct app_options, canary.processes) },
		{ "canary_time", SPAN,
		    offsetof(struct app_options, canary.time) },
		RIG_OPTION(SPAN, target_wait),
		RIG_OPTION(SPAN, max_lifetime),
		RIG_OPTION(SPAN, request_timeout),
		RIG_OPTION(SPAN, slow_timeout),
		RIG_OPTION(SPAN, start_timeout),
		RIG_OPTION(SPAN, ready_after),
		RIG_OPTION(SPAN, pickup_timeout),
		RIG_OPTION(SPAN, restart_delay),
		RIG_OPTION(SPAN, restart_delay_max),
		RIG_OPTION(SPAN, min_server_life),
		RIG_OPTION(SPAN, stop_timeout),
		RIG_OPTION(SPAN, kill_timeout),
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		void *at = (char *)&rig.o + options[i].at;

		if (strcmp(name, options[i].name) != 0)
			continue;
		if (options[i].kind == WHOLE)
			*(uint32_t *)at = (uint32_t)value;
		else if (options[i].kind == TRUTH)
			*(bool *)at = value != 0;
		else if (options[i].kind == SPAN)
			*(tspan *)at = value;
		else if (options[i].kind == REAL)
			*(double *)at = (double)value;
		else
			*(enum app_growth *)at = (enum app_growth)value;
		return true;
	}
	return false;
}

/* The same options, in a pool of other sizes; 0: the usual one. */
static inline void
rig_begin_again(uint32_t conns, uint32_t processes, uint32_t max_processes)
{
	struct pool_limits limits = rig_limits();
	struct app_options o = rig.o;

	limits.conns = conns > 0 ? conns : limits.conns;
	limits.processes = processes > 0 ? processes : limits.processes;
	rig_begin_with(limits, max_processes);
	rig.o = o;
}

/* Whether what happened was sound. */
static inline bool
rig_fact(const char *verb, int64_t first, int64_t second, unsigned words)
{
	const uint32_t a = (uint32_t)first, b = (uint32_t)second;
	struct pool *p = &rig.pool;
	const tstamp now = rig.now;

	for (const struct rig_verb *v = rig_verbs; v != NULL && v->name != NULL;
	     v++)
		if (strcmp(verb, v->name) == 0)
			return v->happens(first, second), true;
#define RIG_FACT(name, call) \
	if (strcmp(verb, name) == 0) \
	return (call), true
#define RIG_SOUND(name, call) \
	if (strcmp(verb, name) == 0) \
	return (call)
	RIG_FACT("begin", rig_begin_again(0, 0, a));
	RIG_FACT("few_conns", rig_begin_again(a, 0, b));
	RIG_FACT("few_processes", rig_begin_again(0, a, b));
	RIG_FACT("tells", rig.tells = true);
	RIG_FACT("unread", rig.unread = a);
	RIG_FACT("add", rig_add(&rig.o));
	RIG_FACT("change", rig_change(a, &rig.o));
	RIG_FACT("running", rig_running(rig.o, a));
	RIG_FACT("serving", rig_serving(rig.o, a));
	RIG_FACT("busy", rig_busy(rig.o, a, b));
	RIG_FACT("at", rig_at(first));
	RIG_FACT("after", rig_at((now - RIG_START) / 1000000 + first));
	RIG_FACT("late", rig.now += first);
	RIG_FACT("arrive", rig_arrive_n(words > 0 ? a : 1));
	RIG_FACT("arrive_at", rig_arrive_at(a));
	RIG_FACT("paused", rig_accept_paused(a));
	RIG_FACT("resumed", pool_accept_resumed(p, a, now));
	RIG_FACT("spawned", rig_spawned(a));
	RIG_SOUND("ready", rig_ready(a));
	RIG_SOUND("done", words > 1 ? rig_done_of(a, b) : rig_done(a));
	RIG_SOUND("loses",
	    pool_session_over(
		p, a, p->processes[a].conns.first, SESSION_LOST, now));
	RIG_SOUND("parks",
	    pool_session_over(
		p, a, p->processes[a].conns.first, SESSION_PARKED, now));
	RIG_FACT("hand_failed", pool_hand_failed(p, a, now));
	RIG_FACT("spawn_failed", pool_spawn_failed(p, a, b != 0, now));
	RIG_FACT("died", rig_died(a, (enum process_end)b));
	RIG_FACT("retaken", pool_retaken(p, a, now));
	RIG_FACT("gone", rig_gone(a));
	RIG_FACT("exits", rig_exits(a, (enum process_end)b));
	RIG_FACT("leave", rig_leave(a));
	RIG_FACT("close", pool_app_close(p, a, now));
	RIG_FACT("drained", pool_app_drained(p, a, now));
	RIG_FACT("hold", pool_app_hold(p, 0, (enum process_end)a, now));
	RIG_FACT(
	    "hold_soon", pool_app_hold_soon(p, 0, (enum process_end)a, now));
	RIG_FACT("resume", pool_app_resume(p, a, now));
	RIG_FACT("free", pool_app_free(p, a));
	RIG_FACT("restart", pool_app_restart(p, a, now));
	RIG_FACT("renew", pool_app_renew(p, a, b != 0, now));
	RIG_FACT("replace", pool_replace(p, a, now));
	RIG_FACT("retire", pool_quit(p, a, END_RETIRED, now));
	RIG_FACT("detach", pool_detach(p, a, now));
	RIG_FACT("blind", pool_blind(p, a, now));
	RIG_FACT("spoke", pool_spoke(p, a, now));
	RIG_FACT("unheard", pool_unheard(p, a, b != 0, now));
	RIG_FACT("measured", pool_measured(p, a, b, now));
	RIG_FACT("misbehaved", pool_quit(p, a, (enum process_end)b, now));
	RIG_FACT("start_queued", pool_start_queued(p, a, b != 0, now));
	RIG_FACT("found_unread",
	    pool_unread(p, a, RIG_START + TSPAN_MSECONDS(second), now));
	RIG_FACT("abandoned", pool_abandoned(p, a, now));
	RIG_FACT("backlog", pool_backlog(p, 0, a, now));
	RIG_FACT("looked", pool_looked(p, 0, now, now));
	RIG_FACT("granted", pool_lock_answered(p, 0, LIMIT_GRANTED, a, 0, now));
	RIG_FACT(
	    "limit_denied", pool_lock_answered(p, 0, LIMIT_DENIED, 0, 0, now));
	RIG_FACT(
	    "limit_late", pool_lock_answered(p, 0, LIMIT_TIMED_OUT, 0, 0, now));
	RIG_FACT("limit_open",
	    pool_lock_answered(p, 0, LIMIT_OPEN, 0, now + first, now));
	RIG_FACT("limit_closed",
	    pool_lock_answered(p, 0, LIMIT_CLOSED, 0, now + first, now));
	RIG_FACT("limit_moved", pool_limit_moved(p, 0, now));
	RIG_FACT("resize", pool_resize(p, a, b, now));
	RIG_FACT("stop", rig_stop(first, second));
	RIG_FACT("stop_now", pool_stop_now(p, first, now));
	return CHECK_STR("a fact", verb);
}

static inline int64_t
rig_figure(const char *name, uint32_t n)
{
	const uint32_t app = n < rig.pool.napps ? n : 0;
	const struct app *a = rig_app(app);
	const struct process *x = rig_process(n < rig.pool.nprocesses ? n : 0);
	const struct conn *c = &rig.pool.conns[n < rig.pool.nconns ? n : 0];
	const struct app_figures *f = &a->figures;
	const struct {
		const char *name;
		int64_t value;
	} all[] = {
		{ "accepted", (int64_t)f->accepted },
		{ "completed", (int64_t)f->completed },
		{ "refused", (int64_t)f->refused },
		{ "timed_out", (int64_t)f->timed_out },
		{ "abandoned", (int64_t)f->abandoned },
		{ "lost", (int64_t)f->lost },
		{ "retaken", (int64_t)f->retaken },
		{ "spawned", (int64_t)f->spawned },
		{ "spawn_failures", (int64_t)f->spawn_failures },
		{ "sessions", f->sessions },
		{ "parked", f->parked },
		{ "max_waiting", f->max_waiting },
		{ "queue", a->queue.count },
		{ "prefetched", a->prefetched.count },
		{ "waiting", app_waiting(a) },
		{ "demand", app_demand(a) },
		{ "processes", app_processes(a) },
		{ "ready", app_ready(a) },
		{ "is_ready", app_is_ready(a) },
		{ "is_open", app_is_open(a) },
		{ "may_have", pool_may_have(&rig.pool, app, rig.now) },
		{ "idle", a->in_state[PROCESS_IDLE] },
		{ "need", a->promise.need },
		{ "load", (int64_t)(app_load(a, rig.now) + 0.5) },
		{ "load_busy", a->busy },
		{ "least", promise_least(&a->promise) },
		{ "waits_since",
		    (pool_waiting_since(&rig.pool, app) - RIG_START) /
			1000000 },
		{ "spare_denied", a->growing.spare == SPARE_DENIED },
		{ "given_up", a->rollout.state == ROLLOUT_GIVEN_UP },
		{ "rollout_size", a->rollout.size },
		{ "handed", (int64_t)x->handed },
		{ "starting", a->in_state[PROCESS_STARTING] },
		{ "failed", a->failed },
		{ "state_age", (rig.now - a->state.since) / 1000000 },
		{ "failed_starts", a->failed_starts },
		{ "backoff", a->backoff.delay },
		{ "stuck", a->stuck },
		{ "outdated", a->outdated },
		{ "marked", a->shrinking.marked },
		{ "rolling", app_rolling(a) },
		{ "generation", a->generation },
		{ "places_wanted", a->places_wanted },
		{ "room_places", a->room.places },
		{ "start_time", a->start_time },
		{ "may_accept", pool_may_accept(&rig.pool, app) },
		{ "idle_while_waiting",
		    app_idle_waiting(&rig.pool.apps[app], rig.now) },
		{ "queue_wait", window_share(&a->queue_wait, 1, rig.now) },
		{ "session_time", window_share(&a->session_time, 1, rig.now) },
		{ "app_of", x->app },
		{ "generation_of", x->generation },
		{ "sessions_of", x->conns.count },
		{ "requests", (int64_t)x->requests },
		{ "expiring", x->expiring },
		{ "is_stuck", x->stuck },
		{ "retries", c->retries },
		{ "process_of", c->process },
		{ "count", rig.pool.count },
		{ "living", rig.pool.living },
		{ "free_processes", rig.pool.free_processes.count },
		{ "places_first", rig.pool.places.first },
		{ "places_count", rig.pool.places.count },
		{ "due", rig_due() },
	};

	if (strcmp(name, "exits") == 0)
		return (int64_t)rig_app(0)->figures.exits[n];
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(name, all[i].name) == 0)
			return all[i].value;
	return CHECK_STR("a figure", name);
}

/* Words that are a figure; NULL: it has none. */
static inline const char *
rig_word(const char *name, uint32_t n)
{
	if (strcmp(name, "state_of_app") == 0)
		return app_state_name(rig_app(n));
	if (strcmp(name, "state") == 0)
		return process_state_names[rig_process(n)->state];
	if (strcmp(name, "end") == 0)
		return process_end_names[rig_process(n)->end];
	return NULL;
}

static inline bool
rig_question(const char *step)
{
	char name[32], number[32] = "0", value[32];
	uint32_t n;
	bool any;

	CHECK(sscanf(step, "? %31s = %31s", name, value) == 2 ||
	    sscanf(step, "? %31s > %31s", name, value) == 2 ||
	    sscanf(step, "? %31s %31s %*[=>] %31s", name, number, value) == 3);
	n = (uint32_t)rig_number(number);
	any = strchr(step, '>') != NULL;
	if (rig_word(name, n) != NULL)
		return CHECK_STR(value, rig_word(name, n));
	return any ? CHECK(rig_figure(name, n) > rig_number(value))
		   : CHECK_EQ(rig_number(value), rig_figure(name, n));
}

static inline bool
rig_step(const char *step)
{
	const char *wanted = strstr(step, "->");
	char verb[32] = "", first[32], second[32];
	int64_t a = 0, b = 0;
	int words;
	bool sound = true;

	if (step[0] == '?')
		return rig_question(step);
	if (sscanf(step, "%31s = %31s", verb, first) == 2 &&
	    rig_set(verb, rig_number(first)))
		return true;
	words = wanted == step
	    ? 0
	    : sscanf(step, "%31s %31[^- ] %31[^- ]", verb, first, second);
	a = words > 1 ? rig_number(first) : 0;
	b = words > 2 ? rig_number(second) : 0;
	if (strcmp(verb, "not_before") == 0) {
		rig_at(a - 1);
		sound = CHECK_STR("", rig_did());
		rig_at(a);
	} else if (verb[0] == '!') {
		sound = CHECK(!rig_fact(verb + 1, a, b, (unsigned)words - 1));
	} else if (words > 0) {
		sound = CHECK(rig_fact(verb, a, b, (unsigned)words - 1));
	}
	pool_check(&rig.pool);
	if (wanted == NULL || !sound)
		return sound;
	if (strcmp(wanted, "-> *") == 0)
		return rig_did() != NULL;
	return CHECK_STR(wanted + (wanted[2] == ' ' ? 3 : 2), rig_did());
}

static inline void
rig_play(void)
{
	const char *const *steps = rig_played->steps;
	size_t from = 0;
	unsigned left = 0;

	for (size_t i = 0; steps[i] != NULL; i++) {
		if (sscanf(steps[i], "repeat %u", &left) == 1)
			from = i;
		else if (strcmp(steps[i], "again") == 0)
			i = --left > 0 ? from : i;
		else if (!rig_step(steps[i]))
			fprintf(stderr, "at \"%s\"\n", steps[i]);
	}
}

/* The main program of plays, and of other tests behind them. */
#define RIG_PLAYS(begin_each, more_verbs) \
	int main(int argc, char **argv) \
	{ \
		check_start(argc, argv); \
		check.begin = begin_each; \
		check.end = rig_end; \
		rig_verbs = more_verbs; \
		RUN_ROWS(plays, rig_played, name, rig_play); \
		check_all(); \
		return check_finish(); \
	}

#endif
