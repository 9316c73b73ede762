/*
 * Connections that are parked, between two requests or before the first. A
 * process that has parked a connection may have a copy still: no call is made
 * that takes a lock of the socket. Before its first request, it may be read.
 */

#include <sys/socket.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/carry.h"
#include "daemon/worker.h"

/* Connections that are closed, or looked at, at a time. */
#define PARKING_TURN_MAX 256

/* Once: while a process has the connection, its requests are none of ours. */
#define PARKING_EVENTS (EPOLLIN | EPOLLRDHUP | EPOLLONESHOT)

/* Whenever there is more of a request. */
#define PARKING_EVENTS_EACH (EPOLLIN | EPOLLRDHUP | EPOLLET)

/* The longest head, and name of a method, that are waited for. */
#define PARKING_HEAD_MAX 16384
#define PARKING_METHOD_MAX 32

enum parked_state {
	PARKED_AWAY, /* it waits for a process, or has one */
	PARKED_IDLE, /* in parking.idle */
	PARKED_STIRRED, /* in parking.stirred */
};

/* There may be ten thousand of them: 64 bytes each, as malloc() counts. */
struct parked {
	struct loop_io io;
	TAILQ_ENTRY(parked) next;
	struct group *group;
	tstamp since; /* if idle */
	uint8_t state; /* enum parked_state */
	bool fresh; /* no process has had it */
	bool tcp;
};

static void
parking_move(struct parked *k, enum parked_state state)
{
	struct parking *p = &k->group->parking;
	struct parkeds *const lists[] = {
		[PARKED_AWAY] = NULL,
		[PARKED_IDLE] = &p->idle,
		[PARKED_STIRRED] = &p->stirred,
	};

	if (lists[k->state] != NULL) {
		TAILQ_REMOVE(lists[k->state], k, next);
		p->n--;
	}
	if (lists[state] != NULL) {
		TAILQ_INSERT_TAIL(lists[state], k, next);
		p->n++;
	}
	k->state = (uint8_t)state;
}

/* Takes it out of the loop. The descriptor is the caller's. */
static void
parking_drop(struct supervisor *s, struct parked *k)
{
	parking_move(k, PARKED_AWAY);
	(void)loop_set(&s->loop, &k->io, 0);
	free(k);
}

/*
 * The client has left, has been silent for too long, or has to make room; how:
 * the cause for a client that was never served.
 */
static void
parking_end(struct parked *k, enum park_end how, tstamp now)
{
	const struct parked was = *k;
	struct group *g = was.group;

	parking_drop(g->sup, k);
	keeper_close_conn(g, was.io.fd, was.tcp, false);
	pool_park_ended(
	    &g->sup->pool, g->app, was.fresh ? how : PARK_SERVED, now);
}

static void
parking_unpark(struct parked *k, tstamp now)
{
	struct supervisor *s = k->group->sup;
	uint32_t conn;

	parking_move(k, PARKED_AWAY);
	conn = pool_unparked(&s->pool, k->group->app, now);
	s->accepted[conn] = (struct accepted){
		.fd = k->io.fd, .tcp = k->tcp, .handed = !k->fresh, .parked = k
	};
}

bool
parking_serve(struct group *g, tstamp now)
{
	struct pool *p = &g->sup->pool;
	struct parked *k;

	while ((k = TAILQ_FIRST(&g->parking.stirred)) != NULL) {
		if (!pool_may_accept(p, g->app)) {
			listeners_pause(g);
			pool_accept_paused(p, g->app, now);
			return false;
		}
		parking_unpark(k, now);
	}
	return true;
}

/*
 * Whether they begin a request whose head is neither complete nor too long. No
 * more of HTTP/1 is understood here: bytes that are no method in capitals are
 * for a process to refuse; a line may end without a CR, too.
 */
static bool
parking_head_lacks(const char *bytes, size_t len)
{
	const char *end = bytes + len, *at;
	size_t method = 0;

	/* Empty lines before a request are left out of account. */
	while (bytes < end && (*bytes == '\r' || *bytes == '\n'))
		bytes++;
	len = (size_t)(end - bytes);
	while (method < len && method < PARKING_METHOD_MAX &&
	    ((bytes[method] >= 'A' && bytes[method] <= 'Z') ||
		bytes[method] == '-' || bytes[method] == '_'))
		method++;
	if (len >= PARKING_HEAD_MAX ||
	    (method < len && (method == 0 || bytes[method] != ' ')) ||
	    memchr(bytes, '\0', len) != NULL)
		return false;
	for (at = bytes; (at = memchr(at, '\n', (size_t)(end - at))) != NULL;) {
		at++;
		if (at < end && *at == '\r')
			at++;
		if (at < end && *at == '\n')
			return false;
	}
	return true;
}

/* How much a client has sent whose connection no process has had. */
enum sent {
	SENT_NOTHING, /* and nothing more will come */
	SENT_PART, /* of what is waited for */
	SENT_ENOUGH,
};

