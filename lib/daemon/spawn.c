/*
 * Which worker is started next: a few at a time, so that a thousand of one app
 * do not hold up the worker that another app needs now. Apps take turns; an app
 * with connections that wait goes first.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/action.h"
#include "daemon/backlog.h"
#include "daemon/group.h"
#include "daemon/tell.h"
#include "daemon/worker.h"
#include "sys/log.h"

/*
 * How long a start is put off in an app whose processes end with their
 * session, while no connection waits and other processes are ready: so it is
 * not made while the program of that session starts.
 */
#define SPAWN_REST TSPAN_MSECONDS(3)

/* --- how a start ends --------------------------------------------------- */

/* The worker, if it was made, is freed. */
static void
spawn_failed(struct supervisor *s, uint32_t process, bool no_room,
    const char *why, tstamp now)
{
	const struct app *app = &s->pool.apps[s->pool.processes[process].app];
	struct group *g = s->groups[s->pool.processes[process].app];
	bool tell = false, had_failed = app_has_failed(app);

	if (no_room) {
		log_limited(&g->no_room_rate, now, LOG_LEVEL_WARN,
		    "%s: no room for another process, trying again: %s",
		    g->conf->name, why);
	} else if (!s->pool.processes[process].asked) {
		group_failed(g, "%s", why);
		tell = true;
	}
	if (s->workers[process] != NULL)
		worker_free(s->workers[process]);
	pool_spawn_failed(&s->pool, process, no_room, now);
	/* If the app has failed by this, NEWS_FAILED gives the same reason. */
	if (tell && (had_failed || !app_has_failed(app)))
		tell_app(g, LOG_LEVEL_WARN, EVENT_FAILURE,
		    process_end_name(END_SPAWN), "%s", why);
}

/* The worker has a number, and what it says can be read. */
static void
spawn_begin_life(struct worker *w, tstamp now)
{
	tell_worker(w, LOG_LEVEL_DEBUG, EVENT_SPAWN, NULL, "started");
	pool_spawned(&w->sup->pool, w->process, now);
	sampling_started(w, now);
	backlog_started(w, now);
}

static void
spawn_done(struct worker *w, const char *why, bool no_room, tstamp now)
{
	w->sup->nstarting--;
	w->group->nstarting--;
	if (why == NULL)
		spawn_begin_life(w, now);
	else
		spawn_failed(w->sup, w->process, no_room, why, now);
}

/* Starts the worker by itself. */
static void
spawn_alone(struct worker *w, tstamp now)
{
	const struct conf_app *conf = w->group->conf;
	struct supervisor *s = w->sup;

	w->one_session = conf->handoff == CONF_HANDOFF_STDIO;
	w->adapted = conf->handoff == CONF_HANDOFF_ACCEPT;
	/* An adapter gives connections before it takes them off the channel. */
	w->keeps = w->adapted && conf->pool.prefetch == 0;
	w->channel.ready = channel_ready;
	if (worker_open_channel(w) == -1 ||
	    start_program(w, spawn_done) == -1) {
		spawn_failed(s, w->process, true, strerror(errno), now);
		return;
	}
	s->nstarting++;
	w->group->nstarting++;
}

/* --- workers of a template ------------------------------------------------ */

static void
spawn_forked(struct worker *w, pid_t pid, tstamp now)
{
	w->group->nstarting--;
	worker_started(w, pid);
	spawn_begin_life(w, now);
	channel_ready(&w->channel, EPOLLIN, now);
}

static void
spawn_fork_died(struct worker *w, struct worker *by,
    const struct reap_death *death, tstamp now)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	bool failed = !x->asked || x->end == END_START_TIMEOUT;

	w->group->nstarting--;
	w->start.signal = 0;
	worker_started(w, death->pid);
	spawn_begin_life(w, now);
	death_taken(w, death, now);
	/* Things that the template has loaded may be of no use elsewhere. */
	if (failed)
		template_blame(
		    by, "what it forked ends before it is ready", now);
}

/* Starts the worker by itself, unless it is to end anyway. */
static void
spawn_fork_refused(
    struct worker *w, struct worker *by, const char *why, tstamp now)
{
	struct pool *p = &w->sup->pool;

	w->group->nstarting--;
	if (p->processes[w->process].asked) {
		spawn_call_off(w, now);
	} else {
		worker_disown(w);
		pool_start_began(p, w->process, now);
		spawn_alone(w, now);
	}
	if (why != NULL)
		template_blame(by, why, now);
}

