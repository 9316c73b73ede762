/*
 * Numbers and what is made of them: durations, sizes, percent, modes, limits.
 * In base 10 but for modes; the whole text must be the number. What a process
 * can inherit has the word "inherit" for that.
 */

#include <math.h>
#include <stdlib.h>

#include "conf/room.h"
#include "sys/number.h"

#define DIGITS "0123456789"

static const char inherit[] = "inherit";

/* ---- counts; the companion of prefetch says that the pool decides ---- */

bool
type_parse_uint(const char *text, uint64_t *out)
{
	return number_parse(text, strlen(text), out);
}

static bool
uint_parse(const struct input *in, void *base)
{
	const struct option *o = in->option;
	bool *is_auto = o->extra != 0 ? TYPE_EXTRA(o, base) : NULL;
	bool bounded = o->type == &type_uint_auto, wanted, plain;
	const char *text = in->values[0];
	uint64_t value = bounded ? CONF_AUTO_MAX : 0;

	plain = is_auto != NULL && strcmp(in->values[0], "auto") == 0;
	wanted = plain || (bounded && strncmp(text, "auto:", 5) == 0);
	if (wanted && !plain)
		text += 5;
	if (!plain && !type_parse_uint(text, &value))
		return type_bad(in,
		    "'%s' is not %sa whole number from %.0f to %.0f",
		    in->values[0],
		    bounded               ? "auto, auto:NUMBER or "
			: is_auto != NULL ? "auto or "
					  : "",
		    o->min, o->max);
	if (!plain && ((double)value < o->min || (double)value > o->max))
		return type_bad(in,
		    "%s is out of range: %.0f to %.0f are valid", text, o->min,
		    o->max);
	if (is_auto != NULL)
		*is_auto = wanted;
	if (o->size == sizeof(value))
		*(uint64_t *)TYPE_FIELD(o, base) = value;
	else
		*(unsigned *)TYPE_FIELD(o, base) = (unsigned)value;
	return true;
}

static char *
uint_print(const struct option *o, const void *base, struct arena *a)
{
	const void *field = TYPE_FIELD(o, base);
	bool is_auto = o->extra != 0 && *(const bool *)TYPE_EXTRA(o, base);

	if (is_auto &&
	    (o->type == &type_uint ||
		*(const unsigned *)field == CONF_AUTO_MAX))
		return arena_strdup(a, "auto");
	return arena_printf(a, "%s%ju", is_auto ? "auto:" : "",
	    o->size == sizeof(uint64_t)
		? (uintmax_t) * (const uint64_t *)field
		: (uintmax_t) * (const unsigned *)field);
}

const struct type type_uint = { false, uint_parse, uint_print };
/* The same, or "auto:" and a bound, which is CONF_AUTO_MAX with auto alone. */
const struct type type_uint_auto = { false, uint_parse, uint_print };

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

bool
conf_parse_time(const char *text, tspan most, tspan *out)
{
	size_t whole = strspn(text, DIGITS);
	size_t point = text[whole] == '.';
	size_t part = point ? strspn(text + whole + 1, DIGITS) : 0;
	const char *unit = text + whole + point + part;
	tspan length = *unit == '\0' ? TSPAN_SECONDS(1) : 0, n;

	for (size_t i = 0; i < SPAN_UNITS; i++)
		if (strcmp(unit, span_units[i].name) == 0)
			length = span_units[i].length;
	if (whole + part == 0 || length == 0 || whole > 12)
		return false;
	n = strtoll(text, NULL, 10);
	if (n > most / length)
		return false;
	/* Times of day have too many digits for a double. */
	*out =
	    n * length + llround(strtod(text + whole, NULL) * (double)length);
	return true;
}

bool
conf_parse_span(const char *text, tspan *out)
{
	/* Far below the end of time, so that sums of spans stay there too. */
	return conf_parse_time(text, INT64_MAX / 16, out);
}

