/*
 * worker: the program of all pools in the benches.
 *
 *     worker shared    accepts from the listener on descriptor 0
 *     worker passed [USEC]
 *                      is handed connections by the worker protocol, spoken
 *                      here by hand: the same bytes for pass and for apppoold;
 *                      before it says that it is ready it sleeps for USEC
 *
 * A request is one line, and says what is to be done before the answer:
 *
 *     -            nothing
 *     spin N       N rounds of spin()
 *     sleep USEC   sleep; the answer is the time at which the request was
 *                  begun, in nanoseconds of CLOCK_MONOTONIC, and the pid
 */

#include <sys/prctl.h>
#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "../../support/spin.h"

static void
nap(uint64_t usec)
{
	const struct timespec length = {
		.tv_sec = (time_t)(usec / 1000000),
		.tv_nsec = (long)(usec % 1000000) * 1000,
	};

	(void)nanosleep(&length, NULL);
}

static size_t
work_sleep(uint64_t usec, char *answer, size_t size)
{
	struct timespec begun;

	(void)clock_gettime(CLOCK_MONOTONIC, &begun);
	nap(usec);
	return (size_t)snprintf(answer, size, "%lld%09ld %ld\n",
	    (long long)begun.tv_sec, begun.tv_nsec, (long)getpid());
}

static void
serve(int fd)
{
	char line[64], answer[64] = "ok\n";
	size_t len = 3;
	uint64_t n;
	ssize_t got = recv(fd, line, sizeof(line) - 1, 0);

	if (got > 0) {
		line[got] = '\0';
		if (sscanf(line, "spin %" SCNu64, &n) == 1)
			(void)spin(n);
		else if (sscanf(line, "sleep %" SCNu64, &n) == 1)
			len = work_sleep(n, answer, sizeof(answer));
		(void)send(fd, answer, len, MSG_NOSIGNAL);
	}
	(void)close(fd);
}

static int
worker_shared(void)
{
	for (;;) {
		int fd = accept4(STDIN_FILENO, NULL, NULL, SOCK_CLOEXEC);

		if (fd != -1)
			serve(fd);
		else if (errno != ECONNABORTED && errno != EINTR)
			err(EX_OSERR, "accept4");
	}
}

/* Receives the next message; its descriptor, or -1, is left in `fd_out`. */
static ssize_t
receive(int channel, char *buf, size_t size, int *fd_out)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const struct cmsghdr *cmsg;
	ssize_t n = recvmsg(channel, &msg, MSG_CMSG_CLOEXEC);

	*fd_out = -1;
	cmsg = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (cmsg != NULL && cmsg->cmsg_type == SCM_RIGHTS)
		memcpy(fd_out, CMSG_DATA(cmsg), sizeof(*fd_out));
	return n;
}

static void
say(int channel, const char *word)
{
	if (send(channel, word, strlen(word), MSG_NOSIGNAL) == -1)
		err(EX_OSERR, "%s", word);
}

static int
worker_passed(uint64_t start_usec)
{
	const char *number = getenv("APPPOOL_FD");
	int channel = number == NULL ? -1 : atoi(number);
	char message[128];
	int fd;

	if (start_usec > 0)
		nap(start_usec);
	say(channel, "READY");
	/* All other messages of the protocol are a form of "the end". */
	while (
	    receive(channel, message, sizeof(message), &fd) > 0 && fd != -1) {
		serve(fd);
		say(channel, "DONE");
	}
	return 0;
}

int
main(int argc, char **argv)
{
	/* Without this every sleep would be 50 microseconds too long. */
	(void)prctl(PR_SET_TIMERSLACK, 1);
	if (argc == 2 && strcmp(argv[1], "shared") == 0)
		return worker_shared();
	if ((argc == 2 || argc == 3) && strcmp(argv[1], "passed") == 0)
		return worker_passed(
		    argc == 3 ? strtoull(argv[2], NULL, 10) : 0);
	errx(EX_USAGE, "usage: worker shared | passed [USEC]");
}
