/* Sockets of other processes: sock_diag(7), or the tables of /proc/net. */

#include <sys/stat.h>

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "sys/procinfo.h"
#include "sys/sockets.h"

/* Of a Unix socket in /proc/net/unix: it listens; it waits to be accepted. */
#define FLAG_LISTENS 0x10000
#define STATE_CONNECTING 2

/* The kernel answers a dump in pieces of at most this size. */
#define ANSWER_SIZE 16384

/*
 * Kinds that the kernel has no module for. It is not asked again: each question
 * would have it run modprobe(8), and wait for that.
 */
static struct {
	atomic_bool tcp;
	atomic_bool local; /* Unix sockets */
} missing;

/* --- the monitor --------------------------------------------------------- */

/* Called with each answer, which is of the struct of the family. */
typedef bool answer_fn(const struct nlmsghdr *, void *arg);

/*
 * Asks, and calls answer() with each answer until it returns false. Everything
 * is there at once: the kernel makes a piece of a dump when one is read.
 * Returns false, and notes where that is so for good, if the kernel does not
 * tell.
 */
static bool
monitor_ask(const void *body, size_t len, bool dump, atomic_bool *absent,
    answer_fn *answer, void *arg)
{
	_Alignas(struct nlmsghdr) char buf[ANSWER_SIZE];
	struct {
		struct nlmsghdr h;
		char body[128];
	} question = {
		.h = { .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		    .nlmsg_len = (uint32_t)NLMSG_LENGTH(len),
		    .nlmsg_flags = NLM_F_REQUEST | (dump ? NLM_F_DUMP : 0) },
	};
	bool known = false, more = true;
	int fd;

	if (atomic_load(absent))
		return false;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	memcpy(question.body, body, len);
	if (fd == -1 ||
	    send(fd, &question, question.h.nlmsg_len, MSG_DONTWAIT) == -1) {
		atomic_store(absent, errno != EMFILE && errno != ENFILE);
		more = false;
	}
	while (more) {
		ssize_t got = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		size_t left = got > 0 ? (size_t)got : 0;

		more = got > 0;
		for (const struct nlmsghdr *h = (const void *)buf;
		     more && NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			const struct nlmsgerr *e = NLMSG_DATA(h);

			if (h->nlmsg_type == NLMSG_DONE) {
				more = false;
				known = true;
			} else if (h->nlmsg_type == NLMSG_ERROR) {
				more = false;
				/* Of one socket ENOENT says that it is gone. */
				if (dump && e->error == -ENOENT)
					atomic_store(absent, true);
			} else {
				more = answer(h, arg) && dump;
				known = known || !more;
			}
		}
	}
	if (fd != -1)
		(void)close(fd);
	return known;
}

/*
 * Returns the value of the attribute of this type, of at least size bytes,
 * among those that follow the first part bytes of the answer; NULL: none.
 */
static const void *
monitor_attribute(const struct nlmsghdr *h, size_t part, int type, size_t size)
{
	struct rtattr *a = (void *)((char *)NLMSG_DATA(h) + NLMSG_ALIGN(part));
	int left = (int)NLMSG_PAYLOAD(h, NLMSG_ALIGN(part));

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == type && RTA_PAYLOAD(a) >= size)
			return RTA_DATA(a);
	return NULL;
}

/* A question about many sockets, and what has become of it. */
struct socket_query {
	uint32_t states;
	uint16_t port; /* 0: any */
	sockets_fn *found;
	void *arg;
	bool enough;
};

static bool
monitor_tells_tcp(const struct nlmsghdr *h, void *arg)
{
	const struct inet_diag_msg *msg = NLMSG_DATA(h);
	const uint8_t *v6only = monitor_attribute(
	    h, sizeof(*msg), INET_DIAG_SKV6ONLY, sizeof(*v6only));
	struct socket_query *q = arg;
	struct socket_seen seen = {
		.inode = msg->idiag_inode,
		.state = msg->idiag_state,
		.queue = (long)msg->idiag_rqueue,
		.v6only = v6only != NULL && *v6only != 0,
		.addr.any.sa_family = msg->idiag_family,
	};

	/* Both families have the port in one place. */
	seen.addr.in.sin_port = msg->id.idiag_sport;
	if (msg->idiag_family == AF_INET)
		memcpy(&seen.addr.in.sin_addr, msg->id.idiag_src,
		    sizeof(seen.addr.in.sin_addr));
	else
		memcpy(&seen.addr.in6.sin6_addr, msg->id.idiag_src,
		    sizeof(seen.addr.in6.sin6_addr));
	q->enough = !q->found(q->arg, &seen);
	return !q->enough;
}

