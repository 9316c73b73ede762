/*
 * A limit in front of an app: locks of a PoolCounter server, on this machine
 * or another, asked for when the core wants one and given back when it says
 * so. Each lock has a connection of its own, one question at a time, and so
 * one answer: a request that waits never stands before a release, and a lock
 * ends with its connection if all else fails.
 */

#include <sys/socket.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/action.h"
#include "daemon/carry.h"
#include "daemon/counter.h"
#include "sys/counter_wire.h"
#include "sys/serverlist.h"

/* How long a server has to take a connection. */
#define CONNECT_TIMEOUT TSPAN_MSECONDS(100)

/* The time a server has to answer beyond what it may wait. */
#define LATE_MAX TSPAN_SECONDS(1)

/* No locks are asked for so long after no server answered, or no memory. */
#define LIMITER_REST TSPAN_SECONDS(1)

/* From one probe of a server that is down to the next. */
#define PROBE_INTERVAL TSPAN_SECONDS(1)

/* Seconds after which the connection to a host that vanished has ended. */
#define VANISHED_IDLE 1
#define VANISHED_MOST 3

/* Idle connections that are kept for the next requests. */
#define IDLE_MAX 16

/* The server of a lock from before a change of the configuration. */
#define SERVER_OLD SERVERLIST_MAX

/* Longest line of an answer. */
#define LINE_SIZE 128

enum lock_state {
	LOCK_CONNECTING, /* its request is sent when it is connected */
	LOCK_ASKING,
	LOCK_IDLE, /* connected, holds nothing */
	LOCK_HELD, /* fd -1: its connection is lost, which the core ignores */
	LOCK_RELEASING,
};

/*
 * A session goes on when its lock is lost, and so the next server must count it
 * before it lets others in: it is asked with limits that always allow it, and
 * has no place for others until the sessions are as few as their limit.
 */
#define REGAIN_LIMITS "2147483647 2147483647"

/* A connection, and the lock it may hold. */
struct lock {
	TAILQ_ENTRY(lock) next; /* in idle */
	struct limiter *limiter; /* NULL: freed when its dial is over */
	struct loop_io io; /* fd -1: not connected */
	/*
	 * A connect(), of a Unix socket in a lane: any user who can read its
	 * folder can make that wait. io.fd and error are the lane's then.
	 */
	struct lane_job dial;
	bool dialing;
	int error;
	struct sockaddr_storage addr;
	socklen_t addr_len;
	struct timer late; /* set while an answer is due */
	uint32_t token; /* its number in the core */
	unsigned server; /* SERVER_OLD: none of today's */
	bool used; /* it was idle before this request */
	/*
	 * A lock that is lost, or at a server behind, and its successor. When
	 * the successor is held, too, the session has both: or else other hosts
	 * would take the place there.
	 */
	struct lock *successor, *predecessor;
	uint32_t follows; /* when carried: predecessor's token + 1; 0: none */
	bool probe; /* whether the server answers is all there is to ask */
	enum lock_state state;
	char line[LINE_SIZE];
	size_t len;
};

struct limit_server {
	bool down; /* it was lost, and has answered no probe yet */
	bool probed; /* a probe is under way */
	struct log_rate loss, recovery;
};

struct limiter {
	struct group *group;
	struct conf *config; /* a reference, for limit */
	const struct conf_limit *limit; /* the app's latest; NULL: unknown */
	unsigned nservers; /* 1 to SERVERLIST_MAX */
	struct limit_server servers[SERVERLIST_MAX]; /* as in limit */
	char request[512];
	char regain[512];
	TAILQ_HEAD(, lock) idle;
	struct lock **tokens; /* by token; NULL: free */
	uint32_t ntokens;
	bool gather; /* locks are lost, or not at the first server */
	unsigned succeeding; /* successors that are not held yet; and then */
	unsigned unasked; /* requests that are asked anew, by this timer */
	struct timer again;
	struct log_rate rate;
};

/* --- servers -------------------------------------------------------------- */

static const char *
limiter_server(const struct limiter *l, unsigned server)
{
	if (server == SERVER_OLD)
		return "a server of before";
	return l->limit->local ? "local" : l->limit->servers[server].name;
}

