/* The backlog of apps that accept themselves, and its connections. */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "daemon/backlog.h"
#include "daemon/listeners.h"
#include "daemon/stray.h"
#include "daemon/worker.h"
#include "sys/procinfo.h"
#include "sys/sockdiag.h"

/*
 * Looks in each start_delay: a backlog that is found at so many of them has
 * hardly been empty in between.
 */
#define LOOKS 4
#define LOOK_PAUSE_MIN TSPAN_MSECONDS(20)
#define LOOK_PAUSE_MAX TSPAN_SECONDS(1)

/* Without a connection for so long, the loop tells of the next one. */
#define CALM TSPAN_SECONDS(1)

/*
 * Looks for owners in each max_idle_time, within bounds; and at most one a
 * second while connections wait beside processes of which none has been seen
 * to accept.
 */
#define OWNERS_LOOKS 4
#define OWNERS_PAUSE_MAX TSPAN_SECONDS(60)
#define OWNERS_PAUSE_MIN TSPAN_MSECONDS(100)
#define OWNERS_PAUSE_AWAITED TSPAN_SECONDS(1)

/* --- owners, in the lane ------------------------------------------------ */

struct owner {
	uint32_t process; /* its number in the pool */
	pid_t pid;
	bool holds; /* a connection */
};

struct owners_look {
	struct lane_job job;
	struct group *group; /* NULL: gone */
	struct sockdiag_listener *listeners;
	size_t nlisteners;
	struct owner *owners; /* all processes */
	size_t nowners;
	uint32_t *sockets; /* of the connections; in order */
	bool *owned; /* by a process */
	size_t nsockets;
	size_t room;
	bool unknown; /* any process may hold one */
};

static void
found_socket(void *arg, uint32_t inode)
{
	struct owners_look *l = arg;
	uint32_t *sockets = l->sockets;

	if (l->nsockets == l->room) {
		sockets =
		    reallocarray(sockets, 2 * l->room + 64, sizeof(*sockets));
		if (sockets == NULL) {
			l->unknown = true;
			return;
		}
		l->sockets = sockets;
		l->room = 2 * l->room + 64;
	}
	sockets[l->nsockets++] = inode;
}

static int
compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
find_sockets(struct owners_look *l)
{
	struct sockdiag diag;

	(void)sockdiag_init(&diag);
	for (size_t i = 0; i < l->nlisteners; i++)
		if (!sockdiag_connections(
			&diag, &l->listeners[i], found_socket, l))
			l->unknown = true;
	sockdiag_fini(&diag);
	if (l->nsockets == 0)
		return;
	qsort(l->sockets, l->nsockets, sizeof(*l->sockets), compare);
	l->owned = calloc(l->nsockets, sizeof(*l->owned));
	if (l->owned == NULL)
		l->unknown = true;
}

/* The process whose descriptors are gone through. */
struct search {
	struct owners_look *look;
	struct owner *owner;
};

static void
found_descriptor(void *arg, uint32_t inode)
{
	const struct search *s = arg;
	struct owners_look *l = s->look;
	const uint32_t *at = bsearch(
	    &inode, l->sockets, l->nsockets, sizeof(*l->sockets), compare);

	if (at == NULL)
		return;
	l->owned[at - l->sockets] = true;
	s->owner->holds = true;
}

/*
 * Connections that none of the processes has are with children of theirs;
 * whose children these are is not looked up.
 */
static void
look_work(struct lane_job *job)
{
	struct owners_look *l = LOOP_OWNER(job, struct owners_look, job);

	find_sockets(l);
	if (l->unknown || l->nsockets == 0)
		return;
	for (size_t i = 0; i < l->nowners; i++) {
		struct search s = { l, &l->owners[i] };

		if (procinfo_sockets(s.owner->pid, found_descriptor, &s) ==
			-1 &&
		    errno != ESRCH)
			l->unknown = true;
	}
	for (size_t i = 0; i < l->nsockets; i++)
		if (!l->owned[i])
			l->unknown = true;
}

/* --- owners, in the loop ------------------------------------------------ */

static void
free_look(struct owners_look *l)
{
	if (l->group != NULL)
		l->group->owners = NULL;
	free(l->listeners);
	free(l->owners);
	free(l->sockets);
	free(l->owned);
	free(l);
}

static void
look_done(struct lane_job *job, tstamp now)
{
	struct owners_look *l = LOOP_OWNER(job, struct owners_look, job);

	for (size_t i = 0; l->group != NULL && i < l->nowners; i++) {
		const struct owner *x = &l->owners[i];
		struct worker *w = l->group->sup->workers[x->process];

		if (w == NULL || w->group != l->group || w->pid != x->pid)
			continue;
		w->accepts |= x->holds || (l->unknown && l->nsockets > 0);
		if (x->holds || l->unknown)
			pool_worked(&w->sup->pool, w->process, w->processors,
			    true, now);
	}
	free_look(l);
}

