/* The connections of a listening socket, in any process. */

#include <sys/socket.h>

#include <err.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "sys/address.h"
#include "sys/procinfo.h"
#include "sys/sockdiag.h"

#include "check.h"

static char folder[] = "/tmp/apppoold-sockdiag-test.XXXXXX";

/* A listening socket, and one connection of it. */
struct pair {
	struct sockaddr_storage addr;
	socklen_t len;
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

	p->listener = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	p->client = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	p->conn = -1;
	p->len = sizeof(p->addr);
	if (bind(p->listener, a, len) == -1 || listen(p->listener, 5) == -1 ||
	    getsockname(p->listener, (void *)&p->addr, &p->len) == -1 ||
	    connect(p->client, (const void *)&p->addr, p->len) == -1)
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

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)unlink(path);
	listen_at(p, &un, address_of_path(path, &un));
}

static void
accept_it(struct pair *p)
{
	p->conn = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
}

static void
close_pair(struct pair *p)
{
	const struct sockaddr_un *un = (const void *)&p->addr;

	if (p->addr.ss_family == AF_UNIX && un->sun_path[0] == '/')
		(void)unlink(un->sun_path);
	close(p->listener);
	close(p->client);
	if (p->conn != -1)
		close(p->conn);
}

struct found {
	uint32_t inodes[16];
	size_t count;
};

static void
note(void *arg, uint32_t inode)
{
	struct found *f = arg;

	if (f->count < 16)
		f->inodes[f->count] = inode;
	f->count++;
}

/* Finds the connections of the listener; f->count is SIZE_MAX: unknown. */
static void
find(const struct pair *p, struct found *f)
{
	struct sockdiag_listener l;
	struct sockdiag diag;
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	*f = (struct found){ .count = 0 };
	(void)sockdiag_init(&diag);
	NEED(getsockname(p->listener, (void *)&addr, &len) == 0);
	sockdiag_describe(&diag, p->listener, (void *)&addr, &l);
	if (!sockdiag_connections(&diag, &l, note, f))
		f->count = SIZE_MAX;
	sockdiag_fini(&diag);
}

static void
check_pair(struct pair *p)
{
	struct found f;

	find(p, &f);
	CHECK_EQ(0, (intmax_t)f.count);
	accept_it(p);
	find(p, &f);
	CHECK_EQ(1, (intmax_t)f.count);
	CHECK_EQ(inode_of(p->conn), f.inodes[0]);
	close(p->conn);
	p->conn = -1;
	find(p, &f);
	CHECK_EQ(0, (intmax_t)f.count);
	close_pair(p);
}

static void
a_tcp_connection_counts_while_a_process_has_it(void)
{
	struct pair p;

	listen_tcp(&p, INADDR_LOOPBACK);
	check_pair(&p);
}

static void
a_listener_at_any_address_has_all_of_its_port(void)
{
	struct pair p;

	listen_tcp(&p, INADDR_ANY);
	check_pair(&p);
}

static void
a_unix_connection_counts_while_a_process_has_it(void)
{
	struct pair p;

	listen_unix(&p, "one");
	check_pair(&p);
}

static void
connections_of_another_socket_do_not_count(void)
{
	struct pair p, other;
	struct found f;

	listen_unix(&p, "one");
	listen_unix(&other, "other");
	accept_it(&other);
	find(&p, &f);
	CHECK_EQ(0, (intmax_t)f.count);
	close_pair(&p);
	close_pair(&other);
	listen_tcp(&p, INADDR_LOOPBACK);
	listen_tcp(&other, INADDR_LOOPBACK);
	accept_it(&other);
	find(&p, &f);
	CHECK_EQ(0, (intmax_t)f.count);
	close_pair(&p);
	close_pair(&other);
}

/* Another app may have the port at another address. */
static void
the_same_port_at_another_address_does_not_count(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct pair p, other;
	struct found f;

	listen_tcp(&p, INADDR_LOOPBACK);
	memcpy(&in, &p.addr, sizeof(in));
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	listen_at(&other, &in, sizeof(in));
	accept_it(&other);
	find(&p, &f);
	CHECK_EQ(0, (intmax_t)f.count);
	close_pair(&p);
	close_pair(&other);
}

static void
connections_count_after_their_file_was_removed(void)
{
	char path[64];
	struct pair p;

	listen_unix(&p, "gone");
	(void)snprintf(path, sizeof(path), "%s/gone", folder);
	NEED(unlink(path) == 0);
	check_pair(&p);
}

static void
connections_without_a_file_are_unknown(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct pair p;
	struct found f;

	/* The kernel chooses an abstract address. */
	listen_at(&p, &un, sizeof(sa_family_t));
	find(&p, &f);
	CHECK(f.count == SIZE_MAX);
	close_pair(&p);
}

static void
the_sockets_of_a_process_are_found(void)
{
	struct found f = { .count = 0 };
	struct pair p;
	bool there = false;

	listen_unix(&p, "one");
	accept_it(&p);
	CHECK_EQ(0, procinfo_sockets(getpid(), note, &f));
	for (size_t i = 0; i < f.count && i < 16; i++)
		there = there || f.inodes[i] == inode_of(p.conn);
	CHECK(there);
	close_pair(&p);
}

/* Looks for the address of a socket. */
struct wanted {
	uint32_t inode;
	struct sockaddr_in addr;
};

static void
note_listening(void *arg, uint32_t inode, const struct sockaddr *addr)
{
	struct wanted *w = arg;

	if (inode == w->inode && addr->sa_family == AF_INET)
		memcpy(&w->addr, addr, sizeof(w->addr));
}

static void
a_listening_socket_is_found_with_its_address(void)
{
	struct sockaddr_in addr;
	struct wanted w = { 0 };
	struct sockdiag d;
	struct pair p;

	listen_tcp(&p, INADDR_LOOPBACK);
	memcpy(&addr, &p.addr, sizeof(addr));
	w.inode = inode_of(p.listener);
	(void)sockdiag_init(&d);
	CHECK(sockdiag_tcp_all(&d, note_listening, &w));
	CHECK_EQ(addr.sin_port, w.addr.sin_port);
	CHECK_EQ(htonl(INADDR_LOOPBACK), w.addr.sin_addr.s_addr);
	sockdiag_fini(&d);
	close_pair(&p);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	if (mkdtemp(folder) == NULL)
		err(1, "%s", folder);
	RUN(a_tcp_connection_counts_while_a_process_has_it);
	RUN(a_listener_at_any_address_has_all_of_its_port);
	RUN(a_unix_connection_counts_while_a_process_has_it);
	RUN(connections_of_another_socket_do_not_count);
	RUN(the_same_port_at_another_address_does_not_count);
	RUN(connections_count_after_their_file_was_removed);
	RUN(connections_without_a_file_are_unknown);
	RUN(a_listening_socket_is_found_with_its_address);
	RUN(the_sockets_of_a_process_are_found);
	(void)rmdir(folder);
	return check_finish();
}
