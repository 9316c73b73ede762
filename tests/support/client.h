#ifndef SUPPORT_CLIENT_H
#define SUPPORT_CLIENT_H

/*
 * One connection of a client, from connect() to its end: a state machine that
 * is told of events and says by its state what it waits for.
 */

#include <sys/queue.h>

#include <stdbool.h>

#include "clients.h"
#include "core/tstamp.h"

enum client_state {
	CLIENT_OVER, /* not begun, or ended: `result` says how */
	CLIENT_STALLED, /* until client_retry(): the Unix backlog is full */
	CLIENT_CONNECTING, /* until EPOLLOUT */
	CLIENT_READING, /* request sent, until EPOLLIN */
};

struct client {
	TAILQ_ENTRY(client) order; /* the owner's lists */
	TAILQ_ENTRY(client) stalled;
	const struct clients_plan *plan;
	int epfd; /* where it registers itself, as data.ptr */
	enum client_state state;
	int fd; /* -1 when over */
	bool whole; /* the answer has a line end */
	tstamp retry_at; /* while stalled */
	struct client_result result;
	char answer[CLIENT_KEPT];
};

void client_init(struct client *c, const struct clients_plan *plan, int epfd);
void client_start(struct client *c, int64_t number, tstamp now);

/* What it waited for has come. */
void client_ready(struct client *c);
void client_retry(struct client *c, tstamp now);

/* Ends it as one that took too long. */
void client_expire(struct client *c);

#endif
