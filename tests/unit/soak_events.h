#ifndef TESTS_UNIT_SOAK_EVENTS_H
#define TESTS_UNIT_SOAK_EVENTS_H

/* The events in the world of soak_world.h, and their frequency. */

#include "soak_world.h"

/* --- configurations ------------------------------------------------------ */

/* A length of time of any order of magnitude, or zero. */
static inline tspan
random_span(bool or_zero)
{
	static const tspan spans[] = { 0, TSPAN_MSECONDS(1), TSPAN_MSECONDS(5),
		TSPAN_MSECONDS(30), TSPAN_MSECONDS(200), TSPAN_SECONDS(1),
		TSPAN_SECONDS(30), TSPAN_SECONDS(1000000) };

	return spans[or_zero ? world_random(8) : 1 + world_random(7)];
}

static inline uint32_t
random_up_to(uint32_t n)
{
	return world_random(n + 1);
}

static inline void
random_options(struct app_options *o, bool sessions)
{
	memset(o, 0, sizeof(*o));
	o->min_processes = random_up_to(3);
	o->concurrency = world_random(2) == 0 ? 1 : 1 + world_random(8);
	if (world_random(3) == 0)
		o->prefetch = random_up_to(4);
	o->private_queue = o->prefetch > 0 && world_random(3) == 0;
	if (o->concurrency == 1 && !o->private_queue && world_random(2) == 0)
		o->prefetch = o->prefetch_auto = true;
	o->min_idle = world_random(3) == 0 ? random_up_to(4) : 0;
	o->max_queue = random_up_to(world_random(3) == 0 ? 30 : 3);
	o->retry_limit = random_up_to(3);
	o->start_limit = 1 + random_up_to(4);
	o->sessions = sessions;
	o->listens = !sessions && world_random(2) == 0;
	o->limited = sessions && world_random(4) == 0;
	o->close_when_full = world_random(3) == 0;
	o->queue_timeout = random_span(true);
	o->start_delay = random_span(true);
	o->growth = (enum app_growth)world_random(GROWTH_ALL + 1);
	o->stop_delay = random_span(true);
	o->max_idle_time = random_span(true);
	if (world_random(3) == 0)
		o->max_idle_time = o->stop_delay = APP_AUTO;
	o->load.update_interval = random_span(false);
	o->canary.processes = world_random(3);
	o->canary.time = random_span(false);
	o->load.gain = 0.05 * (1 + world_random(20));
	o->load.grow_threshold = world_random(101);
	o->load.multi_threshold = world_random(101);
	o->load.single_threshold = world_random(101);
	o->load.kill_interval = random_span(false);
	if (sessions && !o->private_queue && world_random(2) == 0)
		o->target_wait = random_span(false);
	o->start_timeout = random_span(false);
	o->ready_after = random_span(true);
	o->pickup_timeout = random_span(false);
	o->restart_delay = random_span(false);
	o->restart_delay_max = random_span(false);
	o->min_server_life = random_span(true);
	o->stop_timeout = random_span(true);
	o->kill_timeout = random_span(true);
	o->max_processes =
	    o->min_processes + random_up_to(world_random(4) == 0 ? 57 : 5);
	if (o->max_processes == 0)
		o->max_processes = 1;
	if (world_random(4) == 0)
		o->max_lifetime = random_span(false);
	o->max_memory = world_random(4) == 0 ? 1000 : 0;
	if (world_random(4) == 0)
		o->request_timeout = random_span(false);
	if (world_random(4) == 0)
		o->slow_timeout = random_span(false);
	o->exit_ends = sessions && world_random(10) == 0;
	if (world_random(3) == 0)
		o->max_requests = 1 + random_up_to(40);
}

