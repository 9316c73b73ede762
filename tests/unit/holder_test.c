/* Which process listens where we would. */

#include <sys/socket.h>

#include <errno.h>
#include <netinet/in.h>

#include "sys/address.h"
#include "sys/holder.h"

#include "check.h"

/* "holder_test (pid 4711)" */
static const char *
me(void)
{
	static char text[HOLDER_SIZE];

	(void)snprintf(
	    text, sizeof(text), "holder_test (pid %d)", (int)getpid());
	return text;
}

static void
the_holder_of_a_tcp_address_is_named(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof(in);
	struct listener_spec spec = { .addr = (void *)&in, .inherited_fd = -1 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char buf[HOLDER_SIZE];
	const char *holder;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	NEED(bind(fd, (void *)&in, len) == 0 && listen(fd, 1) == 0 &&
	    getsockname(fd, (void *)&in, &len) == 0);
	holder = holder_find(&spec, buf);
	NEED(holder != NULL);
	CHECK_STR(me(), holder);
	/* The wildcard is in its way, too. */
	in.sin_addr.s_addr = htonl(INADDR_ANY);
	CHECK(holder_find(&spec, buf) != NULL);
	close(fd);
	CHECK(holder_find(&spec, buf) == NULL);
}

static void
the_holder_of_a_unix_socket_is_named(void)
{
	char folder[] = "/tmp/apppoold-holder-test.XXXXXX", path[64];
	struct listener_spec spec = { .path = path, .inherited_fd = -1 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un un;
	char buf[HOLDER_SIZE];
	const char *holder;
	socklen_t len;

	NEED(mkdtemp(folder) != NULL);
	(void)snprintf(path, sizeof(path), "%s/a socket", folder);
	len = address_of_path(path, &un);
	NEED(bind(fd, (void *)&un, len) == 0 && listen(fd, 1) == 0);
	holder = holder_find(&spec, buf);
	NEED(holder != NULL);
	CHECK_STR(me(), holder);
	close(fd);
	CHECK(holder_find(&spec, buf) == NULL);
	(void)unlink(path);
	(void)rmdir(folder);
}

static const char *
explained(const struct listener_spec *spec, int error, bool look)
{
	static char text[128];

	errno = error;
	(void)holder_explain(spec, look, text, sizeof(text));
	CHECK_EQ(error, errno);
	return text;
}

static void
a_failure_is_explained_by_what_is_in_the_way(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof(in);
	struct listener_spec spec = { .addr = (void *)&in, .inherited_fd = -1 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const char *text;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	NEED(bind(fd, (void *)&in, len) == 0 && listen(fd, 1) == 0 &&
	    getsockname(fd, (void *)&in, &len) == 0);
	text = explained(&spec, EADDRINUSE, true);
	CHECK(strncmp(text, "Address already in use, by ", 27) == 0);
	CHECK_STR(me(), text + 27);
	CHECK_STR(
	    "Address already in use", explained(&spec, EADDRINUSE, false));
	CHECK_STR("Permission denied; ports under 1024 are for root",
	    explained(&spec, EACCES, false));
	close(fd);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(the_holder_of_a_tcp_address_is_named);
	RUN(the_holder_of_a_unix_socket_is_named);
	RUN(a_failure_is_explained_by_what_is_in_the_way);
	return check_finish();
}
