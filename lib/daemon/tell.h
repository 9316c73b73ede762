#ifndef DAEMON_TELL_H
#define DAEMON_TELL_H

/*
 * What has happened is told once: it becomes an event, and the text of the
 * event a line of the log, whatever level the log has. reason: a
 * process_end_name(), which stands in brackets behind the text; NULL: none.
 */

#include "core/tstamp.h"
#include "daemon/events.h"
#include "daemon/worker.h"

void tell_daemon(struct supervisor *s, enum log_level level,
    enum event_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A command that changes something; g: its app, or NULL. */
void tell_command(struct supervisor *s, const struct group *g, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));

/* "APP: " stands before the text. */
void tell_app(const struct group *g, enum log_level level, enum event_kind kind,
    const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* As a warning, and not more often than log_limited() logs. */
void tell_app_limited(const struct group *g, struct log_rate *rate, tstamp now,
    enum event_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* "APP: worker ID (pid N) " stands before the text. */
void tell_worker(const struct worker *w, enum log_level level,
    enum event_kind kind, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* The worker has sent an EVENT; it is logged like a line that it printed. */
void tell_said(const struct worker *w, const char *text, size_t len);

#endif