static bool
span_parse(const struct input *in, void *base)
{
	tspan *field = TYPE_FIELD(in->option, base);
	bool wanted = in->option->type == &type_span_auto &&
	    strcmp(in->values[0], "auto") == 0;
	tspan span = APP_AUTO;

	if (!wanted && !conf_parse_span(in->values[0], &span))
		return type_bad(in,
		    "'%s' is not a duration: write 250ms, 10s, 5m, 2h or 1d",
		    in->values[0]);
	if (!wanted && (double)span < in->option->min * 1e9)
		return type_bad(in, "%s is too short: at least %gms",
		    in->values[0], in->option->min * 1e3);
	if (!wanted && (double)span > in->option->max * 1e9)
		return type_bad(in, "%s is too long: at most %gd",
		    in->values[0], in->option->max / 86400);
	*field = span;
	return true;
}

static char *
span_print(const struct option *o, const void *base, struct arena *a)
{
	tspan span = *(const tspan *)TYPE_FIELD(o, base);

	if (span == APP_AUTO)
		return arena_strdup(a, "auto");
	if (span == 0)
		return arena_strdup(a, "0");
	for (size_t i = 0; i < SPAN_UNITS; i++) {
		if (span % span_units[i].length == 0)
			return arena_printf(a, "%jd%s",
			    (intmax_t)(span / span_units[i].length),
			    span_units[i].name);
	}
	return arena_printf(a, "%jd.%09jds",
	    (intmax_t)(span / TSPAN_SECONDS(1)),
	    (intmax_t)(span % TSPAN_SECONDS(1)));
}

const struct type type_span = { false, span_parse, span_print };
/* The same, or the word auto: the pool decides. */
const struct type type_span_auto = { false, span_parse, span_print };

/* ---- sizes ---- */

static const char size_units[] = "KMGT";

bool
conf_parse_size(const char *text, uint64_t *out)
{
	size_t digits = strspn(text, DIGITS);
	const char *unit = strchr(size_units, text[digits]);
	int shift = 0;
	uint64_t value;

	/* The unit may be the NUL at the end of them. */
	if (unit == NULL || (*unit != '\0' && text[digits + 1] != '\0') ||
	    !number_parse(text, digits, &value))
		return false;
	if (*unit != '\0')
		shift = 10 * (int)(unit - size_units + 1);
	if (value > UINT64_MAX >> shift)
		return false;
	*out = value << shift;
	return true;
}

static char *
size_print(const struct option *o, const void *base, struct arena *a)
{
	uint64_t size = *(const uint64_t *)TYPE_FIELD(o, base);
	int unit = -1;

	while (size != 0 && size % 1024 == 0 && unit < 3) {
		size /= 1024;
		unit++;
	}
	return arena_printf(
	    a, "%ju%.*s", (uintmax_t)size, unit >= 0, &size_units[unit & 3]);
}

static bool
size_parse(const struct input *in, void *base)
{
	uint64_t *field = TYPE_FIELD(in->option, base);

	if (conf_parse_size(in->values[0], field))
		return true;
	return type_bad(in, "'%s' is not a size: write 65536, 64K, 16M or 2G",
	    in->values[0]);
}

const struct type type_size = { false, size_parse, size_print };

/* ---- percent and gain ---- */

static bool
real_parse(const struct input *in, void *base)
{
	const char *text = in->values[0];
	/* strtod() also knows "inf" and "0x1p3". */
	size_t whole = strspn(text, DIGITS);
	size_t point = text[whole] == '.';
	size_t len = whole + point + strspn(text + whole + point, DIGITS);
	double value = strtod(text, NULL);

	if (text[len] != '\0' || len == point)
		return type_bad(in, "'%s' is not a number from %g to %g", text,
		    in->option->min, in->option->max);
	if (value < in->option->min || value > in->option->max)
		return type_bad(in, "%s is out of range: %g to %g are valid",
		    text, in->option->min, in->option->max);
	*(double *)TYPE_FIELD(in->option, base) = value;
	return true;
}

static char *
real_print(const struct option *o, const void *base, struct arena *a)
{
	return arena_printf(a, "%.15g", *(const double *)TYPE_FIELD(o, base));
}

const struct type type_real = { false, real_parse, real_print };

/* ---- modes, in octal; a umask is -1 if it is inherited ---- */

_Static_assert(sizeof(mode_t) == sizeof(int), "mode_t");

