#ifndef TESTS_SIM_PARETO_H
#define TESTS_SIM_PARETO_H

/*
 * The defaults of this program against the rules of its peers: the same app
 * under the same loads, five of each profile.
 *
 * Two things are looked at, for each profile: whether a peer has fewer mean
 * processes and a lower p99 wait as well; and who starts the fewest processes
 * of all that are good, which is to have a p99 wait within a tenth of the
 * best.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf.h"
#include "sim/simulate.h"

#include "../bench/peers/peers.h"

#define PARETO_ROWS (1 + POLICIES_LEN) /* ours is the first */
#define PARETO_SEEDS 5

/* A load of one app, and the app. */
struct pareto {
	const char *options; /* of the app, in the words of pool.conf(5) */
	const char *service; /* in those of simulate, as is the next */
	const char *profile;
	double busy; /* share of max_processes at the highest rate */
	tspan length;
	tspan start_time;
};

/* The outcome of a manager under all seeds of a load. */
struct pareto_row {
	const char *name;
	double processes; /* mean */
	double spawned; /* mean of a run, the first ones included */
	double refused; /* mean of a run */
	tspan p99; /* of the waits of all runs */
	tspan p999;
	struct result_app sum;
};

static inline void
pareto_die(const char *what)
{
	fprintf(stderr, "pareto: %s\n", what);
	exit(1);
}

/* An app as the file of a user has it, with all the defaults of the moment. */
static inline struct conf *
pareto_conf(const struct pareto *p)
{
	char file[] = "/tmp/paretoXXXXXX";
	struct conf_report report;
	struct conf *conf;
	int fd = mkstemp(file);

	if (fd == -1)
		pareto_die("no file in /tmp");
	(void)dprintf(fd,
	    "app \"web\" {\n"
	    "listen = { \"127.0.0.1:8080\" }\n"
	    "command = { \"/bin/true\" }\n"
	    "%s\n}\n",
	    p->options);
	(void)close(fd);
	conf = conf_load(file, CONF_INSIDE, NULL, &report);
	if (conf == NULL)
		pareto_die(report.mistakes[0]);
	conf_report_fini(&report);
	(void)unlink(file);
	return conf;
}

static inline void
pareto_load(const struct pareto *p, const struct conf *conf, uint64_t seed,
    struct load_app *app, struct load_spec *spec)
{
	*app = (struct load_app){ .name = "web" };
	*spec = (struct load_spec){
		.apps = app, .apps_len = 1, .length = p->length, .seed = seed
	};
	if (words_read_service(p->service, &app->service) != NULL ||
	    words_read_profile(p->profile, &spec->profile) != NULL)
		pareto_die("no such service or profile");
	app->rate = p->busy * conf->apps[0].pool.max_processes * 1e9 /
	    (double)load_service_mean(&app->service) /
	    simulate_peak(&spec->profile);
}

/* Adds what a manager makes of one load. */
static inline void
pareto_add(const struct pareto *p, const struct conf *conf, struct manager *m,
    uint64_t seed, struct pareto_row *row)
{
	static struct result r;
	struct load_app app;
	struct load_spec spec;

	pareto_load(p, conf, seed, &app, &spec);
	if (m == NULL || !engine_run(&spec, p->start_time, m, &r))
		pareto_die("no memory");
	row->name = r.manager;
	row->processes += r.total.processes / PARETO_SEEDS;
	row->spawned += (double)r.total.spawned / PARETO_SEEDS;
	row->refused += (double)r.total.refused / PARETO_SEEDS;
	histogram_merge(&row->sum.wait, &r.total.wait);
	result_fini(&r);
}

/* rows: PARETO_ROWS, of zeroes; only so many are run. */
static inline void
pareto_run(const struct pareto *p, unsigned len, struct pareto_row *rows)
{
	struct conf *conf = pareto_conf(p);

	for (unsigned row = 0; row < len; row++) {
		for (uint64_t seed = 1; seed <= PARETO_SEEDS; seed++) {
			struct manager *m = row == 0
			    ? driver_new(
				  &(struct balancer_spec){ 0 }, conf, seed)
			    : policies_new(row - 1, conf, seed);

			pareto_add(p, conf, m, seed, &rows[row]);
		}
		rows[row].p99 = histogram_share(&rows[row].sum.wait, 0.99);
		rows[row].p999 = histogram_share(&rows[row].sum.wait, 0.999);
	}
	conf_free(conf);
}

/* The peer that beats us in both; NULL: none does. */
static inline const struct pareto_row *
pareto_beaten(const struct pareto_row *rows)
{
	for (unsigned row = 1; row < PARETO_ROWS; row++) {
		if (rows[row].processes < rows[0].processes &&
		    rows[row].p99 < rows[0].p99)
			return &rows[row];
	}
	return NULL;
}

/*
 * True if the row's p99 wait is within a tenth of the best.  A static pool
 * starts all that it ever has before the first connection; sizing: that pool
 * is left out.
 */
static inline bool
pareto_good(const struct pareto_row *rows, unsigned row, bool sizing)
{
	for (unsigned other = 0; other < PARETO_ROWS; other++) {
		if (sizing && other == 1 + POLICIES_STATIC)
			continue;
		if ((double)rows[row].p99 > 1.1 * (double)rows[other].p99)
			return false;
	}
	return true;
}

/*
 * The row that starts the fewest processes of the good ones, ours before its
 * equals.
 */
static inline const struct pareto_row *
pareto_thriftiest(const struct pareto_row *rows, bool sizing)
{
	const struct pareto_row *best = NULL;

	for (unsigned row = 0; row < PARETO_ROWS; row++) {
		if (!pareto_good(rows, row, sizing) ||
		    (sizing && row == 1 + POLICIES_STATIC))
			continue;
		if (best == NULL || rows[row].spawned < best->spawned)
			best = &rows[row];
	}
	return best;
}

#endif
