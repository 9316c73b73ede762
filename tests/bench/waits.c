/*
 * waits: how long clients wait for a worker when some requests are long.
 *
 *     waits [--rounds N] [--seconds N] [--workers N] [--short USEC]
 *           [--long USEC] [--options TEXT] [--seed N]
 *
 * Clients come in a Poisson stream, whether or not the earlier ones have been
 * served.  Every hundredth request, by lot, takes long, the others are short:
 * 200 and 1 ms with 16 workers, then 20 and 0.1 ms with 4, where a hand-over
 * counts; or, with --workers, one table for what the options say.  --options
 * are further ones of apppoold's app, as in pool.conf(5). The workers sleep
 * that long: the time stands for waiting on a database or a disk, and the
 * processors stay free, so that the measure is which worker gets the next
 * connection, and not which gets the processor.  The rate is such that the
 * workers are 70 or 85 percent busy.
 *
 * The waiting of a connection is from just before its connect() until a
 * worker has its request in hand; the worker says when that was.  The streams
 * are the same for all servers of a round: same arrivals, same long ones.
 * Values are of all rounds together, in milliseconds; the ratio is to the
 * p99.9 of `shared`.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "../support/aims.h"
#include "../support/bench.h"
#include "../support/clients.h"
#include "../support/options.h"
#include "../support/samples.h"
#include "../support/server.h"

enum {
	LONG_PERCENT = 1
};

static const int busy_of[] = { 70, 85 };

/* The long requests are every hundredth; both in microseconds. */
struct load {
	int64_t workers, brief, lasting;
};

static const struct load loads[] = {
	{ .workers = 16, .brief = 1000, .lasting = 200000 },
	{ .workers = 4, .brief = 100, .lasting = 20000 },
};

#define LOADS (sizeof(loads) / sizeof(loads[0]))

struct waits {
	struct bench bench;
	int64_t rounds, seconds, seed;
	struct load load;
	const char *options;
	struct server servers[SERVERS];
	struct samples times[SERVERS];
	bool present[SERVERS];
	bool failed;
};

struct stream {
	uint64_t seed;
	const struct load *load;
	struct samples *times;
};

