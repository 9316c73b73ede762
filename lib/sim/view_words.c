/* Numbers as people write them. */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/view_private.h"

/* So many places that there are three, but for zeros at the end. */
static void
put_number(char *to, size_t size, double n, const char *unit)
{
	int places = n < 9.995 ? 2 : n < 99.95 ? 1 : 0;
	char *end;

	/* What is under 1 has its zeros, but not without end. */
	if (n > 0 && n < 0.995)
		places = n < 1e-6 ? 9 : 2 - (int)floor(log10(n));
	(void)snprintf(to, size, "%.*f", places, n);
	if (places > 0) {
		end = to + strlen(to);
		while (end[-1] == '0')
			end--;
		if (end[-1] == '.')
			end--;
		*end = '\0';
	}
	(void)strlcat(to, unit, size);
}

struct view_words
view_number(double n)
{
	struct view_words w = { "" };

	put_number(w.text, sizeof(w.text), n, "");
	return w;
}

/* Two units, the second only if there is something of it. */
static void
put_long(char *to, size_t size, tspan span, tspan unit, const char *name,
    tspan part, const char *part_name)
{
	tspan parts = (span + part / 2) / part;
	tspan rest = parts % (unit / part);

	if (rest == 0)
		(void)snprintf(
		    to, size, "%" PRId64 "%s", parts / (unit / part), name);
	else
		(void)snprintf(to, size, "%" PRId64 "%s%" PRId64 "%s",
		    parts / (unit / part), name, rest, part_name);
}

struct view_words
view_span(tspan span)
{
	const tspan minute = TSPAN_SECONDS(60), hour = 60 * minute;
	const tspan day = 24 * hour;
	struct view_words w = { "" };
	size_t size = sizeof(w.text);
	double n = (double)span;

	/* What would be rounded to 1000 is 1 of the next. */
	if (span == 0)
		(void)strlcpy(w.text, "0", size);
	else if (span < TSPAN_USECONDS(1))
		put_number(w.text, size, n, "ns");
	else if (n < 999.5e3)
		put_number(w.text, size, n / 1e3, "us");
	else if (n < 999.5e6)
		put_number(w.text, size, n / 1e6, "ms");
	else if (n < 59.95e9)
		put_number(w.text, size, n / 1e9, "s");
	else if (span < hour - TSPAN_MSECONDS(500))
		put_long(
		    w.text, size, span, minute, "m", TSPAN_SECONDS(1), "s");
	else if (span < day - TSPAN_SECONDS(30))
		put_long(w.text, size, span, hour, "h", minute, "m");
	else
		put_long(w.text, size, span, day, "d", hour, "h");
	return w;
}

struct view_words
view_count(uint64_t n)
{
	char digits[24];
	struct view_words w = { "" };
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

/* NAME:A,B,C; what is "" is left out. */
static struct view_words
join(const char *name, struct view_words a, struct view_words b,
    struct view_words c)
{
	const struct view_words *const parts[] = { &a, &b, &c };
	const char *separator = ":";
	struct view_words w = { "" };

	(void)strlcpy(w.text, name, sizeof(w.text));
	for (unsigned i = 0; i < 3; i++) {
		if (parts[i]->text[0] == '\0')
			continue;
		(void)strlcat(w.text, separator, sizeof(w.text));
		(void)strlcat(w.text, parts[i]->text, sizeof(w.text));
		separator = ",";
	}
	return w;
}

static const struct view_words nothing = { "" };

struct view_words
view_profile(const struct profile *p)
{
	switch (p->kind) {
	case PROFILE_STEADY:
		break;
	case PROFILE_BURST:
		return join("burst", view_number(p->factor),
		    view_span(p->burst), view_span(p->period));
	case PROFILE_DAY:
		return join("day",
		    p->period == 0 ? nothing : view_span(p->period), nothing,
		    nothing);
	case PROFILE_RAMP:
		return join("ramp", nothing, nothing, nothing);
	}
	return join("steady", nothing, nothing, nothing);
}

struct view_words
view_service(const struct service *s)
{
	struct view_words mean = view_span(s->mean), share;

	switch (s->kind) {
	case SERVICE_FIXED:
		break;
	case SERVICE_EXPONENTIAL:
		return join("exponential", mean, nothing, nothing);
	case SERVICE_LOGNORMAL:
		return join("lognormal", mean, view_number(s->sigma), nothing);
	case SERVICE_BIMODAL:
		put_number(share.text, sizeof(share.text), s->share * 100, "%");
		return join("bimodal", mean, view_span(s->other), share);
	}
	return join("fixed", mean, nothing, nothing);
}
