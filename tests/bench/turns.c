/*
 * turns: how long a turn of the daemon's loop takes.
 *
 *     turns [--processes N] [--clients N] [--seconds N] [--rounds N]
 *
 * A turn is the time from one epoll_pwait2(2) to the next: as long as it lasts
 * nobody else is served.  A library that is preloaded into the daemon writes
 * each down.  Two daemons take turns under the same load, one with 10 processes
 * and 20 clients of its counter, one with 5,000 processes and 10,000 clients
 * (or as many as there are descriptors for):
 *
 *     1,000 connections a second, in a Poisson stream over five apps; each
 *         hundredth has its process killed
 *     4,000 locks a second of the counter, each locked and unlocked
 *     once a second, 1,000 clients of the counter lock at the same time
 *     once a second `apppoolctl -j status`
 *
 * The loop has a processor to itself, and all else another; where that is
 * allowed, it also goes before all other programs of the machine.
 *
 *     wall  what a turn took, microseconds: the aim is 2,000 at p99.9
 *     cpu   the processor time of it, without what the loop was kept from
 *           by other programs of the machine
 *
 * Values are medians of the rounds, each of --seconds; max is the largest.
 *
 * A second table is of questions to the daemon, while nothing else happens: the
 * median time to the end of the answer, its bytes, and the longest turn, which
 * is the longest that a connection can have waited for it: of all answers, by
 * wall and cpu, and the median of each answer's. The aim is 1,000 microseconds.
 */

#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "../support/bench.h"
#include "../support/clients.h"
#include "../support/options.h"
#include "../support/proc.h"
#include "../support/samples.h"
#include "preload/turns.h"

enum {
	APPS = 5,
	MAX_QUEUE = 20,
	RATE = 1000, /* connections a second */
	DEATHS = 100, /* one in so many */
	LOCKS = 4000, /* a second */
	BURST = 1000, /* locks at the same time, once a second */
	KEYS = 500,
	RESERVE = 300, /* descriptors of the daemon beside those of tables */
	PATHS = 256,
	FIGURES = 5,
	QUESTIONS = 20 /* of each kind */
};

#define START_LIMIT TSPAN_SECONDS(120)

/* A client of the counter. */
struct holder {
	int fd;
	bool asked; /* it waits for an answer */
};

/* A daemon, and the clients of its counter. */
struct side {
	const char *title;
	int processes, clients;
	char folder[PATHS];
	pid_t pid;
	struct turn_times *times;
	int epfd;
	struct holder *holders;
	int next; /* that asks */
	int64_t locked;
	struct samples wall[FIGURES], cpu[FIGURES];
	struct samples turns; /* a second */
};

static struct {
	struct bench bench;
	int64_t processes, clients, seconds, rounds;
	struct side sides[2];
} turns = { .processes = 5000, .clients = 10000, .seconds = 10, .rounds = 3 };

static const double shares[FIGURES] = { 0.5, 0.99, 0.999, 0.9999, 1 };

/* --- the daemon --------------------------------------------------------- */

static void
write_conf(const struct side *s, const char *path)
{
	char worker[PATHS];
	FILE *f = fopen(path, "we");

	bench_program("brief", worker, sizeof(worker));
	if (f == NULL)
		err(EX_CANTCREAT, "%s", path);
	(void)fprintf(f,
	    "control = \"%s/control\"\n"
	    "counter = {\"unix:%s/counter\"}\n"
	    "counter_max_clients = %d\n"
	    "max_processes = %d\n",
	    s->folder, s->folder, s->clients, s->processes);
	for (int i = 0; i < APPS; i++)
		(void)fprintf(f,
		    "app \"app%d\" {\n"
		    "\tlisten = \"unix:%s/app%d\"\n"
		    "\tcommand = \"%s\"\n"
		    "%s"
		    "\tmin_processes = %d\n"
		    "\tmax_processes = %d\n"
		    "\tmax_queue = %d\n"
		    "\trestart_delay = 10ms\n"
		    "\tmin_server_life = 0\n"
		    "}\n",
		    i, s->folder, i, worker,
		    geteuid() == 0 ? "\tuser = \"root\"\n" : "",
		    s->processes / APPS, s->processes / APPS, MAX_QUEUE);
	if (fclose(f) != 0)
		err(EX_CANTCREAT, "%s", path);
}

static pid_t
run(const struct side *s, const char *product, const char *const *argv)
{
	char program[PATHS], log[PATHS + 8];
	pid_t pid = bench_fork();
	int fd;

	if (pid != 0)
		return pid;
	bench_product(product, program, sizeof(program));
	(void)snprintf(log, sizeof(log), "%s/log", s->folder);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	(void)dup2(fd, STDERR_FILENO);
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	(void)dup2(fd, STDOUT_FILENO);
	(void)execv(program, (char **)argv);
	err(EX_UNAVAILABLE, "%s", program);
}