/* A number drawn for connection `number`: splitmix64 (Steele et al., 2014). */
static uint64_t
stream_draw(const struct stream *s, int64_t number)
{
	uint64_t z = s->seed + (uint64_t)(number + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static size_t
stream_request(void *arg, int64_t number, char *buf, size_t size)
{
	const struct stream *s = arg;
	bool is_long = stream_draw(s, number) % 100 < LONG_PERCENT;

	return (size_t)snprintf(buf, size, "sleep %" PRId64 "\n",
	    is_long ? s->load->lasting : s->load->brief);
}

static void
stream_ended(void *arg, const struct client_result *r)
{
	const struct stream *s = arg;
	char text[64] = "";

	if (r->end != CLIENT_ANSWERED || r->len >= sizeof(text))
		return;
	memcpy(text, r->answer, r->len);
	samples_add(
	    s->times, (double)(strtoll(text, NULL, 10) - r->started) / 1e6);
}

static void
waits_run(struct waits *w, enum server_name name, int busy, int64_t round)
{
	int64_t sum = w->load.brief * (100 - LONG_PERCENT) +
	    w->load.lasting * LONG_PERCENT;
	double rate = (double)(w->load.workers * busy) * 1e6 / (double)sum;
	struct stream stream = {
		.seed = (uint64_t)(w->seed + round),
		.load = &w->load,
		.times = &w->times[name],
	};
	const struct client_plan plan = {
		.to = w->servers[name].at,
		.count = (int64_t)(rate * (double)w->seconds),
		.concurrency = 4000,
		.rate = rate,
		.seed = (uint64_t)(w->seed + round),
		.timeout = TSPAN_SECONDS(20),
		.limit = TSPAN_SECONDS(w->seconds * 2 + 20),
		.request = stream_request,
		.ended = stream_ended,
		.arg = &stream,
	};
	struct clients_totals totals;

	if (clients_run(&plan, &totals) == -1)
		err(EX_OSERR, "clients");
	if (totals.ends[CLIENT_ANSWERED] == totals.started)
		return;
	warnx("%s: %" PRId64 " of %" PRId64 " connections unanswered",
	    server_title(name), totals.started - totals.ends[CLIENT_ANSWERED],
	    totals.started);
	w->failed = true;
}

/* Aims are for the loads of their own. */
static void
waits_note(const struct waits *w, int busy, double ratio)
{
	bool brief = w->load.brief < 1000;

	if (busy == 70 && brief)
		return;
	aims_note(ratio, "<=", brief ? 1.5 : 1.1,
	    "p99.9 of the waits, to shared: %g/%g ms, %" PRId64
	    " workers, %d %% busy",
	    (double)w->load.brief / 1e3, (double)w->load.lasting / 1e3,
	    w->load.workers, busy);
}

static void
waits_row(struct waits *w, int busy)
{
	double shared = 0;
	int64_t round;
	int i;

	for (i = 0; i < SERVERS; i++)
		samples_clear(&w->times[i]);
	for (round = 0; round < w->rounds; round++)
		for (i = 0; i < SERVERS; i++)
			if (w->present[i])
				waits_run(w, (enum server_name)i, busy, round);
	for (i = 0; i < SERVERS; i++) {
		struct samples *t = &w->times[i];
		double tail = samples_quantile(t, 0.999);

		if (i == SERVER_SHARED)
			shared = tail;
		if (!w->present[i])
			continue;
		printf("%4d %-9s %8zu %8.3f %8.3f %8.3f %8.3f %7.3f\n", busy,
		    server_title((enum server_name)i), t->count,
		    samples_quantile(t, 0.5), samples_quantile(t, 0.9),
		    samples_quantile(t, 0.99), tail, tail / shared);
		if (i == SERVER_APPPOOLD && shared > 0)
			waits_note(w, busy, tail / shared);
	}
	(void)fflush(stdout);
}

static void
waits_start(struct waits *w)
{
	char address[SERVER_PATH];
	const struct server_plan plan = {
		.address = address,
		.workers = (int)w->load.workers,
		.cpu = w->bench.server_cpu,
		.options = w->options,
	};
	int i;

	for (i = 0; i < SERVERS; i++) {
		w->present[i] = server_exists((enum server_name)i);
		if (!w->present[i]) {
			printf("%s is not there\n",
			    server_title((enum server_name)i));
			continue;
		}
		bench_address(&w->bench, "unix", address, sizeof(address));
		server_start(&w->servers[i], (enum server_name)i,
		    w->bench.folder, &plan);
	}
}

/* All servers, under each rate. */
static void
waits_table(struct waits *w)
{
	size_t i;

	printf("waits: %" PRId64
	       " workers, %d %% of requests %g ms, the others "
	       "%g ms; %" PRId64 " rounds of %" PRId64 " s\n",
	    w->load.workers, LONG_PERCENT, (double)w->load.lasting / 1000,
	    (double)w->load.brief / 1000, w->rounds, w->seconds);
	waits_start(w);
	printf("%4s %-9s %8s %8s %8s %8s %8s %7s\n", "busy", "server", "count",
	    "p50", "p90", "p99", "p99.9", "/shared");
	for (i = 0; i < sizeof(busy_of) / sizeof(busy_of[0]); i++)
		waits_row(w, busy_of[i]);
	for (i = 0; i < SERVERS; i++) {
		if (w->present[i])
			server_stop(&w->servers[i]);
		samples_fini(&w->times[i]);
	}
}

int
main(int argc, char **argv)
{
	struct waits w = {
		.rounds = 3,
		.seconds = 4,
		.seed = 1,
		.load = { .brief = 1000, .lasting = 200000 },
	};
	const struct option_place options[] = {
		{ "rounds", .number = &w.rounds, .min = 1, .max = 1000 },
		{ "seconds", .number = &w.seconds, .min = 1, .max = 600 },
		{ "workers", .number = &w.load.workers, .min = 1, .max = 1000 },
		{ "short", .number = &w.load.brief, .min = 1, .max = 10000000 },
		{ "long", .number = &w.load.lasting, .min = 1,
		    .max = 10000000 },
		{ "options", .text = &w.options },
		{ "seed", .number = &w.seed, .min = 0, .max = INT32_MAX },
		{ .name = NULL },
	};
	size_t i;

	options_parse(options, argc, argv, "waits [option ...]");
	(void)clients_raise_nofile();
	bench_init(&w.bench);
	bench_pin(&w.bench);
	if (w.load.workers > 0)
		waits_table(&w);
	for (i = 0; w.load.workers == 0 && i < LOADS; i++) {
		struct waits one = w;

		one.load = loads[i];
		waits_table(&one);
		w.failed = w.failed || one.failed;
	}
	bench_fini(&w.bench);
	return w.failed;
}
