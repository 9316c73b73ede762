/*
 * pareto: the defaults of this program against the rules of its peers.
 *
 *     pareto [-n] [-b BUSY] [-d DAY] [-o OPTIONS] [-s SERVICE]
 *         [-t START-TIME] [PROFILE...]
 *
 * BUSY is the percentage of max_processes at the highest rate, DAY the length
 * of a day (24 hours take their time).  OPTIONS are those of the app in
 * pool.conf(5): "max_processes = 16".  With a profile (day, burst, ramp) only
 * that one is run, with -n only our own rules are.
 */

#include <err.h>

#include "pareto.h"

static const struct pareto defaults[] = {
	{ .profile = "day" },
	{ .profile = "burst", .length = TSPAN_SECONDS(7200) },
	{ .profile = "ramp", .length = TSPAN_SECONDS(7200) },
};

#define DEFAULTS (sizeof(defaults) / sizeof(defaults[0]))

static double
milliseconds(tspan span)
{
	return (double)span / 1e6;
}

static void
judge_spawns(const struct pareto_row *rows, bool sizing)
{
	const struct pareto_row *best = pareto_thriftiest(rows, sizing);

	if (best == rows)
		printf("ours are the fewest of the good ones");
	else if (pareto_good(rows, 0, sizing))
		printf("%s has fewer", best->name);
	else
		printf("ours are not good; %s has the fewest", best->name);
	printf("%s\n", sizing ? ", static left out" : "");
}

static void
judge(const struct pareto_row *rows)
{
	const struct pareto_row *beaten = pareto_beaten(rows);

	if (beaten == NULL)
		printf("processes and p99: nobody beats ours in both\n");
	else
		printf("processes and p99: %s beats ours\n", beaten->name);
	printf("spawns: ");
	judge_spawns(rows, false);
	printf("spawns: ");
	judge_spawns(rows, true);
}

static void
show(const struct pareto *p, const struct pareto_row *rows, unsigned len)
{
	printf("%s, %s, %.0f%% busy, start %.0f ms%s%s\n", p->profile,
	    p->service, 100 * p->busy, milliseconds(p->start_time),
	    *p->options == '\0' ? "" : ", ", p->options);
	printf("%-22s %9s %8s %10s %10s %8s\n", "", "processes", "spawns",
	    "p99 ms", "p99.9 ms", "refused");
	for (unsigned row = 0; row < len; row++) {
		const struct pareto_row *r = &rows[row];

		printf("%-22s %9.2f %8.1f %10.2f %10.2f %8.1f%s\n", r->name,
		    r->processes, r->spawned, milliseconds(r->p99),
		    milliseconds(r->p999), r->refused,
		    len > 1 && pareto_good(rows, row, false) ? "  good" : "");
	}
	if (len > 1)
		judge(rows);
	printf("\n");
	fflush(stdout);
}

static void
run(const struct pareto *p, unsigned len)
{
	struct pareto_row *rows = calloc(PARETO_ROWS, sizeof(*rows));

	if (rows == NULL)
		err(71, "pareto");
	pareto_run(p, len, rows);
	show(p, rows, len);
	free(rows);
}

static void
usage(void)
{
	fprintf(stderr,
	    "usage: pareto [-n] [-b BUSY] [-d DAY] [-o OPTIONS] "
	    "[-s SERVICE]\n"
	    "           [-t START-TIME] [PROFILE...]\n");
	exit(64);
}

int
main(int argc, char **argv)
{
	struct pareto p = { .options = "",
		.service = "exponential:200ms",
		.busy = 0.7,
		.start_time = TSPAN_MSECONDS(500) };
	unsigned len = PARETO_ROWS;
	tspan day = TSPAN_SECONDS(86400);
	int opt;

	while ((opt = getopt(argc, argv, "b:d:no:s:t:")) != -1) {
		if (opt == 'b')
			p.busy = atof(optarg) / 100;
		else if (opt == 'n')
			len = 1;
		else if (opt == 'o')
			p.options = optarg;
		else if (opt == 's')
			p.service = optarg;
		else if (!(opt == 'd' &&
			     words_read_span(optarg, &day) == NULL) &&
		    !(opt == 't' &&
			words_read_span(optarg, &p.start_time) == NULL))
			usage();
	}
	for (unsigned i = 0; i < DEFAULTS; i++) {
		bool wanted = optind == argc;

		for (int arg = optind; arg < argc; arg++)
			wanted |= strcmp(argv[arg], defaults[i].profile) == 0;
		p.profile = defaults[i].profile;
		p.length = defaults[i].length == 0 ? day : defaults[i].length;
		if (wanted)
			run(&p, len);
	}
	return 0;
}
