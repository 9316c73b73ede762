/* The listening sockets of apps, and connections from there into the pool. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/group.h"
#include "daemon/keeper.h"
#include "daemon/listeners.h"
#include "sys/address.h"
#include "sys/loop.h"
#include "sys/manager.h"

/* Sockets of one name that the service manager may give. */
#define INHERITED_MAX 64

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

/* A socket that is bound in the lane: the folder of its file may be locked. */
struct listeners_opening {
	struct lane_job job;
	struct app_listener *of; /* NULL: closed meanwhile */
	struct supervisor *sup;
	struct conf_listen where; /* a copy, of which spec has the strings */
	struct listener_spec spec;
	struct listener listener;
	const char *why;
	int error; /* errno; 0: it is open */
};

/* --- opening and closing ------------------------------------------------ */

static void
listeners_free(struct app_listener *l)
{
	conf_listen_fini(&l->where);
	free(l);
}

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

/* Finds the address it listens at, as people and status want it. */
static void
listeners_find_address(struct app_listener *l)
{
	struct sockaddr_storage addr;
	socklen_t len = listener_address(&l->acceptor.listener, &addr);

	if (l->where.kind == CONF_LISTEN_TCP && len > 0) {
		(void)address_format((struct sockaddr *)&addr, len, l->address,
		    sizeof(l->address));
		/* A port that the kernel chose stays when it is bound anew. */
		memcpy(&l->where.addr, &addr, len);
	} else
		(void)snprintf(
		    l->address, sizeof(l->address), "%s", l->where.text);
}

/* A listener of that app, not open yet; NULL: no memory. */
static struct app_listener *
listeners_new(struct supervisor *s, const struct conf_listen *where)
{
	struct app_listener *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	acceptor_init(&l->acceptor, &s->loop, &s->looker, NULL, BUDGET_MAX);
	timer_init(&l->leave_timer, NULL);
	if (conf_listen_copy(&l->where, where))
		return l;
	listeners_free(l);
	return NULL;
}

static struct app_listener *
listeners_open_one(struct supervisor *s, const struct conf_app *conf,
    const struct conf_listen *where, int inherited, struct openings *openings)
{
	struct app_listener *l = listeners_new(s, where);
	struct listener_spec spec;
	const char *why = "cannot listen";
	char text[128];

	if (l == NULL)
		return NULL;
	listeners_spec(where, conf, inherited, &spec);
	if (openings_open(openings, &l->acceptor.listener, &spec, &why) == 0) {
		listeners_find_address(l);
		return l;
	}
	if (errno != EINPROGRESS)
		log_errorx("%s:%d: %s: %s: %s: %s", conf->listen.file,
		    conf->listen.line, conf->name, where->text, why,
		    listener_explain(&spec, text, sizeof(text)));
	listeners_free(l);
	return NULL;
}

int
listeners_open(struct supervisor *s, const struct conf_app *conf,
    const struct conf_listen *where, struct openings *openings,
    struct app_listeners *out)
{
	struct app_listeners opened = TAILQ_HEAD_INITIALIZER(opened);
	int fds[INHERITED_MAX] = { -1 }, error;
	struct app_listener *l;
	size_t n = 1;

	/* The host has no address: the app is broken. */
	if (where->kind != CONF_LISTEN_FD && where->addr_len == 0)
		return 0;
	/* The sockets of that name from the service manager, or one anew. */
	if (where->kind == CONF_LISTEN_FD)
		n = activation_find(where->fd_name, INHERITED_MAX, fds);
	if (n == 0) {
		log_errorx("%s: %s: the service manager gave no socket of "
			   "that name (LISTEN_FDNAMES)",
		    conf->name, where->text);
		errno = ENOENT;
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		l = listeners_open_one(s, conf, where, fds[i], openings);
		if (l == NULL) {
			error = errno;
			listeners_close_all(&opened);
			errno = error;
			return -1;
		}
		TAILQ_INSERT_TAIL(&opened, l, next);
	}
	TAILQ_CONCAT(out, &opened, next);
	return 0;
}

/*
 * Appends one listener to be opened when processes of another app, which have
 * a socket there, leave that. Returns 0, or -1 without memory.
 */
