#ifndef SYS_LOGLINE_H
#define SYS_LOGLINE_H

/* How a line of the log looks. No input or output happens here. */

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "sys/log.h"

struct logline {
	struct timespec at; /* of the wall clock */
	enum log_level level;
	const char *app; /* what printed it; NULL: we did */
	const char *id; /* NULL where app is */
	const char *text;
	size_t len;
};

/* What stands before the text. */
enum logline_head {
	LOGLINE_HEAD_TIME, /* "2026-11-21T08:50:01.123Z info " */
	LOGLINE_HEAD_JOURNAL, /* "<6>", see sd-daemon(3) */
	LOGLINE_HEAD_SYSLOG, /* "<30>Nov 21 08:50:01 apppoold[4711]: " */
};

struct logline_style {
	enum logline_head head;
	bool json; /* one object, after the head unless that is TIME */
	int facility; /* of syslog(3); SYSLOG only */
};

/*
 * Takes the next piece, of len bytes. No piece is a part of a character.
 */
typedef void logline_put(void *arg, const char *piece, size_t len);

/*
 * Gives the line, without a newline, to put() piece by piece. In text what a
 * terminal could take for a command comes out as \xHH, and so does what is
 * not UTF-8; in JSON it is escaped, or replaced by U+FFFD.
 */
void logline_format(const struct logline *line,
    const struct logline_style *style, logline_put *put, void *arg);

#endif
