/*
 * handover: what it costs to have a connection handed over.
 *
 *     handover [--rounds N] [--msec N] [--transport unix|tcp] [--workers N]
 *              [--work USEC]
 *
 * Compares, with the same workers and the same requests:
 *
 *     shared    the workers accept from one listener, without a dispatcher
 *     pass      a bare dispatcher
 *     apppoold
 *
 * over Unix and TCP sockets, with 1, 8 and 64 workers, and requests that need
 * nothing, 200 us or 1 ms of processor time.  The server with its workers has
 * one processor, this program another.  Clients come in a closed loop, twice
 * as many as there are workers (at least 4), so that a client always waits.
 * The servers of a row all exist at the same time and are loaded in turn,
 * round by round, each for about --msec, at most four times that; a ratio is
 * the median of the ratios of the rounds, everything else the median of the
 * rounds.
 *
 *     conns/s   connections a second
 *     /shared   the same, as a ratio to shared
 *     us/conn   processor time of the dispatcher alone, a connection
 *     /pass     the same, as a ratio to pass
 *     total     processor time of the dispatcher and its workers, a connection
 *     /shared   that of shared, as a ratio to this: what conns/s would be to
 *               shared's if each had a processor to itself and never waited
 *               for clients.  The figure to look at on a busy machine
 *     busy      how much of its processor the server used, percent: where it
 *               is well below 100, the clients were the limit, or somebody
 *               else on the machine, and conns/s says little
 *     p50 p99 p99.9   microseconds from connect to the end of the stream,
 *               all rounds together
 *
 * Exit status: 1 if a connection went unanswered.
 */

#include <assert.h>
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "../support/aims.h"
#include "../support/bench.h"
#include "../support/clients.h"
#include "../support/options.h"
#include "../support/proc.h"
#include "../support/samples.h"
#include "../support/server.h"
#include "../support/spin.h"

/* The cost of a connection beyond its work, about: sizes the runs. */
enum {
	OVERHEAD_USEC = 15
};

static const char *const transports[] = { "unix", "tcp" };
static const int64_t workers_of[] = { 1, 8, 64 };
static const int64_t work_of[] = { 0, 200, 1000 };

/* The figures of a line of the table: a sample of each for each round. */
enum figure {
	FIGURE_RATE, /* connections a second */
	FIGURE_RATE_RATIO,
	FIGURE_COST, /* of the dispatcher, microseconds a connection */
	FIGURE_COST_RATIO,
	FIGURE_TOTAL, /* with its workers */
	FIGURE_TOTAL_RATIO,
	FIGURE_BUSY, /* percent of its processor */
	FIGURE_TIME, /* of each single connection, microseconds */
	FIGURES
};

struct figures {
	struct samples of[FIGURES];
};

struct handover {
	struct bench bench;
	int64_t rounds, msec;
	const char *transport; /* NULL: all */
	int64_t workers, work; /* -1: all */
	double rounds_per_usec; /* of spin() */
	struct server servers[SERVERS];
	struct figures figures[SERVERS];
	bool present[SERVERS];
	bool failed;
};

/* --- figures ------------------------------------------------------------ */

static void
figures_clear(struct figures *f)
{
	for (int i = 0; i < FIGURES; i++)
		samples_clear(&f->of[i]);
}

static double
figures_last(const struct figures *f, enum figure figure)
{
	const struct samples *s = &f->of[figure];

	assert(s->count > 0);
	return s->at[s->count - 1];
}

/* Ratios of the last round: rates to `shared`, costs to `pass`. */
static void
figures_compare(
    struct figures *f, const struct figures *shared, const struct figures *pass)
{
	samples_add(&f->of[FIGURE_RATE_RATIO],
	    figures_last(f, FIGURE_RATE) / figures_last(shared, FIGURE_RATE));
	samples_add(&f->of[FIGURE_COST_RATIO],
	    figures_last(f, FIGURE_COST) / figures_last(pass, FIGURE_COST));
	/* The costs are inverted, so that the ratio is one of rates. */
	samples_add(&f->of[FIGURE_TOTAL_RATIO],
	    figures_last(shared, FIGURE_TOTAL) / figures_last(f, FIGURE_TOTAL));
}

static void
figures_print_titles(void)
{
	printf(" %8s %7s %8s %6s %8s %7s %5s %8s %8s %8s\n", "conns/s",
	    "/shared", "us/conn", "/pass", "total", "/shared", "busy", "p50",
	    "p99", "p99.9");
}