static inline void
add_app(void)
{
	struct app_options o;
	uint32_t app;

	if (w.pool.phase != POOL_RUNNING)
		return;
	for (app = 0; app < w.pool.limits.apps; app++)
		if (!w.apps[app].used)
			break;
	if (app == w.pool.limits.apps)
		return;
	random_options(&o, world_random(10) != 0);
	app = pool_app_add(&w.pool, &o, w.now);
	assert(!w.apps[app].used);
	w.apps[app] = (struct world_app){ .used = true, .options = o };
	w.apps[app].excused = o.prefetch > 0;
}

/* --- events -------------------------------------------------------------- */

static inline uint32_t
any_app(void)
{
	uint32_t app = world_random(w.pool.limits.apps);

	for (uint32_t i = 0; i < w.pool.limits.apps; i++, app++) {
		app %= w.pool.limits.apps;
		if (w.apps[app].used && !w.apps[app].over)
			return app;
	}
	return ILIST_NONE;
}

static inline void
clients_come(void)
{
	uint32_t app = any_app();

	if (app == ILIST_NONE || !w.apps[app].options.sessions ||
	    w.apps[app].drained || w.apps[app].emptied)
		return;
	w.apps[app].backlog += 1 + world_random(w.crowd);
	if (!w.apps[app].paused)
		world_listen(app, false);
}

/* Accepts connections that were left in the backlog. */
static inline void
listener_is_readable(void)
{
	uint32_t app = any_app();

	if (app != ILIST_NONE && !w.apps[app].paused)
		world_listen(app, false);
}

static inline void
a_client_leaves(void)
{
	uint32_t c = world_find_conn(PLACE_INSIDE, ILIST_NONE);

	if (c == ILIST_NONE || w.pool.conns[c].state != CONN_WAITING)
		return;
	w.conns[c].place = PLACE_NONE;
	w.apps[w.conns[c].app].abandoned++;
	pool_abandoned(&w.pool, c, w.now);
}

static inline void
a_silent_client_comes(void)
{
	uint32_t app = any_app();

	if (app == ILIST_NONE || !w.apps[app].options.sessions ||
	    w.apps[app].drained || w.apps[app].emptied ||
	    !pool_may_accept(&w.pool, app))
		return;
	w.apps[app].held++;
	pool_held(&w.pool, app, w.now);
}

/* A client of a parked connection sends something, or leaves. */
static inline void
a_parked_client_stirs(void)
{
	uint32_t app = any_app(), conn;
	struct world_app *a;
	bool served;

	if (app == ILIST_NONE)
		return;
	a = &w.apps[app];
	if (a->parked + a->held == 0)
		return;
	served = world_random(a->parked + a->held) < a->parked;
	if (world_chance(5)) {
		world_end_parked(app, served);
		return;
	}
	if (!pool_may_accept(&w.pool, app))
		return;
	if (served)
		a->parked--;
	else
		a->held--;
	conn = pool_unparked(&w.pool, app, w.now);
	assert(w.conns[conn].place == PLACE_NONE);
	w.conns[conn] = (struct world_conn){
		.place = PLACE_INSIDE, .app = app, .process = ILIST_NONE
	};
}

static inline void
a_spawn_is_over(void)
{
	uint32_t n = world_find_process(FATE_ASKED);

	if (n != ILIST_NONE)
		world_spawned(n);
}

static inline void
a_process_reads(void)
{
	uint32_t c = world_find_conn(PLACE_SENT, ILIST_NONE);

	if (c != ILIST_NONE &&
	    w.processes[w.conns[c].process].fate == FATE_ALIVE)
		w.conns[c].place = PLACE_TAKEN;
}

static inline void
a_session_ends(void)
{
	uint32_t c = world_find_conn(PLACE_TAKEN, ILIST_NONE), n;
	struct world_app *a;

	if (c == ILIST_NONE)
		return;
	n = w.conns[c].process;
	a = &w.apps[w.conns[c].app];
	w.conns[c].place = PLACE_NONE;
	if (world_chance(3)) {
		a->parked++;
		assert(pool_session_over(&w.pool, n, c, SESSION_PARKED, w.now));
	} else if (world_chance(50)) {
		a->lost++;
		assert(pool_session_over(&w.pool, n, c, SESSION_LOST, w.now));
	} else {
		a->completed++;
		assert(pool_session_over(&w.pool, n, c, SESSION_DONE, w.now));
	}
}

