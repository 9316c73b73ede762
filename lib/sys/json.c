/* JSON, written from left to right. */

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sys/json.h"

void
json_init(struct json *j, struct text *out)
{
	*j = (struct json){ .out = out };
}

/* Puts what must stand before a key, or before a value without one. */
static void
next(struct json *j)
{
	if (j->keyed) {
		j->keyed = false;
		return;
	}
	if (j->more)
		text_put(j->out, ",", 1);
	if (j->broken)
		text_put(j->out, "\n", 1);
	j->broken = false;
	j->more = true;
}

static void
begin(struct json *j, const char *bracket)
{
	next(j);
	text_put(j->out, bracket, 1);
	j->more = false;
}

static void
end(struct json *j, const char *bracket)
{
	assert(!j->keyed);

	text_put(j->out, bracket, 1);
	j->more = true;
	j->broken = false;
}

void
json_object(struct json *j)
{
	begin(j, "{");
}

void
json_object_end(struct json *j)
{
	end(j, "}");
}

void
json_array(struct json *j)
{
	begin(j, "[");
}

void
json_array_end(struct json *j)
{
	end(j, "]");
}

void
json_break(struct json *j)
{
	j->broken = true;
}

/* Escapes a character of n bytes; 0: a byte that is not UTF-8. */
static void
put_escape(struct text *out, const char *s, size_t n)
{
	if (n == 0)
		text_puts(out, "\\ufffd");
	else if (s[0] == '"' || s[0] == '\\')
		text_printf(out, "\\%c", s[0]);
	else if (s[0] == '\n')
		text_puts(out, "\\n");
	else
		text_printf(out, "\\u%04x", (unsigned char)s[n - 1]);
}

static void
put_quoted(struct text *out, const char *s)
{
	size_t len = strlen(s), from = 0, at = 0;

	text_put(out, "\"", 1);
	while (at < len) {
		size_t n = text_char_length(s + at, len - at);

		/* The RFC allows U+007F to U+009F, but terminals obey them. */
		if (n != 0 && s[at] != '"' && s[at] != '\\' &&
		    !text_is_control(s + at, n)) {
			at += n;
			continue;
		}
		text_put(out, s + from, at - from);
		put_escape(out, s + at, n);
		at += n == 0 ? 1 : n;
		from = at;
	}
	text_put(out, s + from, at - from);
	text_put(out, "\"", 1);
}

void
json_key(struct json *j, const char *key)
{
	assert(!j->keyed);

	next(j);
	put_quoted(j->out, key);
	text_put(j->out, ":", 1);
	j->keyed = true;
}

void
json_string(struct json *j, const char *s)
{
	if (s == NULL) {
		json_null(j);
		return;
	}
	next(j);
	put_quoted(j->out, s);
}

void
json_uint(struct json *j, uint64_t n)
{
	next(j);
	text_printf(j->out, "%" PRIu64, n);
}

void
json_bool(struct json *j, bool b)
{
	next(j);
	text_puts(j->out, b ? "true" : "false");
}

void
json_null(struct json *j)
{
	next(j);
	text_puts(j->out, "null");
}

void
json_span(struct json *j, tspan span)
{
	/* The fraction is a number of units below one second, in `digits`. */
	int digits = span < TSPAN_SECONDS(1) ? 6 : 3;
	tspan unit = digits == 6 ? TSPAN_USECONDS(1) : TSPAN_MSECONDS(1);
	tspan one = TSPAN_SECONDS(1) / unit;
	tspan units = span / unit + (span % unit >= unit / 2);
	tspan rest = units % one;

	assert(span >= 0);

	next(j);
	text_printf(j->out, "%" PRId64, units / one);
	if (rest == 0)
		return;
	while (rest % 10 == 0) {
		rest /= 10;
		digits--;
	}
	text_printf(j->out, ".%0*" PRId64, digits, rest);
}

void
json_percent(struct json *j, double percent)
{
	if (!isfinite(percent)) {
		json_null(j);
		return;
	}
	next(j);
	text_printf(j->out, "%.1f", percent);
}

void
json_number(struct json *j, double n)
{
	if (!isfinite(n)) {
		json_null(j);
		return;
	}
	next(j);
	text_printf(j->out, "%.6g", n);
}

void
json_put_string(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_string(j, s);
}

void
json_put_uint(struct json *j, const char *key, uint64_t n)
{
	json_key(j, key);
	json_uint(j, n);
}

void
json_put_bool(struct json *j, const char *key, bool b)
{
	json_key(j, key);
	json_bool(j, b);
}

void
json_put_null(struct json *j, const char *key)
{
	json_key(j, key);
	json_null(j);
}

void
json_put_span(struct json *j, const char *key, tspan span)
{
	json_key(j, key);
	json_span(j, span);
}

void
json_put_percent(struct json *j, const char *key, double percent)
{
	json_key(j, key);
	json_percent(j, percent);
}

void
json_put_number(struct json *j, const char *key, double n)
{
	json_key(j, key);
	json_number(j, n);
}
