/* Takes a line of a trace to pieces. Millions of them: no copies, no libc. */

#include <ctype.h>
#include <string.h>

#include "sim/load_line.h"

#define LATEST TSPAN_SECONDS(7258118400) /* the year 2200 */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct field
field_trim(const char *from, const char *to)
{
	while (from < to && is_blank(*from))
		from++;
	while (from < to && is_blank(to[-1]))
		to--;
	if (to - from >= 2 && *from == '"' && to[-1] == '"') {
		from++;
		to--;
	}
	return (struct field){ .at = from, .len = (size_t)(to - from) };
}

bool
line_is_empty(const char *text, size_t len)
{
	struct field all = field_trim(text, text + len);

	return all.len == 0 || *all.at == '#';
}

void
line_split(const char *text, size_t len, struct line *out)
{
	const char *end = text + len;

	for (out->count = 0;; out->count++) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *to = comma == NULL ? end : comma;

		if (out->count < LINE_FIELDS)
			out->fields[out->count] = field_trim(text, to);
		if (comma == NULL)
			break;
		text = comma + 1;
	}
	out->count++;
}

static bool
is_word(const struct field *f)
{
	return f->len > 0 && isalpha((unsigned char)*f->at);
}

bool
line_is_title(const struct line *line)
{
	return line->count == LINE_FIELDS &&
	    is_word(&line->fields[LINE_ARRIVAL]) &&
	    is_word(&line->fields[LINE_SERVICE]);
}

/* 0: there is no such unit. */
static tspan
unit_length(const char *name, size_t len)
{
	if (len == 0)
		return TSPAN_SECONDS(1);
	if (len == 2 && name[0] == 'm' && name[1] == 's')
		return TSPAN_MSECONDS(1);
	if (len != 1)
		return 0;
	switch (*name) {
	case 's':
		return TSPAN_SECONDS(1);
	case 'm':
		return TSPAN_SECONDS(60);
	case 'h':
		return TSPAN_SECONDS(3600);
	case 'd':
		return TSPAN_SECONDS(86400);
	default:
		return 0;
	}
}

/* Digits, as many as there are; their number is in *n_out. */
static int64_t
take_digits(const char **at, const char *end, unsigned *n_out)
{
	int64_t value = 0;

	for (*n_out = 0; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
		/* Later ones are too many before a point, too fine after it. */
		if (*n_out < 12)
			value = value * 10 + (**at - '0');
		(*n_out)++;
	}
	return value;
}

bool
field_time(const struct field *f, tspan *out)
{
	static const double tenths[] = { 1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6,
		1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12 };
	const char *at = f->at, *end = f->at + f->len;
	unsigned digits, places = 0;
	int64_t whole = take_digits(&at, end, &digits);
	int64_t part = 0;
	tspan unit;

	if (at < end && *at == '.') {
		at++;
		part = take_digits(&at, end, &places);
	}
	unit = unit_length(at, (size_t)(end - at));
	if (digits + places == 0 || digits > 12 || unit == 0 ||
	    whole > LATEST / unit)
		return false;
	if (places > 12)
		places = 12;
	*out = whole * unit +
	    (tspan)((double)part * tenths[places] * (double)unit + 0.5);
	return true;
}
