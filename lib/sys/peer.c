/* The peer of a Unix socket. */

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>

#include "sys/peer.h"

int
peer_identify(int fd, struct peer *out)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		return -1;
	*out = (struct peer){ cred.pid, cred.uid, cred.gid };
	return 0;
}

bool
peer_in_group(int fd, gid_t gid)
{
	struct peer peer;
	gid_t few[32], *groups = few;
	socklen_t len = sizeof(few);
	bool found;

	if (peer_identify(fd, &peer) == 0 && peer.gid == gid)
		return true;
	/* With ERANGE, len is the size needed. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, few, &len) == -1) {
		if (errno != ERANGE || (groups = malloc(len)) == NULL)
			return false;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) ==
		    -1)
			len = 0;
	}
	found = false;
	for (size_t i = 0; i < len / sizeof(*groups); i++)
		found = found || groups[i] == gid;
	if (groups != few)
		free(groups);
	return found;
}