/* Has the template fork the worker. False: none can now. */
static bool
spawn_fork(struct worker *w)
{
	static const struct fork_ops ops = { .known = spawn_forked,
		.died = spawn_fork_died,
		.refused = spawn_fork_refused };

	if (w->group->templating == NULL || worker_open_channel(w) == -1)
		return false;
	w->channel.ready = channel_ready;
	if (template_fork(w, &ops)) {
		w->group->nstarting++;
		return true;
	}
	worker_disown(w);
	return false;
}

void
spawn_abandon(struct worker *w, tstamp now)
{
	struct worker *by = fork_give_up(w);

	w->group->nstarting--;
	spawn_call_off(w, now);
	template_blame(by, "a process that it forked does not speak", now);
}

/* --- the queue ---------------------------------------------------------- */

/* Whether the queued workers of the group are not needed now. */
static bool
spawn_may_rest(const struct group *g)
{
	const struct app *a = &g->sup->pool.apps[g->app];

	return a->options.exit_ends && app_demand(a) == 0 &&
	    a->in_state[PROCESS_IDLE] > 0;
}

/* Takes the worker out; its group goes to the end of the queue. */
static void
spawn_remove(struct worker *w)
{
	struct supervisor *s = w->sup;
	struct group *g = w->group;

	w->start.queued = false;
	TAILQ_REMOVE(&g->queued, w, start.next);
	TAILQ_REMOVE(&s->start_queue, g, start_next);
	if (!TAILQ_EMPTY(&g->queued))
		TAILQ_INSERT_TAIL(&s->start_queue, g, start_next);
	else
		timer_set(&s->loop.timers, &g->start_rest, TSTAMP_NEVER);
}

void
spawn_call_off(struct worker *w, tstamp now)
{
	struct pool *p = &w->sup->pool;
	uint32_t process = w->process;

	if (w->start.queued)
		spawn_remove(w);
	worker_free(w);
	pool_spawn_failed(p, process, true, now);
}

/* The group whose turn it is; NULL: all have as many starts as they may. */
static struct group *
spawn_next(struct supervisor *s)
{
	struct group *g, *first = NULL;

	if (s->nstarting >= SPAWN_MAX)
		return NULL;
	TAILQ_FOREACH(g, &s->start_queue, start_next) {
		if (g->start_rest.at != TSTAMP_NEVER && !spawn_may_rest(g))
			timer_set(
			    &s->loop.timers, &g->start_rest, TSTAMP_NEVER);
		if (g->nstarting >= SPAWN_MAX_EACH ||
		    g->start_rest.at != TSTAMP_NEVER || template_is_awaited(g))
			continue;
		if (app_demand(&s->pool.apps[g->app]) > 0)
			return g;
		if (first == NULL)
			first = g;
	}
	return first;
}

bool
spawn_queued(struct supervisor *s, tstamp now)
{
	struct group *g;
	struct worker *w;
	const char *fault;
	bool any = false;

	for (; (g = spawn_next(s)) != NULL; any = true) {
		w = TAILQ_FIRST(&g->queued);
		/* A reload may have broken the app meanwhile. */
		if (g->conf->broken != NULL) {
			spawn_call_off(w, now);
			continue;
		}
		spawn_remove(w);
		pool_start_began(&s->pool, w->process, now);
		fault = keeper_fault(g);
		if (fault != NULL)
			spawn_failed(s, w->process, false, fault, now);
		else if (!spawn_fork(w))
			spawn_alone(w, now);
	}
	return any;
}

void
spawn_process(struct supervisor *s, const struct action *a, tstamp now)
{
	struct group *g = s->groups[s->pool.processes[a->process].app];
	struct worker *w;

	if (g->conf->broken != NULL) {
		spawn_failed(s, a->process, false, g->conf->broken, now);
		return;
	}
	template_update(g, now);
	w = worker_new(g, a->process);
	if (w == NULL) {
		spawn_failed(s, a->process, true, strerror(errno), now);
		return;
	}
	if (TAILQ_EMPTY(&g->queued)) {
		TAILQ_INSERT_TAIL(&s->start_queue, g, start_next);
		if (spawn_may_rest(g))
			timer_set(
			    &s->loop.timers, &g->start_rest, now + SPAWN_REST);
	}
	TAILQ_INSERT_TAIL(&g->queued, w, start.next);
	w->start.queued = true;
	pool_start_queued(&s->pool, w->process, now);
	/* The new process takes one off the demand of the backlog. */
	if (group_accepts_itself(g))
		backlog_look(g, now);
}

/* That the loop turns is all: spawn_queued() does the rest. */
static void
spawn_rested(struct timer *t, tstamp now)
{
	(void)t;
	(void)now;
}

void
spawn_init(struct group *g)
{
	timer_init(&g->start_rest, spawn_rested);
}
