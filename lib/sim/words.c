/* Numbers, times and loads in words. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "sim/words.h"

/* Longer words could not be valid. */
#define CALL_MAX 200

#define PARTS_MAX 3

/* A hundredth of the normal distribution is above this. */
#define NORMAL_P99 2.3263478740408408

/* --- reading numbers ---------------------------------------------------- */

/* Digits, perhaps with a point, and then `end`; nothing else is a number. */
static bool
read_number(const char *text, const char *end, double *out)
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
read_time(const char *text, tspan *out)
{
	return conf_parse_span(text, out) && *out > 0;
}

const char *
words_read_span(const char *text, tspan *out)
{
	return conf_parse_span(text, out) ? NULL
					  : "write 250ms, 10s, 5m, 2h or 1d";
}

const char *
words_read_rate(const char *text, double *out)
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
		if (!read_number(text, units[i].name, &number))
			continue;
		if (number / units[i].seconds > 1e8)
			break;
		*out = number / units[i].seconds;
		return NULL;
	}
	return "write connections per second, as 12.5, or 90/m, 500/h, "
	       "100000/d; at most 100000000";
}

/* --- reading loads ------------------------------------------------------ */

/* "NAME:A,B,C", cut up in a copy. */
struct call {
	char text[CALL_MAX];
	const char *name;
	const char *parts[PARTS_MAX];
	unsigned count; /* of the parts */
};

/* *out: zeroes and a name of "", which stays if the text is none. */
static void
cut(const char *text, struct call *out)
{
	char *at = out->text, *part;

	if (strlcpy(at, text, sizeof(out->text)) >= sizeof(out->text))
		return;
	(void)strsep(&at, ":");
	while ((part = strsep(&at, ",")) != NULL) {
		if (out->count == PARTS_MAX)
			return;
		out->parts[out->count++] = part;
	}
	out->name = out->text;
}

static bool
read_mean(const struct call *c, struct service *out)
{
	return c->count == 1 && read_time(c->parts[0], &out->mean);
}

/* Two points of the distribution are in the logs; sigma is not. */
static bool
read_quantiles(const struct call *c, struct service *out)
{
	tspan p50, p99;

	if (strncmp(c->parts[1], "p99=", 4) != 0 ||
	    !read_time(c->parts[0] + 4, &p50) ||
	    !read_time(c->parts[1] + 4, &p99) || p99 <= p50)
		return false;
	out->sigma = log((double)p99 / (double)p50) / NORMAL_P99;
	if (out->sigma > 5)
		return false;
	out->mean =
	    (tspan)((double)p50 * exp(out->sigma * out->sigma / 2) + 0.5);
	return true;
}

static bool
read_lognormal(const struct call *c, struct service *out)
{
	if (c->count != 2)
		return false;
	if (strncmp(c->parts[0], "p50=", 4) == 0)
		return read_quantiles(c, out);
	return read_time(c->parts[0], &out->mean) &&
	    read_number(c->parts[1], "", &out->sigma) && out->sigma > 0 &&
	    out->sigma <= 5;
}

static bool
read_bimodal(const struct call *c, struct service *out)
{
	double percent;

	if (c->count != 3 || !read_time(c->parts[0], &out->mean) ||
	    !read_time(c->parts[1], &out->other) ||
	    (!read_number(c->parts[2], "", &percent) &&
		!read_number(c->parts[2], "%", &percent)) ||
	    percent > 100)
		return false;
	out->share = percent / 100;
	return true;
}

/* The words of each enum service_kind. */
static const struct {
	const char *name;
	bool (*read)(const struct call *c, struct service *out);
	const char *valid;
} services[] = {
	[SERVICE_FIXED] = { "fixed", read_mean,
	    "write fixed:TIME, as fixed:20ms" },
	[SERVICE_EXPONENTIAL] = { "exponential", read_mean,
	    "write exponential:MEAN, as exponential:50ms" },
	[SERVICE_LOGNORMAL] = { "lognormal", read_lognormal,
	    "write lognormal:MEAN,SIGMA, as lognormal:50ms,1.5 (SIGMA over 0, "
	    "at most 5), or lognormal:p50=TIME,p99=TIME, as "
	    "lognormal:p50=20ms,p99=300ms (p99 over p50)" },
	[SERVICE_BIMODAL] = { "bimodal", read_bimodal,
	    "write bimodal:TIME,RARE,SHARE, as bimodal:5ms,500ms,1%" },
};

const char *
words_read_service(const char *text, struct service *out)
{
	struct service got = { 0 };
	struct call c = { .name = "" };

	if (read_time(text, &got.mean)) {
		*out = got;
		return NULL;
	}
	cut(text, &c);
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
		if (strcmp(c.name, services[i].name) != 0)
			continue;
		got.kind = (enum service_kind)i;
		if (!services[i].read(&c, &got))
			return services[i].valid;
		*out = got;
		return NULL;
	}
	return "write fixed:TIME, exponential:MEAN, lognormal:MEAN,SIGMA, "
	       "lognormal:p50=TIME,p99=TIME or bimodal:TIME,RARE,SHARE, "
	       "as exponential:50ms";
}

static bool
read_plain(const struct call *c, struct profile *out)
{
	(void)out;
	return c->count == 0;
}

static bool
read_burst(const struct call *c, struct profile *out)
{
	out->factor = 10;
	out->burst = TSPAN_SECONDS(5);
	out->period = TSPAN_SECONDS(60);
	if (c->count > 0 && !read_number(c->parts[0], "", &out->factor))
		return false;
	if (c->count > 1 && !read_time(c->parts[1], &out->burst))
		return false;
	if (c->count > 2 && !read_time(c->parts[2], &out->period))
		return false;
	return out->factor >= 1 && out->factor <= 1e6 &&
	    out->burst < out->period;
}

