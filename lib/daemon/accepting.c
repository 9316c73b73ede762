/* Connections: from the listeners into the pool. */

#include <errno.h>
#include <string.h>

#include "daemon/accepting.h"
#include "daemon/backlog.h"
#include "daemon/group.h"
#include "daemon/keeper.h"
#include "sys/loop.h"

/* Connections accepted at once when there is room again, or while leaving. */
#define TURN_MAX 64

/* While descriptors wait for a keeper. */
#define REST TSPAN_MSECONDS(50)

/* How often a listener is looked at while it leaves, and for how long. */
#define LEAVE_CHECK TSPAN_MSECONDS(10)
#define LEAVE_MAX TSPAN_SECONDS(2)

static struct app_listener *
listener_of(struct acceptor *a)
{
	return LOOP_OWNER(a, struct app_listener, acceptor);
}

/* --- accepting ---------------------------------------------------------- */

static bool
admits(struct acceptor *a, tstamp now)
{
	struct group *g = listener_of(a)->group;

	turn_for(g->app);
	if (group_accepts_itself(g)) {
		backlog_woken(g, now);
		return false;
	}
	if (keeper_is_full(g)) {
		acceptor_rest(a, now + REST);
		return false;
	}
	if (pool_may_accept(&g->sup->pool, g->app))
		return true;
	listeners_pause(g);
	pool_accept_paused(&g->sup->pool, g->app, now);
	return false;
}

static void
arrived(struct acceptor *a, int fd, tstamp now)
{
	struct group *g = listener_of(a)->group;
	struct supervisor *s = g->sup;
	uint32_t conn;

	if (g->conf->parking.wait_for_data && parking_is_open(g)) {
		parking_hold(g, fd, a->listener.kind == LISTENER_TCP, now);
		return;
	}
	conn = pool_arrived(&s->pool, g->app, now);
	s->accepted[conn] = (struct accepted){ .fd = fd,
		.tcp = a->listener.kind == LISTENER_TCP };
}

static void
reopen(struct acceptor *a, tstamp now)
{
	listeners_rebind(listener_of(a), now);
}

void
accepting_begin(struct app_listener *l, struct group *g)
{
	static const struct acceptor_ops ops = {
		.admits = admits,
		.arrived = arrived,
		.reopen = reopen,
	};

	l->acceptor.ops = &ops;
	listeners_attach(l, g);
}

void
accepting_begin_all(struct app_listeners *opened, struct group *g)
{
	struct app_listener *l;

	while ((l = TAILQ_FIRST(opened)) != NULL) {
		TAILQ_REMOVE(opened, l, next);
		accepting_begin(l, g);
	}
}

void
accepting_resume(struct supervisor *s, const struct action *a, tstamp now)
{
	struct group *g = s->groups[a->app];
	struct app_listener *l, *next;
	enum acceptor_got got = ACCEPTOR_EMPTY;
	unsigned left = TURN_MAX;

	if (!parking_serve(g, now))
		return;
	TAILQ_FOREACH_SAFE(l, &g->listeners, next, next) {
		if (l->acceptor.listener.fd == -1 ||
		    l->acceptor.rest.at != TSTAMP_NEVER)
			continue;
		got = ACCEPTOR_ONE;
		while (left > 0 && got == ACCEPTOR_ONE) {
			got = acceptor_take(&l->acceptor, now);
			left -= got == ACCEPTOR_ONE;
		}
		if (got == ACCEPTOR_FULL &&
		    l->acceptor.rest.at == TSTAMP_NEVER) {
			/* The next place goes to another listener. */
			TAILQ_REMOVE(&g->listeners, l, next);
			TAILQ_INSERT_TAIL(&g->listeners, l, next);
			return;
		}
	}
	listeners_resume(g);
	pool_accept_resumed(&g->sup->pool, g->app, now);
}

/* --- leaving ------------------------------------------------------------ */

/* The core must know when an app that closes or stops has no listener left. */
static void
report_drained(struct group *g, tstamp now)
{
	if ((!g->closing && !g->stopped) || g->drained ||
	    !TAILQ_EMPTY(&g->listeners))
		return;
	g->drained = true;
	pool_app_drained(&g->sup->pool, g->app, now);
}