static void
figures_print(struct figures *f)
{
	printf(" %8.0f %7.3f %8.2f %6.2f %8.2f %7.3f %5.0f",
	    samples_median(&f->of[FIGURE_RATE]),
	    samples_median(&f->of[FIGURE_RATE_RATIO]),
	    samples_median(&f->of[FIGURE_COST]),
	    samples_median(&f->of[FIGURE_COST_RATIO]),
	    samples_median(&f->of[FIGURE_TOTAL]),
	    samples_median(&f->of[FIGURE_TOTAL_RATIO]),
	    samples_median(&f->of[FIGURE_BUSY]));
	printf(" %8.0f %8.0f %8.0f\n",
	    samples_quantile(&f->of[FIGURE_TIME], 0.5),
	    samples_quantile(&f->of[FIGURE_TIME], 0.99),
	    samples_quantile(&f->of[FIGURE_TIME], 0.999));
	(void)fflush(stdout);
}

/* --- load --------------------------------------------------------------- */

/* State of one run of the clients. */
struct load {
	char request[64];
	struct samples *times;
};

static size_t
load_request(void *arg, int64_t number, char *buf, size_t size)
{
	const struct load *load = arg;

	(void)number;
	return strlcpy(buf, load->request, size);
}

static void
load_ended(void *arg, const struct client_result *r)
{
	const struct load *load = arg;

	samples_add(load->times, (double)(r->ended - r->started) / 1e3);
}

/* Rounds of spin() in a microsecond: the best of many, undisturbed. */
static double
spin_rate(void)
{
	const uint64_t rounds = 20000;
	tspan best = TSTAMP_NEVER;
	int i;

	for (i = 0; i < 2000; i++) {
		tstamp from = client_now();
		tspan took;

		(void)spin(rounds);
		took = client_now() - from;
		if (took < best)
			best = took;
	}
	return (double)rounds * 1e3 / (double)best;
}

/* After the last client has seen its end, its worker has yet to report. */
static void
handover_settle(void)
{
	const struct timespec nap = { .tv_nsec = TSPAN_MSECONDS(2) };

	(void)nanosleep(&nap, NULL);
}

static void
handover_load(struct handover *h, const struct server *s, int64_t count,
    int64_t workers, const char *request, struct figures *f)
{
	struct load load = { .times = &f->of[FIGURE_TIME] };
	const struct client_plan plan = {
		.to = s->at,
		.count = count,
		.concurrency = workers < 2 ? 4 : (int)workers * 2,
		.timeout = TSPAN_SECONDS(20),
		.limit = TSPAN_MSECONDS(4 * h->msec),
		.request = load_request,
		.ended = load_ended,
		.arg = &load,
	};
	struct clients_totals totals;
	tspan cpu = proc_cpu(s->pid), all = proc_cpu_all(s->pid);
	double answered;

	(void)strlcpy(load.request, request, sizeof(load.request));
	if (clients_run(&plan, &totals) == -1)
		err(EX_OSERR, "clients");
	handover_settle();
	cpu = proc_cpu(s->pid) - cpu;
	all = proc_cpu_all(s->pid) - all;

	answered = (double)totals.ends[CLIENT_ANSWERED];
	if (totals.ends[CLIENT_ANSWERED] != totals.started) {
		warnx("%s: %" PRId64 " of %" PRId64 " connections unanswered",
		    server_title(s->name),
		    totals.started - totals.ends[CLIENT_ANSWERED],
		    totals.started);
		h->failed = true;
	}
	samples_add(
	    &f->of[FIGURE_RATE], answered * 1e9 / (double)totals.elapsed);
	samples_add(&f->of[FIGURE_COST], (double)cpu / 1e3 / answered);
	samples_add(&f->of[FIGURE_TOTAL], (double)all / 1e3 / answered);
	samples_add(
	    &f->of[FIGURE_BUSY], 100.0 * (double)all / (double)totals.elapsed);
}

/* Loads each server once; the first is another each time. */
static void
handover_round(struct handover *h, int64_t round, int64_t count,
    int64_t workers, const char *request)
{
	int i;

	for (i = 0; i < SERVERS; i++) {
		int name = (int)((i + round) % SERVERS);

		if (h->present[name])
			handover_load(h, &h->servers[name], count, workers,
			    request, &h->figures[name]);
	}
	for (i = 0; i < SERVERS; i++)
		if (h->present[i])
			figures_compare(&h->figures[i],
			    &h->figures[SERVER_SHARED],
			    &h->figures[SERVER_PASS]);
}

