/*
 * Locks of a PoolCounter in front of an app: connections to its server, each
 * with one lock at most, one question at a time, and so one answer.
 */

#include <sys/queue.h>
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counter/keyservers.h"
#include "counter/limiter.h"
#include "counter/poolcounter.h"
#include "sys/log.h"
#include "sys/loop.h"

/* How long a server has to take a connection. */
#define CONNECT_TIMEOUT TSPAN_MSECONDS(100)

/* The time a server has to answer beyond what it may wait. */
#define LATE_MAX TSPAN_SECONDS(1)

/* A server that did not answer is not asked for so long. */
#define UNREACHABLE_REST TSPAN_SECONDS(1)

/* The server of a connection from before a change of the configuration. */
#define SERVER_OLD SERVERLIST_MAX

/* Longest line of an answer. */
#define LINE_SIZE 128

enum lock_state {
	LOCK_IDLE, /* connected, holds nothing */
	LOCK_CONNECTING, /* its request is sent when it is connected */
	LOCK_ASKING,
	LOCK_HELD,
	LOCK_RELEASING,
	LOCK_GONE, /* held by the core, but its connection is lost */
};

/* A connection, and the lock it may hold. */
struct lock {
	TAILQ_ENTRY(lock) next; /* in locks, or in idle */
	struct limiter *limiter;
	struct loop_io io;
	struct timer late; /* set while an answer is due */
	uint32_t token; /* its number in the core */
	unsigned server; /* SERVER_OLD: none of today's */
	bool used; /* it was idle before this request */
	enum lock_state state;
	char line[LINE_SIZE];
	size_t len;
};

TAILQ_HEAD(locks, lock);

struct limiter {
	struct loop *loop;
	struct poolcounter *own; /* the counter of this daemon */
	const char *app; /* for the log */
	const struct limiter_events *events;
	void *events_arg;
	struct keyservers servers;
	char key[300];
	char request[512];
	tspan timeout;
	struct locks locks; /* all but the idle ones */
	struct locks idle;
	unsigned nidle;
	struct lock **tokens; /* by token; NULL: free */
	uint32_t ntokens;
	struct limiter_figures figures;
	struct log_rate rate;
};

static void lock_ready(struct loop_io *io, uint32_t events, tstamp now);
static void lock_late(struct timer *t, tstamp now);

/* --- connections -------------------------------------------------------- */

static bool
take_token(struct limiter *l, struct lock *k)
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
expect_answer(struct lock *k, tstamp until)
{
	timer_set(&k->limiter->loop->timers, &k->late, until);
}

static void
disconnect(struct lock *k)
{
	int error = errno;

	expect_answer(k, TSTAMP_NEVER);
	if (k->io.fd == -1)
		return;
	(void)loop_set(k->limiter->loop, &k->io, 0);
	close(k->io.fd);
	k->io.fd = -1;
	errno = error;
}

static void
free_lock(struct lock *k)
{
	struct limiter *l = k->limiter;

	disconnect(k);
	if (k->state == LOCK_IDLE) {
		TAILQ_REMOVE(&l->idle, k, next);
		l->nidle--;
	} else {
		TAILQ_REMOVE(&l->locks, k, next);
	}
	l->tokens[k->token] = NULL;
	free(k);
}

