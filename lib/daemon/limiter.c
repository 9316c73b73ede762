/* Locks of a PoolCounter in front of an app. */

#include <sys/socket.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/limiter.h"
#include "daemon/poolcounter.h"
#include "daemon/supervisor.h"
#include "sys/log.h"

/* How long a server has to accept, and to answer beyond what it may wait. */
#define LIMITER_CONNECT TSPAN_MSECONDS(250)
#define LIMITER_LATE TSPAN_SECONDS(1)

/* How long nobody is asked after one that did not answer. */
#define LIMITER_REST TSPAN_SECONDS(1)

/* Idle connections that are kept for the next requests. */
#define LIMITER_SPARE 16

/* Longest line of an answer. */
#define LIMITER_LINE 128

enum lock_state {
	LOCK_IDLE, /* connected, holds nothing */
	LOCK_CONNECTING, /* its request is sent when it is connected */
	LOCK_ASKING,
	LOCK_HELD,
	LOCK_RELEASING,
	LOCK_GONE, /* held by the core, but its connection is lost */
};

/* One connection, and the lock it may hold. */
struct lock {
	TAILQ_ENTRY(lock) next; /* in locks, or in idle */
	struct limiter *limiter;
	struct loop_io io;
	uint32_t token; /* what the core knows it by */
	enum lock_state state;
	tstamp deadline; /* of the answer */
	char line[LIMITER_LINE];
	size_t len;
};

TAILQ_HEAD(locks, lock);

struct limiter {
	TAILQ_ENTRY(limiter) next; /* in supervisor.limiters */
	struct group *group;
	struct conf_listen where; /* of the server; strings not owned */
	bool local; /* our own counter */
	char server[160]; /* for the log */
	char request[512];
	tspan timeout;
	struct locks locks; /* all but the idle ones */
	struct locks idle;
	unsigned nidle;
	struct lock **tokens; /* by token; NULL: free */
	uint32_t ntokens;
	tstamp check_at; /* no deadline of a lock is earlier */
	struct limiter_figures figures;
	struct log_rate rate;
};

static void lock_ready(struct loop_io *io, uint32_t events, tstamp now);

static struct supervisor *
limiter_supervisor(const struct limiter *l)
{
	return l->group->sup;
}

/* --- tokens ------------------------------------------------------------- */

static bool
limiter_take_token(struct limiter *l, struct lock *k)
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

/* --- connections -------------------------------------------------------- */

static void
lock_disconnect(struct lock *k)
{
	if (k->io.fd == -1)
		return;
	(void)loop_set(&limiter_supervisor(k->limiter)->loop, &k->io, 0);
	close(k->io.fd);
	k->io.fd = -1;
}

static void
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
	struct supervisor *s = limiter_supervisor(l);
	const struct sockaddr *to = (const struct sockaddr *)&l->where.addr;

	if (l->local) {
		k->io.fd = poolcounter_join(s->counter, now);
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
	if (loop_set(&s->loop, &k->io, EPOLLIN | EPOLLOUT) == 0)
		return 0;
fail:
	close(k->io.fd);
	k->io.fd = -1;
	return -1;
}

static struct lock *
lock_new(struct limiter *l, tstamp now)
{
	struct lock *k = calloc(1, sizeof(*k));

	if (k == NULL)
		return NULL;
	k->limiter = l;
	k->io.fd = -1;
	k->state = LOCK_CONNECTING;
	if (!limiter_take_token(l, k)) {
		free(k);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&l->locks, k, next);
	if (lock_connect(k, now) == 0)
		return k;
	lock_free(k);
	return NULL;
}

/* --- failures ----------------------------------------------------------- */

/* A request without an answer. */
static void
limiter_unreachable(struct limiter *l, const char *why, tstamp now)
{
	struct group *g = l->group;
	bool open = g->conf->limit_fail == CONF_LIMIT_FAIL_OPEN;

	l->figures.asked--;
	l->figures.unreachable++;
	log_limited(&l->rate, now, LOG_LEVEL_WARN,
	    "%s: limit: %s: %s; connections are %s for a second", g->conf->name,
	    l->server, why, open ? "let in without it" : "held back");
	pool_unlimited(&g->sup->pool, g->app, open, now + LIMITER_REST, now);
}

/* The connection is of no more use; what it stood for is settled. */
static void
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
		    l->group->conf->name, l->server, why);
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

static void
lock_wait(struct lock *k, tstamp until)
{
	k->deadline = until;
	k->limiter->check_at = tstamp_min(k->limiter->check_at, until);
}

/* --- requests ----------------------------------------------------------- */

static void
lock_request(struct lock *k, tstamp now)
{
	struct limiter *l = k->limiter;

	k->state = LOCK_ASKING;
	lock_wait(k, tstamp_add(now, l->timeout + LIMITER_LATE));
	(void)lock_send(k, l->request, now);
}

