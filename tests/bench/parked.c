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

#include <sys/epoll.h>
#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "../support/bench.h"
#include "../support/client.h"
#include "../support/clients.h"
#include "../support/options.h"
#include "../support/proc.h"
#include "../support/samples.h"
#include "../support/server.h"
#include "core/prng.h"

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

/* --- clients ------------------------------------------------------------ */

/*
 * HTTP clients that keep their connections, in one thread: all are connected at
 * once, and most are idle.  An error ends the program.
 */

enum {
	BATCH = 256,
	OPENING = 64, /* first requests at a time */
	ANSWER_MAX = 1024
};

/* An answer takes no longer, or else the program ends. */
#define PATIENCE TSPAN_SECONDS(30)

struct keeper {
	int fd;
	bool asks;
	tstamp due; /* when it was to ask */
	size_t used;
	char answer[ANSWER_MAX];
};

/* Requests in a Poisson stream, each on an idle connection drawn at random. */
struct keepers_load {
	double rate; /* a second */
	tspan span;
	uint64_t seed;
	struct samples *times; /* microseconds from due to answered */
};

struct keepers_totals {
	int64_t asked, answered;
	tspan elapsed; /* from the first request to the last answer */
};

struct keepers {
	struct keeper *all;
	int count;
	int epfd;
	int asking;
	struct samples *times; /* of the load that runs, or NULL */
	struct keepers_totals totals;
};

static const char request[] = "GET / HTTP/1.1\r\nHost: bench\r\n\r\n";

static void
keeper_connect(struct keepers *k, struct keeper *c, const struct endpoint *to)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };

	c->fd = endpoint_connect(to);
	if (c->fd == -1)
		err(EX_OSERR, "connect");
	if (epoll_ctl(k->epfd, EPOLL_CTL_ADD, c->fd, &event) == -1)
		err(EX_OSERR, "epoll_ctl");
}

static void
keeper_ask(struct keepers *k, struct keeper *c, tstamp due)
{
	const size_t len = sizeof(request) - 1;

	c->due = due;
	c->used = 0;
	c->asks = true;
	k->asking++;
	k->totals.asked++;
	if (send(c->fd, request, len, MSG_NOSIGNAL) != (ssize_t)len)
		err(EX_SOFTWARE, "send");
}

/* Whether all of an answer is there; anything but 200 ends the program. */
static bool
keeper_is_answered(const struct keeper *c)
{
	static const char status[] = "HTTP/1.1 200 ",
			  field[] = "Content-Length: ";
	const char *end = memmem(c->answer, c->used, "\r\n\r\n", 4);
	const char *length;

	if (end == NULL)
		return false;
	length = memmem(
	    c->answer, (size_t)(end - c->answer), field, sizeof(field) - 1);
	if (strncmp(c->answer, status, sizeof(status) - 1) != 0 ||
	    length == NULL)
		errx(EX_SOFTWARE, "not the answer: %.*s", (int)c->used,
		    c->answer);
	end += 4 + strtol(length + sizeof(field) - 1, NULL, 10);
	if (end < c->answer + c->used)
		errx(EX_SOFTWARE, "more than an answer");
	return end == c->answer + c->used;
}

static void
keeper_ready(struct keepers *k, struct keeper *c)
{
	ssize_t n = recv(
	    c->fd, c->answer + c->used, ANSWER_MAX - c->used, MSG_DONTWAIT);

	if (n == -1 && errno == EAGAIN)
		return;
	if (n <= 0)
		errx(EX_SOFTWARE, "a connection has ended: %s",
		    n == 0 ? "end of file" : strerror(errno));
	c->used += (size_t)n;
	if (!c->asks)
		errx(EX_SOFTWARE, "an answer without a request");
	if (!keeper_is_answered(c))
		return;
	c->asks = false;
	k->asking--;
	k->totals.answered++;
	if (k->times != NULL)
		samples_add(k->times, (double)(client_now() - c->due) / 1e3);
}

/* Takes answers until the time. */
static void
keepers_turn(struct keepers *k, tstamp until)
{
	struct epoll_event ev[BATCH];
	tspan left = until - client_now();
	struct timespec patience = { 0 };
	int n;

	if (left > 0)
		patience = (struct timespec){ .tv_sec = left / TSPAN_SECONDS(1),
			.tv_nsec = left % TSPAN_SECONDS(1) };
	n = epoll_pwait2(k->epfd, ev, BATCH, &patience, NULL);
	for (int i = 0; i < n; i++)
		keeper_ready(k, ev[i].data.ptr);
}

/* Returns when no more than `most` clients wait for an answer. */
static void
keepers_await(struct keepers *k, int most)
{
	tstamp limit = tstamp_add(client_now(), PATIENCE);

	while (k->asking > most) {
		keepers_turn(k, limit);
		if (client_now() >= limit)
			errx(EX_SOFTWARE, "%d clients are not answered",
			    k->asking);
	}
}

/* Returns when each client has been answered once. */
static struct keepers *
keepers_open(const struct endpoint *to, int count)
{
	struct keepers *k = calloc(1, sizeof(*k));

	if (k == NULL ||
	    (k->all = calloc((size_t)count, sizeof(*k->all))) == NULL)
		err(EX_OSERR, NULL);
	k->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (k->epfd == -1)
		err(EX_OSERR, "epoll_create1");
	for (k->count = 0; k->count < count; k->count++) {
		struct keeper *c = &k->all[k->count];

		keepers_await(k, OPENING - 1);
		keeper_connect(k, c, to);
		keeper_ask(k, c, client_now());
	}
	keepers_await(k, 0);
	return k;
}

static struct keeper *
keepers_draw(struct keepers *k, struct prng *r)
{
	int at = (int)prng_span(r, k->count - 1);

	while (k->all[at].asks)
		at = (at + 1) % k->count;
	return &k->all[at];
}

static void
keepers_run(struct keepers *k, const struct keepers_load *load,
    struct keepers_totals *out)
{
	struct prng r = { load->seed };
	const tstamp began = client_now(), end = tstamp_add(began, load->span);
	tstamp due = began;

	k->times = load->times;
	k->totals = (struct keepers_totals){ 0 };
	while (due < end) {
		keepers_turn(k, due);
		if (client_now() < due)
			continue;
		keepers_await(k, k->count - 1);
		keeper_ask(k, keepers_draw(k, &r), due);
		due += (tspan)(-log1p(-(double)prng_next(&r) / 0x1p64) * 1e9 /
		    load->rate);
	}
	keepers_await(k, 0);
	k->times = NULL;
	k->totals.elapsed = client_now() - began;
	*out = k->totals;
}

/* A reset leaves no address in use, as the end of a TCP connection would. */
static void
keepers_close(struct keepers *k)
{
	const struct linger reset = { .l_onoff = 1 };

	for (int i = 0; i < k->count; i++) {
		(void)setsockopt(
		    k->all[i].fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		(void)close(k->all[i].fd);
	}
	(void)close(k->epfd);
	free(k->all);
	free(k);
}

/* --- servers ------------------------------------------------------------ */

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
