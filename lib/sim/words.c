/*
 * Numbers, times and loads in words: as they are read from the command line,
 * and as they are shown.
 */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/simulate.h"

#define PARTS_MAX 3

/* A hundredth of the normal distribution is above this. */
#define NORMAL_P99 2.3263478740408408

static const char *const service_names[] = {
	[SERVICE_FIXED] = "fixed",
	[SERVICE_EXPONENTIAL] = "exponential",
	[SERVICE_LOGNORMAL] = "lognormal",
	[SERVICE_UNIFORM] = "uniform",
	[SERVICE_BIMODAL] = "bimodal",
};

static const char *const profile_names[] = {
	[PROFILE_STEADY] = "steady",
	[PROFILE_BURST] = "burst",
	[PROFILE_DAY] = "day",
	[PROFILE_RAMP] = "ramp",
};

/* --- reading ------------------------------------------------------------ */

/* Digits, perhaps with a point, and then `end`; nothing else is a number. */
static bool
words_to_number(const char *text, const char *end, double *out)
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
words_to_time(const char *text, tspan *out)
{
	return conf_parse_span(text, out) && *out > 0;
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
		if (!words_to_number(text, units[i].name, &number))
			continue;
		if (number / units[i].seconds > 1e8)
			break;
		*out = number / units[i].seconds;
		return NULL;
	}
	return "write connections per second, as 12.5, or 90/m, 500/h, "
	       "100000/d; at most 100000000";
}

/* "NAME:A,B,C", cut up in a copy. */
struct call {
	char text[200];
	const char *parts[PARTS_MAX];
	unsigned count; /* of the parts */
};

/* Gives the place of the name among the names; len: it is none of them. */
static size_t
call_cut(struct call *c, const char *text, const char *const *names, size_t len)
{
	char *at = c->text, *part;
	size_t found = 0;

	if (strlcpy(at, text, sizeof(c->text)) >= sizeof(c->text))
		return len;
	(void)strsep(&at, ":");
	while (found < len && strcmp(c->text, names[found]) != 0)
		found++;
	while ((part = strsep(&at, ",")) != NULL) {
		if (c->count == PARTS_MAX)
			return len;
		c->parts[c->count++] = part;
	}
	return found;
}

/* Fills what goes with the kind. False: that has other parts. */
static bool
call_to_service(const struct call *c, struct service *out)
{
	const char *const *parts = c->parts;
	double percent;
	tspan p50, p99;

	switch (out->kind) {
	case SERVICE_FIXED:
	case SERVICE_EXPONENTIAL:
		return c->count == 1 && words_to_time(parts[0], &out->mean);
	case SERVICE_LOGNORMAL:
		if (c->count != 2)
			return false;
		if (strncmp(parts[0], "p50=", 4) != 0)
			return words_to_time(parts[0], &out->mean) &&
			    words_to_number(parts[1], "", &out->sigma) &&
			    out->sigma > 0 && out->sigma <= 5;
		/* Two points of the distribution are in the logs, no sigma. */
		if (strncmp(parts[1], "p99=", 4) != 0 ||
		    !words_to_time(parts[0] + 4, &p50) ||
		    !words_to_time(parts[1] + 4, &p99) || p99 <= p50)
			return false;
		out->sigma = log((double)p99 / (double)p50) / NORMAL_P99;
		out->mean =
		    (tspan)((double)p50 * exp(out->sigma * out->sigma / 2) +
			0.5);
		return out->sigma <= 5;
	case SERVICE_UNIFORM:
		return c->count == 2 && words_to_time(parts[0], &out->mean) &&
		    words_to_time(parts[1], &out->other) &&
		    out->mean <= out->other;
	case SERVICE_BIMODAL:
		if (c->count != 3 || !words_to_time(parts[0], &out->mean) ||
		    !words_to_time(parts[1], &out->other) ||
		    (!words_to_number(parts[2], "", &percent) &&
			!words_to_number(parts[2], "%", &percent)))
			return false;
		out->share = percent / 100;
		return percent <= 100;
	}
	return false;
}

const char *
words_read_service(const char *text, struct service *out)
{
	static const char *const valid[] = {
		"write fixed:TIME, as fixed:20ms",
		"write exponential:MEAN, as exponential:50ms",
		"write lognormal:MEAN,SIGMA, as lognormal:50ms,1.5 (SIGMA over "
		"0, at most 5), or lognormal:p50=TIME,p99=TIME, as "
		"lognormal:p50=20ms,p99=300ms (p99 over p50)",
		"write uniform:SHORTEST,LONGEST, as uniform:1s,20s",
		"write bimodal:TIME,RARE,SHARE, as bimodal:5ms,500ms,1%",
		"write fixed:TIME, exponential:MEAN, lognormal:MEAN,SIGMA, "
		"lognormal:p50=TIME,p99=TIME, uniform:SHORTEST,LONGEST or "
		"bimodal:TIME,RARE,SHARE, as exponential:50ms",
	};
	struct service got = { 0 };
	struct call c = { 0 };
	size_t kind;

	if (!words_to_time(text, &got.mean)) {
		kind = call_cut(&c, text, service_names, SERVICE_BIMODAL + 1);
		got.kind = (enum service_kind)kind;
		if (kind > SERVICE_BIMODAL || !call_to_service(&c, &got))
			return valid[kind];
	}
	*out = got;
	return NULL;
}

