/* The command line of `apppoolctl simulate`, and the load that it asks for. */

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "conf/conf_pool.h"
#include "sim/load.h"
#include "sim/simulate_options.h"
#include "sim/words.h"

#define DEFAULT_START_TIME TSPAN_MSECONDS(200)
#define DEFAULT_SERVICE "exponential:50ms"
#define DEFAULT_LENGTH TSPAN_SECONDS(600)

/* Of all processes, at the highest rate. */
#define DEFAULT_BUSY 0.7

/* Bursts of a run for which no length is given. */
#define DEFAULT_BURSTS 10

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
put_usage(void)
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

/* Tells what is wrong with the value of an option; gives EX_USAGE. */
static int
misuse(const char *option, const char *text, const char *why)
{
	(void)fprintf(
	    stderr, "apppoolctl: simulate: --%s %s: %s\n", option, text, why);
	return EX_USAGE;
}

/* --- the command line --------------------------------------------------- */

static int
read_seed(const char *text, uint64_t *out)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end != '\0' || errno != 0)
		return misuse(
		    "seed", text, "write a number from 0 to 2^64 - 1");
	*out = n;
	return 0;
}

static int
read_start_time(const char *text, tspan *out)
{
	const char *why;
	tspan span;

	if (!words_read_span(text, &span, &why))
		return misuse("start-time", text, why);
	if (span > START_TIME_MAX)
		return misuse("start-time", text, "it may be 10m at most");
	*out = span;
	return 0;
}

static int
read_for(const char *text, tspan *out)
{
	const char *why;
	tspan span;

	if (!words_read_span(text, &span, &why))
		return misuse("for", text, why);
	if (span == 0)
		return misuse("for", text, "it must be over 0");
	*out = span;
	return 0;
}

static int
read_profile(struct simulate_options *o, const char *text)
{
	const char *why;

	if (!words_read_profile(text, &o->profile, &why))
		return misuse("profile", text, why);
	o->profile_set = true;
	return 0;
}

static int
read_option(struct simulate_options *o, int option, const char *text)
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
		return read_for(text, &o->length);
	case OPTION_PROFILE:
		return read_profile(o, text);
	case OPTION_RATE:
		o->rates[o->rates_len++] = text;
		return 0;
	case OPTION_SEED:
		return read_seed(text, &o->seed);
	case OPTION_SERVICE:
		o->services[o->services_len++] = text;
		return 0;
	case OPTION_START_TIME:
		return read_start_time(text, &o->start_time);
	case OPTION_SVG:
		o->svg = text;
		return 0;
	case OPTION_TRACE:
		o->trace = text;
		return 0;
	default:
		put_usage();
		return EX_USAGE;
	}
}

static int
check_together(const struct simulate_options *o)
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
read_options(struct simulate_options *o, int argc, char **argv)
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
		status = read_option(o, option, optarg);
		if (status != 0)
			return status;
		if (o->help || o->version)
			return 0;
	}
	if (argc - optind != 1) {
		(void)fprintf(stderr,
		    "apppoolctl: simulate: unexpected argument: %s\n",
		    argv[argc - 1]);
		put_usage();
		return EX_USAGE;
	}
	return check_together(o);
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
	return read_options(o, argc, argv);
}

void
simulate_options_fini(struct simulate_options *o)
{
	free(o->rates);
	free(o->services);
}

/* --- the load ----------------------------------------------------------- */

/*
 * Whether the pool hands connections to its processes.  Those that listen
 * themselves take as many at a time as they like, which nobody knows here.
 */
static bool
has_sessions(const struct conf_app *app)
{
	struct app_options options;

	conf_pool_options(app, &options);
	return options.sessions;
}

/*
 * The highest rate keeps a good part of all processes busy that there may be:
 * there is something to be seen, and nobody is refused.
 */