static inline void
a_process_speaks(void)
{
	uint32_t n = world_find_process(FATE_ALIVE);
	struct world_process *x;

	if (n == ILIST_NONE)
		return;
	x = &w.processes[n];
	if (!x->ready) {
		x->ready = true;
		assert(pool_ready(&w.pool, n, w.now));
	} else if (world_chance(20)) {
		pool_quit(&w.pool, n, END_RETIRED, w.now);
	} else if (world_chance(20)) {
		pool_blind(&w.pool, n, w.now);
	} else {
		pool_spoke(&w.pool, n, w.now);
	}
}

/* Breaks the protocol, and is killed for it. */
static inline void
a_process_breaks_the_protocol(void)
{
	uint32_t n = world_find_process(FATE_ALIVE), c;

	if (n == ILIST_NONE)
		return;
	c = world_random(w.pool.limits.conns + 2);
	if (c < w.pool.nconns && w.conns[c].process == n &&
	    w.conns[c].place != PLACE_INSIDE && w.conns[c].place != PLACE_NONE)
		return;
	assert(!pool_session_over(&w.pool, n, c, SESSION_DONE, w.now));
	assert(!pool_session_over(&w.pool, n, ILIST_NONE, SESSION_LOST, w.now));
	assert(!pool_session_over(&w.pool, n, c, SESSION_PARKED, w.now));
	if (w.processes[n].ready && w.pool.processes[n].ready)
		assert(!pool_ready(&w.pool, n, w.now));
	pool_quit(
	    &w.pool, n, world_random(2) == 0 ? END_NONSENSE : END_FAIL, w.now);
}

static inline void
a_process_dies(void)
{
	uint32_t n = world_find_process(FATE_ALIVE);

	if (n != ILIST_NONE)
		world_die(n);
}

/* A process that was told to stop does so, or not. */
static inline void
a_process_obeys(void)
{
	uint32_t n = world_find_process(FATE_ALIVE);
	const struct world_process *x;

	if (n == ILIST_NONE)
		return;
	x = &w.processes[n];
	if (!x->stopped)
		return;
	if (x->killed ? !x->ignores_kill
		      : !x->ignores_stop &&
		    world_find_conn(PLACE_TAKEN, n) == ILIST_NONE)
		world_die(n);
}

static inline void
a_dead_process_is_cleared(void)
{
	uint32_t n = world_find_process(FATE_DEAD);

	if (n == ILIST_NONE)
		return;
	if (world_chance(10)) {
		/* Messages from before its death are read now. */
		if (!w.processes[n].ready) {
			w.processes[n].ready = true;
			(void)pool_ready(&w.pool, n, w.now);
		}
		pool_quit(&w.pool, n, END_RETIRED, w.now);
		return;
	}
	world_clear_dead(n);
}

/* The daemon finds a connection unread. */
static inline void
a_socket_is_looked_at(void)
{
	uint32_t n = world_find_process(FATE_ALIVE), conn = ILIST_NONE;

	if (n != ILIST_NONE)
		conn = world_find_conn(PLACE_SENT, n);
	if (conn == ILIST_NONE)
		return;
	w.apps[w.processes[n].app].excused = true;
	pool_unread(&w.pool, n, w.pool.conns[conn].handed, w.now);
}

static inline void
an_app_changes(void)
{
	uint32_t app = any_app();
	struct app_options o;

	if (app == ILIST_NONE)
		return;
	random_options(&o, w.apps[app].options.sessions);
	o.listens = w.apps[app].options.listens;
	w.apps[app].options = o;
	w.apps[app].excused = w.apps[app].excused || o.prefetch > 0;
	pool_app_change(&w.pool, app, &o, w.now);
}

