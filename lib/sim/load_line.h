#ifndef SIM_LOAD_LINE_H
#define SIM_LOAD_LINE_H

/* One line of a trace: arrival,app,service time. */

#include <stdbool.h>
#include <stddef.h>

#include "core/tstamp.h"

enum line_field {
	LINE_ARRIVAL,
	LINE_APP,
	LINE_SERVICE,
	LINE_FIELDS,
};

/* Without quotes and blanks around it; in the line, no NUL behind it. */
struct field {
	const char *at;
	size_t len;
};

struct line {
	struct field fields[LINE_FIELDS];
	unsigned count; /* fields there are, be it more than these */
};

/* Blank, or a comment. */
bool line_is_empty(const char *text, size_t len);

void line_split(const char *text, size_t len, struct line *out);

/* Titles, as a first line may have. */
bool line_is_title(const struct line *line);

/*
 * Seconds, or a number with a unit of pool.conf(5). Without a sign, exponent
 * or anything else; what is finer than a nanosecond is rounded. False: it is
 * none, or later than the year 2200.
 */
bool field_time(const struct field *f, tspan *out);

#endif
