/* Sockets of other processes: the kernel's socket monitor, sock_diag(7). */

#include <sys/socket.h>
#include <sys/stat.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "sys/sockdiag.h"

/* The kernel answers a dump in pieces of at most this size. */
#define ANSWER_SIZE 16384

/* Called for each answer, which is of the struct of the family. */
typedef void answer_fn(const struct nlmsghdr *, void *arg);

int
sockdiag_init(struct sockdiag *d)
{
	d->seq = 0;
	d->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	return d->fd == -1 ? -1 : 0;
}

void
sockdiag_fini(struct sockdiag *d)
{
	if (d->fd != -1)
		(void)close(d->fd);
	d->fd = -1;
}

/*
 * Reads one piece of the answer. Returns 1: more may come; 0: that was all; or
 * -1. Skips answers left over from an earlier question.
 */
static int
read_answers(struct sockdiag *d, bool dump, answer_fn *answer, void *arg)
{
	_Alignas(struct nlmsghdr) char buf[ANSWER_SIZE];
	const struct nlmsghdr *h;
	ssize_t got = recv(d->fd, buf, sizeof(buf), MSG_DONTWAIT);
	size_t left;

	if (got <= 0)
		return -1;
	left = (size_t)got;
	for (h = (const void *)buf; NLMSG_OK(h, left);
	     h = NLMSG_NEXT(h, left)) {
		if (h->nlmsg_seq != d->seq)
			continue;
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR)
			return -1;
		answer(h, arg);
		if (!dump)
			return 0;
	}
	return 1;
}

/*
 * Asks, and reads all answers: one, or with dump one for each socket. Returns
 * false if the kernel gives none.
 */
static bool
ask(struct sockdiag *d, const void *body, size_t len, bool dump,
    answer_fn *answer, void *arg)
{
	struct {
		struct nlmsghdr h;
		char body[128];
	} question = {
		.h = { .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		    .nlmsg_flags = NLM_F_REQUEST | (dump ? NLM_F_DUMP : 0) },
	};
	int more;

	if (d->fd == -1)
		return false;

	question.h.nlmsg_len = (uint32_t)NLMSG_LENGTH(len);
	question.h.nlmsg_seq = ++d->seq;
	memcpy(question.body, body, len);
	if (send(d->fd, &question, question.h.nlmsg_len, MSG_DONTWAIT) == -1)
		return false;
	do {
		more = read_answers(d, dump, answer, arg);
	} while (more == 1);
	return more == 0;
}

/* The same about one Unix socket; show: UDIAG_SHOW_*. */
static bool
ask_unix(struct sockdiag *d, uint32_t inode, uint32_t show, answer_fn *answer,
    void *arg)
{
	struct unix_diag_req req = {
		.sdiag_family = AF_UNIX,
		.udiag_states = UINT32_MAX,
		.udiag_ino = inode,
		.udiag_show = show,
		.udiag_cookie = { UINT32_MAX, UINT32_MAX },
	};

	return ask(d, &req, sizeof(req), false, answer, arg);
}

/*
 * Returns the value of the attribute of this type, of at least size bytes,
 * among those that follow the first part bytes of the answer; NULL: none.
 */
static const void *
attribute(const struct nlmsghdr *h, size_t part, int type, size_t size)
{
	const char *at = NLMSG_DATA(h);
	size_t left = NLMSG_PAYLOAD(h, 0);
	size_t step = NLMSG_ALIGN(part);
	struct nlattr a;

	while (left > step && left - step >= sizeof(a)) {
		at += step;
		left -= step;
		memcpy(&a, at, sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > left)
			break;
		if (a.nla_type == type && a.nla_len >= NLA_HDRLEN + size)
			return at + NLA_HDRLEN;
		step = NLA_ALIGN(a.nla_len);
	}
	return NULL;
}

static void
take_queue(const struct nlmsghdr *h, void *arg)
{
	struct unix_diag_rqlen queue;
	const void *value = attribute(
	    h, sizeof(struct unix_diag_msg), UNIX_DIAG_RQLEN, sizeof(queue));
	long *out = arg;

	if (value == NULL)
		return;
	memcpy(&queue, value, sizeof(queue));
	*out = (long)queue.udiag_rqueue;
}

long
sockdiag_unix_queue(struct sockdiag *d, uint32_t inode)
{
	long queue = -1;

	if (!ask_unix(d, inode, UDIAG_SHOW_RQLEN, take_queue, &queue))
		return -1;
	return queue;
}

static void
count_answer(const struct nlmsghdr *h, void *arg)
{
	long *n = arg;

	(void)h;
	(*n)++;
}

long
sockdiag_tcp_half_open(struct sockdiag *d, int family, uint16_t port)
{
	struct inet_diag_req_v2 req = {
		.sdiag_family = (uint8_t)family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = 1U << TCP_SYN_RECV,
		.id.idiag_sport = htons(port),
	};
	long n = 0;

	if (!ask(d, &req, sizeof(req), true, count_answer, &n))
		return -1;
	return n;
}

