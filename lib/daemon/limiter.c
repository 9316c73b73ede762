/*
 * A limit in front of an app: locks of a PoolCounter server, on this machine
 * or another, asked for when the core wants one and given back when it says
 * so. Each lock has a connection of its own, one question at a time, and so
 * one answer: a request that waits never stands before a release, and a lock
 * ends with its connection if all else fails.
 */

#include <sys/queue.h>
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/action.h"
#include "daemon/counter.h"
#include "sys/log.h"
#include "sys/loop.h"
#include "sys/serverlist.h"

/* How long a server has to take a connection. */
#define CONNECT_TIMEOUT TSPAN_MSECONDS(100)

/* The time a server has to answer beyond what it may wait. */
#define LATE_MAX TSPAN_SECONDS(1)

/* No locks are asked for so long after no server answered, or no memory. */
#define LIMITER_REST TSPAN_SECONDS(1)

/* A server that took no connection is left alone for so long. */
#define DOWN_REST TSPAN_SECONDS(1)

/* Idle connections that are kept for the next requests. */
#define IDLE_MAX 16

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
	struct lock_dial *dial; /* in the lane; or NULL */
	struct timer late; /* set while an answer is due */
	uint32_t token; /* its number in the core */
	unsigned server; /* SERVER_OLD: none of today's */
	bool used; /* it was idle before this request */
	enum lock_state state;
	char line[LINE_SIZE];
	size_t len;
};

TAILQ_HEAD(locks, lock);

/* A connect() to a Unix socket: whoever may use its folder can make it wait. */
struct lock_dial {
	struct lane_job job;
	struct lock *lock; /* NULL: nobody waits for it any more */
	struct sockaddr_storage addr;
	socklen_t len;
	int fd; /* -1: error */
	int error;
};

struct limit_server {
	char name[160]; /* for the log */
	struct sockaddr_storage addr;
	socklen_t addr_len; /* 0: its host had no address, or it is local */
	bool down; /* it took no connection when it was last tried */
	tstamp retry_at; /* of one that is down: by one request a second */
	struct log_rate loss, recovery;
};

struct limiter {
	struct group *group;
	struct loop *loop;
	/* In the order in which they are tried. */
	struct limit_server servers[SERVERLIST_MAX];
	unsigned nservers; /* 1 to SERVERLIST_MAX once they are set */
	bool local; /* the only one is this daemon's own counter */
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
static void lock_lose(struct lock *k, const char *why, tstamp now);
static void lock_late(struct timer *t, tstamp now);

/* --- servers -------------------------------------------------------------- */

/*
 * Takes over the servers of the limit, all taken to be up. Returns false,
 * nothing changed, if they are the same as before.
 */
static bool
limiter_set_servers(struct limiter *l, const struct conf_limit *limit)
{
	static const struct conf_server own = { .name = "local" };
	struct limit_server servers[SERVERLIST_MAX] = { 0 };
	unsigned n = limit->local ? 1 : limit->servers_len;
	bool same = n == l->nservers && limit->local == l->local;

	for (unsigned i = 0; i < n; i++) {
		const struct conf_server *to =
		    limit->local ? &own : &limit->servers[i];
		struct limit_server *v = &servers[i];
		const struct limit_server *old = &l->servers[i];

		(void)snprintf(v->name, sizeof(v->name), "%s", to->name);
		v->addr = to->where.addr;
		v->addr_len = to->where.addr_len;
		same = same && strcmp(v->name, old->name) == 0 &&
		    v->addr_len == old->addr_len &&
		    memcmp(&v->addr, &old->addr, v->addr_len) == 0;
	}
	if (same)
		return false;
	memcpy(l->servers, servers, sizeof(servers));
	l->nservers = n;
	l->local = limit->local;
	return true;
}

/* The first server from `from` on that may be tried; or nservers. */
static unsigned
limiter_next_server(const struct limiter *l, unsigned from, tstamp now)
{
	while (from < l->nservers && l->servers[from].down &&
	    now < l->servers[from].retry_at)
		from++;
	return from;
}

/* The server took no connection, or ended it. */
static void
limiter_lost_server(
    struct limiter *l, unsigned server, const char *why, tstamp now)
{
	struct limit_server *v = &l->servers[server];

