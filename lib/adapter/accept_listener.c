/* The listening socket of the program's own, and its doorbell. */

#include <sys/un.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <errno.h>
#include <fcntl.h>
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

/* Makes an address for which the kernel chooses what is free. */
static socklen_t
own_address(int family, struct sockaddr_storage *out)
{
	struct sockaddr_in *in = (struct sockaddr_in *)out;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	out->ss_family = (sa_family_t)family;
	switch (family) {
	case AF_INET:
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(*in);
	case AF_INET6:
		in6->sin6_addr = in6addr_loopback;
		return sizeof(*in6);
	default:
		/* An abstract name. */
		return offsetof(struct sockaddr_un, sun_path);
	}
}

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

static void
remember_options(struct listener *l)
{
	memset(l->options, 0, sizeof(l->options));
	for (size_t i = 0; i < LISTENER_OPTIONS; i++)
		l->options[i] = option_value(l, i);
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
	int no = 0, error;

	l->bell = -1;
	l->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l->fd == -1)
		return -1;
	/* The program sees a socket for both families. */
	if (family == AF_INET6)
		(void)setsockopt(
		    l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	remember_options(l);
	l->addr_len = own_address(family, &l->addr);
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

/* Resets the connection: closed in order, TCP would keep the port a while. */
static void
reset(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	(void)close(fd);
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

bool
listener_rings(const struct listener *l)
{
	return l->bell != -1;
}

void
listener_silence(struct listener *l)
{
	struct pollfd p = { .fd = l->fd, .events = POLLIN };

	for (int i = 0;
	     i < STRANGERS && poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
	     i++) {
		int fd = acceptfilter_accept(l->fd);

		if (fd == -1)
			break;
		reset(fd);
	}
	if (l->bell != -1)
		(void)close(l->bell);
	l->bell = -1;
}

bool
listener_blocks(const struct listener *l)
{
	return (fcntl(l->fd, F_GETFL) & O_NONBLOCK) == 0;
}
