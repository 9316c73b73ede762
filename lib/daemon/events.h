#ifndef DAEMON_EVENTS_H
#define DAEMON_EVENTS_H

/*
 * What has happened, in the order in which it did: a ring of fixed size, in
 * which the newest events take the place of the oldest. Only used memory is
 * taken from the system.
 */

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "sys/logsink.h"

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

struct events {
	char *mem; /* EVENTS_SIZE bytes; NULL: no event is kept */
	size_t head; /* where the next event goes */
	size_t tail; /* where the oldest is */
	uint64_t oldest; /* its number */
	uint64_t next; /* number of the next event; the same: there is none */
};

/* The place of a reader, who may be overtaken. */
struct events_place {
	uint64_t number; /* of the event that is read next */
	size_t at; /* where it is, unless it is gone */
	uint64_t lost; /* events that were gone when they were to be read */
};

/* 0, or -1 and errno: then no event is kept. */
int events_init(struct events *e);
void events_fini(struct events *e);

/* Copies the event in, and gives it its number. */
void events_put(struct events *e, struct event *event);

/* The place of the oldest event. */
void events_oldest(const struct events *e, struct events_place *out);

/*
 * Gives the event at the place, which goes on to the next one; the strings stay
 * until events_put(). False: there is none yet.
 */
bool events_next(
    const struct events *e, struct events_place *place, struct event *out);

/* The word of a kind. */
const char *events_kind_name(enum event_kind kind);

#endif