static void
take_listeners(struct owners_look *l, const struct group *g)
{
	const struct app_listener *al;

	TAILQ_FOREACH(al, &g->listeners, next) {
		const struct listener *open = &al->acceptor.listener;

		if (open->fd != -1)
			sockdiag_describe(&g->sup->diag, open->fd,
			    (const void *)&open->addr,
			    &l->listeners[l->nlisteners++]);
	}
}

/* Returns how many processes there are; l->owners may be NULL. */
static size_t
take_processes(struct owners_look *l, const struct group *g)
{
	const struct supervisor *s = g->sup;
	size_t count = 0;

	for (uint32_t n = 0; n < s->pool.nprocesses; n++) {
		const struct worker *w = s->workers[n];

		if (w == NULL || w->group != g || w->pid == 0)
			continue;
		if (l->owners != NULL)
			l->owners[count] =
			    (struct owner){ .process = n, .pid = w->pid };
		count++;
	}
	return count;
}

static struct owners_look *
new_look(struct group *g)
{
	struct owners_look *l = calloc(1, sizeof(*l));
	const struct app_listener *al;
	size_t nlisteners = 1;

	if (l == NULL)
		return NULL;
	TAILQ_FOREACH(al, &g->listeners, next)
		nlisteners++;
	l->listeners = calloc(nlisteners, sizeof(*l->listeners));
	l->owners = calloc(take_processes(l, g) + 1, sizeof(*l->owners));
	if (l->listeners == NULL || l->owners == NULL) {
		free_look(l);
		return NULL;
	}
	l->job.work = look_work;
	l->job.done = look_done;
	l->group = g;
	take_listeners(l, g);
	l->nowners = take_processes(l, g);
	return l;
}

static tspan
owners_pause(const struct conf_app *conf)
{
	tspan pause = conf->max_idle_time / OWNERS_LOOKS;

	if (conf->max_idle_time == 0 || pause > OWNERS_PAUSE_MAX)
		return OWNERS_PAUSE_MAX;
	return pause < OWNERS_PAUSE_MIN ? OWNERS_PAUSE_MIN : pause;
}

static void
look_for_owners(struct group *g, tspan pause, tstamp now)
{
	if (g->owners != NULL || now < g->owners_at)
		return;
	g->owners_at = tstamp_add(now, pause);
	g->owners = new_look(g);
	if (g->owners != NULL)
		lane_submit(&g->sup->looker, &g->owners->job);
}

void
backlog_look_for_owners(struct group *g, tstamp now)
{
	const struct app *a = &g->sup->pool.apps[g->app];

	if (app_processes(a) > a->options.min_processes)
		look_for_owners(g, owners_pause(g->conf), now);
}

/* --- processes that accept ---------------------------------------------- */

/* Whether a process need not accept yet: it may be starting still. */
static bool
is_beginning(const struct group *g, uint32_t process, tstamp now)
{
	return !g->sup->workers[process]->accepts &&
	    now - g->sup->pool.processes[process].started <
	    g->conf->start_timeout;
}

/* Whether this number is a process of the app, and there to serve. */
static bool
serves(const struct group *g, uint32_t process)
{
	const struct worker *w = g->sup->workers[process];

	return w != NULL && w->group == g &&
	    g->sup->pool.processes[process].state <= PROCESS_ACTIVE;
}

/* An app's processes, by what is known of their accepting. */
struct counts {
	uint32_t starting; /* the pool takes one waiter off for each */
	uint32_t early; /* starting, and accept already */
	uint32_t beginning; /* ready, and may not accept yet */
	bool accepts; /* any does */
};

static struct counts
count_processes(const struct group *g, tstamp now)
{
	const struct process *processes = g->sup->pool.processes;
	struct counts counts = { 0, 0, 0, false };
	bool begins;

	for (uint32_t n = 0; n < g->sup->pool.nprocesses; n++) {
		if (!serves(g, n))
			continue;
		begins = is_beginning(g, n, now);
		counts.accepts |= !begins;
		if (processes[n].state != PROCESS_STARTING) {
			counts.beginning += begins ? 1 : 0;
			continue;
		}
		counts.starting++;
		counts.early += begins ? 0 : 1;
	}
	return counts;
}

/* Processes that are waited for are in use, though they hold no connection. */
static void
keep_beginning(struct group *g, tstamp now)
{
	struct supervisor *s = g->sup;

	for (uint32_t n = 0; n < s->pool.nprocesses; n++)
		if (serves(g, n) && is_beginning(g, n, now))
			pool_worked(
			    &s->pool, n, s->workers[n]->processors, true, now);
}

