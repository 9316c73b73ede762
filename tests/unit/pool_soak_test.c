/*
 * Soak: everything that can happen to a pool, in random order, with random
 * configurations; every invariant is checked after each event.
 *
 *	pool_soak_test [--events N] [--seed N]
 */

#include <getopt.h>

#include "soak_events.h"

#include "check.h"

/* Events from one configuration to the next. */
#define SOAK_EPISODE 3000

/* With a sanitizer, for what it alone sees; each takes three times as long. */
#ifdef __SANITIZE_ADDRESS__
static uint64_t soak_events = 250000;
#else
static uint64_t soak_events = 1000000;
#endif
static uint64_t soak_seed = 1;

/* --- an episode ---------------------------------------------------------- */

static void
begin_episode(void)
{
	struct pool_limits limits = { .sessions = 12 };
	uint32_t max = 1 + world_random(60);

	limits.apps = 1 + world_random(20);
	limits.processes = 1 + world_random(60);
	limits.conns = world_random(4) == 0 ? 1 + world_random(10)
					    : 100 + world_random(400);
	memset(w.apps, 0, sizeof(w.apps));
	memset(w.processes, 0, sizeof(w.processes));
	memset(w.conns, 0, sizeof(w.conns));
	w.calm = false;
	w.crowd = world_random(3) == 0 ? 10 : 1 + world_random(3);
	w.horizon = random_span(false);
	w.hasty = world_random(10) == 0 ? 300 : 1 + world_random(4);
	w.now = TSPAN_SECONDS(1);
	w.memory = calloc(1, pool_memory(&limits));
	pool_init(&w.pool, &limits, w.memory, max, prng_next(&w.random), w.now);
	for (uint32_t i = 1 + world_random(limits.apps); i > 0; i--)
		add_app();
}

static void
an_event(void)
{
	uint32_t sum = 0, pick;
	unsigned i;

	for (i = 0; i < sizeof(soak_table) / sizeof(soak_table[0]); i++)
		sum += soak_table[i].weight;
	pick = world_random(sum);
	for (i = 0; pick >= soak_table[i].weight; i++)
		pick -= soak_table[i].weight;
	world_touch();
	soak_table[i].happens();
	w.events++;
	pool_check(&w.pool);
	/* Several facts come in a turn of the loop; rarely, very many. */
	if (world_random(w.hasty) == 0)
		world_settle();
}

/* Does all that happens by itself in a calm world; false: nothing is left. */
static bool
all_work_is_done(void)
{
	uint64_t before = w.pool.stamps + w.actions;
	bool any = false;
	uint32_t n, c;

	while ((n = world_find_process(FATE_ASKED)) != ILIST_NONE) {
		world_spawned(n);
		any = true;
	}
	for (n = 0; n < w.pool.nprocesses; n++) {
		struct world_process *x = &w.processes[n];

		if (x->fate == FATE_ALIVE && !x->ready) {
			x->ready = any = true;
			assert(pool_ready(&w.pool, n, w.now));
		}
		while (x->fate == FATE_DEAD) {
			world_clear_dead(n);
			any = true;
		}
	}
	while ((c = world_find_conn(PLACE_SENT, ILIST_NONE)) != ILIST_NONE)
		w.conns[c].place = PLACE_TAKEN;
	while (world_find_conn(PLACE_TAKEN, ILIST_NONE) != ILIST_NONE) {
		a_session_ends();
		any = true;
	}
	for (n = 0; n < w.pool.nprocesses; n++)
		if (w.processes[n].fate == FATE_ALIVE &&
		    w.processes[n].stopped) {
			world_die(n);
			any = true;
		}
	for (uint32_t app = 0; app < w.pool.limits.apps; app++)
		if (w.apps[app].used && !w.apps[app].paused &&
		    !w.apps[app].muted && w.apps[app].backlog > 0) {
			world_listen(app, false);
			any = true;
		}
	for (uint32_t app = 0; app < w.pool.limits.apps; app++)
		while (w.apps[app].used && w.apps[app].asked > 0) {
			world_answer(app);
			any = true;
		}
	world_settle();
	pool_check(&w.pool);
	return any || before != w.pool.stamps + w.actions;
}

/* Ends all replacing for age, so that time alone changes nothing. */
static void
keep_what_there_is(void)
{
	for (uint32_t app = 0; app < w.pool.limits.apps; app++) {
		struct world_app *a = &w.apps[app];

		a->options.max_lifetime = 0;
		if (a->used)
			pool_app_change(&w.pool, app, &a->options, w.now);
	}
	/* Stops are checked now that they are right, not after what follows. */
	world_settle();
	for (uint32_t app = 0; app < w.pool.limits.apps; app++) {
		if (!w.apps[app].used)
			continue;
		pool_app_renew(&w.pool, app, false, w.now);
		if (w.apps[app].options.listens)
			pool_backlog(&w.pool, app, 0, w.now);
	}
	for (uint32_t n = 0; n < w.pool.nprocesses; n++)
		if (w.processes[n].fate == FATE_ALIVE &&
		    w.apps[w.processes[n].app].options.listens)
			pool_worked(&w.pool, n, 0, false, w.now);
}

