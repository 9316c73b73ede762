#ifndef TESTS_E2E_WORKERS_ACCEPTOR_SERVE_H
#define TESTS_E2E_WORKERS_ACCEPTOR_SERVE_H

/* The requests that acceptor obeys. */

#include <sys/socket.h>
#include <sys/syscall.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_long count;

/* An accepted connection. */
struct served {
	int fd;
	struct sockaddr_storage peer;
	socklen_t peer_len; /* 0: accept() was called without an address */
};

static void
sleep_for(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) == -1 && errno == EINTR)
		continue;
}

static const char *
do_sleep(const char *argument)
{
	sleep_for(strtol(argument, NULL, 10));
	return "slept";
}

/* Waits until there is a file of that name. */
static const char *
do_wait(const char *path)
{
	while (access(path, F_OK) == -1)
		sleep_for(1);
	return "waited";
}

/* Computes until there is a file of that name. */
static const char *
do_burn(const char *path)
{
	while (access(path, F_OK) == -1)
		for (volatile int i = 0; i < 1000000; i++)
			continue;
	return "burned";
}

static const char *
do_exit(const char *argument)
{
	_exit((int)strtol(argument, NULL, 10));
}

static const char *
do_kill(const char *argument)
{
	(void)kill(getpid(), (int)strtol(argument, NULL, 10));
	return "alive";
}

static const char *
do_env(const char *argument)
{
	const char *value = getenv(argument);

	return value == NULL ? "unset" : value;
}

/* Whether io_uring would be another way to accept. */
static const char *
do_ring(const char *argument)
{
	(void)argument;
	return syscall(SYS_io_uring_setup, 0, NULL) == -1 ? strerror(errno)
							  : "a ring";
}

/* The wait comes after the close: see serve(). */
static const char *
do_afterwards(const char *argument)
{
	return argument;
}

/* Requests, one line each: WORD ARGUMENT. */
static const struct {
	const char *word;
	const char *(*obey)(const char *argument);
} request_rows[] = {
	{ "sleep ", do_sleep },
	{ "wait ", do_wait },
	{ "burn ", do_burn },
	{ "exit ", do_exit },
	{ "kill ", do_kill },
	{ "env ", do_env },
	{ "ring", do_ring },
	{ "afterwards ", do_afterwards },
};

static const char *
obey(char *line)
{
	line[strcspn(line, "\r\n")] = '\0';
	for (size_t i = 0; i < sizeof(request_rows) / sizeof(request_rows[0]);
	     i++) {
		size_t len = strlen(request_rows[i].word);

		if (strncmp(line, request_rows[i].word, len) == 0)
			return request_rows[i].obey(line + len);
	}
	return "hello";
}

static const char *
peer_text(const struct served *s, char *buf, size_t size)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&s->peer;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&s->peer;
	char ip[INET6_ADDRSTRLEN] = "";

	if (s->peer_len == 0)
		return "-";
	switch (s->peer.ss_family) {
	case AF_INET:
		inet_ntop(AF_INET, &in->sin_addr, ip, sizeof(ip));
		snprintf(buf, size, "%s:%d", ip, ntohs(in->sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof(ip));
		snprintf(buf, size, "[%s]:%d", ip, ntohs(in6->sin6_port));
		break;
	default:
		snprintf(buf, size, "family%d/%d", s->peer.ss_family,
		    (int)s->peer_len);
		break;
	}
	return buf;
}

static const char *
flags_text(int fd)
{
	bool cloexec = (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
	bool nonblock = (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;

	if (cloexec)
		return nonblock ? "cloexec,nonblock" : "cloexec";
	return nonblock ? "nonblock" : "-";
}

static void
read_line(int fd, char *line, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t used = 0;

	while (used < size - 1) {
		ssize_t n = read(fd, line + used, size - 1 - used);

		if (n == -1 && (errno == EINTR || errno == EAGAIN)) {
			(void)poll(&p, 1, -1);
			continue;
		}
		if (n <= 0)
			break;
		used += (size_t)n;
		if (memchr(line, '\n', used) != NULL)
			break;
	}
	line[used] = '\0';
}

static void
serve(const struct served *s)
{
	char line[256], text[256], peer[64];
	long number = atomic_fetch_add(&count, 1) + 1;
	const char *more;
	int len;

	read_line(s->fd, line, sizeof(line));
	more = obey(line);
	len = snprintf(text, sizeof(text), "%ld %ld %s %s %s\n", (long)getpid(),
	    number, peer_text(s, peer, sizeof(peer)), flags_text(s->fd), more);
	(void)send(s->fd, text, (size_t)len, MSG_NOSIGNAL);
	(void)close(s->fd);
	/* Work of a program after its client is gone. */
	if (strncmp(line, "afterwards ", 11) == 0)
		(void)do_wait(line + 11);
}

#endif