/*
 * Closes the listener for newcomers; false: it cannot be kept until it is
 * empty. An app that accepts itself keeps it in any case: its processes accept
 * newcomers, too.
 */
static bool
shut(struct app_listener *l)
{
	struct listener *open = &l->acceptor.listener;

	if (open->inherited || open->fd == -1)
		return false;
	if (!group_accepts_itself(l->group))
		return listener_shut(open) == 0;
	if (acceptor_hide(&l->acceptor) == -1)
		log_debug("%s: its listener stays open until it is empty: %s",
		    l->address, strerror(errno));
	return true;
}

static void
set_leave_timer(struct app_listener *l, tstamp at)
{
	timer_set(&l->group->sup->loop.timers, &l->leave_timer, at);
}

/*
 * Whether the processes have accepted all that was in the backlog, or never
 * will, as they do not live or listen elsewhere.
 */
static bool
is_emptied(struct app_listener *l, tstamp now)
{
	struct group *g = l->group;

	backlog_look(g, now);
	return now >= l->serve_until || backlog_wrong_port(g)[0] != '\0' ||
	    app_has_failed(&g->sup->pool.apps[g->app]) ||
	    listener_is_empty(&l->acceptor.listener);
}

/* Accepts what is in the backlog of a listener that leaves. */
static enum acceptor_got
empty(struct app_listener *l, tstamp now)
{
	enum acceptor_got got = ACCEPTOR_ONE;

	if (group_accepts_itself(l->group))
		return is_emptied(l, now) ? ACCEPTOR_EMPTY : ACCEPTOR_ONE;
	for (unsigned left = TURN_MAX; left > 0 && got == ACCEPTOR_ONE; left--)
		got = acceptor_take(&l->acceptor, now);
	return got;
}

/* Empties the backlog; closes the listener when nothing more can come. */
static void
leave_on(struct timer *t, tstamp now)
{
	struct app_listener *l =
	    TIMER_OWNER(t, struct app_listener, leave_timer);
	struct group *g = l->group;
	long half;

	turn_for(g->app);
	set_leave_timer(l, now + LEAVE_CHECK);
	if (l->acceptor.hiding != NULL && now < l->serve_until)
		return;
	if (empty(l, now) != ACCEPTOR_EMPTY)
		return;
	if (l->last_look ||
	    (l->acceptor.listener.kind == LISTENER_UNIX &&
		!l->acceptor.listener.shared)) {
		listeners_close(l);
		report_drained(g, now);
		return;
	}
	/*
	 * A handshake may have ended since, and its connection be there; or a
	 * client have found the file of a Unix socket just before it went.
	 */
	half = listener_half_open(&l->acceptor.listener);
	l->last_look = half == 0 || now >= l->leave_until;
	if (l->last_look && l->acceptor.listener.kind == LISTENER_TCP)
		set_leave_timer(l, now);
}

void
accepting_leave(struct app_listener *l, tstamp now)
{
	struct group *g = l->group;

	if (l->leaving)
		return;
	if (!shut(l)) {
		/* The next user of an inherited socket has its backlog. */
		listeners_close(l);
		report_drained(g, now);
		return;
	}
	l->leaving = true;
	l->leave_until = now + LEAVE_MAX;
	l->serve_until = tstamp_add(now, g->conf->pool.stop_timeout);
	acceptor_pause(&l->acceptor);
	l->leave_timer.fire = leave_on;
	set_leave_timer(l, now);
}

bool
accepting_may_return(const struct app_listener *l)
{
	return l->acceptor.listener.kind == LISTENER_TCP &&
	    l->acceptor.listener.fd != -1;
}

void
accepting_return(struct app_listener *l)
{
	set_leave_timer(l, TSTAMP_NEVER);
	l->leaving = l->last_look = false;
	acceptor_show(&l->acceptor);
	if (!l->group->paused)
		acceptor_resume(&l->acceptor);
}

void
accepting_leave_all(struct group *g, tstamp now)
{
	struct app_listener *l, *next;

	g->drained = false;
	TAILQ_FOREACH_SAFE(l, &g->listeners, next, next)
		accepting_leave(l, now);
	report_drained(g, now);
}
