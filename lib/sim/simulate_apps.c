/* The load of each app: what the options say, else what is usual. */

#include <stdio.h>
#include <string.h>

#include "sim/simulate_options.h"
#include "sim/words.h"

#define DEFAULT_SERVICE "exponential:50ms"
#define DEFAULT_LENGTH TSPAN_SECONDS(600)

/* Of all processes, at the highest rate. */
#define DEFAULT_BUSY 0.7

/* Bursts of a run of which nobody says how long it is. */
#define DEFAULT_BURSTS 10

/*
 * Whether the pool hands connections to its processes.  Those that listen
 * themselves take as many at a time as they like, which nobody knows here.
 */
static bool
simulate_has_sessions(const struct conf_app *app)
{
	return app->handoff != CONF_HANDOFF_NONE &&
	    app->handoff != CONF_HANDOFF_LISTEN;
}

/* The highest rate of the profile over its mean. */
static double
simulate_peak(const struct profile *p)
{
	switch (p->kind) {
	case PROFILE_BURST:
		return p->factor /
		    (1 +
			(p->factor - 1) * (double)p->burst / (double)p->period);
	case PROFILE_DAY:
		return 1.8;
	case PROFILE_RAMP:
		return 2;
	case PROFILE_STEADY:
		break;
	}
	return 1;
}

/*
 * The highest rate keeps a good part of all processes busy that there may be:
 * there is something to be seen, and nobody is refused.
 */
static double
simulate_rate(const struct simulate_options *o, const struct conf *conf,
    const struct conf_app *app, const struct service *service)
{
	double share = DEFAULT_BUSY / simulate_peak(&o->profile), places = 0;

	if (!simulate_has_sessions(app))
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
simulate_value(const char *text)
{
	size_t name = strcspn(text, "=:");

	return text[name] == '=' ? text + name + 1 : text;
}

/*
 * The value for this app among [NAME=]VALUE…: the last one of its name, else
 * the last one without; NULL: there is none.
 */
static const char *
simulate_find(const char *const *texts, size_t len, const char *name)
{
	const char *found = NULL;
	bool named = false;

	for (size_t i = 0; i < len; i++) {
		const char *value = simulate_value(texts[i]);
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
simulate_check_names(const char *option, const char *const *texts, size_t len,
    const struct conf *conf)
{
	const struct conf_app *app;

	for (size_t i = 0; i < len; i++) {
		const char *value = simulate_value(texts[i]);
		char name[256];

		if (value == texts[i])
			continue;
		(void)snprintf(name, sizeof(name), "%.*s",
		    (int)(value - texts[i]) - 1, texts[i]);
		app = conf_find_app(conf, name);
		if (app == NULL)
			return simulate_misuse(
			    option, texts[i], "there is no such app");
		if (!simulate_has_sessions(app))
			return simulate_misuse(option, texts[i],
			    "no connections are handed to it (handoff)");
	}
	return 0;
}

static int
simulate_app(const struct simulate_options *o, const struct conf *conf,
    size_t i, struct load_app *out)
{
	const char *name = conf->apps[i].name, *why;
	const char *service = simulate_find(o->services, o->services_len, name);
	const char *rate = simulate_find(o->rates, o->rates_len, name);

	out->name = name;
	if (service == NULL)
		service = DEFAULT_SERVICE;
	if (!words_read_service(service, &out->service, &why))
		return simulate_misuse("service", service, why);
	out->rate = simulate_rate(o, conf, &conf->apps[i], &out->service);
	if (rate == NULL)
		return 0;
	if (!words_read_rate(rate, &out->rate, &why))
		return simulate_misuse("rate", rate, why);
	if (!simulate_has_sessions(&conf->apps[i]))
		out->rate = 0;
	return 0;
}

int
simulate_apps(const struct simulate_options *o, const struct conf *conf,
    struct load_app *apps)
{
	int status = simulate_check_names("rate", o->rates, o->rates_len, conf);

	if (status == 0)
		status = simulate_check_names(
		    "service", o->services, o->services_len, conf);
	for (size_t i = 0; i < conf->apps_len && status == 0; i++)
		status = simulate_app(o, conf, i, &apps[i]);
	return status;
}

tspan
simulate_length(const struct simulate_options *o)
{
	if (o->length != 0 || o->trace != NULL)
		return o->length;
	switch (o->profile.kind) {
	case PROFILE_BURST:
		return DEFAULT_BURSTS * o->profile.period;
	case PROFILE_DAY:
		return o->profile.period != 0 ? o->profile.period
					      : TSPAN_SECONDS(86400);
	case PROFILE_STEADY:
	case PROFILE_RAMP:
		break;
	}
	return DEFAULT_LENGTH;
}
