/* Closing, by way of keepers. */

#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/closing.h"
#include "sys/fdpass.h"
#include "sys/turn.h"
#include "sys/uncancelled.h"

/* Before a keeper is tried again that was not there, or had no room. */
#define RETRY_AFTER TSPAN_MSECONDS(10)

/* A close that may wait is left to others, if there is memory. */
static void
close_here(int fd)
{
	turn_call("close");
	(void)uncancelled_close(fd);
}

void
closing_say(struct keeper *k)
{
	const char closed = KEEPER_CLOSED;

	if (k->closed && fdpass_send(k->output.io.fd, &closed, 1, -1) != -1)
		k->closed = false;
}

/* Sends as many as fit into a packet; false: none. */
static bool
send_some(struct group *g, struct keeper *k)
{
	char buf[1 + FDPASS_MAX] = { KEEPER_CLOSE };
	int fds[FDPASS_MAX];
	size_t n = g->nclosings < FDPASS_MAX ? g->nclosings : FDPASS_MAX;

	closing_say(k);
	if (k->closed)
		return false;
	for (size_t i = 0; i < n; i++) {
		fds[i] = g->closings[i].fd;
		buf[1 + i] = g->closings[i].drain ? KEEPER_DRAIN : KEEPER_PLAIN;
	}
	if (fdpass_send_many(k->output.io.fd, buf, 1 + n, fds, n) == -1)
		return false;
	for (size_t i = 0; i < n; i++)
		close_here(fds[i]);
	g->nclosings -= n;
	memmove(
	    g->closings, g->closings + n, g->nclosings * sizeof(*g->closings));
	k->closed = true;
	closing_say(k);
	return true;
}

/* A packet in each turn, so that thousands do not make it long. */
static void
give_some(struct timer *t, tstamp now)
{
	struct group *g = TIMER_OWNER(t, struct group, closing_timer);
	struct keeper *k = keeper_get(g, now);
	bool sent;

	turn_for(g->app);
	sent = k != NULL && send_some(g, k);
	if (sent)
		keeper_start_alone(k);
	if (g->nclosings > 0)
		timer_set(&g->sup->loop.timers, t,
		    sent ? now : tstamp_add(now, RETRY_AFTER));
}

void
closing_init(struct group *g)
{
	timer_init(&g->closing_timer, give_some);
}

/* A keeper that does not answer has room, too, and will close them some day. */
void
closing_fini(struct group *g)
{
	struct keeper *k;

	TAILQ_FOREACH(k, &g->sup->keepers, next)
		while (k->group == g && k->taken && !k->dismissed &&
		    g->nclosings > 0 && send_some(g, k))
			continue;
	for (size_t i = 0; i < g->nclosings; i++)
		close_here(g->closings[i].fd);
	timer_set(&g->sup->loop.timers, &g->closing_timer, TSTAMP_NEVER);
	free(g->closings);
	g->closings = NULL;
	g->nclosings = 0;
}

/* Room for one more. */
static bool
make_room(struct group *g)
{
	size_t room = g->closings_room == 0 ? 16 : 2 * g->closings_room;
	struct closing *closings;

	if (g->nclosings < g->closings_room)
		return true;
	closings = reallocarray(g->closings, room, sizeof(*closings));
	if (closings == NULL)
		return false;
	g->closings = closings;
	g->closings_room = room;
	return true;
}

static void
give(struct group *g, int fd, bool drain)
{
	if (!make_room(g)) {
		close_here(fd);
		return;
	}
	g->closings[g->nclosings++] = (struct closing){ fd, drain };
	if (g->closing_timer.at == TSTAMP_NEVER)
		timer_set(&g->sup->loop.timers, &g->closing_timer,
		    loop_now(&g->sup->loop));
}

void
closing_give(struct group *g, int fd)
{
	give(g, fd, false);
}

/*
 * Whether its last close would wait. Only a look: to set the option would wait
 * for the lock of the socket, which a process that has a copy may hold.
 */
static bool
lingers(int fd)
{
	struct linger got = { 0 };
	socklen_t len = sizeof(got);

	return getsockopt(fd, SOL_SOCKET, SO_LINGER, &got, &len) == 0 &&
	    got.l_onoff != 0;
}

/* Whether nothing lies in a Unix socket, and nothing more can come. */
static bool
is_empty(int fd)
{
	return shutdown(fd, SHUT_RDWR) == 0 && fdpass_unread(fd) == 0;
}

void
closing_give_conn(struct group *g, int fd, bool tcp, bool drain)
{
	if (tcp ? !lingers(fd) : is_empty(fd))
		close_here(fd);
	else
		give(g, fd, drain);
}

bool
closing_is_full(const struct group *g)
{
	return g->nclosings > CLOSING_MAX;
}
