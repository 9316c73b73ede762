#ifndef COUNTER_POOLCOUNTER_LINE_H
#define COUNTER_POOLCOUNTER_LINE_H

/* A line of a client of the PoolCounter service. */

#include <stddef.h>

#include "core/counter.h"

/* Longest line, its LF included. */
#define POOLCOUNTER_LINE_MAX 1024

enum poolcounter_verb {
	POOLCOUNTER_ACQUIRE, /* ACQ4ME, ACQ4ANY: see request */
	POOLCOUNTER_RELEASE, /* see text; empty: the newest */
	POOLCOUNTER_STATS, /* see text; empty: without an argument */
	POOLCOUNTER_BAD_SYNTAX,
	POOLCOUNTER_BAD_COMMAND,
};

struct poolcounter_line {
	enum poolcounter_verb verb;
	struct counter_request request;
	const char *text; /* in the line */
	size_t len;
};

/* Takes apart a line of len bytes, its LF not among them. */
void poolcounter_line_parse(
    const char *line, size_t len, struct poolcounter_line *out);

#endif