/* A wanted address, and whether a socket in its way was found. */
struct wanted {
	int family;
	bool v6only;
	struct in_addr in;
	struct in6_addr in6;
	bool taken;
	uint32_t inode; /* of the socket that was found */
};

static bool
overlaps(const struct wanted *w, const struct inet_diag_msg *msg, bool v6only)
{
	const uint32_t *src = msg->id.idiag_src;
	struct in6_addr in6;

	if (msg->idiag_family == AF_INET)
		return w->family == AF_INET
		    ? src[0] == w->in.s_addr || src[0] == INADDR_ANY ||
			w->in.s_addr == INADDR_ANY
		    : IN6_IS_ADDR_UNSPECIFIED(&w->in6) && !w->v6only;

	memcpy(&in6, src, sizeof(in6));
	if (w->family == AF_INET)
		return IN6_IS_ADDR_UNSPECIFIED(&in6) && !v6only;
	return IN6_IS_ADDR_UNSPECIFIED(&in6) ||
	    IN6_IS_ADDR_UNSPECIFIED(&w->in6) ||
	    IN6_ARE_ADDR_EQUAL(&in6, &w->in6);
}

static void
compare(const struct nlmsghdr *h, void *arg)
{
	const struct inet_diag_msg *msg = NLMSG_DATA(h);
	const uint8_t *v6only =
	    attribute(h, sizeof(*msg), INET_DIAG_SKV6ONLY, sizeof(*v6only));
	struct wanted *w = arg;

	if (!overlaps(w, msg, v6only != NULL && *v6only != 0))
		return;
	w->taken = true;
	w->inode = msg->idiag_inode;
}

static void
describe_tcp(const struct sockaddr *addr, struct sockdiag_listener *out)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	switch (addr->sa_family) {
	case AF_INET:
		memcpy(&in, addr, sizeof(in));
		out->port = in.sin_port;
		out->addr[0] = in.sin_addr.s_addr;
		break;
	case AF_INET6:
		memcpy(&in6, addr, sizeof(in6));
		out->port = in6.sin6_port;
		memcpy(out->addr, &in6.sin6_addr, sizeof(out->addr));
		break;
	default:
		return;
	}
	out->family = addr->sa_family;
}

/* Sockets at an address, counted. */
struct census {
	struct sockdiag_listener at;
	long n;
};

static void
count_listener(const struct nlmsghdr *h, void *arg)
{
	const struct inet_diag_msg *msg = NLMSG_DATA(h);
	struct census *c = arg;
	size_t size = c->at.family == AF_INET ? 4 : sizeof(c->at.addr);

	if (memcmp(c->at.addr, msg->id.idiag_src, size) == 0)
		c->n++;
}

/* Asks about all that listen at the port of this address, in its family. */
static bool
ask_listeners(struct sockdiag *d, const struct sockaddr *addr,
    answer_fn *answer, void *arg)
{
	struct sockdiag_listener at = { .family = AF_UNSPEC };
	struct inet_diag_req_v2 req = {
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = 1U << TCP_LISTEN,
	};

	describe_tcp(addr, &at);
	req.sdiag_family = (uint8_t)at.family;
	req.id.idiag_sport = at.port;
	return ask(d, &req, sizeof(req), true, answer, arg);
}

long
sockdiag_tcp_listeners(struct sockdiag *d, const struct sockaddr *addr)
{
	struct census c = { .at.family = AF_UNSPEC };

	describe_tcp(addr, &c.at);
	return ask_listeners(d, addr, count_listener, &c) ? c.n : -1;
}

/* The queue of one socket among those at an address. */
struct tcp_queue {
	uint32_t inode;
	long len;
};

static void
take_tcp_queue(const struct nlmsghdr *h, void *arg)
{
	const struct inet_diag_msg *msg = NLMSG_DATA(h);
	struct tcp_queue *q = arg;

	if (msg->idiag_inode == q->inode)
		q->len = (long)msg->idiag_rqueue;
}

long
sockdiag_tcp_queue(
    struct sockdiag *d, const struct sockaddr *addr, uint32_t inode)
{
	struct tcp_queue q = { inode, -1 };

	return ask_listeners(d, addr, take_tcp_queue, &q) ? q.len : -1;
}

bool
sockdiag_tcp_taken(struct sockdiag *d, const struct sockaddr *addr, bool v6only,
    uint32_t *inode_out)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct wanted w = { .family = addr->sa_family, .v6only = v6only };
	struct inet_diag_req_v2 req = {
		.sdiag_family = AF_INET,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = 1U << TCP_LISTEN,
	};

	if (w.family == AF_INET) {
		memcpy(&in, addr, sizeof(in));
		w.in = in.sin_addr;
		req.id.idiag_sport = in.sin_port;
	} else {
		memcpy(&in6, addr, sizeof(in6));
		w.in6 = in6.sin6_addr;
		req.id.idiag_sport = in6.sin6_port;
	}
	if (req.id.idiag_sport == 0)
		return false;

	(void)ask(d, &req, sizeof(req), true, compare, &w);
	req.sdiag_family = AF_INET6;
	(void)ask(d, &req, sizeof(req), true, compare, &w);
	if (w.taken && inode_out != NULL)
		*inode_out = w.inode;
	return w.taken;
}