/* The first server that is not down; or nservers. */
static unsigned
limiter_first_server(const struct limiter *l)
{
	unsigned server = 0;

	while (server < l->nservers && l->servers[server].down)
		server++;
	return server;
}

static void
limiter_later(struct limiter *l, tstamp at)
{
	timer_advance(&l->group->sup->loop.timers, &l->again, at);
}

/* The server was lost, for this reason; or (NULL) has answered. */
static void
limiter_mark(struct limiter *l, unsigned server, const char *why, tstamp now)
{
	struct limit_server *v = &l->servers[server];
	const char *app = l->group->conf->name;
	bool down = why != NULL;

	if (server == SERVER_OLD || v->down == down)
		return;
	v->down = down;
	l->group->locks.down += down ? 1 : -1;
	l->gather = l->gather || !down;
	limiter_later(l, down ? now + PROBE_INTERVAL : now);
	/* The only server's answer is told by limiter_unreachable(). */
	if (l->nservers > 1 && down)
		log_limited(&v->loss, now, LOG_LEVEL_WARN,
		    "%s: limit: %s: %s; it is passed over until it is back",
		    app, limiter_server(l, server), why);
	else if (l->nservers > 1)
		log_limited(&v->recovery, now, LOG_LEVEL_INFO,
		    "%s: limit: %s: it is back", app,
		    limiter_server(l, server));
}

/* --- connections ---------------------------------------------------------- */

static void
lock_expect(struct lock *k, tstamp until)
{
	timer_set(&k->limiter->group->sup->loop.timers, &k->late, until);
}

static void
lock_disconnect(struct lock *k)
{
	lock_expect(k, TSTAMP_NEVER);
	if (k->dialing || k->io.fd == -1)
		return;
	(void)loop_set(&k->limiter->group->sup->loop, &k->io, 0);
	(void)close(k->io.fd);
	k->io.fd = -1;
}

static void
lock_free(struct lock *k)
{
	struct limiter *l = k->limiter;

	lock_disconnect(k);
	if (k->state == LOCK_IDLE)
		TAILQ_REMOVE(&l->idle, k, next);
	if (k->probe)
		l->servers[k->server].probed = false;
	if (k->predecessor != NULL) {
		k->predecessor->successor = NULL;
		l->succeeding -= k->state != LOCK_HELD;
		if (l->succeeding == 0 && l->unasked > 0)
			limiter_later(l, 0);
	}
	if (k->successor != NULL && k->successor->state == LOCK_HELD)
		k->successor->predecessor = NULL;
	else if (k->successor != NULL)
		lock_free(k->successor);
	l->tokens[k->token] = NULL;
	k->limiter = NULL;
	if (!k->dialing)
		free(k);
}

static void
limiter_unreachable(
    struct limiter *l, unsigned server, const char *why, tstamp now)
{
	struct group *g = l->group;
	bool open = !g->conf->limit.fail_closed;

	g->locks.asked--;
	g->locks.unreachable++;
	pool_lock_answered(&g->sup->pool, g->app,
	    open ? LIMIT_OPEN : LIMIT_CLOSED, 0, now + LIMITER_REST, now);
	log_limited(&l->rate, now, LOG_LEVEL_WARN,
	    "%s: limit: %s: %s; connections are %s for a second", g->conf->name,
	    limiter_server(l, server), why,
	    open ? "let in without it" : "held back");
}

static bool
lock_is_former(const struct lock *k)
{
	return k->successor != NULL && k->successor->state == LOCK_HELD;
}

/*
 * The connection is of no use any more. A lock that it held is asked for anew.
 * A request without an answer is told so; or elsewhere: the connection could
 * not be made, or has ended, and the request goes to the same server if that
 * may have ended the connection while it was idle, else to the next.
 */