static bool
mode_parse(const struct input *in, void *base)
{
	bool is_umask = in->option->type == &type_umask;
	const char *text = in->values[0];
	size_t len = strlen(text);
	int mode = -1;

	if (!is_umask || strcmp(in->values[0], inherit) != 0) {
		if (len > 0 && len <= 6 && strspn(text, "01234567") == len)
			mode = (int)strtol(text, NULL, 8);
		if (mode < 0 || mode > 0777)
			return type_bad(in,
			    "'%s' is not a %s: octal digits, at most 0777%s",
			    text, is_umask ? "umask" : "mode",
			    is_umask ? ", or 'inherit'" : "");
	}
	*(int *)TYPE_FIELD(in->option, base) = mode;
	return true;
}

static char *
mode_print(const struct option *o, const void *base, struct arena *a)
{
	int mode = *(const int *)TYPE_FIELD(o, base);

	return mode == -1 ? arena_strdup(a, inherit)
			  : arena_printf(a, "%04o", (unsigned)mode);
}

const struct type type_mode = { false, mode_parse, mode_print };
const struct type type_umask = { false, mode_parse, mode_print };

/* ---- nice; the companion says whether it is set ---- */

static bool
nice_parse(const struct input *in, void *base)
{
	int *field = TYPE_FIELD(in->option, base);
	bool *set = TYPE_EXTRA(in->option, base);
	const char *text = in->values[0];
	bool minus = *text == '-';
	uint64_t value = 0;

	*set = strcmp(in->values[0], inherit) != 0;
	if (*set &&
	    (!type_parse_uint(text + minus, &value) ||
		value > (minus ? 20 : 19)))
		return type_bad(in,
		    "'%s' is not a nice value: -20 to 19, or 'inherit'", text);
	*field = minus ? -(int)value : (int)value;
	return true;
}

static char *
nice_print(const struct option *o, const void *base, struct arena *a)
{
	if (!*(const bool *)TYPE_EXTRA(o, base))
		return arena_strdup(a, inherit);
	return arena_printf(a, "%d", *(const int *)TYPE_FIELD(o, base));
}

const struct type type_nice = { false, nice_parse, nice_print };

/* ---- resource limits ---- */

static bool
rlimit_parse(const struct input *in, void *base)
{
	const struct type *kind = in->option->type;
	struct conf_rlimit *field = TYPE_FIELD(in->option, base);
	struct conf_rlimit limit = { .set =
					 strcmp(in->values[0], inherit) != 0 };
	const char *text = in->values[0];
	const char *what = "a whole number";
	uint64_t max = RLIM_INFINITY;
	tspan span = 0;
	bool good = true;

	if (limit.set && strcmp(text, "unlimited") != 0) {
		if (kind == &type_rlimit_size) {
			what = "a size like 64M";
			good = conf_parse_size(text, &max);
		} else if (kind == &type_rlimit_span) {
			what = "whole seconds";
			good = conf_parse_span(text, &span) &&
			    span % TSPAN_SECONDS(1) == 0;
			max = (uint64_t)(span / TSPAN_SECONDS(1));
		} else {
			good = type_parse_uint(text, &max);
		}
		good = good && max < RLIM_INFINITY &&
		    (double)max >= in->option->min;
	}
	if (!good)
		return type_bad(in,
		    "'%s' is not a limit: %s, 'unlimited' or 'inherit'", text,
		    what);
	limit.max = (rlim_t)max;
	*field = limit;
	return true;
}

static char *
rlimit_print(const struct option *o, const void *base, struct arena *a)
{
	static const struct option size = { .offset = offsetof(
						struct conf_rlimit, max) };
	const struct conf_rlimit *limit = TYPE_FIELD(o, base);

	if (!limit->set)
		return arena_strdup(a, inherit);
	if (limit->max == RLIM_INFINITY)
		return arena_strdup(a, "unlimited");
	if (o->type == &type_rlimit_size)
		return size_print(&size, limit, a);
	return arena_printf(a, "%ju%s", (uintmax_t)limit->max,
	    o->type == &type_rlimit_span ? "s" : "");
}

const struct type type_rlimit = { false, rlimit_parse, rlimit_print };
const struct type type_rlimit_size = { false, rlimit_parse, rlimit_print };
const struct type type_rlimit_span = { false, rlimit_parse, rlimit_print };