const char *
words_read_profile(const char *text, struct profile *out)
{
	static const char *const valid[] = {
		"steady has no parameters",
		"write burst:FACTOR,LENGTH,PERIOD, as burst:10,5s,1m (FACTOR "
		"at least 1, LENGTH under PERIOD)",
		"write day, or day:PERIOD, as day:24h",
		"ramp has no parameters",
		"write steady, burst, day or ramp",
	};
	struct profile got = { 0 };
	struct call c = { 0 };
	size_t kind = call_cut(&c, text, profile_names, PROFILE_RAMP + 1);
	bool good = kind <= PROFILE_RAMP && c.count == 0;

	got.kind = (enum profile_kind)kind;
	if (kind == PROFILE_BURST) {
		got.factor = 10;
		got.burst = TSPAN_SECONDS(5);
		got.period = TSPAN_SECONDS(60);
		good = (c.count < 1 ||
			   words_to_number(c.parts[0], "", &got.factor)) &&
		    (c.count < 2 || words_to_time(c.parts[1], &got.burst)) &&
		    (c.count < 3 || words_to_time(c.parts[2], &got.period)) &&
		    got.factor >= 1 && got.factor <= 1e6 &&
		    got.burst < got.period;
	} else if (kind == PROFILE_DAY && c.count == 1) {
		good = words_to_time(c.parts[0], &got.period);
	}
	if (!good)
		return valid[kind];
	*out = got;
	return NULL;
}

/* --- showing ------------------------------------------------------------ */

/* Three places, but for zeros at the end. */
static struct words
words_with_unit(double n, const char *unit)
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
	return words_with_unit(n, "");
}

struct words
words_span(tspan span)
{
	static const struct {
		tspan unit, part; /* each of the next smaller one */
		const char *name, *part_name;
	} long_units[] = {
		{ TSPAN_SECONDS(60), TSPAN_SECONDS(1), "m", "s" },
		{ TSPAN_SECONDS(3600), TSPAN_SECONDS(60), "h", "m" },
		{ TSPAN_SECONDS(86400), TSPAN_SECONDS(3600), "d", "h" },
	};
	double n = (double)span;
	struct words w;
	tspan parts, ratio;
	int unit = 0;

	/* 1000 of a unit, when rounded, is shown as 1 of the next. */
	if (span < TSPAN_USECONDS(1))
		return words_with_unit(n, span == 0 ? "" : "ns");
	if (n < 999.5e3)
		return words_with_unit(n / 1e3, "us");
	if (n < 999.5e6)
		return words_with_unit(n / 1e6, "ms");
	if (n < 59.95e9)
		return words_with_unit(n / 1e9, "s");
	/* Two units, the second only if there is something of it. */
	while (unit < 2 &&
	    span >= long_units[unit + 1].unit - long_units[unit].part / 2)
		unit++;
	parts = (span + long_units[unit].part / 2) / long_units[unit].part;
	ratio = long_units[unit].unit / long_units[unit].part;
	(void)snprintf(w.text, sizeof(w.text), "%" PRId64 "%s", parts / ratio,
	    long_units[unit].name);
	if (parts % ratio != 0)
		(void)snprintf(w.text + strlen(w.text), 24, "%" PRId64 "%s",
		    parts % ratio, long_units[unit].part_name);
	return w;
}

struct words
words_count(uint64_t n)
{
	struct words w;
	char *at = w.text + sizeof(w.text);

	*--at = '\0';
	for (unsigned digits = 0; digits == 0 || n > 0; digits++, n /= 10) {
		if (digits > 0 && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + n % 10);
	}
	memmove(w.text, at, strlen(at) + 1);
	return w;
}

struct words
words_wait(const struct result_app *r, double share)
{
	return words_span(histogram_share(&r->wait, share));
}

static void
words_add(struct words *w, const char *separator, struct words more)
{
	(void)strlcat(w->text, separator, sizeof(w->text));
	(void)strlcat(w->text, more.text, sizeof(w->text));
}

struct words
words_profile(const struct profile *p)
{
	struct words w = { "" };

	(void)strlcpy(w.text, profile_names[p->kind], sizeof(w.text));
	if (p->kind == PROFILE_BURST) {
		words_add(&w, ":", words_number(p->factor));
		words_add(&w, ",", words_span(p->burst));
		words_add(&w, ",", words_span(p->period));
	} else if (p->kind == PROFILE_DAY && p->period != 0) {
		words_add(&w, ":", words_span(p->period));
	}
	return w;
}

struct words
words_service(const struct service *s)
{
	struct words w = { "" };

	(void)strlcpy(w.text, service_names[s->kind], sizeof(w.text));
	words_add(&w, ":", words_span(s->mean));
	if (s->kind == SERVICE_LOGNORMAL)
		words_add(&w, ",", words_number(s->sigma));
	else if (s->kind >= SERVICE_UNIFORM)
		words_add(&w, ",", words_span(s->other));
	if (s->kind == SERVICE_BIMODAL)
		words_add(&w, ",", words_with_unit(s->share * 100, "%"));
	return w;
}
