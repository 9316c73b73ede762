/*
 * footprint: what a pool of idle processes costs the daemon.
 *
 *     footprint [--most N] [--seconds N]
 *
 * Starts apppoold with 8, 1000 and 5000 processes (up to --most), each of
 * which only says READY, and prints for each size
 *
 *     ready     seconds from the start of the daemon until `apppoolctl wait`
 *               has returned: every process forked, executed, and ready
 *     /process  the same for one process, in microseconds
 *     rss, pss  resident memory of the daemon, KiB; pss counts what it shares
 *               with others by its share
 *     growth    rss beyond that of the smallest pool, bytes for each process
 *     fds       open descriptors of the daemon
 *     idle      processor time of the daemon while nothing happens for
 *               --seconds (3), after one in which it may settle;
 *               microseconds a second
 *     stop      seconds from SIGTERM until the daemon has ended
 *
 * Nothing is pinned here.  Sizes beyond the descriptor limit are left out:
 * two for each process.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <time.h>

#include "../support/bench.h"
#include "../support/clients.h"
#include "../support/options.h"
#include "../support/proc.h"
#include "../support/server.h"

static const int sizes[] = { 8, 1000, 5000 };

struct footprint {
	struct bench bench;
	int64_t most, seconds;
	long base_rss; /* of the smallest pool */
	int base_size;
};

/* Processor time, microseconds a second. */
static double
footprint_idle(const struct footprint *f, const struct server *s)
{
	const struct timespec nap = { .tv_sec = f->seconds };
	tspan before = proc_cpu(s->pid);

	(void)nanosleep(&nap, NULL);
	return (double)(proc_cpu(s->pid) - before) / 1e3 / (double)f->seconds;
}

static double
seconds_since(tstamp from)
{
	return (double)(client_now() - from) / 1e9;
}

static void
footprint_size(struct footprint *f, int size)
{
	char address[SERVER_PATH];
	struct server s;
	const struct server_plan plan = {
		.address = address, .workers = size, .cpu = -1, .idle = true
	};
	tstamp from = client_now();
	double ready, idle;
	long rss, pss;
	int fds, children;

	bench_address(&f->bench, "unix", address, sizeof(address));
	server_start(&s, SERVER_APPPOOLD, f->bench.folder, &plan);
	ready = seconds_since(from);
	children = proc_children(s.pid);
	if (children < size)
		errx(EX_SOFTWARE, "%d of %d processes", children, size);

	idle = footprint_idle(f, &s);
	proc_memory(s.pid, &rss, &pss);
	fds = proc_descriptors(s.pid);
	if (f->base_size == 0) {
		f->base_size = size;
		f->base_rss = rss;
	}
	from = client_now();
	server_stop(&s);

	printf("%9d %8.3f %8.0f %8ld %8ld", size, ready, ready * 1e6 / size,
	    rss / 1024, pss / 1024);
	if (size == f->base_size)
		printf(" %8s", "-");
	else
		printf(" %8ld", (rss - f->base_rss) / (size - f->base_size));
	printf(" %8d %8.0f %8.3f\n", fds, idle, seconds_since(from));
	(void)fflush(stdout);
}

int
main(int argc, char **argv)
{
	struct footprint f = { .most = 5000, .seconds = 3 };
	const struct option_place options[] = {
		{ "most", .number = &f.most, .min = 1, .max = 9000 },
		{ "seconds", .number = &f.seconds, .min = 1, .max = 60 },
		{ .name = NULL },
	};
	int nofile = clients_raise_nofile();
	size_t i;

	options_parse(options, argc, argv, "footprint [option ...]");
	if (!server_exists(SERVER_APPPOOLD)) {
		printf("footprint: apppoold is not there\n");
		return 0;
	}
	bench_init(&f.bench);
	printf("footprint: the daemon with idle processes\n"
	       "%9s %8s %8s %8s %8s %8s %8s %8s %8s\n",
	    "processes", "ready", "/process", "rss", "pss", "growth", "fds",
	    "idle", "stop");
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] <= f.most && 2 * sizes[i] + 512 <= nofile)
			footprint_size(&f, sizes[i]);
	bench_fini(&f.bench);
	return 0;
}
