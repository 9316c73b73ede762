/* Listening sockets that programs with a copy accept from. */

#include <sys/socket.h>
#include <sys/stat.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "sys/listener.h"
#include "sys/sockdiag.h"

#include "check.h"

static char folder[] = "/tmp/apppoold-share-test.XXXXXX";
static char path[64];
static struct sockaddr_in loopback;

static struct listener
opened(bool tcp)
{
	struct listener_spec spec = {
		.name = "shared",
		.inherited_fd = -1,
		.backlog = 10,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.mode = 0600,
	};
	const char *why = "";
	struct listener l;

	if (tcp) {
		spec.addr = (const void *)&loopback;
		spec.addrlen = sizeof(loopback);
	} else {
		spec.path = path;
	}
	if (listener_open(&l, &spec, &why) == -1 ||
	    listener_share(&l, true) == -1)
		err(1, "%s", why);
	return l;
}

/* -1 and errno, or a connected socket. */
static int
client_of(const struct listener *l, int flags)
{
	struct sockaddr_storage addr;
	socklen_t len = listener_address(l, &addr);
	int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	if (connect(fd, (const void *)&addr, len) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool
blocks(int fd)
{
	return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
}

static void
a_shared_listener_blocks(void)
{
	struct listener l = opened(true);

	CHECK(blocks(l.fd));
	CHECK_EQ(0, listener_share(&l, false));
	CHECK(!blocks(l.fd));
	listener_fini(&l);
}

/* A program that still has the socket makes it block again. */
static void
accepting_from_a_formerly_shared_listener_never_blocks(void)
{
	struct listener l = opened(true);

	CHECK_EQ(0, listener_share(&l, false));
	CHECK_EQ(0, fcntl(l.fd, F_SETFL, 0));
	CHECK_EQ(LISTENER_EMPTY, listener_accept(&l, 0));
	listener_fini(&l);
}

/* A shutdown of one copy shuts all copies down. */
static void
check_broken(bool tcp)
{
	struct listener l = opened(tcp);
	int copy = dup(l.fd), client = client_of(&l, 0);

	CHECK(!listener_is_broken(&l));
	NEED(shutdown(copy, SHUT_RDWR) == 0);
	CHECK(listener_is_broken(&l));
	close(copy);
	close(client);
	listener_fini(&l);
}

static void
a_shared_listener_that_was_shut_down_is_broken(void)
{
	check_broken(true);
	check_broken(false);
}

static void
hiding_a_unix_socket_removes_its_file_alone(void)
{
	struct listener l = opened(false);
	struct stat st;
	int client = client_of(&l, 0), conn;

	CHECK_EQ(0, listener_hide(&l));
	CHECK_EQ(-1, lstat(path, &st));
	CHECK(client_of(&l, 0) == -1);
	CHECK_EQ(ENOENT, errno);
	CHECK(!listener_is_broken(&l));
	conn = accept(l.fd, NULL, NULL);
	CHECK(conn != -1);
	close(conn);
	close(client);
	listener_fini(&l);
}

static void
hiding_a_tcp_socket_keeps_its_queue(void)
{
	struct listener l = opened(true);
	int client = client_of(&l, 0), conn;
	struct sockdiag diag;

	(void)sockdiag_init(&diag);
	if (listener_hide(&l) == -1) {
		CHECK_EQ(EPERM, errno);
	} else {
		CHECK(client_of(&l, SOCK_NONBLOCK) == -1);
		CHECK_EQ(EINPROGRESS, errno);
	}
	CHECK_EQ(1, listener_depth(&l, &diag));
	conn = accept(l.fd, NULL, NULL);
	CHECK(conn != -1);
	CHECK(send(client, "x", 1, MSG_NOSIGNAL) == 1);
	CHECK(recv(conn, &(char){ 0 }, 1, 0) == 1);
	close(conn);
	close(client);
	sockdiag_fini(&diag);
	listener_fini(&l);
}

int
main(int argc, char **argv)
{
	loopback.sin_family = AF_INET;
	loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (mkdtemp(folder) == NULL)
		err(1, "%s", folder);
	(void)snprintf(path, sizeof(path), "%s/sock", folder);

	check_start(argc, argv);
	RUN(a_shared_listener_blocks);
	RUN(accepting_from_a_formerly_shared_listener_never_blocks);
	RUN(a_shared_listener_that_was_shut_down_is_broken);
	RUN(hiding_a_unix_socket_removes_its_file_alone);
	RUN(hiding_a_tcp_socket_keeps_its_queue);
	(void)rmdir(folder);
	return check_finish();
}