static pid_t
ctl(const struct side *s, const char *word)
{
	char control[PATHS + 8];
	const char *const argv[] = { "apppoolctl", "-js", control, word, NULL };

	(void)snprintf(control, sizeof(control), "%s/control", s->folder);
	return run(s, "apppoolctl", argv);
}

/* A file for the times, and the environment that has them written there. */
static void
open_times(struct side *s)
{
	char path[PATHS + 8], library[PATHS];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/turns", s->folder);
	bench_program("turns.so", library, sizeof(library));
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd == -1 || ftruncate(fd, sizeof(*s->times)) == -1)
		err(EX_CANTCREAT, "%s", path);
	s->times = mmap(
	    NULL, sizeof(*s->times), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s->times == MAP_FAILED)
		err(EX_OSERR, "mmap");
	(void)close(fd);
	(void)setenv("TURNS", path, 1);
	(void)setenv("LD_PRELOAD", library, 1);
}

static void
await_ready(const struct side *s)
{
	const struct timespec nap = { .tv_nsec = TSPAN_MSECONDS(10) };
	const tstamp limit = tstamp_add(client_now(), START_LIMIT);
	int status;

	for (;;) {
		(void)nanosleep(&nap, NULL);
		if (waitpid(s->pid, NULL, WNOHANG) == s->pid ||
		    client_now() > limit)
			errx(EX_UNAVAILABLE, "%s: not ready", s->title);
		if (waitpid(ctl(s, "wait"), &status, 0) != -1 && status == 0)
			return;
	}
}

static void
pin(pid_t thread, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(thread, sizeof(set), &set);
}

/* The other threads; processes that they start follow them. */
static void
pin_others(pid_t pid, int cpu)
{
	char path[PATHS];
	const struct dirent *e;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir != NULL && (e = readdir(dir)) != NULL)
		if (atoi(e->d_name) != pid)
			pin(atoi(e->d_name), cpu);
	if (dir != NULL)
		(void)closedir(dir);
}

static void
start(struct side *s)
{
	char conf[PATHS + 16];
	const char *const argv[] = { "apppoold", "-c", conf, NULL };
	const struct sched_param first = { .sched_priority = 1 };

	(void)snprintf(s->folder, sizeof(s->folder), "%s/%s",
	    turns.bench.folder, s->title);
	if (mkdir(s->folder, 0755) == -1)
		err(EX_CANTCREAT, "%s", s->folder);
	(void)snprintf(conf, sizeof(conf), "%s/pool.conf", s->folder);
	write_conf(s, conf);
	open_times(s);
	s->pid = run(s, "apppoold", argv);
	(void)unsetenv("LD_PRELOAD");
	(void)unsetenv("TURNS");
	if (turns.bench.server_cpu != -1)
		pin(s->pid, turns.bench.server_cpu);
	await_ready(s);
	if (turns.bench.server_cpu != -1)
		pin_others(s->pid, turns.bench.load_cpu);
	(void)sched_setscheduler(s->pid, SCHED_FIFO, &first);
}

static void
stop(struct side *s)
{
	(void)kill(s->pid, SIGTERM);
	(void)waitpid(s->pid, NULL, 0);
}

/* --- the counter -------------------------------------------------------- */

static void
connect_holders(struct side *s)
{
	char address[PATHS + 16];
	struct endpoint at;

	(void)snprintf(address, sizeof(address), "unix:%s/counter", s->folder);
	s->holders = calloc((size_t)s->clients, sizeof(*s->holders));
	s->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (s->holders == NULL || s->epfd == -1 ||
	    endpoint_parse(address, &at) == -1)
		err(EX_OSERR, "%s", address);
	for (int i = 0; i < s->clients; i++) {
		struct epoll_event ev = { .events = EPOLLIN,
			.data.ptr = &s->holders[i] };
		int fd = endpoint_socket(&at);

		while (fd != -1 && connect(fd, (void *)&at.addr, at.len) == -1)
			if (errno != EAGAIN)
				err(EX_UNAVAILABLE, "%s", address);
		if (fd == -1 ||
		    epoll_ctl(s->epfd, EPOLL_CTL_ADD, fd, &ev) == -1)
			err(EX_OSERR, "client %d", i);
		s->holders[i].fd = fd;
	}
}

static void
say(struct holder *h, const char *line)
{
	if (send(h->fd, line, strlen(line), MSG_NOSIGNAL) == -1)
		err(EX_UNAVAILABLE, "counter");
}

