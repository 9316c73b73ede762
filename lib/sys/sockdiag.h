#ifndef SYS_SOCKDIAG_H
#define SYS_SOCKDIAG_H

/*
 * What the kernel's socket monitor, sock_diag(7), knows about sockets of any
 * process. One netlink socket, kept open; every question is answered at once.
 */

#include <sys/socket.h>

#include <stdbool.h>
#include <stdint.h>

struct sockdiag {
	int fd; /* -1: no monitor here; every answer is "unknown" */
	uint32_t seq;
};

/*
 * Returns 0; or -1 and the errno of socket(2), and then *d can still be used
 * and finished.
 */
int sockdiag_init(struct sockdiag *d);
void sockdiag_fini(struct sockdiag *d);

/*
 * How many connections wait in the queue of the listening Unix socket with
 * this inode number (st_ino of fstat(2) on the descriptor). -1: unknown.
 */
long sockdiag_unix_queue(struct sockdiag *d, uint32_t inode);

/*
 * The same of the TCP socket with this inode number that listens at this
 * address. Walks the listening sockets of the machine.
 */
long sockdiag_tcp_queue(
    struct sockdiag *d, const struct sockaddr *addr, uint32_t inode);

/*
 * How many handshakes with this local TCP port are half done (SYN_RECV).
 * The port is in host order. -1: unknown. Walks the kernel's table of
 * connections, so not for every turn of a loop.
 */
long sockdiag_tcp_half_open(struct sockdiag *d, int family, uint16_t port);

/*
 * Whether some socket listens where a socket bound to this TCP address (AF_INET
 * or AF_INET6, complete) would be refused; its inode number, if that is wanted
 * (not NULL). Makes no connection. False where that is unknown.
 */
bool sockdiag_tcp_taken(struct sockdiag *d, const struct sockaddr *addr,
    bool v6only, uint32_t *inode_out);

/* How many sockets listen at just this TCP address. -1: unknown. */
long sockdiag_tcp_listeners(struct sockdiag *d, const struct sockaddr *addr);

/*
 * Calls found() with the inode number and the address of each TCP socket of the
 * machine that listens. Returns false if they cannot be known. Not for a loop.
 */
bool sockdiag_tcp_all(struct sockdiag *d,
    void (*found)(void *arg, uint32_t inode, const struct sockaddr *addr),
    void *arg);

/* A listening socket, as far as its connections can be told by it. */
struct sockdiag_listener {
	int family; /* AF_INET, AF_INET6, AF_UNIX; AF_UNSPEC: unknown */
	uint16_t port; /* TCP, in network order */
	uint32_t addr[4]; /* likewise; AF_INET uses one; all 0: any */
	uint32_t ino; /* Unix: of its file, and the file system's number, */
	uint32_t dev; /* as the kernel's monitor has them */
};

/*
 * Describes our listening socket fd at this address, without a call that
 * another process with that socket could hold up. Cheap.
 */
void sockdiag_describe(struct sockdiag *d, int fd, const struct sockaddr *addr,
    struct sockdiag_listener *out);

/*
 * Calls found() with the inode number of each connection of that listening
 * socket which a process has accepted and not closed. Returns false if they
 * cannot be known. Walks all sockets of the machine, so not for a loop.
 */
bool sockdiag_connections(struct sockdiag *d, const struct sockdiag_listener *l,
    void (*found)(void *arg, uint32_t inode), void *arg);

#endif