static bool
read_day(const struct call *c, struct profile *out)
{
	return c->count == 0 ||
	    (c->count == 1 && read_time(c->parts[0], &out->period));
}

/* The words of each enum profile_kind. */
static const struct {
	const char *name;
	bool (*read)(const struct call *c, struct profile *out);
	const char *valid;
} profiles[] = {
	[PROFILE_STEADY] = { "steady", read_plain, "steady has no parameters" },
	[PROFILE_BURST] = { "burst", read_burst,
	    "write burst:FACTOR,LENGTH,PERIOD, as burst:10,5s,1m (FACTOR at "
	    "least 1, LENGTH under PERIOD)" },
	[PROFILE_DAY] = { "day", read_day,
	    "write day, or day:PERIOD, as day:24h" },
	[PROFILE_RAMP] = { "ramp", read_plain, "ramp has no parameters" },
};

const char *
words_read_profile(const char *text, struct profile *out)
{
	struct profile got = { 0 };
	struct call c = { .name = "" };

	cut(text, &c);
	for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
		if (strcmp(c.name, profiles[i].name) != 0)
			continue;
		got.kind = (enum profile_kind)i;
		if (!profiles[i].read(&c, &got))
			return profiles[i].valid;
		*out = got;
		return NULL;
	}
	return "write steady, burst, day or ramp";
}

/* --- showing numbers ---------------------------------------------------- */

/* Three places, but for zeros at the end. */
static struct words
number(double n, const char *unit)
{
	struct words w = { "" };
	int places = n < 9.995 ? 2 : n < 99.95 ? 1 : 0;
	char *end;

	/* Numbers under 1 have all their zeros, down to a billionth. */
	if (n > 0 && n < 0.995)
		places = n < 1e-6 ? 9 : 2 - (int)floor(log10(n));
	(void)snprintf(w.text, sizeof(w.text), "%.*f", places, n);
	if (places > 0) {
		end = w.text + strlen(w.text);
		while (end[-1] == '0')
			end--;
		if (end[-1] == '.')
			end--;
		*end = '\0';
	}
	(void)strlcat(w.text, unit, sizeof(w.text));
	return w;
}

struct words
words_number(double n)
{
	return number(n, "");
}

struct words
words_mean(double n)
{
	struct words w;

	(void)snprintf(w.text, sizeof(w.text), "%.2f", n);
	return w;
}

/* Two units, the second only if there is something of it. */
static struct words
long_span(
    tspan span, tspan unit, const char *name, tspan part, const char *part_name)
{
	tspan parts = (span + part / 2) / part;
	tspan whole = parts / (unit / part), rest = parts % (unit / part);
	struct words w;

	if (rest == 0)
		(void)snprintf(
		    w.text, sizeof(w.text), "%" PRId64 "%s", whole, name);
	else
		(void)snprintf(w.text, sizeof(w.text),
		    "%" PRId64 "%s%" PRId64 "%s", whole, name, rest, part_name);
	return w;
}

struct words
words_span(tspan span)
{
	const tspan second = TSPAN_SECONDS(1), minute = 60 * second;
	const tspan hour = 60 * minute, day = 24 * hour;
	double n = (double)span;

	/* 1000 of a unit, when rounded, is shown as 1 of the next. */
	if (span == 0)
		return number(0, "");
	if (span < TSPAN_USECONDS(1))
		return number(n, "ns");
	if (n < 999.5e3)
		return number(n / 1e3, "us");
	if (n < 999.5e6)
		return number(n / 1e6, "ms");
	if (n < 59.95e9)
		return number(n / 1e9, "s");
	if (span < hour - second / 2)
		return long_span(span, minute, "m", second, "s");
	if (span < day - minute / 2)
		return long_span(span, hour, "h", minute, "m");
	return long_span(span, day, "d", hour, "h");
}

struct words
words_count(uint64_t n)
{
	char digits[24];
	struct words w = { "" };
	char *to = w.text;
	size_t len;

	(void)snprintf(digits, sizeof(digits), "%" PRIu64, n);
	len = strlen(digits);
	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return w;
}

/* --- showing loads ------------------------------------------------------ */

static const struct words none = { "" };

/* NAME:A,B,C; what is "" is left out. */
static struct words
join(const char *name, struct words a, struct words b, struct words c)
{
	const struct words *const parts[] = { &a, &b, &c };
	const char *separator = ":";
	struct words w = { "" };

	(void)strlcpy(w.text, name, sizeof(w.text));
	for (unsigned i = 0; i < PARTS_MAX; i++) {
		if (parts[i]->text[0] == '\0')
			continue;
		(void)strlcat(w.text, separator, sizeof(w.text));
		(void)strlcat(w.text, parts[i]->text, sizeof(w.text));
		separator = ",";
	}
	return w;
}

struct words
words_profile(const struct profile *p)
{
	const char *name = profiles[p->kind].name;

	if (p->kind == PROFILE_BURST)
		return join(name, words_number(p->factor), words_span(p->burst),
		    words_span(p->period));
	if (p->kind == PROFILE_DAY && p->period != 0)
		return join(name, words_span(p->period), none, none);
	return join(name, none, none, none);
}

struct words
words_service(const struct service *s)
{
	const char *name = services[s->kind].name;
	struct words mean = words_span(s->mean);

	if (s->kind == SERVICE_LOGNORMAL)
		return join(name, mean, words_number(s->sigma), none);
	if (s->kind == SERVICE_BIMODAL)
		return join(name, mean, words_span(s->other),
		    number(s->share * 100, "%"));
	return join(name, mean, none, none);
}