/* As many more clients ask as wait for nothing. */
static void
ask(struct side *s, int64_t count)
{
	char line[64];

	for (int tries = s->clients; count > 0 && tries > 0; tries--) {
		struct holder *h = &s->holders[s->next];

		s->next = (s->next + 1) % s->clients;
		if (h->asked)
			continue;
		(void)snprintf(line, sizeof(line),
		    "ACQ4ME bench:%d 4 1000 15\n", s->next % KEYS);
		say(h, line);
		h->asked = true;
		count--;
	}
}

static void
hear(struct side *s, int timeout)
{
	struct epoll_event events[256];
	int n = epoll_wait(s->epfd, events, 256, timeout);
	char line[64];

	for (int i = 0; i < n; i++) {
		struct holder *h = events[i].data.ptr;
		ssize_t len = recv(h->fd, line, sizeof(line) - 1, 0);

		if (len <= 0)
			errx(EX_UNAVAILABLE, "the counter closed a connection");
		line[len] = '\0';
		if (strcmp(line, "LOCKED\n") == 0) {
			s->locked++;
			say(h, "RELEASE\n");
		} else if (strcmp(line, "RELEASED\n") == 0) {
			h->asked = false;
		} else {
			errx(EX_SOFTWARE, "counter: %s", line);
		}
	}
}

/* --- the load ----------------------------------------------------------- */

static size_t
request(void *arg, int64_t number, char *buf, size_t size)
{
	(void)arg;
	return (size_t)snprintf(
	    buf, size, "%s\n", number % DEATHS == DEATHS - 1 ? "die" : "serve");
}

static void
ended(void *arg, const struct client_result *r)
{
	int64_t *bad = arg;

	*bad += r->end != CLIENT_ANSWERED;
}

/* A process that connects to an app until its time is over. */
static pid_t
connect_to(const struct side *s, int app)
{
	char address[PATHS + 16];
	int64_t bad = 0;
	struct client_plan plan = {
		.count = INT64_MAX,
		.concurrency = 1000,
		.rate = (double)RATE / APPS,
		.seed = (uint64_t)app,
		.timeout = TSPAN_SECONDS(20),
		.limit = TSPAN_SECONDS(turns.seconds),
		.request = request,
		.ended = ended,
		.arg = &bad,
	};
	struct clients_totals totals;
	pid_t pid = bench_fork();

	if (pid != 0)
		return pid;
	(void)snprintf(
	    address, sizeof(address), "unix:%s/app%d", s->folder, app);
	if (endpoint_parse(address, &plan.to) == -1 ||
	    clients_run(&plan, &totals) == -1)
		err(EX_OSERR, "%s", address);
	if (bad > 0)
		warnx("%s: %" PRId64 " of %" PRId64 " without an answer",
		    s->title, bad, totals.started);
	_exit(0);
}

static void
load(struct side *s)
{
	const tstamp from = client_now();
	const tstamp to = from + TSPAN_SECONDS(turns.seconds);
	int64_t asked = 0, due, seconds = 0;
	tstamp now;

	for (int i = 0; i < APPS; i++)
		(void)connect_to(s, i);
	while ((now = client_now()) < to) {
		due = (now - from) / (TSPAN_SECONDS(1) / LOCKS);
		ask(s, due - asked);
		asked = due;
		if ((now - from) / TSPAN_SECONDS(1) >= seconds) {
			seconds++;
			ask(s, BURST);
			(void)ctl(s, "status");
		}
		hear(s, 1);
	}
	/* The daemons, other children, go on. */
	for (int i = 0; i < APPS + (int)seconds; i++)
		(void)wait(NULL);
}

/* --- figures ------------------------------------------------------------ */

static void
measure(struct side *s)
{
	struct samples wall = { 0 }, cpu = { 0 };
	uint32_t from = atomic_load(&s->times->count), to;

	load(s);
	to = atomic_load(&s->times->count);
	for (uint32_t i = from; i < to; i++) {
		samples_add(&wall, s->times->of[i].wall / 1e3);
		samples_add(&cpu, s->times->of[i].cpu / 1e3);
	}
	for (int i = 0; i < FIGURES; i++) {
		samples_add(&s->wall[i], samples_quantile(&wall, shares[i]));
		samples_add(&s->cpu[i], samples_quantile(&cpu, shares[i]));
	}
	samples_add(&s->turns, (double)(to - from) / (double)turns.seconds);
	samples_fini(&wall);
	samples_fini(&cpu);
}

/* --- questions ---------------------------------------------------------- */

/* Asks over the control socket. Returns the bytes of the answer. */
static int64_t
ask_control(const struct side *s, const char *question)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char buf[65536];
	int64_t bytes = 0;
	ssize_t n;

	(void)snprintf(
	    to.sun_path, sizeof(to.sun_path), "%.90s/control", s->folder);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1 ||
	    send(fd, question, strlen(question), MSG_NOSIGNAL) == -1)
		err(EX_OSERR, "%s", to.sun_path);
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		bytes += n;
	(void)close(fd);
	return bytes;
}