static enum sent
parking_look(const struct parked *k, unsigned events)
{
	static char bytes[PARKING_HEAD_MAX];
	bool http = k->group->conf->parking.wait_for_request;
	ssize_t n = recv(
	    k->io.fd, bytes, http ? sizeof(bytes) : 1, MSG_PEEK | MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return SENT_PART;
	if (n <= 0)
		return SENT_NOTHING;
	if (!http || !parking_head_lacks(bytes, (size_t)n))
		return SENT_ENOUGH;
	if (events & EPOLLHUP)
		return SENT_NOTHING;
	/* The process answers to half a request, if that is all there is. */
	return events & EPOLLRDHUP ? SENT_ENOUGH : SENT_PART;
}

static bool
parking_is_leaving(const struct group *g)
{
	return g->closing || g->hold.muted || g->hold.stopped;
}

/* Whether it has connections parked, and not only in order to end. */
static bool
parking_is_open(const struct group *g)
{
	return group_may_park(g->conf) && !parking_is_leaving(g);
}

static void
parking_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct parked *k = LOOP_OWNER(io, struct parked, io);
	struct group *g = k->group;
	enum sent sent = SENT_ENOUGH;

	turn_for(g->app);
	if (k->state != PARKED_IDLE)
		return;
	if (k->fresh)
		sent = parking_look(k, events);
	/*
	 * Is the client gone for good? One that has shut its side down, or has
	 * written and closed, may have sent a request: a process finds out.
	 */
	if (sent == SENT_NOTHING || (events & EPOLLERR) != 0 ||
	    ((events & EPOLLHUP) != 0 &&
		g->conf->refusal.protocol != CONF_PROTOCOL_RAW)) {
		parking_end(k, PARK_ABANDONED, now);
		return;
	}
	if (sent == SENT_PART)
		return;
	/* The rest of what it sends is for the process. */
	if (k->fresh)
		(void)loop_set(&g->sup->loop, io, 0);
	/*
	 * An app that has begun to leave serves what came before it closes
	 * those that are silent; the end of one that was served may be all.
	 */
	if (!parking_is_open(g)) {
		if ((k->fresh || (events & EPOLLRDHUP) == 0) &&
		    tables_have_conn(&g->sup->pool))
			parking_unpark(k, now);
		else
			parking_end(k, PARK_REFUSED, now);
		return;
	}
	parking_move(k, PARKED_STIRRED);
	(void)parking_serve(g, now);
}

/* --- time ----------------------------------------------------------------- */

static void parking_expire(struct timer *t, tstamp now);

static void
parking_set_timer(struct group *g, tstamp now)
{
	const struct parked *k = TAILQ_FIRST(&g->parking.idle);
	tstamp at = TSTAMP_NEVER;

	if (k != NULL)
		at = parking_is_open(g)
		    ? tstamp_add(k->since, g->conf->parking.keep_alive_timeout)
		    : now;
	g->parking.timer.fire = parking_expire;
	timer_set(&g->sup->loop.timers, &g->parking.timer, at);
}

/* The timer may be early: a connection that was the first has been served. */
static void
parking_expire(struct timer *t, tstamp now)
{
	struct group *g = TIMER_OWNER(t, struct group, parking.timer);

	turn_for(g->app);
	parking_set_timer(g, now);
	for (unsigned left = PARKING_TURN_MAX; t->at <= now && left > 0;
	     left--) {
		parking_end(TAILQ_FIRST(&g->parking.idle),
		    parking_is_open(g) ? PARK_TIMED_OUT : PARK_REFUSED, now);
		parking_set_timer(g, now);
	}
}

/* --- parking -------------------------------------------------------------- */

/* From now on it is known when there is a request. */
static void
parking_begin(struct parked *k, tstamp now)
{
	struct group *g = k->group;

	if (g->parking.n >= g->conf->parking.max_parked &&
	    !TAILQ_EMPTY(&g->parking.idle))
		parking_end(TAILQ_FIRST(&g->parking.idle), PARK_REFUSED, now);
	k->since = now;
	parking_move(k, PARKED_IDLE);
	if (loop_set(&g->sup->loop, &k->io,
		k->fresh ? PARKING_EVENTS_EACH : PARKING_EVENTS) == -1)
		parking_end(k, PARK_REFUSED, now);
	else if (g->parking.timer.at == TSTAMP_NEVER)
		parking_set_timer(g, now);
}

/* The struct that the loop knows the connection by; NULL: no memory. */
static struct parked *
parking_remember(struct group *g, struct accepted *c)
{
	if (c->parked == NULL && c->fd != -1)
		c->parked = calloc(1, sizeof(*c->parked));
	if (c->parked != NULL && c->parked->group == NULL) {
		c->parked->io.fd = c->fd;
		c->parked->io.ready = parking_ready;
		c->parked->group = g;
		c->parked->tcp = c->tcp;
	}
	return c->parked;
}

