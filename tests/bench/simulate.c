/*
 * simulate: how fast the simulator runs our core.
 *
 *     simulate [--seconds N] [--rounds N]
 *
 * Pools of several sizes under the load of `apppoolctl simulate`: Poisson
 * arrivals, exponential service times of 50 ms on average, seven processes in
 * ten busy; three in four are kept, the others come and go.  A round plays as
 * much virtual time as brings so many connections as are served in a second at
 * a million per second, times N (1).
 *
 * Medians of the rounds (5), in which the sizes take turns: connections per
 * second of real time, and per second of this program's processor time, which
 * other programs on the machine disturb less; and the nanoseconds of one
 * connection. Aim: a million per second.
 */

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "conf/conf.h"
#include "sim/engine.h"

#include "../support/options.h"

#define ROUNDS_MAX 99
#define SERVICE TSPAN_MSECONDS(50)
#define BUSY 0.7

struct size {
	unsigned apps;
	unsigned processes; /* of each app */
	struct conf *conf;
	double real[ROUNDS_MAX]; /* connections per second */
	double cpu[ROUNDS_MAX];
};

static struct size sizes[] = {
	{ .apps = 1, .processes = 8 },
	{ .apps = 1, .processes = 64 },
	{ .apps = 1, .processes = 1000 },
	{ .apps = 10, .processes = 8 },
	{ .apps = 100, .processes = 8 },
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void
size_write(const struct size *s, FILE *out)
{
	fprintf(out, "max_processes = %u\n", s->apps * s->processes);
	for (unsigned i = 0; i < s->apps; i++)
		fprintf(out,
		    "app \"app%u\" { command = \"/bin/true\" "
		    "listen = \"127.0.0.1:%u\" min_processes = %u "
		    "max_processes = %u }\n",
		    i, 8000 + i, s->processes * 3 / 4, s->processes);
}

static void
size_init(struct size *s)
{
	char path[] = "/tmp/apppoold-bench.XXXXXX";
	struct conf_report report;
	int fd = mkstemp(path);
	FILE *out = fd == -1 ? NULL : fdopen(fd, "w");

	if (out == NULL)
		err(EX_CANTCREAT, "%s", path);
	size_write(s, out);
	if (fclose(out) != 0)
		err(EX_IOERR, "%s", path);
	conf_report_init(&report);
	s->conf = conf_load(path, CONF_INSIDE, NULL, &report);
	(void)unlink(path);
	if (s->conf == NULL)
		errx(EX_SOFTWARE, "%s", report.mistakes[0]);
	conf_report_fini(&report);
}

/* Seconds. */
static double
size_clock(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
size_run(struct size *s, const struct load_spec *spec, unsigned round)
{
	const struct engine_options o = {
		.start_time = TSPAN_MSECONDS(200),
		.exit_time = TSPAN_MSECONDS(5),
	};
	struct manager *m = pool_driver_new(s->conf, spec->seed);
	struct load *load = load_open(spec);
	struct result result;
	double real, cpu, arrived;

	result_init(&result, s->apps);
	real = size_clock(CLOCK_MONOTONIC);
	cpu = size_clock(CLOCK_PROCESS_CPUTIME_ID);
	(void)engine_run(&o, load, m, &result);
	arrived = (double)result.total.arrived;
	s->cpu[round] = arrived / (size_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	s->real[round] = arrived / (size_clock(CLOCK_MONOTONIC) - real);
	if (result.total.completed != result.total.arrived)
		errx(EX_SOFTWARE, "connections were refused");
	result_fini(&result);
	load_close(load);
	m->ops->fini(m);
}

static void
size_round(struct size *s, int64_t seconds, unsigned round)
{
	double rate = BUSY * s->processes * 1e9 / (double)SERVICE;
	struct load_app *apps = calloc(s->apps, sizeof(*apps));
	struct load_spec spec = {
		.apps = apps,
		.apps_len = s->apps,
		.length = (tspan)((double)TSPAN_SECONDS(seconds) * 1e6 /
		    (rate * s->apps)),
		.seed = round + 1,
	};

	if (apps == NULL)
		err(EX_OSERR, NULL);
	for (unsigned i = 0; i < s->apps; i++)
		apps[i] = (struct load_app){
			.name = s->conf->apps[i].name,
			.rate = rate,
			.service = { .kind = SERVICE_EXPONENTIAL,
			    .mean = SERVICE },
		};
	size_run(s, &spec, round);
	free(apps);
}

static int
size_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
size_median(double *values, int64_t rounds)
{
	qsort(values, (size_t)rounds, sizeof(*values), size_order);
	return values[rounds / 2];
}

int
main(int argc, char **argv)
{
	int64_t seconds = 1, rounds = 5;
	const struct option_place options[] = {
		{ "seconds", .number = &seconds, .min = 1, .max = 1000 },
		{ "rounds", .number = &rounds, .min = 1, .max = ROUNDS_MAX },
		{ .name = NULL },
	};

	options_parse(options, argc, argv, "simulate [option ...]");
	printf("simulate: connections of the simulator per second\n");
	for (size_t i = 0; i < SIZES; i++)
		size_init(&sizes[i]);
	for (unsigned r = 0; r < rounds; r++)
		for (size_t i = 0; i < SIZES; i++)
			size_round(&sizes[i], seconds, r);
	printf("%5s %9s %12s %12s %6s\n", "apps", "processes", "real time",
	    "processor", "ns");
	for (size_t i = 0; i < SIZES; i++) {
		double cpu = size_median(sizes[i].cpu, rounds);

		printf("%5u %9u %12.0f %12.0f %6.0f\n", sizes[i].apps,
		    sizes[i].apps * sizes[i].processes,
		    size_median(sizes[i].real, rounds), cpu, 1e9 / cpu);
		conf_free(sizes[i].conf);
	}
	return 0;
}