/* A connection was accepted: any of the processes may have done it. */
static void
mark_accepting(struct group *g)
{
	struct supervisor *s = g->sup;

	stray_accepted(g);
	for (uint32_t n = 0; n < s->pool.nprocesses; n++)
		if (s->workers[n] != NULL && s->workers[n]->group == g &&
		    s->workers[n]->pid != 0)
			s->workers[n]->accepts = true;
}

/* Until the first process accepts, no other is wanted: it may accept all. */
static bool
is_awaited(const struct counts *counts)
{
	return !counts->accepts && counts->starting + counts->beginning > 0;
}

/* How many connections want a process beside those that are ready. */
static uint32_t
demand_of(const struct counts *counts, long depth)
{
	long demand = depth + counts->early - counts->beginning;

	if (depth == 0 || demand <= 0 || is_awaited(counts))
		return 0;
	return (uint32_t)demand;
}

/* --- the backlog -------------------------------------------------------- */

static tspan
look_pause(const struct group *g)
{
	tspan pause = g->conf->start_delay / LOOKS;

	if (pause < LOOK_PAUSE_MIN)
		return LOOK_PAUSE_MIN;
	return pause > LOOK_PAUSE_MAX ? LOOK_PAUSE_MAX : pause;
}

/* Without the number, whether any connection waits can be had: 1 or 0. */
static long
depth_of(const struct group *g, const struct app_listener *l)
{
	const struct listener *open = &l->acceptor.listener;
	struct pollfd pfd = { .fd = open->fd, .events = POLLIN };
	long depth = listener_depth(open, &g->sup->diag);

	return depth == -1 ? poll(&pfd, 1, 0) == 1 : depth;
}

static long
depth_of_all(const struct group *g)
{
	const struct app_listener *l;
	long depth = 0;

	TAILQ_FOREACH(l, &g->listeners, next)
		if (listeners_serves(l))
			depth += depth_of(g, l);
	return depth;
}

/* A listener that a process has shut down; NULL: all are sound. */
static struct app_listener *
find_broken(struct group *g)
{
	struct app_listener *l;

	TAILQ_FOREACH(l, &g->listeners, next)
		if (listeners_serves(l) && !l->leaving &&
		    listener_is_broken(&l->acceptor.listener))
			return l;
	return NULL;
}

void
backlog_look(struct group *g, tstamp now)
{
	struct supervisor *s = g->sup;
	struct app_listener *l;
	struct counts counts;
	long before = g->depth;
	uint32_t demand;

	/* A listener bound anew, or waiting for that, is broken no more. */
	while ((l = find_broken(g)) != NULL)
		listeners_rebind(l, now);
	g->depth = depth_of_all(g);
	if (g->depth < before)
		mark_accepting(g);
	if (g->depth > 0)
		keep_beginning(g, now);
	counts = count_processes(g, now);
	stray_awaited(g, g->depth > 0 && is_awaited(&counts), now);
	if (g->depth > 0 && is_awaited(&counts)) {
		g->owners_at = tstamp_min(
		    g->owners_at, tstamp_add(now, OWNERS_PAUSE_AWAITED));
		look_for_owners(g, OWNERS_PAUSE_AWAITED, now);
	}
	demand = demand_of(&counts, g->depth);
	if (demand != s->pool.apps[g->app].backlog)
		pool_backlog(&s->pool, g->app, demand, now);
	if (g->depth > 0)
		g->calm_at = tstamp_add(now, CALM);
}

static void
look_later(struct group *g, tstamp now)
{
	timer_set(&g->sup->loop.timers, &g->backlog_timer,
	    tstamp_add(now, look_pause(g)));
}

static void
time_to_look(struct timer *t, tstamp now)
{
	struct group *g = TIMER_OWNER(t, struct group, backlog_timer);

	if (g->muted)
		return;
	backlog_look(g, now);
	if (now < g->calm_at)
		look_later(g, now);
	else
		listeners_resume(g);
}

void
backlog_woken(struct group *g, tstamp now)
{
	listeners_pause(g);
	/* At least one connection waited, or the listener is broken. */
	if (g->depth == 0)
		g->depth = 1;
	g->calm_at = tstamp_add(now, CALM);
	backlog_look(g, now);
	look_later(g, now);
}

void
backlog_init(struct group *g)
{
	timer_init(&g->backlog_timer, time_to_look);
	stray_init(g);
}

void
backlog_fini(struct group *g)
{
	timer_set(&g->sup->loop.timers, &g->backlog_timer, TSTAMP_NEVER);
	stray_fini(g);
	if (g->owners != NULL)
		g->owners->group = NULL;
	g->owners = NULL;
}
