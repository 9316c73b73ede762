/* The way to an app that its clients take. */

#include <sys/socket.h>
#include <sys/time.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ping_connect.h"
#include "sys/address.h"

struct target {
	struct sockaddr_storage addr;
	socklen_t len;
};

/* Numbers only: no resolver is asked. */
static bool
target_tcp(const char *address, struct target *out)
{
	const struct addrinfo hints = { .ai_flags =
					    AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(address, ':');
	char host[128];
	size_t len;
	struct addrinfo *info;

	if (colon == NULL)
		return false;
	len = (size_t)(colon - address);
	if (len > 2 && address[0] == '[' && address[len - 1] == ']') {
		address++;
		len -= 2;
	}
	if (len >= sizeof(host))
		return false;
	memcpy(host, address, len);
	host[len] = '\0';
	if (getaddrinfo(host, colon + 1, &hints, &info) != 0)
		return false;
	memcpy(&out->addr, info->ai_addr, info->ai_addrlen);
	out->len = info->ai_addrlen;
	freeaddrinfo(info);
	return true;
}

/*
 * Any address of IPv6 stands for ::1, which a machine without addresses of
 * IPv6 does not have, though it may listen so. False: it is another address.
 */
static bool
target_mapped(struct target *t)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&t->addr;

	return t->addr.ss_family == AF_INET6 &&
	    IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) &&
	    inet_pton(AF_INET6, "::ffff:127.0.0.1", &in6->sin6_addr) == 1;
}

/*
 * A connect that blocks for so long. Without blocking it would not wait for
 * room in the backlog of a Unix socket.
 */
static int
connect_within(const struct target *t, tspan timeout)
{
	struct timeval tv = { timeout / TSPAN_SECONDS(1),
		timeout % TSPAN_SECONDS(1) / 1000 };
	int fd = socket(t->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error;

	if (fd == -1)
		return -1;
	if (tv.tv_sec == 0 && tv.tv_usec == 0)
		tv.tv_usec = 1;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (connect(fd, (const struct sockaddr *)&t->addr, t->len) == 0)
		return fd;
	error = errno == EAGAIN || errno == EINPROGRESS ? ETIMEDOUT : errno;
	(void)close(fd);
	errno = error;
	return -1;
}

int
ping_connect(const char *address, tspan timeout)
{
	struct target t = { .len = 0 };
	int fd;

	if (strncmp(address, "unix:", 5) == 0)
		t.len =
		    address_of_name(address + 5, (struct sockaddr_un *)&t.addr);
	else if (!target_tcp(address, &t))
		t.len = 0;
	if (t.len == 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	fd = connect_within(&t, timeout);
	if (fd == -1 && errno == EADDRNOTAVAIL && target_mapped(&t))
		fd = connect_within(&t, timeout);
	return fd;
}
