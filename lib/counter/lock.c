/*
 * A connection to a PoolCounter server, and the lock it may hold: one
 * question at a time, and so one answer.
 */

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counter/limiter_private.h"
#include "counter/poolcounter.h"
#include "sys/log.h"

static void lock_ready(struct loop_io *io, uint32_t events, tstamp now);

/* --- tokens ------------------------------------------------------------- */

static bool
lock_take_token(struct limiter *l, struct lock *k)
{
	struct lock **tokens;
	uint32_t n = 0;

	while (n < l->ntokens && l->tokens[n] != NULL)
		n++;
	if (n == l->ntokens) {
		tokens =
		    reallocarray(l->tokens, 2 * (size_t)n + 8, sizeof(*tokens));
		if (tokens == NULL)
			return false;
		l->tokens = tokens;
		l->ntokens = 2 * n + 8;
		memset(&tokens[n], 0, (l->ntokens - n) * sizeof(*tokens));
	}
	l->tokens[n] = k;
	k->token = n;
	return true;
}

static void
lock_wait(struct lock *k, tstamp until)
{
	k->deadline = until;
	timer_advance(&k->limiter->loop->timers, &k->limiter->check, until);
}

/* --- connections -------------------------------------------------------- */

static void
lock_disconnect(struct lock *k)
{
	if (k->io.fd == -1)
		return;
	(void)loop_set(k->limiter->loop, &k->io, 0);
	close(k->io.fd);
	k->io.fd = -1;
}

void
lock_free(struct lock *k)
{
	struct limiter *l = k->limiter;

	lock_disconnect(k);
	if (k->state == LOCK_IDLE) {
		TAILQ_REMOVE(&l->idle, k, next);
		l->nidle--;
	} else {
		TAILQ_REMOVE(&l->locks, k, next);
	}
	l->tokens[k->token] = NULL;
	free(k);
}

