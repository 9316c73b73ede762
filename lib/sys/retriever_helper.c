/* Taking back, the helper's side: whoever blocks here blocks only here. */

#include <sys/prctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "sys/fdpass.h"
#include "sys/retriever.h"
#include "sys/retriever_helper.h"

/* Where the socket is, so that all above can be closed. */
#define SOCK 3

static void
settle_down(int sock)
{
	sigset_t all;
	int null;

	/* A signal to the daemon's group is not for us: we are still needed. */
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, "retriever");

	sock = fcntl(sock, F_DUPFD, SOCK + 1);
	if (sock == -1 || dup2(sock, SOCK) == -1)
		_exit(1);
	/* Never free numbers, which a descriptor to be passed on could get. */
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < SOCK && null != -1; fd++)
		(void)dup2(null, fd);
	(void)close_range(SOCK + 1, ~0U, 0);
}

/* What fails for want of something is tried again, until we are killed. */
static void
rest(void)
{
	static const struct timespec span = { .tv_nsec = TSPAN_MSECONDS(5) };

	(void)nanosleep(&span, NULL);
}

static void
say(const char *buf, size_t len, int fd)
{
	struct pollfd room = { .fd = SOCK, .events = POLLOUT };

	while (fdpass_send(SOCK, buf, len, fd) == -1) {
		if (errno == EPIPE || errno == ECONNRESET)
			_exit(0);
		if (errno == EAGAIN)
			(void)poll(&room, 1, -1);
		else
			rest();
	}
}

static void
close_all(const struct fdpass_got *got)
{
	for (size_t i = 0; i < got->nfds; i++)
		(void)close(got->fds[i]);
}

static void
empty(int held)
{
	char buf[1 + RETRIEVER_MESSAGE_MAX] = RETRIEVER_MESSAGE;
	struct fdpass_got got;
	ssize_t n;

	for (;;) {
		n = fdpass_recv(
		    held, buf + 1, sizeof(buf) - 1, MSG_DONTWAIT, &got);
		if (n > 0) {
			say(buf, 1 + (size_t)n, got.nfds > 0 ? got.fds[0] : -1);
			close_all(&got);
		} else if (n == 0 || errno == EAGAIN) {
			break;
		} else if (errno != EINTR) {
			rest();
		}
	}
}

noreturn void
retriever_helper(int sock)
{
	char ask[sizeof(RETRIEVER_ASK)];
	struct fdpass_got got;
	ssize_t n;

	settle_down(sock);
	for (;;) {
		n = fdpass_recv(SOCK, ask, sizeof(ask), 0, &got);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		/* Could we not receive it, another helper may. */
		if (got.nfds == 0)
			_exit(1);
		empty(got.fds[0]);
		close_all(&got);
		/* Now the daemon's copy is the last one of ours. */
		say(RETRIEVER_END, 1, -1);
	}
}
