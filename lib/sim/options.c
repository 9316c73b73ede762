/* The command line of `apppoolctl simulate`, and the load that it asks for. */

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "sim/simulate.h"

#define DEFAULT_START_TIME TSPAN_MSECONDS(200)
#define DEFAULT_SERVICE "exponential:50ms"
#define DEFAULT_LENGTH TSPAN_SECONDS(600)

/* Share of all processes that are busy at the highest rate. */
#define DEFAULT_BUSY 0.7

/* Bursts of a run for which no length is given. */
#define DEFAULT_BURSTS 10

#define CLIENTS_MAX 1000000

#define START_TIME_MAX TSPAN_SECONDS(600)

enum long_option {
	OPTION_CLIENTS = 256,
	OPTION_FOR,
	OPTION_PROFILE,
	OPTION_RATE,
	OPTION_SEED,
	OPTION_SERVICE,
	OPTION_START_TIME,
	OPTION_SVG,
	OPTION_THINK,
	OPTION_TRACE,
};

const struct option simulate_longs[] = {
	{ "clients", required_argument, NULL, OPTION_CLIENTS },
	{ "for", required_argument, NULL, OPTION_FOR },
	{ "help", no_argument, NULL, 'h' },
	{ "profile", required_argument, NULL, OPTION_PROFILE },
	{ "rate", required_argument, NULL, OPTION_RATE },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "service", required_argument, NULL, OPTION_SERVICE },
	{ "start-time", required_argument, NULL, OPTION_START_TIME },
	{ "svg", required_argument, NULL, OPTION_SVG },
	{ "think", required_argument, NULL, OPTION_THINK },
	{ "trace", required_argument, NULL, OPTION_TRACE },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

_Noreturn static void
options_usage(void)
{
	(void)fputs("usage: apppoolctl simulate [-hjV] [-c FILE] "
		    "[--clients [APP=]NUMBER]\n"
		    "           [--for TIME] [--profile PROFILE] "
		    "[--rate [APP=]RATE] [--seed NUMBER]\n"
		    "           [--service [APP=]SERVICE] [--start-time TIME] "
		    "[--svg FILE]\n"
		    "           [--think [APP=]SERVICE] [--trace FILE]\n",
	    stderr);
	exit(EX_USAGE);
}

/* Tells what is wrong with the value of an option. */
_Noreturn static void
options_misuse(int option, const char *text, const char *why)
{
	const struct option *o = simulate_longs;

	while (o->val != option)
		o++;
	errx(EX_USAGE, "simulate: --%s %s: %s", o->name, text, why);
}

/* --- the command line --------------------------------------------------- */

/* False: it is no number, or over max. */
static bool
options_to_number(
    const char *text, unsigned long long max, unsigned long long *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && *end == '\0' && errno == 0 &&
	    *out <= max;
}

/* NULL; or what would be valid instead of the text. */
static const char *
options_read(struct simulate_options *o, int option, const char *text)
{
	const char *valid = NULL;
	unsigned long long n;

	switch (option) {
	case 'c':
		o->file = text;
		break;
	case 'h':
		o->help = true;
		break;
	case 'j':
		o->json = true;
		break;
	case 'V':
		o->version = true;
		break;
	case OPTION_SVG:
		o->svg = text;
		break;
	case OPTION_TRACE:
		o->trace = text;
		break;
	case OPTION_FOR:
		valid = words_read_span(text, &o->length);
		if (valid == NULL && o->length == 0)
			valid = "it must be over 0";
		break;
	case OPTION_PROFILE:
		o->profile_set = true;
		valid = words_read_profile(text, &o->profile);
		break;
	case OPTION_SEED:
		if (!options_to_number(text, UINT64_MAX, &n))
			return "write a number from 0 to 2^64 - 1";
		o->seed = n;
		break;
	case OPTION_START_TIME:
		valid = words_read_span(text, &o->start_time);
		if (valid == NULL && o->start_time > START_TIME_MAX)
			valid = "it may be 10m at most";
		break;
	default:
		o->typed[o->typed_len++] =
		    (struct simulate_typed){ option, text };
	}
	return valid;
}

static bool
options_have(const struct simulate_options *o, int option)
{
	for (size_t i = 0; i < o->typed_len; i++)
		if (o->typed[i].option == option)
			return true;
	return false;
}

static void
options_check(const struct simulate_options *o)
{
	bool clients = options_have(o, OPTION_CLIENTS);
	const char *why = NULL;

	if (o->trace != NULL && options_have(o, OPTION_RATE))
		why = "a trace has a rate of its own: no --rate";
	else if (o->trace != NULL && options_have(o, OPTION_SERVICE))
		why = "a trace has service times of its own: no --service";
	else if (o->trace != NULL && o->profile_set)
		why = "a trace has a profile of its own: no --profile";
	else if (clients && o->trace != NULL)
		why = "a trace has connections of its own: no --clients";
	else if (clients && options_have(o, OPTION_RATE))
		why = "clients come when they have been served: no --rate";
	else if (clients && o->profile_set)
		why = "clients come when they have been served: no --profile";
	else if (!clients && options_have(o, OPTION_THINK))
		why = "it is clients who think: --think goes with --clients";
	if (why != NULL)
		errx(EX_USAGE, "simulate: %s", why);
}

