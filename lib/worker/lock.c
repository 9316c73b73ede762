/*
 * Locks with a limit, of a PoolCounter service.
 *
 * A connection can wait for one lock at a time, and its end is the end of its
 * locks, so each thread has its own.  A process that was forked must not
 * speak on the connection of its parent: it gets a new one.
 */

#include <sys/socket.h>

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sys/address.h"
#include "sys/number.h"
#include "sys/wire.h"

#pragma GCC visibility push(default)
#include "worker/apppool.h"
#pragma GCC visibility pop

/* Longest line of the protocol, with its LF. */
#define LINE_SIZE 1024

/* A service that does not take a connection in so many milliseconds is gone. */
#define CONNECT_TIMEOUT 1000

/* Milliseconds for an answer that needs no waiting. */
#define GRACE 2000

#define KEY_MAX 900

/* A thread's connection to the service. */
struct service {
	int fd; /* -1: none */
	int pid; /* of the process that connected */
	unsigned held; /* locks */
};

static struct {
	pthread_once_t once;
	pthread_key_t key; /* struct service of each thread */
	int error; /* why there is no key; 0: there is */
	pthread_mutex_t lock; /* of address */
	char *address; /* NULL: the environment says it */
} locks = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static int
fail(int error)
{
	errno = error;
	return -1;
}

/* --- lines out, lines in ------------------------------------------------ */

static long
clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Waits for one of the events, or until the time is up. */
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

/* An address in its parts. */
struct place {
	struct sockaddr_un un;
	socklen_t len; /* of un; 0: it is TCP */
	char host[256];
	char port[6];
};

/* "HOST:PORT", of which an IPv6 address stands in brackets. 0, or -1. */
static int
parse_tcp(const char *address, struct place *out)
{
	const char *colon = strrchr(address, ':');
	size_t len = colon == NULL ? 0 : (size_t)(colon - address);
	uint64_t port;

	if (len > 1 && address[0] == '[' && colon[-1] == ']') {
		address++;
		len -= 2;
	} else if (len > 0 && memchr(address, ':', len) != NULL) {
		return -1;
	}
	if (len == 0 || len >= sizeof(out->host) ||
	    !number_parse(colon + 1, strlen(colon + 1), &port) || port == 0 ||
	    port > UINT16_MAX)
		return -1;
	memcpy(out->host, address, len);
	out->host[len] = '\0';
	(void)snprintf(out->port, sizeof(out->port), "%u", (unsigned)port);
	return 0;
}

/* Asks nobody. Returns 0, or -1 and EINVAL. */
static int
parse_address(const char *address, struct place *out)
{
	memset(out, 0, sizeof(*out));
	if (strncmp(address, "unix:", 5) == 0)
		out->len = address_of_name(address + 5, &out->un);
	else if (parse_tcp(address, out) == 0)
		return 0;
	return out->len > 0 ? 0 : fail(EINVAL);
}

static int
connect_tcp(const struct place *place)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV };
	struct addrinfo *list, *at;
	int fd = -1;

	if (getaddrinfo(place->host, place->port, &hints, &list) != 0)
		return fail(EHOSTUNREACH);
	for (at = list; at != NULL && fd == -1; at = at->ai_next)
		fd = connect_to(at->ai_addr, at->ai_addrlen);
	freeaddrinfo(list);
	return fd;
}

/* Connects within a second or so. Returns 0, or -1 and errno. */
static int
connect_to_service(struct service *s, const char *address)
{
	struct place place;

	s->held = 0;
	s->pid = getpid();
	if (parse_address(address, &place) == -1)
		return -1;
	s->fd = place.len > 0
	    ? connect_to((const struct sockaddr *)&place.un, place.len)
	    : connect_tcp(&place);
	return s->fd == -1 ? -1 : 0;
}

