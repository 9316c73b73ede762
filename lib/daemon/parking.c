/* Connections that are parked: between two requests, or before the first. */

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/group.h"
#include "daemon/keeper.h"
#include "daemon/listeners.h"
#include "daemon/worker.h"
#include "sys/loop.h"

/* Connections that are closed, or looked at, at a time. */
#define TURN_MAX 256

/* Once: while a process has the connection, its requests are none of ours. */
#define EVENTS (EPOLLIN | EPOLLRDHUP | EPOLLONESHOT)

/* Whenever there is more of a request. */
#define EVENTS_EACH (EPOLLIN | EPOLLRDHUP | EPOLLET)

/* The longest name of a method that is waited for. */
#define METHOD_MAX 32

enum parked_state {
	PARKED_AWAY, /* it waits for a process, or has one */
	PARKED_IDLE, /* in group.parked */
	PARKED_STIRRED, /* in group.stirred */
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
move(struct parked *k, enum parked_state state)
{
	struct group *g = k->group;

	if (k->state == PARKED_IDLE)
		TAILQ_REMOVE(&g->parked, k, next);
	if (k->state == PARKED_STIRRED)
		TAILQ_REMOVE(&g->stirred, k, next);
	if (state == PARKED_IDLE)
		TAILQ_INSERT_TAIL(&g->parked, k, next);
	if (state == PARKED_STIRRED)
		TAILQ_INSERT_TAIL(&g->stirred, k, next);
	if (k->state != PARKED_AWAY)
		g->nparked--;
	if (state != PARKED_AWAY)
		g->nparked++;
	k->state = (uint8_t)state;
}

/* Takes it out of the loop. The descriptor is the caller's. */
static void
forget(struct supervisor *s, struct parked *k)
{
	move(k, PARKED_AWAY);
	(void)loop_set(&s->loop, &k->io, 0);
	free(k);
}

/*
 * Its client has left, has been silent for too long, or has to make room; how:
 * for one that was never served.
 */
static void
end(struct parked *k, enum park_end how, tstamp now)
{
	struct group *g = k->group;
	int fd = k->io.fd;
	bool tcp = k->tcp;

	if (!k->fresh)
		how = PARK_SERVED;
	forget(g->sup, k);
	keeper_close_conn(g, fd, tcp, false);
	pool_park_ended(&g->sup->pool, g->app, how, now);
}

static void
unpark(struct parked *k, tstamp now)
{
	struct supervisor *s = k->group->sup;
	uint32_t conn;

	move(k, PARKED_AWAY);
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

	while ((k = TAILQ_FIRST(&g->stirred)) != NULL) {
		if (!pool_may_accept(p, g->app)) {
			listeners_pause(g);
			pool_accept_paused(p, g->app, now);
			return false;
		}
		unpark(k, now);
	}
	return true;
}

/*
 * Whether the client is gone for good. One that has shut its side down, or has
 * written and closed, may have sent a request before: a process finds out.
 */
static bool
is_gone(const struct group *g, unsigned events)
{
	return (events & EPOLLERR) != 0 ||
	    ((events & EPOLLHUP) != 0 &&
		g->conf->refusal.protocol != CONF_PROTOCOL_RAW);
}

/* How much a client has sent whose connection no process has had. */
enum sent {
	SENT_NOTHING, /* and nothing more will come */
	SENT_PART, /* of what is waited for */
	SENT_ENOUGH,
};

static enum sent
look(const struct parked *k, unsigned events)
{
	static char bytes[PARKING_HEAD_MAX];
	bool http = k->group->conf->parking.wait_for_request ==
	    CONF_WAIT_FOR_REQUEST_HTTP;
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

/* Whether the app takes no new connections any more. */
static bool
is_leaving(const struct group *g)
{
	return g->closing || g->muted || g->stopped;
}

bool
parking_is_open(const struct group *g)
{
	return (g->conf->parking.keep_alive ||
		   g->conf->parking.wait_for_data) &&
	    !is_leaving(g);
}

/* There is a request, or the client has left. */
static void
ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct parked *k = LOOP_OWNER(io, struct parked, io);
	struct group *g = k->group;
	enum sent sent = SENT_ENOUGH;

	turn_for(g->app);
	if (k->state != PARKED_IDLE)
		return;
	if (k->fresh)
		sent = look(k, events);
	if (sent == SENT_NOTHING || is_gone(g, events) || !parking_is_open(g)) {
		end(k, PARK_ABANDONED, now);
		return;
	}
	if (sent == SENT_PART)
		return;
	/* The rest of what it sends is for the process. */
	if (k->fresh)
		(void)loop_set(&g->sup->loop, io, 0);
	move(k, PARKED_STIRRED);
	(void)parking_serve(g, now);
}

/* --- the head of a request ------------------------------------------------ */

/*
 * Nothing in a head of HTTP/1 is understood here: what has to be known is
 * whether there is more to wait for. Bytes that are no method in capitals are
 * for a process to refuse; a line may end without a CR, too.
 */
bool
parking_head_lacks(const char *bytes, size_t len)
{
	const char *end = bytes + len, *at;
	size_t method = 0;

	/* Empty lines before a request are left out of account. */
	while (bytes < end && (*bytes == '\r' || *bytes == '\n'))
		bytes++;
	len = (size_t)(end - bytes);
	while (method < len && method < METHOD_MAX &&
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

/* --- time ----------------------------------------------------------------- */

static void
set_timer(struct group *g, tstamp now)
{
	const struct parked *k = TAILQ_FIRST(&g->parked);
	tstamp at = TSTAMP_NEVER;

	if (k != NULL)
		at = parking_is_open(g)
		    ? tstamp_add(k->since, g->conf->parking.keep_alive_timeout)
		    : now;
	timer_set(&g->sup->loop.timers, &g->parking_timer, at);
}

/* The timer may be early: a connection that was the first has been served. */
static void
expire(struct timer *t, tstamp now)
{
	struct group *g = TIMER_OWNER(t, struct group, parking_timer);

	turn_for(g->app);
	set_timer(g, now);
	for (unsigned left = TURN_MAX; t->at <= now && left > 0; left--) {
		end(TAILQ_FIRST(&g->parked),
		    parking_is_open(g) ? PARK_TIMED_OUT : PARK_REFUSED, now);
		set_timer(g, now);
	}
}

/* --- parking -------------------------------------------------------------- */

/* From now on it is known when there is a request. */
static void
begin(struct parked *k, tstamp now)
{
	struct group *g = k->group;

	if (g->nparked >= g->conf->parking.max_parked &&
	    !TAILQ_EMPTY(&g->parked))
		end(TAILQ_FIRST(&g->parked), PARK_REFUSED, now);
	k->since = now;
	move(k, PARKED_IDLE);
	if (loop_set(&g->sup->loop, &k->io, k->fresh ? EVENTS_EACH : EVENTS) ==
	    -1)
		end(k, PARK_REFUSED, now);
	else if (g->parking_timer.at == TSTAMP_NEVER)
		set_timer(g, now);
}

/* The struct that the loop knows the connection by; NULL: no memory. */
static struct parked *
remember(struct group *g, struct accepted *c)
{
	if (c->parked == NULL && c->fd != -1)
		c->parked = calloc(1, sizeof(*c->parked));
	if (c->parked != NULL && c->parked->group == NULL) {
		c->parked->io.fd = c->fd;
		c->parked->io.ready = ready;
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
		k = remember(g, c);
	if (k == NULL) {
		if (!pool_done(p, w->process, conn, now))
			return false;
		parking_close(g, c);
		return true;
	}
	if (!pool_parked(p, w->process, conn, now))
		return false;
	c->fd = -1;
	c->parked = NULL;
	k->fresh = false;
	begin(k, now);
	return true;
}

void
parking_hold(struct group *g, int fd, bool tcp, tstamp now)
{
	struct accepted c = { .fd = fd, .tcp = tcp };
	struct parked *k = remember(g, &c);

	pool_held(&g->sup->pool, g->app, now);
	if (k == NULL) {
		keeper_close_conn(g, fd, tcp, false);
		pool_park_ended(&g->sup->pool, g->app, PARK_REFUSED, now);
		return;
	}
	k->fresh = true;
	begin(k, now);
}

void
parking_taken(struct group *g, struct accepted *c, int fd)
{
	if (c->fd == -1)
		c->fd = fd;
	else if (fd != -1)
		keeper_close(g, fd);
}

/* --- the end -------------------------------------------------------------- */

void
parking_forget(struct supervisor *s, struct accepted *c)
{
	if (c->parked != NULL)
		forget(s, c->parked);
	c->parked = NULL;
}

void
parking_close(struct group *g, struct accepted *c)
{
	if (c->fd == -1)
		return;
	parking_forget(g->sup, c);
	keeper_close_conn(g, c->fd, c->tcp, false);
	c->fd = -1;
}

void
parking_close_all(struct worker *w)
{
	const struct pool *p = &w->sup->pool;

	for (uint32_t c = p->processes[w->process].conns.first; c != ILIST_NONE;
	     c = p->conn_links[c].next)
		parking_close(w->group, &w->sup->accepted[c]);
}

/* Hands over those with a request, of so many from here on; the next one. */
static struct parked *
serve_some(struct parked *first, tstamp now)
{
	struct pollfd polls[TURN_MAX];
	struct parked *all[TURN_MAX], *k = first;
	nfds_t n = 0;

	for (; k != NULL && n < TURN_MAX; k = TAILQ_NEXT(k, next)) {
		polls[n] = (struct pollfd){ k->io.fd, POLLIN, 0 };
		all[n++] = k;
	}
	if (poll(polls, n, 0) <= 0)
		return k;
	for (nfds_t i = 0; i < n; i++)
		if ((polls[i].revents & POLLIN) != 0 &&
		    tables_have_conn(&all[i]->group->sup->pool))
			unpark(all[i], now);
	return k;
}

/* New connections wait as others do, if the app does not wait for data. */
static void
stir_fresh(struct group *g, tstamp now)
{
	struct parked *k, *next;

	TAILQ_FOREACH_SAFE(k, &g->parked, next, next)
		if (k->fresh)
			move(k, PARKED_STIRRED);
	(void)parking_serve(g, now);
}

void
parking_leave(struct group *g, tstamp now)
{
	struct parked *k;

	if (!is_leaving(g))
		stir_fresh(g, now);

	while ((k = TAILQ_FIRST(&g->stirred)) != NULL)
		if (tables_have_conn(&g->sup->pool))
			unpark(k, now);
		else
			end(k, PARK_REFUSED, now);
	for (k = TAILQ_FIRST(&g->parked); k != NULL;)
		k = serve_some(k, now);
	set_timer(g, now);
}

void
parking_init(struct group *g)
{
	TAILQ_INIT(&g->parked);
	TAILQ_INIT(&g->stirred);
	timer_init(&g->parking_timer, expire);
}

void
parking_fini(struct group *g)
{
	tstamp now = loop_now(&g->sup->loop);
	struct parked *k;

	while ((k = TAILQ_FIRST(&g->stirred)) != NULL)
		end(k, PARK_REFUSED, now);
	while ((k = TAILQ_FIRST(&g->parked)) != NULL)
		end(k, PARK_REFUSED, now);
	timer_set(&g->sup->loop.timers, &g->parking_timer, TSTAMP_NEVER);
}
