/*
 * counter: what a lock with a limit costs.
 *
 *     counter [--rounds N] [--msec N]
 *
 * Compares, over TCP and with the same lines:
 *
 *     echo          epoll, recv, send: nothing is done with a line
 *     poolcounterd  the original, of Debian, where contrib/peers found it
 *     apppoold
 *
 * A server has one processor, this program another.  The servers exist at the
 * same time and are loaded in turn, round by round, each for --msec; a ratio
 * is the median of the ratios of the rounds, everything else the median of
 * the rounds.
 *
 *     N conns     locks and unlocks of a key each, one question at a time on
 *                 each of N connections; 16 deep: 16 lines at a time, which
 *                 the original loses
 *     hand over   50 connections that want one key, LOCKED a second
 *     wake all    48 connections that wait for one, DONE a second
 *     ops/s       answers a second
 *     us/op       processor time of the server for one
 *     /echo       ops/s and us/op, as a ratio to those of echo
 *
 * Then resident memory for 4,000 keys held by 1,000 connections, and how long
 * hand-overs to an app take while the same daemon's counter is idle and under
 * full load.
 *
 * Last, three counters at three addresses, and processes of three hosts, which
 * take and give back the slots of a limit by libapppool, 10,000 operations a
 * second together. One counter is killed, and started again. Counted are locks
 * that were granted beyond the limit, and clients that got no answer.
 */

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <err.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "../support/aims.h"
#include "../support/bench.h"
#include "../support/clients.h"
#include "../support/endpoint.h"
#include "../support/locks.h"
#include "../support/options.h"
#include "../support/proc.h"
#include "../support/samples.h"
#include "core/prng.h"
#include "sys/loop.h"
#include "worker/apppool.h"

/* --- servers ------------------------------------------------------------ */

/*
 * All servers listen at TCP, as poolcounterd knows nothing else, and end with
 * the program, which an error ends.
 */
enum lockserver_name {
	LOCKSERVER_ECHO,
	LOCKSERVER_ORIGINAL,
	LOCKSERVER_APPPOOLD,
	LOCKSERVERS
};

struct lockserver {
	enum lockserver_name name;
	pid_t pid;
	pid_t server; /* that serves: the same, or apppoold's counter */
	struct endpoint at;
	char app[256]; /* of apppoold: the address of its app */
};

enum {
	PATHS = 512,
	START_TRIES = 500, /* of 10 ms */
	PATIENCE = 20, /* seconds for an answer */
	APP_WORKERS = 4
};

static const char *const titles[] = {
	[LOCKSERVER_ECHO] = "echo",
	[LOCKSERVER_ORIGINAL] = "poolcounterd",
	[LOCKSERVER_APPPOOLD] = "apppoold",
};

static const char *
lockserver_title(enum lockserver_name name)
{
	return titles[name];
}

/* poolcounterd as it is installed, or as contrib/peers unpacked it. */
static bool
original_path(char out[PATHS])
{
	static const char *const places[] = { "/usr/bin/poolcounterd",
		"build/peers/usr/bin/poolcounterd" };
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		(void)strlcpy(out, places[i], PATHS);
		if (access(out, X_OK) == 0)
			return true;
	}
	return false;
}

static void
write_conf(struct lockserver *s, struct bench *b, const char *address,
    const char *path)
{
	char worker[PATHS];
	FILE *f = fopen(path, "we");

	if (f == NULL)
		err(EX_CANTCREAT, "%s", path);
	bench_program("worker", worker, sizeof(worker));
	(void)snprintf(s->app, sizeof(s->app), "unix:%s/app", b->folder);
	(void)fprintf(f,
	    "control = \"\"\n"
	    "counter = \"%s\"\n"
	    "max_processes = %d\n"
	    "app \"bench\" {\n"
	    "\tlisten = \"%s\"\n"
	    "\tcommand = {\"%s\", \"passed\"}\n"
	    "%s"
	    "\tmin_processes = %d\n"
	    "\tmax_processes = %d\n"
	    "}\n",
	    address, APP_WORKERS, s->app, worker,
	    geteuid() == 0 ? "\tuser = \"root\"\n" : "", APP_WORKERS,
	    APP_WORKERS);
	if (fclose(f) != 0)
		err(EX_CANTCREAT, "%s", path);
}

