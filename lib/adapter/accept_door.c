/* The listening socket of the program's own. */

#include <sys/un.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "adapter/accept_door.h"

/* Programs listen() again, with what they think is right. */
#define BACKLOG 16

/* Strangers' connections that are thrown away at a time. */
#define STRANGERS 64

/*
 * What servers set once, on the socket that listens, for the kernel hands it
 * down.  All are ints; those that begin with TCP_KEEP need SO_KEEPALIVE.
 */
static const struct legacy {
	int level;
	int name;
} legacies[DOOR_LEGACIES] = {
	{ IPPROTO_TCP, TCP_NODELAY },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT },
	{ SOL_SOCKET, SO_KEEPALIVE },
	{ IPPROTO_TCP, TCP_KEEPIDLE },
	{ IPPROTO_TCP, TCP_KEEPINTVL },
	{ IPPROTO_TCP, TCP_KEEPCNT },
};

/* An address of this machine that nobody else has; the kernel chooses. */
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

/* The value of the program's socket; as in the beginning if there is none. */
static int
legacy_value(const struct door *d, size_t i)
{
	int value = d->legacies[i];
	socklen_t len = sizeof(value);

	(void)getsockopt(
	    d->fd, legacies[i].level, legacies[i].name, &value, &len);
	return value;
}

static void
remember_legacies(struct door *d)
{
	memset(d->legacies, 0, sizeof(d->legacies));
	for (size_t i = 0; i < DOOR_LEGACIES; i++)
		d->legacies[i] = legacy_value(d, i);
}

void
door_bequeath(const struct door *d, int conn)
{
	if (d->where.ss_family == AF_UNIX)
		return;
	for (size_t i = 0; i < DOOR_LEGACIES; i++) {
		int value = legacy_value(d, i);

		/* A connection of another kind does not take it. */
		if (value != d->legacies[i])
			(void)setsockopt(conn, legacies[i].level,
			    legacies[i].name, &value, sizeof(value));
	}
}

int
door_open(struct door *d, int family)
{
	int no = 0, error;

	d->bell = -1;
	d->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (d->fd == -1)
		return -1;
	/* For both families, as far as the program can see. */
	if (family == AF_INET6)
		(void)setsockopt(
		    d->fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	remember_legacies(d);
	d->where_len = own_address(family, &d->where);
	if (bind(d->fd, (struct sockaddr *)&d->where, d->where_len) == 0 &&
	    listen(d->fd, BACKLOG) == 0) {
		d->where_len = sizeof(d->where);
		if (getsockname(d->fd, (struct sockaddr *)&d->where,
			&d->where_len) == 0)
			return 0;
	}
	error = errno;
	(void)close(d->fd);
	errno = error;
	return -1;
}

/* Without a farewell, after which TCP would keep the port for a while. */
static void
drop(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	(void)close(fd);
}

void
door_ring(struct door *d)
{
	if (d->bell != -1)
		return;
	d->bell = socket(
	    d->where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->bell == -1)
		return;
	if (connect(d->bell, (struct sockaddr *)&d->where, d->where_len) == 0 ||
	    errno == EINPROGRESS)
		return;
	/*
	 * EAGAIN: so many have connected that it is readable.  Else the
	 * program has shut it down, which wakes those who poll.
	 */
	(void)close(d->bell);
	d->bell = -1;
}

bool
door_rings(const struct door *d)
{
	return d->bell != -1;
}

void
door_quiet(struct door *d)
{
	struct pollfd p = { .fd = d->fd, .events = POLLIN };

	for (int i = 0;
	     i < STRANGERS && poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
	     i++) {
		int fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd == -1)
			break;
		drop(fd);
	}
	if (d->bell != -1)
		(void)close(d->bell);
	d->bell = -1;
}

bool
door_blocks(const struct door *d)
{
	return (fcntl(d->fd, F_GETFL) & O_NONBLOCK) == 0;
}
