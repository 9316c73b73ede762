/* Socket addresses as text. */

#include <sys/socket.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sys/address.h"

/* An address may lie anywhere in memory: it is copied before it is read. */
union any {
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

/* Copies an address. Returns false if it is too short for its family. */
static bool
address_load(const struct sockaddr *addr, socklen_t len, union any *out)
{
	memset(out, 0, sizeof(*out));
	if (len > sizeof(*out))
		len = sizeof(*out);
	memcpy(out, addr, len);

	switch (out->in.sin_family) {
	case AF_INET:
		return len >= sizeof(out->in);
	case AF_INET6:
		return len >= sizeof(out->in6);
	default:
		return len >= sizeof(sa_family_t);
	}
}

/* Returns the length of the path, which need not end with NUL. */
static size_t
path_length(const struct sockaddr_un *un, socklen_t len)
{
	size_t most = sizeof(un->sun_path);
	size_t head = offsetof(struct sockaddr_un, sun_path);

	if (len <= head)
		return 0;
	if (len - head < most)
		most = len - head;
	return un->sun_path[0] == '\0' ? most : strnlen(un->sun_path, most);
}

static void
format_path(
    const struct sockaddr_un *un, socklen_t addrlen, char *buf, size_t size)
{
	size_t len = path_length(un, addrlen);
	size_t at = 0;
	char byte[8];

	snprintf(buf, size, "unix:");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)un->sun_path[i];

		if (i == 0 && c == '\0')
			snprintf(byte, sizeof(byte), "@");
		else if (c < ' ' || c == 0x7f)
			snprintf(byte, sizeof(byte), "\\x%02x", c);
		else
			snprintf(byte, sizeof(byte), "%c", c);
		at = strlen(buf);
		snprintf(buf + at, size - at, "%s", byte);
	}
}

static void
format_in6(const struct sockaddr_in6 *in6, char *buf, size_t size)
{
	char host[INET6_ADDRSTRLEN];
	char name[IF_NAMESIZE];
	char scope[IF_NAMESIZE + 1] = "";

	inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
	if (in6->sin6_scope_id != 0) {
		if (if_indextoname(in6->sin6_scope_id, name) == NULL)
			snprintf(name, sizeof(name), "%u", in6->sin6_scope_id);
		snprintf(scope, sizeof(scope), "%%%s", name);
	}
	snprintf(buf, size, "[%s%s]:%u", host, scope,
	    (unsigned)ntohs(in6->sin6_port));
}

char *
address_format(
    const struct sockaddr *addr, socklen_t len, char *buf, size_t size)
{
	char host[INET_ADDRSTRLEN];
	union any any;

	if (!address_load(addr, len, &any)) {
		snprintf(buf, size, "unknown");
		return buf;
	}
	switch (any.in.sin_family) {
	case AF_INET:
		inet_ntop(AF_INET, &any.in.sin_addr, host, sizeof(host));
		snprintf(
		    buf, size, "%s:%u", host, (unsigned)ntohs(any.in.sin_port));
		break;
	case AF_INET6:
		format_in6(&any.in6, buf, size);
		break;
	case AF_UNIX:
		format_path(&any.un, len, buf, size);
		break;
	default:
		snprintf(buf, size, "family %u", (unsigned)any.in.sin_family);
		break;
	}
	return buf;
}