void
limiter_ask(struct supervisor *s, const struct action *a, tstamp now)
{
	struct limiter *l = s->groups[a->app]->limiter;
	struct lock *k;

	if (l == NULL) {
		pool_unlimited(&s->pool, a->app, true, now + LIMITER_REST, now);
		return;
	}
	l->figures.asked++;
	k = TAILQ_FIRST(&l->idle);
	if (k != NULL) {
		TAILQ_REMOVE(&l->idle, k, next);
		l->nidle--;
		TAILQ_INSERT_TAIL(&l->locks, k, next);
		lock_request(k, now);
		return;
	}
	k = lock_new(l, now);
	if (k == NULL)
		limiter_unreachable(l, strerror(errno), now);
	else
		lock_wait(k, now + LIMITER_CONNECT);
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

void
limiter_give_back(struct supervisor *s, const struct action *a, tstamp now)
{
	struct limiter *l = s->groups[a->app]->limiter;
	struct lock *k;

	/* The limit may have been taken away, and its locks with it. */
	if (l == NULL || a->lock >= l->ntokens)
		return;
	k = l->tokens[a->lock];
	if (k == NULL)
		return;
	l->figures.held--;
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
	struct group *g = l->group;
	struct pool *p = &g->sup->pool;

	if (strcmp(word, "LOCKED") == 0) {
		k->state = LOCK_HELD;
		k->deadline = TSTAMP_NEVER;
		l->figures.asked--;
		l->figures.held++;
		l->figures.granted++;
		pool_granted(p, g->app, k->token, now);
	} else if (strcmp(word, "QUEUE_FULL") == 0) {
		lock_rest(k);
		l->figures.asked--;
		l->figures.full++;
		pool_denied(p, g->app, false, now);
	} else if (strcmp(word, "TIMEOUT") == 0) {
		lock_rest(k);
		l->figures.asked--;
		l->figures.timed_out++;
		pool_denied(p, g->app, true, now);
	} else {
		lock_fail(k, word, now);
	}
}

/* One whole line; false: the connection is gone. */
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
	if (error == 0 &&
	    loop_set(&limiter_supervisor(k->limiter)->loop, io, EPOLLIN) == -1)
		error = errno;
	if (error != 0)
		lock_fail(k, strerror(error), now);
	else
		lock_request(k, now);
}

/* --- configuration ------------------------------------------------------ */

static void
limiter_set(struct limiter *l, const struct conf_limit *limit)
{
	double seconds = (double)limit->timeout / 1e9;

	(void)snprintf(l->server, sizeof(l->server), "%s", limit->server);
	l->where = limit->where;
	l->local = limit->local;
	l->timeout = limit->timeout;
	/* Servers of old know whole seconds only. */
	(void)snprintf(l->request, sizeof(l->request), "ACQ4ME %s %u %u %.*f\n",
	    limit->key, limit->workers, limit->maxqueue,
	    limit->timeout % TSPAN_SECONDS(1) == 0 ? 0 : 3, seconds);
}

/* Idle connections go; those in use when they have done their work. */
static void
limiter_drop_idle(struct limiter *l)
{
	struct lock *k;

	while ((k = TAILQ_FIRST(&l->idle)) != NULL)
		lock_free(k);
}

void
limiter_configure(struct group *g)
{
	const struct conf_limit *limit = &g->conf->limit;
	struct limiter *l = g->limiter;

	/* Locks that are held are still to be given back: it stays. */
	if (limit->server == NULL)
		return;
	if (l == NULL) {
		l = calloc(1, sizeof(*l));
		if (l == NULL) {
			log_warn("%s: limit", g->conf->name);
			return;
		}
		l->group = g;
		l->check_at = TSTAMP_NEVER;
		TAILQ_INIT(&l->locks);
		TAILQ_INIT(&l->idle);
		TAILQ_INSERT_TAIL(&g->sup->limiters, l, next);
		g->limiter = l;
	}
	limiter_drop_idle(l);
	limiter_set(l, limit);
}

unsigned
limiter_descriptors(const struct conf_app *conf)
{
	unsigned each = conf->limit.local ? 2 : 1;

	if (conf->limit.server == NULL)
		return 0;
	return each * (conf->max_processes * conf->concurrency + LIMITER_SPARE);
}

void
limiter_free(struct limiter *l)
{
	struct lock *k;

	limiter_drop_idle(l);
	while ((k = TAILQ_FIRST(&l->locks)) != NULL)
		lock_free(k);
	TAILQ_REMOVE(&l->group->sup->limiters, l, next);
	l->group->limiter = NULL;
	free(l->tokens);
	free(l);
}

/* --- time --------------------------------------------------------------- */

tstamp
limiter_deadline(const struct supervisor *s)
{
	tstamp at = TSTAMP_NEVER;
	const struct limiter *l;

	TAILQ_FOREACH(l, &s->limiters, next)
		at = tstamp_min(at, l->check_at);
	return at;
}

static void
limiter_check(struct limiter *l, tstamp now)
{
	struct lock *k, *next;

	l->check_at = TSTAMP_NEVER;
	for (k = TAILQ_FIRST(&l->locks); k != NULL; k = next) {
		next = TAILQ_NEXT(k, next);
		if (k->deadline <= now)
			lock_fail(k, "it does not answer", now);
		else
			l->check_at = tstamp_min(l->check_at, k->deadline);
	}
}

void
limiter_tick(struct supervisor *s, tstamp now)
{
	struct limiter *l;

	TAILQ_FOREACH(l, &s->limiters, next)
		if (l->check_at <= now)
			limiter_check(l, now);
}

const struct limiter_figures *
limiter_figures(const struct group *g)
{
	return g->limiter == NULL ? NULL : &g->limiter->figures;
}
