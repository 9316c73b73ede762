/*
 * Locks with a limit, of a PoolCounter service.
 *
 * A connection can wait for one lock at a time, and its end is the end of its
 * locks, so each thread has its own.  A process that was forked must not
 * speak on the connection of its parent: it gets a new one.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/wire.h"
#include "worker/lock.h"

#pragma GCC visibility push(default)
#include "worker/apppool.h"
#pragma GCC visibility pop

/* Milliseconds that a service may take to answer what needs no waiting. */
#define GRACE 2000

#define KEY_MAX 900

static struct {
	pthread_once_t once;
	pthread_key_t key; /* struct lock_line of each thread */
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

/* --- the connection of this thread -------------------------------------- */

static void
thread_ended(void *arg)
{
	struct lock_line *l = arg;

	lock_close(l);
	free(l);
}

static void
make_key(void)
{
	locks.error = pthread_key_create(&locks.key, thread_ended);
}

/* NULL and errno. */
static struct lock_line *
my_line(void)
{
	struct lock_line *l;

	pthread_once(&locks.once, make_key);
	if (locks.error != 0) {
		errno = locks.error;
		return NULL;
	}
	l = pthread_getspecific(locks.key);
	if (l == NULL) {
		l = calloc(1, sizeof(*l));
		if (l == NULL)
			return NULL;
		l->fd = -1;
		if (pthread_setspecific(locks.key, l) != 0) {
			free(l);
			errno = ENOMEM;
			return NULL;
		}
	}
	if (l->fd != -1 && l->pid != getpid())
		lock_close(l);
	return l;
}

int
apppool_counter(const char *address)
{
	char *copy = NULL;

	if (address != NULL) {
		if (strchr(address, ':') == NULL)
			return fail(EINVAL);
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
connect_line(struct lock_line *l)
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
	rc = lock_connect(l, address);
	free(address);
	return rc;
}

/* --- a question --------------------------------------------------------- */

/*
 * A connection that has lain idle may have ended since, with a restart of the
 * service: where no lock is lost by it, that is nobody's trouble.
 */
static int
ask(struct lock_line *l, const char *line, long timeout, char *reply,
    size_t size)
{
	bool fresh = l->fd == -1;
	size_t len = strlen(line);

	for (;;) {
		if (l->fd == -1 && connect_line(l) == -1)
			return -1;
		if (lock_ask(l, line, len, timeout, reply, size) == 0)
			return 0;
		if (fresh || l->held > 0 ||
		    (errno != EPIPE && errno != ECONNRESET))
			break;
		lock_close(l);
		fresh = true;
	}
	if (errno == EPIPE)
		errno = ECONNRESET;
	lock_close(l);
	return -1;
}

/* An answer that is none of those expected: the conversation is over. */
static int
misunderstood(struct lock_line *l, const char *reply)
{
	static const char bound[] = "ERROR TOO_MANY_";

	if (strcmp(reply, "ERROR TOO_MANY_KEYS") == 0)
		return fail(ENOSPC);
	lock_close(l);
	return fail(
	    strncmp(reply, bound, sizeof(bound) - 1) == 0 ? ENOSPC : EPROTO);
}

static bool
is_key(const char *key)
{
	size_t len = key == NULL ? 0 : strlen(key);

	return len > 0 && len <= KEY_MAX && strcspn(key, " \r\n") == len;
}

/* A whole number of seconds is understood everywhere. */
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
	char line[LOCK_LINE_MAX], reply[LOCK_LINE_MAX], seconds[32];
	struct lock_line *l;

	if (!is_key(key) || workers < 1 || maxqueue < 1 || timeout < 0 ||
	    (how != APPPOOL_ME && how != APPPOOL_ANY))
		return fail(EINVAL);
	l = my_line();
	if (l == NULL)
		return -1;
	format_timeout(timeout, seconds, sizeof(seconds));
	(void)snprintf(line, sizeof(line), "%s %s %d %d %s\n",
	    how == APPPOOL_ANY ? "ACQ4ANY" : "ACQ4ME", key, workers, maxqueue,
	    seconds);
	if (ask(l, line, (long)timeout + timeout / 2 + GRACE, reply,
		sizeof(reply)) == -1)
		return -1;
	for (int i = APPPOOL_LOCKED; i <= APPPOOL_TIMEOUT; i++) {
		if (strcmp(reply, words[i]) == 0) {
			l->held += i == APPPOOL_LOCKED;
			return i;
		}
	}
	if (strcmp(reply, "LOCK_HELD") == 0)
		return fail(ENOLCK);
	return misunderstood(l, reply);
}

int
apppool_unlock(const char *key)
{
	char line[LOCK_LINE_MAX], reply[LOCK_LINE_MAX];
	struct lock_line *l;

	if (key != NULL && !is_key(key))
		return fail(EINVAL);
	l = my_line();
	if (l == NULL)
		return -1;
	/* Without a connection there is no lock to give back. */
	if (l->fd == -1)
		return fail(EPERM);
	(void)snprintf(line, sizeof(line), "RELEASE%s%s\n",
	    key == NULL ? "" : " ", key == NULL ? "" : key);
	if (ask(l, line, GRACE, reply, sizeof(reply)) == -1)
		return -1;
	if (strcmp(reply, "NOT_LOCKED") == 0)
		return fail(EPERM);
	if (strcmp(reply, "RELEASED") != 0)
		return misunderstood(l, reply);
	if (l->held > 0)
		l->held--;
	return 0;
}
