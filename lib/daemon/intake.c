/*
 * Doors: where connections come in.  A door is in the loop while its app has
 * room.  When it has none, all doors of the app are taken out, and the core
 * calls (ACTION_RESUME) when a place is free: so at saturation a connection
 * costs one accept() and no epoll_ctl().
 */

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/intake.h"
#include "daemon/listening.h"
#include "daemon/restart_files.h"
#include "daemon/supervisor.h"
#include "sys/activation.h"
#include "sys/address.h"
#include "sys/log.h"

/* Sockets of one name that the service manager may give. */
#define INTAKE_INHERITED_MAX 64

/* How often a door that leaves is looked at, and for how long. */
#define INTAKE_LEAVE_CHECK TSPAN_MSECONDS(10)
#define INTAKE_LEAVE_MAX TSPAN_SECONDS(2)

/* Until a door that could not be bound anew is tried again. */
#define INTAKE_REBIND TSPAN_SECONDS(1)

/* --- opening and closing ------------------------------------------------ */

static void
intake_free(struct door *d)
{
	conf_listen_fini(&d->where);
	free(d);
}

static void
intake_spec(const struct conf_app *conf, const struct conf_listen *where,
    int inherited, struct listener_spec *out)
{
	*out = (struct listener_spec){
		.name = where->text,
		.inherited_fd = inherited,
		.backlog = (int)conf->backlog,
		.uid = conf->socket_uid,
		.gid = conf->socket_gid,
		.mode = conf->socket_mode,
	};
	if (where->kind == CONF_LISTEN_TCP) {
		out->addr = (const struct sockaddr *)&where->addr;
		out->addrlen = where->addr_len;
		out->v6only = where->v6only;
	} else if (where->kind == CONF_LISTEN_UNIX) {
		out->path = where->path;
	}
}

/* Where it listens, as people and status want it. */
static void
intake_name(struct door *d)
{
	struct sockaddr_storage addr;
	socklen_t len = listener_address(&d->listener, &addr);

	if (d->where.kind == CONF_LISTEN_TCP && len > 0) {
		(void)address_format((struct sockaddr *)&addr, len, d->address,
		    sizeof(d->address));
		/* A port that the kernel chose stays when it is bound anew. */
		memcpy(&d->where.addr, &addr, len);
	} else
		(void)snprintf(
		    d->address, sizeof(d->address), "%s", d->where.text);
}

static struct door *
intake_open_one(
    const struct conf_app *conf, const struct conf_listen *where, int inherited)
{
	struct listener_spec spec;
	const char *why = "cannot listen";
	struct door *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->budget = 1;
	d->listener.fd = -1;
	if (!conf_listen_copy(&d->where, where))
		goto fail;
	intake_spec(conf, &d->where, inherited, &spec);
	if (listener_open(&d->listener, &spec, &why) == -1) {
		log_error("%s: %s: %s", conf->name, where->text, why);
		goto fail;
	}
	intake_name(d);
	return d;
fail:
	intake_free(d);
	return NULL;
}

/* The sockets of that name from the service manager; 1: an ordinary one. */
static size_t
intake_sources(
    const struct conf_app *conf, const struct conf_listen *where, int *fds)
{
	size_t n;

	fds[0] = -1;
	if (where->kind != CONF_LISTEN_FD)
		return 1;
	n = activation_find(where->fd_name, INTAKE_INHERITED_MAX, fds);
	if (n == 0)
		log_errorx("%s: %s: the service manager gave no socket of "
			   "that name (LISTEN_FDNAMES)",
		    conf->name, where->text);
	return n < INTAKE_INHERITED_MAX ? n : INTAKE_INHERITED_MAX;
}

int
intake_open(const struct conf_app *conf, const struct conf_listen *where,
    struct doors *out)
{
	int fds[INTAKE_INHERITED_MAX];
	struct door *d;
	size_t n, i;

