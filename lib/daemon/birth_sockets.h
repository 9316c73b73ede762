#ifndef DAEMON_BIRTH_SOCKETS_H
#define DAEMON_BIRTH_SOCKETS_H

/*
 * The listening sockets that a process is started with which accepts
 * connections itself.
 */

#include <stddef.h>

#include "daemon/group.h"
#include "sys/child.h"

/*
 * Copies, so that a listener may close while the process is being started: the
 * number of a descriptor would be somebody else's then.
 */
struct birth_sockets {
	int fds[CHILD_FDS_MAX]; /* in the order of the configuration */
	size_t len;
	char *names; /* LISTEN_FDNAMES; owned */
};

/*
 * 0; or -1 and errno: EAGAIN if none of the group's listeners is open now. For
 * birth_sockets_free() in both cases.
 */
int birth_sockets_take(const struct group *g, struct birth_sockets *out);
void birth_sockets_free(struct birth_sockets *);

#endif
