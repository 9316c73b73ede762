/*
 * growth: how soon a pool is as large as its clients need it.
 *
 *     growth [--rounds N] [--workers N] [--request MSEC]
 *
 * As many clients as there may be workers (32) come at once to a pool of two,
 * and each comes again as soon as it is served, until all together have been
 * served eight times as often.  A request sleeps (20 ms), so the processors are
 * free for the starts, which take 2, 50 or 500 ms: the program sleeps before it
 * says READY, on top of what its exec takes.
 *
 * `full` is when the last worker began its first request.  `lost` is the time
 * that a client spent waiting, all its requests together; both in milliseconds
 * since the first client came, medians of the rounds.  `workers` is how many
 * served.  By default a pool grows until nobody waits; with a promised wait it
 * has as many as keep that, which fewer do.  Beside that stand start_delay = 0,
 * the limit of what growing can do, and a pool that has all workers from the
 * beginning.
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
	FIRST_WORKERS = 2,
	REQUESTS_EACH = 8,
	WORKERS_MAX = 1000
};

static const int starts_msec[] = { 2, 50, 500 };

enum {
	WAY_DEFAULT,
	WAY_PROMISED,
	WAY_LINEAR,
	WAY_ALL,
	WAY_LIMIT,
	WAY_FULL,
	WAYS
};

static const struct way {
	const char *title;
	const char *options; /* of the app */
	bool full; /* all workers from the beginning */
} ways[WAYS] = {
	[WAY_DEFAULT] = { "default", "", false },
	[WAY_PROMISED] = { "promised", "target_wait = 20ms", false },
	[WAY_LINEAR] = { "linear", "start_delay_step = linear", false },
	[WAY_ALL] = { "all", "start_delay_step = all", false },
	[WAY_LIMIT] = { "start_delay 0", "start_delay = 0", false },
	[WAY_FULL] = { "full", "", true },
};

struct growth {
	struct bench bench;
	int64_t rounds, workers, request;
	struct samples full[WAYS], lost[WAYS], count[WAYS];
	bool failed;
};

/* A load, and what its answers tell. */
struct load {
	const struct growth *growth;
	long pids[WORKERS_MAX];
	size_t npids;
	tstamp first; /* when the first client came */
	tstamp full; /* when the latest worker began its first request */
	tspan waited; /* all requests together */
};

static size_t
load_request(void *arg, int64_t number, char *buf, size_t size)
{
	const struct load *l = arg;

	(void)number;
	return (size_t)snprintf(
	    buf, size, "sleep %" PRId64 "\n", l->growth->request * 1000);
}

/* The worker is seen; true: for the first time. */
static bool
load_see(struct load *l, long pid)
{
	for (size_t i = 0; i < l->npids; i++)
		if (l->pids[i] == pid)
			return false;
	if (l->npids < WORKERS_MAX)
		l->pids[l->npids++] = pid;
	return true;
}

static void
load_ended(void *arg, const struct client_result *r)
{
	struct load *l = arg;
	char text[64] = "";
	char *end;
	tstamp begun;

	if (r->end != CLIENT_ANSWERED || r->len >= sizeof(text))
		return;
	memcpy(text, r->answer, r->len);
	begun = strtoll(text, &end, 10);
	if (l->first == 0 || r->started < l->first)
		l->first = r->started;
	l->waited += begun - r->started;
	if (load_see(l, strtol(end, NULL, 10)) && begun > l->full)
		l->full = begun;
}

static void
growth_load(struct growth *g, const struct server *s, unsigned way)
{
	struct load l = { .growth = g };
	const struct client_plan plan = {
		.to = s->at,
		.count = g->workers * REQUESTS_EACH,
		.concurrency = (int)g->workers,
		.timeout = TSPAN_SECONDS(20),
		.limit = TSPAN_SECONDS(60),
		.request = load_request,
		.ended = load_ended,
		.arg = &l,
	};
	struct clients_totals totals;

	if (clients_run(&plan, &totals) == -1)
		err(EX_OSERR, "clients");
	if (totals.ends[CLIENT_ANSWERED] != totals.started) {
		warnx("%s: unanswered connections", ways[way].title);
		g->failed = true;
	}
	samples_add(&g->full[way], (double)(l.full - l.first) / 1e6);
	samples_add(&g->lost[way], (double)(l.waited / g->workers) / 1e6);
	samples_add(&g->count[way], (double)l.npids);
}

static void
growth_round(struct growth *g, int start, unsigned way)
{
	char address[BENCH_PATH];
	const struct server_plan plan = {
		.address = address,
		.workers = (int)g->workers,
		.first = ways[way].full ? 0 : FIRST_WORKERS,
		.start_usec = start * 1000,
		.options = ways[way].options,
		.cpu = -1,
	};
	struct server s;

	bench_address(&g->bench, "unix", address, sizeof(address));
	server_start(&s, SERVER_APPPOOLD, g->bench.folder, &plan);
	growth_load(g, &s, way);
	server_stop(&s);
}

/* The time lost is that beyond what the limit of growing loses. */
static void
growth_note(struct growth *g)
{
	aims_note(samples_median(&g->full[WAY_DEFAULT]), "<=", 25,
	    "ms until as many processes as clients: starts of %d ms",
	    starts_msec[0]);
	aims_note(samples_median(&g->lost[WAY_DEFAULT]) -
		samples_median(&g->lost[WAY_LIMIT]),
	    "<=", 20,
	    "ms that a client loses beyond start_delay = 0: the same");
}

static void
growth_rows(struct growth *g, int start)
{
	for (unsigned way = 0; way < WAYS; way++) {
		samples_clear(&g->full[way]);
		samples_clear(&g->lost[way]);
		samples_clear(&g->count[way]);
	}
	for (int64_t round = 0; round < g->rounds; round++)
		for (unsigned way = 0; way < WAYS; way++)
			growth_round(g, start, way);
	for (unsigned way = 0; way < WAYS; way++)
		printf("%5d %-13s %8.0f %8.1f %8.1f\n", start, ways[way].title,
		    samples_median(&g->count[way]),
		    samples_median(&g->full[way]),
		    samples_median(&g->lost[way]));
	(void)fflush(stdout);
	if (start == starts_msec[0])
		growth_note(g);
}

int
main(int argc, char **argv)
{
	struct growth g = { .rounds = 5, .workers = 32, .request = 20 };
	const struct option_place options[] = {
		{ "rounds", .number = &g.rounds, .min = 1, .max = 1000 },
		{ "workers", .number = &g.workers, .min = 3,
		    .max = WORKERS_MAX },
		{ "request", .number = &g.request, .min = 1, .max = 10000 },
		{ .name = NULL },
	};

	options_parse(options, argc, argv, "growth [option ...]");
	(void)clients_raise_nofile();
	bench_init(&g.bench);
	if (!server_exists(SERVER_APPPOOLD)) {
		printf("growth: apppoold is not there\n");
		bench_fini(&g.bench);
		return 0;
	}
	printf("growth: from %d to %" PRId64 " workers, requests of %" PRId64
	       " ms; %" PRId64 " rounds\n",
	    FIRST_WORKERS, g.workers, g.request, g.rounds);
	printf("%5s %-13s %8s %8s %8s\n", "start", "way", "workers", "full",
	    "lost");
	for (size_t i = 0; i < sizeof(starts_msec) / sizeof(*starts_msec); i++)
		growth_rows(&g, starts_msec[i]);
	bench_fini(&g.bench);
	return g.failed;
}