/* Notes the figures of apppoold that have an aim: of requests without work. */
static void
handover_note(struct handover *h, const char *transport, int64_t workers)
{
	struct figures *f = &h->figures[SERVER_APPPOOLD];
	bool tcp = strcmp(transport, "tcp") == 0;

	if (!h->present[SERVER_APPPOOLD])
		return;
	aims_note(samples_median(&f->of[FIGURE_COST_RATIO]),
	    "<=", tcp ? 1.20 : 1.15,
	    "processor time of the daemon, to that of pass: %s, %" PRId64
	    " workers",
	    transport, workers);
	if (tcp)
		aims_note(samples_median(&f->of[FIGURE_RATE_RATIO]), ">=", 1,
		    "connections a second, to shared: tcp, %" PRId64 " workers",
		    workers);
}

/* Prints a group of lines, with the servers running and warm. */
static void
handover_row(
    struct handover *h, const char *transport, int64_t workers, int64_t work)
{
	int64_t count = h->msec * 1000 / (OVERHEAD_USEC + work);
	char request[64] = "-\n";
	int64_t round;
	int i;

	/* Enough for every worker and every place in the loop. */
	if (count < workers * 8)
		count = workers * 8;
	if (work != 0)
		(void)snprintf(request, sizeof(request), "spin %.0f\n",
		    (double)work * h->rounds_per_usec);
	for (i = 0; i < SERVERS; i++)
		figures_clear(&h->figures[i]);
	for (round = 0; round < h->rounds; round++)
		handover_round(h, round, count, workers, request);
	for (i = 0; i < SERVERS; i++) {
		if (!h->present[i])
			continue;
		printf("%-5s %7" PRId64 " %6" PRId64 " %-9s", transport,
		    workers, work, server_title((enum server_name)i));
		figures_print(&h->figures[i]);
	}
	if (work == 0)
		handover_note(h, transport, workers);
}

static void
handover_group(struct handover *h, const char *transport, int64_t workers)
{
	char address[SERVER_PATH];
	size_t w;
	int i;

	for (i = 0; i < SERVERS; i++) {
		const struct server_plan plan = {
			.address = address,
			.workers = (int)workers,
			.cpu = h->bench.server_cpu,
		};

		if (!h->present[i])
			continue;
		bench_address(&h->bench, transport, address, sizeof(address));
		server_start(&h->servers[i], (enum server_name)i,
		    h->bench.folder, &plan);
		handover_load(h, &h->servers[i], 1000 + workers * 10, workers,
		    "-\n", &h->figures[i]);
	}
	if (h->work != -1)
		handover_row(h, transport, workers, h->work);
	else
		for (w = 0; w < sizeof(work_of) / sizeof(work_of[0]); w++)
			handover_row(h, transport, workers, work_of[w]);
	for (i = 0; i < SERVERS; i++)
		if (h->present[i])
			server_stop(&h->servers[i]);
}

static void
handover_all(struct handover *h)
{
	size_t t, w;

	printf("%-5s %7s %6s %-9s", "", "workers", "work", "server");
	figures_print_titles();
	for (t = 0; t < sizeof(transports) / sizeof(transports[0]); t++) {
		if (h->transport != NULL &&
		    strcmp(h->transport, transports[t]) != 0)
			continue;
		if (h->workers != -1) {
			handover_group(h, transports[t], h->workers);
			continue;
		}
		for (w = 0; w < sizeof(workers_of) / sizeof(workers_of[0]); w++)
			handover_group(h, transports[t], workers_of[w]);
	}
}

int
main(int argc, char **argv)
{
	struct handover h = {
		.rounds = 5, .msec = 250, .workers = -1, .work = -1
	};
	const struct option_place options[] = {
		{ "rounds", .number = &h.rounds, .min = 1, .max = 1000 },
		{ "msec", .number = &h.msec, .min = 1, .max = 10000 },
		{ "transport", .text = &h.transport },
		{ "workers", .number = &h.workers, .min = 1, .max = 4000 },
		{ "work", .number = &h.work, .min = 0, .max = 100000 },
		{ .name = NULL },
	};
	int i;

	options_parse(options, argc, argv, "handover [option ...]");
	(void)clients_raise_nofile();
	bench_init(&h.bench);
	bench_pin(&h.bench);
	h.rounds_per_usec = spin_rate();
	printf("handover: %" PRId64 " rounds of about %" PRId64
	       " ms; servers on processor %d, clients on %d; spin %.0f/us\n",
	    h.rounds, h.msec, h.bench.server_cpu, h.bench.load_cpu,
	    h.rounds_per_usec);
	for (i = 0; i < SERVERS; i++) {
		h.present[i] = server_exists((enum server_name)i);
		if (!h.present[i])
			printf("%s is not there\n",
			    server_title((enum server_name)i));
	}
	handover_all(&h);
	bench_fini(&h.bench);
	return h.failed;
}
