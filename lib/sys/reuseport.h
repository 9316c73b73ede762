#ifndef SYS_REUSEPORT_H
#define SYS_REUSEPORT_H

/*
 * TCP sockets that listen beside each other at one address: socket(7),
 * SO_REUSEPORT. Newcomers are led to one of them, while the connections in the
 * queues of the others stay there; and the others need not be touched for it,
 * which may be in the hands of programs that hold their locks.
 */

#include <sys/socket.h>

struct sockdiag;

/*
 * Lets further sockets of this user that allow it, too, be bound beside fd.
 * Returns 0, or -1 and errno.
 */
int reuseport_allow(int fd);

/*
 * Has fd, which is bound there, listen and get all newcomers from now on.
 * Without the kernel's monitor, and if a socket that came before is closed
 * later while a third remains, others may get some of them. Returns 0, or -1
 * and the errno of listen(2).
 */
int reuseport_lead(
    int fd, int backlog, const struct sockaddr *addr, struct sockdiag *d);

#endif