void
options_parse(struct simulate_options *o, int argc, char **argv)
{
	const char *valid;
	int option;

	*o = (struct simulate_options){
		.file = CONF_DEFAULT_FILE,
		.typed = result_alloc((size_t)argc, sizeof(*o->typed)),
		.start_time = DEFAULT_START_TIME,
		.seed = 1,
	};
	while ((option = getopt_long(
		    argc, argv, "c:hjV", simulate_longs, NULL)) != -1) {
		if (option == '?')
			options_usage();
		valid = options_read(o, option, optarg);
		if (valid != NULL)
			options_misuse(option, optarg, valid);
		if (o->help || o->version)
			return;
	}
	if (argc - optind != 1) {
		warnx("simulate: unexpected argument: %s", argv[argc - 1]);
		options_usage();
	}
	options_check(o);
}

/* --- the load ----------------------------------------------------------- */

/*
 * The VALUE of [NAME=]VALUE.  A value may have a "=" itself, behind a ":"
 * then, which no name has: "lognormal:p50=5ms,p99=1s".
 */
static const char *
options_value(const char *text)
{
	size_t name = strcspn(text, "=:");

	return text[name] == '=' ? text + name + 1 : text;
}

/*
 * The value for this app: the last of its name, else the last without a name;
 * NULL: there is none.
 */
static const char *
options_find(const struct simulate_options *o, int option, const char *name)
{
	const char *named = NULL, *plain = NULL;

	for (size_t i = 0; i < o->typed_len; i++) {
		const char *text = o->typed[i].text;
		const char *value = options_value(text);
		size_t n = (size_t)(value - text);

		if (o->typed[i].option != option)
			continue;
		if (n == 0)
			plain = value;
		else if (strncmp(text, name, n - 1) == 0 && name[n - 1] == '\0')
			named = value;
	}
	return named != NULL ? named : plain;
}

/*
 * Each name must be that of an app whose connections the pool hands out:
 * workers that listen themselves take as many at a time as they like.
 */
static void
options_check_names(const struct simulate_options *o, const struct conf *conf)
{
	for (size_t i = 0; i < o->typed_len; i++) {
		const char *text = o->typed[i].text;
		const char *value = options_value(text);
		const struct conf_app *app;
		char name[256];

		if (value == text)
			continue;
		(void)snprintf(
		    name, sizeof(name), "%.*s", (int)(value - text) - 1, text);
		app = conf_find_app(conf, name);
		if (app == NULL)
			return options_misuse(
			    o->typed[i].option, text, "there is no such app");
		if (!app->pool.sessions)
			return options_misuse(o->typed[i].option, text,
			    "no connections are handed to it (handoff)");
	}
}

static void
options_clients(const struct simulate_options *o, const struct conf_app *app,
    struct load_app *out)
{
	const char *clients = options_find(o, OPTION_CLIENTS, app->name);
	const char *think = out->typed_think, *valid;
	unsigned long long n;
	tspan span;

	if (clients == NULL || !app->pool.sessions)
		return;
	if (!options_to_number(clients, CLIENTS_MAX, &n))
		options_misuse(OPTION_CLIENTS, clients,
		    "write a number from 0 to 1000000");
	out->clients = (uint32_t)n;
	if (think == NULL ||
	    (words_read_span(think, &span) == NULL && span == 0))
		return;
	valid = words_read_service(think, &out->think);
	if (valid != NULL)
		options_misuse(OPTION_THINK, think, valid);
}

/*
 * Without a rate, the highest one keeps a good part of max_processes busy:
 * there is something to be seen, and no connection is refused.
 */
static void
options_rate(const struct simulate_options *o, const struct conf *conf,
    const struct conf_app *app, struct load_app *out)
{
	double share = DEFAULT_BUSY / load_peak(&o->profile), places = 0;
	const char *valid;

	if (out->typed_rate != NULL) {
		valid = words_read_rate(out->typed_rate, &out->rate);
		if (valid != NULL)
			options_misuse(OPTION_RATE, out->typed_rate, valid);
	} else {
		for (size_t i = 0; i < conf->apps_len; i++)
			places += conf->apps[i].pool.max_processes;
		if (places > conf->max_processes)
			share *= conf->max_processes / places;
		out->rate = share * app->pool.max_processes *
		    app->pool.concurrency * 1e9 /
		    (double)load_service_mean(&out->service);
	}
	if (!app->pool.sessions)
		out->rate = 0;
}

static tspan
options_length(const struct simulate_options *o)
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

void
options_load(const struct simulate_options *o, const struct conf *conf,
    struct load_app *apps, struct load_spec *out)
{
	options_check_names(o, conf);
	*out = (struct load_spec){
		.apps = apps,
		.apps_len = conf->apps_len,
		.closed = options_have(o, OPTION_CLIENTS),
		.profile = o->profile,
		.length = options_length(o),
		.seed = o->seed,
		.trace = o->trace,
	};
	for (size_t i = 0; i < conf->apps_len; i++) {
		const struct conf_app *app = &conf->apps[i];
		struct load_app *a = &apps[i];
		const char *service, *valid;

		*a = (struct load_app){
			.name = app->name,
			.typed_rate = options_find(o, OPTION_RATE, app->name),
			.typed_service =
			    options_find(o, OPTION_SERVICE, app->name),
			.typed_think = options_find(o, OPTION_THINK, app->name),
		};
		service = a->typed_service != NULL ? a->typed_service
						   : DEFAULT_SERVICE;
		valid = words_read_service(service, &a->service);
		if (valid != NULL)
			options_misuse(OPTION_SERVICE, service, valid);
		if (out->closed)
			options_clients(o, app, a);
		else
			options_rate(o, conf, app, a);
	}
}
