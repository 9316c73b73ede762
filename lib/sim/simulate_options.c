/* The command line of `apppoolctl simulate`, and the load that it asks for. */

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "sim/load.h"
#include "sim/simulate_options.h"
#include "sim/words.h"

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

static void
put_usage(void)
{
	(void)fputs("usage: apppoolctl simulate [-hjV] [-c FILE] "
		    "[--clients [APP=]NUMBER]\n"
		    "           [--for TIME] [--profile PROFILE] "
		    "[--rate [APP=]RATE] [--seed NUMBER]\n"
		    "           [--service [APP=]SERVICE] [--start-time TIME] "
		    "[--svg FILE]\n"
		    "           [--think [APP=]SERVICE] [--trace FILE]\n",
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

/* NULL; or what would be valid. */
static const char *
read_seed(const char *text, uint64_t *out)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end != '\0' || errno != 0)
		return "write a number from 0 to 2^64 - 1";
	*out = n;
	return NULL;
}

/* NULL; or what would be valid instead of the value. */
static const char *
read_value(struct simulate_options *o, int option, const char *text)
{
	const char *valid = NULL;

	switch (option) {
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
		valid = read_seed(text, &o->seed);
		break;
	case OPTION_START_TIME:
		valid = words_read_span(text, &o->start_time);
		if (valid == NULL && o->start_time > START_TIME_MAX)
			valid = "it may be 10m at most";
		break;
	}
	return valid;
}

/* The same for every option. */
static const char *
read_option(struct simulate_options *o, int option, const char *text)
{
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
	case OPTION_CLIENTS:
		o->clients.texts[o->clients.len++] = text;
		break;
	case OPTION_RATE:
		o->rates.texts[o->rates.len++] = text;
		break;
	case OPTION_SERVICE:
		o->services.texts[o->services.len++] = text;
		break;
	case OPTION_SVG:
		o->svg = text;
		break;
	case OPTION_THINK:
		o->thoughts.texts[o->thoughts.len++] = text;
		break;
	case OPTION_TRACE:
		o->trace = text;
		break;
	default:
		return read_value(o, option, text);
	}
	return NULL;
}

static int
check_together(const struct simulate_options *o)
{
	const char *why = NULL;

	if (o->trace != NULL && o->rates.len > 0)
		why = "a trace has a rate of its own: no --rate";
	else if (o->trace != NULL && o->services.len > 0)
		why = "a trace has service times of its own: no --service";
	else if (o->trace != NULL && o->profile_set)
		why = "a trace has a profile of its own: no --profile";
	else if (o->clients.len > 0 && o->trace != NULL)
		why = "a trace has connections of its own: no --clients";
	else if (o->clients.len > 0 && o->rates.len > 0)
		why = "clients come when they have been served: no --rate";
	else if (o->clients.len > 0 && o->profile_set)
		why = "clients come when they have been served: no --profile";
	else if (o->clients.len == 0 && o->thoughts.len > 0)
		why = "it is clients who think: --think goes with --clients";
	if (why == NULL)
		return 0;
	(void)fprintf(stderr, "apppoolctl: simulate: %s\n", why);
	return EX_USAGE;
}

