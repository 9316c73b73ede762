#ifndef DAEMON_CLOSING_H
#define DAEMON_CLOSING_H

/*
 * Closing what may take long to close: the last close of a TCP connection
 * waits for as long as a worker said with SO_LINGER, and that of a Unix socket
 * closes the descriptors that lie unread in it, of whatever kind. A keeper of
 * the app closes these. They are sent there in batches, one in each turn, and
 * ours are closed before the keeper is told to go on: so no close of ours is
 * the last.
 */

#include "daemon/keeper.h"

/*
 * Descriptors that wait for a keeper of an app. With more it accepts no
 * connections, so that those of others have room.
 */
#define CLOSING_MAX 256

/* A descriptor that waits for a keeper. */
struct closing {
	int fd;
	bool drain;
};

/* For a new group, and for one that is freed next. */
void closing_init(struct group *g);
void closing_fini(struct group *g);

/* Takes the descriptor over, and has a keeper close it. */
void closing_give(struct group *g, int fd);

/*
 * The same for a connection. It is closed here and now if that cannot take
 * long: a TCP connection whose last close does not wait, and a Unix socket in
 * which nothing lies, once it is shut down. drain: of another one is read
 * first what its client has sent, so that the client is not told of a reset;
 * not where a process may be reading. Takes no lock of the socket that a
 * process may hold.
 */
void closing_give_conn(struct group *g, int fd, bool tcp, bool drain);

/* Whether CLOSING_MAX is exceeded. */
bool closing_is_full(const struct group *g);

/* For keeping.c: there may be room in the socket of the keeper. */
void closing_say(struct keeper *k);

#endif
