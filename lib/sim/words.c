/* Numbers, times and loads in words, as they are shown. */

#include <inttypes.h>
#include <math.h>

#include "sim/simulate.h"

/* In the order of their enums. */
const char *const service_names[] = { "fixed", "exponential", "lognormal",
	"uniform", "bimodal" };
const char *const profile_names[] = { "steady", "burst", "day", "ramp" };
const char *const balancer_names[] = { "leastconn", "random2", "roundrobin" };

/* Three places, but for zeros at the end. */
struct words
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

struct words
words_profile(const struct profile *p)
{
	struct words w;

	(void)strlcpy(w.text, profile_names[p->kind], sizeof(w.text));
	if (p->kind == PROFILE_BURST)
		(void)snprintf(w.text, sizeof(w.text),
		    "burst:%.24s,%.24s,%.24s", words_number(p->factor).text,
		    words_span(p->burst).text, words_span(p->period).text);
	else if (p->kind == PROFILE_DAY && p->period != 0)
		(void)snprintf(w.text, sizeof(w.text), "day:%.24s",
		    words_span(p->period).text);
	return w;
}

struct words
words_service(const struct service *s)
{
	const bool share = s->kind == SERVICE_BIMODAL;
	struct words w, second = { "" };

	if (s->kind == SERVICE_LOGNORMAL)
		second = words_number(s->sigma);
	else if (s->kind >= SERVICE_UNIFORM)
		second = words_span(s->other);
	(void)snprintf(w.text, sizeof(w.text), "%s:%.24s%s%.24s%s%.24s",
	    service_names[s->kind], words_span(s->mean).text,
	    second.text[0] == '\0' ? "" : ",", second.text, share ? "," : "",
	    share ? words_with_unit(s->share * 100, "%").text : "");
	return w;
}
