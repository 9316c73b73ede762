/*
 * Locks with a limit, of a PoolCounter service.
 *
 * A connection can wait for one lock at a time, and its end is the end of its
 * locks, so each thread has its own, one to each server.  A process that was
 * forked must not speak on the connection of its parent: it gets a new one.
 */

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sha1.h>

#include "sys/address.h"
#include "sys/number.h"
#include "sys/serverlist.h"
#include "sys/wire.h"
#include "worker/worker.h"

#pragma GCC visibility push(default)
#include "worker/apppool.h"
#pragma GCC visibility pop

/* Longest line of the protocol, with its LF. */
#define LINE_SIZE 1024

/* Milliseconds that a server has to take a connection, as in MediaWiki. */
#define CONNECT_TIMEOUT 100

/* Milliseconds for which a server that took none is not tried again. */
#define DOWN_REST 1000

/* Milliseconds for an answer that needs no waiting. */
#define GRACE 2000

/* The port where an address has none. */
#define DEFAULT_PORT 7531

#define KEY_MAX 900

/* Locks of a thread at most; a server allows as many on a connection. */
#define LOCKS_MAX 4

/* A thread's connection to one of the servers. */
struct server {
	int fd; /* -1: none */
	bool used; /* it has answered on this connection */
	long retry_at; /* not tried before, in milliseconds */
	int error; /* why not */
};

struct held {
	struct server *server;
	char *key;
};

/* The service as a thread knows it. */
struct service {
	int pid; /* of the process that made the connections */
	char *address; /* the servers are those of this text; NULL: none */
	char *names; /* its copy, in which the names lie */
	struct serverlist list;
	struct server servers[SERVERLIST_MAX]; /* as in list */
	unsigned nlocks;
	struct held locks[LOCKS_MAX]; /* the newest is the last */
};

static struct {
	pthread_once_t once;
	pthread_key_t key; /* struct service of each thread */
	int error; /* why there is no key; 0: there is */
	pthread_mutex_t lock; /* of address */
	char *address; /* NULL: the environment says it */
	atomic_int connect_timeout;
} locks = { .once = PTHREAD_ONCE_INIT,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.connect_timeout = CONNECT_TIMEOUT };

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
connect_address(const struct sockaddr *addr, socklen_t len)
{
	long until = clock_ms() + atomic_load(&locks.connect_timeout);
	int fd, error = 0;
	const int on = 1;
	socklen_t size = sizeof(error);

	fd = socket(
	    addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return -1;
	if (connect(fd, addr, len) == -1 &&
	    (errno != EINPROGRESS || await(fd, POLLOUT, until) == -1 ||
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == -1))
		error = errno;
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

/*
 * Takes "unix:PATH" or "HOST[:PORT]" apart, of which an IPv6 address stands in
 * brackets. Asks nobody. Returns 0, or -1 and EINVAL.
 */
static int
parse_server(const char *address, struct place *out)
{
	const char *colon = strrchr(address, ':');
	size_t len = strlen(address);
	uint64_t port = DEFAULT_PORT;

	memset(out, 0, sizeof(*out));
	if (strncmp(address, "unix:", 5) == 0) {
		out->len = address_of_name(address + 5, &out->un);
		return out->len > 0 ? 0 : worker_error(EINVAL);
	}
	/* The last colon of "[::1]" is no separator. */
	if (colon != NULL && address[len - 1] != ']') {
		if (!number_parse(colon + 1, strlen(colon + 1), &port) ||
		    port == 0 || port > UINT16_MAX)
			return worker_error(EINVAL);
		len = (size_t)(colon - address);
	}
	if (len > 1 && address[0] == '[' && address[len - 1] == ']') {
		address++;
		len -= 2;
	} else if (memchr(address, ':', len) != NULL) {
		return worker_error(EINVAL);
	}
	if (len == 0 || len >= sizeof(out->host))
		return worker_error(EINVAL);
	memcpy(out->host, address, len);
	out->host[len] = '\0';
	(void)snprintf(out->port, sizeof(out->port), "%u", (unsigned)port);
	return 0;
}

/* Returns 0, or -1 and errno. */
static int
connect_server(struct server *v, const char *address)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV };
	struct addrinfo *list, *at;
	struct place place;

	if (clock_ms() < v->retry_at)
		return worker_error(v->error);
	if (parse_server(address, &place) == -1)
		return -1;
	v->used = false;
	if (place.len > 0) {
		v->fd =
		    connect_address((struct sockaddr *)&place.un, place.len);
	} else if (getaddrinfo(place.host, place.port, &hints, &list) != 0) {
		errno = EHOSTUNREACH;
	} else {
		for (at = list; at != NULL && v->fd == -1; at = at->ai_next)
			v->fd = connect_address(at->ai_addr, at->ai_addrlen);
		freeaddrinfo(list);
	}
	if (v->fd != -1)
		return 0;
	v->error = errno;
	v->retry_at = clock_ms() + DOWN_REST;
	return -1;
}