/* Begins to connect; -1 and errno. EINPROGRESS is a beginning. */
static int
lock_connect(struct lock *k, tstamp now)
{
	struct limiter *l = k->limiter;
	const struct sockaddr *to = (const struct sockaddr *)&l->where.addr;

	if (l->local) {
		k->io.fd = poolcounter_join(l->own, now);
		if (k->io.fd == -1)
			return -1;
	} else {
		if (l->where.addr_len == 0) {
			errno = EDESTADDRREQ; /* nobody knew the host */
			return -1;
		}
		k->io.fd = socket(to->sa_family,
		    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (k->io.fd == -1)
			return -1;
		if (connect(k->io.fd, to, l->where.addr_len) == -1 &&
		    errno != EINPROGRESS)
			goto fail;
	}
	k->io.ready = lock_ready;
	if (loop_set(l->loop, &k->io, EPOLLIN | EPOLLOUT) == 0)
		return 0;
fail:
	close(k->io.fd);
	k->io.fd = -1;
	return -1;
}

struct lock *
lock_new(struct limiter *l, tstamp now)
{
	struct lock *k = calloc(1, sizeof(*k));
	int error;

	if (k == NULL)
		return NULL;
	k->limiter = l;
	k->io.fd = -1;
	k->state = LOCK_CONNECTING;
	if (!lock_take_token(l, k)) {
		free(k);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&l->locks, k, next);
	if (lock_connect(k, now) == -1) {
		error = errno;
		lock_free(k);
		errno = error;
		return NULL;
	}
	lock_wait(k, now + LIMITER_CONNECT);
	return k;
}

/* --- questions ---------------------------------------------------------- */

/* The connection is of no more use; what it stood for is settled. */
void
lock_fail(struct lock *k, const char *why, tstamp now)
{
	struct limiter *l = k->limiter;

	switch (k->state) {
	case LOCK_CONNECTING:
	case LOCK_ASKING:
		lock_free(k);
		limiter_unreachable(l, why, now);
		break;
	case LOCK_HELD:
		/* The server has given it to somebody else by now. */
		log_limited(&l->rate, now, LOG_LEVEL_WARN,
		    "%s: limit: %s: a lock was lost with its connection: %s",
		    l->app, l->server, why);
		lock_disconnect(k);
		k->state = LOCK_GONE;
		break;
	default:
		lock_free(k);
		break;
	}
}

static bool
lock_send(struct lock *k, const char *text, tstamp now)
{
	size_t len = strlen(text);

	/* A line is small: what does not fit at once will never be read. */
	if (send(k->io.fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	    (ssize_t)len)
		return true;
	lock_fail(k, "it does not read", now);
	return false;
}

/* It holds nothing any more. */
static void
lock_rest(struct lock *k)
{
	struct limiter *l = k->limiter;

	if (l->nidle >= LIMITER_SPARE) {
		lock_free(k);
		return;
	}
	TAILQ_REMOVE(&l->locks, k, next);
	TAILQ_INSERT_HEAD(&l->idle, k, next);
	l->nidle++;
	k->state = LOCK_IDLE;
	k->deadline = TSTAMP_NEVER;
}

static void
lock_request(struct lock *k, tstamp now)
{
	struct limiter *l = k->limiter;

	k->state = LOCK_ASKING;
	lock_wait(k, tstamp_add(now, l->timeout + LIMITER_LATE));
	(void)lock_send(k, l->request, now);
}

void
lock_ask(struct lock *k, tstamp now)
{
	struct limiter *l = k->limiter;

	assert(k->state == LOCK_IDLE);
	TAILQ_REMOVE(&l->idle, k, next);
	l->nidle--;
	TAILQ_INSERT_TAIL(&l->locks, k, next);
	lock_request(k, now);
}

void
lock_release(struct lock *k, tstamp now)
{
	if (k->state == LOCK_GONE) {
		lock_free(k);
		return;
	}
	k->state = LOCK_RELEASING;
	lock_wait(k, tstamp_add(now, LIMITER_LATE));
	(void)lock_send(k, "RELEASE\n", now);
}

/* --- answers ------------------------------------------------------------ */

static void
lock_answered(struct lock *k, const char *word, tstamp now)
{
	struct limiter *l = k->limiter;

	if (strcmp(word, "LOCKED") == 0) {
		k->state = LOCK_HELD;
		k->deadline = TSTAMP_NEVER;
		l->figures.asked--;
		l->figures.held++;
		l->figures.granted++;
		l->events->granted(l->events_arg, k->token, now);
	} else if (strcmp(word, "QUEUE_FULL") == 0) {
		lock_rest(k);
		l->figures.asked--;
		l->figures.full++;
		l->events->denied(l->events_arg, false, now);
	} else if (strcmp(word, "TIMEOUT") == 0) {
		lock_rest(k);
		l->figures.asked--;
		l->figures.timed_out++;
		l->events->denied(l->events_arg, true, now);
	} else {
		lock_fail(k, word, now);
	}
}

/* One whole line. */
static void
lock_line(struct lock *k, const char *word, tstamp now)
{
	switch (k->state) {
	case LOCK_ASKING:
		lock_answered(k, word, now);
		break;
	case LOCK_RELEASING:
		lock_rest(k);
		break;
	default:
		lock_fail(k, word, now);
		break;
	}
}

static void
lock_read(struct lock *k, tstamp now)
{
	ssize_t n = recv(k->io.fd, k->line + k->len,
	    sizeof(k->line) - 1 - k->len, MSG_DONTWAIT);
	char *end;

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		lock_fail(k,
		    n == 0 ? "it closed the connection" : strerror(errno), now);
		return;
	}
	k->len += (size_t)n;
	end = memchr(k->line, '\n', k->len);
	if (end == NULL) {
		if (k->len == sizeof(k->line) - 1)
			lock_fail(k, "it sent a line without an end", now);
		return;
	}
	/* There is one question at a time, and so one answer. */
	*end = '\0';
	k->len = 0;
	lock_line(k, k->line, now);
}

static void
lock_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct lock *k = LOOP_OWNER(io, struct lock, io);
	int error = 0;
	socklen_t len = sizeof(error);

	if (k->state != LOCK_CONNECTING) {
		lock_read(k, now);
		return;
	}
	if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0)
		return;
	if (getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error == 0 && loop_set(k->limiter->loop, io, EPOLLIN) == -1)
		error = errno;
	if (error != 0)
		lock_fail(k, strerror(error), now);
	else
		lock_request(k, now);
}
