#ifndef SYS_PEER_H
#define SYS_PEER_H

/*
 * The peer of a connected Unix stream socket: the process that connected, and
 * the identity it had then. See unix(7), SO_PEERCRED, and SO_PEERGROUPS.
 */

#include <sys/types.h>

#include <stdbool.h>

struct peer {
	pid_t pid; /* 0: of a process we cannot see */
	uid_t uid;
	gid_t gid;
};

/* Returns 0, or -1 and errno. */
int peer_identify(int fd, struct peer *out);

/* Whether gid is the peer's group, or one of its supplementary groups. */
bool peer_in_group(int fd, gid_t gid);

#endif
