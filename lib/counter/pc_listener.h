#ifndef COUNTER_PC_LISTENER_H
#define COUNTER_PC_LISTENER_H

/* The listeners of the PoolCounter service. */

#include <sys/queue.h>

#include "conf/conf.h"
#include "counter/pc_clients.h"
#include "sys/acceptor.h"

struct pc_listener {
	TAILQ_ENTRY(pc_listener) next;
	struct acceptor acceptor;
	struct pc_clients *clients; /* connections become clients there */
	struct conf_listen where; /* strings owned; see conf.h */
	char address[160]; /* where it really listens, for people */
	char reach[160]; /* the same for a process of this machine */
};

TAILQ_HEAD(pc_listeners, pc_listener);

/*
 * Opens listeners at the address, several where the service manager gave
 * several sockets of one name, and appends them to out. Accepting begins with
 * pc_listener_start(). False and errno: out is as it was; logged, but for
 * EINPROGRESS of openings_open().
 */
bool pc_listener_open(struct pc_clients *clients,
    const struct conf_listen *where, struct openings *openings,
    struct pc_listeners *out);

void pc_listener_start(struct pc_listener *l);

/* Closes and frees a listener that is on no list. */
void pc_listener_close(struct pc_listener *l);

/* The same; the connections of its backlog become clients before. */
void pc_listener_leave(struct pc_listener *l, tstamp now);

#endif
