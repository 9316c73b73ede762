#ifndef SYS_LOG_H
#define SYS_LOG_H

/*
 * The log. Until log_start() a line is written at once; after it a thread
 * writes, and whoever logs is never held up: lines that find no room are
 * dropped and counted, and the count is logged when there is room again.
 * Every function keeps errno, so "%m" may stand in any format. All may be
 * called from any thread. The process ignores SIGPIPE before log_start().
 *
 * The clock read here is the wall clock, for people; nothing is decided by
 * it.
 */

#include <stdbool.h>
#include <stddef.h>

#include "core/tstamp.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};
#define LOG_LEVELS (LOG_LEVEL_DEBUG + 1)

/* "error", "warn", "info", "debug", by enum log_level. */
extern const char *const log_level_names[LOG_LEVELS];

enum log_dest {
	LOG_DEST_STDERR,
	LOG_DEST_SYSLOG,
	LOG_DEST_FILE,
};

struct log_spec {
	enum log_dest dest;
	int facility; /* LOG_DAEMON, ... of syslog(3); SYSLOG only */
	const char *path; /* FILE; SYSLOG: the socket, NULL for /dev/log */
	enum log_level level; /* what is less urgent is not logged */
	bool json;
};

/*
 * Says where lines go and how they look, from the next line on; before the
 * first call that is stderr, info, text. Returns 0; or -1 and what open(2)
 * says of the file, and then nothing has changed. A syslog socket that is
 * not there is no failure: it may come. Copies path.
 */
int log_open(const struct log_spec *spec);

/*
 * Starts the thread. To be called after the last fork of the daemon itself.
 * Returns 0, or -1 and errno; lines are then written at once, as before.
 */
int log_start(void);

/* Opens the file anew (after it was rotated). Does not wait for it. */
void log_reopen(void);

/* Waits until all is written, but no longer than limit. True if it is. */
bool log_flush(tspan limit);

/*
 * Like log_flush(), and ends the thread; one that cannot be ended (stuck in
 * the kernel) is left behind. Lines are written at once from now on.
 */
void log_stop(tspan limit);

/* Those without an x add ": " and the text of errno. */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_errorx(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warnx(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Log as an error, write out what is still there (at most 1 s), exit 71. */
void fatal(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/*
 * One line that a worker printed, without its newline; len is at most
 * LOG_LINE_MAX, more is cut. Always logged, whatever the level. Appears
 * behind "APP/ID: ", in JSON with "app" and "id". NUL is an ordinary byte.
 */
#define LOG_LINE_MAX 65536
void log_output(const char *app, const char *id, const char *line, size_t len);

/* Of one thing that can repeat. All zero: not said yet. */
struct log_rate {
	tstamp next; /* said again from then on */
	unsigned long missed; /* how often it was not said since */
};

/* Says it at most once a minute, with the number of times it was not said. */
void log_limited(struct log_rate *rate, tstamp now, enum log_level level,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
