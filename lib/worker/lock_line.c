/* A connection to the PoolCounter service. */

#include <sys/socket.h>

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/address.h"
#include "worker/lock.h"

/* Who does not answer a connect within so many milliseconds is not there. */
#define CONNECT_TIMEOUT 1000

static long
clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Waits until something of events has come, or the time is up. */
static int
await(int fd, short events, long until)
{
	struct pollfd p = { .fd = fd, .events = events };
	long left;
	int n;

	do {
		left = until - clock_ms();
		n = poll(&p, 1, left < 0 ? 0 : (int)left);
	} while (n == -1 && errno == EINTR);
	if (n == 0)
		errno = ETIMEDOUT;
	return n == 1 ? 0 : -1;
}

static int
connect_to(const struct sockaddr *addr, socklen_t len)
{
	long until = clock_ms() + CONNECT_TIMEOUT;
	int fd, error = 0;
	const int on = 1;
	socklen_t size = sizeof(error);

	fd = socket(
	    addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return -1;
	if (connect(fd, addr, len) == -1) {
		if (errno != EINPROGRESS || await(fd, POLLOUT, until) == -1 ||
		    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == -1)
			error = errno;
	}
	if (error != 0) {
		(void)close(fd);
		errno = error;
		return -1;
	}
	if (addr->sa_family != AF_UNIX)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static int
connect_unix(const char *path)
{
	struct sockaddr_un un;
	socklen_t len = address_of_name(path, &un);

	if (len == 0) {
		errno = EINVAL;
		return -1;
	}
	return connect_to((const struct sockaddr *)&un, len);
}

static int
connect_tcp(const char *address)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV };
	struct addrinfo *list, *at;
	char host[256];
	const char *colon = strrchr(address, ':');
	size_t len = colon == NULL ? 0 : (size_t)(colon - address);
	int fd = -1;

	if (len > 1 && address[0] == '[' && colon[-1] == ']') {
		address++;
		len -= 2;
	}
	if (len == 0 || len >= sizeof(host)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(host, address, len);
	host[len] = '\0';
	if (getaddrinfo(host, colon + 1, &hints, &list) != 0) {
		errno = EHOSTUNREACH;
		return -1;
	}
	for (at = list; at != NULL && fd == -1; at = at->ai_next)
		fd = connect_to(at->ai_addr, at->ai_addrlen);
	freeaddrinfo(list);
	return fd;
}

int
lock_connect(struct lock_line *l, const char *address)
{
	l->held = 0;
	l->pid = getpid();
	l->fd = strncmp(address, "unix:", 5) == 0 ? connect_unix(address + 5)
						  : connect_tcp(address);
	return l->fd == -1 ? -1 : 0;
}

void
lock_close(struct lock_line *l)
{
	int error = errno;

	if (l->fd != -1)
		(void)close(l->fd);
	l->fd = -1;
	l->held = 0;
	errno = error;
}

static int
send_all(int fd, const char *line, size_t len, long until)
{
	while (len > 0) {
		ssize_t n = send(fd, line, len, MSG_NOSIGNAL);

		if (n >= 0) {
			line += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (await(fd, POLLOUT, until) == -1)
				return -1;
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

int
lock_ask(struct lock_line *l, const char *line, size_t len, long timeout,
    char *reply, size_t size)
{
	long until = clock_ms() + timeout;
	size_t got = 0;

	if (send_all(l->fd, line, len, until) == -1)
		return -1;
	while (got < size) {
		ssize_t n = recv(l->fd, reply + got, size - got, 0);

		if (n == 0) {
			errno = ECONNRESET;
			return -1;
		}
		if (n == -1 && errno == EAGAIN) {
			if (await(l->fd, POLLIN, until) == -1)
				return -1;
		} else if (n == -1 && errno != EINTR) {
			return -1;
		}
		if (n <= 0)
			continue;
		got += (size_t)n;
		if (reply[got - 1] == '\n') {
			reply[got - 1] = '\0';
			return 0;
		}
	}
	errno = EPROTO;
	return -1;
}
