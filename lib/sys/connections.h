#ifndef SYS_CONNECTIONS_H
#define SYS_CONNECTIONS_H

/*
 * The connections that a listening socket has brought, whoever accepted them:
 * told apart by its address, found with sock_diag(7).
 */

#include <stdbool.h>
#include <stdint.h>

#include "sys/sockdiag.h"

/* What is known of the listening socket. */
struct connections {
	int family; /* AF_INET, AF_INET6, AF_UNIX; AF_UNSPEC: nothing is */
	uint16_t port; /* TCP, in network order */
	uint32_t addr[4]; /* likewise; AF_INET has one; all 0: any */
	uint32_t ino; /* Unix: of its file, and the file system's number, */
	uint32_t dev; /* as the kernel's monitor has them */
};

/* Of this listening socket. Cheap. */
void connections_of(int fd, struct sockdiag *d, struct connections *out);

/*
 * Calls back for the inode number of the socket of each of them that a
 * process has in its hands: accepted, and not closed there. False: they
 * cannot be known. Goes through all sockets of the machine, so not for a loop.
 */
bool connections_each(const struct connections *c, struct sockdiag *d,
    void (*found)(void *arg, uint32_t inode), void *arg);

#endif
