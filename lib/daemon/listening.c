/* Looking at the backlog of those who accept themselves. */

#include <poll.h>

#include "daemon/holding.h"
#include "daemon/intake.h"
#include "daemon/listening.h"

/*
 * So many looks in start_delay: a backlog that is found at each of them has
 * hardly been empty in between.
 */
#define LISTENING_LOOKS 4
#define LISTENING_LOOK_MIN TSPAN_MSECONDS(20)
#define LISTENING_LOOK_MAX TSPAN_SECONDS(1)

/* When nobody has waited for so long, the loop tells of the next one. */
#define LISTENING_CALM TSPAN_SECONDS(1)

void
listening_add(struct group *g)
{
	g->look_at = TSTAMP_NEVER;
	TAILQ_INSERT_TAIL(&g->sup->listening, g, listening_next);
}

void
listening_remove(struct group *g)
{
	TAILQ_REMOVE(&g->sup->listening, g, listening_next);
}

static tspan
listening_pause(const struct group *g)
{
	tspan pause = g->conf->start_delay / LISTENING_LOOKS;

	if (pause < LISTENING_LOOK_MIN)
		return LISTENING_LOOK_MIN;
	return pause > LISTENING_LOOK_MAX ? LISTENING_LOOK_MAX : pause;
}

static void
listening_look_at(struct group *g, tstamp at)
{
	g->look_at = at;
	g->sup->look_at = tstamp_min(g->sup->look_at, at);
}

/* Where the number is not to be had, whether there is anybody is. */
static long
listening_depth_of(const struct group *g, const struct door *d)
{
	struct pollfd pfd = { .fd = d->listener.fd, .events = POLLIN };
	long depth = listener_depth(&d->listener, &g->sup->diag);

	return depth == -1 ? poll(&pfd, 1, 0) == 1 : depth;
}

/* Of one that leaves this app alone, others take care. */
static bool
listening_counts(const struct group *g, const struct door *d)
{
	return d->listener.fd != -1 && (!d->leaving || g->closing);
}

/* A door that somebody has shut down; NULL: all are sound. */
static struct door *
listening_broken(struct group *g)
{
	struct door *d;

	TAILQ_FOREACH(d, &g->doors, next)
		if (listening_counts(g, d) && !d->leaving && !d->timed &&
		    listener_is_broken(&d->listener))
			return d;
	return NULL;
}

/* Whether it may have to begin yet; else it accepts, or ought to. */
static bool
listening_begins(const struct group *g, uint32_t process, tstamp now)
{
	return !g->sup->workers[process]->accepts &&
	    now - g->sup->pool.processes[process].started <
	    g->conf->start_timeout;
}

/* Whether it is one of the app's that are there to serve. */
static bool
listening_serves(const struct group *g, uint32_t process)
{
	const struct worker *w = g->sup->workers[process];

	return w != NULL && w->group == g &&
	    g->sup->pool.processes[process].state <= PROCESS_ACTIVE;
}

/* An app's processes, by what is known of their accepting. */
struct listening_crew {
	uint32_t starting; /* the pool takes one waiter off for each */
	uint32_t early; /* those of them that accept already */
	uint32_t beginners; /* ready, and may not accept yet */
	bool accepts; /* any does */
};

static struct listening_crew
listening_muster(const struct group *g, tstamp now)
{
	const struct process *processes = g->sup->pool.processes;
	struct listening_crew crew = { 0, 0, 0, false };
	bool begins;

	for (uint32_t n = 0; n < g->sup->pool.nprocesses; n++) {
		if (!listening_serves(g, n))
			continue;
		begins = listening_begins(g, n, now);
		crew.accepts |= !begins;
		if (processes[n].state != PROCESS_STARTING) {
			crew.beginners += begins ? 1 : 0;
			continue;
		}
		crew.starting++;
		crew.early += begins ? 0 : 1;
	}
	return crew;
}

/* Somebody waits until they have begun: that they hold nobody is no rest. */
static void
listening_keep_beginners(struct group *g, tstamp now)
{
	struct supervisor *s = g->sup;

	for (uint32_t n = 0; n < s->pool.nprocesses; n++)
		if (listening_serves(g, n) && listening_begins(g, n, now))
			pool_worked(
			    &s->pool, n, s->workers[n]->processors, true, now);
}

/* Somebody has been let in: by any of those that are there. */
static void
listening_accepted(struct group *g)
{
	struct supervisor *s = g->sup;

	for (uint32_t n = 0; n < s->pool.nprocesses; n++)
		if (s->workers[n] != NULL && s->workers[n]->group == g &&
		    s->workers[n]->pid != 0)
			s->workers[n]->accepts = true;
}

/* Until the first accepts nobody else is wanted: it may let in all at once. */
static bool
listening_is_awaited(const struct listening_crew *crew)
{
	return !crew->accepts && crew->starting + crew->beginners > 0;
}

/* How many want a process beside those that are ready. */
static uint32_t
listening_demand(const struct listening_crew *crew, long depth)
{
	long demand = depth + crew->early - crew->beginners;

	if (depth == 0 || demand <= 0 || listening_is_awaited(crew))
		return 0;
	return (uint32_t)demand;
}

static long
listening_depth(const struct group *g)
{
	const struct door *d;
	long depth = 0;

	TAILQ_FOREACH(d, &g->doors, next)
		if (listening_counts(g, d))
			depth += listening_depth_of(g, d);
	return depth;
}

void
listening_look(struct group *g, tstamp now)
{
	struct supervisor *s = g->sup;
	struct door *d;
	struct listening_crew crew;
	long before = g->depth;
	uint32_t demand;

	/* One that is bound anew, or waits for that, is broken no more. */
	while ((d = listening_broken(g)) != NULL)
		intake_rebind(d, now);
	g->depth = listening_depth(g);
	if (g->depth < before)
		listening_accepted(g);
	if (g->depth > 0)
		listening_keep_beginners(g, now);
	crew = listening_muster(g, now);
	if (g->depth > 0 && listening_is_awaited(&crew))
		holding_ask(g, now);
	demand = listening_demand(&crew, g->depth);
	if (demand != s->pool.apps[g->app].backlog)
		pool_backlog(&s->pool, g->app, demand, now);
	if (g->depth > 0)
		g->calm_at = tstamp_add(now, LISTENING_CALM);
}

void
listening_woken(struct group *g, tstamp now)
{
	intake_mute(g, true);
	/* There was one at least, or it is broken. */
	if (g->depth == 0)
		g->depth = 1;
	g->calm_at = tstamp_add(now, LISTENING_CALM);
	listening_look(g, now);
	listening_look_at(g, tstamp_add(now, listening_pause(g)));
}

void
listening_rebound(struct group *g, tstamp now)
{
	if (!g->closing)
		pool_app_restart(&g->sup->pool, g->app, now);
}

tstamp
listening_deadline(const struct supervisor *s)
{
	return s->look_at;
}

static void
listening_look_on(struct group *g, tstamp now)
{
	listening_look(g, now);
	if (now < g->calm_at) {
		listening_look_at(g, tstamp_add(now, listening_pause(g)));
		return;
	}
	g->look_at = TSTAMP_NEVER;
	intake_mute(g, false);
}

void
listening_tick(struct supervisor *s, tstamp now)
{
	struct group *g;

	s->look_at = TSTAMP_NEVER;
	TAILQ_FOREACH(g, &s->listening, listening_next) {
		if (g->look_at <= now)
			listening_look_on(g, now);
		s->look_at = tstamp_min(s->look_at, g->look_at);
	}
}
