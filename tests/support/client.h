#ifndef SUPPORT_CLIENT_H
#define SUPPORT_CLIENT_H

/*
 * The connection of a client, from connect() to its end: a state machine that
 * is told of events and shows by its state what it waits for.
 */

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tstamp.h"
#include "endpoint.h"

enum client_end {
	CLIENT_ANSWERED, /* a whole line came */
	CLIENT_EOF, /* connected, then the stream ended without one */
	CLIENT_RESET, /* connected, then reset without one */
	CLIENT_TIMEOUT, /* no end within the time allowed */
	CLIENT_REFUSED, /* no process listens there */
	CLIENT_FAILED, /* never connected, for another reason */
	CLIENT_ENDS
};

/* The most of an answer that is kept, and the longest request. */
enum {
	CLIENT_KEPT = 240,
	CLIENT_REQUEST_MAX = 512
};

/* The result of a connection.  Times are of CLOCK_MONOTONIC. */
struct client_result {
	int64_t number; /* 0, 1, ... in order of their starts */
	enum client_end end;
	int error; /* errno of the failure, or 0 */
	tstamp started; /* just before connect() */
	tstamp connected; /* when it had succeeded; 0 if it never did */
	tstamp ended;
	const char *answer; /* its beginning, not terminated */
	size_t len;
};

struct client_plan {
	struct endpoint to;
	int64_t count; /* connections to make, at least 1 */
	int concurrency; /* open at a time, at least 1 */
	double rate; /* a second; 0: closed loop */
	uint64_t seed; /* of the arrivals */
	tspan timeout; /* of one connection */
	tspan limit; /* no new ones start after so long */
	bool stop_on_refused; /* nor after the first that was refused */

	/* Writes request `number` into `buf`; returns its length. NULL: "-". */
	size_t (*request)(void *arg, int64_t number, char *buf, size_t size);
	void (*ended)(void *arg, const struct client_result *result);
	void *arg;
};

enum client_state {
	CLIENT_OVER, /* not begun, or ended: `result` says how */
	CLIENT_STALLED, /* the Unix backlog is full: until client_retry() */
	CLIENT_CONNECTING, /* until EPOLLOUT */
	CLIENT_READING, /* request sent, until EPOLLIN */
};

struct client {
	TAILQ_ENTRY(client) order; /* the owner's lists */
	TAILQ_ENTRY(client) stalled;
	const struct client_plan *plan;
	int epfd; /* where it registers itself, as data.ptr */
	enum client_state state;
	int fd; /* -1 when over */
	bool whole; /* the answer has a line end */
	tstamp retry_at; /* while stalled */
	struct client_result result;
	char answer[CLIENT_KEPT];
};

void client_init(struct client *c, const struct client_plan *plan, int epfd);
void client_start(struct client *c, int64_t number, tstamp now);

/* To be called when the event has come that the state waits for. */
void client_ready(struct client *c);
void client_retry(struct client *c, tstamp now);

/* Ends a connection that took too long. */
void client_expire(struct client *c);

/* "answered", "eof", ... */
const char *client_end_name(enum client_end end);

/* CLOCK_MONOTONIC. */
tstamp client_now(void);

#endif
