#ifndef SYS_LOG_H
#define SYS_LOG_H

/*
 * The log. Until log_start() a line is written at once; after it a thread
 * writes, and no caller is held up: lines that find no room are dropped and
 * counted, and the count is logged when there is room again. Every function
 * keeps errno, so "%m" may stand in any format. All may be called from any
 * thread. The process ignores SIGPIPE before log_start().
 *
 * The clock read here is the wall clock, for people; nothing is decided by it.
 */

#include <errno.h>
#include <time.h>

#include "core/tstamp.h"
#include "sys/text.h"

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
	bool journal; /* STDERR: as the journal wants it, which is no such */
};

/* --- log.c: where lines go ---------------------------------------------- */

/*
 * Sets where lines go and how they look; before that it is standard error,
 * level info, text. Returns 0; or -1 and the errno of open(2), and then nothing
 * has changed. A missing syslog socket is no failure: it may come.
 */
int log_open(const struct log_spec *spec);

/*
 * The same in two steps: log_prepare() opens what log_commit() has lines go to,
 * unless log_abandon() (NULL: nothing) closes it. NULL and errno as log_open().
 */
struct logsink;
struct logsink *log_prepare(const struct log_spec *spec);
void log_commit(struct logsink *);
void log_abandon(struct logsink *);

/* Whether errors of ours go to standard error, too: somebody waits there. */
void log_echo(bool);

/*
 * Starts the thread, after the last fork of the daemon itself. Returns 0; or -1
 * and errno, and lines are written at once, as before.
 */
int log_start(void);

/*
 * Waits until all is written, at most for limit, as is to be done before the
 * process ends. Returns whether all is.
 */
bool log_flush(tspan limit);

/*
 * A line, which may have any bytes. What a worker printed appears behind
 * "APP/ID: ", in JSON with "app" and "id". All together at most LOG_LINE_MAX
 * bytes and 512 more.
 */
#define LOG_LINE_MAX 65536
struct logline {
	struct timespec at; /* of the wall clock */
	enum log_level level;
	const char *app; /* whose worker printed the line; NULL: we wrote it */
	const char *id; /* of that worker; NULL where app is */
	const char *text;
	size_t len;
};

/*
 * Sets the time of the line to now and, if its level is wanted, writes it or,
 * while the thread runs, leaves that a copy.
 */
void log_put(struct logline *line);

/* --- logline.c: what is logged, and how it looks ------------------------ */

/* Logs one line; error is an errno whose text follows, 0: none. */
void log_at(enum log_level level, int error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Functions without an x add ": " and the text of errno. */
#define log_error(...) log_at(LOG_LEVEL_ERROR, errno, __VA_ARGS__)
#define log_errorx(...) log_at(LOG_LEVEL_ERROR, 0, __VA_ARGS__)
#define log_warn(...) log_at(LOG_LEVEL_WARN, errno, __VA_ARGS__)
#define log_warnx(...) log_at(LOG_LEVEL_WARN, 0, __VA_ARGS__)
#define log_info(...) log_at(LOG_LEVEL_INFO, 0, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, 0, __VA_ARGS__)

/* Logs an error, waits at most 1 s until all is written, and exits with 71. */
void fatal(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/* The state of one message that can repeat. All zero: not logged yet. */
struct log_rate {
	tstamp next; /* logged again from then on */
	unsigned long suppressed; /* times, since it was last logged */
};

/*
 * Whether the message may be logged: at most once a minute. Then suffix_out
 * tells the number of times suppressed before; it stands behind the text.
 */
#define LOG_SUFFIX 64
bool log_rate_allows(
    struct log_rate *rate, tstamp now, char suffix_out[LOG_SUFFIX]);

void log_limited(struct log_rate *rate, tstamp now, enum log_level level,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* "2026-11-21T08:50:01.123Z". Returns buf. */
#define LOG_TIME 64
const char *log_time(const struct timespec *at, char buf[LOG_TIME]);

extern const char *const log_level_names[LOG_LEVELS];

struct log_style {
	enum {
		LOG_HEAD_TIME, /* "2026-11-21T08:50:01.123Z info " */
		LOG_HEAD_JOURNAL, /* "<6>", see sd-daemon(3) */
		LOG_HEAD_SYSLOG, /* "<30>Nov 21 08:50:01 apppoold[4711]: " */
	} head;
	bool json; /* one object, after the head unless that is TIME */
	int facility; /* of syslog(3); SYSLOG only */
};

/*
 * Gives the line, without a newline, to put() in pieces, none of which ends
 * within a character. In text, controls but tabs and bytes that are not UTF-8
 * come out as \xHH; in JSON they are escaped, or replaced by U+FFFD.
 */
void log_format(const struct logline *line, const struct log_style *style,
    text_piece *put, void *arg);

#endif
