#ifndef SYS_JSON_H
#define SYS_JSON_H

/*
 * JSON (RFC 8259), written from left to right. Commas are put by themselves;
 * the caller sees to it that keys stand in objects only, and that objects and
 * arrays are ended.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"
#include "sys/text.h"

struct json {
	struct text *out; /* not owned */
	bool more; /* a value stands before the next one */
	bool keyed; /* the key of the next value has been written */
	bool broken; /* the next key or value begins a line */
};

void json_init(struct json *j, struct text *out);

void json_object(struct json *j);
void json_object_end(struct json *j);
void json_array(struct json *j);
void json_array_end(struct json *j);

/* The key of the value that comes next. */
void json_key(struct json *j, const char *key);

/* Lets the key or value that comes next begin a new line. */
void json_break(struct json *j);

/*
 * A string of any bytes: controls are escaped, each byte that is not UTF-8
 * becomes U+FFFD. NULL is null.
 */
void json_string(struct json *j, const char *s);
void json_uint(struct json *j, uint64_t n);
void json_bool(struct json *j, bool b);
void json_null(struct json *j);

/* Seconds: to the microsecond below one second, else to the millisecond. */
void json_span(struct json *j, tspan span);

/* To the tenth; NaN and infinity are null. */
void json_percent(struct json *j, double percent);

/* To six places; NaN and infinity are null. */
void json_number(struct json *j, double n);

/* A key and its value. */
void json_put_string(struct json *j, const char *key, const char *s);
void json_put_uint(struct json *j, const char *key, uint64_t n);
void json_put_bool(struct json *j, const char *key, bool b);
void json_put_null(struct json *j, const char *key);
void json_put_span(struct json *j, const char *key, tspan span);
void json_put_percent(struct json *j, const char *key, double percent);
void json_put_number(struct json *j, const char *key, double n);

#endif