/*
 * Sends len bytes, of which the last is LF, and waits up to `timeout`
 * milliseconds for the answer, a line, of which reply is left without its LF.
 * Returns 0, or -1 and errno: ECONNRESET at the end of the stream, ETIMEDOUT,
 * EPROTO for a line that is too long.
 */
static int
exchange(int fd, const char *line, size_t len, long timeout, char *reply,
    size_t size)
{
	long until = clock_ms() + timeout;
	size_t got = 0;
	ssize_t n;

	while (len > 0) {
		n = send(fd, line, len, MSG_NOSIGNAL);
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
	while (got < size) {
		n = recv(fd, reply + got, size - got, 0);
		if (n == 0)
			return worker_error(ECONNRESET);
		if (n == -1 && errno == EAGAIN) {
			if (await(fd, POLLIN, until) == -1)
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
	return worker_error(EPROTO);
}

/* --- the connections of this thread ------------------------------------- */

static void
drop_lock(struct service *s, unsigned i)
{
	free(s->locks[i].key);
	s->nlocks--;
	memmove(&s->locks[i], &s->locks[i + 1],
	    (s->nlocks - i) * sizeof(s->locks[0]));
}

/* Closes the connection, by which its locks end. Keeps errno. */
static void
disconnect_server(struct service *s, struct server *v)
{
	int error = errno;

	if (v->fd != -1)
		(void)close(v->fd);
	v->fd = -1;
	for (unsigned i = s->nlocks; i-- > 0;)
		if (s->locks[i].server == v)
			drop_lock(s, i);
	errno = error;
}

static void
thread_ended(void *arg)
{
	struct service *s = arg;

	for (unsigned i = 0; i < s->list.len; i++)
		disconnect_server(s, &s->servers[i]);
	free(s->address);
	free(s->names);
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
		if (pthread_setspecific(locks.key, s) != 0) {
			free(s);
			errno = ENOMEM;
			return NULL;
		}
	}
	for (unsigned i = 0; s->pid != getpid() && i < s->list.len; i++)
		disconnect_server(s, &s->servers[i]);
	s->pid = getpid();
	return s;
}

/* Whether each server of the list, which is taken apart, has an address. */
static bool
split_address(char *names, struct serverlist *out)
{
	struct place place;

	if (!serverlist_split(names, out))
		return false;
	for (unsigned i = 0; i < out->len; i++)
		if (parse_server(out->names[i], &place) == -1)
			return false;
	return true;
}

int
apppool_counter(const char *address)
{
	struct serverlist list;
	char *copy = NULL;

	if (address != NULL) {
		copy = strdup(address);
		if (copy == NULL)
			return -1;
		if (!split_address(copy, &list)) {
			free(copy);
			return worker_error(EINVAL);
		}
		/* In one piece again. */
		(void)strcpy(copy, address);
	}
	pthread_mutex_lock(&locks.lock);
	free(locks.address);
	locks.address = copy;
	pthread_mutex_unlock(&locks.lock);
	return 0;
}

int
apppool_counter_timeout(int milliseconds)
{
	if (milliseconds < 1)
		return worker_error(EINVAL);
	atomic_store(&locks.connect_timeout, milliseconds);
	return 0;
}

/*
 * Takes over the servers of the address in force, unless it has them. Returns
 * 0, or -1 and errno.
 */
static int
learn_servers(struct service *s)
{
	const char *now;
	char *address;

	pthread_mutex_lock(&locks.lock);
	now = locks.address != NULL ? locks.address : getenv(WIRE_ENV_COUNTER);
	errno = EDESTADDRREQ;
	address = now == NULL ? NULL : strdup(now);
	pthread_mutex_unlock(&locks.lock);
	if (address == NULL)
		return -1;
	if (s->address != NULL && strcmp(address, s->address) == 0) {
		free(address);
		return 0;
	}
	free(s->address);
	free(s->names);
	s->address = NULL;
	s->list.len = 0;
	s->names = strdup(address);
	if (s->names == NULL || !split_address(s->names, &s->list)) {
		s->list.len = 0;
		free(address);
		return worker_error(s->names == NULL ? ENOMEM : EINVAL);
	}
	for (unsigned i = 0; i < s->list.len; i++)
		s->servers[i] = (struct server){ .fd = -1 };
	s->address = address;
	return 0;
}

/*
 * The server of the key, connected: the first in its order that is or can be.
 * NULL and the errno of the last.
 */
static struct server *
choose_server(struct service *s, const char *key)
{
	unsigned order[SERVERLIST_MAX];
	bool connected = false;

	for (unsigned i = 0; i < s->list.len; i++)
		connected = connected || s->servers[i].fd != -1;
	if (!connected && learn_servers(s) == -1)
		return NULL;
	serverlist_order(&s->list, key, order);
	for (unsigned i = 0; i < s->list.len; i++) {
		struct server *v = &s->servers[order[i]];

		if (v->fd != -1 ||
		    connect_server(v, s->list.names[order[i]]) == 0)
			return v;
	}
	return NULL;
}

/* --- a question --------------------------------------------------------- */

/*
 * Asks a server that is connected; an error closes the connection. Returns 0,
 * 1 where a connection without a lock had ended while it was idle, as with a
 * restart of the server, or -1 and errno.
 */
static int
ask_server(struct service *s, struct server *v, const char *line, long timeout,
    char *reply, size_t size)
{
	bool idle = v->used;

	for (unsigned i = 0; i < s->nlocks; i++)
		idle = idle && s->locks[i].server != v;
	if (exchange(v->fd, line, strlen(line), timeout, reply, size) == 0) {
		v->used = true;
		return 0;
	}
	if (errno == EPIPE)
		errno = ECONNRESET;
	disconnect_server(s, v);
	return idle && errno == ECONNRESET ? 1 : -1;
}

static bool
is_key(const char *key)
{
	size_t len = key == NULL ? 0 : strlen(key);

	return len > 0 && len <= KEY_MAX && strcspn(key, " \r\n") == len;
}

/*
 * The result of apppool_lock() for an answer, which is taken note of: the key,
 * if it is locked. Without a key: the answer of another request, which that has
 * no use for; -1 and errno.
 */
static int
judge_answer(struct service *s, struct server *v, char **key, const char *reply)
{
	static const char bound[] = "ERROR TOO_MANY_";
	static const char *const words[] = { [APPPOOL_LOCKED] = "LOCKED",
		[APPPOOL_DONE] = "DONE",
		[APPPOOL_QUEUE_FULL] = "QUEUE_FULL",
		[APPPOOL_TIMEOUT] = "TIMEOUT" };

	for (int i = APPPOOL_LOCKED; key != NULL && i <= APPPOOL_TIMEOUT; i++) {
		if (strcmp(reply, words[i]) != 0)
			continue;
		if (i == APPPOOL_LOCKED) {
			s->locks[s->nlocks++] = (struct held){ v, *key };
			*key = NULL;
		}
		return i;
	}
	if (key != NULL && strcmp(reply, "LOCK_HELD") == 0)
		return worker_error(ENOLCK);
	if (strcmp(reply, "ERROR TOO_MANY_KEYS") == 0)
		return worker_error(ENOSPC);
	disconnect_server(s, v);
	return worker_error(
	    strncmp(reply, bound, sizeof(bound) - 1) == 0 ? ENOSPC : EPROTO);
}

int
apppool_lock(const char *key, int workers, int maxqueue, int timeout, int how)
{
	char line[LINE_SIZE], reply[LINE_SIZE], seconds[32];
	struct service *s;
	struct server *v;
	char *copy;
	int rc;

	if (!is_key(key) || workers < 1 || maxqueue < 1 || timeout < 0 ||
	    (how != APPPOOL_ME && how != APPPOOL_ANY))
		return worker_error(EINVAL);
	s = my_service();
	if (s == NULL)
		return -1;
	if (s->nlocks == LOCKS_MAX)
		return worker_error(ENOLCK);
	copy = strdup(key);
	if (copy == NULL)
		return -1;
	/* Services may know whole seconds only. */
	(void)snprintf(seconds, sizeof(seconds), "%d.%03d", timeout / 1000,
	    timeout % 1000);
	if (timeout % 1000 == 0)
		*strchr(seconds, '.') = '\0';
	(void)snprintf(line, sizeof(line), "%s %s %d %d %s\n",
	    how == APPPOOL_ANY ? "ACQ4ANY" : "ACQ4ME", key, workers, maxqueue,
	    seconds);
	do {
		v = choose_server(s, key);
		rc = v == NULL ? -1
			       : ask_server(s, v, line,
				     (long)timeout + timeout / 2 + GRACE, reply,
				     sizeof(reply));
	} while (rc == 1);
	if (rc == 0)
		rc = judge_answer(s, v, &copy, reply);
	free(copy);
	return rc;
}

int
apppool_unlock(const char *key)
{
	char line[LINE_SIZE], reply[LINE_SIZE];
	struct service *s;
	struct server *v;
	unsigned i;

	if (key != NULL && !is_key(key))
		return worker_error(EINVAL);
	s = my_service();
	if (s == NULL)
		return -1;
	i = s->nlocks;
	while (i > 0 && key != NULL && strcmp(s->locks[i - 1].key, key) != 0)
		i--;
	if (i == 0)
		return worker_error(EPERM);
	v = s->locks[i - 1].server;
	(void)snprintf(line, sizeof(line), "RELEASE%s%s\n",
	    key == NULL ? "" : " ", key == NULL ? "" : key);
	if (ask_server(s, v, line, GRACE, reply, sizeof(reply)) != 0)
		return -1;
	if (strcmp(reply, "RELEASED") != 0 && strcmp(reply, "NOT_LOCKED") != 0)
		return judge_answer(s, v, NULL, reply);
	drop_lock(s, i - 1);
	return strcmp(reply, "RELEASED") == 0 ? 0 : worker_error(EPERM);
}

int
apppool_slot_key(
    char *buf, size_t size, const char *type, const char *key, int slots)
{
	uint8_t sum[SHA1_DIGEST_LENGTH];
	SHA1_CTX ctx;
	int len;

	if (type == NULL || key == NULL || slots < 1 || slots > 65536)
		return worker_error(EINVAL);
	SHA1Init(&ctx);
	SHA1Update(&ctx, (const uint8_t *)key, strlen(key));
	SHA1Final(sum, &ctx);
	len =
	    snprintf(buf, size, "%s:%d", type, (sum[0] << 8 | sum[1]) % slots);
	return len >= 0 && (size_t)len < size ? 0 : worker_error(EMSGSIZE);
}
