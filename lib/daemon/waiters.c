/* Connections that wait in the daemon, or are refused by it. */

#include <sys/socket.h>

#include <poll.h>
#include <unistd.h>

#include "core/action.h"
#include "daemon/group.h"
#include "daemon/keeper.h"
#include "daemon/tell.h"
#include "sys/log.h"

/* Waiters of one app that are looked at in one sweep, from the first on. */
#define SWEEP_MAX 1024

static void
drop(struct supervisor *s, uint32_t conn)
{
	struct accepted *a = &s->accepted[conn];
	struct group *g = s->groups[s->pool.conns[conn].app];

	parking_forget(s, a);
	keeper_close_conn(g, a->fd, a->tcp, false);
	a->fd = -1;
}

void
waiters_tell_full(struct group *g, tstamp now)
{
	const struct app *app = &g->sup->pool.apps[g->app];

	tell_app_limited(g, &g->full_rate, now, EVENT_REFUSAL,
	    "max_queue (%u) is reached with %u of %u processes: %s",
	    (unsigned)app->options.max_queue, (unsigned)app_processes(app),
	    (unsigned)app->options.max_processes,
	    app->options.close_when_full ? "a connection is refused"
					 : "more wait in the kernel");
}

void
waiters_refuse(struct supervisor *s, const struct action *a, tstamp now)
{
	struct group *g = s->groups[a->app];
	struct accepted *c = &s->accepted[a->conn];

	if (a->cause == CAUSE_FULL)
		waiters_tell_full(g, now);
	else
		tell_app_limited(g, &g->refuse_rate, now, EVENT_REFUSAL,
		    "a connection is refused: %s", action_cause_name(a->cause));
	g->refused++;
	parking_forget(s, c);
	refusal_begin(
	    &s->refusals, g, g->config, g->conf, c->fd, c->tcp, c->handed, now);
	c->fd = -1;
}

void
waiters_refused(void *owner, int fd, bool tcp, bool drain)
{
	struct group *g = owner;
	const struct action over = { .kind = ACTION_OVER, .app = g->app };

	keeper_close_conn(g, fd, tcp, drain);
	if (--g->refused == 0 && g->over)
		apps_over(g->sup, &over, loop_now(&g->sup->loop));
}

/*
 * Whether the client is gone for good. A client that wrote and closed is not,
 * where its bytes may be all it wants to be served; requests want an answer.
 * Nor is one that a process was given before, whose bytes are not looked at.
 */
static bool
is_gone(const struct pollfd *p, enum conf_protocol protocol, bool handed)
{
	char byte;

	if (p->revents & (POLLERR | POLLNVAL))
		return true;
	if ((p->revents & POLLHUP) == 0)
		return false;
	if (protocol != CONF_PROTOCOL_RAW)
		return true;
	return !handed && recv(p->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

static void
sweep_app(struct supervisor *s, uint32_t app, tstamp now)
{
	static struct pollfd polls[SWEEP_MAX];
	static uint32_t conns[SWEEP_MAX];
	const struct pool *p = &s->pool;
	nfds_t n = 0;

	for (uint32_t c = p->apps[app].queue.first;
	     c != ILIST_NONE && n < SWEEP_MAX; c = p->conn_links[c].next) {
		polls[n] = (struct pollfd){ .fd = s->accepted[c].fd };
		conns[n++] = c;
	}
	if (n == 0 || poll(polls, n, 0) <= 0)
		return;
	for (nfds_t i = 0; i < n; i++) {
		/* Dropping a connection may have let others be handed out. */
		if (polls[i].revents == 0 ||
		    p->conns[conns[i]].state != CONN_WAITING ||
		    !is_gone(&polls[i], s->groups[app]->conf->refusal.protocol,
			s->accepted[conns[i]].handed))
			continue;
		drop(s, conns[i]);
		pool_abandoned(&s->pool, conns[i], now);
	}
}

void
waiters_sweep(struct supervisor *s, tstamp now)
{
	for (uint32_t app = 0; app < s->pool.napps; app++)
		if (s->groups[app] != NULL)
			sweep_app(s, app, now);
}
