/*
 * Numbers and what is made of them: durations, sizes, percent, modes, limits.
 * All in base 10 but the modes; the whole text must be the number.
 */

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

#define DIGITS "0123456789"

bool
conf_parse_uint(const char *text, uint64_t *out)
{
	unsigned long long value;

	if (*text == '\0' || text[strspn(text, DIGITS)] != '\0')
		return false;
	errno = 0;
	value = strtoull(text, NULL, 10);
	if (errno != 0) {
		/* libconfuse takes a stale errno for an error of its own. */
		errno = 0;
		return false;
	}
	*out = value;
	return true;
}

/* ---- durations ---- */

static const struct {
	const char *name;
	tspan length;
} span_units[] = {
	{ "d", TSPAN_SECONDS(86400) },
	{ "h", TSPAN_SECONDS(3600) },
	{ "m", TSPAN_SECONDS(60) },
	{ "s", TSPAN_SECONDS(1) },
	{ "ms", TSPAN_MSECONDS(1) },
};

#define SPAN_UNITS (sizeof(span_units) / sizeof(span_units[0]))

static tspan
span_unit(const char *name)
{
	if (*name == '\0')
		return TSPAN_SECONDS(1);
	for (size_t i = 0; i < SPAN_UNITS; i++) {
		if (strcmp(name, span_units[i].name) == 0)
			return span_units[i].length;
	}
	return 0;
}

bool
conf_parse_span(const char *text, tspan *out)
{
	size_t whole = strspn(text, DIGITS);
	size_t part = text[whole] == '.' ? strspn(text + whole + 1, DIGITS) : 0;
	const char *unit = text + whole + (text[whole] == '.') + part;
	tspan length = span_unit(unit);
	double span;

	if (whole + part == 0 || length == 0 || whole > 12 || part > 9)
		return false;
	span = strtod(text, NULL) * (double)length;
	/* Far below the end of time, so that sums of spans stay there too. */
	if (span > (double)INT64_MAX / 16)
		return false;
	*out = llround(span);
	return true;
}

void
conf_print_span(tspan span, FILE *out)
{
	if (span == 0) {
		fputc('0', out);
		return;
	}
	for (size_t i = 0; i < SPAN_UNITS; i++) {
		if (span % span_units[i].length == 0) {
			fprintf(out, "%jd%s",
			    (intmax_t)(span / span_units[i].length),
			    span_units[i].name);
			return;
		}
	}
	fprintf(out, "%jd.%09jds", (intmax_t)(span / TSPAN_SECONDS(1)),
	    (intmax_t)(span % TSPAN_SECONDS(1)));
}

static bool
span_parse(const struct conf_input *in, void *base)
{
	tspan *field = CONF_FIELD(in->option, base);
	tspan span;

	if (!conf_parse_span(in->values[0], &span))
		return conf_bad(in,
		    "'%s' is not a duration: write 250ms, 10s, 5m, 2h or 1d",
		    in->values[0]);
	if ((double)span < in->option->min * 1e9)
		return conf_bad(in, "%s is too short: at least %gms",
		    in->values[0], in->option->min * 1e3);
	if ((double)span > in->option->max * 1e9)
		return conf_bad(in, "%s is too long: at most %gd",
		    in->values[0], in->option->max / 86400);
	*field = span;
	return true;
}

static bool
span_equal(const struct conf_option *o, const void *a, const void *b)
{
	return *(const tspan *)CONF_FIELD(o, a) ==
	    *(const tspan *)CONF_FIELD(o, b);
}

static bool
span_print(const struct conf_option *o, const void *base, FILE *out)
{
	conf_print_span(*(const tspan *)CONF_FIELD(o, base), out);
	return true;
}

const struct conf_type conf_type_span = {
	.parse = span_parse,
	.equal = span_equal,
	.print = span_print,
};

/* ---- counts ---- */

/* Says so and returns false if value is outside of what the option allows. */
static bool
in_range(const struct conf_input *in, uint64_t value)
{
	if ((double)value >= in->option->min &&
	    (double)value <= in->option->max)
		return true;
	return conf_bad(in, "%s is out of range: %.0f to %.0f are valid",
	    in->values[0], in->option->min, in->option->max);
}

