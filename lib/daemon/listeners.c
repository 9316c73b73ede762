/* The listening sockets of apps, and connections from there into the pool. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/carry.h"
#include "daemon/group.h"
#include "daemon/keeper.h"
#include "sys/address.h"
#include "sys/loop.h"

/* Until a listener that could not be bound anew is tried again. */
#define REBIND_PAUSE TSPAN_SECONDS(1)

/* Likewise, at first, while processes of another app have its address. */
#define AWAIT_PAUSE TSPAN_MSECONDS(20)

/* Connections accepted from one listener in one turn at most. */
#define BUDGET_MAX 64

/* Connections accepted at once when there is room again, or while leaving. */
#define TURN_MAX 64

/* While descriptors wait for a keeper. */
#define REST TSPAN_MSECONDS(50)

/* How often a listener is looked at while it leaves, and for how long. */
#define LEAVE_CHECK TSPAN_MSECONDS(10)
#define LEAVE_MAX TSPAN_SECONDS(2)

/* --- opening and closing -------------------------------------------------- */

static void
listeners_spec(const struct conf_listen *where, const struct conf_app *conf,
    int inherited, struct listener_spec *out)
{
	conf_listen_spec(where, out);
	out->inherited_fd = inherited;
	out->backlog = (int)conf->listen.backlog;
	out->uid = conf->listen.uid;
	out->gid = conf->listen.gid;
	out->mode = conf->listen.mode;
}

static void
listeners_detach(struct app_listener *l)
{
	struct group *g = l->group;

	if (g == NULL)
		return;
	acceptor_pause(&l->acceptor, true);
	timer_set(&g->sup->loop.timers, &l->acceptor.rest, TSTAMP_NEVER);
	timer_set(&g->sup->loop.timers, &l->leave_timer, TSTAMP_NEVER);
	TAILQ_REMOVE(&g->listeners, l, next);
	l->group = NULL;
}

/* Closes and frees it at once; it may be out of use. */
static void
listeners_close(struct app_listener *l)
{
	listeners_detach(l);
	acceptor_close(&l->acceptor);
	/* The lane has it: rebinding_done() frees it. */
	if (l->rebinds) {
		openings_forget(&l->rebinding);
		return;
	}
	free(l->where.text);
	free(l);
}

void
listeners_close_all(struct app_listeners *all)
{
	struct app_listener *l;

	while ((l = TAILQ_FIRST(all)) != NULL) {
		if (l->group == NULL)
			TAILQ_REMOVE(all, l, next);
		listeners_close(l);
	}
}

/* --- in use ------------------------------------------------------------- */

/* Lets the app's processes accept from the socket, or us alone. */
static void
listeners_share(struct app_listener *l)
{
	if (listener_share(&l->acceptor.listener,
		group_accepts_itself(l->group),
		!l->group->conf->listen.nonblocking) == -1)
		log_warn("%s: fcntl", l->address);
	if (group_accepts_itself(l->group))
		acceptor_keep(&l->acceptor);
}

void
listeners_pause(struct group *g)
{
	struct app_listener *l;

	if (g->paused)
		return;
	g->paused = true;
	TAILQ_FOREACH(l, &g->listeners, next)
		acceptor_pause(&l->acceptor, true);
}

void
listeners_resume(struct group *g)
{
	struct app_listener *l;

	if (!g->paused || g->hold.muted)
		return;
	g->paused = false;
	TAILQ_FOREACH(l, &g->listeners, next)
		if (!l->leaving)
			acceptor_pause(&l->acceptor, false);
}

static void
listeners_update(struct app_listener *l)
{
	struct listener *open = &l->acceptor.listener;
	struct listener_spec spec;
	const char *why = "";

	listeners_spec(&l->where, l->group->conf, -1, &spec);
	if (!open->inherited && open->fd != -1 &&
	    acceptor_update(&l->acceptor, &spec, &why) == -1)
		log_warn("%s: %s: %s", l->group->conf->name, l->address, why);
	if (open->fd != -1)
		listeners_share(l);
}

bool
listeners_serves(const struct app_listener *l)
{
	const struct listener *open = &l->acceptor.listener;

	return open->fd != -1 &&
	    (!l->leaving || l->group->closing || open->kind == LISTENER_UNIX);
}

/* --- binding anew ------------------------------------------------------- */