static void
lock_end(struct lock *k, const char *why, bool elsewhere, tstamp now)
{
	struct limiter *l = k->limiter;
	const char *app = l->group->conf->name;
	bool asked = k->state <= LOCK_ASKING && !k->probe;
	bool again = false;

	if (k->state == LOCK_HELD && lock_is_former(k)) {
		lock_free(k);
		return;
	}
	if (k->state == LOCK_HELD) {
		l->group->locks.lost++;
		log_limited(&l->rate, now, LOG_LEVEL_WARN,
		    "%s: limit: %s: a lock was lost with its connection: %s",
		    app, limiter_server(l, k->server), why);
		lock_disconnect(k);
		l->gather = true;
		limiter_later(l, now);
		return;
	}
	if (asked && elsewhere) {
		if (!k->used)
			limiter_mark(l, k->server, why, now);
		again = limiter_first_server(l) < l->nservers;
	}
	if (again)
		limiter_later(l, now);
	if (k->predecessor != NULL)
		l->gather = l->gather || again;
	else if (again)
		l->unasked++;
	else if (asked) /* why may be the line that it has */
		limiter_unreachable(l, k->server, why, now);
	lock_free(k);
}

static void
lock_late(struct timer *t, tstamp now)
{
	struct lock *k = TIMER_OWNER(t, struct lock, late);

	k->used = false;
	lock_end(k, "it does not answer", true, now);
}

/* --- questions ------------------------------------------------------------ */

/* Says a line, which the server has so long to answer, and a while more. */
static void
lock_say(struct lock *k, enum lock_state state, const char *text, tspan wait,
    tstamp now)
{
	size_t len = strlen(text);
	ssize_t n;

	k->state = state;
	lock_expect(k, tstamp_add(now, wait + LATE_MAX));
	n = send(k->io.fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* A line is small: a server that has no room for it does not read. */
	if (n == -1 && errno != EAGAIN)
		lock_end(k, strerror(errno), true, now);
	else if (n != (ssize_t)len)
		lock_end(k, "it does not read", false, now);
}

static void
lock_idle(struct lock *k)
{
	const struct lock *idle;
	unsigned n = 0;

	TAILQ_FOREACH(idle, &k->limiter->idle, next)
		n++;
	if (n >= IDLE_MAX) {
		lock_free(k);
		return;
	}
	lock_expect(k, TSTAMP_NEVER);
	TAILQ_INSERT_HEAD(&k->limiter->idle, k, next);
	k->used = true;
	k->state = LOCK_IDLE;
}

/* Gives back what the session had before this lock. */
static void
lock_end_former(struct lock *k, tstamp now)
{
	struct lock *former = k->predecessor;

	if (former == NULL)
		return;
	k->predecessor = former->successor = NULL;
	lock_say(former, LOCK_RELEASING, "RELEASE\n", 0, now);
}

/* The core's lock is this one now, which has just been granted. */
static void
lock_succeed(struct lock *k, tstamp now)
{
	struct limiter *l = k->limiter;
	struct lock *former = k->predecessor;
	uint32_t token = k->token;

	k->token = former->token;
	former->token = token;
	l->tokens[k->token] = k;
	l->tokens[token] = former;
	l->succeeding--;
	lock_end_former(former, now);
	if (former->io.fd == -1)
		lock_free(former);
	if (l->succeeding == 0)
		limiter_later(l, now);
}

/* --- answers -------------------------------------------------------------- */

/* Reads the one line that answers a question, and does what it says. */
static void
lock_hear(struct lock *k, tstamp now)
{
	struct group *g = k->limiter->group;
	ssize_t n = recv(k->io.fd, k->line + k->len,
	    sizeof(k->line) - 1 - k->len, MSG_DONTWAIT);
	bool asking = k->state == LOCK_ASKING, timed_out;
	char *end;

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		lock_end(k,
		    n == 0 ? "it closed the connection" : strerror(errno), true,
		    now);
		return;
	}
	k->len += (size_t)n;
	end = memchr(k->line, '\n', k->len);
	if (end == NULL) {
		if (k->len == sizeof(k->line) - 1)
			lock_end(
			    k, "it sent a line without an end", false, now);
		return;
	}
	/* Nothing follows: a connection has one question at a time. */
	*end = '\0';
	k->len = 0;
	limiter_mark(k->limiter, k->server, NULL, now);
	timed_out = strcmp(k->line, "TIMEOUT") == 0;
	if (k->state == LOCK_RELEASING) {
		lock_idle(k);
	} else if (k->probe) {
		k->limiter->servers[k->server].probed = k->probe = false;
		lock_idle(k);
	} else if (asking && strcmp(k->line, "LOCKED") == 0) {
		k->state = LOCK_HELD;
		lock_expect(k, TSTAMP_NEVER);
		if (k->predecessor != NULL) {
			lock_succeed(k, now);
			return;
		}
		g->locks.asked--;
		g->locks.held++;
		g->locks.granted++;
		pool_lock_answered(
		    &g->sup->pool, g->app, LIMIT_GRANTED, k->token, 0, now);
	} else if (asking && k->predecessor == NULL &&
	    (timed_out || strcmp(k->line, "QUEUE_FULL") == 0)) {
		lock_idle(k);
		g->locks.asked--;
		g->locks.timed_out += timed_out;
		g->locks.full += !timed_out;
		pool_lock_answered(&g->sup->pool, g->app,
		    timed_out ? LIMIT_TIMED_OUT : LIMIT_DENIED, 0, 0, now);
	} else {
		lock_end(k, k->line, false, now);
	}
}