/* A descriptor that is connected or connecting; -1 and errno. */
static int
dial(const struct limiter *l, const struct keyserver *v, tstamp now)
{
	const struct sockaddr *to = (const struct sockaddr *)&v->addr;
	int fd, error;

	if (l->servers.local)
		return poolcounter_join(l->own, now);
	if (v->addr_len == 0) {
		errno = EDESTADDRREQ; /* the host had no address */
		return -1;
	}
	fd = socket(
	    to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1 || connect(fd, to, v->addr_len) == 0 ||
	    errno == EINPROGRESS)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Connects to the first of the servers from this one on that is there. */
static int
dial_from(struct lock *k, unsigned from, tstamp now)
{
	struct limiter *l = k->limiter;

	k->state = LOCK_CONNECTING;
	k->used = false;
	k->len = 0;
	for (; from < l->servers.len;
	     from = keyservers_next(&l->servers, from + 1, now)) {
		keyservers_tried(&l->servers, from, now);
		k->server = from;
		k->io.fd = dial(l, &l->servers.list[from], now);
		if (k->io.fd != -1 &&
		    loop_set(l->loop, &k->io, EPOLLIN | EPOLLOUT) == 0) {
			expect_answer(k, now + CONNECT_TIMEOUT);
			return 0;
		}
		keyservers_lost(
		    &l->servers, from, l->app, strerror(errno), now);
		disconnect(k);
	}
	return -1;
}

static const char *
server_name(const struct lock *k)
{
	return k->server == SERVER_OLD
	    ? "a server of before"
	    : k->limiter->servers.list[k->server].name;
}

/* --- locks -------------------------------------------------------------- */

/*
 * Makes a connection, which asks for a lock as soon as it can. -1 and errno.
 */
static int
new_lock(struct limiter *l, unsigned server, tstamp now)
{
	struct lock *k = calloc(1, sizeof(*k));
	int error;

	if (k == NULL)
		return -1;
	k->limiter = l;
	k->io.fd = -1;
	k->io.ready = lock_ready;
	k->state = LOCK_CONNECTING;
	timer_init(&k->late, lock_late);
	if (!take_token(l, k)) {
		free(k);
		return -1;
	}
	TAILQ_INSERT_TAIL(&l->locks, k, next);
	if (dial_from(k, server, now) == -1) {
		error = errno;
		free_lock(k);
		errno = error;
		return -1;
	}
	return 0;
}

/* --- questions ---------------------------------------------------------- */

/* A request gets no answer. */
static void
unreachable(struct limiter *l, const char *server, const char *why, tstamp now)
{
	bool open;

	l->figures.asked--;
	l->figures.unreachable++;
	open =
	    l->events->unreachable(l->events_arg, now + UNREACHABLE_REST, now);
	log_limited(&l->rate, now, LOG_LEVEL_WARN,
	    "%s: limit: %s: %s; connections are %s for a second", l->app,
	    server, why, open ? "let in without it" : "held back");
}

/*
 * The connection is lost. A request that has no answer goes to the same server
 * if it may have ended the connection while that was idle, else to the next.
 */
static bool
ask_elsewhere(struct lock *k, const char *why, tstamp now)
{
	struct limiter *l = k->limiter;
	unsigned from = k->server;

	if (from == SERVER_OLD)
		return false;
	disconnect(k);
	if (!k->used) {
		keyservers_lost(&l->servers, from, l->app, why, now);
		from = keyservers_next(&l->servers, from + 1, now);
	}
	return dial_from(k, from, now) == 0;
}

/* The connection has become useless; ends what it was in the middle of. */
static void
fail(struct lock *k, const char *why, tstamp now)
{
	struct limiter *l = k->limiter;

	switch (k->state) {
	case LOCK_CONNECTING:
	case LOCK_ASKING:
		/* why may be the line that it has. */
		unreachable(l, server_name(k), why, now);
		free_lock(k);
		break;
	case LOCK_HELD:
		/* The server has given the lock to another client by now. */
		log_limited(&l->rate, now, LOG_LEVEL_WARN,
		    "%s: limit: %s: a lock was lost with its connection: %s",
		    l->app, server_name(k), why);
		disconnect(k);
		k->state = LOCK_GONE;
		break;
	default:
		free_lock(k);
		break;
	}
}

/* The connection could not be made, or has ended. */
static void
lose(struct lock *k, const char *why, tstamp now)
{
	bool asking = k->state == LOCK_CONNECTING || k->state == LOCK_ASKING;
	unsigned server = k->server;

	if (asking && ask_elsewhere(k, why, now))
		return;
	/* Another server may have been tried, and errno is of that. */
	fail(k, k->server == server ? why : strerror(errno), now);
}

/* The servers or the key are others now: the request begins anew. */
static void
ask_anew(struct lock *k, tstamp now)
{
	struct limiter *l = k->limiter;
	unsigned server = keyservers_next(&l->servers, 0, now);

	/* Where all are down, the first is as good as any. */
	if (dial_from(k, server == l->servers.len ? 0 : server, now) == -1)
		fail(k, strerror(errno), now);
}

static void
lock_late(struct timer *t, tstamp now)
{
	struct lock *k = TIMER_OWNER(t, struct lock, late);

	if (k->io.fd == -1)
		ask_anew(k, now);
	else if (k->state == LOCK_CONNECTING)
		lose(k, "it does not answer", now);
	else
		fail(k, "it does not answer", now);
}

static void
send_line(struct lock *k, const char *text, tstamp now)
{
	size_t len = strlen(text);
	ssize_t n = send(k->io.fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	/* A line is small: a server that has no room for it does not read. */
	if (n == -1 && errno != EAGAIN)
		lose(k, strerror(errno), now);
	else if (n != (ssize_t)len)
		fail(k, "it does not read", now);
}

static void
request(struct lock *k, tstamp now)
{
	struct limiter *l = k->limiter;

	k->state = LOCK_ASKING;
	expect_answer(k, tstamp_add(now, l->timeout + LATE_MAX));
	send_line(k, l->request, now);
}

static void
release(struct lock *k, tstamp now)
{
	if (k->state == LOCK_GONE) {
		free_lock(k);
		return;
	}
	k->state = LOCK_RELEASING;
	expect_answer(k, tstamp_add(now, LATE_MAX));
	send_line(k, "RELEASE\n", now);
}

/* The connection holds nothing any more. */
static void
idle(struct lock *k)
{
	struct limiter *l = k->limiter;

	if (l->nidle >= POOLCOUNTER_IDLE_MAX) {
		free_lock(k);
		return;
	}
	expect_answer(k, TSTAMP_NEVER);
	TAILQ_REMOVE(&l->locks, k, next);
	TAILQ_INSERT_HEAD(&l->idle, k, next);
	l->nidle++;
	k->used = true;
	k->state = LOCK_IDLE;
}

/* --- answers ------------------------------------------------------------ */

static void
answered(struct lock *k, const char *word, tstamp now)
{
	struct limiter *l = k->limiter;

	if (strcmp(word, "LOCKED") == 0) {
		k->state = LOCK_HELD;
		expect_answer(k, TSTAMP_NEVER);
		l->figures.asked--;
		l->figures.held++;
		l->figures.granted++;
		l->events->granted(l->events_arg, k->token, now);
	} else if (strcmp(word, "QUEUE_FULL") == 0) {
		idle(k);
		l->figures.asked--;
		l->figures.full++;
		l->events->denied(l->events_arg, false, now);
	} else if (strcmp(word, "TIMEOUT") == 0) {
		idle(k);
		l->figures.asked--;
		l->figures.timed_out++;
		l->events->denied(l->events_arg, true, now);
	} else {
		fail(k, word, now);
	}
}

/* Takes a whole line. */
static void
read_answer(struct lock *k, const char *word, tstamp now)
{
	switch (k->state) {
	case LOCK_ASKING:
		answered(k, word, now);
		break;
	case LOCK_RELEASING:
		idle(k);
		break;
	default:
		fail(k, word, now);
		break;
	}
}

static void
read_lock(struct lock *k, tstamp now)
{
	ssize_t n = recv(k->io.fd, k->line + k->len,
	    sizeof(k->line) - 1 - k->len, MSG_DONTWAIT);
	char *end;

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		lose(k, n == 0 ? "it closed the connection" : strerror(errno),
		    now);
		return;
	}
	k->len += (size_t)n;
	end = memchr(k->line, '\n', k->len);
	if (end == NULL) {
		if (k->len == sizeof(k->line) - 1)
			fail(k, "it sent a line without an end", now);
		return;
	}
	/* Nothing follows: a connection has one question at a time. */
	*end = '\0';
	k->len = 0;
	read_answer(k, k->line, now);
}

static void
lock_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct lock *k = LOOP_OWNER(io, struct lock, io);
	int error = 0;
	socklen_t len = sizeof(error);

	if (k->state != LOCK_CONNECTING) {
		read_lock(k, now);
		return;
	}
	if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0)
		return;
	if (getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error == 0 && loop_set(k->limiter->loop, io, EPOLLIN) == -1)
		error = errno;
	if (error != 0) {
		lose(k, strerror(error), now);
	} else {
		if (k->server != SERVER_OLD)
			keyservers_found(&k->limiter->servers, k->server,
			    k->limiter->app, now);
		request(k, now);
	}
}