	if (where->kind != CONF_LISTEN_FD && where->addr_len == 0)
		return 0; /* nobody knows the host: the app is broken */
	n = intake_sources(conf, where, fds);
	if (n == 0) {
		errno = ENOENT;
		return -1;
	}
	for (i = 0; i < n; i++) {
		d = intake_open_one(conf, where, fds[i]);
		if (d == NULL)
			break;
		TAILQ_INSERT_TAIL(out, d, next);
	}
	if (i == n)
		return 0;
	for (int error = errno; i > 0; i--, errno = error) {
		d = TAILQ_LAST(out, doors);
		TAILQ_REMOVE(out, d, next);
		intake_close(d);
	}
	return -1;
}

static void
intake_untime(struct door *d)
{
	if (!d->timed)
		return;
	d->timed = false;
	TAILQ_REMOVE(&d->group->sup->timed, d, timed_next);
}

static void
intake_time(struct door *d, tstamp at)
{
	d->check_at = at;
	if (d->timed)
		return;
	d->timed = true;
	TAILQ_INSERT_TAIL(&d->group->sup->timed, d, timed_next);
	(void)loop_set(&d->group->sup->loop, &d->io, 0);
}

/* In the loop or not, as it should be now. */
static void
intake_listen(struct door *d)
{
	bool wanted = !d->timed && !d->group->muted;

	if (loop_set(&d->group->sup->loop, &d->io, wanted ? EPOLLIN : 0) == -1)
		log_warn("%s: epoll_ctl", d->address);
}

void
intake_detach(struct door *d)
{
	struct group *g = d->group;

	if (g == NULL)
		return;
	(void)loop_set(&g->sup->loop, &d->io, 0);
	intake_untime(d);
	TAILQ_REMOVE(&g->doors, d, next);
	d->group = NULL;
}

/* The core must know when the last door of a closing app has gone. */
static void
intake_report(struct group *g, tstamp now)
{
	if (!g->closing || g->drained || !TAILQ_EMPTY(&g->doors))
		return;
	g->drained = true;
	pool_app_drained(&g->sup->pool, g->app, now);
}

void
intake_close(struct door *d)
{
	intake_detach(d);
	listener_fini(&d->listener);
	intake_free(d);
}

void
intake_update(struct door *d)
{
	struct listener_spec spec;
	const char *why = "";

	intake_spec(d->group->conf, &d->where, -1, &spec);
	if (!d->listener.inherited && d->listener.fd != -1 &&
	    listener_update(&d->listener, &spec, &why) == -1)
		log_warn("%s: %s: %s", d->group->conf->name, d->address, why);
}

/* --- accepting ---------------------------------------------------------- */

/* Ours alone to accept from, or for processes that do. */
static void
intake_share(struct door *d)
{
	if (listener_share(&d->listener, group_accepts_itself(d->group)) == -1)
		log_warn("%s: fcntl", d->address);
}

/*
 * At once, but not at once again: there may be a program that does nothing
 * else.
 */
void
intake_rebind(struct door *d, tstamp now)
{
	struct listener_spec spec;
	const char *why = "";

	if (d->listener.fd != -1)
		log_warnx("%s: %s was shut down by somebody: binding it anew",
		    d->group->conf->name, d->address);
	(void)loop_set(&d->group->sup->loop, &d->io, 0);
	listener_fini(&d->listener);
	memset(&d->listener, 0, sizeof(d->listener));
	d->listener.fd = -1;
	if (d->rebound != 0 && now - d->rebound < INTAKE_REBIND) {
		intake_time(d, d->rebound + INTAKE_REBIND);
		return;
	}
	d->rebound = now;
	if (d->where.kind == CONF_LISTEN_FD) {
		log_errorx("%s: %s is of no more use: only the service "
			   "manager can bind it anew",
		    d->group->conf->name, d->address);
		intake_time(d, TSTAMP_NEVER);
		return;
	}
	intake_spec(d->group->conf, &d->where, -1, &spec);
	if (listener_open(&d->listener, &spec, &why) == -1) {
		log_warn("%s: %s: %s", d->group->conf->name, d->address, why);
		intake_time(d, now + INTAKE_REBIND);
		return;
	}
	d->io.fd = d->listener.fd;
	intake_share(d);
	intake_listen(d);
	if (group_accepts_itself(d->group))
		listening_rebound(d->group, now);
}

