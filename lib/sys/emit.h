#ifndef SYS_EMIT_H
#define SYS_EMIT_H

/*
 * JSON (RFC 8259), written from left to right. Commas are put by themselves;
 * the caller sees to it that keys stand in objects only, and that objects and
 * arrays are ended.
 */

#include <inttypes.h>
#include <math.h>

#include "core/tstamp.h"
#include "sys/text.h"

struct emit {
	struct text *out; /* not owned; all else begins with 0 */
	bool more; /* a value stands before the next one */
	bool keyed; /* the key of the next value has been written */
	bool broken; /* the next key or value begins a line */
};

/* An object or an array begins, or ends, with this bracket. */
void emit_open(struct emit *j, const char *bracket);
void emit_close(struct emit *j, const char *bracket);
#define emit_object(j) emit_open(j, "{")
#define emit_object_end(j) emit_close(j, "}")
#define emit_array(j) emit_open(j, "[")
#define emit_array_end(j) emit_close(j, "]")

/* The key of the value that comes next. Returns j. */
struct emit *emit_key(struct emit *j, const char *key);

/* Lets the key or value that comes next begin a new line. */
void emit_break(struct emit *j);

/*
 * A string of any bytes: controls are escaped, each byte that is not UTF-8
 * becomes U+FFFD. NULL is null.
 */
void emit_string(struct emit *j, const char *s);
void emit_bytes(struct emit *j, const char *s, size_t len);

/* Puts a value that needs no quotes, of 63 bytes at most. */
void emit_printf(struct emit *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#define emit_null(j) emit_printf(j, "null")
#define emit_uint(j, n) emit_printf(j, "%" PRIu64, (uint64_t)(n))
#define emit_bool(j, b) emit_printf(j, (b) ? "true" : "false")

/* Seconds: to the microsecond below one second, else to the millisecond. */
void emit_span(struct emit *j, tspan span);

/* To the tenth, or to six places; NaN and infinity are null. */
static inline void
emit_real(struct emit *j, bool tenth, double n)
{
	if (!isfinite(n))
		emit_null(j);
	else if (tenth)
		emit_printf(j, "%.1f", n);
	else
		emit_printf(j, "%.6g", n);
}
#define emit_percent(j, n) emit_real(j, true, n)
#define emit_number(j, n) emit_real(j, false, n)

/* A key and its value. */
#define emit_put_string(j, key, s) emit_string(emit_key(j, key), s)
#define emit_put_uint(j, key, n) emit_uint(emit_key(j, key), n)
#define emit_put_bool(j, key, b) emit_bool(emit_key(j, key), b)
#define emit_put_span(j, key, span) emit_span(emit_key(j, key), span)
#define emit_put_percent(j, key, n) emit_percent(emit_key(j, key), n)
#define emit_put_number(j, key, n) emit_number(emit_key(j, key), n)
#define emit_put_null(j, key) emit_null(emit_key(j, key))

#endif
