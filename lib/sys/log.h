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

#include <stdbool.h>
#include <stddef.h>

#include "core/tstamp.h"
#include "sys/logsink.h"

/*
 * Sets where lines go and how they look, from the next line on; before the
 * first call that is standard error, level info, text. Returns 0; or -1 and
 * the errno of open(2), and then nothing has changed. A missing syslog socket
 * is no failure: it may come. Copies the path of the spec.
 */
int log_open(const struct log_spec *spec);

/*
 * The same in two steps: log_prepare() opens what log_commit() has lines go to,
 * unless log_abandon() (NULL: nothing) closes it. NULL and errno as log_open().
 */
struct logsink *log_prepare(const struct log_spec *spec);
void log_commit(struct logsink *, enum log_level level);
void log_abandon(struct logsink *);

/*
 * Whether errors of ours are also written to standard error, wherever else the
 * log goes: true while somebody at a terminal waits for the start.
 */
void log_echo(bool);

/*
 * Starts the thread. To be called after the last fork of the daemon itself.
 * Returns 0, or -1 and the errno of mmap(2) or pthread_create(3); lines are
 * then written at once, as before.
 */
int log_start(void);

/* Lets the thread open the file anew, after a rotation; does not wait. */
void log_reopen(void);

/* Waits until all is written, at most for limit. Returns whether all is. */
bool log_flush(tspan limit);

/*
 * Waits like log_flush() and ends the thread, within two seconds more; a thread
 * that is stuck in the kernel is left behind, and nothing is logged any more.
 * Else lines are written at once from now on.
 */
void log_stop(tspan limit);

/* Log one line; the functions without an x add ": " and the text of errno. */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_errorx(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warnx(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void log_at(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The time that a line logged now would have. */
void log_clock(struct timespec *out);

/* Logs an error, waits at most 1 s until all is written, and exits with 71. */
void fatal(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/*
 * Logs a line of len bytes that a worker printed, without its newline; cut
 * after LOG_LINE_MAX bytes. It appears behind "APP/ID: ", in JSON with "app"
 * and "id". NUL is an ordinary byte.
 */
#define LOG_LINE_MAX 65536
void log_output(enum log_level level, const char *app, const char *id,
    const char *line, size_t len);

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

/* Logs the message if it may be. */
void log_limited(struct log_rate *rate, tstamp now, enum log_level level,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