/* Notes the child if it is apppoold's counter. */
static void
lockserver_look(void *arg, pid_t child)
{
	struct lockserver *s = arg;
	char path[64], title[64] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)child);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	if (fgets(title, sizeof(title), f) != NULL &&
	    strcmp(title, "apppoold: counter") == 0)
		s->server = child;
	(void)fclose(f);
}

static void
lockserver_await(struct lockserver *s)
{
	const struct timespec nap = { .tv_nsec = 10000000 };
	int i, fd;

	for (i = 0; i < START_TRIES; i++) {
		fd = endpoint_connect(&s->at);
		if (fd != -1) {
			(void)close(fd);
			s->server = s->pid;
			/* The counter may start after its listeners. */
			while (s->name == LOCKSERVER_APPPOOLD &&
			    s->server == s->pid && i++ < START_TRIES) {
				proc_each_child(s->pid, lockserver_look, s);
				(void)nanosleep(&nap, NULL);
			}
			return;
		}
		(void)nanosleep(&nap, NULL);
	}
	errx(EX_UNAVAILABLE, "%s does not start", titles[s->name]);
}

/* False if the program is not there. */
static bool
lockserver_start(
    struct lockserver *s, enum lockserver_name name, struct bench *b)
{
	char address[128], host[64], program[PATHS], conf[PATHS];
	const char *argv[4] = { program, address };

	s->name = name;
	if (name != LOCKSERVER_ORIGINAL)
		bench_address(b, "tcp", address, sizeof(address));
	switch (name) {
	case LOCKSERVER_ECHO:
		bench_program("echo", program, sizeof(program));
		break;
	case LOCKSERVER_ORIGINAL:
		if (!original_path(program))
			return false;
		/*
		 * The server's port is fixed, and stays in use for a minute
		 * after it has ended; its address is ours to choose.
		 */
		(void)snprintf(host, sizeof(host), "127.53.%d.%d",
		    getpid() / 250 % 250, 1 + getpid() % 250);
		(void)snprintf(address, sizeof(address), "%s:7531", host);
		argv[1] = "-l";
		argv[2] = host;
		break;
	default:
		bench_product("apppoold", program, sizeof(program));
		(void)snprintf(conf, sizeof(conf), "%s/pool.conf", b->folder);
		write_conf(s, b, address, conf);
		argv[1] = "-c";
		argv[2] = conf;
		break;
	}
	if (endpoint_parse(address, &s->at) == -1)
		errx(EX_SOFTWARE, "%s", address);
	(void)setenv("LD_LIBRARY_PATH",
	    "build/peers/usr/lib/x86_64-linux-gnu:"
	    "build/peers/usr/lib/aarch64-linux-gnu",
	    1);
	s->pid = bench_spawn(b->folder, argv, b->server_cpu);
	(void)unsetenv("LD_LIBRARY_PATH");
	lockserver_await(s);
	return true;
}

static void
lockserver_stop(struct lockserver *s)
{
	(void)kill(s->pid, SIGTERM);
	(void)waitpid(s->pid, NULL, 0);
}

