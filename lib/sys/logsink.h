#ifndef SYS_LOGSINK_H
#define SYS_LOGSINK_H

/*
 * Where lines of the log go, and how they look there: standard error, a file,
 * or syslog's socket. One thread at a time. A failure is no error for the
 * caller: lines are lost and counted, and the count is written as soon as
 * something can be written again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};
#define LOG_LEVELS (LOG_LEVEL_DEBUG + 1)

enum log_dest {
	LOG_DEST_STDERR,
	LOG_DEST_SYSLOG,
	LOG_DEST_FILE,
};

struct log_spec {
	enum log_dest dest;
	int facility; /* LOG_DAEMON, ... of syslog(3); SYSLOG only */
	const char *path; /* FILE; SYSLOG: the socket, NULL for /dev/log */
	enum log_level level; /* less urgent lines are not logged */
	bool json;
};

struct logline {
	struct timespec at; /* of the wall clock */
	enum log_level level;
	const char *app; /* whose worker printed the line; NULL: we wrote it */
	const char *id; /* of that worker; NULL where app is */
	const char *text;
	size_t len;
};

/* The beginning of a line, before the text. */
enum logsink_head {
	LOGSINK_HEAD_TIME, /* "2026-11-21T08:50:01.123Z info " */
	LOGSINK_HEAD_JOURNAL, /* "<6>", see sd-daemon(3) */
	LOGSINK_HEAD_SYSLOG, /* "<30>Nov 21 08:50:01 apppoold[4711]: " */
};

struct logsink_style {
	enum logsink_head head;
	bool json; /* one object, after the head unless that is TIME */
	int facility; /* of syslog(3); SYSLOG only */
};

/* A line of at most this size is one write(2), and so whole in a pipe. */
#define LOGSINK_BUFFER 4096

struct logsink {
	enum log_dest dest;
	char *path; /* owned; NULL: STDERR */
	int fd; /* -1: closed; not ours if STDERR */
	struct logsink_style style;
	/*
	 * Called now and then while the reader is slow; by returning false it
	 * gives up the lines in the buffer. NULL: we wait for ever.
	 */
	bool (*may_wait)(void *arg);
	void *arg;

	char buf[LOGSINK_BUFFER];
	size_t len;
	bool skipping; /* the rest of this line is not wanted any more */
	bool fresh; /* the buffer begins where a line does */
	bool torn; /* the last byte written does not end a line */
	bool reporting; /* the buffer begins with the count of lost lines */
	unsigned long lost; /* lines, since that count was last written */
	int error; /* errno of the latest loss; 0: waiting was given up */
};

/*
 * Returns 0, or -1 and the errno of ownfile_open() or malloc(3). Copies the
 * path.
 */
int logsink_init(struct logsink *s, const struct log_spec *spec);

/* Opens the file anew; a failure is written to the old one. */
void logsink_reopen(struct logsink *s);

/* "2026-11-21T08:50:01.123Z". Returns buf. */
#define LOGSINK_TIME 64
const char *logsink_time(const struct timespec *at, char buf[LOGSINK_TIME]);

/* The word of a level. */
const char *logsink_level_name(enum log_level level);

/* Closes the destination; lines still in the buffer are lost. */
void logsink_fini(struct logsink *s);

/* Adds a line; writes when the buffer is full, or for syslog at once. */
void logsink_write(struct logsink *s, const struct logline *line);

/*
 * Writes the buffer. A point of cancellation while it waits, and the only one
 * here.
 */
void logsink_flush(struct logsink *s);

/*
 * Gives the line, without a newline, to put() in pieces, none of which ends
 * within a character. In text, controls but tabs and bytes that are not UTF-8
 * come out as \xHH; in JSON they are escaped, or replaced by U+FFFD.
 */
void logsink_format(const struct logline *line,
    const struct logsink_style *style,
    void (*put)(void *arg, const char *piece, size_t len), void *arg);

#endif
