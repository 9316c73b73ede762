/*
 * decide: what the core needs to decide about one connection.
 *
 *     decide [--connections N] [--rounds N]
 *
 * For pools of several sizes, the nanoseconds of one connection: it arrives,
 * is handed to a process, and its session ends; with every action taken out
 * and the deadline asked for each time, as the daemon does. No kernel and no
 * other process takes part. Which session ends next is random, over all apps.
 *
 *     free    seven processes in ten are busy
 *     full    all are, and five connections wait in each app: each end hands
 *             out a waiter, each arrival waits
 *
 * With `used` fewer than apps the others get no connections: what they cost
 * then is the algorithm, and what is beyond it the memory that does not fit
 * into the caches.
 *
 * Medians of the rounds (7), in which all sizes take turns; a round is so many
 * connections (200000). The last column is how much more that is than for the
 * smallest pool; the aim is less than twice as much, whatever the size.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <time.h>

#include "core/pool.h"

#include "../support/options.h"
#include "../support/pool_check.h"
#include "../support/samples.h"
#include "../support/usable.h"

/* Waiters of each app, when it is full. */
#define WAITERS 5

struct decide {
	uint32_t apps;
	uint32_t used; /* apps that get connections */
	uint32_t processes; /* of each app */
	bool full;
	struct pool pool;
	void *memory;
	uint32_t *handed; /* connections in the hands of processes */
	uint32_t nhanded;
	struct prng random;
	tstamp now;
	struct samples rounds; /* nanoseconds for one connection */
};

static struct decide sizes[] = {
	{ .apps = 1, .used = 1, .processes = 10 },
	{ .apps = 1, .used = 1, .processes = 1000 },
	{ .apps = 1, .used = 1, .processes = 10000 },
	{ .apps = 100, .used = 100, .processes = 10 },
	{ .apps = 1000, .used = 10, .processes = 10 },
	{ .apps = 1000, .used = 1000, .processes = 10 },
	{ .apps = 1, .used = 1, .processes = 10, .full = true },
	{ .apps = 1, .used = 1, .processes = 1000, .full = true },
	{ .apps = 1, .used = 1, .processes = 10000, .full = true },
	{ .apps = 100, .used = 100, .processes = 10, .full = true },
	{ .apps = 1000, .used = 10, .processes = 10, .full = true },
	{ .apps = 1000, .used = 1000, .processes = 10, .full = true },
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static struct app_options
decide_options(const struct decide *d)
{
	struct app_options o = usable_options();

	o.min_processes = o.max_processes = d->processes;
	o.load.multi_threshold = 50;
	o.queue_timeout = TSPAN_SECONDS(30);
	o.start_delay = TSPAN_MSECONDS(100);
	o.stop_delay = TSPAN_SECONDS(10);
	o.max_idle_time = TSPAN_SECONDS(300);
	o.min_server_life = TSPAN_SECONDS(30);
	return o;
}

static void
decide_settle(struct decide *d)
{
	struct action a;

	while (pool_next_action(&d->pool, &a)) {
		if (a.kind == ACTION_SPAWN) {
			pool_spawned(&d->pool, a.process, d->now);
			(void)pool_ready(&d->pool, a.process, d->now);
		} else if (a.kind == ACTION_HAND) {
			d->handed[d->nhanded++] = a.conn;
		}
	}
}

static void
decide_init(struct decide *d)
{
	uint32_t total = d->apps * d->processes;
	uint32_t clients =
	    d->full ? d->processes + WAITERS : d->processes * 7 / 10;
	struct pool_limits limits = { .apps = d->apps,
		.processes = total,
		.conns = total + d->apps * 2 * WAITERS,
		.sessions = 1 };
	struct app_options o = decide_options(d);

	d->memory = calloc(1, pool_memory(&limits));
	d->handed = calloc(total + 1, sizeof(*d->handed));
	if (d->memory == NULL || d->handed == NULL)
		err(EX_OSERR, NULL);
	d->random.state = 1;
	d->now = TSPAN_SECONDS(1);
	pool_init(&d->pool, &limits, d->memory, total, 1, d->now);
	for (uint32_t app = 0; app < d->apps; app++)
		(void)pool_app_add(&d->pool, &o, d->now);
	decide_settle(d);
	for (uint32_t i = 0; i < clients; i++)
		for (uint32_t app = 0; app < d->used; app++) {
			(void)pool_arrived(&d->pool, app, d->now);
			decide_settle(d);
		}
}

static void
decide_fini(struct decide *d)
{
	pool_check(&d->pool);
	free(d->memory);
	free(d->handed);
}

/* A session ends, another connection of its app arrives. */
static void
decide_connection(struct decide *d)
{
	uint32_t i = prng_next(&d->random) % d->nhanded;
	uint32_t conn = d->handed[i];
	uint32_t app = d->pool.conns[conn].app;
	uint32_t process = d->pool.conns[conn].process;

	d->handed[i] = d->handed[--d->nhanded];
	d->now += 1000;
	if (!pool_session_over(&d->pool, process, conn, SESSION_DONE, d->now))
		errx(EX_SOFTWARE, "a session did not end");
	decide_settle(d);
	d->now += 1000;
	(void)pool_arrived(&d->pool, app, d->now);
	decide_settle(d);
	if (pool_deadline(&d->pool) <= d->now)
		pool_tick(&d->pool, d->now);
}

static tspan
decide_clock(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return TSPAN_SECONDS(t.tv_sec) + t.tv_nsec;
}

static double
decide_round(struct decide *d, int64_t connections)
{
	tspan from = decide_clock();

	for (int64_t i = 0; i < connections; i++)
		decide_connection(d);
	return (double)(decide_clock() - from) / (double)connections;
}

static void
decide_print(void)
{
	double least = 0, most = 0;

	printf("%5s %5s %9s %5s %8s %6s\n", "apps", "used", "processes", "load",
	    "ns", "times");
	for (size_t i = 0; i < SIZES; i++) {
		struct decide *d = &sizes[i];
		double median = samples_median(&d->rounds);

		if (i == 0 || d->full != sizes[i - 1].full)
			least = median;
		if (median / least > most)
			most = median / least;
		printf("%5" PRIu32 " %5" PRIu32 " %9" PRIu32
		       " %5s %8.0f %6.2f\n",
		    d->apps, d->used, d->apps * d->processes,
		    d->full ? "full" : "free", median, median / least);
	}
	printf("at most %.2f times the smallest pool (aim: below 2)\n", most);
}

int
main(int argc, char **argv)
{
	int64_t connections = 200000, rounds = 7;
	const struct option_place options[] = {
		{ "connections", .number = &connections, .min = 1000,
		    .max = 100000000 },
		{ "rounds", .number = &rounds, .min = 1, .max = 99 },
		{ .name = NULL },
	};

	options_parse(options, argc, argv, "decide [option ...]");
	printf("decide: the core alone, nanoseconds for one connection\n");
	for (size_t i = 0; i < SIZES; i++) {
		decide_init(&sizes[i]);
		(void)decide_round(&sizes[i], connections / 10);
	}
	for (int64_t r = 0; r < rounds; r++)
		for (size_t i = 0; i < SIZES; i++)
			samples_add(&sizes[i].rounds,
			    decide_round(&sizes[i], connections));
	decide_print();
	for (size_t i = 0; i < SIZES; i++)
		decide_fini(&sizes[i]);
	return 0;
}