static int
listeners_await(struct supervisor *s, const struct conf_listen *where,
    struct app_listeners *out)
{
	struct app_listener *l = listeners_new(s, where);

	if (l == NULL)
		return -1;
	l->awaits = true;
	listeners_find_address(l);
	TAILQ_INSERT_TAIL(out, l, next);
	return 0;
}

/* Takes it out of use and off its group: as listeners_open() gave it. */
static void
listeners_detach(struct app_listener *l)
{
	struct group *g = l->group;

	if (g == NULL)
		return;
	acceptor_pause(&l->acceptor);
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
	if (l->opening != NULL)
		l->opening->of = NULL;
	listeners_free(l);
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
	if (listener_share(
		&l->acceptor.listener, group_accepts_itself(l->group)) == -1)
		log_warn("%s: fcntl", l->address);
}

void
listeners_pause(struct group *g)
{
	struct app_listener *l;

	if (g->paused)
		return;
	g->paused = true;
	TAILQ_FOREACH(l, &g->listeners, next)
		acceptor_pause(&l->acceptor);
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
			acceptor_resume(&l->acceptor);
}

/* Owner, mode and backlog as its group's configuration has them. */
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
}

bool
listeners_serves(const struct app_listener *l)
{
	return l->acceptor.listener.fd != -1 &&
	    (!l->leaving || l->group->closing);
}

/* --- binding anew ------------------------------------------------------- */

static void
opening_work(struct lane_job *job)
{
	struct listeners_opening *o =
	    LOOP_OWNER(job, struct listeners_opening, job);

	if (listener_open(&o->listener, &o->spec, &o->why) == -1)
		o->error = errno;
}

/* Tries again later: soon, and then less often, while others have the address.
 */
static void
opening_failed(struct app_listener *l, int error, const char *why, tstamp now)
{
	const char *app = l->group->conf->name;
	bool held = l->awaits && error == EADDRINUSE;
	tspan pause = REBIND_PAUSE;

	if (held && l->pause < REBIND_PAUSE)
		pause = l->pause == 0 ? AWAIT_PAUSE : 2 * l->pause;
	if (!held) {
		errno = error;
		log_warn("%s: %s: %s", app, l->address, why);
	} else if (pause >= REBIND_PAUSE && l->pause < REBIND_PAUSE) {
		log_warnx("%s: processes of the app that had %s have it still: "
			  "it is opened when they end",
		    app, l->address);
	}
	l->pause = pause;
	acceptor_rest(&l->acceptor, now + pause);
}

static void
opening_done(struct lane_job *job, tstamp now)
{
	struct listeners_opening *o =
	    LOOP_OWNER(job, struct listeners_opening, job);
	struct app_listener *l = o->of;

	if (l != NULL)
		l->opening = NULL;
	if (l == NULL && o->error == 0) {
		acceptor_discard(&o->sup->looker, &o->listener);
	} else if (l != NULL && o->error != 0) {
		opening_failed(l, o->error, o->why, now);
	} else if (l != NULL) {
		l->acceptor.listener = o->listener;
		l->awaits = false;
		listeners_share(l);
		acceptor_start(&l->acceptor);
		/* The processes have the former socket. */
		if (group_accepts_itself(l->group) && !l->group->closing)
			pool_app_restart(&o->sup->pool, l->group->app, now);
	}
	conf_listen_fini(&o->where);
	free(o);
}

/*
 * The first time at once, then once in REBIND_PAUSE: a program may do nothing
 * but shut it down.
 */
void
listeners_rebind(struct app_listener *l, tstamp now)
{
	struct group *g = l->group;
	struct listeners_opening *o;

	if (l->acceptor.listener.fd != -1)
		log_warnx("%s: %s was shut down by somebody: binding it anew",
		    g->conf->name, l->address);
	acceptor_close(&l->acceptor);
	if (l->opening != NULL)
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
	o = calloc(1, sizeof(*o));
	if (o == NULL || !conf_listen_copy(&o->where, &l->where)) {
		free(o);
		acceptor_rest(&l->acceptor, now + REBIND_PAUSE);
		return;
	}
	listeners_spec(&o->where, g->conf, -1, &o->spec);
	o->sup = g->sup;
	o->of = l;
	o->job.work = opening_work;
	o->job.done = opening_done;
	l->opening = o;
	lane_submit(&o->sup->looker, &o->job);
}

