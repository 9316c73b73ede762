#ifndef DAEMON_TELL_H
#define DAEMON_TELL_H

/*
 * What has happened is told once: it becomes an event, and the text of the
 * event a line of the log, whatever level the log has. Events are kept in a
 * ring, in which the newest take the place of the oldest.
 */

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/tstamp.h"
#include "daemon/worker.h"
#include "sys/log.h"
#include "sys/ring.h"

#define EVENTS_SIZE ((size_t)256 * 1024)

/* Longer texts, and names of apps, are cut. */
#define EVENTS_TEXT_MAX 1024
#define EVENTS_APP_MAX 255

enum event_kind {
	EVENT_START, /* of the daemon */
	EVENT_SPAWN, /* of a process */
	EVENT_READY,
	EVENT_EXIT,
	EVENT_FAILURE,
	EVENT_RECOVERY,
	EVENT_REFUSAL, /* of connections */
	EVENT_RESTART,
	EVENT_RELOAD,
	EVENT_COMMAND, /* by the control socket */
	EVENT_STOP, /* of the daemon; or an app that is held has no process */
	EVENT_WORKER, /* an EVENT of the worker protocol */
	EVENT_KINDS
};

struct event {
	uint64_t number; /* from 1 on, without gaps */
	struct timespec at; /* of the wall clock */
	enum event_kind kind;
	enum log_level level;
	const char *reason; /* process_end_name(), a constant; NULL: none */
	pid_t pid; /* of the process; 0: it is about none */
	const char *app; /* "": it is about the daemon */
	const char *id; /* of the process; "": it is about none */
	const char *text; /* ended by a NUL, and may have others before */
	size_t len;
};

/* Copies the event in, and gives it its number. */
void events_put(struct ring *events, struct event *event);

/*
 * Gives the event at the place, which goes on to the next one; the strings stay
 * until events_put(). False: there is none yet.
 */
bool events_next(
    const struct ring *events, struct ring_place *place, struct event *out);

/* The word of a kind. */
const char *events_kind_name(enum event_kind kind);

/*
 * reason: a process_end_name(), which stands in brackets behind the text; NULL:
 * none.
 */
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
