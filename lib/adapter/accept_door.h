#ifndef ADAPTER_ACCEPT_DOOR_H
#define ADAPTER_ACCEPT_DOOR_H

/*
 * The listening socket of the program's own.  Nobody connects to it, so that
 * a program that polls sees it readable only when we ring: by connecting.
 * Nothing is ever accepted from it, for those calls are ours to answer.
 */

#include <sys/socket.h>

#include <stdbool.h>

/* Options of a TCP socket that its connections inherit. */
#define DOOR_LEGACIES 6

struct door {
	int fd; /* CLOEXEC; whether it blocks is the program's to say */
	int bell; /* connected to it; -1: it is quiet */
	struct sockaddr_storage where;
	socklen_t where_len;
	int legacies[DOOR_LEGACIES]; /* their values before the program ran */
};

/* family: AF_UNIX, AF_INET or AF_INET6.  0, or -1 and errno. */
int door_open(struct door *d, int family);

/* Makes it readable, until door_quiet(). */
void door_ring(struct door *d);
bool door_rings(const struct door *d);

/* Makes it not readable, also if somebody else has connected. */
void door_quiet(struct door *d);

/* Whether accept() on it waits; else it is to fail with EAGAIN. */
bool door_blocks(const struct door *d);

/*
 * Sets on the connection what the program has set on its socket since
 * door_open(): accept() would have returned it so.
 */
void door_bequeath(const struct door *d, int conn);

#endif
