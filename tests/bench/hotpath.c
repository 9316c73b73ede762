/*
 * hotpath: the system calls of a dispatcher, for each connection.
 *
 *     hotpath [--count N] [--workers N]
 *
 * `strace -c -f` is put on the dispatcher, all its threads and none of its
 * workers, while clients make N connections: first in a closed loop, twice as
 * many at a time as there are workers, then N / 10 more that come alone, 200 a
 * second.  A line says how often each call was made for each connection.
 * Expected are accept4, sendmsg, close, recvfrom (or recvmsg) once, setsockopt
 * once for TCP, and epoll_wait: twice for one that comes alone, a small share
 * of it under load.  Calls below 0.005 are left out of the line but not of the
 * sum.
 *
 * strace slows the dispatcher some twenty times: under load one wait therefore
 * yields more events than it does without.
 */

#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "../support/server.h"

#define ATTACH_LIMIT TSPAN_SECONDS(5)

struct hotpath {
	struct bench bench;
	int64_t count, workers;
	char trace[SERVER_PATH]; /* where strace writes */
};

/* Starts strace; returns once it traces its target. */
static pid_t
strace_start(const struct hotpath *h, pid_t target)
{
	char number[16];
	const tstamp limit = tstamp_add(client_now(), ATTACH_LIMIT);
	const struct timespec nap = { .tv_nsec = TSPAN_MSECONDS(1) };
	pid_t pid;
	int null;

	(void)snprintf(number, sizeof(number), "%d", (int)target);
	pid = fork();
	if (pid == -1)
		err(EX_OSERR, "fork");
	if (pid == 0) {
		null = open("/dev/null", O_WRONLY);
		(void)dup2(null, STDERR_FILENO);
		(void)execlp("strace", "strace", "-c", "-f", "-p", number, "-o",
		    h->trace, (char *)NULL);
		_exit(EX_UNAVAILABLE);
	}
	while (!proc_traced(target)) {
		if (waitpid(pid, NULL, WNOHANG) == pid || client_now() > limit)
			errx(EX_UNAVAILABLE,
			    "strace does not attach: is it "
			    "installed, and allowed?");
		(void)nanosleep(&nap, NULL);
	}
	return pid;
}

static void
strace_stop(pid_t pid)
{
	(void)kill(pid, SIGINT);
	(void)waitpid(pid, NULL, 0);
}

/* Columns: % time, seconds, usecs/call, calls, [errors,] syscall. */
static void
strace_print(const struct hotpath *h, int64_t count)
{
	char line[256], fifth[64], sixth[64];
	long calls;
	FILE *f = fopen(h->trace, "re");

	if (f == NULL)
		err(EX_NOINPUT, "%s", h->trace);
	while (fgets(line, sizeof(line), f) != NULL) {
		int n = sscanf(
		    line, "%*f %*f %*d %ld %63s %63s", &calls, fifth, sixth);

		/* Headings and rules have no count. */
		if (n < 2 || (double)calls < 0.005 * (double)count)
			continue;
		printf(" %s %.2f", n == 3 ? sixth : fifth,
		    (double)calls / (double)count);
	}
	(void)fclose(f);
	putchar('\n');
	(void)fflush(stdout);
}

static void
hotpath_measure(const struct hotpath *h, const struct server *s, bool alone)
{
	const struct client_plan plan = {
		.to = s->at,
		.count = alone ? h->count / 10 : h->count,
		.concurrency = (int)h->workers * 2,
		.rate = alone ? 200 : 0,
		.timeout = TSPAN_SECONDS(20),
		.limit = TSPAN_SECONDS(60),
	};
	struct clients_totals totals;
	pid_t strace = strace_start(h, s->pid);

	if (clients_run(&plan, &totals) == -1)
		err(EX_OSERR, "clients");
	strace_stop(strace);
	if (totals.ends[CLIENT_ANSWERED] != plan.count)
		errx(EX_SOFTWARE, "%s: %" PRId64 " of %" PRId64 " answered",
		    server_title(s->name), totals.ends[CLIENT_ANSWERED],
		    plan.count);
	printf("%-5s %7" PRId64 " %-7s %-9s",
	    s->at.addr.ss_family == AF_UNIX ? "unix" : "tcp", h->workers,
	    alone ? "alone" : "loop", server_title(s->name));
	strace_print(h, plan.count);
}

static void
hotpath_server(struct hotpath *h, enum server_name name, const char *transport)
{
	char address[SERVER_PATH];
	struct server s;
	const struct server_plan plan = {
		.address = address,
		.workers = (int)h->workers,
		.cpu = h->bench.server_cpu,
	};

	bench_address(&h->bench, transport, address, sizeof(address));
	server_start(&s, name, h->bench.folder, &plan);
	hotpath_measure(h, &s, false);
	hotpath_measure(h, &s, true);
	server_stop(&s);
}

int
main(int argc, char **argv)
{
	struct hotpath h = { .count = 5000, .workers = 8 };
	const struct option_place options[] = {
		{ "count", .number = &h.count, .min = 10, .max = 1000000 },
		{ "workers", .number = &h.workers, .min = 1, .max = 1000 },
		{ .name = NULL },
	};
	static const enum server_name names[] = { SERVER_PASS,
		SERVER_APPPOOLD };
	size_t i;

	options_parse(options, argc, argv, "hotpath [option ...]");
	bench_init(&h.bench);
	bench_pin(&h.bench);
	(void)snprintf(h.trace, sizeof(h.trace), "%s/trace", h.bench.folder);
	printf("hotpath: calls per connection, of %" PRId64
	       "\n%-5s %7s %7s %-9s\n",
	    h.count, "", "workers", "clients", "server");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!server_exists(names[i])) {
			printf("%s is not there\n", server_title(names[i]));
			continue;
		}
		hotpath_server(&h, names[i], "unix");
		hotpath_server(&h, names[i], "tcp");
	}
	bench_fini(&h.bench);
	return 0;
}