/* --- tables in /proc/net ------------------------------------------------- */

/* "sl: LOCAL:PORT REMOTE:PORT ST TX:RX ..."; false: no such line. */
static bool
table_parse_tcp(const char *line, struct socket_seen *out)
{
	/* Each four bytes of an address are a number of the machine. */
	unsigned port, state, part[4] = { 0 };
	unsigned long queue;
	uint32_t inode;
	char host[33];
	bool v4;

	if (sscanf(line,
		"%*s %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%lx %*s %*s %*s "
		"%*s %" SCNu32,
		host, &port, &state, &queue, &inode) != 5)
		return false;
	v4 = sscanf(host, "%8x%8x%8x%8x", &part[0], &part[1], &part[2],
		 &part[3]) == 1;
	*out = (struct socket_seen){ .inode = inode,
		.state = (int)state,
		.queue = (long)queue,
		.v6only = -1,
		.addr.any.sa_family = v4 ? AF_INET : AF_INET6 };
	out->addr.in.sin_port = htons((uint16_t)port);
	if (v4)
		out->addr.in.sin_addr.s_addr = part[0];
	else
		memcpy(&out->addr.in6.sin6_addr, part, sizeof(part));
	return true;
}

/* "Num: RefCount Protocol Flags Type St Inode Path"; false: it has no path. */
static bool
table_parse_unix(const char *line, struct socket_seen *out)
{
	unsigned flags, state;
	uint32_t inode;
	int path = 0;

	if (sscanf(line, "%*s %*s %*s %x %*s %x %" SCNu32 " %n", &flags, &state,
		&inode, &path) != 3 ||
	    path == 0 || line[path] == '\0')
		return false;
	*out = (struct socket_seen){ .inode = inode,
		.state = TCP_ESTABLISHED,
		.queue = -1,
		.addr.any.sa_family = AF_UNIX };
	if ((flags & FLAG_LISTENS) != 0)
		out->state = TCP_LISTEN;
	else if (state == STATE_CONNECTING)
		out->state = TCP_SYN_RECV;
	(void)snprintf(out->addr.un.sun_path, sizeof(out->addr.un.sun_path),
	    "%s", line + path);
	return true;
}

/*
 * Sockets that listen come first in those of TCP, and are few: where no others
 * are wanted the rest is not read.
 */
static bool
table_read(const char *name, size_t most,
    bool (*parse)(const char *line, struct socket_seen *out),
    struct socket_query *q)
{
	struct socket_seen seen;
	bool known = true;
	char line[512];
	FILE *in = procinfo_table(name);

