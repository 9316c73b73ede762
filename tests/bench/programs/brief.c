/*
 * brief: a small process that serves a pool.
 *
 * Reads a request, answers with a line, and is killed after one that begins
 * with "die".  It is linked statically, so that thousands of them fit into a
 * machine.
 */

#include <sys/socket.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Receives "CONN serial waited" with a connection; -1: it is over. */
static int
brief_accept(int channel, char *text, size_t size)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { text, size - 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(channel, &msg, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fd;

	if (n <= 0 || c == NULL)
		return -1;
	text[n] = '\0';
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* Whether the process is to go on. */
static int
brief_serve(int fd)
{
	char request[64] = "";
	ssize_t n = recv(fd, request, sizeof(request) - 1, 0);

	if (n > 0)
		(void)send(fd, "served\n", 7, MSG_NOSIGNAL);
	(void)close(fd);
	return strncmp(request, "die", 3) != 0;
}

int
main(void)
{
	const char *number = getenv("APPPOOL_FD");
	int channel = number == NULL ? -1 : atoi(number);
	char conn[64], done[64], serial[32];
	int fd, len;

	if (send(channel, "READY", 5, MSG_NOSIGNAL) != 5)
		return 1;
	while ((fd = brief_accept(channel, conn, sizeof(conn))) != -1) {
		if (!brief_serve(fd))
			(void)raise(SIGKILL);
		if (sscanf(conn, "CONN %31s", serial) != 1)
			return 1;
		len = snprintf(done, sizeof(done), "DONE %s", serial);
		(void)send(channel, done, (size_t)len, MSG_NOSIGNAL);
	}
	return 0;
}