/* Closes the connection, by which its locks end. Keeps errno. */
static void
disconnect(struct service *s)
{
	int error = errno;

	if (s->fd != -1)
		(void)close(s->fd);
	s->fd = -1;
	s->held = 0;
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

/*
 * Sends len bytes, of which the last is LF, and waits up to `timeout`
 * milliseconds for the answer, a line, of which reply is left without its LF.
 * Returns 0, or -1 and errno: ECONNRESET at the end of the stream, ETIMEDOUT,
 * EPROTO for a line that is too long.
 */
static int
exchange(struct service *s, const char *line, size_t len, long timeout,
    char *reply, size_t size)
{
	long until = clock_ms() + timeout;
	size_t got = 0;

	if (send_all(s->fd, line, len, until) == -1)
		return -1;
	while (got < size) {
		ssize_t n = recv(s->fd, reply + got, size - got, 0);

		if (n == 0)
			return fail(ECONNRESET);
		if (n == -1 && errno == EAGAIN) {
			if (await(s->fd, POLLIN, until) == -1)
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
	return fail(EPROTO);
}

/* --- the connection of this thread -------------------------------------- */

static void
thread_ended(void *arg)
{
	struct service *s = arg;

	disconnect(s);
	free(s);
}

static void
make_key(void)
{
	locks.error = pthread_key_create(&locks.key, thread_ended);
}

/* Returns NULL and errno where there is no memory for it. */
static struct service *
my_service(void)
{
	struct service *s;

	pthread_once(&locks.once, make_key);
	if (locks.error != 0) {
		errno = locks.error;
		return NULL;
	}
	s = pthread_getspecific(locks.key);
	if (s == NULL) {
		s = calloc(1, sizeof(*s));
		if (s == NULL)
			return NULL;
		s->fd = -1;
		if (pthread_setspecific(locks.key, s) != 0) {
			free(s);
			errno = ENOMEM;
			return NULL;
		}
	}
	if (s->fd != -1 && s->pid != getpid())
		disconnect(s);
	return s;
}

int
apppool_counter(const char *address)
{
	struct place place;
	char *copy = NULL;

	if (address != NULL) {
		if (parse_address(address, &place) == -1)
			return -1;
		copy = strdup(address);
		if (copy == NULL)
			return -1;
	}
	pthread_mutex_lock(&locks.lock);
	free(locks.address);
	locks.address = copy;
	pthread_mutex_unlock(&locks.lock);
	return 0;
}

static int
connect_thread(struct service *s)
{
	char *address;
	int rc;

	pthread_mutex_lock(&locks.lock);
	address =
	    locks.address != NULL ? locks.address : getenv(WIRE_ENV_COUNTER);
	address = address == NULL ? NULL : strdup(address);
	pthread_mutex_unlock(&locks.lock);
	if (address == NULL)
		return fail(EDESTADDRREQ);
	rc = connect_to_service(s, address);
	free(address);
	return rc;
}

/* --- a question --------------------------------------------------------- */

/*
 * Asks once more, on a new connection, where an idle one has ended, as with a
 * restart of the service, and no lock is lost by that.
 */
static int
ask(struct service *s, const char *line, long timeout, char *reply, size_t size)
{
	bool fresh = s->fd == -1;
	size_t len = strlen(line);

	for (;;) {
		if (s->fd == -1 && connect_thread(s) == -1)
			return -1;
		if (exchange(s, line, len, timeout, reply, size) == 0)
			return 0;
		if (fresh || s->held > 0 ||
		    (errno != EPIPE && errno != ECONNRESET))
			break;
		disconnect(s);
		fresh = true;
	}
	if (errno == EPIPE)
		errno = ECONNRESET;
	disconnect(s);
	return -1;
}

/* Returns -1 and the errno of an answer that the request has no use for. */
static int
refuse_answer(struct service *s, const char *reply)
{
	static const char bound[] = "ERROR TOO_MANY_";

	if (strcmp(reply, "ERROR TOO_MANY_KEYS") == 0)
		return fail(ENOSPC);
	disconnect(s);
	return fail(
	    strncmp(reply, bound, sizeof(bound) - 1) == 0 ? ENOSPC : EPROTO);
}

static bool
is_key(const char *key)
{
	size_t len = key == NULL ? 0 : strlen(key);

	return len > 0 && len <= KEY_MAX && strcspn(key, " \r\n") == len;
}

/* Some services know whole seconds only. */
static void
format_timeout(int ms, char *buf, size_t size)
{
	if (ms % 1000 == 0)
		(void)snprintf(buf, size, "%d", ms / 1000);
	else
		(void)snprintf(buf, size, "%d.%03d", ms / 1000, ms % 1000);
}

int
apppool_lock(const char *key, int workers, int maxqueue, int timeout, int how)
{
	static const char *const words[] = { [APPPOOL_LOCKED] = "LOCKED",
		[APPPOOL_DONE] = "DONE",
		[APPPOOL_QUEUE_FULL] = "QUEUE_FULL",
		[APPPOOL_TIMEOUT] = "TIMEOUT" };
	char line[LINE_SIZE], reply[LINE_SIZE], seconds[32];
	struct service *s;

	if (!is_key(key) || workers < 1 || maxqueue < 1 || timeout < 0 ||
	    (how != APPPOOL_ME && how != APPPOOL_ANY))
		return fail(EINVAL);
	s = my_service();
	if (s == NULL)
		return -1;
	format_timeout(timeout, seconds, sizeof(seconds));
	(void)snprintf(line, sizeof(line), "%s %s %d %d %s\n",
	    how == APPPOOL_ANY ? "ACQ4ANY" : "ACQ4ME", key, workers, maxqueue,
	    seconds);
	if (ask(s, line, (long)timeout + timeout / 2 + GRACE, reply,
		sizeof(reply)) == -1)
		return -1;
	for (int i = APPPOOL_LOCKED; i <= APPPOOL_TIMEOUT; i++) {
		if (strcmp(reply, words[i]) == 0) {
			s->held += i == APPPOOL_LOCKED;
			return i;
		}
	}
	if (strcmp(reply, "LOCK_HELD") == 0)
		return fail(ENOLCK);
	return refuse_answer(s, reply);
}

int
apppool_unlock(const char *key)
{
	char line[LINE_SIZE], reply[LINE_SIZE];
	struct service *s;

	if (key != NULL && !is_key(key))
		return fail(EINVAL);
	s = my_service();
	if (s == NULL)
		return -1;
	/* Without a connection there is no lock to give back. */
	if (s->fd == -1)
		return fail(EPERM);
	(void)snprintf(line, sizeof(line), "RELEASE%s%s\n",
	    key == NULL ? "" : " ", key == NULL ? "" : key);
	if (ask(s, line, GRACE, reply, sizeof(reply)) == -1)
		return -1;
	if (strcmp(reply, "NOT_LOCKED") == 0)
		return fail(EPERM);
	if (strcmp(reply, "RELEASED") != 0)
		return refuse_answer(s, reply);
	if (s->held > 0)
		s->held--;
	return 0;
}
