/* What only the kernel's socket monitor knows: sock_diag(7). */

#include <sys/socket.h>

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

#include "sys/sockdiag_private.h"

/* The kernel answers a dump in pieces of at most this size. */
#define ANSWER_SIZE 16384

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
 * Reads one piece of the answer. 1: more may come, 0: that was all, -1: it
 * failed. What a question asked earlier left behind is passed over.
 */
static int
read_answers(struct sockdiag *d, bool dump, sockdiag_answer *answer, void *arg)
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

bool
sockdiag_ask(struct sockdiag *d, const void *body, size_t len, bool dump,
    sockdiag_answer *answer, void *arg)
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

bool
sockdiag_ask_unix(struct sockdiag *d, uint32_t inode, uint32_t show,
    sockdiag_answer *answer, void *arg)
{
	struct unix_diag_req req = {
		.sdiag_family = AF_UNIX,
		.udiag_states = UINT32_MAX,
		.udiag_ino = inode,
		.udiag_show = show,
		.udiag_cookie = { UINT32_MAX, UINT32_MAX },
	};

	return sockdiag_ask(d, &req, sizeof(req), false, answer, arg);
}

const void *
sockdiag_attribute(const struct nlmsghdr *h, size_t part, int type, size_t size)
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
	const void *value = sockdiag_attribute(
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

	if (!sockdiag_ask_unix(d, inode, UDIAG_SHOW_RQLEN, take_queue, &queue))
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

	if (!sockdiag_ask(d, &req, sizeof(req), true, count_answer, &n))
		return -1;
	return n;
}

/* The address somebody wants, and whether one in the way was found. */
struct wanted {
	int family;
	bool v6only;
	struct in_addr in;
	struct in6_addr in6;
	bool held;
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
	const uint8_t *v6only = sockdiag_attribute(
	    h, sizeof(*msg), INET_DIAG_SKV6ONLY, sizeof(*v6only));
	struct wanted *w = arg;

	if (overlaps(w, msg, v6only != NULL && *v6only != 0))
		w->held = true;
}

bool
sockdiag_tcp_held(struct sockdiag *d, const struct sockaddr *addr, bool v6only)
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

	(void)sockdiag_ask(d, &req, sizeof(req), true, compare, &w);
	req.sdiag_family = AF_INET6;
	(void)sockdiag_ask(d, &req, sizeof(req), true, compare, &w);
	return w.held;
}
