/*
 * parked: what clients cost that keep their connections.
 *
 *     parked [--rounds N] [--msec N] [--clients N] [--rate N]
 *            [--transport unix|tcp]
 *
 * So many clients (10,000) keep a connection each, and most of them are idle.
 * Requests come in a Poisson stream, 1,000, 5,000 and 10,000 a second, each
 * from an idle client drawn at random, and are answered by
 *
 *     nginx     one process that answers by itself
 *     apppoold  eight processes of contrib/workers/hello.c, which serve one
 *               connection at a time and park it
 *
 * The server has one processor, this program another.  Both servers exist at
 * the same time and are loaded in turn, round by round, for each rate about
 * --msec; for a round the clients connect anew.  A ratio is the median of the
 * ratios of the rounds, everything else the median of the rounds.
 *
 *     answers/s
 *     p50 p99   microseconds from the moment at which the request was due until
 *               all of the answer was there
 *     /nginx    the same, as a ratio to nginx's
 *     us/answer processor time of the daemon alone, an answer
 *     total     with its workers
 *
 * Then, of servers that have served 64 clients before: memory (PSS, of the
 * daemon and of the workers) that all clients together have it grow, in bytes
 * for each; and what opening them takes, with a first request each,
 * microseconds.
 *
 * Exit status: 1 if a request went unanswered.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "../support/bench.h"
#include "../support/client.h"
#include "../support/clients.h"
#include "../support/keepers.h"
#include "../support/options.h"
#include "../support/proc.h"
#include "../support/samples.h"
#include "../support/server.h"

enum {
	WORKERS = 8,
	WARM = 64,
	RATES = 3
};

static const int64_t rates[RATES] = { 1000, 5000, 10000 };

/* The ratios are to the first. */
static const enum server_name names[] = { SERVER_NGINX, SERVER_APPPOOLD };

enum {
	NAMES = sizeof(names) / sizeof(names[0])
};

enum figure {
	FIGURE_RATE,
	FIGURE_P50,
	FIGURE_P50_RATIO,
	FIGURE_P99,
	FIGURE_P99_RATIO,
	FIGURE_COST,
	FIGURE_TOTAL,
	FIGURES
};

struct memory {
	long daemon, all; /* bytes */
};

struct side {
	struct server server;
	bool present;
	struct samples of[RATES][FIGURES];
	struct samples opening; /* microseconds a client */
	struct memory grown; /* by the clients of the first round */
};

struct parked {
	struct bench bench;
	int64_t rounds, msec, clients, rate;
	const char *transport;
	char hello[BENCH_PATH * 4];
	struct side sides[NAMES];
};

static void
nap(int msec)
{
	const struct timespec t = { .tv_nsec = TSPAN_MSECONDS(msec) };

	(void)nanosleep(&t, NULL);
}

static void
parked_start(struct parked *p, struct side *side, enum server_name name)
{
	char address[SERVER_PATH], options[128];
	const struct server_plan plan = {
		.address = address,
		.workers = name == SERVER_NGINX ? 1 : WORKERS,
		.cpu = p->bench.server_cpu,
		.worker = p->hello,
		.options = options,
	};

	side->present = server_exists(name);
	if (!side->present) {
		printf("%s is not there\n", server_title(name));
		return;
	}
	(void)snprintf(options, sizeof(options),
	    "keep_alive = true\n\tkeep_alive_timeout = 1h\n"
	    "\tmax_parked = %" PRId64,
	    p->clients);
	bench_address(&p->bench, p->transport, address, sizeof(address));
	server_start(&side->server, name, p->bench.folder, &plan);
}

/* --- memory ------------------------------------------------------------- */

static void
memory_add(void *arg, pid_t pid)
{
	long rss, pss;

	proc_memory(pid, &rss, &pss);
	*(long *)arg += pss;
}

static struct memory
memory_of(const struct server *s)
{
	struct memory m = { 0 };

	memory_add(&m.daemon, s->pid);
	m.all = m.daemon;
	proc_each_child(s->pid, memory_add, &m.all);
	return m;
}

/* When it has served some clients, and none is connected. */
static struct memory
warm_memory(const struct server *s)
{
	struct keepers *k = keepers_open(&s->at, WARM);
	const struct keepers_load load = { .rate = 2000,
		.span = TSPAN_MSECONDS(500) };
	struct keepers_totals totals;

	keepers_run(k, &load, &totals);
	keepers_close(k);
	nap(200);
	return memory_of(s);
}

static void
memory_print(struct parked *p)
{
	printf("\n%-9s %8s %8s %8s\n", "", "daemon B", "all B", "open us");
	for (int i = 0; i < NAMES; i++) {
		struct side *side = &p->sides[i];

		if (!side->present)
			continue;
		printf("%-9s %8.0f %8.0f %8.1f\n", server_title(names[i]),
		    (double)side->grown.daemon / (double)p->clients,
		    (double)side->grown.all / (double)p->clients,
		    samples_median(&side->opening));
	}
}

/* --- load --------------------------------------------------------------- */

