/* The listening socket of the program's own, and its doorbell. */

#include <sys/un.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "adapter/accept.h"
#include "sys/acceptfilter.h"

/* Programs call listen() again, with a backlog of their choice. */
#define BACKLOG 16

/* Connections of other processes that are thrown away at a time. */
#define STRANGERS 64

/*
 * Options that servers set once, on the listening socket, for connections
 * inherit them. All are ints; those that begin with TCP_KEEP need SO_KEEPALIVE.
 */
static const struct {
	int level;
	int name;
} options[LISTENER_OPTIONS] = {
	{ IPPROTO_TCP, TCP_NODELAY },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT },
	{ SOL_SOCKET, SO_KEEPALIVE },
	{ IPPROTO_TCP, TCP_KEEPIDLE },
	{ IPPROTO_TCP, TCP_KEEPINTVL },
	{ IPPROTO_TCP, TCP_KEEPCNT },
};

/* Returns the value at the socket; the one in the beginning if it has none. */
static int
option_value(const struct listener *l, size_t i)
{
	int value = l->options[i];
	socklen_t len = sizeof(value);

	(void)getsockopt(
	    l->fd, options[i].level, options[i].name, &value, &len);
	return value;
}

void
listener_pass_options(const struct listener *l, int conn)
{
	if (l->addr.ss_family == AF_UNIX)
		return;
	for (size_t i = 0; i < LISTENER_OPTIONS; i++) {
		int value = option_value(l, i);

		/* A connection of another kind does not take it. */
		if (value != l->options[i])
			(void)setsockopt(conn, options[i].level,
			    options[i].name, &value, sizeof(value));
	}
}

int
listener_make(struct listener *l, int family)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&l->addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&l->addr;
	int no = 0, error;

	l->bell = -1;
	l->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l->fd == -1)
		return -1;
	memset(l->options, 0, sizeof(l->options));
	for (size_t i = 0; i < LISTENER_OPTIONS; i++)
		l->options[i] = option_value(l, i);

	/* The kernel chooses what is free. */
	memset(&l->addr, 0, sizeof(l->addr));
	l->addr.ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		l->addr_len = sizeof(*in);
	} else if (family == AF_INET6) {
		/* The program sees a socket for both families. */
		(void)setsockopt(
		    l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
		in6->sin6_addr = in6addr_loopback;
		l->addr_len = sizeof(*in6);
	} else {
		/* An abstract name. */
		l->addr_len = offsetof(struct sockaddr_un, sun_path);
	}
	if (bind(l->fd, (struct sockaddr *)&l->addr, l->addr_len) == 0 &&
	    listen(l->fd, BACKLOG) == 0) {
		l->addr_len = sizeof(l->addr);
		if (getsockname(
			l->fd, (struct sockaddr *)&l->addr, &l->addr_len) == 0)
			return 0;
	}
	error = errno;
	(void)close(l->fd);
	errno = error;
	return -1;
}

void
listener_ring(struct listener *l)
{
	if (l->bell != -1)
		return;
	l->bell = socket(
	    l->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->bell == -1)
		return;
	if (connect(l->bell, (struct sockaddr *)&l->addr, l->addr_len) == 0 ||
	    errno == EINPROGRESS)
		return;
	/*
	 * EAGAIN: its queue is full, so it is readable. Any other errno: the
	 * program has shut it down, which wakes a poll as well.
	 */
	(void)close(l->bell);
	l->bell = -1;
}

void
listener_silence(struct listener *l)
{
	/* Closed in order, TCP would keep the port a while: it is reset. */
	const struct linger now = { .l_onoff = 1 };
	struct pollfd p = { .fd = l->fd, .events = POLLIN };

	for (int i = 0;
	     i < STRANGERS && poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
	     i++) {
		int fd = acceptfilter_accept(l->fd);

		if (fd == -1)
			break;
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		(void)close(fd);
	}
	if (l->bell != -1)
		(void)close(l->bell);
	l->bell = -1;
}
