/* The words that a load is described with on the command line. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "sim/load.h"

/* Longer words than any that could be valid. */
#define WORDS_MAX 200

#define PARTS_MAX 3

/* A hundredth of the normal distribution is above this. */
#define NORMAL_P99 2.3263478740408408

/* "NAME:A,B,C", cut up in a copy. */
struct words {
	char text[WORDS_MAX];
	const char *name;
	const char *parts[PARTS_MAX];
	unsigned count; /* of the parts */
};

/* False: too long, or too many parts. */
static bool
words_split(const char *text, struct words *out)
{
	char *at = out->text, *part;
	size_t len = strlen(text);

	if (len >= sizeof(out->text))
		return false;
	memcpy(out->text, text, len + 1);
	out->name = strsep(&at, ":");
	out->count = 0;
	while ((part = strsep(&at, ",")) != NULL) {
		if (out->count == PARTS_MAX)
			return false;
		out->parts[out->count++] = part;
	}
	return true;
}

/* Digits, perhaps with a point, and then `end`; nothing else is a number. */
static bool
parse_number(const char *text, const char *end, double *out)
{
	static const char digits[] = "0123456789";
	size_t whole = strspn(text, digits);
	size_t part = text[whole] == '.' ? strspn(text + whole + 1, digits) : 0;
	size_t len = whole + part + (text[whole] == '.');

	if (whole + part == 0 || len > 30 || strcmp(text + len, end) != 0)
		return false;
	*out = strtod(text, NULL);
	return true;
}

/* A duration that is over 0. */
static bool
parse_time(const char *text, tspan *out)
{
	return conf_parse_span(text, out) && *out > 0;
}

bool
load_span(const char *text, tspan *out, const char **why_out)
{
	if (conf_parse_span(text, out))
		return true;
	*why_out = "write 250ms, 10s, 5m, 2h or 1d";
	return false;
}

bool
load_rate(const char *text, double *out, const char **why_out)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {
		{ "", 1 },
		{ "/s", 1 },
		{ "/m", 60 },
		{ "/h", 3600 },
		{ "/d", 86400 },
	};
	double number;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!parse_number(text, units[i].name, &number))
			continue;
		if (number / units[i].seconds > 1e8)
			break;
		*out = number / units[i].seconds;
		return true;
	}
	*why_out = "write connections per second, as 12.5, or 90/m, 500/h, "
		   "100000/d; at most 100000000";
	return false;
}

/* --- service times ------------------------------------------------------ */

static bool
parse_fixed(const struct words *w, struct service *out)
{
	return w->count == 1 && parse_time(w->parts[0], &out->mean);
}

/* By two points of the distribution, which logs tell sooner than sigma. */
static bool
parse_quantiles(const struct words *w, struct service *out)
{
	tspan p50, p99;

	if (strncmp(w->parts[1], "p99=", 4) != 0 ||
	    !parse_time(w->parts[0] + 4, &p50) ||
	    !parse_time(w->parts[1] + 4, &p99) || p99 <= p50)
		return false;
	out->sigma = log((double)p99 / (double)p50) / NORMAL_P99;
	if (out->sigma > 5)
		return false;
	out->mean =
	    (tspan)((double)p50 * exp(out->sigma * out->sigma / 2) + 0.5);
	return true;
}

static bool
parse_lognormal(const struct words *w, struct service *out)
{
	if (w->count != 2)
		return false;
	if (strncmp(w->parts[0], "p50=", 4) == 0)
		return parse_quantiles(w, out);
	return parse_time(w->parts[0], &out->mean) &&
	    parse_number(w->parts[1], "", &out->sigma) && out->sigma > 0 &&
	    out->sigma <= 5;
}

static bool
parse_bimodal(const struct words *w, struct service *out)
{
	double percent;

	if (w->count != 3 || !parse_time(w->parts[0], &out->mean) ||
	    !parse_time(w->parts[1], &out->other) ||
	    (!parse_number(w->parts[2], "", &percent) &&
		!parse_number(w->parts[2], "%", &percent)) ||
	    percent > 100)
		return false;
	out->share = percent / 100;
	return true;
}