static void
load_once(struct parked *p, struct side *side, struct keepers *k, int rate,
    int64_t round)
{
	struct samples times = { 0 };
	const struct keepers_load load = {
		.rate = (double)rates[rate],
		.span = TSPAN_MSECONDS(p->msec),
		.seed = (uint64_t)(round * RATES + rate),
		.times = &times,
	};
	struct keepers_totals totals;
	struct samples *of = side->of[rate];
	tspan cpu = proc_cpu(side->server.pid);
	tspan all = proc_cpu_all(side->server.pid);
	double answered;

	keepers_run(k, &load, &totals);
	answered = (double)totals.answered;
	cpu = proc_cpu(side->server.pid) - cpu;
	all = proc_cpu_all(side->server.pid) - all;
	samples_add(&of[FIGURE_RATE], answered * 1e9 / (double)totals.elapsed);
	samples_add(&of[FIGURE_P50], samples_quantile(&times, 0.5));
	samples_add(&of[FIGURE_P99], samples_quantile(&times, 0.99));
	samples_add(&of[FIGURE_COST], (double)cpu / 1e3 / answered);
	samples_add(&of[FIGURE_TOTAL], (double)all / 1e3 / answered);
	samples_fini(&times);
}

static bool
takes_part(const struct parked *p, int rate)
{
	return p->rate == 0 || p->rate == rates[rate];
}

static void
side_round(struct parked *p, struct side *side, int64_t round)
{
	const struct server *s = &side->server;
	struct memory before = { 0 };
	struct keepers *k;
	tstamp began;

	if (round == 0)
		before = warm_memory(s);
	began = client_now();
	k = keepers_open(&s->at, (int)p->clients);
	samples_add(&side->opening,
	    (double)(client_now() - began) / 1e3 / (double)p->clients);
	/* The last workers have yet to report. */
	nap(100);
	if (round == 0) {
		side->grown = memory_of(s);
		side->grown.daemon -= before.daemon;
		side->grown.all -= before.all;
	}
	for (int i = 0; i < RATES; i++)
		if (takes_part(p, i))
			load_once(p, side, k, i, round);
	keepers_close(k);
	nap(100);
}

static void
compare(struct side *side, const struct side *base, enum figure ratio,
    enum figure of)
{
	for (int i = 0; i < RATES; i++) {
		const struct samples *ours = &side->of[i][of],
				     *theirs = &base->of[i][of];

		if (ours->count > 0 && ours->count == theirs->count)
			samples_add(&side->of[i][ratio],
			    ours->at[ours->count - 1] /
				theirs->at[theirs->count - 1]);
	}
}

/* The first is another each time. */
static void
parked_round(struct parked *p, int64_t round)
{
	for (int i = 0; i < NAMES; i++) {
		struct side *side = &p->sides[(i + round) % NAMES];

		if (side->present)
			side_round(p, side, round);
	}
	for (int i = 0; i < NAMES; i++) {
		compare(
		    &p->sides[i], &p->sides[0], FIGURE_P50_RATIO, FIGURE_P50);
		compare(
		    &p->sides[i], &p->sides[0], FIGURE_P99_RATIO, FIGURE_P99);
	}
}

static void
parked_print(struct parked *p)
{
	printf("%9s %-9s %9s %8s %6s %8s %6s %9s %6s\n", "rate", "server",
	    "answers/s", "p50", "/nginx", "p99", "/nginx", "us/answer",
	    "total");
	for (int rate = 0; rate < RATES; rate++)
		for (int i = 0; i < NAMES && takes_part(p, rate); i++) {
			struct samples *of = p->sides[i].of[rate];

			if (!p->sides[i].present)
				continue;
			printf("%9" PRId64 " %-9s %9.0f %8.0f %6.2f %8.0f "
			       "%6.2f %9.1f %6.1f\n",
			    rates[rate], server_title(names[i]),
			    samples_median(&of[FIGURE_RATE]),
			    samples_median(&of[FIGURE_P50]),
			    samples_median(&of[FIGURE_P50_RATIO]),
			    samples_median(&of[FIGURE_P99]),
			    samples_median(&of[FIGURE_P99_RATIO]),
			    samples_median(&of[FIGURE_COST]),
			    samples_median(&of[FIGURE_TOTAL]));
		}
}

static void
parked_fini(struct parked *p)
{
	for (int i = 0; i < NAMES; i++)
		if (p->sides[i].present)
			server_stop(&p->sides[i].server);
	bench_fini(&p->bench);
}

/* The sample that was built with this program. */
static void
find_hello(char *out, size_t size)
{
	bench_program("../../../contrib/hello", out, size);
	if (access(out, X_OK) == -1)
		err(EX_UNAVAILABLE, "%s", out);
}

int
main(int argc, char **argv)
{
	struct parked p = {
		.rounds = 5, .msec = 1000, .clients = 10000, .transport = "tcp"
	};
	const struct option_place options[] = {
		{ "rounds", .number = &p.rounds, .min = 1, .max = 1000 },
		{ "msec", .number = &p.msec, .min = 1, .max = 60000 },
		{ "clients", .number = &p.clients, .min = 100, .max = 18000 },
		{ "rate", .number = &p.rate, .min = 1, .max = 10000 },
		{ "transport", .text = &p.transport },
		{ .name = NULL },
	};
	int nofile = clients_raise_nofile();

	options_parse(options, argc, argv, "parked [option ...]");
	if (nofile < p.clients + 1000) {
		p.clients = nofile - 1000;
		printf("parked: %d descriptors only\n", nofile);
	}
	bench_init(&p.bench);
	bench_pin(&p.bench);
	find_hello(p.hello, sizeof(p.hello));
	printf("parked: %" PRId64 " rounds of about %" PRId64 " ms, %" PRId64
	       " clients over %s; servers on processor %d, clients on %d\n",
	    p.rounds, p.msec, p.clients, p.transport, p.bench.server_cpu,
	    p.bench.load_cpu);
	for (int i = 0; i < NAMES; i++)
		parked_start(&p, &p.sides[i], names[i]);
	for (int64_t round = 0; round < p.rounds; round++)
		parked_round(&p, round);
	parked_print(&p);
	memory_print(&p);
	parked_fini(&p);
	return 0;
}
