/* Addresses as text, and the sockets that belong to them. */

#include <sys/socket.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/address.h"

#include "endpoint.h"

static int
endpoint_parse_unix(const char *path, struct endpoint *out)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&out->addr;

	memset(out, 0, sizeof(*out));
	if (path[0] != '\0')
		out->len = address_of_path(path, un);
	return out->len == 0 ? -1 : 0;
}

int
endpoint_parse(const char *text, struct endpoint *out)
{
	static const char prefix[] = "unix:";
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	char host[256];
	const char *colon = strrchr(text, ':');
	const char *from = text, *to = colon;

	if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
		return endpoint_parse_unix(text + sizeof(prefix) - 1, out);
	if (colon == NULL)
		return -1;
	if (*from == '[' && to > from && to[-1] == ']') {
		from++;
		to--;
	}
	if (to <= from || (size_t)(to - from) >= sizeof(host))
		return -1;
	memcpy(host, from, (size_t)(to - from));
	host[to - from] = '\0';
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return -1;

	memset(out, 0, sizeof(*out));
	memcpy(&out->addr, found->ai_addr, found->ai_addrlen);
	out->len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

int
endpoint_socket(const struct endpoint *at)
{
	return socket(
	    at->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int
endpoint_connect(const struct endpoint *at)
{
	int fd = socket(at->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd != -1 &&
	    connect(fd, (const struct sockaddr *)&at->addr, at->len) == -1) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

int
endpoint_listen(struct endpoint *at, int backlog)
{
	const int one = 1;
	int fd = socket(at->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return -1;
	if (at->addr.ss_family != AF_UNIX &&
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == -1)
		goto fail;
	if (bind(fd, (struct sockaddr *)&at->addr, at->len) == -1 ||
	    listen(fd, backlog) == -1)
		goto fail;
	at->len = sizeof(at->addr);
	if (getsockname(fd, (struct sockaddr *)&at->addr, &at->len) == -1)
		goto fail;
	return fd;

fail:
	(void)close(fd);
	return -1;
}

int
endpoint_port(const struct endpoint *at)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	switch (at->addr.ss_family) {
	case AF_INET:
		memcpy(&in, &at->addr, sizeof(in));
		return ntohs(in.sin_port);
	case AF_INET6:
		memcpy(&in6, &at->addr, sizeof(in6));
		return ntohs(in6.sin6_port);
	default:
		return 0;
	}
}