static void
lock_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct lock *k = LOOP_OWNER(io, struct lock, io);
	struct limiter *l = k->limiter;
	int error = 0;
	socklen_t len = sizeof(error);

	if (k->state != LOCK_CONNECTING) {
		lock_hear(k, now);
		return;
	}
	if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0)
		return;
	(void)getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error == 0 && loop_set(&l->group->sup->loop, io, EPOLLIN) == -1)
		error = errno;
	if (error != 0) {
		lock_end(k, strerror(error), true, now);
		return;
	}
	if (k->probe)
		lock_say(k, LOCK_ASKING, "STATS\n", 0, now);
	else if (k->predecessor != NULL)
		lock_say(k, LOCK_ASKING, l->regain, 0, now);
	else
		lock_say(k, LOCK_ASKING, l->request, l->limit->timeout, now);
}

/* --- connecting ----------------------------------------------------------- */

/* In the lane; and for TCP, which does not wait, in the loop. */
static void
lock_dial_work(struct lane_job *job)
{
	struct lock *k = LOOP_OWNER(job, struct lock, dial);

	k->io.fd = socket(
	    k->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (k->io.fd != -1 && k->addr.ss_family != AF_UNIX)
		counter_tune(k->io.fd, VANISHED_IDLE, VANISHED_MOST);
	if (k->io.fd == -1 ||
	    (connect(k->io.fd, (struct sockaddr *)&k->addr, k->addr_len) ==
		    -1 &&
		errno != EINPROGRESS))
		k->error = errno;
}

/* The connection is made, or under way: its end is seen by lock_ready(). */
static void
lock_dial_done(struct lane_job *job, tstamp now)
{
	struct lock *k = LOOP_OWNER(job, struct lock, dial);

	k->dialing = false;
	if (k->limiter == NULL) {
		if (k->io.fd != -1)
			(void)close(k->io.fd);
		free(k);
		return;
	}
	if (k->error == 0 &&
	    loop_set(&k->limiter->group->sup->loop, &k->io,
		EPOLLIN | EPOLLOUT) == -1)
		k->error = errno;
	if (k->error != 0)
		lock_end(k, strerror(k->error), true, now);
}

/* The table has that token; false: no memory. */
static bool
limiter_has_token(struct limiter *l, uint32_t n)
{
	struct lock **tokens;

	if (n < l->ntokens)
		return true;
	tokens = recallocarray(
	    l->tokens, l->ntokens, 2 * (size_t)n + 8, sizeof(*tokens));
	if (tokens == NULL)
		return false;
	l->tokens = tokens;
	l->ntokens = 2 * n + 8;
	return true;
}

/* A connection with a free token, not made yet; NULL: no memory. */
static struct lock *
lock_new(struct limiter *l, unsigned server)
{
	struct lock *k;
	uint32_t n = 0;

	while (n < l->ntokens && l->tokens[n] != NULL)
		n++;
	if (!limiter_has_token(l, n) ||
	    (k = l->tokens[n] = malloc(sizeof(*k))) == NULL)
		return NULL;
	*k = (struct lock){ .limiter = l,
		.io = { .fd = -1, .ready = lock_ready },
		.token = n,
		.server = server };
	timer_init(&k->late, lock_late);
	return k;
}

/* Connects, to ask as soon as that is done. */
static void
lock_dial(struct lock *k, unsigned server, tstamp now)
{
	struct limiter *l = k->limiter;
	struct supervisor *s = l->group->sup;

	k->dial =
	    (struct lane_job){ .work = lock_dial_work, .done = lock_dial_done };
	k->state = LOCK_CONNECTING;
	k->server = server;
	k->used = false;
	k->error = 0;
	k->len = 0;
	lock_expect(k, now + CONNECT_TIMEOUT);
	if (l->limit->local) {
		k->io.fd = poolcounter_join(s);
		if (k->io.fd == -1)
			k->error = errno;
	} else {
		k->addr = l->limit->servers[server].where.addr;
		k->addr_len = l->limit->servers[server].where.addr_len;
		k->dialing = k->addr.ss_family == AF_UNIX;
		if (k->addr_len == 0)
			k->error = EDESTADDRREQ; /* its host had no address */
		else if (k->dialing)
			lane_submit(&s->looker, &k->dial);
		else
			lock_dial_work(&k->dial);
	}
	if (!k->dialing)
		lock_dial_done(&k->dial, now);
}

/*
 * Asks for a lock by an idle connection to the first server that is not down,
 * or by a new one as soon as that is made. Idle ones to others end. Where all
 * servers are down, the first is as good as any.
 */
static void
limiter_request(struct limiter *l, tstamp now)
{
	unsigned server = limiter_first_server(l) % l->nservers;
	struct lock *k = NULL;

	while (!l->servers[server].down &&
	    (k = TAILQ_FIRST(&l->idle)) != NULL && k->server != server)
		lock_free(k);
	if (k != NULL) {
		TAILQ_REMOVE(&l->idle, k, next);
		lock_say(k, LOCK_ASKING, l->request, l->limit->timeout, now);
		return;
	}
	k = lock_new(l, server);
	if (k == NULL)
		limiter_unreachable(l, server, strerror(ENOMEM), now);
	else
		lock_dial(k, server, now);
}

/* --- the limiter ---------------------------------------------------------- */

/*
 * Has all locks and requests at the first server that is not down: there the
 * other hosts have theirs. Requests are asked when the server knows the locks.
 */
static void
limiter_gather(struct limiter *l, tstamp now)
{
	const unsigned server = limiter_first_server(l);

	l->gather = false;
	for (uint32_t n = 0; n < l->ntokens && server < l->nservers; n++) {
		struct lock *k = l->tokens[n], *successor;

		if (k == NULL || k->server == SERVER_OLD || k->probe ||
		    lock_is_former(k) ||
		    (k->predecessor != NULL && k->state != LOCK_HELD) ||
		    (k->server == server &&
			(k->state != LOCK_HELD || k->io.fd != -1)))
			continue;
		if (k->state <= LOCK_ASKING) {
			lock_free(k);
			l->unasked++;
		} else if (k->state == LOCK_HELD) {
			/* A lock that is asked for may be at another server. */
			if (k->successor != NULL)
				lock_free(k->successor);
			successor = lock_new(l, server);
			if (successor == NULL)
				return;
			successor->predecessor = k;
			k->successor = successor;
			l->succeeding++;
			lock_dial(successor, server, now);
		}
	}
}

static void
limiter_go_on(struct timer *t, tstamp now)
{
	struct limiter *l = TIMER_OWNER(t, struct limiter, again);
	unsigned unasked;

	if (l->gather)
		limiter_gather(l, now);
	/* Requests that fail at once come back with the next turn. */
	unasked = l->succeeding > 0 ? 0 : l->unasked;
	l->unasked -= unasked;
	for (; unasked > 0; unasked--)
		limiter_request(l, now);
	for (unsigned i = 0;
	     i < l->nservers && l->group->conf->limit.server != NULL; i++) {
		struct limit_server *v = &l->servers[i];
		struct lock *k = v->down && !v->probed ? lock_new(l, i) : NULL;

		if (v->down)
			limiter_later(l, now + PROBE_INTERVAL);
		if (k == NULL)
			continue;
		k->probe = v->probed = true;
		lock_dial(k, i, now);
	}
}

static bool
limiter_same_servers(const struct conf_limit *a, const struct conf_limit *b)
{
	bool same = a->local == b->local && a->servers_len == b->servers_len;

	for (unsigned i = 0; same && i < a->servers_len; i++) {
		const struct conf_server *one = &a->servers[i];
		const struct conf_server *other = &b->servers[i];

		same = strcmp(one->name, other->name) == 0 &&
		    one->where.addr_len == other->where.addr_len &&
		    memcmp(&one->where.addr, &other->where.addr,
			one->where.addr_len) == 0;
	}
	return same;
}

/* A limiter without a limit; NULL: no memory. */
static struct limiter *
limiter_new(struct group *g)
{
	struct limiter *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->group = g;
	TAILQ_INIT(&l->idle);
	timer_init(&l->again, limiter_go_on);
	return l;
}

void
limiter_configure(struct group *g, tstamp now)
{
	const struct conf_limit *limit = &g->conf->limit;
	struct limiter *l = g->limiter;
	struct lock *k;
	bool moved = false, key = false;

	if (g->over && l != NULL) {
		for (uint32_t n = 0; n < l->ntokens; n++)
			if (l->tokens[n] != NULL)
				lock_free(l->tokens[n]);
		timer_set(&g->sup->loop.timers, &l->again, TSTAMP_NEVER);
		conf_free(l->config);
		free(l->tokens);
		free(l);
		g->limiter = NULL;
	}
	/* A limiter without a limit stays: it may have locks to give back. */
	if (g->over || limit->server == NULL)
		return;
	if (l == NULL) {
		l = g->limiter = limiter_new(g);
		if (l == NULL) {
			log_warn("%s: limit", g->conf->name);
			return;
		}
	} else {
		moved =
		    l->limit == NULL || !limiter_same_servers(l->limit, limit);
		key = !moved && strcmp(l->limit->key, limit->key) != 0;
	}
	/*
	 * Requests that are not answered are asked anew, at the next turn of
	 * the loop: the counter of this daemon may be changing now, too. Locks
	 * that are held are given back where they are from.
	 */
	while (moved && (k = TAILQ_FIRST(&l->idle)) != NULL)
		lock_free(k);
	for (uint32_t n = 0; n < l->ntokens; n++) {
		k = l->tokens[n];
		if (k == NULL)
			continue;
		if ((moved || key) && k->state <= LOCK_ASKING) {
			l->unasked += k->predecessor == NULL && !k->probe;
			lock_free(k);
		} else if (moved) {
			k->server = SERVER_OLD;
		}
	}
	limiter_later(l, now);
	if (moved) {
		memset(l->servers, 0, sizeof(l->servers));
		g->locks.down = 0;
	}
	l->nservers = limit->local ? 1 : limit->servers_len;
	conf_free(l->config);
	l->config = conf_ref(g->config);
	l->limit = limit;
	/* The original knows whole seconds only. */
	(void)snprintf(l->regain, sizeof(l->regain),
	    "ACQ4ME %s " REGAIN_LIMITS "\n", limit->key);
	(void)snprintf(l->request, sizeof(l->request), "ACQ4ME %s %u %u %.*f\n",
	    limit->key, limit->workers, limit->maxqueue,
	    limit->timeout % TSPAN_SECONDS(1) == 0 ? 0 : 3,
	    tspan_to_seconds(limit->timeout));
	if (moved || key)
		pool_limit_moved(&g->sup->pool, g->app, now);
}

void
limiter_ask(struct supervisor *s, const struct action *a, tstamp now)
{
	struct limiter *l = s->groups[a->app]->limiter;

	if (l == NULL) {
		pool_lock_answered(
		    &s->pool, a->app, LIMIT_OPEN, 0, now + LIMITER_REST, now);
		return;
	}
	l->group->locks.asked++;
	if (l->succeeding > 0)
		l->unasked++;
	else
		limiter_request(l, now);
}

void
limiter_give_back(struct supervisor *s, const struct action *a, tstamp now)
{
	struct group *g = s->groups[a->app];
	struct lock *k = g->limiter->tokens[a->lock];

	assert(k != NULL && k->state == LOCK_HELD);
	g->locks.held--;
	if (k->successor != NULL)
		lock_free(k->successor);
	lock_end_former(k, now);
	if (k->io.fd == -1) {
		lock_free(k);
		return;
	}
	lock_say(k, LOCK_RELEASING, "RELEASE\n", 0, now);
}

unsigned
limiter_descriptors(const struct conf_app *conf)
{
	unsigned each = conf->limit.servers_len > 1 ? 2 : 1;

	/* Each lock may have a successor at another server. */
	return conf->limit.server == NULL
	    ? 0
	    : each * conf->pool.max_processes * conf->pool.concurrency +
		IDLE_MAX;
}

/* --- carried over --------------------------------------------------------- */

static bool
lock_restore(struct carry *c, struct group *g, void *record)
{
	struct lock *k = record;
	struct limiter *l = g->limiter;
	uint32_t n = k->token;

	(void)c;
	/* Of a limit that the app has no more, whose servers are not known. */
	if (l == NULL)
		l = g->limiter = limiter_new(g);
	if (l != NULL && l->limit == NULL)
		k->server = SERVER_OLD;
	if (l == NULL || n > 1u << 24 || k->server > SERVER_OLD ||
	    k->state <= LOCK_CONNECTING || k->state > LOCK_RELEASING ||
	    !limiter_has_token(l, n) || l->tokens[n] != NULL)
		return false;
	k->limiter = l;
	k->io.ready = lock_ready;
	k->late.fire = lock_late;
	k->len = strlen(k->line);
	if (k->follows > l->ntokens ||
	    (k->follows > 0 && l->tokens[k->follows - 1] == NULL))
		return false;
	if (k->follows > 0) {
		k->predecessor = l->tokens[k->follows - 1];
		k->predecessor->successor = k;
	}
	l->tokens[n] = k;
	/* Servers before its own were passed over, and a lost one has none. */
	for (n = 0; k->server != SERVER_OLD && n < k->server; n++) {
		g->locks.down += !l->servers[n].down;
		l->servers[n].down = true;
	}
	l->gather = l->gather || (k->io.fd == -1 && k->state == LOCK_HELD);
	if (k->state == LOCK_IDLE)
		TAILQ_INSERT_TAIL(&l->idle, k, next);
	return true;
}

#define F(m) CARRY(struct lock, m)
static const struct carry_field lock_fields[] = { CARRY_IO(struct lock, io),
	CARRY_TIMER(struct lock, late), F(token), F(server), F(follows),
	F(used), F(state), CARRY_TEXT(struct lock, line) };
#undef F

/* Predecessors come first; and of idle ones, the one that is used last. */
static void
limiter_carry(struct carry *c, const struct group *g)
{
	const struct limiter *l = g->limiter;
	const uint32_t len = l == NULL ? 0 : l->ntokens;
	struct lock *k;

	for (uint32_t n = 0; n < 2 * len; n++) {
		k = l->tokens[n < len ? n : n - len];
		if (k == NULL || k->state == LOCK_IDLE || k->probe ||
		    (k->predecessor != NULL) != (n >= len))
			continue;
		k->line[k->len] = '\0';
		k->follows =
		    k->predecessor == NULL ? 0 : k->predecessor->token + 1;
		carry_put(c, CARRIED_LOCK, g->app, k);
	}
	if (l != NULL)
		TAILQ_FOREACH(k, &l->idle, next) {
			k->line[0] = '\0';
			carry_put(c, CARRIED_LOCK, g->app, k);
		}
}

static const char *
limiter_busy(const struct group *g)
{
	const struct limiter *l = g->limiter;

	for (uint32_t n = 0; l != NULL && n < l->ntokens; n++) {
		const struct lock *k = l->tokens[n];

		if (k != NULL && !k->probe && k->state == LOCK_CONNECTING)
			return "a connection of its limit is being made";
	}
	return l != NULL && l->unasked + l->succeeding > 0
	    ? "locks of its limit are asked for"
	    : NULL;
}

CARRY_KIND(carry_lock, "lock", struct lock, lock_fields, .of_app = true,
    .made = true, .restore = lock_restore, .put_app = limiter_carry,
    .app_busy = limiter_busy);