/* --- all listening sockets ---------------------------------------------- */

struct listening {
	void (*found)(void *, uint32_t, const struct sockaddr *);
	void *arg;
};

static void
tell_listening(const struct nlmsghdr *h, void *arg)
{
	const struct inet_diag_msg *msg = NLMSG_DATA(h);
	const struct listening *l = arg;
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = msg->id.idiag_sport };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_port = msg->id.idiag_sport };

	memcpy(&in.sin_addr, msg->id.idiag_src, sizeof(in.sin_addr));
	memcpy(&in6.sin6_addr, msg->id.idiag_src, sizeof(in6.sin6_addr));
	l->found(l->arg, msg->idiag_inode,
	    msg->idiag_family == AF_INET ? (const struct sockaddr *)&in
					 : (const struct sockaddr *)&in6);
}

bool
sockdiag_tcp_all(struct sockdiag *d,
    void (*found)(void *, uint32_t, const struct sockaddr *), void *arg)
{
	struct inet_diag_req_v2 req = {
		.sdiag_family = AF_INET,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = 1U << TCP_LISTEN,
	};
	struct listening l = { found, arg };

	if (!ask(d, &req, sizeof(req), true, tell_listening, &l))
		return false;
	/* A kernel without IPv6 has no such sockets. */
	req.sdiag_family = AF_INET6;
	(void)ask(d, &req, sizeof(req), true, tell_listening, &l);
	return true;
}

/* --- the connections of a listening socket ------------------------------ */

/* States in which a process can hold a TCP connection: all but the last. */
#define TCP_STATES_ALL 0xfffU
#define TCP_STATES_UNHELD \
	(1U << TCP_LISTEN | 1U << TCP_SYN_RECV | 1U << TCP_TIME_WAIT)

struct search {
	const struct sockdiag_listener *l;
	void (*found)(void *, uint32_t);
	void *arg;
};

static const struct unix_diag_vfs *
unix_file(const struct nlmsghdr *h, struct unix_diag_vfs *out)
{
	const void *value = attribute(
	    h, sizeof(struct unix_diag_msg), UNIX_DIAG_VFS, sizeof(*out));

	return value == NULL ? NULL : memcpy(out, value, sizeof(*out));
}

static void
take_file(const struct nlmsghdr *h, void *arg)
{
	struct sockdiag_listener *l = arg;
	struct unix_diag_vfs file;

	if (unix_file(h, &file) == NULL)
		return;
	l->family = AF_UNIX;
	l->ino = file.udiag_vfs_ino;
	l->dev = file.udiag_vfs_dev;
}

/* A socket without a file, with an abstract address, stays unknown. */
static void
describe_unix(struct sockdiag *d, int fd, struct sockdiag_listener *out)
{
	struct stat st;

	if (fstat(fd, &st) == 0)
		(void)ask_unix(
		    d, (uint32_t)st.st_ino, UDIAG_SHOW_VFS, take_file, out);
}

void
sockdiag_describe(struct sockdiag *d, int fd, const struct sockaddr *addr,
    struct sockdiag_listener *out)
{
	*out = (struct sockdiag_listener){ .family = AF_UNSPEC };
	if (addr->sa_family == AF_UNIX)
		describe_unix(d, fd, out);
	else
		describe_tcp(addr, out);
}

/* Inode 0: the connection is not accepted yet, or closed already. */
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
	size_t size = s->l->family == AF_INET ? 4 : sizeof(any);

	if (memcmp(s->l->addr, any, size) == 0 ||
	    memcmp(s->l->addr, msg->id.idiag_src, size) == 0)
		tell(s, msg->idiag_inode);
}

static void
tell_unix(const struct nlmsghdr *h, void *arg)
{
	const struct unix_diag_msg *msg = NLMSG_DATA(h);
	const struct search *s = arg;
	struct unix_diag_vfs file;

	if (unix_file(h, &file) != NULL && file.udiag_vfs_ino == s->l->ino &&
	    file.udiag_vfs_dev == s->l->dev)
		tell(s, msg->udiag_ino);
}

bool
sockdiag_connections(struct sockdiag *d, const struct sockdiag_listener *l,
    void (*found)(void *, uint32_t), void *arg)
{
	struct inet_diag_req_v2 tcp = {
		.sdiag_family = (uint8_t)l->family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = TCP_STATES_ALL & ~TCP_STATES_UNHELD,
		.id.idiag_sport = l->port,
	};
	struct unix_diag_req local = {
		.sdiag_family = AF_UNIX,
		.udiag_states = 1U << TCP_ESTABLISHED,
		.udiag_show = UDIAG_SHOW_VFS,
	};
	struct search s = { l, found, arg };

	switch (l->family) {
	case AF_INET:
	case AF_INET6:
		return ask(d, &tcp, sizeof(tcp), true, tell_tcp, &s);
	case AF_UNIX:
		return ask(d, &local, sizeof(local), true, tell_unix, &s);
	default:
		return false;
	}
}