static const struct {
	const char *name;
	enum service_kind kind;
	bool (*parse)(const struct words *w, struct service *out);
	const char *valid;
} services[] = {
	{ "fixed", SERVICE_FIXED, parse_fixed,
	    "write fixed:TIME, as fixed:20ms" },
	{ "exponential", SERVICE_EXPONENTIAL, parse_fixed,
	    "write exponential:MEAN, as exponential:50ms" },
	{ "lognormal", SERVICE_LOGNORMAL, parse_lognormal,
	    "write lognormal:MEAN,SIGMA, as lognormal:50ms,1.5 (SIGMA over 0, "
	    "at most 5), or lognormal:p50=TIME,p99=TIME, as "
	    "lognormal:p50=20ms,p99=300ms (p99 over p50)" },
	{ "bimodal", SERVICE_BIMODAL, parse_bimodal,
	    "write bimodal:TIME,RARE,SHARE, as bimodal:5ms,500ms,1%" },
};

bool
load_service(const char *text, struct service *out, const char **why_out)
{
	struct service got = { 0 };
	struct words w = { .count = 0 };

	*why_out = "write fixed:TIME, exponential:MEAN, lognormal:MEAN,SIGMA, "
		   "lognormal:p50=TIME,p99=TIME or bimodal:TIME,RARE,SHARE, "
		   "as exponential:50ms";
	if (parse_time(text, &got.mean)) {
		*out = got;
		return true;
	}
	if (!words_split(text, &w))
		return false;
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		if (strcmp(w.name, services[i].name) != 0)
			continue;
		got.kind = services[i].kind;
		if (services[i].parse(&w, &got)) {
			*out = got;
			return true;
		}
		*why_out = services[i].valid;
	}
	return false;
}

/* --- profiles ----------------------------------------------------------- */

static bool
parse_plain(const struct words *w, struct profile *out)
{
	(void)out;
	return w->count == 0;
}

static bool
parse_burst(const struct words *w, struct profile *out)
{
	out->factor = 10;
	out->burst = TSPAN_SECONDS(5);
	out->period = TSPAN_SECONDS(60);
	if (w->count > 0 && !parse_number(w->parts[0], "", &out->factor))
		return false;
	if (w->count > 1 && !parse_time(w->parts[1], &out->burst))
		return false;
	if (w->count > 2 && !parse_time(w->parts[2], &out->period))
		return false;
	return out->factor >= 1 && out->factor <= 1e6 &&
	    out->burst < out->period;
}

static bool
parse_day(const struct words *w, struct profile *out)
{
	return w->count == 0 ||
	    (w->count == 1 && parse_time(w->parts[0], &out->period));
}

static const struct {
	const char *name;
	enum profile_kind kind;
	bool (*parse)(const struct words *w, struct profile *out);
	const char *valid;
} profiles[] = {
	{ "steady", PROFILE_STEADY, parse_plain, "steady has no parameters" },
	{ "burst", PROFILE_BURST, parse_burst,
	    "write burst:FACTOR,LENGTH,PERIOD, as burst:10,5s,1m (FACTOR at "
	    "least 1, LENGTH under PERIOD)" },
	{ "day", PROFILE_DAY, parse_day,
	    "write day, or day:PERIOD, as day:24h" },
	{ "ramp", PROFILE_RAMP, parse_plain, "ramp has no parameters" },
};

bool
load_profile(const char *text, struct profile *out, const char **why_out)
{
	struct profile got = { 0 };
	struct words w = { .count = 0 };

	*why_out = "write steady, burst, day or ramp";
	if (!words_split(text, &w))
		return false;
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		if (strcmp(w.name, profiles[i].name) != 0)
			continue;
		got.kind = profiles[i].kind;
		if (profiles[i].parse(&w, &got)) {
			*out = got;
			return true;
		}
		*why_out = profiles[i].valid;
	}
	return false;
}