	if (in == NULL)
		return errno == ENOENT;
	while (!q->enough && fgets(line, sizeof(line), in) != NULL) {
		size_t len = strlen(line);

		known = len <= most;
		if (!known)
			break;
		most -= len;
		if (len > 0 && line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (!parse(line, &seen))
			continue;
		if (q->states == 1U << TCP_LISTEN && seen.state != TCP_LISTEN)
			break;
		if ((q->states & 1U << seen.state) != 0 &&
		    (q->port == 0 || seen.addr.in.sin_port == htons(q->port)))
			q->enough = !q->found(q->arg, &seen);
	}
	known = known && (q->enough || !ferror(in));
	(void)fclose(in);
	return known;
}

/* --- questions ----------------------------------------------------------- */

bool
sockets_tcp(
    uint32_t states, uint16_t port, size_t most, sockets_fn *found, void *arg)
{
	struct socket_query q = { states, port, found, arg, false };
	struct inet_diag_req_v2 req = {
		.sdiag_family = AF_INET,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = states,
		.id.idiag_sport = htons(port),
	};

	if (monitor_ask(
		&req, sizeof(req), true, &missing.tcp, monitor_tells_tcp, &q)) {
		req.sdiag_family = AF_INET6;
		/* A kernel without IPv6 has no such sockets. */
		if (!q.enough)
			(void)monitor_ask(&req, sizeof(req), true, &missing.tcp,
			    monitor_tells_tcp, &q);
		return true;
	}
	if (!atomic_load(&missing.tcp))
		return false;
	return table_read("net/tcp", most, table_parse_tcp, &q) &&
	    (q.enough || table_read("net/tcp6", most, table_parse_tcp, &q));
}

bool
sockets_unix(size_t most, sockets_fn *found, void *arg)
{
	struct socket_query q = { UINT32_MAX, 0, found, arg, false };

	return table_read("net/unix", most, table_parse_unix, &q);
}

static bool
monitor_tells_queue(const struct nlmsghdr *h, void *arg)
{
	struct unix_diag_rqlen queue;
	const void *value = monitor_attribute(
	    h, sizeof(struct unix_diag_msg), UNIX_DIAG_RQLEN, sizeof(queue));
	long *out = arg;

	if (value != NULL) {
		memcpy(&queue, value, sizeof(queue));
		*out = (long)queue.udiag_rqueue;
	}
	return true;
}

/* Connections that wait have the address of their listener. */
struct unix_count {
	char name[sizeof(struct sockaddr_un)];
	long waiting;
};

static bool
unix_count_waiting(void *arg, const struct socket_seen *seen)
{
	struct unix_count *c = arg;

	c->waiting += seen->state == TCP_SYN_RECV && seen->inode == 0 &&
	    strcmp(seen->addr.un.sun_path, c->name) == 0;
	return true;
}

long
sockets_unix_queue(int fd, const struct sockaddr *addr)
{
	struct unix_diag_req req = {
		.sdiag_family = AF_UNIX,
		.udiag_states = UINT32_MAX,
		.udiag_show = UDIAG_SHOW_RQLEN,
		.udiag_cookie = { UINT32_MAX, UINT32_MAX },
	};
	struct unix_count c = { .waiting = 0 };
	struct stat st;
	long queue = -1;

	if (fstat(fd, &st) == -1)
		return -1;
	req.udiag_ino = (uint32_t)st.st_ino;
	if (monitor_ask(&req, sizeof(req), false, &missing.local,
		monitor_tells_queue, &queue) &&
	    queue != -1)
		return queue;
	memcpy(c.name, ((const struct sockaddr_un *)addr)->sun_path,
	    sizeof(((const struct sockaddr_un *)addr)->sun_path));
	if (c.name[0] == '\0')
		c.name[0] = '@';
	return sockets_unix(SOCKETS_SOME, unix_count_waiting, &c) ? c.waiting
								  : -1;
}

static bool
address_is_any(const union sockets_address *a)
{
	return a->any.sa_family == AF_INET
	    ? a->in.sin_addr.s_addr == INADDR_ANY
	    : IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
}

bool
sockets_covers(
    const union sockets_address *listener, const union sockets_address *conn)
{
	if (listener->any.sa_family != conn->any.sa_family)
		return false;
	if (address_is_any(listener))
		return true;
	return listener->any.sa_family == AF_INET
	    ? listener->in.sin_addr.s_addr == conn->in.sin_addr.s_addr
	    : IN6_ARE_ADDR_EQUAL(
		  &listener->in6.sin6_addr, &conn->in6.sin6_addr);
}

/* A wanted address, and whether a socket in its way was found. */
struct wanted_address {
	union sockets_address addr;
	bool v6only;
	bool taken;
};

static bool
compare_address(void *arg, const struct socket_seen *seen)
{
	struct wanted_address *w = arg;

	if (seen->addr.any.sa_family == w->addr.any.sa_family)
		w->taken = sockets_covers(&seen->addr, &w->addr) ||
		    sockets_covers(&w->addr, &seen->addr);
	else if (seen->addr.any.sa_family == AF_INET)
		w->taken = address_is_any(&w->addr) && !w->v6only;
	else
		/* The tables do not tell v6only: binding will. */
		w->taken = address_is_any(&seen->addr) && seen->v6only == 0;
	return !w->taken;
}

bool
sockets_tcp_taken(const struct sockaddr *addr, bool v6only)
{
	struct wanted_address w = { .v6only = v6only };

	memcpy(&w.addr, addr,
	    addr->sa_family == AF_INET ? sizeof(w.addr.in)
				       : sizeof(w.addr.in6));
	if (w.addr.in.sin_port != 0)
		(void)sockets_tcp(1U << TCP_LISTEN, ntohs(w.addr.in.sin_port),
		    SOCKETS_ALL, compare_address, &w);
	return w.taken;
}

void
sockets_init(void)
{
	const struct unix_diag_req of_no_state = { .sdiag_family = AF_UNIX };
	const struct sockaddr_in any = { .sin_family = AF_INET,
		.sin_port = htons(1) };
	long queue;

	(void)monitor_ask(&of_no_state, sizeof(of_no_state), true,
	    &missing.local, monitor_tells_queue, &queue);
	(void)sockets_tcp_taken((const void *)&any, true);
}

int
peer_identify(int fd, struct ucred *out)
{
	return getsockopt(
	    fd, SOL_SOCKET, SO_PEERCRED, out, &(socklen_t){ sizeof(*out) });
}
