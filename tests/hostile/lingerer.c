/*
 * lingerer: a worker that closes each connection as soon as it can, while what
 * it has sent is still unread, and has the last close of it wait for a second.
 *
 * lingerer PORT COUNT: clients of it, so many at a time.  They read nothing,
 * and leave when all have come, until the program is killed.
 */

#include <sys/socket.h>

#include <netinet/in.h>

#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/apppool.h"

/* More than the little that a client has room for. */
static const char much[16384];

static void
work(void)
{
	const struct linger second = { .l_onoff = 1, .l_linger = 1 };
	int fd;

	if (apppool_open() == -1 || apppool_ready() == -1)
		err(1, "apppool");
	while ((fd = apppool_accept()) != -1) {
		(void)setsockopt(
		    fd, SOL_SOCKET, SO_LINGER, &second, sizeof(second));
		(void)send(fd, much, sizeof(much), MSG_DONTWAIT | MSG_NOSIGNAL);
		(void)apppool_done(fd);
	}
}

static int
client(in_port_t port)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const int little = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == -1)
		err(1, "connect");
	return fd;
}

/* Clients come and go, again and again. */
static void
visit(in_port_t port)
{
	int fds[16];
	const size_t count = sizeof(fds) / sizeof(fds[0]);

	for (;;) {
		for (size_t i = 0; i < count; i++)
			fds[i] = client(port);
		(void)usleep(10000);
		for (size_t i = 0; i < count; i++)
			(void)close(fds[i]);
	}
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		visit((in_port_t)atoi(argv[1]));
	work();
	return 0;
}