/* --- the limiter -------------------------------------------------------- */

struct limiter *
limiter_create(void *own, const char *app, const struct limiter_events *events,
    void *events_arg)
{
	struct limiter *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->loop = poolcounter_loop(own);
	l->own = own;
	l->app = app;
	l->events = events;
	l->events_arg = events_arg;
	TAILQ_INIT(&l->locks);
	TAILQ_INIT(&l->idle);
	return l;
}

static void
free_idle(struct limiter *l)
{
	struct lock *k;

	while ((k = TAILQ_FIRST(&l->idle)) != NULL)
		free_lock(k);
}

/*
 * Requests that are not answered are asked anew, at the next turn of the loop:
 * the counter of this daemon may be changing now, too.
 */
static void
call_off(struct limiter *l)
{
	struct lock *k;

	TAILQ_FOREACH(k, &l->locks, next) {
		if (k->state != LOCK_CONNECTING && k->state != LOCK_ASKING)
			continue;
		disconnect(k);
		k->state = LOCK_CONNECTING;
		expect_answer(k, loop_now(l->loop));
	}
}

bool
limiter_configure(struct limiter *l, const struct conf_app *conf)
{
	const struct conf_limit *limit = &conf->limit;
	double seconds = tspan_to_seconds(limit->timeout);
	bool moved = strcmp(l->key, limit->key) != 0;
	struct lock *k;

	/* Locks that are held are given back where they are from. */
	if (keyservers_set(&l->servers, limit)) {
		moved = true;
		free_idle(l);
		TAILQ_FOREACH(k, &l->locks, next)
			k->server = SERVER_OLD;
	}
	if (moved)
		call_off(l);
	(void)snprintf(l->key, sizeof(l->key), "%s", limit->key);
	l->timeout = limit->timeout;
	/* The original knows whole seconds only. */
	(void)snprintf(l->request, sizeof(l->request), "ACQ4ME %s %u %u %.*f\n",
	    limit->key, limit->workers, limit->maxqueue,
	    limit->timeout % TSPAN_SECONDS(1) == 0 ? 0 : 3, seconds);
	return moved;
}

