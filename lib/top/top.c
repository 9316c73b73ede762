/*
 * apppool-top, what `apppoolctl top` becomes: the apps of a daemon, shown again
 * and again.
 */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "conf/conf.h"
#include "ctl/ctl_help.h"
#include "ctl/ctl_width.h"
#include "sys/number.h"
#include "top/glance.h"
#include "top/screen.h"

#define INTERVAL TSPAN_SECONDS(2)
#define INTERVAL_MIN TSPAN_MSECONDS(100)
#define INTERVAL_MAX TSPAN_SECONDS(3600)

#define TABLE_MAX (64 * 1024 * 1024)

enum {
	OPTION_INTERVAL = 256,
};

struct options {
	struct ask daemon;
	tspan interval;
	uint64_t count; /* of tables; 0: no end */
};

static bool
take_interval(struct options *o, const char *text)
{
	if (conf_parse_span(text, &o->interval) &&
	    o->interval >= INTERVAL_MIN && o->interval <= INTERVAL_MAX)
		return true;
	(void)fprintf(stderr,
	    "apppoolctl: --interval: '%s' is not a duration from 100ms to 1h\n",
	    text);
	return false;
}

static bool
take_count(struct options *o, const char *text)
{
	if (number_parse(text, strlen(text), &o->count) && o->count > 0)
		return true;
	(void)fprintf(
	    stderr, "apppoolctl: -n: '%s' is not a number from 1 on\n", text);
	return false;
}

static int
misused(void)
{
	ctl_help_usage(stderr, "top");
	return EX_USAGE;
}

/* EX_OK; or an exit status, with which to end; -1: with EX_OK. */
static int
parse_options(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "interval", required_argument, NULL, OPTION_INTERVAL },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:hn:s:", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->daemon.file = optarg;
			break;
		case 'h':
			(void)ctl_help("top");
			return -1;
		case 'n':
			if (!take_count(o, optarg))
				return EX_USAGE;
			break;
		case 's':
			o->daemon.socket = optarg;
			break;
		case OPTION_INTERVAL:
			if (!take_interval(o, optarg))
				return EX_USAGE;
			break;
		default:
			return misused();
		}
	}
	/* The word is the command itself. */
	if (argc - optind != 1 ||
	    (o->daemon.file != NULL && o->daemon.socket != NULL))
		return misused();
	return EX_OK;
}

/* --- tables, one below the other ------------------------------------------ */

static bool
print_table(struct glance *g)
{
	struct text table;

	text_init(&table, TABLE_MAX);
	overview_table(&g->table, ctl_width(), &table);
	(void)fwrite(table.data, 1, table.len, stdout);
	text_fini(&table);
	return fflush(stdout) == 0;
}

static int
run_tables(struct glance *g, const struct options *o)
{
	const struct timespec pause = {
		.tv_sec = o->interval / TSPAN_SECONDS(1),
		.tv_nsec = o->interval % TSPAN_SECONDS(1),
	};

	for (uint64_t i = 0; o->count == 0 || i < o->count; i++) {
		if (i > 0) {
			(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
			(void)puts("");
		}
		if (!glance_apps(g)) {
			(void)fputs(g->errors == NULL ? "" : g->errors, stderr);
			return EX_UNAVAILABLE;
		}
		if (!print_table(g)) {
			perror("apppoolctl: stdout");
			return EX_IOERR;
		}
	}
	return EX_OK;
}

int
main(int argc, char **argv)
{
	struct options o = { .interval = INTERVAL };
	struct glance g;
	int status = parse_options(&o, argc, argv);

	if (status != EX_OK)
		return status == -1 ? EX_OK : status;
	glance_init(&g, &o.daemon);
	if (o.count == 0 && screen_possible())
		screen_run(&g, o.interval);
	else
		status = run_tables(&g, &o);
	glance_fini(&g);
	return status;
}