static void
rebinding_done(struct lane_job *job, tstamp now)
{
	struct app_listener *l =
	    LOOP_OWNER(job, struct app_listener, rebinding.job);
	struct group *g = l->group;
	tspan pause = REBIND_PAUSE;

	l->rebinds = false;
	(void)openings_end(&l->rebinding);
	if (g == NULL) {
		/* Closed meanwhile. */
		listeners_close(l);
	} else if (l->acceptor.listener.fd != -1) {
		l->awaits = false;
		listeners_share(l);
		acceptor_start(&l->acceptor);
		/* The processes have the former socket. */
		if (group_accepts_itself(g) && !g->closing)
			pool_app_restart(&g->sup->pool, g->app, now);
	} else {
		/* Soon, and then less often, while others have the address. */
		if (l->rebinding.error == 0 && l->pause < REBIND_PAUSE) {
			pause = l->pause == 0 ? AWAIT_PAUSE : 2 * l->pause;
			if (pause >= REBIND_PAUSE)
				log_warnx("%s: processes of the app that had "
					  "%s have it still: it is opened when "
					  "they end",
				    g->conf->name, l->address);
		}
		l->pause = pause;
		acceptor_rest(&l->acceptor, now + pause);
	}
}

static struct app_listener *
listener_of(struct acceptor *a)
{
	return LOOP_OWNER(a, struct app_listener, acceptor);
}

/*
 * The first time at once, then once in REBIND_PAUSE: a program may do nothing
 * but shut it down.
 */
static void
listeners_rebind(struct acceptor *a, tstamp now)
{
	struct app_listener *l = listener_of(a);
	struct group *g = l->group;
	struct listener_spec spec;

	if (l->acceptor.listener.fd != -1)
		log_warnx("%s: %s was shut down by somebody: binding it anew",
		    g->conf->name, l->address);
	acceptor_close(a);
	if (l->rebinds)
		return;
	if (!l->awaits && l->rebound != 0 && now - l->rebound < REBIND_PAUSE) {
		acceptor_rest(&l->acceptor, l->rebound + REBIND_PAUSE);
		return;
	}
	l->rebound = now;
	if (l->where.kind == CONF_LISTEN_FD) {
		log_errorx("%s: %s is of no more use: only the service "
			   "manager can bind it anew",
		    g->conf->name, l->address);
		return;
	}
	listeners_spec(&l->where, g->conf, -1, &spec);
	openings_init(&l->rebinding, NULL);
	l->rebinding.expects = l->awaits ? EADDRINUSE : 0;
	openings_add(&l->rebinding, &a->listener, &spec, "%s: %s",
	    g->conf->name, l->address);
	l->rebinds = true;
	openings_submit(&l->rebinding, &g->sup->looker, rebinding_done);
}

/* The next listener of all apps; NULL: the first one, or no more. */
static struct app_listener *
listeners_next(const struct supervisor *s, struct app_listener *l)
{
	const struct group *g = l == NULL ? NULL : l->group;

	if (l != NULL)
		l = TAILQ_NEXT(l, next);
	while (l == NULL && (g = group_next(s, g)) != NULL)
		l = TAILQ_FIRST(&g->listeners);
	return l;
}

void
listeners_open_awaited(struct supervisor *s, tstamp now)
{
	struct app_listener *l = NULL;

	while ((l = listeners_next(s, l)) != NULL)
		if (l->awaits && l->acceptor.listener.fd == -1)
			listeners_rebind(&l->acceptor, now);
}

/* --- accepting ---------------------------------------------------------- */

