/* The addresses of a connection, in the environment. */

#include <sys/socket.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/stdio_peer.h"

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
	struct sockaddr_storage storage;
};

/* All that programs may ask for; names and idents are never looked up. */
void
stdio_peer_forget(void)
{
	static const char *const names[] = { "PROTO", "REMOTE_ADDR",
		"REMOTE_HOST", "REMOTE_PORT", "TCPLOCALHOST", "TCPLOCALIP",
		"TCPLOCALPORT", "TCPREMOTEHOST", "TCPREMOTEINFO", "TCPREMOTEIP",
		"TCPREMOTEPORT", "UNIXLOCALGID", "UNIXLOCALPATH",
		"UNIXLOCALPID", "UNIXLOCALUID", "UNIXREMOTEEGID",
		"UNIXREMOTEEUID", "UNIXREMOTEPATH", "UNIXREMOTEPID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unsetenv(names[i]);
}

static bool
tell(const char *name, const char *value)
{
	return setenv(name, value, 1) == 0;
}

static bool
tell_number(const char *name, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	return tell(name, text);
}

/* --- TCP ----------------------------------------------------------------- */

/* The IP address as people write it, and the port. */
static uint16_t
ip_read(const union address *a, char *text, socklen_t size)
{
	const struct in6_addr *in6 = &a->in6.sin6_addr;

	if (a->any.sa_family == AF_INET) {
		(void)inet_ntop(AF_INET, &a->in.sin_addr, text, size);
		return ntohs(a->in.sin_port);
	}
	/* A client of IPv4 at a socket for both. */
	if (IN6_IS_ADDR_V4MAPPED(in6))
		(void)inet_ntop(AF_INET, in6->s6_addr + 12, text, size);
	else
		(void)inet_ntop(AF_INET6, in6, text, size);
	return ntohs(a->in6.sin6_port);
}

static bool
tcp_tell_local(const union address *local)
{
	char ip[INET6_ADDRSTRLEN] = "";
	uint16_t port = ip_read(local, ip, sizeof(ip));

	return tell("PROTO", "TCP") && tell("TCPLOCALIP", ip) &&
	    tell_number("TCPLOCALPORT", port);
}

static bool
tcp_tell_remote(const union address *remote)
{
	char ip[INET6_ADDRSTRLEN] = "";
	uint16_t port = ip_read(remote, ip, sizeof(ip));

	return tell("TCPREMOTEIP", ip) && tell_number("TCPREMOTEPORT", port) &&
	    tell("REMOTE_ADDR", ip) && tell("REMOTE_HOST", ip) &&
	    tell_number("REMOTE_PORT", port);
}

/* --- Unix ---------------------------------------------------------------- */

/* The path, with @ for the NUL of an abstract one; "": it has no name. */
static void
path_read(const union address *a, socklen_t len, char *text, size_t size)
{
	size_t before = offsetof(struct sockaddr_un, sun_path);
	size_t n = len > before ? len - before : 0;

	if (n > sizeof(a->un.sun_path))
		n = sizeof(a->un.sun_path);
	if (n > size - 1)
		n = size - 1;
	memcpy(text, a->un.sun_path, n);
	text[n] = '\0';
	/* Further NULs of an abstract one cannot be shown. */
	if (n > 0 && text[0] == '\0')
		text[0] = '@';
}

static bool
unix_tell_paths(const union address *local, socklen_t local_len,
    const union address *remote, socklen_t remote_len)
{
	char path[sizeof(local->un.sun_path) + 1];

	path_read(local, local_len, path, sizeof(path));
	if (!tell("UNIXLOCALPATH", path))
		return false;
	path_read(remote, remote_len, path, sizeof(path));
	return path[0] == '\0' ||
	    (tell("UNIXREMOTEPATH", path) && tell("REMOTE_ADDR", path));
}

static bool
unix_tell_peer(int conn)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &len) == -1)
		return false;
	return tell_number("UNIXREMOTEEUID", peer.uid) &&
	    tell_number("UNIXREMOTEEGID", peer.gid) &&
	    tell_number("UNIXREMOTEPID", (uint64_t)peer.pid);
}

static bool
unix_tell_us(void)
{
	return tell("PROTO", "UNIX") && tell_number("UNIXLOCALUID", getuid()) &&
	    tell_number("UNIXLOCALGID", getgid()) &&
	    tell_number("UNIXLOCALPID", (uint64_t)getpid());
}

bool
stdio_peer_tell(int conn)
{
	union address local = { 0 }, remote = { 0 };
	socklen_t local_len = sizeof(local), remote_len = sizeof(remote);
	bool known;

	if (getsockname(conn, &local.any, &local_len) == -1)
		return false;
	/* A client that has left may have no address any more. */
	known = getpeername(conn, &remote.any, &remote_len) == 0;
	switch (local.any.sa_family) {
	case AF_INET:
	case AF_INET6:
		return tcp_tell_local(&local) &&
		    (!known || tcp_tell_remote(&remote));
	case AF_UNIX:
		return unix_tell_us() && unix_tell_peer(conn) &&
		    unix_tell_paths(
			&local, local_len, &remote, known ? remote_len : 0);
	default:
		errno = EAFNOSUPPORT;
		return false;
	}
}
