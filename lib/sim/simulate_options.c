/* The command line of `apppoolctl simulate`. */

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "sim/simulate_options.h"
#include "sim/words.h"

#define DEFAULT_START_TIME TSPAN_MSECONDS(200)
#define START_TIME_MAX TSPAN_SECONDS(600)

enum long_option {
	OPTION_COMPARE = 256,
	OPTION_FOR,
	OPTION_PROFILE,
	OPTION_RATE,
	OPTION_SEED,
	OPTION_SERVICE,
	OPTION_START_TIME,
	OPTION_SVG,
	OPTION_TRACE,
};

static void
simulate_usage(void)
{
	(void)fputs("usage: apppoolctl simulate [-hjV] [-c FILE] [--compare] "
		    "[--for TIME]\n"
		    "           [--profile PROFILE] [--rate [APP=]RATE] "
		    "[--seed NUMBER]\n"
		    "           [--service [APP=]SERVICE] [--start-time TIME] "
		    "[--svg FILE]\n"
		    "           [--trace FILE]\n",
	    stderr);
}

int
simulate_misuse(const char *option, const char *text, const char *why)
{
	(void)fprintf(
	    stderr, "apppoolctl: simulate: --%s %s: %s\n", option, text, why);
	return EX_USAGE;
}

/* --- the command line --------------------------------------------------- */

static int
simulate_seed(const char *text, uint64_t *out)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end != '\0' || errno != 0)
		return simulate_misuse(
		    "seed", text, "write a number from 0 to 2^64 - 1");
	*out = n;
	return 0;
}

static int
simulate_start_time(const char *text, tspan *out)
{
	const char *why;
	tspan span;

	if (!words_read_span(text, &span, &why))
		return simulate_misuse("start-time", text, why);
	if (span > START_TIME_MAX)
		return simulate_misuse(
		    "start-time", text, "it may be 10m at most");
	*out = span;
	return 0;
}

static int
simulate_for(const char *text, tspan *out)
{
	const char *why;
	tspan span;

	if (!words_read_span(text, &span, &why))
		return simulate_misuse("for", text, why);
	if (span == 0)
		return simulate_misuse("for", text, "it must be over 0");
	*out = span;
	return 0;
}

static int
simulate_profile(struct simulate_options *o, const char *text)
{
	const char *why;

	if (!words_read_profile(text, &o->profile, &why))
		return simulate_misuse("profile", text, why);
	o->profile_set = true;
	return 0;
}

static int
simulate_option(struct simulate_options *o, int option, const char *text)
{
	switch (option) {
	case 'c':
		o->file = text;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 'V':
		o->version = true;
		return 0;
	case OPTION_COMPARE:
		o->compare = true;
		return 0;
	case OPTION_FOR:
		return simulate_for(text, &o->length);
	case OPTION_PROFILE:
		return simulate_profile(o, text);
	case OPTION_RATE:
		o->rates[o->rates_len++] = text;
		return 0;
	case OPTION_SEED:
		return simulate_seed(text, &o->seed);
	case OPTION_SERVICE:
		o->services[o->services_len++] = text;
		return 0;
	case OPTION_START_TIME:
		return simulate_start_time(text, &o->start_time);
	case OPTION_SVG:
		o->svg = text;
		return 0;
	case OPTION_TRACE:
		o->trace = text;
		return 0;
	default:
		simulate_usage();
		return EX_USAGE;
	}
}

static int
simulate_contradiction(const struct simulate_options *o)
{
	const char *why = NULL;

	if (o->trace != NULL && o->rates_len > 0)
		why = "a trace has a rate of its own: no --rate";
	else if (o->trace != NULL && o->services_len > 0)
		why = "a trace has service times of its own: no --service";
	else if (o->trace != NULL && o->profile_set)
		why = "a trace has a profile of its own: no --profile";
	else if (o->trace != NULL && strcmp(o->trace, "-") == 0 && o->compare)
		why = "--compare reads the trace several times: no --trace -";
	else if (o->svg != NULL && o->compare)
		why = "--compare draws no picture: no --svg";
	if (why == NULL)
		return 0;
	(void)fprintf(stderr, "apppoolctl: simulate: %s\n", why);
	return EX_USAGE;
}

static int
simulate_options_read(struct simulate_options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "compare", no_argument, NULL, OPTION_COMPARE },
		{ "for", required_argument, NULL, OPTION_FOR },
		{ "help", no_argument, NULL, 'h' },
		{ "profile", required_argument, NULL, OPTION_PROFILE },
		{ "rate", required_argument, NULL, OPTION_RATE },
		{ "seed", required_argument, NULL, OPTION_SEED },
		{ "service", required_argument, NULL, OPTION_SERVICE },
		{ "start-time", required_argument, NULL, OPTION_START_TIME },
		{ "svg", required_argument, NULL, OPTION_SVG },
		{ "trace", required_argument, NULL, OPTION_TRACE },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int option, status;

	while ((option = getopt_long(argc, argv, "c:hjV", longs, NULL)) != -1) {
		status = simulate_option(o, option, optarg);
		if (status != 0)
			return status;
		if (o->help || o->version)
			return 0;
	}
	if (argc - optind != 1) {
		(void)fprintf(stderr,
		    "apppoolctl: simulate: unexpected argument: %s\n",
		    argv[argc - 1]);
		simulate_usage();
		return EX_USAGE;
	}
	return simulate_contradiction(o);
}

int
simulate_options_parse(struct simulate_options *o, int argc, char **argv)
{
	*o = (struct simulate_options){
		.file = CONF_DEFAULT_FILE,
		.start_time = DEFAULT_START_TIME,
		.seed = 1,
	};
	o->rates = calloc((size_t)argc, sizeof(*o->rates));
	o->services = calloc((size_t)argc, sizeof(*o->services));
	if (o->rates == NULL || o->services == NULL) {
		perror("apppoolctl: simulate");
		return EX_OSERR;
	}
	return simulate_options_read(o, argc, argv);
}

void
simulate_options_fini(struct simulate_options *o)
{
	free(o->rates);
	free(o->services);
}