static inline void
an_app_restarts(void)
{
	uint32_t app = any_app();

	if (app != ILIST_NONE)
		pool_app_restart(&w.pool, app, w.now);
}

static inline void
a_process_is_replaced(void)
{
	uint32_t n =
	    world_find_process(world_random(5) == 0 ? FATE_ASKED : FATE_ALIVE);

	if (n != ILIST_NONE)
		pool_replace(&w.pool, n, w.now);
}

static inline void
a_process_is_detached(void)
{
	uint32_t n =
	    world_find_process(world_random(5) == 0 ? FATE_ASKED : FATE_ALIVE);

	if (n != ILIST_NONE)
		pool_detach(&w.pool, n, w.now);
}

static inline void
an_app_renews(void)
{
	uint32_t app = any_app();

	if (app != ILIST_NONE)
		pool_app_renew(&w.pool, app, world_random(3) == 0, w.now);
}

static inline void
a_process_is_measured(void)
{
	uint32_t n = world_find_process(FATE_ALIVE);

	if (n != ILIST_NONE)
		pool_measured(&w.pool, n, world_random(1100), w.now);
}

/* An app that listens itself: its backlog, and how busy a process is. */
static inline void
a_listening_app_is_looked_at(void)
{
	uint32_t app = any_app(), n = world_find_process(FATE_ALIVE);

	if (app != ILIST_NONE && w.apps[app].options.listens) {
		pool_backlog(&w.pool, app,
		    world_chance(2) ? world_random(20) : 0, w.now);
		pool_looked(&w.pool, app, w.now, w.now);
	}
	if (n != ILIST_NONE && w.apps[w.processes[n].app].options.listens)
		pool_worked(&w.pool, n, world_random(150) / 100.0,
		    world_random(2) == 0, w.now);
}

/* The listener of the app is looked at again, or not any more. */
static inline void
mute(uint32_t app, bool muted)
{
	w.apps[app].muted = muted;
	w.apps[app].paused = false;
}

static inline void
an_app_is_held(void)
{
	uint32_t app = any_app();
	struct world_app *a;

	if (app == ILIST_NONE || w.apps[app].closing)
		return;
	a = &w.apps[app];
	if (a->shut) {
		if (!a->emptied && a->backlog == 0) {
			a->emptied = true;
			pool_app_drained(&w.pool, app, w.now);
		}
		return;
	}
	if (world_random(2) == 0) {
		a->shut = true;
		if (a->muted)
			mute(app, false);
		pool_app_hold(&w.pool, app, END_STOPPED, w.now);
	} else if (!a->muted) {
		mute(app, true);
		pool_app_hold(&w.pool, app, END_DRAINED, w.now);
	}
}

static inline void
resume_app(uint32_t app)
{
	struct world_app *a = &w.apps[app];

	/* An app that leaves comes back. */
	if (a->closing && w.pool.phase != POOL_RUNNING)
		return;
	if (!a->closing && !a->muted && !a->emptied)
		return;
	a->closing = a->drained = false;
	a->shut = a->emptied = false;
	mute(app, false);
	pool_app_resume(&w.pool, app, w.now);
}

static inline void
a_held_app_is_resumed(void)
{
	uint32_t app = any_app();

	if (app != ILIST_NONE)
		resume_app(app);
}

static inline void
close_app(uint32_t app)
{
	struct world_app *a = &w.apps[app];

	if (a->closing)
		return;
	a->closing = true;
	if (a->muted)
		mute(app, false);
	pool_app_close(&w.pool, app, w.now);
}

static inline void
an_app_closes(void)
{
	uint32_t app = any_app();

	if (app == ILIST_NONE)
		return;
	close_app(app);
	if (!w.apps[app].drained && w.apps[app].backlog == 0) {
		w.apps[app].drained = true;
		pool_app_drained(&w.pool, app, w.now);
	}
}

