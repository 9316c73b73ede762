/* JSON, written from left to right. */

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sys/emit.h"

/* Puts what must stand before a key, or before a value without one. */
static void
emit_next(struct emit *j)
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

void
emit_open(struct emit *j, const char *bracket)
{
	emit_next(j);
	text_put(j->out, bracket, 1);
	j->more = false;
}

void
emit_close(struct emit *j, const char *bracket)
{
	assert(!j->keyed);

	text_put(j->out, bracket, 1);
	j->more = true;
	j->broken = false;
}

void
emit_break(struct emit *j)
{
	j->broken = true;
}

/* The RFC allows U+007F to U+009F, but terminals obey them. */
static void
emit_quoted(struct text *out, const char *s, size_t len)
{
	text_put(out, "\"", 1);
	text_pieces(s, len, TEXT_JSON, text_put_piece, out);
	text_put(out, "\"", 1);
}

struct emit *
emit_key(struct emit *j, const char *key)
{
	assert(!j->keyed);

	emit_next(j);
	emit_quoted(j->out, key, strlen(key));
	text_put(j->out, ":", 1);
	j->keyed = true;
	return j;
}

void
emit_string(struct emit *j, const char *s)
{
	if (s == NULL)
		emit_null(j);
	else
		emit_bytes(j, s, strlen(s));
}

void
emit_bytes(struct emit *j, const char *s, size_t len)
{
	emit_next(j);
	emit_quoted(j->out, s, len);
}

void
emit_printf(struct emit *j, const char *fmt, ...)
{
	char value[64];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	emit_next(j);
	text_puts(j->out, value);
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

	emit_next(j);
	text_printf(j->out, "%" PRId64, units / one);
	if (rest == 0)
		return;
	while (rest % 10 == 0) {
		rest /= 10;
		digits--;
	}
	text_printf(j->out, ".%0*" PRId64, digits, rest);
}
