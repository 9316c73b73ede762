/*
 * The backlog of apps that accept themselves, and their processes' sockets. The
 * loop tells of a connection, and then the daemon looks how many wait, until
 * none has waited for a while. One of them is for each process that may not
 * accept yet: none has left the backlog, it has not been seen to hold any, and
 * start_timeout is not over.
 *
 * A lane looks at the sockets that the processes have open: those that hold
 * connections are in use, and one that listens elsewhere is told of.
 */

#include <sys/param.h>
#include <sys/stat.h>

#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker.h"
#include "sys/address.h"
#include "sys/procinfo.h"
#include "sys/sockets.h"

/*
 * Looks at the backlog in each start_delay: one that is found at so many of
 * them has hardly been empty in between.
 */
#define LOOKS 4
#define LOOK_PAUSE_MIN TSPAN_MSECONDS(20)
#define LOOK_PAUSE_MAX TSPAN_SECONDS(1)

/* Without a connection for so long, the loop tells of the next one. */
#define CALM TSPAN_SECONDS(1)

/*
 * Looks at the sockets of idle processes in each max_idle_time, within bounds;
 * and one a second while connections wait and none has been accepted. After a
 * look that took long there is none for so many times that.
 */
#define OPEN_LOOKS 4
#define OPEN_PAUSE_MAX TSPAN_SECONDS(60)
#define OPEN_PAUSE_MIN TSPAN_MSECONDS(100)
#define OPEN_PAUSE_AWAITED TSPAN_SECONDS(1)
#define OPEN_REST 20

/* Sockets for which there is more room at a time. */
#define SOCKETS_ROOM 1024

/* Children of a process, and theirs, that are looked at. */
#define CHILDREN_MAX 32

/* --- the sockets that processes have open, in the lane -------------------- */

/* States in which a process holds a TCP connection. */
#define HELD_STATES \
	(0xfffU & \
	    ~(1U << TCP_LISTEN | 1U << TCP_SYN_RECV | 1U << TCP_TIME_WAIT))

struct open_listener {
	uint32_t inode;
	union sockets_address addr;
};

struct open_process {
	uint32_t number; /* in the pool */
	pid_t pid;
	bool silent; /* it may listen elsewhere */
	bool holds; /* a connection of ours */
	bool polls; /* a listener of ours */
};

/* Of any process: a connection of our listeners, or a listener not ours. */
struct open_socket {
	uint32_t inode;
	bool owned; /* by one of the processes, */
	bool silent; /* ... which may listen elsewhere */
	bool given; /* with accept in place of ours, as descriptor 0 */
	struct sockaddr_in6 at; /* of a listener, or of IPv4; else AF_UNSPEC */
};

struct backlog_look {
	struct lane_job job;
	struct group *group; /* NULL: gone */
	uint32_t generation; /* of the app when it began */
	struct open_listener *listeners; /* behind this struct */
	size_t nlisteners;
	bool connections; /* of these are wanted */
	const struct open_listener *asked; /* whose; NULL: others */
	struct open_process *processes; /* likewise */
	size_t nprocesses;
	bool silent; /* one of them is */
	struct open_process *at; /* whose descriptors are listed */
	struct open_socket *sockets; /* in order of inodes */
	size_t nsockets;
	bool connected; /* a connection was found */
	bool unknown; /* any process may hold one */
	struct sockaddr_in6 own; /* a silent one listens there */
};

static bool
open_is_of(
    const union sockets_address *listener, const union sockets_address *conn)
{
	/* An abstract name begins with NUL, and is listed with '@'. */
	size_t skip = listener->un.sun_path[0] == '\0';

	if (listener->any.sa_family != AF_UNIX)
		return sockets_covers(listener, conn);
	return conn->any.sa_family == AF_UNIX &&
	    strncmp(conn->un.sun_path + skip, listener->un.sun_path + skip,
		sizeof(listener->un.sun_path) - 1) == 0;
}

/* Notes a connection of the listener asked for, or a listener not ours. */
static bool
open_found(void *arg, const struct socket_seen *seen)
{
	struct backlog_look *l = arg;
	bool listens = seen->state == TCP_LISTEN;
	struct open_socket *s;

	if (seen->inode == 0 || listens != (l->asked == NULL) ||
	    (!listens && !open_is_of(&l->asked->addr, &seen->addr)))
		return true;
	for (size_t i = 0; i < l->nlisteners; i++)
		if (l->listeners[i].inode == seen->inode)
			return true;
	s = l->sockets;
	if (l->nsockets % SOCKETS_ROOM == 0)
		s = reallocarray(s, l->nsockets + SOCKETS_ROOM, sizeof(*s));
	if (s == NULL) {
		l->unknown = true;
		return false;
	}
	l->sockets = s;
	s += l->nsockets++;
	*s = (struct open_socket){ .inode = seen->inode };
	if (listens)
		memcpy(&s->at, &seen->addr, sizeof(s->at));
	return true;
}