static inline void
the_ceiling_changes(void)
{
	pool_resize(&w.pool, 1 + world_random(60), random_up_to(8), w.now);
}

static inline void
memory_grows(void)
{
	struct pool_limits limits = w.pool.limits;
	void *memory;

	limits.apps += limits.apps < WORLD_APPS ? 1 : 0;
	limits.processes += limits.processes < WORLD_PROCESSES - 10 ? 10 : 0;
	limits.conns += limits.conns < WORLD_CONNS - 100 ? 100 : 0;
	limits.sessions++;
	memory = calloc(1, pool_memory(&limits));
	pool_move(&w.pool, &limits, memory);
	free(w.memory);
	w.memory = memory;
}

static inline void
everything_stops(void)
{
	tspan budget = random_span(true);

	if (world_random(3) == 0)
		pool_stop_now(&w.pool, budget, w.now);
	else
		pool_stop(&w.pool, budget, random_span(true), w.now);
	for (uint32_t app = 0; app < w.pool.limits.apps; app++) {
		if (w.pool.phase == POOL_STOPPING &&
		    w.pool.apps[app].phase != APP_FREE)
			pool_app_close(&w.pool, app, w.now);
		w.apps[app].closing = true;
		if (w.apps[app].muted)
			mute(app, false);
	}
}

static inline void
a_tick(void)
{
	pool_tick(&w.pool, w.now);
	assert(pool_deadline(&w.pool) > w.now);
}

static inline void
a_lock_is_answered(void)
{
	uint32_t app = any_app();

	if (app != ILIST_NONE && w.apps[app].asked > 0)
		world_answer(app);
}

static inline void
a_limit_moves(void)
{
	uint32_t app = any_app();

	if (app != ILIST_NONE)
		pool_limit_moved(&w.pool, app, w.now);
}

static inline void
time_passes(void)
{
	tstamp at = pool_deadline(&w.pool);

	switch (world_random(6)) {
	case 0:
		w.now += world_random(2000000);
		break;
	case 1:
		w.now += world_random(50) == 0 ? world_random(UINT32_MAX) : 1;
		break;
	default:
		if (at > w.now + w.horizon)
			break;
		/* A loop ticks not too early, rarely much too late. */
		w.now = at > w.now ? at : w.now;
		w.now += world_chance(30) ? world_random(UINT32_MAX) : 0;
		break;
	}
	if (world_random(4) != 0)
		a_tick();
}

static const struct {
	void (*happens)(void);
	uint32_t weight;
} soak_table[] = {
	{ clients_come, 3000 },
	{ listener_is_readable, 1000 },
	{ a_client_leaves, 100 },
	{ a_silent_client_comes, 300 },
	{ a_parked_client_stirs, 1500 },
	{ a_spawn_is_over, 1500 },
	{ a_process_reads, 2500 },
	{ a_session_ends, 2500 },
	{ a_process_speaks, 1500 },
	{ a_process_breaks_the_protocol, 60 },
	{ a_process_dies, 150 },
	{ a_process_obeys, 600 },
	{ a_dead_process_is_cleared, 800 },
	{ a_socket_is_looked_at, 200 },
	{ an_app_changes, 60 },
	{ a_process_is_replaced, 20 },
	{ a_process_is_detached, 20 },
	{ an_app_is_held, 10 },
	{ a_held_app_is_resumed, 8 },
	{ an_app_restarts, 30 },
	{ an_app_renews, 30 },
	{ a_process_is_measured, 100 },
	{ a_listening_app_is_looked_at, 200 },
	{ an_app_closes, 15 },
	{ add_app, 30 },
	{ the_ceiling_changes, 20 },
	{ memory_grows, 5 },
	{ a_lock_is_answered, 2500 },
	{ a_limit_moves, 20 },
	{ time_passes, 2500 },
};

#endif
