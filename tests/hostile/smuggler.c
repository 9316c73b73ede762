/*
 * A client that leaves a descriptor in its connection, whose last close takes
 * long:
 *
 *	smuggler socket SOCKET	a TCP connection that lingers, in a Unix
 *				socket; a child has the other end, and reads
 *				nothing
 *	smuggler pipe SOCKET	a pipe; a child holds its lock, as the page
 *				that it writes from never comes
 *
 * The number of the child is printed; it goes on until it is killed. The client
 * waits until its connection is closed.
 */

#include <sys/socket.h>
#include <sys/un.h>

#include <netinet/in.h>

#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "sys/fdpass.h"

#include "absent.h"

#define HOUR 3600

/* A child goes on with the other end of what is smuggled. */
static pid_t
child(void)
{
	pid_t pid = fork();

	if (pid == -1)
		err(1, "fork");
	if (pid == 0)
		return 0;
	printf("%ld\n", (long)pid);
	(void)fflush(stdout);
	return pid;
}

/* A connection in which more was sent than arrives. */
static int
lingering(void)
{
	const struct linger hour = { .l_onoff = 1, .l_linger = HOUR };
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	static char much[65536];
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) == -1 ||
	    listen(listener, 1) == -1 ||
	    getsockname(listener, (struct sockaddr *)&at, &len) == -1 ||
	    connect(fd, (struct sockaddr *)&at, sizeof(at)) == -1)
		err(1, "connection");
	if (child() == 0) {
		(void)close(fd);
		(void)pause();
	}
	while (send(fd, much, sizeof(much), MSG_DONTWAIT) > 0)
		continue;
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof(hour));
	return fd;
}

static int
in_a_socket(int fd)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == -1 ||
	    fdpass_send(pair[0], "x", 1, fd) == -1)
		err(1, "socketpair");
	(void)close(fd);
	(void)close(pair[0]);
	return pair[1];
}

/* The end to read, of a pipe whose lock is held. */
static int
locked_pipe(void)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends) == -1)
		err(1, "pipe");
	pid = child();
	if (pid == 0) {
		(void)close(ends[0]);
		(void)!write(ends[1], absent_page(), ABSENT_SIZE);
		_exit(0);
	}
	(void)close(ends[1]);
	(void)absent_awaited(pid);
	return ends[0];
}

int
main(int argc, char **argv)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct pollfd end = { .events = POLLRDHUP };
	int fd;

	if (argc != 3)
		errx(64, "usage: smuggler socket|pipe SOCKET");
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", argv[2]);
	fd = strcmp(argv[1], "pipe") == 0 ? locked_pipe()
					  : in_a_socket(lingering());
	end.fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(end.fd, (struct sockaddr *)&to, sizeof(to)) == -1 ||
	    fdpass_send(end.fd, "x", 1, fd) == -1)
		err(1, "%s", argv[2]);
	(void)close(fd);
	(void)poll(&end, 1, -1);
	return 0;
}
