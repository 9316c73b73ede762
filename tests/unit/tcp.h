#ifndef TESTS_UNIT_TCP_H
#define TESTS_UNIT_TCP_H

/* Connections of TCP within this machine; without them a test means nothing. */

#include <sys/socket.h>

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <unistd.h>

/* Listens at a port of its own, which is in *addr_out. */
static inline int
tcp_listen(struct sockaddr_in *addr_out)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (void *)&addr, len) == -1 || listen(fd, 8) == -1 ||
	    getsockname(fd, (void *)&addr, &len) == -1)
		err(1, "a listener");
	*addr_out = addr;
	return fd;
}

/* Connects the two: the client, and what was accepted. */
static inline void
tcp_pair(int pair[2])
{
	struct sockaddr_in addr;
	int listener = tcp_listen(&addr);

	pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(pair[0], (void *)&addr, sizeof(addr)) == -1 ||
	    (pair[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) == -1)
		err(1, "a pair of sockets");
	close(listener);
}

/* Returns a connection that lingers, with more than its client reads. */
static inline int
tcp_lingering(int *client_out, int seconds)
{
	struct linger linger = { .l_onoff = 1, .l_linger = seconds };
	static char much[65536];
	int pair[2];

	tcp_pair(pair);
	while (
	    send(pair[1], much, sizeof(much), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		continue;
	(void)setsockopt(
	    pair[1], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	*client_out = pair[0];
	return pair[1];
}

#endif
