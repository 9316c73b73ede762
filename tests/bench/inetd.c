/*
 * inetd: a shell script for each connection, on its standard descriptors.
 *
 *     inetd [--rate N] [--rounds N] [--seconds N] [--seed N]
 *
 * Clients come in a Poisson stream, `rate` (200) of them a second.  The script
 * reads a line and writes it.  `forker` forks when a connection comes, as
 * inetd does; apppoold has 8 adapters ready, under handoff = stdio, which
 * become the script, and starts others while it runs.
 *
 * The time is from just before connect() to the end of the answer, in
 * milliseconds; of all rounds together.  The streams of a round are the same
 * for both, and they take turns.  The ratio is to forker's.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "../support/bench.h"
#include "../support/clients.h"
#include "../support/options.h"
#include "../support/samples.h"
#include "../support/server.h"

static const struct {
	enum server_name name;
	const char *title;
} kinds[] = {
	{ SERVER_SHARED, "forker" },
	{ SERVER_APPPOOLD, "apppoold" },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct inetd {
	struct bench bench;
	int64_t rate, rounds, seconds, seed;
	struct server servers[KINDS];
	struct samples times[KINDS];
	bool failed;
};

static size_t
write_request(void *arg, int64_t number, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(buf, size, "hello %" PRId64 "\n", number);
}

static void
ended(void *arg, const struct client_result *r)
{
	if (r->end == CLIENT_ANSWERED)
		samples_add(arg, (double)(r->ended - r->started) / 1e6);
}

static void
load(struct inetd *b, size_t kind, int64_t round)
{
	const struct client_plan plan = {
		.to = b->servers[kind].at,
		.count = b->rate * b->seconds,
		.concurrency = 1000,
		.rate = (double)b->rate,
		.seed = (uint64_t)(b->seed + round),
		.timeout = TSPAN_SECONDS(20),
		.limit = TSPAN_SECONDS(b->seconds * 2 + 20),
		.request = write_request,
		.ended = ended,
		.arg = &b->times[kind],
	};
	struct clients_totals totals;

	if (clients_run(&plan, &totals) == -1)
		err(EX_OSERR, "clients");
	if (totals.ends[CLIENT_ANSWERED] == totals.started)
		return;
	warnx("%s: %" PRId64 " of %" PRId64 " connections unanswered",
	    kinds[kind].title, totals.started - totals.ends[CLIENT_ANSWERED],
	    totals.started);
	b->failed = true;
}

static void
start(struct inetd *b, size_t kind)
{
	char address[SERVER_PATH];
	const struct server_plan plan = {
		.address = address,
		.workers = 8,
		.cpu = b->bench.server_cpu,
		.stdio = true,
	};

	bench_address(&b->bench, "unix", address, sizeof(address));
	server_start(
	    &b->servers[kind], kinds[kind].name, b->bench.folder, &plan);
}

static void
print(struct inetd *b)
{
	double median = samples_median(&b->times[0]);

	printf("%-9s %8s %8s %8s %8s %8s %7s\n", "server", "count", "p50",
	    "p90", "p99", "max", "/forker");
	for (size_t i = 0; i < KINDS; i++) {
		struct samples *t = &b->times[i];

		printf("%-9s %8zu %8.3f %8.3f %8.3f %8.3f %7.2f\n",
		    kinds[i].title, t->count, samples_quantile(t, 0.5),
		    samples_quantile(t, 0.9), samples_quantile(t, 0.99),
		    samples_quantile(t, 1), samples_median(t) / median);
	}
}

int
main(int argc, char **argv)
{
	struct inetd b = { .rate = 200, .rounds = 5, .seconds = 2, .seed = 1 };
	const struct option_place options[] = {
		{ "rate", .number = &b.rate, .min = 1, .max = 100000 },
		{ "rounds", .number = &b.rounds, .min = 1, .max = 1000 },
		{ "seconds", .number = &b.seconds, .min = 1, .max = 600 },
		{ "seed", .number = &b.seed, .min = 0, .max = INT32_MAX },
		{ .name = NULL },
	};

	options_parse(options, argc, argv, "inetd [option ...]");
	if (!server_exists(SERVER_APPPOOLD))
		errx(EX_UNAVAILABLE, "apppoold is not there");
	(void)clients_raise_nofile();
	bench_init(&b.bench);
	bench_pin(&b.bench);
	printf("inetd: a shell script for each connection, %" PRId64
	       " a second; %" PRId64 " rounds of %" PRId64 " s\n",
	    b.rate, b.rounds, b.seconds);
	for (size_t i = 0; i < KINDS; i++)
		start(&b, i);
	for (int64_t round = 0; round < b.rounds; round++)
		for (size_t i = 0; i < KINDS; i++)
			load(&b, i, round);
	print(&b);
	for (size_t i = 0; i < KINDS; i++) {
		server_stop(&b.servers[i]);
		samples_fini(&b.times[i]);
	}
	bench_fini(&b.bench);
	return b.failed;
}
