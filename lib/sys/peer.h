#ifndef SYS_PEER_H
#define SYS_PEER_H

/*
 * Who is at the other end of a connected Unix stream socket: unix(7),
 * SO_PEERCRED and SO_PEERGROUPS. It is who connected, and the groups it had
 * then, whatever became of it.
 */

#include <sys/types.h>

#include <stdbool.h>

struct peer {
	pid_t pid; /* 0: of a process we cannot see */
	uid_t uid;
	gid_t gid;
};

/* 0, or -1 and errno. */
int peer_identify(int fd, struct peer *out);

/* Whether gid is its group, or one of its supplementary ones. */
bool peer_in_group(int fd, gid_t gid);

#endif