static bool
uint_parse(const struct conf_input *in, void *base)
{
	unsigned *field = CONF_FIELD(in->option, base);
	uint64_t value;

	if (!conf_parse_uint(in->values[0], &value))
		return conf_bad(in,
		    "'%s' is not a whole number from %.0f to %.0f",
		    in->values[0], in->option->min, in->option->max);
	if (!in_range(in, value))
		return false;
	*field = (unsigned)value;
	return true;
}

static bool
uint_equal(const struct conf_option *o, const void *a, const void *b)
{
	return *(const unsigned *)CONF_FIELD(o, a) ==
	    *(const unsigned *)CONF_FIELD(o, b);
}

static bool
uint_print(const struct conf_option *o, const void *base, FILE *out)
{
	fprintf(out, "%u", *(const unsigned *)CONF_FIELD(o, base));
	return true;
}

const struct conf_type conf_type_uint = {
	.parse = uint_parse,
	.equal = uint_equal,
	.print = uint_print,
};

/* ---- sizes ---- */

bool
conf_parse_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	size_t digits = strspn(text, DIGITS);
	const char *unit;
	char *number;
	uint64_t value;
	bool good;

	if (text[digits] == '\0')
		return conf_parse_uint(text, out);
	unit = strchr(units, text[digits]);
	if (unit == NULL || text[digits + 1] != '\0')
		return false;
	number = conf_strndup(text, digits);
	good = conf_parse_uint(number, &value);
	free(number);
	for (const char *u = units; good && u <= unit; u++) {
		good = value <= UINT64_MAX / 1024;
		value *= 1024;
	}
	if (good)
		*out = value;
	return good;
}

void
conf_print_size(uint64_t size, FILE *out)
{
	static const char units[] = "KMGT";
	int unit = -1;

	while (size != 0 && size % 1024 == 0 && unit < 3) {
		size /= 1024;
		unit++;
	}
	fprintf(out, "%ju", (uintmax_t)size);
	if (unit >= 0)
		fputc(units[unit], out);
}

static bool
size_parse(const struct conf_input *in, void *base)
{
	uint64_t *field = CONF_FIELD(in->option, base);

	if (conf_parse_size(in->values[0], field))
		return true;
	return conf_bad(in, "'%s' is not a size: write 65536, 64K, 16M or 2G",
	    in->values[0]);
}

static bool
size_equal(const struct conf_option *o, const void *a, const void *b)
{
	return *(const uint64_t *)CONF_FIELD(o, a) ==
	    *(const uint64_t *)CONF_FIELD(o, b);
}

static bool
size_print(const struct conf_option *o, const void *base, FILE *out)
{
	conf_print_size(*(const uint64_t *)CONF_FIELD(o, base), out);
	return true;
}

const struct conf_type conf_type_size = {
	.parse = size_parse,
	.equal = size_equal,
	.print = size_print,
};

/* ---- percent and gain ---- */

static bool
real_parse(const struct conf_input *in, void *base)
{
	double *field = CONF_FIELD(in->option, base);
	const char *text = in->values[0];
	double value;

	/* strtod() also knows "inf", "nan" and "0x1p3". */
	if (text[strspn(text, DIGITS)] == '.'
		? strlen(text) < 2 ||
		    strspn(text, DIGITS ".") != strlen(text) ||
		    strchr(text, '.') != strrchr(text, '.')
		: *text == '\0' || strspn(text, DIGITS) != strlen(text))
		return conf_bad(in, "'%s' is not a number from %g to %g", text,
		    in->option->min, in->option->max);
	value = strtod(text, NULL);
	if (value < in->option->min || value > in->option->max)
		return conf_bad(in, "%s is out of range: %g to %g are valid",
		    text, in->option->min, in->option->max);
	*field = value;
	return true;
}

static bool
real_equal(const struct conf_option *o, const void *a, const void *b)
{
	double x = *(const double *)CONF_FIELD(o, a);
	double y = *(const double *)CONF_FIELD(o, b);

	return !(x < y) && !(x > y);
}

static bool
real_print(const struct conf_option *o, const void *base, FILE *out)
{
	fprintf(out, "%.15g", *(const double *)CONF_FIELD(o, base));
	return true;
}

const struct conf_type conf_type_real = {
	.parse = real_parse,
	.equal = real_equal,
	.print = real_print,
};
