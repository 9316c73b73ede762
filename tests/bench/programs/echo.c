/*
 * echo: what a loop of epoll_wait(), recv() and send() can do, and nothing
 * else: the floor under any server that answers lines.
 *
 *     echo ADDRESS
 *
 * ADDRESS is HOST:PORT or unix:PATH.  It ends with its parent.
 */

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sysexits.h>
#include <unistd.h>

#include "../../support/endpoint.h"

enum {
	BATCH = 256,
	BUFFER = 4096
};

static void
watch(int epfd, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) == -1)
		err(EX_OSERR, "epoll_ctl");
}

static void
take_in(int epfd, int listener)
{
	const int on = 1;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd == -1)
		return;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	watch(epfd, fd);
}

static void
answer(int fd)
{
	char buf[BUFFER];
	ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n <= 0 ||
	    send(fd, buf, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) != n)
		(void)close(fd);
}

int
main(int argc, char **argv)
{
	struct epoll_event events[BATCH];
	struct endpoint at;
	int epfd, listener, i, n;

	if (argc != 2 || endpoint_parse(argv[1], &at) == -1)
		errx(EX_USAGE, "usage: echo address");
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	listener = endpoint_listen(&at, 1024);
	epfd = epoll_create1(EPOLL_CLOEXEC);
	if (listener == -1 || epfd == -1)
		err(EX_CANTCREAT, "%s", argv[1]);
	watch(epfd, listener);
	for (;;) {
		n = epoll_wait(epfd, events, BATCH, -1);
		for (i = 0; i < n; i++) {
			if (events[i].data.fd == listener)
				take_in(epfd, listener);
			else
				answer(events[i].data.fd);
		}
	}
}
