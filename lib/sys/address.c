/* Socket addresses as text. */

#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>

#include "sys/address.h"

/* A path need not end with NUL; an abstract name may have one anywhere. */
static void
format_path(const struct sockaddr_un *un, socklen_t len, char *buf, size_t size)
{
	const size_t head = offsetof(struct sockaddr_un, sun_path);
	size_t most = len > head ? len - head : 0;
	size_t at = (size_t)snprintf(buf, size, "unix:");
	bool abstract;

	if (most > sizeof(un->sun_path))
		most = sizeof(un->sun_path);
	abstract = most > 0 && un->sun_path[0] == '\0';
	if (!abstract)
		most = strnlen(un->sun_path, most);
	for (size_t i = 0; i < most && at < size; i++) {
		unsigned c = (unsigned char)un->sun_path[i];

		if (i == 0 && abstract)
			c = '@';
		at += (size_t)snprintf(buf + at, size - at,
		    c < ' ' || c == 0x7f ? "\\x%02x" : "%c", c);
	}
}

char *
address_format(
    const struct sockaddr *addr, socklen_t len, char *buf, size_t size)
{
	char host[NI_MAXHOST], port[8];

	if (len >= sizeof(addr->sa_family) && addr->sa_family == AF_UNIX)
		format_path((const void *)addr, len, buf, size);
	else if (getnameinfo(addr, len, host, sizeof(host), port, sizeof(port),
		     NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		(void)snprintf(buf, size,
		    addr->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
		    port);
	else
		(void)snprintf(buf, size, "unknown");
	return buf;
}