void
limiter_free(struct limiter *l)
{
	struct lock *k;

	free_idle(l);
	while ((k = TAILQ_FIRST(&l->locks)) != NULL)
		free_lock(k);
	free(l->tokens);
	free(l);
}

/* An idle connection to the server; NULL: none. Those to others end. */
static struct lock *
idle_lock(struct limiter *l, unsigned server)
{
	struct lock *k;

	while ((k = TAILQ_FIRST(&l->idle)) != NULL && k->server != server)
		free_lock(k);
	return k;
}

void
limiter_ask(struct limiter *l, tstamp now)
{
	unsigned server = keyservers_next(&l->servers, 0, now);
	struct lock *k = NULL;

	l->figures.asked++;
	/* Where all are down, the core has waited before it asked again. */
	if (server == l->servers.len)
		server = 0;
	if (!l->servers.list[server].down)
		k = idle_lock(l, server);
	if (k == NULL) {
		if (new_lock(l, server, now) == -1)
			unreachable(l, l->servers.list[server].name,
			    strerror(errno), now);
		return;
	}
	TAILQ_REMOVE(&l->idle, k, next);
	l->nidle--;
	TAILQ_INSERT_TAIL(&l->locks, k, next);
	request(k, now);
}

void
limiter_give_back(struct limiter *l, uint32_t lock, tstamp now)
{
	assert(lock < l->ntokens && l->tokens[lock] != NULL);
	l->figures.held--;
	release(l->tokens[lock], now);
}

const struct limiter_figures *
limiter_figures(const struct limiter *l)
{
	return &l->figures;
}

unsigned
limiter_descriptors(const struct conf_app *conf)
{
	unsigned each = conf->limit.local ? 2 : 1;

	if (conf->limit.server == NULL)
		return 0;
	return each * poolcounter_connections(conf);
}