static bool
listeners_admit(struct acceptor *a, tstamp now)
{
	struct group *g = listener_of(a)->group;

	turn_for(g->app);
	if (group_accepts_itself(g)) {
		backlog_woken(g, now);
		return false;
	}
	if (g->keeper->nclosings > KEEPER_CLOSINGS) {
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
listeners_arrived(struct acceptor *a, int fd, tstamp now)
{
	struct group *g = listener_of(a)->group;
	struct supervisor *s = g->sup;
	bool tcp = a->listener.kind == LISTENER_TCP;
	uint32_t conn;

	if (parking_hold(g, fd, tcp, now))
		return;
	conn = pool_arrived(&s->pool, g->app, now);
	s->accepted[conn] = (struct accepted){ .fd = fd, .tcp = tcp };
}

/* Accepts for the group, from a listener that is on no list, from now on. */
static void
accepting_begin(struct app_listener *l, struct group *g)
{
	static const struct acceptor_ops ops = {
		.admits = listeners_admit,
		.arrived = listeners_arrived,
		.reopen = listeners_rebind,
	};
	const struct listener *open = &l->acceptor.listener;

	if (l->where.kind == CONF_LISTEN_TCP && open->fd != -1) {
		(void)address_format((const struct sockaddr *)&open->addr,
		    open->addrlen, l->address, sizeof(l->address));
		/* A port that the kernel chose stays when it is bound anew. */
		memcpy(&l->where.addr, &open->addr, open->addrlen);
	} else if (l->address[0] == '\0') {
		(void)snprintf(
		    l->address, sizeof(l->address), "%s", l->where.text);
	}
	l->acceptor.ops = &ops;
	l->group = g;
	l->acceptor.paused = g->paused;
	TAILQ_INSERT_TAIL(&g->listeners, l, next);
	if (l->acceptor.listener.fd != -1) {
		listeners_share(l);
		acceptor_start(&l->acceptor);
	} else if (l->where.kind != CONF_LISTEN_FD && !l->awaits) {
		/* No socket since listeners_rebind(): to be tried again. */
		acceptor_rest(&l->acceptor, l->rebound + REBIND_PAUSE);
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
listeners_report_drained(struct group *g, tstamp now)
{
	if ((!g->closing && !g->hold.stopped) || g->drained ||
	    !TAILQ_EMPTY(&g->listeners))
		return;
	g->drained = true;
	pool_app_drained(&g->sup->pool, g->app, now);
}

static void
listeners_set_leave(struct app_listener *l, tstamp at)
{
	timer_set(&l->group->sup->loop.timers, &l->leave_timer, at);
}

/* Empties the backlog; closes the listener when nothing more can come. */
static void
listeners_leave_on(struct timer *t, tstamp now)
{
	struct app_listener *l =
	    TIMER_OWNER(t, struct app_listener, leave_timer);
	const struct listener *open = &l->acceptor.listener;
	struct group *g = l->group;
	enum acceptor_got got = ACCEPTOR_ONE;

	turn_for(g->app);
	listeners_set_leave(l, now + LEAVE_CHECK);
	if (l->acceptor.hiding != NULL && now < l->serve_until)
		return;
	if (group_accepts_itself(g)) {
		backlog_look(g, now);
		/* The processes may not live, or listen elsewhere. */
		if (now < l->serve_until && backlog_wrong_port(g)[0] == '\0' &&
		    !g->sup->pool.apps[g->app].failed &&
		    !listener_is_empty(open))
			return;
	} else {
		for (unsigned left = TURN_MAX; left > 0 && got == ACCEPTOR_ONE;
		     left--)
			got = acceptor_take(&l->acceptor, now);
		if (got != ACCEPTOR_EMPTY)
			return;
	}
	if (l->last_look || (open->kind == LISTENER_UNIX && !open->shared)) {
		listeners_close(l);
		listeners_report_drained(g, now);
		return;
	}
	/*
	 * A handshake may have ended since, and its connection be there; or a
	 * client have found the file of a Unix socket just before it went.
	 */
	l->last_look = listener_half_open(open) == 0 || now >= l->leave_until;
	if (l->last_look && open->kind == LISTENER_TCP)
		listeners_set_leave(l, now);
}

/*
 * Closes the listener for newcomers. What is in its backlog is still
 * accepted; then it is closed and freed.
 */
static void
accepting_leave_one(struct app_listener *l, tstamp now)
{
	struct listener *open = &l->acceptor.listener;
	struct group *g = l->group;
	/* The next user of an inherited socket has its backlog. */
	bool stays = !open->inherited && open->fd != -1;

	if (l->leaving)
		return;
	/* Processes that accept themselves take newcomers in the meantime. */
	if (stays && group_accepts_itself(g))
		acceptor_hide(&l->acceptor, true);
	else if (stays)
		stays = listener_shut(open) == 0;
	if (!stays) {
		listeners_close(l);
		return;
	}
	l->leaving = true;
	l->leave_until = now + LEAVE_MAX;
	l->serve_until = tstamp_add(now, g->conf->pool.stop_timeout);
	acceptor_pause(&l->acceptor, true);
	listeners_set_leave(l, now);
}

static void
accepting_return(struct app_listener *l)
{
	listeners_set_leave(l, TSTAMP_NEVER);
	l->leaving = l->last_look = false;
	acceptor_hide(&l->acceptor, false);
	if (!l->group->paused)
		acceptor_pause(&l->acceptor, false);
}

/* The address of the app that the text is; NULL: none. */
static const struct conf_listen *
listeners_where(const struct conf_app *app, const char *text)
{
	for (size_t i = 0; i < app->listen.len; i++)
		if (strcmp(app->listen.list[i].text, text) == 0)
			return &app->listen.list[i];
	return NULL;
}

void
accepting_leave(struct group *g, tstamp now)
{
	bool all = g->closing || g->hold.stopped;
	struct app_listener *l, *next;

	g->drained = false;
	TAILQ_FOREACH_SAFE(l, &g->listeners, next, next)
		if (all || listeners_where(g->conf, l->where.text) == NULL)
			accepting_leave_one(l, now);
	listeners_report_drained(g, now);
}

/* --- whose listener ------------------------------------------------------- */

/*
 * Whether the listener is open at this address, or may be again: one of a Unix
 * socket that leaves was shut down for good, and another may have its file.
 */
static bool
listeners_is_at(const struct app_listener *l, const char *text)
{
	const struct listener *open = &l->acceptor.listener;

	return (!l->leaving ||
		   (open->kind == LISTENER_TCP && open->fd != -1)) &&
	    strcmp(l->where.text, text) == 0;
}

/*
 * Whether processes of its app have the socket. They may do with it what they
 * want, as long as they live and whatever is configured: another app that
 * accepted from it in our loop would let them hold that up.
 */
static bool
listeners_is_shared(const struct app_listener *l)
{
	return l->acceptor.listener.fd != -1 && group_accepts_itself(l->group);
}

/*
 * Whether the address is a socket of the service manager's that processes of
 * an app which closes have. Another one cannot be bound in its place: clients
 * wait in its backlog until they have ended.
 */
static bool
listeners_is_lent(const struct supervisor *s, const struct conf_listen *where)
{
	const struct group *g = NULL;

	while ((g = group_next(s, g)) != NULL)
		if (g->closing && group_accepts_itself(g) &&
		    where->kind == CONF_LISTEN_FD &&
		    listeners_where(g->conf, where->text) != NULL)
			break;
	return g != NULL;
}

/* Closed, and in no group; its text is not its own. NULL: no memory. */
static struct app_listener *
listener_new(struct supervisor *s, const struct conf_listen *where)
{
	struct app_listener *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	acceptor_init(&l->acceptor, &s->loop, &s->looker, NULL, BUDGET_MAX);
	timer_init(&l->leave_timer, listeners_leave_on);
	l->where = *where;
	return l;
}

void
listeners_open_missing(struct supervisor *s, const struct conf_app *app,
    const struct conf_listen *where, struct openings *openings,
    struct app_listeners *out)
{
	struct app_listener *l = NULL, *at = NULL;
	struct listener_spec spec;
	int fds[INHERITED_MAX];
	size_t n = 1;
	bool awaits;

	TAILQ_FOREACH(l, out, next)
		if (strcmp(l->where.text, where->text) == 0)
			return;
	/* The listener of any app there, rather one that stays. */
	while (
	    (at == NULL || at->leaving) && (l = listeners_next(s, l)) != NULL)
		if (listeners_is_at(l, where->text))
			at = l;
	/* Opened when processes of another app leave the address. */
	awaits = at != NULL && listeners_is_shared(at) &&
	    !at->acceptor.listener.inherited &&
	    !group_remains(at->group, app) &&
	    app->handoff != CONF_HANDOFF_LISTEN;
	/* Where the host has no address the app is broken. */
	if (!awaits &&
	    (at != NULL || listeners_is_lent(s, where) ||
		(where->kind != CONF_LISTEN_FD && where->addr_len == 0)))
		return;
	if (!awaits)
		n = openings_inherited(openings, where, app->name, fds);
	for (size_t i = 0; i < n; i++) {
		l = listener_new(s, where);
		if (l == NULL ||
		    (l->where.text = strdup(where->text)) == NULL) {
			free(l);
			openings_fail(
			    openings, ENOMEM, "%s: no memory", where->text);
			return;
		}
		l->awaits = awaits;
		TAILQ_INSERT_TAIL(out, l, next);
		if (awaits)
			break;
		listeners_spec(&l->where, app, fds[i], &spec);
		openings_add(openings, &l->acceptor.listener, &spec,
		    "%s: %s: %s", app->listen.where, app->name, where->text);
	}
}

/*
 * Gives the group all listeners at this address, several if the service
 * manager gave several sockets of one name, also such as were about to leave.
 * update: their options are others now. Returns whether one was another's.
 */
static bool
listeners_claim_at(struct group *g, const char *text, bool update)
{
	struct app_listener *l, *next;
	const struct conf_app *app;
	bool has = false, others = false;

	TAILQ_FOREACH(l, &g->listeners, next) {
		if (!listeners_is_at(l, text))
			continue;
		if (l->leaving)
			accepting_return(l);
		if (update)
			listeners_update(l);
		has = true;
	}
	for (l = listeners_next(g->sup, NULL); l != NULL; l = next) {
		next = listeners_next(g->sup, l);
		if (l->group == g || !listeners_is_at(l, text))
			continue;
		/*
		 * We do not accept from what processes have; but from a socket
		 * of the service manager if they go on without it.
		 */
		app = conf_find_app(g->config, l->group->conf->name);
		if (listeners_is_shared(l) && !group_accepts_itself(g) &&
		    (!l->acceptor.listener.inherited || app == NULL ||
			group_is_another(l->group, app)))
			continue;
		/* The listener that it awaited has come back to its app. */
		if (has && l->awaits) {
			listeners_close(l);
			continue;
		}
		if (l->leaving)
			accepting_return(l);
		listeners_detach(l);
		accepting_begin(l, g);
		listeners_update(l);
		others = true;
	}
	return others;
}

bool
listeners_claim(struct group *g, struct app_listeners *opened, bool update)
{
	struct app_listener *l, *next;
	bool any = false;

	for (size_t k = 0; k < g->conf->listen.len; k++)
		any |=
		    listeners_claim_at(g, g->conf->listen.list[k].text, update);
	TAILQ_FOREACH_SAFE(l, opened, next, next) {
		if (listeners_where(g->conf, l->where.text) == NULL)
			continue;
		TAILQ_REMOVE(opened, l, next);
		accepting_begin(l, g);
		any = true;
	}
	return any;
}

/* --- carried over --------------------------------------------------------- */

static bool
listener_restore(struct carry *c, struct group *g, void *record)
{
	const struct app_listener *row = record;
	const struct conf_listen *where = row->where.text == NULL
	    ? NULL
	    : listeners_where(g->conf, row->where.text);
	struct app_listener *l =
	    where == NULL ? NULL : listener_new(c->sup, where);

	if (l == NULL || !carry_copy(c, l, record))
		return false;
	accepting_begin(l, g);
	if (l->awaits && l->acceptor.listener.fd == -1)
		acceptor_rest(&l->acceptor, c->now);
	return true;
}

#define F(m) CARRY(struct app_listener, m)
static const struct carry_field listener_fields[] = {
	CARRY_LISTENER(struct app_listener, acceptor.listener),
	CARRY_OWNED(struct app_listener, where.text),
	CARRY_TEXT(struct app_listener, address), F(rebound), F(awaits),
	F(pause), F(acceptor.restored)
};
#undef F

static void
listeners_carry(struct carry *c, const struct group *g)
{
	const struct app_listener *l;

	TAILQ_FOREACH(l, &g->listeners, next)
		carry_put(c, CARRIED_LISTENER, g->app, l);
}

static const char *
listeners_busy(const struct group *g)
{
	const struct app_listener *l;

	TAILQ_FOREACH(l, &g->listeners, next)
		if (l->leaving || l->rebinds || l->acceptor.hiding != NULL ||
		    l->acceptor.keeping != NULL)
			return l->leaving ? "a listener of it is being closed"
					  : "a listener of it is changing";
	return NULL;
}

CARRY_KIND(carry_listener, "listener", struct app_listener, listener_fields,
    .of_app = true, .restore = listener_restore, .put_app = listeners_carry,
    .app_busy = listeners_busy);
