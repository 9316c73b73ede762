#ifndef SYS_SOCKDIAG_H
#define SYS_SOCKDIAG_H

/*
 * What only the kernel's socket monitor (sock_diag(7)) knows about sockets.
 * One netlink socket, kept open; every question is answered at once.
 */

#include <sys/socket.h>

#include <stdbool.h>
#include <stdint.h>

struct sockdiag {
	int fd; /* -1: there is none here; every answer is "unknown" */
	uint32_t seq;
};

/* Returns 0; or -1 and errno, and then *d can still be used and finished. */
int sockdiag_init(struct sockdiag *d);
void sockdiag_fini(struct sockdiag *d);

/*
 * How many connections wait in the queue of the listening Unix socket with
 * this inode number (st_ino of fstat(2) on the descriptor). -1: unknown.
 */
long sockdiag_unix_queue(struct sockdiag *d, uint32_t inode);

/*
 * How many handshakes with this local TCP port are half done (SYN_RECV).
 * The port is in host order. -1: unknown. Walks the kernel's table of
 * connections, so not for every turn of a loop.
 */
long sockdiag_tcp_half_open(struct sockdiag *d, int family, uint16_t port);

/*
 * Whether some socket listens where one bound to this TCP address (AF_INET or
 * AF_INET6, complete) would be refused. Nobody is connected to. False where
 * it is unknown.
 */
bool sockdiag_tcp_held(
    struct sockdiag *d, const struct sockaddr *addr, bool v6only);

#endif