enum intake_got {
	INTAKE_ONE, /* a connection */
	INTAKE_EMPTY, /* nobody there */
	INTAKE_FULL, /* the app has no room */
	INTAKE_AWAY, /* the door rests, or had to be bound anew */
};

static enum intake_got
intake_accept(struct door *d, tstamp now)
{
	struct group *g = d->group;
	struct supervisor *s = g->sup;
	uint32_t conn;
	int fd;

	if (!pool_may_accept(&s->pool, g->app))
		return INTAKE_FULL;
	fd = listener_accept(&d->listener, now);
	switch (fd) {
	case LISTENER_EMPTY:
		return INTAKE_EMPTY;
	case LISTENER_RESTING:
		intake_time(d, d->listener.rest_until);
		return INTAKE_AWAY;
	case LISTENER_BROKEN:
		intake_rebind(d, now);
		return INTAKE_AWAY;
	default:
		conn = pool_arrived(&s->pool, g->app, now);
		s->accepted[conn].fd = fd;
		s->accepted[conn].tcp = d->listener.kind == LISTENER_TCP;
		restart_files_arrived(g, now);
		return INTAKE_ONE;
	}
}

void
intake_mute(struct group *g, bool muted)
{
	struct door *d;

	if (g->muted == muted)
		return;
	g->muted = muted;
	TAILQ_FOREACH(d, &g->doors, next)
		intake_listen(d);
}

/*
 * A door's budget is one accept while connections come one by one, so that
 * none is called for nothing, and grows while they come faster than turns.
 */
static void
intake_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct door *d = LOOP_OWNER(io, struct door, io);
	struct group *g = d->group;
	enum intake_got got = INTAKE_ONE;

	(void)events;
	if (group_accepts_itself(g)) {
		listening_woken(g, now);
		return;
	}
	for (unsigned left = d->budget; left > 0; left--) {
		got = intake_accept(d, now);
		if (got != INTAKE_ONE)
			break;
	}
	if (got == INTAKE_FULL) {
		intake_mute(g, true);
		pool_accept_paused(&g->sup->pool, g->app, now);
	}
	if (got != INTAKE_ONE)
		d->budget = 1;
	else if (d->budget < DOOR_BUDGET)
		d->budget *= 2;
}

void
intake_resume(struct group *g, tstamp now)
{
	struct door *d, *next;
	enum intake_got got = INTAKE_EMPTY;
	unsigned left = DOOR_BUDGET;

	for (d = TAILQ_FIRST(&g->doors); d != NULL && left > 0; d = next) {
		next = TAILQ_NEXT(d, next);
		if (d->timed && !d->leaving)
			continue;
		while (left > 0 && (got = intake_accept(d, now)) == INTAKE_ONE)
			left--;
		if (left > 0 && got == INTAKE_FULL) {
			/* The next place goes to another door. */
			TAILQ_REMOVE(&g->doors, d, next);
			TAILQ_INSERT_TAIL(&g->doors, d, next);
			pool_accept_paused(&g->sup->pool, g->app, now);
			return;
		}
	}
	intake_mute(g, false);
	pool_accept_resumed(&g->sup->pool, g->app, now);
}

void
intake_adopt(struct door *d, struct group *g)
{
	d->group = g;
	d->io.fd = d->listener.fd;
	d->io.ready = intake_ready;
	TAILQ_INSERT_TAIL(&g->doors, d, next);
	/* It could not be bound anew so far: see intake_rebind(). */
	if (d->listener.fd == -1) {
		intake_time(d, d->check_at);
		return;
	}
	intake_share(d);
	intake_listen(d);
}

/* --- leaving ------------------------------------------------------------ */