bool
parking_park(struct worker *w, uint32_t conn, tstamp now)
{
	struct group *g = w->group;
	struct pool *p = &g->sup->pool;
	struct accepted *c = &g->sup->accepted[conn];
	struct parked *k = NULL;

	/* The serial may be another app's: it can be guessed. */
	if (p->conns[conn].process != w->process)
		return false;
	if (g->conf->parking.keep_alive && parking_is_open(g))
		k = parking_remember(g, c);
	if (!pool_session_over(p, w->process, conn,
		k == NULL ? SESSION_DONE : SESSION_PARKED, now))
		return false;
	if (k == NULL)
		return true;
	c->fd = -1;
	c->parked = NULL;
	k->fresh = false;
	parking_begin(k, now);
	return true;
}

bool
parking_hold(struct group *g, int fd, bool tcp, tstamp now)
{
	struct accepted c = { .fd = fd, .tcp = tcp };
	struct parked *k;

	if (!g->conf->parking.wait_for_data || !parking_is_open(g))
		return false;
	k = parking_remember(g, &c);
	pool_held(&g->sup->pool, g->app, now);
	if (k == NULL) {
		keeper_close_conn(g, fd, tcp, false);
		pool_park_ended(&g->sup->pool, g->app, PARK_REFUSED, now);
		return true;
	}
	k->fresh = true;
	parking_begin(k, now);
	return true;
}

/* --- the end -------------------------------------------------------------- */

void
parking_forget(struct supervisor *s, struct accepted *c)
{
	if (c->parked != NULL)
		parking_drop(s, c->parked);
	c->parked = NULL;
}

void
parking_close(struct group *g, struct accepted *c)
{
	free(c->request);
	c->request = NULL;
	if (c->fd == -1)
		return;
	parking_forget(g->sup, c);
	keeper_close_conn(g, c->fd, c->tcp, false);
	c->fd = -1;
}

void
parking_leave(struct group *g, tstamp now)
{
	struct pollfd polls[PARKING_TURN_MAX];
	struct parked *all[PARKING_TURN_MAX], *k, *next;
	struct pool *p = &g->sup->pool;
	nfds_t n;

	while (g->over &&
	    ((k = TAILQ_FIRST(&g->parking.stirred)) != NULL ||
		(k = TAILQ_FIRST(&g->parking.idle)) != NULL))
		parking_end(k, PARK_REFUSED, now);
	/* New ones wait as others do, if the app no more waits for data. */
	if (!parking_is_leaving(g)) {
		TAILQ_FOREACH_SAFE(k, &g->parking.idle, next, next)
			if (k->fresh)
				parking_move(k, PARKED_STIRRED);
		(void)parking_serve(g, now);
	}
	while ((k = TAILQ_FIRST(&g->parking.stirred)) != NULL)
		if (tables_have_conn(p))
			parking_unpark(k, now);
		else
			parking_end(k, PARK_REFUSED, now);
	/* Connections with a request are served, if there is room for them. */
	for (k = TAILQ_FIRST(&g->parking.idle); k != NULL;) {
		for (n = 0; k != NULL && n < PARKING_TURN_MAX; n++) {
			polls[n] =
			    (struct pollfd){ k->io.fd, POLLIN | POLLRDHUP, 0 };
			all[n] = k;
			k = TAILQ_NEXT(k, next);
		}
		if (poll(polls, n, 0) <= 0)
			continue;
		for (nfds_t i = 0; i < n; i++) {
			const unsigned events = (unsigned)polls[i].revents;

			/* The bits of poll(2) are those of epoll(7). */
			if ((events & POLLIN) != 0 && tables_have_conn(p) &&
			    (!all[i]->fresh ||
				parking_look(all[i], events) == SENT_ENOUGH))
				parking_unpark(all[i], now);
		}
	}
	parking_set_timer(g, now);
}

/* --- carried over --------------------------------------------------------- */

static bool
parking_restore(struct carry *c, struct group *g, void *record)
{
	struct parked *k = record;
	enum parked_state state = (enum parked_state)k->state;

	if (k->io.fd == -1 || (state != PARKED_IDLE && state != PARKED_STIRRED))
		return false;
	k->group = g;
	k->io.ready = parking_ready;
	k->state = PARKED_AWAY;
	parking_move(k, state);
	if (g->parking.timer.at == TSTAMP_NEVER)
		parking_set_timer(g, c->now);
	return state == PARKED_STIRRED ||
	    loop_set(&c->sup->loop, &k->io,
		k->fresh ? PARKING_EVENTS_EACH : PARKING_EVENTS) == 0;
}

static const struct carry_field parked_fields[] = { CARRY_FD(
							struct parked, io.fd),
	CARRY(struct parked, since), CARRY(struct parked, state),
	CARRY(struct parked, fresh), CARRY(struct parked, tcp) };

static void
parking_carry(struct carry *c, const struct group *g)
{
	const struct parked *k;

	TAILQ_FOREACH(k, &g->parking.idle, next)
		carry_put(c, CARRIED_PARKED, g->app, k);
	TAILQ_FOREACH(k, &g->parking.stirred, next)
		carry_put(c, CARRIED_PARKED, g->app, k);
}

CARRY_KIND(carry_parked, "parked", struct parked, parked_fields, .of_app = true,
    .made = true, .restore = parking_restore, .put_app = parking_carry);