void
listeners_open_awaited(struct supervisor *s, tstamp now)
{
	struct app_listener *l;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		if (s->groups[app] == NULL)
			continue;
		TAILQ_FOREACH(l, &s->groups[app]->listeners, next)
			if (l->awaits && l->acceptor.listener.fd == -1)
				listeners_rebind(l, now);
	}
}

static struct app_listener *
listener_of(struct acceptor *a)
{
	return LOOP_OWNER(a, struct app_listener, acceptor);
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
listeners_reopen(struct acceptor *a, tstamp now)
{
	listeners_rebind(listener_of(a), now);
}

/* Accepts for the group, from a listener that is on no list, from now on. */
static void
accepting_begin(struct app_listener *l, struct group *g)
{
	static const struct acceptor_ops ops = {
		.admits = listeners_admit,
		.arrived = listeners_arrived,
		.reopen = listeners_reopen,
	};

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
listeners_report_drained(struct group *g, tstamp now)
{
	if ((!g->closing && !g->hold.stopped) || g->drained ||
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
listeners_shut(struct app_listener *l)
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
listeners_set_leave(struct app_listener *l, tstamp at)
{
	timer_set(&l->group->sup->loop.timers, &l->leave_timer, at);
}

/* Accepts what is in the backlog of a listener that leaves. */
static bool
listeners_is_emptied(struct app_listener *l, tstamp now)
{
	struct group *g = l->group;
	enum acceptor_got got = ACCEPTOR_ONE;

	for (unsigned left = TURN_MAX;
	     left > 0 && got == ACCEPTOR_ONE && !group_accepts_itself(g);
	     left--)
		got = acceptor_take(&l->acceptor, now);
	if (!group_accepts_itself(g))
		return got == ACCEPTOR_EMPTY;
	/* Or the processes do, unless they do not live or listen elsewhere. */
	backlog_look(g, now);
	return now >= l->serve_until || backlog_wrong_port(g)[0] != '\0' ||
	    g->sup->pool.apps[g->app].failed ||
	    listener_is_empty(&l->acceptor.listener);
}

/* Empties the backlog; closes the listener when nothing more can come. */
static void
listeners_leave_on(struct timer *t, tstamp now)
{
	struct app_listener *l =
	    TIMER_OWNER(t, struct app_listener, leave_timer);
	struct group *g = l->group;
	long half;

	turn_for(g->app);
	listeners_set_leave(l, now + LEAVE_CHECK);
	if (l->acceptor.hiding != NULL && now < l->serve_until)
		return;
	if (!listeners_is_emptied(l, now))
		return;
	if (l->last_look ||
	    (l->acceptor.listener.kind == LISTENER_UNIX &&
		!l->acceptor.listener.shared)) {
		listeners_close(l);
		listeners_report_drained(g, now);
		return;
	}
	/*
	 * A handshake may have ended since, and its connection be there; or a
	 * client have found the file of a Unix socket just before it went.
	 */
	half = listener_half_open(&l->acceptor.listener);
	l->last_look = half == 0 || now >= l->leave_until;
	if (l->last_look && l->acceptor.listener.kind == LISTENER_TCP)
		listeners_set_leave(l, now);
}

/*
 * Closes the listener for newcomers. What is in its backlog is still
 * accepted; then it is closed and freed.
 */
static void
accepting_leave(struct app_listener *l, tstamp now)
{
	struct group *g = l->group;

	if (l->leaving)
		return;
	if (!listeners_shut(l)) {
		/* The next user of an inherited socket has its backlog. */
		listeners_close(l);
		listeners_report_drained(g, now);
		return;
	}
	l->leaving = true;
	l->leave_until = now + LEAVE_MAX;
	l->serve_until = tstamp_add(now, g->conf->pool.stop_timeout);
	acceptor_pause(&l->acceptor);
	l->leave_timer.fire = listeners_leave_on;
	listeners_set_leave(l, now);
}

/* It leaves no more, and lets newcomers in. */
static void
accepting_return(struct app_listener *l)
{
	listeners_set_leave(l, TSTAMP_NEVER);
	l->leaving = l->last_look = false;
	acceptor_show(&l->acceptor);
	if (!l->group->paused)
		acceptor_resume(&l->acceptor);
}

static bool
listeners_are_of(const struct conf_app *app, const char *text)
{
	for (size_t i = 0; i < app->listen.len; i++)
		if (strcmp(app->listen.list[i].text, text) == 0)
			return true;
	return false;
}

void
accepting_leave_others(struct group *g, tstamp now)
{
	struct app_listener *l, *next;

	TAILQ_FOREACH_SAFE(l, &g->listeners, next, next)
		if (!listeners_are_of(g->conf, l->where.text))
			accepting_leave(l, now);
}

void
accepting_leave_all(struct group *g, tstamp now)
{
	struct app_listener *l, *next;

	g->drained = false;
	TAILQ_FOREACH_SAFE(l, &g->listeners, next, next)
		accepting_leave(l, now);
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

/* The listener of any app at this address, rather one that stays, or NULL. */
static struct app_listener *
listeners_find(const struct supervisor *s, const char *text)
{
	struct app_listener *l, *leaving = NULL;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		if (s->groups[app] == NULL)
			continue;
		TAILQ_FOREACH(l, &s->groups[app]->listeners, next) {
			if (!listeners_is_at(l, text))
				continue;
			if (!l->leaving)
				return l;
			leaving = l;
		}
	}
	return leaving;
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
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct group *g = s->groups[app];

		if (g != NULL && g->closing && group_accepts_itself(g) &&
		    where->kind == CONF_LISTEN_FD &&
		    listeners_are_of(g->conf, where->text))
			return true;
	}
	return false;
}

/*
 * Whether the listener must not go to that app: its processes have it, and we
 * would accept from it. A socket of the service manager does all the same, if
 * they go on without it.
 */
static bool
listeners_keeps(const struct app_listener *l, const struct group *to)
{
	const struct conf_app *app =
	    conf_find_app(to->config->conf, l->group->name);

	return listeners_is_shared(l) && !group_accepts_itself(to) &&
	    (!l->acceptor.listener.inherited || app == NULL ||
		group_is_another(l->group, app));
}

int
listeners_open_missing(struct supervisor *s, const struct conf_app *app,
    const struct conf_listen *where, struct openings *openings,
    struct app_listeners *out)
{
	const struct app_listener *l = listeners_find(s, where->text);

	if (l == NULL && listeners_is_lent(s, where))
		return 0;
	if (l == NULL)
		return listeners_open(s, app, where, openings, out);
	if (!listeners_is_shared(l) || l->acceptor.listener.inherited ||
	    group_remains(l->group, app) || app->handoff == CONF_HANDOFF_LISTEN)
		return 0;
	return listeners_await(s, where, out);
}

/*
 * Gives the group all listeners at this address, several if the service
 * manager gave several sockets of one name, also such as were about to leave.
 * update: their options are others now.
 */
static void
listeners_claim_at(struct group *g, const char *text, bool update)
{
	struct supervisor *s = g->sup;
	struct app_listener *l, *next;
	bool has = false;

	TAILQ_FOREACH(l, &g->listeners, next) {
		if (!listeners_is_at(l, text))
			continue;
		if (l->leaving)
			accepting_return(l);
		if (update)
			listeners_update(l);
		has = true;
	}
	for (uint32_t app = 0; app < s->pool.napps; app++) {
		struct group *from = s->groups[app];

		if (from == NULL || from == g)
			continue;
		TAILQ_FOREACH_SAFE(l, &from->listeners, next, next) {
			if (!listeners_is_at(l, text) || listeners_keeps(l, g))
				continue;
			/* What it awaited to leave has come back to its app. */
			if (has && l->awaits) {
				listeners_close(l);
				continue;
			}
			if (l->leaving)
				accepting_return(l);
			listeners_detach(l);
			accepting_begin(l, g);
			listeners_update(l);
		}
	}
}

void
listeners_claim(struct group *g, struct app_listeners *opened, bool update)
{
	for (size_t k = 0; k < g->conf->listen.len; k++)
		listeners_claim_at(g, g->conf->listen.list[k].text, update);
	accepting_begin_all(opened, g);
}
