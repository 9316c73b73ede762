#ifndef DAEMON_PARKING_H
#define DAEMON_PARKING_H

/*
 * Connections of apps with keep_alive. The daemon keeps a copy of each that a
 * process is handed. When the process has served a request and parks it, it
 * is in the loop until the next request is there, and then handed to whichever
 * process is idle. A process that has parked it may have a copy still: no call
 * is made that takes a lock of the socket.
 *
 * With wait_for_data a new connection is parked, too, until its first byte is
 * there, or its first request. No process has had that: it may be read.
 */

#include "daemon/group.h"
#include "daemon/worker.h"

/* For a new group, and for one that is freed next: closes what is parked. */
void parking_init(struct group *g);
void parking_fini(struct group *g);

/*
 * The process parks the connection, which it holds. False: it does not hold
 * it. Where nothing is parked any more, that is the end of the connection.
 */
bool parking_park(struct worker *w, uint32_t conn, tstamp now);

/* Whether the app has connections parked, and not only in order to end. */
bool parking_is_open(const struct group *g);

/* With wait_for_data: parks a new connection that the pool does not know. */
void parking_hold(struct group *g, int fd, bool tcp, tstamp now);

/* Hands over what has a request; false: there is no room for all. */
bool parking_serve(struct group *g, tstamp now);

/*
 * The app is drained, stops, leaves, or keeps no connections any more: serves
 * those with a request, and closes the others.
 */
void parking_leave(struct group *g, tstamp now);

/* A connection was received back, or not (-1), as our copy is still there. */
void parking_taken(struct group *g, struct accepted *c, int fd);

/* The connection goes elsewhere with its descriptor: the loop forgets it. */
void parking_forget(struct supervisor *s, struct accepted *c);

/* Closes our copy of a connection that has come to its end, if there is one. */
void parking_close(struct group *g, struct accepted *c);

/* The same for all that a process has, which is dead. */
void parking_close_all(struct worker *w);

#endif