static int
read_options(struct simulate_options *o, int argc, char **argv)
{
	const char *valid;
	int option, index;

	while ((option = getopt_long(
		    argc, argv, "c:hjV", simulate_longs, &index)) != -1) {
		if (option == '?') {
			put_usage();
			return EX_USAGE;
		}
		valid = read_option(o, option, optarg);
		if (valid != NULL)
			return misuse(
			    simulate_longs[index].name, optarg, valid);
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
	o->rates.texts = calloc((size_t)argc, sizeof(char *));
	o->services.texts = calloc((size_t)argc, sizeof(char *));
	o->clients.texts = calloc((size_t)argc, sizeof(char *));
	o->thoughts.texts = calloc((size_t)argc, sizeof(char *));
	if (o->rates.texts == NULL || o->services.texts == NULL ||
	    o->clients.texts == NULL || o->thoughts.texts == NULL) {
		perror("apppoolctl: simulate");
		return EX_OSERR;
	}
	return read_options(o, argc, argv);
}

void
simulate_options_fini(struct simulate_options *o)
{
	free(o->rates.texts);
	free(o->services.texts);
	free(o->clients.texts);
	free(o->thoughts.texts);
}

/* --- the load ----------------------------------------------------------- */

/*
 * Whether the pool hands connections to the app's workers.  Workers that
 * listen themselves take as many at a time as they like.
 */
static bool
has_sessions(const struct conf_app *app)
{
	return app->pool.sessions;
}

/*
 * The highest rate keeps a good part of max_processes busy: there is something
 * to be seen, and no connection is refused.
 */
static double
default_rate(const struct simulate_options *o, const struct conf *conf,
    const struct conf_app *app, const struct service *service)
{
	double share = DEFAULT_BUSY / load_peak(&o->profile), places = 0;

	if (!has_sessions(app))
		return 0;
	for (size_t i = 0; i < conf->apps_len; i++)
		places += conf->apps[i].pool.max_processes;
	if (places > conf->max_processes)
		share *= conf->max_processes / places;
	return share * app->pool.max_processes * app->pool.concurrency * 1e9 /
	    (double)load_service_mean(service);
}

/*
 * The VALUE of [NAME=]VALUE.  A value may have a "=" itself, behind a ":"
 * then, which no name has: "lognormal:p50=5ms,p99=1s".
 */
static const char *
value_of(const char *text)
{
	size_t name = strcspn(text, "=:");

	return text[name] == '=' ? text + name + 1 : text;
}

/*
 * The value for this app: the last of its name, else the last without a name;
 * NULL: there is none.
 */
static const char *
find_value(const struct simulate_values *values, const char *name)
{
	const char *named = NULL, *plain = NULL;

	for (size_t i = 0; i < values->len; i++) {
		const char *text = values->texts[i], *value = value_of(text);
		size_t n = (size_t)(value - text);

		if (n == 0)
			plain = value;
		else if (strncmp(text, name, n - 1) == 0 && name[n - 1] == '\0')
			named = value;
	}
	return named != NULL ? named : plain;
}

/* Every name is that of an app with connections; else the exit status. */
static int
check_names(const char *option, const struct simulate_values *values,
    const struct conf *conf)
{
	for (size_t i = 0; i < values->len; i++) {
		const char *text = values->texts[i], *value = value_of(text);
		const struct conf_app *app;
		char name[256];

		if (value == text)
			continue;
		(void)snprintf(
		    name, sizeof(name), "%.*s", (int)(value - text) - 1, text);
		app = conf_find_app(conf, name);
		if (app == NULL)
			return misuse(option, text, "there is no such app");
		if (!has_sessions(app))
			return misuse(option, text,
			    "no connections are handed to it (handoff)");
	}
	return 0;
}

/* NULL; or what would be valid. */
static const char *
read_clients(const char *text, uint32_t *out)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end != '\0' || errno != 0 ||
	    n > CLIENTS_MAX)
		return "write a number from 0 to 1000000";
	*out = (uint32_t)n;
	return NULL;
}

static int
clients_of_app(const struct simulate_options *o, const struct conf_app *app,
    struct load_app *out)
{
	const char *clients = find_value(&o->clients, app->name), *valid;
	const char *think = out->typed_think;
	tspan span;

	out->think = (struct service){ .kind = SERVICE_FIXED };
	if (clients == NULL || !has_sessions(app))
		return 0;
	valid = read_clients(clients, &out->clients);
	if (valid != NULL)
		return misuse("clients", clients, valid);
	if (think == NULL ||
	    (words_read_span(think, &span) == NULL && span == 0))
		return 0;
	valid = words_read_service(think, &out->think);
	return valid == NULL ? 0 : misuse("think", think, valid);
}

static int
load_app(const struct simulate_options *o, const struct conf *conf,
    const struct conf_app *app, struct load_app *out)
{
	const char *service = find_value(&o->services, app->name), *valid;
	const char *rate = find_value(&o->rates, app->name);

	out->name = app->name;
	out->typed_service = service;
	out->typed_rate = rate;
	out->typed_think = find_value(&o->thoughts, app->name);
	if (service == NULL)
		service = DEFAULT_SERVICE;
	valid = words_read_service(service, &out->service);
	if (valid != NULL)
		return misuse("service", service, valid);
	if (o->clients.len > 0)
		return clients_of_app(o, app, out);
	out->rate = default_rate(o, conf, app, &out->service);
	if (rate == NULL)
		return 0;
	valid = words_read_rate(rate, &out->rate);
	if (valid != NULL)
		return misuse("rate", rate, valid);
	if (!has_sessions(app))
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
	int status = check_names("rate", &o->rates, conf);

	if (status == 0)
		status = check_names("service", &o->services, conf);
	if (status == 0)
		status = check_names("clients", &o->clients, conf);
	if (status == 0)
		status = check_names("think", &o->thoughts, conf);
	for (size_t i = 0; i < conf->apps_len && status == 0; i++)
		status = load_app(o, conf, &conf->apps[i], &apps[i]);
	*out = (struct load_spec){
		.apps = apps,
		.apps_len = conf->apps_len,
		.closed = o->clients.len > 0,
		.profile = o->profile,
		.length = length_of(o),
		.seed = o->seed,
		.trace = o->trace,
	};
	return status;
}