	v->retry_at = now + DOWN_REST;
	/* The loss of the only server is told with what follows from it. */
	if (!v->down && l->nservers > 1)
		log_limited(&v->loss, now, LOG_LEVEL_WARN,
		    "%s: limit: %s: %s; it is passed over until it is back",
		    l->group->name, v->name, why);
	v->down = true;
}

/* --- connections ---------------------------------------------------------- */

static void
lock_expect(struct lock *k, tstamp until)
{
	timer_set(&k->limiter->loop->timers, &k->late, until);
}

static void
lock_disconnect(struct lock *k)
{
	int error = errno;

	lock_expect(k, TSTAMP_NEVER);
	if (k->dial != NULL)
		k->dial->lock = NULL;
	k->dial = NULL;
	if (k->io.fd == -1)
		return;
	(void)loop_set(k->limiter->loop, &k->io, 0);
	close(k->io.fd);
	k->io.fd = -1;
	errno = error;
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

/* In the lane; and for TCP, which does not wait, in the loop. */
static void
lock_dial_work(struct lane_job *job)
{
	struct lock_dial *d = LOOP_OWNER(job, struct lock_dial, job);

	d->fd = socket(
	    d->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd == -1 ||
	    (connect(d->fd, (struct sockaddr *)&d->addr, d->len) == -1 &&
		errno != EINPROGRESS))
		d->error = errno;
}

/* The connection is made, or under way: its end is seen by lock_ready(). */
static void
lock_dial_done(struct lane_job *job, tstamp now)
{
	struct lock_dial *d = LOOP_OWNER(job, struct lock_dial, job);
	struct lock *k = d->lock;

	if (k == NULL || d->error != 0) {
		if (d->fd != -1)
			(void)close(d->fd);
	} else {
		k->io.fd = d->fd;
		if (loop_set(k->limiter->loop, &k->io, EPOLLIN | EPOLLOUT) ==
		    -1)
			d->error = errno;
	}
	if (k != NULL)
		k->dial = NULL;
	if (k != NULL && d->error != 0)
		lock_lose(k, strerror(d->error), now);
	free(d);
}

/* Begins a connection to this server; -1 and errno. */
static int
lock_dial(struct lock *k, const struct limit_server *v)
{
	struct limiter *l = k->limiter;
	struct supervisor *s = l->group->sup;
	struct lock_dial now = { .addr = v->addr, .len = v->addr_len };
	struct lock_dial *d;

	if (!l->local && v->addr_len == 0) {
		errno = EDESTADDRREQ; /* the host had no address */
		return -1;
	}
	if (!l->local && v->addr.ss_family == AF_UNIX) {
		d = malloc(sizeof(*d));
		if (d == NULL)
			return -1;
		*d = now;
		d->job.work = lock_dial_work;
		d->job.done = lock_dial_done;
		d->lock = k;
		k->dial = d;
		lane_submit(&s->looker, &d->job);
		return 0;
	}
	if (!l->local)
		lock_dial_work(&now.job);
	else if ((now.fd = poolcounter_join(s)) == -1)
		now.error = errno;
	k->io.fd = now.fd;
	if (now.error == 0)
		return loop_set(l->loop, &k->io, EPOLLIN | EPOLLOUT);
	errno = now.error;
	lock_disconnect(k);
	return -1;
}

/* Connects to the first of the servers from this one on that is there. */
static int
lock_dial_from(struct lock *k, unsigned from, tstamp now)
{
	struct limiter *l = k->limiter;

	k->state = LOCK_CONNECTING;
	k->used = false;
	k->len = 0;
	for (; from < l->nservers;
	     from = limiter_next_server(l, from + 1, now)) {
		l->servers[from].retry_at = now + DOWN_REST;
		k->server = from;
		if (lock_dial(k, &l->servers[from]) == 0) {
			lock_expect(k, now + CONNECT_TIMEOUT);
			return 0;
		}
		limiter_lost_server(l, from, strerror(errno), now);
		lock_disconnect(k);
	}
	return -1;
}

/* Makes a connection, which asks for a lock as soon as it can. */
static int
lock_new(struct limiter *l, unsigned server, tstamp now)
{
	struct lock *k = calloc(1, sizeof(*k)), **tokens = l->tokens;
	uint32_t n = 0;
	int error;

	while (n < l->ntokens && tokens[n] != NULL)
		n++;
	if (n == l->ntokens) {
		tokens =
		    reallocarray(tokens, 2 * (size_t)n + 8, sizeof(*tokens));
		if (tokens != NULL) {
			l->tokens = tokens;
			l->ntokens = 2 * n + 8;
			memset(
			    &tokens[n], 0, (l->ntokens - n) * sizeof(*tokens));
		}
	}
	if (k == NULL || tokens == NULL) {
		free(k);
		errno = ENOMEM;
		return -1;
	}
	k->limiter = l;
	k->io.fd = -1;
	k->io.ready = lock_ready;
	k->state = LOCK_CONNECTING;
	k->token = n;
	tokens[n] = k;
	timer_init(&k->late, lock_late);
	TAILQ_INSERT_TAIL(&l->locks, k, next);
	if (lock_dial_from(k, server, now) == 0)
		return 0;
	error = errno;
	lock_free(k);
	errno = error;
	return -1;
}

/* --- ends ----------------------------------------------------------------- */

/* A request gets no answer. */
static void
limiter_unreachable(
    struct limiter *l, const char *server, const char *why, tstamp now)
{
	struct group *g = l->group;
	bool open = g->conf->limit.fail == CONF_LIMIT_FAIL_OPEN;

	l->figures.asked--;
	l->figures.unreachable++;
	pool_lock_unavailable(
	    &g->sup->pool, g->app, open, now + LIMITER_REST, now);
	log_limited(&l->rate, now, LOG_LEVEL_WARN,
	    "%s: limit: %s: %s; connections are %s for a second", g->name,
	    server, why, open ? "let in without it" : "held back");
}

/* The connection has become useless; ends what it was in the middle of. */
static void
lock_fail(struct lock *k, const char *why, tstamp now)
{
	struct limiter *l = k->limiter;
	const char *server = k->server == SERVER_OLD
	    ? "a server of before"
	    : l->servers[k->server].name;

	switch (k->state) {
	case LOCK_CONNECTING:
	case LOCK_ASKING:
		/* why may be the line that it has. */
		limiter_unreachable(l, server, why, now);
		lock_free(k);
		break;
	case LOCK_HELD:
		/* The server has given the lock to another client by now. */
		log_limited(&l->rate, now, LOG_LEVEL_WARN,
		    "%s: limit: %s: a lock was lost with its connection: %s",
		    l->group->name, server, why);
		lock_disconnect(k);
		k->state = LOCK_GONE;
		break;
	default:
		lock_free(k);
		break;
	}
}

/*
 * The connection could not be made, or has ended. A request that has no answer
 * goes to the same server if that may have ended the connection while it was
 * idle, else to the next.
 */
static void
lock_lose(struct lock *k, const char *why, tstamp now)
{
	bool asking = k->state == LOCK_CONNECTING || k->state == LOCK_ASKING;
	unsigned server = k->server, next = server;

	if (asking && server != SERVER_OLD) {
		lock_disconnect(k);
		if (!k->used) {
			limiter_lost_server(k->limiter, server, why, now);
			next = limiter_next_server(k->limiter, server + 1, now);
		}
		if (lock_dial_from(k, next, now) == 0)
			return;
	}
	/* Another server may have been tried, and errno is of that. */
	lock_fail(k, k->server == server ? why : strerror(errno), now);
}

/* The timer. Without a connection, servers or key are others now. */
static void
lock_late(struct timer *t, tstamp now)
{
	struct lock *k = TIMER_OWNER(t, struct lock, late);
	struct limiter *l = k->limiter;
	unsigned server;

	if (k->io.fd == -1 && k->dial == NULL) {
		server = limiter_next_server(l, 0, now);
		/* Where all are down, the first is as good as any. */
		if (server == l->nservers)
			server = 0;
		if (lock_dial_from(k, server, now) == -1)
			lock_fail(k, strerror(errno), now);
	} else if (k->state == LOCK_CONNECTING) {
		lock_lose(k, "it does not answer", now);
	} else {
		lock_fail(k, "it does not answer", now);
	}
}

/* --- questions ------------------------------------------------------------ */

static void
lock_send(struct lock *k, const char *text, tstamp now)
{
	size_t len = strlen(text);
	ssize_t n = send(k->io.fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	/* A line is small: a server that has no room for it does not read. */
	if (n == -1 && errno != EAGAIN)
		lock_lose(k, strerror(errno), now);
	else if (n != (ssize_t)len)
		lock_fail(k, "it does not read", now);
}

static void
lock_ask(struct lock *k, tstamp now)
{
	struct limiter *l = k->limiter;

	k->state = LOCK_ASKING;
	lock_expect(k, tstamp_add(now, l->timeout + LATE_MAX));
	lock_send(k, l->request, now);
}

/* The connection holds nothing any more. */
static void
lock_idle(struct lock *k)
{
	struct limiter *l = k->limiter;

	if (l->nidle >= IDLE_MAX) {
		lock_free(k);
		return;
	}
	lock_expect(k, TSTAMP_NEVER);
	TAILQ_REMOVE(&l->locks, k, next);
	TAILQ_INSERT_HEAD(&l->idle, k, next);
	l->nidle++;
	k->used = true;
	k->state = LOCK_IDLE;
}

/* --- answers -------------------------------------------------------------- */

/* Takes a whole line. */
static void
lock_hear(struct lock *k, const char *word, tstamp now)
{
	struct limiter *l = k->limiter;
	struct group *g = l->group;
	bool timed_out = strcmp(word, "TIMEOUT") == 0;

	if (k->state == LOCK_RELEASING) {
		lock_idle(k);
	} else if (k->state == LOCK_ASKING && strcmp(word, "LOCKED") == 0) {
		k->state = LOCK_HELD;
		lock_expect(k, TSTAMP_NEVER);
		l->figures.asked--;
		l->figures.held++;
		l->figures.granted++;
		pool_lock_granted(&g->sup->pool, g->app, k->token, now);
	} else if (k->state == LOCK_ASKING &&
	    (timed_out || strcmp(word, "QUEUE_FULL") == 0)) {
		lock_idle(k);
		l->figures.asked--;
		l->figures.timed_out += timed_out;
		l->figures.full += !timed_out;
		pool_lock_denied(&g->sup->pool, g->app, timed_out, now);
	} else {
		lock_fail(k, word, now);
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
		lock_lose(k,
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
	/* Nothing follows: a connection has one question at a time. */
	*end = '\0';
	k->len = 0;
	lock_hear(k, k->line, now);
}

static void
lock_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct lock *k = LOOP_OWNER(io, struct lock, io);
	struct limiter *l = k->limiter;
	struct limit_server *v;
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
	if (error == 0 && loop_set(l->loop, io, EPOLLIN) == -1)
		error = errno;
	if (error != 0) {
		lock_lose(k, strerror(error), now);
		return;
	}
	if (k->server != SERVER_OLD) {
		v = &l->servers[k->server];
		if (v->down && l->nservers > 1)
			log_limited(&v->recovery, now, LOG_LEVEL_INFO,
			    "%s: limit: %s: it is back", l->group->name,
			    v->name);
		v->down = false;
	}
	lock_ask(k, now);
}

/* --- the limiter ---------------------------------------------------------- */

void
limiter_configure(struct group *g, tstamp now)
{
	const struct conf_limit *limit = &g->conf->limit;
	struct limiter *l = g->limiter;
	struct lock *k;
	bool servers, key;

	/* A limiter without a limit stays: it may have locks to give back. */
	if (limit->server == NULL)
		return;
	if (l == NULL) {
		l = g->limiter = calloc(1, sizeof(*l));
		if (l == NULL) {
			log_warn("%s: limit", g->name);
			return;
		}
		l->group = g;
		l->loop = &g->sup->loop;
		TAILQ_INIT(&l->locks);
		TAILQ_INIT(&l->idle);
	}
	servers = limiter_set_servers(l, limit);
	key = strcmp(l->key, limit->key) != 0;
	/*
	 * Requests that are not answered are asked anew, at the next turn of
	 * the loop: the counter of this daemon may be changing now, too. Locks
	 * that are held are given back where they are from.
	 */
	while (servers && (k = TAILQ_FIRST(&l->idle)) != NULL)
		lock_free(k);
	TAILQ_FOREACH(k, &l->locks, next) {
		if (servers)
			k->server = SERVER_OLD;
		if ((!servers && !key) ||
		    (k->state != LOCK_CONNECTING && k->state != LOCK_ASKING))
			continue;
		lock_disconnect(k);
		k->state = LOCK_CONNECTING;
		lock_expect(k, loop_now(l->loop));
	}
	(void)snprintf(l->key, sizeof(l->key), "%s", limit->key);
	l->timeout = limit->timeout;
	/* The original knows whole seconds only. */
	(void)snprintf(l->request, sizeof(l->request), "ACQ4ME %s %u %u %.*f\n",
	    limit->key, limit->workers, limit->maxqueue,
	    limit->timeout % TSPAN_SECONDS(1) == 0 ? 0 : 3,
	    tspan_to_seconds(limit->timeout));
	if (servers || key)
		pool_limit_moved(&g->sup->pool, g->app, now);
}

void
limiter_free(struct group *g)
{
	struct limiter *l = g->limiter;
	struct lock *k;

	if (l == NULL)
		return;
	while ((k = TAILQ_FIRST(&l->idle)) != NULL)
		lock_free(k);
	while ((k = TAILQ_FIRST(&l->locks)) != NULL)
		lock_free(k);
	free(l->tokens);
	free(l);
	g->limiter = NULL;
}

void
limiter_ask(struct supervisor *s, const struct action *a, tstamp now)
{
	struct limiter *l = s->groups[a->app]->limiter;
	struct lock *k = NULL;
	unsigned server;

	if (l == NULL) {
		pool_lock_unavailable(
		    &s->pool, a->app, true, now + LIMITER_REST, now);
		return;
	}
	server = limiter_next_server(l, 0, now);
	l->figures.asked++;
	/* Where all are down, the core has waited before it asked again. */
	if (server == l->nservers)
		server = 0;
	/* An idle connection to the server; those to others end. */
	while (!l->servers[server].down &&
	    (k = TAILQ_FIRST(&l->idle)) != NULL && k->server != server)
		lock_free(k);
	if (k != NULL) {
		TAILQ_REMOVE(&l->idle, k, next);
		l->nidle--;
		TAILQ_INSERT_TAIL(&l->locks, k, next);
		lock_ask(k, now);
	} else if (lock_new(l, server, now) == -1) {
		limiter_unreachable(
		    l, l->servers[server].name, strerror(errno), now);
	}
}

void
limiter_give_back(struct supervisor *s, const struct action *a, tstamp now)
{
	struct limiter *l = s->groups[a->app]->limiter;
	struct lock *k;

	assert(a->lock < l->ntokens && l->tokens[a->lock] != NULL);
	k = l->tokens[a->lock];
	l->figures.held--;
	if (k->state == LOCK_GONE) {
		lock_free(k);
		return;
	}
	k->state = LOCK_RELEASING;
	lock_expect(k, tstamp_add(now, LATE_MAX));
	lock_send(k, "RELEASE\n", now);
}

const struct limiter_figures *
limiter_figures(const struct group *g)
{
	return g->limiter == NULL ? NULL : &g->limiter->figures;
}

unsigned
limiter_descriptors(const struct conf_app *conf)
{
	return conf->limit.server == NULL
	    ? 0
	    : conf->pool.max_processes * conf->pool.concurrency + IDLE_MAX;
}
