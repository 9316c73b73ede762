/* The connections of a listening socket: sock_diag(7). */

#include <sys/socket.h>
#include <sys/stat.h>

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "sys/connections.h"
#include "sys/sockdiag_private.h"

/* States in which a process can hold a connection, or not any more. */
#define TCP_STATES_ALL 0xfffU
#define TCP_STATES_OF_NONE \
	(1U << TCP_LISTEN | 1U << TCP_SYN_RECV | 1U << TCP_TIME_WAIT)

struct search {
	const struct connections *c;
	void (*found)(void *, uint32_t);
	void *arg;
};

static const struct unix_diag_vfs *
unix_file(const struct nlmsghdr *h, struct unix_diag_vfs *out)
{
	const void *value = sockdiag_attribute(
	    h, sizeof(struct unix_diag_msg), UNIX_DIAG_VFS, sizeof(*out));

	return value == NULL ? NULL : memcpy(out, value, sizeof(*out));
}

static void
take_file(const struct nlmsghdr *h, void *arg)
{
	struct connections *c = arg;
	struct unix_diag_vfs file;

	if (unix_file(h, &file) == NULL)
		return;
	c->family = AF_UNIX;
	c->ino = file.udiag_vfs_ino;
	c->dev = file.udiag_vfs_dev;
}

/* One without a file, with an abstract address, stays unknown. */
static void
describe_unix(int fd, struct sockdiag *d, struct connections *out)
{
	struct stat st;

	if (fstat(fd, &st) == 0)
		(void)sockdiag_ask_unix(
		    d, (uint32_t)st.st_ino, UDIAG_SHOW_VFS, take_file, out);
}

void
connections_of(int fd, struct sockdiag *d, struct connections *out)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	*out = (struct connections){ .family = AF_UNSPEC };
	if (getsockname(fd, (struct sockaddr *)&addr, &len) == -1)
		return;
	switch (addr.ss_family) {
	case AF_INET:
		memcpy(&in, &addr, sizeof(in));
		out->port = in.sin_port;
		out->addr[0] = in.sin_addr.s_addr;
		break;
	case AF_INET6:
		memcpy(&in6, &addr, sizeof(in6));
		out->port = in6.sin6_port;
		memcpy(out->addr, &in6.sin6_addr, sizeof(out->addr));
		break;
	case AF_UNIX:
		describe_unix(fd, d, out);
		return;
	default:
		return;
	}
	out->family = addr.ss_family;
}

/* 0 is one that nobody has accepted, or that has been closed. */
static void
tell(const struct search *s, uint32_t inode)
{
	if (inode != 0)
		s->found(s->arg, inode);
}

static void
tell_tcp(const struct nlmsghdr *h, void *arg)
{
	static const uint32_t any[4];
	const struct inet_diag_msg *msg = NLMSG_DATA(h);
	const struct search *s = arg;
	size_t size = s->c->family == AF_INET ? 4 : sizeof(any);

	if (memcmp(s->c->addr, any, size) == 0 ||
	    memcmp(s->c->addr, msg->id.idiag_src, size) == 0)
		tell(s, msg->idiag_inode);
}

static void
tell_unix(const struct nlmsghdr *h, void *arg)
{
	const struct unix_diag_msg *msg = NLMSG_DATA(h);
	const struct search *s = arg;
	struct unix_diag_vfs file;

	if (unix_file(h, &file) != NULL && file.udiag_vfs_ino == s->c->ino &&
	    file.udiag_vfs_dev == s->c->dev)
		tell(s, msg->udiag_ino);
}

bool
connections_each(const struct connections *c, struct sockdiag *d,
    void (*found)(void *, uint32_t), void *arg)
{
	struct inet_diag_req_v2 tcp = {
		.sdiag_family = (uint8_t)c->family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = TCP_STATES_ALL & ~TCP_STATES_OF_NONE,
		.id.idiag_sport = c->port,
	};
	struct unix_diag_req local = {
		.sdiag_family = AF_UNIX,
		.udiag_states = 1U << TCP_ESTABLISHED,
		.udiag_show = UDIAG_SHOW_VFS,
	};
	struct search s = { c, found, arg };

	switch (c->family) {
	case AF_INET:
	case AF_INET6:
		return sockdiag_ask(d, &tcp, sizeof(tcp), true, tell_tcp, &s);
	case AF_UNIX:
		return sockdiag_ask(
		    d, &local, sizeof(local), true, tell_unix, &s);
	default:
		return false;
	}
}