static double
default_rate(const struct simulate_options *o, const struct conf *conf,
    const struct conf_app *app, const struct service *service)
{
	double share = DEFAULT_BUSY / load_peak(&o->profile), places = 0;

	if (!has_sessions(app))
		return 0;
	for (size_t i = 0; i < conf->apps_len; i++)
		places += conf->apps[i].max_processes;
	if (places > conf->max_processes)
		share *= conf->max_processes / places;
	return share * app->max_processes * app->concurrency * 1e9 /
	    (double)load_service_mean(service);
}

/*
 * What follows NAME= in [NAME=]VALUE.  A value may have a "=" itself, behind
 * a ":" then, which no name has: "lognormal:p50=5ms,p99=1s".
 */
static const char *
value_of(const char *text)
{
	size_t name = strcspn(text, "=:");

	return text[name] == '=' ? text + name + 1 : text;
}

/*
 * The value for this app among [NAME=]VALUE…: the last one of its name, else
 * the last one without; NULL: there is none.
 */
static const char *
find_value(const char *const *texts, size_t len, const char *name)
{
	const char *found = NULL;
	bool named = false;

	for (size_t i = 0; i < len; i++) {
		const char *value = value_of(texts[i]);
		size_t n;

		if (value == texts[i]) {
			found = named ? found : value;
			continue;
		}
		n = (size_t)(value - texts[i]) - 1;
		if (strncmp(texts[i], name, n) == 0 && name[n] == '\0') {
			found = value;
			named = true;
		}
	}
	return found;
}

/* A name there that is no app's, or that of one without connections. */
static int
check_names(const char *option, const char *const *texts, size_t len,
    const struct conf *conf)
{
	const struct conf_app *app;

	for (size_t i = 0; i < len; i++) {
		const char *value = value_of(texts[i]);
		char name[256];

		if (value == texts[i])
			continue;
		(void)snprintf(name, sizeof(name), "%.*s",
		    (int)(value - texts[i]) - 1, texts[i]);
		app = conf_find_app(conf, name);
		if (app == NULL)
			return misuse(option, texts[i], "there is no such app");
		if (!has_sessions(app))
			return misuse(option, texts[i],
			    "no connections are handed to it (handoff)");
	}
	return 0;
}

static int
load_app(const struct simulate_options *o, const struct conf *conf, size_t i,
    struct load_app *out)
{
	const char *name = conf->apps[i].name, *why;
	const char *service = find_value(o->services, o->services_len, name);
	const char *rate = find_value(o->rates, o->rates_len, name);

	out->name = name;
	if (service == NULL)
		service = DEFAULT_SERVICE;
	if (!words_read_service(service, &out->service, &why))
		return misuse("service", service, why);
	out->rate = default_rate(o, conf, &conf->apps[i], &out->service);
	if (rate == NULL)
		return 0;
	if (!words_read_rate(rate, &out->rate, &why))
		return misuse("rate", rate, why);
	if (!has_sessions(&conf->apps[i]))
		out->rate = 0;
	return 0;
}

static tspan
length_of(const struct simulate_options *o)
{
	if (o->length != 0 || o->trace != NULL)
		return o->length;
	if (o->profile.kind == PROFILE_BURST)
		return DEFAULT_BURSTS * o->profile.period;
	if (o->profile.kind != PROFILE_DAY)
		return DEFAULT_LENGTH;
	return o->profile.period != 0 ? o->profile.period
				      : TSPAN_SECONDS(86400);
}

int
simulate_options_load(const struct simulate_options *o, const struct conf *conf,
    struct load_app *apps, struct load_spec *out)
{
	int status = check_names("rate", o->rates, o->rates_len, conf);

	if (status == 0)
		status =
		    check_names("service", o->services, o->services_len, conf);
	for (size_t i = 0; i < conf->apps_len && status == 0; i++)
		status = load_app(o, conf, i, &apps[i]);
	*out = (struct load_spec){
		.apps = apps,
		.apps_len = conf->apps_len,
		.profile = o->profile,
		.length = length_of(o),
		.seed = o->seed,
		.trace = o->trace,
	};
	return status;
}
