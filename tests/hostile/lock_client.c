/*
 * A client of the counter that wants to hold the daemon up.
 *
 *     lock_client ADDRESS CONNECTIONS stats|wake|hold
 *
 *     stats  each connection asks for all figures, as often as a read of the
 *            daemon may hold, and again as soon as it is answered
 *     wake   all wait for one, which lets all go on at the same time
 *     hold   each locks four keys and says nothing more
 *
 * Prints "ready" when all are connected, and with hold have their locks; goes
 * on until it is killed.
 */

#include <sys/epoll.h>
#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "../support/clients.h"
#include "../support/endpoint.h"
#include "../support/locks.h"

static const char command[] = "STATS FULL\n";

enum {
	COMMAND = sizeof(command) - 1,
	BURST = 4096 / COMMAND
};

/* A connection of `stats`; its next burst goes on at this byte. */
struct asker {
	int fd;
	size_t sent;
};

static char burst[BURST * COMMAND];

static int *
dial_all(const char *address, int count)
{
	struct endpoint to;
	int *fds = calloc((size_t)count, sizeof(*fds));

	if (endpoint_parse(address, &to) == -1)
		errx(EX_USAGE, "no address: %s", address);
	if (fds == NULL)
		err(EX_OSERR, NULL);
	for (int i = 0; i < count; i++)
		if ((fds[i] = endpoint_connect(&to)) == -1)
			err(EX_UNAVAILABLE, "connect");
	return fds;
}

static void
ask(struct asker *a)
{
	ssize_t n = send(a->fd, burst + a->sent, sizeof(burst) - a->sent,
	    MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0)
		a->sent = (a->sent + (size_t)n) % sizeof(burst);
}

static void
hear(const struct asker *a)
{
	static char answers[1 << 20];
	ssize_t n = recv(a->fd, answers, sizeof(answers), MSG_DONTWAIT);

	if (n == 0 || (n == -1 && errno != EAGAIN))
		errx(EX_PROTOCOL, "turned away");
}

/* A burst follows the first answer to the one before. */
static void
stats(const int *fds, int count)
{
	struct asker *askers = calloc((size_t)count, sizeof(*askers));
	struct epoll_event seen[64];
	int epfd = epoll_create1(EPOLL_CLOEXEC);

	if (askers == NULL || epfd == -1)
		err(EX_OSERR, NULL);
	for (int i = 0; i < BURST; i++)
		memcpy(burst + i * COMMAND, command, COMMAND);
	for (int i = 0; i < count; i++) {
		struct epoll_event ev = { .events = EPOLLIN,
			.data.ptr = &askers[i] };

		askers[i].fd = fds[i];
		if (epoll_ctl(epfd, EPOLL_CTL_ADD, fds[i], &ev) == -1)
			err(EX_OSERR, "epoll_ctl");
		ask(&askers[i]);
	}
	for (;;) {
		int n = epoll_wait(epfd, seen, 64, -1);

		for (int i = 0; i < n; i++) {
			hear(seen[i].data.ptr);
			ask(seen[i].data.ptr);
		}
	}
}

int
main(int argc, char **argv)
{
	struct locks l = { .span = TSTAMP_NEVER };

	if (argc != 4 || (l.count = atoi(argv[2])) < 1)
		errx(EX_USAGE,
		    "lock_client address connections stats|wake|hold");
	(void)clients_raise_nofile();
	l.fds = dial_all(argv[1], l.count);
	if (strcmp(argv[3], "hold") == 0)
		locks_hold(&l);
	(void)puts("ready");
	(void)fflush(stdout);
	if (strcmp(argv[3], "stats") == 0)
		stats(l.fds, l.count);
	if (strcmp(argv[3], "wake") == 0)
		locks_wake_all(&l);
	(void)pause();
	return 0;
}
