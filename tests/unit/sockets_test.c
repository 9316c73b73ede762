/* Sockets of any process, with the kernel's monitor and without. */

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <err.h>
#include <netinet/tcp.h>
#include <stdlib.h>

#include "sys/address.h"
#include "sys/procinfo.h"
#include "sys/sockets.h"

#include "../support/nodiag.h"
#include "check.h"

/* A listening socket, and one connection of it. */
struct pair {
	union sockets_address addr;
	int listener;
	int client;
	int conn; /* accepted; -1: not yet */
};

static uint32_t
inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == -1 ? 0 : (uint32_t)st.st_ino;
}

static void
listen_at(struct pair *p, const void *addr, socklen_t len)
{
	const struct sockaddr *a = addr;
	socklen_t full = sizeof(p->addr);

	p->listener = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	p->client = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	p->conn = -1;
	if (bind(p->listener, a, len) == -1 || listen(p->listener, 5) == -1 ||
	    getsockname(p->listener, &p->addr.any, &full) == -1 ||
	    connect(p->client, &p->addr.any, full) == -1)
		err(1, "a pair of sockets");
}

static void
listen_tcp(struct pair *p, in_addr_t addr)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	in.sin_addr.s_addr = htonl(addr);
	listen_at(p, &in, sizeof(in));
}

static void
listen_unix(struct pair *p, const char *name)
{
	struct sockaddr_un un;
	char path[64];

	CHECK_FILE(path, name);
	(void)unlink(path);
	listen_at(p, &un, address_of_path(path, &un));
}

static void
close_pair(struct pair *p)
{
	if (p->addr.any.sa_family == AF_UNIX && p->addr.un.sun_path[0] == '/')
		(void)unlink(p->addr.un.sun_path);
	close(p->listener);
	close(p->client);
	if (p->conn != -1)
		close(p->conn);
}

/* The kin of a socket. */
struct kin {
	const struct pair *of;
	uint32_t inodes[16]; /* of connections that a process has */
	size_t count;
	long waiting; /* connections that none has */
	bool listens; /* the socket itself was found */
};

static bool
note(void *arg, const struct socket_seen *seen)
{
	struct kin *k = arg;
	const union sockets_address *at = &k->of->addr;

	if (at->any.sa_family == AF_UNIX
		? strcmp(at->un.sun_path, seen->addr.un.sun_path) != 0
		: memcmp(at, &seen->addr, sizeof(at->in)) != 0)
		return true;
	if (seen->state == TCP_LISTEN)
		k->listens = seen->inode == inode_of(k->of->listener);
	else if (seen->inode == 0)
		/* A closed one stays until its client closes it, too. */
		k->waiting += seen->state != TCP_FIN_WAIT2;
	else if (k->count < 16)
		k->inodes[k->count++] = seen->inode;
	return true;
}

/*
 * The kin, of which so many are to be found: a table that changes meanwhile
 * may show sockets twice, or leave some out, and is read again.
 */
static struct kin
find(const struct pair *p, long waiting, size_t count)
{
	struct kin k;
	int left = 1000;

	do {
		k = (struct kin){ .of = p };
		CHECK(p->addr.any.sa_family == AF_UNIX
			? sockets_unix(SOCKETS_ALL, note, &k)
			: sockets_tcp(UINT32_MAX, ntohs(p->addr.in.sin_port),
			      SOCKETS_ALL, note, &k));
	} while ((!k.listens || k.waiting != waiting || k.count != count) &&
	    left-- > 0);
	return k;
}

static void
check_pair(struct pair *p)
{
	struct kin k = find(p, 1, 0);

	CHECK(k.listens);
	CHECK_EQ(1, k.waiting);
	CHECK_EQ(0, (intmax_t)k.count);
	p->conn = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	k = find(p, 0, 1);
	CHECK_EQ(0, k.waiting);
	CHECK_EQ(1, (intmax_t)k.count);
	CHECK_EQ(inode_of(p->conn), k.inodes[0]);
	close(p->conn);
	p->conn = -1;
	k = find(p, 0, 0);
	CHECK_EQ(0, (intmax_t)k.count);
}

static void
connections_of_a_socket_are_told_apart(void)
{
	struct pair p[4];

	listen_tcp(&p[0], INADDR_LOOPBACK);
	listen_tcp(&p[1], INADDR_LOOPBACK);
	listen_unix(&p[2], "one");
	listen_unix(&p[3], "other");
	check_pair(&p[0]);
	check_pair(&p[2]);
	for (int i = 0; i < 4; i++)
		close_pair(&p[i]);
}

/* The kernel chooses the name. */
static void
the_queue_of_an_abstract_socket_is_known(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct pair p = { 0 };

	listen_at(&p, &un, sizeof(sa_family_t));
	CHECK_EQ(1, sockets_unix_queue(p.listener, &p.addr.any));
	close_pair(&p);
}

static void
an_ipv6_address_is_told(void)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct pair p = { 0 };
	int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	SKIP_IF(probe == -1 || bind(probe, (void *)&in6, sizeof(in6)) == -1,
	    "no IPv6 here");
	close(probe);
	listen_at(&p, &in6, sizeof(in6));
	CHECK(sockets_tcp_taken(&p.addr.any, true));
	p.addr.in6.sin6_port = 0;
	CHECK(!sockets_tcp_taken(&p.addr.any, true));
	close_pair(&p);
}

static void
an_address_is_taken_where_binding_would_fail(void)
{
	struct pair p;

	listen_tcp(&p, INADDR_LOOPBACK);
	CHECK(sockets_tcp_taken(&p.addr.any, false));
	p.addr.in.sin_addr.s_addr = htonl(INADDR_ANY);
	CHECK(sockets_tcp_taken(&p.addr.any, false));
	p.addr.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	CHECK(!sockets_tcp_taken(&p.addr.any, false));
	close_pair(&p);
}

TEST(too_long_a_table_is_no_answer)
{
	struct kin k = { 0 };
	struct pair p;

	listen_unix(&p, "one");
	k.of = &p;
	CHECK(!sockets_unix(100, note, &k));
	close_pair(&p);
}

static void
note_inode(void *arg, uint32_t inode, int fd)
{
	struct kin *k = arg;

	k->count += inode == k->inodes[fd == -1];
}

TEST(the_sockets_of_a_process_are_found)
{
	struct kin k = { 0 };
	struct pair p;

	listen_unix(&p, "one");
	k.inodes[0] = inode_of(p.client);
	CHECK_EQ(0, procinfo_sockets(getpid(), false, note_inode, &k));
	CHECK_EQ(1, (intmax_t)k.count);
	close_pair(&p);
}

TEST(sockets_that_a_process_polls_are_found_where_asked_for)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct kin k = { 0 };
	struct pair p;

	listen_unix(&p, "one");
	k.inodes[true] = inode_of(p.client);
	CHECK_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, p.client, &event));
	CHECK_EQ(0, procinfo_sockets(getpid(), false, note_inode, &k));
	CHECK_EQ(0, (intmax_t)k.count);
	CHECK_EQ(0, procinfo_sockets(getpid(), true, note_inode, &k));
	CHECK_EQ(1, (intmax_t)k.count);
	close(epoll);
	close_pair(&p);
}

static void
all(void)
{
	RUN(connections_of_a_socket_are_told_apart);
	RUN(the_queue_of_an_abstract_socket_is_known);
	RUN(an_ipv6_address_is_told);
	RUN(an_address_is_taken_where_binding_would_fail);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	sockets_init();
	all();
	check_all();
	/* Once more, by the tables in /proc/net. */
	if (nodiag_begin())
		all();
	return check_finish();
}
