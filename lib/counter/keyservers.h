#ifndef COUNTER_KEYSERVERS_H
#define COUNTER_KEYSERVERS_H

/*
 * The servers that may have the key of a limit, in the order in which they are
 * tried, and which of them are down. A server that is down is tried by one
 * request a second; its loss and its return are logged, once a minute at most.
 */

#include <sys/socket.h>

#include <stdbool.h>

#include "conf/conf.h"
#include "core/tstamp.h"
#include "sys/log.h"
#include "sys/serverlist.h"

struct keyserver {
	char name[160]; /* for the log */
	struct sockaddr_storage addr;
	socklen_t addr_len; /* 0: its host had no address, or it is local */
	bool down; /* it took no connection when it was last tried */
	tstamp retry_at; /* of one that is down */
	struct log_rate loss, recovery;
};

/* All zero: none. */
struct keyservers {
	struct keyserver list[SERVERLIST_MAX];
	unsigned len; /* 1 to SERVERLIST_MAX once they are set */
	bool local; /* the only one is this daemon's own counter */
};

/*
 * Takes over the servers of the limit, all taken to be up. Returns false,
 * nothing changed, if they are the same as before.
 */
bool keyservers_set(struct keyservers *all, const struct conf_limit *limit);

/* The index of the first server from `from` on that may be tried; or len. */
unsigned keyservers_next(
    const struct keyservers *all, unsigned from, tstamp now);

/* A request tries the server now. */
void keyservers_tried(struct keyservers *all, unsigned server, tstamp now);

/* The server took no connection, or ended it; app and why are for the log. */
void keyservers_lost(struct keyservers *all, unsigned server, const char *app,
    const char *why, tstamp now);

/* The server took a connection. */
void keyservers_found(
    struct keyservers *all, unsigned server, const char *app, tstamp now);

#endif