static int
open_compare(const void *a, const void *b)
{
	const struct open_socket *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static void
open_found_descriptor(void *arg, uint32_t inode, int fd)
{
	struct backlog_look *l = arg;
	struct open_socket key = { .inode = inode }, *s;

	for (size_t i = 0; fd == -1 && i < l->nlisteners; i++)
		l->at->polls |= l->listeners[i].inode == inode;
	if (fd == -1)
		return;
	s = bsearch(&key, l->sockets, l->nsockets, sizeof(key), open_compare);
	if (s == NULL)
		return;
	s->owned = true;
	s->silent = s->silent || l->at->silent;
	s->given = s->given || fd == 0;
	l->at->holds = l->at->holds || s->at.sin6_family == AF_UNSPEC;
}

/*
 * The kernel's list of sockets is compared with the descriptors of the
 * processes and their children. Connections that none of them has are with
 * other processes, of whichever.
 */
static void
backlog_look_work(struct lane_job *job)
{
	struct backlog_look *l = LOOP_OWNER(job, struct backlog_look, job);
	pid_t children[CHILDREN_MAX];

	if (l->silent &&
	    !sockets_tcp(1U << TCP_LISTEN, 0, SOCKETS_ALL, open_found, l))
		l->silent = false;
	for (size_t i = 0; l->connections && i < l->nlisteners; i++) {
		l->asked = &l->listeners[i];
		if (l->asked->addr.any.sa_family == AF_UNIX
			? !sockets_unix(SOCKETS_ALL, open_found, l)
			: !sockets_tcp(HELD_STATES,
			      ntohs(l->asked->addr.in.sin_port), SOCKETS_ALL,
			      open_found, l))
			l->unknown = true;
	}
	if (l->nsockets == 0)
		return;
	qsort(l->sockets, l->nsockets, sizeof(*l->sockets), open_compare);
	for (size_t i = 0; i < l->nprocesses; i++) {
		pid_t pid = l->processes[i].pid;

		l->at = &l->processes[i];
		if (procinfo_sockets(
			pid, l->at->silent, open_found_descriptor, l) == -1 &&
		    errno != ESRCH)
			l->unknown = true;
		for (int n = procinfo_children(pid, children, CHILDREN_MAX);
		     n > 0; n--)
			(void)procinfo_sockets(children[n - 1], l->at->silent,
			    open_found_descriptor, l);
	}
	for (size_t i = 0; i < l->nsockets; i++)
		if (l->sockets[i].at.sin6_family == AF_UNSPEC) {
			l->connected = true;
			l->unknown = l->unknown || !l->sockets[i].owned;
		} else if (l->sockets[i].silent && !l->sockets[i].given) {
			l->own = l->sockets[i].at;
		}
}

/* --- likewise, in the loop ------------------------------------------------ */

/* Whether a process in this state could listen elsewhere than it was told. */
static bool
is_silent(const struct worker *w)
{
	const struct group *g = w->group;
	const struct process *x = &w->sup->pool.processes[w->process];

	return !w->accepts &&
	    x->generation == w->sup->pool.apps[g->app].generation &&
	    (group_accepts_itself(g)
		    ? x->state == PROCESS_IDLE || x->state == PROCESS_ACTIVE
		    : x->state == PROCESS_STARTING);
}

static void
backlog_looked(struct lane_job *job, tstamp now)
{
	struct backlog_look *l = LOOP_OWNER(job, struct backlog_look, job);
	struct group *g = l->group;
	const struct sockaddr_in *in = (const void *)&l->own;
	char at[ADDRESS_TEXT_SIZE], text[sizeof(g->backlog.wrong_port)];
	const char *handoff;
	bool silent = false, accepts = false, any, typed;

	if (g == NULL)
		goto end;
	typed = g->config->choice != NULL;
	handoff = typed ? "-o handoff=" : "handoff = ";
	for (size_t i = 0; i < l->nprocesses; i++) {
		const struct open_process *x = &l->processes[i];
		struct worker *w = g->sup->workers[x->number];

		if (w == NULL || w->group != g || w->pid != x->pid)
			continue;
		silent = silent || (x->silent && is_silent(w));
		if (!group_accepts_itself(g))
			continue;
		w->accepts |=
		    x->holds || x->polls || (l->unknown && l->connected);
		accepts = accepts || w->accepts;
		if (x->holds || l->unknown)
			pool_worked(&w->sup->pool, w->process, w->processors,
			    true, now);
	}
	g->backlog.open_at =
	    tstamp_add(now, OPEN_REST * (now - g->backlog.opened));
	if (l->connections)
		pool_looked(&g->sup->pool, g->app, g->backlog.opened, now);
	if (!silent || accepts || !l->silent)
		goto end;
	if (l->own.sin6_family == AF_UNSPEC) {
		g->backlog.wrong_port[0] = '\0';
		goto end;
	}
	/* ":3000" for all addresses of the machine. */
	any = in->sin_family == AF_INET
	    ? in->sin_addr.s_addr == htonl(INADDR_ANY)
	    : IN6_IS_ADDR_UNSPECIFIED(&l->own.sin6_addr);
	if (any)
		(void)snprintf(
		    at, sizeof(at), ":%u", (unsigned)ntohs(in->sin_port));
	else
		(void)address_format((const struct sockaddr *)in,
		    sizeof(l->own), at, sizeof(at));
	(void)snprintf(text, sizeof(text),
	    "it listens on %.60s itself: use %s%s{fd: 3}, or %snone", at,
	    group_accepts_itself(g) ? "" : handoff,
	    group_accepts_itself(g) ? "" : "listen and ", handoff);
	if (strcmp(backlog_wrong_port(g), text) != 0) {
		memcpy(g->backlog.wrong_port, text, sizeof(text));
		g->backlog.wrong_generation = l->generation;
		if (!typed || !settle_ends(g, true, text, now))
			tell_app(
			    g, LOG_LEVEL_WARN, EVENT_FAILURE, NULL, "%s", text);
	}
end:
	if (l->group != NULL)
		l->group->backlog.look = NULL;
	free(l->sockets);
	free(l);
}

/*
 * Unless the last look is no longer ago than that. silent: processes may listen
 * elsewhere; else connections alone are asked for.
 */
static void
open_look(struct group *g, bool silent, tspan pause, tstamp now)
{
	struct backlog_look *l;
	struct app_listener *al;
	const struct worker *w;
	size_t n = 0, workers = 0;
	struct stat st;

	if (g->backlog.look != NULL || now < g->backlog.open_at ||
	    (g->backlog.opened != 0 && now - g->backlog.opened < pause))
		return;
	TAILQ_FOREACH(al, &g->listeners, next)
		n++;
	TAILQ_FOREACH(w, &g->workers, next)
		workers++;
	l = calloc(1,
	    sizeof(*l) + n * sizeof(*l->listeners) +
		workers * sizeof(*l->processes));
	if (l == NULL)
		return;
	l->listeners = (void *)(l + 1);
	l->processes = (void *)(l->listeners + n);
	TAILQ_FOREACH(al, &g->listeners, next) {
		const struct listener *open = &al->acceptor.listener;

		if (open->fd == -1 || fstat(open->fd, &st) == -1)
			continue;
		l->listeners[l->nlisteners].inode = (uint32_t)st.st_ino;
		l->listeners[l->nlisteners++].addr.storage = open->addr;
	}
	TAILQ_FOREACH(w, &g->workers, next) {
		bool listens = silent && !g->closing && is_silent(w);

		if (w->pid == 0)
			continue;
		l->processes[l->nprocesses++] = (struct open_process){
			.number = w->process, .pid = w->pid, .silent = listens
		};
		l->silent = l->silent || listens;
	}
	l->connections = group_accepts_itself(g);
	if (!l->connections && !l->silent) {
		free(l);
		return;
	}
	l->job.work = backlog_look_work;
	l->job.done = backlog_looked;
	l->generation = g->sup->pool.apps[g->app].generation;
	l->group = g;
	g->backlog.opened = now;
	g->backlog.look = l;
	lane_submit(&g->sup->looker, &l->job);
}

void
backlog_sampled(struct worker *w, tstamp now)
{
	const struct group *g = w->group;
	const struct app *a = &g->sup->pool.apps[g->app];
	tspan pause = g->conf->pool.max_idle_time / OPEN_LOOKS;

	if (app_processes(a) <= a->options.min_processes)
		return;
	if (g->conf->pool.max_idle_time <= 0 || pause > OPEN_PAUSE_MAX)
		pause = OPEN_PAUSE_MAX;
	open_look(w->group, false, MAX(pause, OPEN_PAUSE_MIN), now);
}

const char *
backlog_wrong_port(const struct group *g)
{
	return g->backlog.wrong_generation ==
		g->sup->pool.apps[g->app].generation
	    ? g->backlog.wrong_port
	    : "";
}

/* --- the backlog --------------------------------------------------------- */

void
backlog_look(struct group *g, tstamp now)
{
	struct supervisor *s = g->sup;
	struct backlog *b = &g->backlog;
	struct app_listener *l, *next;
	long before = b->depth, depth, demand;
	bool accepts = false, any = false;
	struct worker *w;

	/* Sockets that a process has shut down. */
	TAILQ_FOREACH_SAFE(l, &g->listeners, next, next)
		if (listeners_serves(l) && !l->leaving &&
		    listener_is_broken(&l->acceptor.listener))
			l->acceptor.ops->reopen(&l->acceptor, now);
	b->depth = 0;
	TAILQ_FOREACH(l, &g->listeners, next) {
		if (!listeners_serves(l))
			continue;
		depth = listener_depth(&l->acceptor.listener);
		/* Without the number, whether any connection waits: one. */
		b->depth += depth == -1 ? 1 : depth;
	}
	/* A connection was accepted: any of the processes may have done it. */
	if (b->depth < before) {
		b->wrong_port[0] = '\0';
		b->falls = true;
		TAILQ_FOREACH(w, &g->workers, next)
			w->accepts = w->accepts || w->pid != 0;
	}
	/*
	 * A process need not accept yet: it may be starting still. While
	 * connections wait for such processes these are in use, though they
	 * hold none. The pool takes one off for each that is starting.
	 */
	demand = b->depth;
	TAILQ_FOREACH(w, &g->workers, next) {
		const struct process *x = &s->pool.processes[w->process];
		bool begins = !w->accepts &&
		    now - x->started < g->conf->pool.start_timeout;

		if (x->state > PROCESS_ACTIVE)
			continue;
		if (begins && b->depth > 0)
			pool_worked(
			    &s->pool, w->process, w->processors, true, now);
		any = true;
		accepts = accepts || !begins;
		if (x->state != PROCESS_STARTING)
			demand -= begins;
		else
			demand += !begins;
	}
	b->awaited = any && !accepts;
	if (b->depth == 0 || !b->awaited) {
		b->awaited_since = 0;
	} else {
		if (b->awaited_since == 0)
			b->awaited_since = now;
		open_look(g, now - b->awaited_since >= OPEN_PAUSE_AWAITED,
		    OPEN_PAUSE_AWAITED, now);
	}
	/*
	 * Connections want processes beside those that are ready; but until
	 * the first process accepts no other is wanted: it may accept all.
	 */
	if (b->depth == 0 || demand < 0 || b->awaited)
		demand = 0;
	if ((uint32_t)demand != s->pool.apps[g->app].intake.backlog)
		pool_backlog(&s->pool, g->app, (uint32_t)demand, now);
	if (b->depth > 0)
		b->calm_at = tstamp_add(now, CALM);
}

static void
look_later(struct group *g, tstamp now)
{
	tspan pause = MIN(g->conf->pool.start_delay / LOOKS, LOOK_PAUSE_MAX);

	timer_set(&g->sup->loop.timers, &g->backlog.timer,
	    tstamp_add(now, MAX(pause, LOOK_PAUSE_MIN)));
}

/*
 * While connections came of late: the next look at the backlog. Where the
 * daemon accepts: processes that are not ready yet are looked at.
 */
void
backlog_time_to_look(struct timer *t, tstamp now)
{
	struct group *g = TIMER_OWNER(t, struct group, backlog.timer);
	const struct app *a = &g->sup->pool.apps[g->app];

	if (group_accepts_itself(g)) {
		if (g->hold.muted)
			return;
		backlog_look(g, now);
		if (now < g->backlog.calm_at) {
			look_later(g, now);
			return;
		}
		listeners_resume(g);
		/* Of a program without a file it is to be known at once. */
		if (g->config->choice == NULL || !g->backlog.awaited)
			return;
	} else if (a->announced) {
		return;
	}
	open_look(g, true, 0, now);
	if (app_processes(a) > 0)
		timer_set(
		    &g->sup->loop.timers, t, tstamp_add(now, BACKLOG_SILENCE));
}

void
backlog_woken(struct group *g, tstamp now)
{
	listeners_pause(g);
	/* At least one connection waited, or the listener is broken. */
	if (g->backlog.depth == 0)
		g->backlog.depth = 1;
	g->backlog.calm_at = tstamp_add(now, CALM);
	backlog_look(g, now);
	look_later(g, now);
}

void
backlog_fini(struct group *g)
{
	timer_set(&g->sup->loop.timers, &g->backlog.timer, TSTAMP_NEVER);
	if (g->backlog.look != NULL)
		g->backlog.look->group = NULL;
	g->backlog.look = NULL;
}