/* A blocking connection; an answer may take some seconds at most. */
static int
lockserver_connect(const struct lockserver *s)
{
	const struct timeval patience = { .tv_sec = PATIENCE };
	const int on = 1;
	int fd = endpoint_connect(&s->at);

	if (fd == -1)
		err(EX_UNAVAILABLE, "%s: connect", titles[s->name]);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(
	    fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

/* --- loads -------------------------------------------------------------- */

enum {
	CONNS_MAX = 500,
	HOLDERS = 1000,
	KEYS = 4
};

struct load {
	const char *title;
	int conns;
	int depth;
	void (*run)(struct locks *l);
	bool echo; /* the echo server can do this load, too */
	bool original;
};

static const struct load loads[] = {
	{ "1 conn", 1, 1, locks_round_trips, true, true },
	{ "50 conns", 50, 1, locks_round_trips, true, true },
	{ "500 conns", 500, 1, locks_round_trips, true, true },
	{ "50, 16 deep", 50, 16, locks_round_trips, true, false },
	{ "hand over", 50, 1, locks_handover, false, true },
	{ "wake all", 50, 1, locks_wake_all, false, true },
};

/* Figures of one server under one load. */
struct figures {
	struct samples rate, rate_ratio, cost, cost_ratio;
};

struct counter_bench {
	struct bench bench;
	int64_t rounds, msec;
	struct lockserver servers[LOCKSERVERS];
	bool present[LOCKSERVERS];
	int fds[LOCKSERVERS][CONNS_MAX];
	struct figures figures[LOCKSERVERS];
};

static double
last(const struct samples *s)
{
	return s->count == 0 ? (double)NAN : s->at[s->count - 1];
}

static bool
takes_part(const struct counter_bench *c, const struct load *load, int server)
{
	if (!c->present[server])
		return false;
	return (server != LOCKSERVER_ECHO || load->echo) &&
	    (server != LOCKSERVER_ORIGINAL || load->original);
}

static void
load_once(struct counter_bench *c, const struct load *load, int server)
{
	struct locks l = { .fds = c->fds[server],
		.count = load->conns,
		.depth = load->depth,
		.echo = server == LOCKSERVER_ECHO,
		.span = TSPAN_MSECONDS(c->msec) };
	struct figures *f = &c->figures[server];
	tspan cpu = proc_cpu(c->servers[server].server);

	load->run(&l);
	cpu = proc_cpu(c->servers[server].server) - cpu;
	samples_add(&f->rate, (double)l.operations * 1e9 / (double)l.elapsed);
	samples_add(&f->cost, (double)cpu / 1e3 / (double)l.operations);
}

static void
load_round(struct counter_bench *c, const struct load *load, int64_t round)
{
	const struct figures *echo = &c->figures[LOCKSERVER_ECHO];

	for (int i = 0; i < LOCKSERVERS; i++) {
		int server = (int)((i + round) % LOCKSERVERS);

		if (takes_part(c, load, server))
			load_once(c, load, server);
	}
	for (int i = 0; i < LOCKSERVERS; i++) {
		struct figures *f = &c->figures[i];

		if (!takes_part(c, load, i))
			continue;
		samples_add(&f->rate_ratio, last(&f->rate) / last(&echo->rate));
		samples_add(&f->cost_ratio, last(&f->cost) / last(&echo->cost));
	}
}

static void
load_all(struct counter_bench *c, const struct load *load)
{
	for (int i = 0; i < LOCKSERVERS; i++) {
		samples_clear(&c->figures[i].rate);
		samples_clear(&c->figures[i].rate_ratio);
		samples_clear(&c->figures[i].cost);
		samples_clear(&c->figures[i].cost_ratio);
	}
	for (int64_t round = 0; round < c->rounds; round++)
		load_round(c, load, round);
	for (int i = 0; i < LOCKSERVERS; i++) {
		struct figures *f = &c->figures[i];

		if (!takes_part(c, load, i))
			continue;
		printf("%-12s %-12s %9.0f", load->title,
		    lockserver_title((enum lockserver_name)i),
		    samples_median(&f->rate));
		if (load->echo)
			printf(" %6.2f", samples_median(&f->rate_ratio));
		else
			printf(" %6s", "-");
		printf(" %7.2f", samples_median(&f->cost));
		if (load->echo)
			printf(" %6.2f\n", samples_median(&f->cost_ratio));
		else
			printf(" %6s\n", "-");
	}
	(void)fflush(stdout);
}

/* --- memory ------------------------------------------------------------- */

static void
memory_one(struct counter_bench *c, int server)
{
	const struct lockserver *s = &c->servers[server];
	long empty, idle, held, pss;
	struct locks l = { .count = HOLDERS };

	l.fds = calloc(HOLDERS, sizeof(int));
	if (l.fds == NULL)
		err(EX_OSERR, NULL);
	proc_memory(s->server, &empty, &pss);
	for (int i = 0; i < l.count; i++)
		l.fds[i] = lockserver_connect(s);
	/* All connections have come in when the last is answered. */
	for (int i = l.count - 1; i < l.count; i++) {
		struct locks one = { .fds = &l.fds[i],
			.count = 1,
			.depth = 1,
			.echo = server == LOCKSERVER_ECHO };

		locks_round_trips(&one);
	}
	proc_memory(s->server, &idle, &pss);
	if (server != LOCKSERVER_ECHO)
		locks_hold(&l);
	proc_memory(s->server, &held, &pss);
	printf("%-12s %9ld %11ld %9ld\n",
	    lockserver_title((enum lockserver_name)server), empty / 1024,
	    (idle - empty) / HOLDERS, (held - idle) / (HOLDERS * KEYS));
	for (int i = 0; i < l.count; i++)
		(void)close(l.fds[i]);
	free(l.fds);
}

static void
memory_all(struct counter_bench *c)
{
	printf("\nmemory        KiB idle  B/client  B/key held\n");
	for (int i = 0; i < LOCKSERVERS; i++)
		if (c->present[i])
			memory_one(c, i);
	(void)fflush(stdout);
}

/* --- hand-overs beside the counter -------------------------------------- */

static void
app_ended(void *arg, const struct client_result *r)
{
	samples_add(arg, (double)(r->ended - r->started) / 1e3);
}

static void
app_times(struct counter_bench *c, const char *title)
{
	struct samples times = { 0 };
	struct client_plan plan = { .count = 20000,
		.concurrency = 4,
		.timeout = TSPAN_SECONDS(20),
		.limit = TSPAN_SECONDS(30),
		.ended = app_ended,
		.arg = &times };
	struct clients_totals totals;

	if (endpoint_parse(c->servers[LOCKSERVER_APPPOOLD].app, &plan.to) == -1)
		errx(EX_SOFTWARE, "no app");
	if (clients_run(&plan, &totals) == -1)
		err(EX_OSERR, "clients");
	printf("%-22s %9.0f %8.0f %8.0f %8.0f\n", title,
	    (double)totals.ends[CLIENT_ANSWERED] * 1e9 / (double)totals.elapsed,
	    samples_quantile(&times, 0.5), samples_quantile(&times, 0.99),
	    samples_quantile(&times, 0.999));
	(void)fflush(stdout);
	samples_fini(&times);
}

/* A process that keeps the counter busy until it is killed. */
static pid_t
load_for_ever(struct counter_bench *c)
{
	struct locks l = { .fds = c->fds[LOCKSERVER_APPPOOLD],
		.count = 50,
		.depth = 1,
		.span = TSPAN_SECONDS(3600) };
	pid_t pid = bench_fork();

	if (pid != 0)
		return pid;
	locks_round_trips(&l);
	_exit(0);
}

static void
beside_all(struct counter_bench *c)
{
	pid_t pid;

	if (!c->present[LOCKSERVER_APPPOOLD])
		return;
	printf("\napp of 4 workers, counter  conns/s      p50      p99    "
	       "p99.9 us\n");
	app_times(c, "idle");
	pid = load_for_ever(c);
	app_times(c, "50 conns, full load");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	app_times(c, "idle again");
}

/* --- several hosts ------------------------------------------------------ */

enum {
	HOSTS = 3,
	HOST_THREADS = 8,
	SLOTS = 12, /* sessions that the limit allows, each with a key */
	HOSTS_RATE = 10000, /* locks and releases a second, of all hosts */
	HOSTS_SECONDS = 9, /* a third before the death, a third without */
	LOCK_PATIENCE = 2000, /* milliseconds that a client waits */
	LATE = 1100, /* likewise; for a probe, and to connect */
};

/* What all processes of the hosts count together. */
struct tallies {
	_Atomic tspan event; /* when a counter was lost or came back */
	_Atomic tspan
	    latest; /* longest from there to a lock beyond the limit */
	atomic_int running[SLOTS];
	atomic_int most; /* with one key */
	atomic_long operations, waits, full, anew, unanswered, lost, beyond;
};

static struct tallies *tallies;

static void
at_most(_Atomic tspan *most, tspan value)
{
	tspan seen = *most;

	while (
	    value > seen && !atomic_compare_exchange_weak(most, &seen, value))
		continue;
}

/* Takes a slot, and gives it back after a third of the time to the next. */
static void
slot_once(unsigned long n, tspan period)
{
	const struct timespec hold = { .tv_nsec = (long)(period / 3) };
	char name[32], key[32];
	tspan began = clock_now();
	int slot, rc, others;

	(void)snprintf(name, sizeof(name), "page %lu", n);
	(void)apppool_slot_key(key, sizeof(key), "work", name, SLOTS);
	slot = atoi(strchr(key, ':') + 1);
	/* Of a server that has died another one is asked, as workers do. */
	while (
	    (rc = apppool_lock(key, 1, 100, LOCK_PATIENCE, APPPOOL_ME)) == -1 &&
	    clock_now() - began < TSPAN_MSECONDS(2 * LOCK_PATIENCE))
		tallies->anew++;
	if (rc != APPPOOL_LOCKED) {
		*(rc == -1 ? &tallies->unanswered : &tallies->full) += 1;
		return;
	}
	others = tallies->running[slot]++;
	if (others > 0) {
		tallies->beyond++;
		at_most(&tallies->latest, clock_now() - tallies->event);
	}
	if (others >= tallies->most)
		tallies->most = others + 1;
	(void)nanosleep(&hold, NULL);
	tallies->running[slot]--;
	tallies->lost += apppool_unlock(key) == -1;
	tallies->operations += 2;
}

static void *
slots_for_a_while(void *arg)
{
	const tspan period =
	    TSPAN_SECONDS(2 * HOSTS * HOST_THREADS) / HOSTS_RATE;
	struct prng *prng = arg;
	tstamp next = clock_now() + prng_span(prng, period);
	tstamp end = clock_now() + TSPAN_SECONDS(HOSTS_SECONDS);
	struct timespec until;

	for (; next < end; next += period) {
		until = clock_timespec(next);
		(void)clock_nanosleep(
		    CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		slot_once(prng_next(prng) % 1000, period);
	}
	return NULL;
}

static pid_t
host_start(unsigned host)
{
	struct prng prngs[HOST_THREADS];
	pthread_t threads[HOST_THREADS];
	pid_t pid = bench_fork();

	if (pid != 0)
		return pid;
	for (unsigned i = 0; i < HOST_THREADS; i++) {
		prngs[i].state = host * HOST_THREADS + i;
		if (pthread_create(
			&threads[i], NULL, slots_for_a_while, &prngs[i]) != 0)
			errx(EX_OSERR, "no thread");
	}
	for (unsigned i = 0; i < HOST_THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	_exit(0);
}

static void
hosts_all(struct counter_bench *c)
{
	const struct timespec third = { .tv_sec = HOSTS_SECONDS / 3 };
	char program[PATHS], address[HOSTS][64], list[HOSTS * 64] = "", any[64];
	const char *argv[] = { program, "-l", NULL, NULL };
	pid_t counters[HOSTS], hosts[HOSTS];
	double rate;

	tallies = mmap(NULL, sizeof(*tallies), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tallies == MAP_FAILED)
		err(EX_OSERR, "mmap");
	bench_program(
	    "../../../libexec/apppool-counter", program, sizeof(program));
	bench_address(&c->bench, "tcp", any, sizeof(any));
	for (int i = 0; i < HOSTS; i++) {
		(void)snprintf(address[i], sizeof(address[i]), "127.0.0.%d%s",
		    i + 1, strchr(any, ':'));
		(void)strlcat(list, i > 0 ? "," : "", sizeof(list));
		(void)strlcat(list, address[i], sizeof(list));
		argv[2] = address[i];
		counters[i] =
		    bench_spawn(c->bench.folder, argv, c->bench.server_cpu);
	}
	(void)nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	if (apppool_counter(list) == -1)
		err(EX_SOFTWARE, "%s", list);
	for (unsigned i = 0; i < HOSTS; i++)
		hosts[i] = host_start(i);
	(void)nanosleep(&third, NULL);
	tallies->event = clock_now();
	(void)kill(counters[0], SIGKILL);
	(void)waitpid(counters[0], NULL, 0);
	(void)nanosleep(&third, NULL);
	argv[2] = address[0];
	tallies->event = clock_now();
	counters[0] = bench_spawn(c->bench.folder, argv, c->bench.server_cpu);
	for (int i = 0; i < HOSTS; i++)
		(void)waitpid(hosts[i], NULL, 0);
	for (int i = 0; i < HOSTS; i++) {
		(void)kill(counters[i], SIGKILL);
		(void)waitpid(counters[i], NULL, 0);
	}
	rate = (double)tallies->operations / HOSTS_SECONDS;
	printf("\nthree hosts with %d clients, %d slots, a counter killed and "
	       "back:\n"
	       "ops/s %.0f, denied %ld, asked anew %ld, unanswered %ld, locks "
	       "lost %ld,\nbeyond the limit %ld (%d with one key at most, the "
	       "last %.0f ms after an event)\n",
	    HOSTS * HOST_THREADS, SLOTS, rate, tallies->full, tallies->anew,
	    tallies->unanswered, tallies->lost, tallies->beyond, tallies->most,
	    (double)tallies->latest / 1e6);
	aims_note(rate, ">=", HOSTS_RATE * 0.95,
	    "counter operations a second of three hosts");
	aims_note((double)tallies->unanswered, "<=", 0,
	    "clients without an answer when a counter dies");
	aims_note((double)tallies->latest / 1e6, "<=", LATE,
	    "ms from its loss or return to the last lock too many");
}

/* --- all ---------------------------------------------------------------- */

static void
start_all(struct counter_bench *c)
{
	for (int i = 0; i < LOCKSERVERS; i++) {
		c->present[i] = lockserver_start(
		    &c->servers[i], (enum lockserver_name)i, &c->bench);
		if (!c->present[i]) {
			printf("%s is not there\n",
			    lockserver_title((enum lockserver_name)i));
			continue;
		}
		for (int k = 0; k < CONNS_MAX; k++)
			c->fds[i][k] = lockserver_connect(&c->servers[i]);
	}
}

int
main(int argc, char **argv)
{
	static struct counter_bench c = { .rounds = 5, .msec = 200 };
	const struct option_place options[] = {
		{ "rounds", .number = &c.rounds, .min = 1, .max = 1000 },
		{ "msec", .number = &c.msec, .min = 1, .max = 10000 },
		{ .name = NULL },
	};

	options_parse(options, argc, argv, "counter [option ...]");
	(void)clients_raise_nofile();
	bench_init(&c.bench);
	bench_pin(&c.bench);
	start_all(&c);
	printf("counter: %" PRId64 " rounds of %" PRId64 " ms; servers on "
	       "processor %d, clients on %d\n",
	    c.rounds, c.msec, c.bench.server_cpu, c.bench.load_cpu);
	printf("%-12s %-12s %9s %6s %7s %6s\n", "load", "server", "ops/s",
	    "/echo", "us/op", "/echo");
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		load_all(&c, &loads[i]);
	memory_all(&c);
	beside_all(&c);
	hosts_all(&c);
	for (int i = 0; i < LOCKSERVERS; i++)
		if (c.present[i])
			lockserver_stop(&c.servers[i]);
	bench_fini(&c.bench);
	return 0;
}