static void
question(struct side *s, const char *line)
{
	struct samples took = { 0 }, longest = { 0 };
	uint32_t wall = 0, cpu;
	int64_t bytes = 0;

	for (int64_t i = 0; i < QUESTIONS; i++) {
		uint32_t from = atomic_load(&s->times->count);
		tstamp asked = client_now();

		cpu = 0;
		bytes = ask_control(s, line);
		samples_add(&took, (double)(client_now() - asked) / 1e6);
		for (; from < atomic_load(&s->times->count); from++) {
			const struct turn_time *t = &s->times->of[from];

			wall = t->wall > wall ? t->wall : wall;
			cpu = t->cpu > cpu ? t->cpu : cpu;
		}
		samples_add(&longest, cpu / 1e3);
	}
	printf("%9d %-12.*s %9.1f %10" PRId64 " %9.0f %9.0f %9.0f\n",
	    s->processes, (int)strcspn(line, "\n"), line, samples_median(&took),
	    bytes, wall / 1e3, samples_quantile(&longest, 1),
	    samples_median(&longest));
	samples_fini(&took);
	samples_fini(&longest);
}

static void
ask_questions(void)
{
	static const char *const lines[] = { "json status\n", "status\n",
		"json apps\n", "metrics\n", "events\n" };

	/* The processes that died last are replaced meanwhile. */
	const struct timespec rest = { .tv_sec = 2 };

	(void)nanosleep(&rest, NULL);
	printf("\nturns: questions; %d of each\n", QUESTIONS);
	printf("%9s %-12s %9s %10s %9s %9s %9s\n", "processes", "question",
	    "answer ms", "bytes", "turn wall", "turn cpu", "median");
	for (size_t q = 0; q < sizeof(lines) / sizeof(lines[0]); q++)
		for (int i = 0; i < 2; i++)
			question(&turns.sides[i], lines[q]);
}

/* --- output -------------------------------------------------------------- */

static void
print_line(const struct side *s, const char *what, struct samples *of)
{
	printf("%9d %9d %-4s", s->processes, s->clients, what);
	for (int i = 0; i < FIGURES; i++)
		printf(" %8.0f",
		    samples_quantile(&of[i], shares[i] == 1 ? 1 : 0.5));
}

static void
print(struct side *s)
{
	print_line(s, "wall", s->wall);
	printf(" %8.0f\n", samples_median(&s->turns));
	print_line(s, "cpu", s->cpu);
	printf("\n");
}

/* --- all ---------------------------------------------------------------- */

static void
init_side(struct side *s, const char *title, int64_t processes, int64_t clients)
{
	s->title = title;
	s->processes = (int)processes;
	s->clients = (int)clients;
}

int
main(int argc, char **argv)
{
	const struct option_place options[] = {
		{ "processes", .number = &turns.processes, .min = APPS,
		    .max = 20000 },
		{ "clients", .number = &turns.clients, .min = 1, .max = 50000 },
		{ "seconds", .number = &turns.seconds, .min = 1, .max = 100 },
		{ "rounds", .number = &turns.rounds, .min = 1, .max = 100 },
		{ .name = NULL },
	};
	int64_t spare, most;

	options_parse(options, argc, argv, "turns [option ...]");
	/* The daemon asks for room for copies of all output. */
	most = (clients_raise_nofile() - RESERVE) / 4;
	if (turns.processes > most)
		turns.processes = most / APPS * APPS;
	spare = clients_raise_nofile() - 2 * turns.processes - RESERVE;
	if (spare < 100) {
		printf("turns: no descriptors for %" PRId64 " processes\n",
		    turns.processes);
		return 0;
	}
	bench_init(&turns.bench);
	bench_pin(&turns.bench);
	init_side(&turns.sides[0], "small", 2 * APPS, 20);
	init_side(&turns.sides[1], "large", turns.processes,
	    turns.clients < spare ? turns.clients : spare);
	for (int i = 0; i < 2; i++) {
		start(&turns.sides[i]);
		connect_holders(&turns.sides[i]);
	}
	for (int64_t round = 0; round < turns.rounds; round++)
		for (int i = 0; i < 2; i++)
			measure(&turns.sides[i]);
	printf("turns: of the loop, microseconds; %" PRId64
	       " rounds of %" PRId64 " s\n",
	    turns.rounds, turns.seconds);
	printf("%9s %9s %-4s %8s %8s %8s %8s %8s %8s\n", "processes", "clients",
	    "", "p50", "p99", "p99.9", "p99.99", "max", "turns/s");
	for (int i = 0; i < 2; i++)
		print(&turns.sides[i]);
	ask_questions();
	for (int i = 0; i < 2; i++)
		stop(&turns.sides[i]);
	bench_fini(&turns.bench);
	return 0;
}
