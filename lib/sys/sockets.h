#ifndef SYS_SOCKETS_H
#define SYS_SOCKETS_H

/*
 * Sockets of any process, as the kernel lists them: asked of its monitor,
 * sock_diag(7), and where that is missing, a module that a container or a
 * hardened host does not load, read in /proc/net. Neither takes the lock of a
 * socket, so nobody who has one can hold up a question about it.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

union sockets_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_storage storage;
};

/* A bound socket; the states are those of TCP, for Unix sockets, too. */
struct socket_seen {
	uint32_t inode; /* st_ino of fstat(2); 0: no process has it */
	int state; /* TCP_LISTEN, TCP_ESTABLISHED, ... */
	long queue; /* TCP_LISTEN: connections not accepted yet */
	int v6only; /* AF_INET6: 1, 0; -1: unknown */
	union sockets_address addr; /* its own end; a Unix path may be cut */
};

/* False: no more of them are wanted. */
typedef bool sockets_fn(void *arg, const struct socket_seen *);

/*
 * How much of a table in /proc/net may be read: in the loop about a
 * millisecond's worth, two thousand sockets; in a lane all.
 */
#define SOCKETS_SOME (256 * 1024)
#define SOCKETS_ALL SIZE_MAX

/* Has the kernel load its modules now, so that the loop does not wait. */
void sockets_init(void);

/*
 * Calls found() with each TCP socket of this local port (0: any) in one of
 * these states, bits 1 << TCP_LISTEN and so on. Returns false if there may be
 * more that cannot be known.
 */
bool sockets_tcp(
    uint32_t states, uint16_t port, size_t most, sockets_fn *found, void *arg);

/*
 * Likewise all Unix sockets that have an address, those that listen and those
 * accepted from them: TCP_SYN_RECV while a connection waits to be accepted.
 * An abstract name begins with '@'. From /proc/net alone.
 */
bool sockets_unix(size_t most, sockets_fn *found, void *arg);

/*
 * How many connections wait in the queue of the Unix socket fd, which listens
 * at this address; -1: unknown, without a monitor and with too many sockets.
 */
long sockets_unix_queue(int fd, const struct sockaddr *addr);

/*
 * Whether some socket listens where a socket bound to this TCP address (AF_INET
 * or AF_INET6, complete) would be refused. Makes no connection. False where
 * that is unknown.
 */
bool sockets_tcp_taken(const struct sockaddr *addr, bool v6only);

/*
 * Whether connections from a listener at the address, of whatever port, have
 * the other one; both are of TCP.
 */
bool sockets_covers(
    const union sockets_address *listener, const union sockets_address *conn);

/*
 * The process that connected a Unix stream socket, pid 0 if we cannot see it,
 * and the identity it had then: SO_PEERCRED of unix(7). 0, or -1 and errno.
 */
int peer_identify(int fd, struct ucred *out);

#endif
