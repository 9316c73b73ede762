/* JSON, written from left to right. */

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sys/emit.h"

void
emit_init(struct emit *j, struct text *out)
{
	*j = (struct emit){ .out = out };
}

/* Puts what must stand before a key, or before a value without one. */
static void
next(struct emit *j)
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
begin(struct emit *j, const char *bracket)
{
	next(j);
	text_put(j->out, bracket, 1);
	j->more = false;
}

static void
end(struct emit *j, const char *bracket)
{
	assert(!j->keyed);

	text_put(j->out, bracket, 1);
	j->more = true;
	j->broken = false;
}

void
emit_object(struct emit *j)
{
	begin(j, "{");
}

void
emit_object_end(struct emit *j)
{
	end(j, "}");
}

void
emit_array(struct emit *j)
{
	begin(j, "[");
}

void
emit_array_end(struct emit *j)
{
	end(j, "]");
}

void
emit_break(struct emit *j)
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
emit_key(struct emit *j, const char *key)
{
	assert(!j->keyed);

	next(j);
	put_quoted(j->out, key);
	text_put(j->out, ":", 1);
	j->keyed = true;
}

void
emit_string(struct emit *j, const char *s)
{
	if (s == NULL) {
		emit_null(j);
		return;
	}
	next(j);
	put_quoted(j->out, s);
}

void
emit_uint(struct emit *j, uint64_t n)
{
	next(j);
	text_printf(j->out, "%" PRIu64, n);
}

void
emit_bool(struct emit *j, bool b)
{
	next(j);
	text_puts(j->out, b ? "true" : "false");
}

void
emit_null(struct emit *j)
{
	next(j);
	text_puts(j->out, "null");
}

void
emit_span(struct emit *j, tspan span)
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
emit_percent(struct emit *j, double percent)
{
	if (!isfinite(percent)) {
		emit_null(j);
		return;
	}
	next(j);
	text_printf(j->out, "%.1f", percent);
}

void
emit_number(struct emit *j, double n)
{
	if (!isfinite(n)) {
		emit_null(j);
		return;
	}
	next(j);
	text_printf(j->out, "%.6g", n);
}

void
emit_put_string(struct emit *j, const char *key, const char *s)
{
	emit_key(j, key);
	emit_string(j, s);
}

void
emit_put_uint(struct emit *j, const char *key, uint64_t n)
{
	emit_key(j, key);
	emit_uint(j, n);
}

void
emit_put_bool(struct emit *j, const char *key, bool b)
{
	emit_key(j, key);
	emit_bool(j, b);
}

void
emit_put_null(struct emit *j, const char *key)
{
	emit_key(j, key);
	emit_null(j);
}

void
emit_put_span(struct emit *j, const char *key, tspan span)
{
	emit_key(j, key);
	emit_span(j, span);
}

void
emit_put_percent(struct emit *j, const char *key, double percent)
{
	emit_key(j, key);
	emit_percent(j, percent);
}

void
emit_put_number(struct emit *j, const char *key, double n)
{
	emit_key(j, key);
	emit_number(j, n);
}
