/*
 * pass: the least a dispatcher can be.
 *
 *     pass ADDRESS N PROGRAM [ARGUMENT ...]
 *
 * Starts N of PROGRAM, each with a SEQPACKET socket named by APPPOOL_FD, and
 * hands each connection to the process that fell idle last: accept4, sendmsg
 * with SCM_RIGHTS, close, and one receive of the message by which it is idle
 * again.  The listener is edge-triggered, so that no call is spent on it while
 * all are busy.  No limits, no time, no counters, no care for deaths.
 *
 * ADDRESS is HOST:PORT or unix:PATH.  It ends with its parent, and its
 * children with it.
 */

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "../../support/endpoint.h"

enum {
	WORKERS_MAX = 10000,
	BATCH = 256,
	LISTENER = WORKERS_MAX
};

static int channels[WORKERS_MAX];
static uint32_t idle[WORKERS_MAX];
static size_t idle_count;

static void
watch(int epfd, int fd, uint32_t what, uint32_t id)
{
	struct epoll_event ev = { .events = what, .data.u32 = id };

	if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) == -1)
		err(EX_OSERR, "epoll_ctl");
}

static int
start(char **argv)
{
	char number[16];
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		err(EX_OSERR, "socketpair");
	switch (fork()) {
	case -1:
		err(EX_OSERR, "fork");
	case 0:
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)fcntl(pair[1], F_SETFD, 0);
		(void)snprintf(number, sizeof(number), "%d", pair[1]);
		(void)setenv("APPPOOL_FD", number, 1);
		(void)execv(argv[0], argv);
		err(EX_UNAVAILABLE, "%s", argv[0]);
	default:
		(void)close(pair[1]);
		return pair[0];
	}
}

static void
hand(int channel, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
			  .cmsg_level = SOL_SOCKET,
			  .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { .iov_base = (char[]){ "CONN 1 0" }, .iov_len = 8 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (sendmsg(channel, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) == -1)
		err(EX_OSERR, "sendmsg");
	(void)close(fd);
}

static void
dispatch(int epfd, int listener)
{
	struct epoll_event ev[BATCH];
	char word[16];
	bool waiting = false;

	for (;;) {
		int fd, i, n = epoll_wait(epfd, ev, BATCH, -1);

		for (i = 0; i < n; i++) {
			uint32_t id = ev[i].data.u32;

			if (id == LISTENER)
				waiting = true;
			else if (recv(channels[id], word, sizeof(word), 0) > 0)
				idle[idle_count++] = id;
			else
				errx(EX_SOFTWARE, "a worker ended");
		}
		while (waiting && idle_count > 0) {
			fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
			waiting = fd != -1 || errno != EAGAIN;
			if (fd != -1)
				hand(channels[idle[--idle_count]], fd);
		}
	}
}

int
main(int argc, char **argv)
{
	struct endpoint at;
	int listener, workers, i, epfd = epoll_create1(EPOLL_CLOEXEC);

	workers = argc < 4 ? 0 : atoi(argv[2]);
	if (workers < 1 || workers > WORKERS_MAX ||
	    endpoint_parse(argv[1], &at) == -1)
		errx(EX_USAGE, "usage: pass address n program [argument ...]");
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	listener = endpoint_listen(&at, 1024);
	if (listener == -1)
		err(EX_CANTCREAT, "%s", argv[1]);
	(void)fcntl(listener, F_SETFL, O_NONBLOCK);
	watch(epfd, listener, EPOLLIN | EPOLLET, LISTENER);
	for (i = 0; i < workers; i++) {
		channels[i] = start(argv + 3);
		watch(epfd, channels[i], EPOLLIN, (uint32_t)i);
	}
	dispatch(epfd, listener);
}