/* Lets everything come to rest. */
static void
calm_down(void)
{
	uint64_t steps = 0;
	tstamp at;

	w.calm = true;
	keep_what_there_is();
	world_settle();
	for (;;) {
		while (all_work_is_done()) {
			steps++;
			assert(steps < 100000);
		}
		at = pool_deadline(&w.pool);
		if (at == TSTAMP_NEVER)
			return;
		w.now = at > w.now ? at : w.now;
		a_tick();
		pool_check(&w.pool);
		world_settle();
		steps++;
		assert(steps < 100000);
	}
}

/* Checks that a connection holds each lock that was granted. */
static void
check_locks(uint32_t app)
{
	uint32_t granted = 0, held = 0;

	for (uint32_t i = 0; i < WORLD_LOCKS; i++)
		granted += w.locks[i].held && w.locks[i].app == app ? 1 : 0;
	for (uint32_t c = 0; c < w.pool.nconns; c++)
		held += w.conns[c].place == PLACE_INSIDE &&
			w.conns[c].app == app &&
			w.pool.conns[c].lock != ILIST_NONE
		    ? 1
		    : 0;
	assert(granted == held);
}

/* Checks that at rest connections wait only for places of others. */
static void
check_rest(void)
{
	for (uint32_t app = 0; app < w.pool.napps; app++) {
		const struct app *a = &w.pool.apps[app];

		if (a->phase == APP_FREE || a->phase >= APP_STUCK)
			continue;
		assert(a->figures.sessions == 0);
		check_locks(app);
		world_check_waste(app);
		assert(app_demand(a) == 0 || a->places_wanted > 0 ||
		    w.pool.conns_full);
		assert(app_processes(a) <= a->options.max_processes);
		assert(a->phase != APP_RUNNING || a->places_wanted > 0 ||
		    w.pool.phase != POOL_RUNNING ||
		    app_processes(a) >= a->options.min_processes);
		assert(a->phase != APP_HOLDING || app_waiting(a) > 0);
		assert(a->phase != APP_HELD || a->leaving.at_rest);
	}
}

static void
end_episode(void)
{
	calm_down();
	check_rest();
	if (world_random(2) == 0)
		everything_stops();
	for (uint32_t i = 0; i < 3; i++) {
		for (uint32_t app = 0; app < w.pool.limits.apps; app++) {
			if (!w.apps[app].used || w.apps[app].drained ||
			    w.apps[app].over)
				continue;
			close_app(app);
			if (w.apps[app].backlog == 0 ||
			    !pool_may_accept(&w.pool, app)) {
				w.apps[app].backlog = 0;
				w.apps[app].drained = true;
				pool_app_drained(&w.pool, app, w.now);
			}
		}
		calm_down();
	}
	for (uint32_t app = 0; app < w.pool.limits.apps; app++)
		assert(!w.apps[app].used);
	assert(w.pool.free_conns.count == w.pool.nconns);
	assert(w.pool.free_processes.count == w.pool.nprocesses);
	free(w.memory);
}

static void
soak(uint64_t seed, uint64_t n, bool touches)
{
	memset(&w, 0, sizeof(w));
	w.random.state = seed;
	w.touches = touches;
	while (w.events < n) {
		uint64_t end = w.events + SOAK_EPISODE;

		begin_episode();
		while (w.events < end && w.events < n) {
			an_event();
			if (world_random(2 * SOAK_EPISODE) == 0)
				everything_stops();
		}
		end_episode();
	}
}

static void
every_invariant_holds_whatever_happens(void)
{
	soak(soak_seed, soak_events, false);
	CHECK_EQ((intmax_t)soak_events, (intmax_t)w.events);
	fprintf(stderr, "%ju events, %ju actions\n", (uintmax_t)w.events,
	    (uintmax_t)w.actions);
}

static void
the_same_seed_gives_the_same_actions(void)
{
	uint64_t digest;

	soak(99, 10000, false);
	digest = w.digest;
	soak(99, 10000, false);
	CHECK_EQ((intmax_t)digest, (intmax_t)w.digest);
}

static void
no_step_that_marks_leave_out_would_act(void)
{
	uint64_t digest;

	soak(soak_seed, soak_events / 4, false);
	digest = w.digest;
	soak(soak_seed, soak_events / 4, true);
	CHECK_EQ((intmax_t)digest, (intmax_t)w.digest);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "events", required_argument, NULL, 'e' },
		{ "seed", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'e':
			soak_events = strtoull(optarg, NULL, 10);
			break;
		case 's':
			soak_seed = strtoull(optarg, NULL, 10);
			break;
		default:
			fprintf(stderr,
			    "usage: %s [--events N] [--seed N] [TEST]\n",
			    argv[0]);
			return EXIT_FAILURE;
		}
	check_start(argc - optind + 1, argv + optind - 1);
	RUN(every_invariant_holds_whatever_happens);
	RUN(the_same_seed_gives_the_same_actions);
	RUN(no_step_that_marks_leave_out_would_act);
	return check_finish();
}
