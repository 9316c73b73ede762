/*
 * strict WAY: a program under handoff = accept that waits for connections in
 * one way, at both numbers of its socket, and ends if a call that the library
 * of apppool-accept answers changes errno without need, calls malloc(), or
 * changes what was to be polled.
 */

#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK EXDEV /* which no call here fails with */
#define CHECKED(call) check(#call, (begin(), (call)))

/* glibc's names of poll() and ppoll() for programs with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *p, nfds_t n, int timeout, size_t room);
int __ppoll_chk(struct pollfd *p, nfds_t n, const struct timespec *t,
    const sigset_t *s, size_t room);

static volatile bool forbidden; /* to allocate */

/* ASan has a malloc() of its own. */
#ifndef __SANITIZE_ADDRESS__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);

void *
malloc(size_t size)
{
	if (forbidden)
		abort();
	return __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	if (forbidden)
		abort();
	return __libc_calloc(n, size);
}
#endif

static void
begin(void)
{
	errno = MARK;
	forbidden = true;
}

static int
check(const char *call, int result)
{
	int error = errno;

	forbidden = false;
	if (result == -1)
		err(71, "%s", call);
	if (error != MARK)
		errx(70, "%s: errno is %d", call, error);
	return result;
}

static struct pollfd both[2];

static void
by_poll(void)
{
	CHECKED(poll(both, 2, -1));
}

static void
by_ppoll(void)
{
	CHECKED(ppoll(both, 2, NULL, NULL));
}

static void
by_poll_chk(void)
{
	CHECKED(__poll_chk(both, 2, -1, sizeof(both)));
}

static void
by_ppoll_chk(void)
{
	CHECKED(__ppoll_chk(both, 2, NULL, NULL, sizeof(both)));
}

static void
by_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(0, &set);
	CHECKED(select(1, &set, NULL, NULL, NULL));
	if (!FD_ISSET(0, &set))
		errx(70, "select: the socket is not in the set");
}

static void
by_pselect(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(3, &set);
	CHECKED(pselect(4, &set, NULL, NULL, NULL, NULL));
	if (!FD_ISSET(3, &set))
		errx(70, "pselect: the socket is not in the set");
}

static void
by_epoll(void)
{
	static int epoll = -1;
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = 3 };

	if (epoll == -1) {
		epoll = epoll_create1(EPOLL_CLOEXEC);
		CHECKED(epoll_ctl(epoll, EPOLL_CTL_ADD, 3, &event));
	}
	event.data.u32 = 0;
	CHECKED(epoll_pwait(epoll, &event, 1, -1, NULL));
	if (event.data.u32 != 3)
		errx(70, "epoll_pwait: it is not the socket");
}

static void
by_accept(void)
{
}

static const struct {
	const char *name;
	void (*wait)(void);
} ways[] = {
	{ "poll", by_poll },
	{ "ppoll", by_ppoll },
	{ "__poll_chk", by_poll_chk },
	{ "__ppoll_chk", by_ppoll_chk },
	{ "select", by_select },
	{ "pselect", by_pselect },
	{ "epoll", by_epoll },
	{ "accept", by_accept },
};

static void
serve(unsigned count)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	char line[100];
	FILE *file;
	int fd;

	if (count % 2 == 0)
		fd = CHECKED(accept(0, (struct sockaddr *)&peer, &len));
	else
		fd = CHECKED(accept4(3, NULL, NULL, SOCK_CLOEXEC));
	(void)!read(fd, line, sizeof(line));
	if (count % 4 < 2) {
		(void)!write(fd, "got it\n", 7);
		CHECKED(close(fd));
		return;
	}
	file = fdopen(fd, "w");
	if (file == NULL || fputs("got it\n", file) == EOF)
		err(71, "fdopen");
	CHECKED(fclose(file));
}

int
main(int argc, char **argv)
{
	size_t way = 0;

	if (argc != 2)
		errx(64, "usage: strict WAY");
	while (strcmp(ways[way].name, argv[1]) != 0)
		if (++way == sizeof(ways) / sizeof(ways[0]))
			errx(64, "%s: no such way", argv[1]);
	for (unsigned count = 0;; count++) {
		both[0] = (struct pollfd){ .fd = 0, .events = POLLIN };
		both[1] = (struct pollfd){ .fd = 3, .events = POLLIN };
		ways[way].wait();
		if (both[0].fd != 0 || both[1].fd != 3)
			errx(70, "%s: the numbers are others now", argv[1]);
		if (both[0].revents != both[1].revents)
			errx(70, "%s: one number is ready alone", argv[1]);
		serve(count);
	}
}