/*
 * Whether the door is kept until it is empty. A shared one is, even if it
 * cannot be closed to newcomers: they find who accepts them.
 */
static bool
intake_shut(struct door *d)
{
	if (d->listener.inherited || d->listener.fd == -1)
		return false;
	if (!group_accepts_itself(d->group))
		return listener_shut(&d->listener) == 0;
	if (listener_hide(&d->listener) == -1)
		log_debug("%s: the door stays open until all have left it: %s",
		    d->address, strerror(errno));
	return true;
}

void
intake_leave(struct door *d, tstamp now)
{
	struct group *g = d->group;

	if (d->leaving)
		return;
	if (!intake_shut(d)) {
		/* Its backlog is for whoever the service manager starts next.
		 */
		intake_close(d);
		intake_report(g, now);
		return;
	}
	d->leaving = true;
	d->leave_until = now + INTAKE_LEAVE_MAX;
	d->serve_until = tstamp_add(now, g->conf->stop_timeout);
	intake_time(d, now);
}

/* Whether nobody is in it any more; the app's processes let them in. */
static bool
intake_is_emptied(struct door *d, tstamp now)
{
	listening_look(d->group, now);
	return now >= d->serve_until ||
	    listener_depth(&d->listener, &d->group->sup->diag) <= 0;
}

/* Accepts what is there, a turn of it. */
static enum intake_got
intake_empty(struct door *d, tstamp now)
{
	enum intake_got got = INTAKE_ONE;

	if (group_accepts_itself(d->group))
		return intake_is_emptied(d, now) ? INTAKE_EMPTY : INTAKE_ONE;
	for (unsigned left = DOOR_BUDGET; left > 0 && got == INTAKE_ONE; left--)
		got = intake_accept(d, now);
	return got;
}

/* Accepts what is there; closes the door when nothing more can come. */
static void
intake_leave_on(struct door *d, tstamp now)
{
	struct group *g = d->group;
	enum intake_got got = intake_empty(d, now);
	long half;

	if (got == INTAKE_FULL)
		pool_accept_paused(&g->sup->pool, g->app, now);
	if (got == INTAKE_AWAY)
		return;
	d->check_at = now + INTAKE_LEAVE_CHECK;
	if (got != INTAKE_EMPTY)
		return;
	if (d->listener.kind == LISTENER_UNIX || d->last_round) {
		intake_close(d);
		intake_report(g, now);
		return;
	}
	/* What was half open a moment ago may be in the backlog by now. */
	half = listener_half_open(&d->listener, &g->sup->diag);
	d->last_round = half == 0 || now >= d->leave_until;
	if (d->last_round)
		d->check_at = now;
}

void
intake_leave_all(struct group *g, tstamp now)
{
	struct door *d, *next;

	for (d = TAILQ_FIRST(&g->doors); d != NULL; d = next) {
		next = TAILQ_NEXT(d, next);
		intake_leave(d, now);
	}
	intake_report(g, now);
}

void
intake_close_all(struct group *g)
{
	struct door *d;

	while ((d = TAILQ_FIRST(&g->doors)) != NULL)
		intake_close(d);
}

/* --- time --------------------------------------------------------------- */

tstamp
intake_deadline(const struct supervisor *s)
{
	tstamp at = TSTAMP_NEVER;
	const struct door *d;

	TAILQ_FOREACH(d, &s->timed, timed_next)
		at = tstamp_min(at, d->check_at);
	return at;
}

void
intake_tick(struct supervisor *s, tstamp now)
{
	struct door *d, *next;

	for (d = TAILQ_FIRST(&s->timed); d != NULL; d = next) {
		next = TAILQ_NEXT(d, timed_next);
		if (d->check_at > now)
			continue;
		if (d->leaving) {
			intake_leave_on(d, now);
			continue;
		}
		intake_untime(d);
		if (d->listener.fd == -1)
			intake_rebind(d, now);
		else
			intake_listen(d);
	}
}
