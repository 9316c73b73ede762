/* Which worker is started next, and how a start ends. */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_pool.h"
#include "daemon/backlog.h"
#include "daemon/channel.h"
#include "daemon/death.h"
#include "daemon/sampling.h"
#include "daemon/seat.h"
#include "daemon/spawn.h"
#include "daemon/start.h"
#include "daemon/stray.h"
#include "daemon/tell.h"
#include "sys/fdpass.h"
#include "sys/log.h"

/*
 * How long a start is put off in an app whose processes end with their
 * session, while no connection waits and other processes are ready: so it is
 * not made while the program of that session starts.
 */
#define REST TSPAN_MSECONDS(3)

static void run_queue(struct supervisor *s, tstamp now);

/* --- how a start ends --------------------------------------------------- */

/* The worker is freed already, or was never made. */
static void
failed(struct supervisor *s, uint32_t process, bool no_room, const char *why,
    tstamp now)
{
	uint32_t app = s->pool.processes[process].app;
	struct group *g = s->groups[app];
	bool tell = false, had_failed = app_has_failed(&s->pool.apps[app]);

	if (no_room) {
		log_limited(&g->no_room_rate, now, LOG_LEVEL_WARN,
		    "%s: no room for another process, trying again: %s",
		    g->conf->name, why);
	} else if (!s->pool.processes[process].asked) {
		group_failed(g, "%s", why);
		tell = true;
	}
	pool_spawn_failed(&s->pool, process, no_room, now);
	/* If the app has failed by this, NEWS_FAILED gives the same reason. */
	if (tell && (had_failed || !app_has_failed(&s->pool.apps[app])))
		tell_app(g, LOG_LEVEL_WARN, EVENT_FAILURE,
		    process_end_name(END_SPAWN), "%s", why);
}

static void
give_up(struct worker *w, struct start *t, tstamp now)
{
	struct supervisor *s = w->sup;
	uint32_t process = w->process;
	bool no_room = start_lacked_room(t);
	char why[256];

	start_explain(t, why, sizeof(why));
	worker_free(w);
	start_free(t, s, now);
	failed(s, process, no_room, why, now);
}

/* The worker has a number, and what it says can be read. */
static void
begin_life(struct worker *w, pid_t pid, tstamp now)
{
	worker_started(w, pid);
	tell_worker(w, LOG_LEVEL_DEBUG, EVENT_SPAWN, NULL, "started");
	pool_spawned(&w->sup->pool, w->process, now);
	sampling_started(w, now);
	stray_started(w, now);
	if (w->channel.events != 0)
		(void)loop_set(&w->sup->loop, &w->channel, EPOLLIN);
	if (w->pending_signal != 0)
		worker_signal(w, w->pending_signal, w->pending_group);
}

static void
start_done(struct lane_job *job, tstamp now)
{
	struct start *t = LOOP_OWNER(job, struct start, job);
	struct worker *w = t->owner;
	struct supervisor *s = w->sup;
	pid_t pid = t->result.pid;

	TAILQ_REMOVE(&s->starting, w, start_next);
	s->nstarting--;
	w->group->nstarting--;
	w->starting = NULL;
	if (start_failed(t)) {
		give_up(w, t, now);
	} else {
		start_free(t, s, now);
		begin_life(w, pid, now);
	}
	if (!s->spawner.stopping)
		run_queue(s, now);
}

/* --- how a start begins ------------------------------------------------- */

static int
open_channel(struct worker *w)
{
	int ends[2];

	if (!group_has_channels(w->group->conf))
		return 0;
	if (fdpass_pair(ends) == -1)
		return -1;
	w->parks = w->group->conf->keep_alive;
	w->refuses = fdpass_refuse(ends[0]);
	w->channel.fd = ends[0];
	w->channel.ready = channel_ready;
	w->child_end = ends[1];
	/* Nothing is read from the channel before the worker has a pid. */
	return loop_set(&w->sup->loop, &w->channel, EPOLLET);
}

/* A start with its environment; NULL and errno. */
static struct start *
new_start(struct worker *w)
{
	const struct conf_app *conf = w->group->conf;
	struct environment_of of = { .group = w->group,
		.id = w->id,
		.slot = w->slot,
		.child_end = &w->child_end,
		.output = &w->output };

	w->one_session = conf->handoff == CONF_HANDOFF_STDIO;
	w->adapted = conf->handoff == CONF_HANDOFF_ACCEPT;
	/* An adapter gives connections before it takes them off the channel. */
	w->keeps = w->adapted && conf_pool_prefetch(conf) == 0;
	of.keeps = w->keeps;
	if (open_channel(w) == -1 ||
	    (keeper_is_needed(conf) &&
		keeper_get(w->group, loop_now(&w->sup->loop)) == NULL))
		return NULL;
	return start_new(&of, w, start_done);
}

/* Starts the worker by itself. */
static void
start(struct worker *w, tstamp now)
{
	struct supervisor *s = w->sup;
	uint32_t process = w->process;
	struct start *t = new_start(w);

	if (t == NULL) {
		int error = errno;

		worker_free(w);
		failed(s, process, true, strerror(error), now);
		return;
	}
	w->starting = &t->result;
	TAILQ_INSERT_TAIL(&s->starting, w, start_next);
	s->nstarting++;
	w->group->nstarting++;
	lane_submit(&s->spawner, &t->job);
}

/* --- workers of a template ------------------------------------------------ */

/* The worker is known, or given up; it is not forked any more. */
static void
end_forking(struct worker *w, tstamp now)
{
	struct group *g = w->group;

	worker_end_forking(w);
	w->channel.ready = channel_ready;
	g->nstarting--;
	if (!TAILQ_EMPTY(&g->queued))
		timer_advance(&w->sup->loop.timers, &g->start_rest, now);
}

static void
fork_known(struct forking *f, pid_t pid, tstamp now)
{
	struct worker *w = LOOP_OWNER(f->channel, struct worker, channel);

	end_forking(w, now);
	begin_life(w, pid, now);
	channel_ready(&w->channel, EPOLLIN, now);
}

static void
fork_died(struct forking *f, const struct reap_death *death, tstamp now)
{
	struct worker *w = LOOP_OWNER(f->channel, struct worker, channel);
	struct group *g = w->group;
	const struct process *x = &w->sup->pool.processes[w->process];
	bool failed = !x->asked || x->end == END_START_TIMEOUT;
	uint64_t serial = f->serial;

	end_forking(w, now);
	(void)loop_set(&w->sup->loop, &w->channel, EPOLLIN);
	w->pending_signal = 0;
	begin_life(w, death->pid, now);
	death_taken(w, death, now);
	/* Things that the template has loaded may be of no use elsewhere. */
	if (failed)
		seat_blame(
		    g, serial, "what it forked ends before it is ready", now);
}

/* Starts the worker by itself, unless it is to end anyway. */
static void
fork_refused(struct forking *f, const char *why, tstamp now)
{
	struct worker *w = LOOP_OWNER(f->channel, struct worker, channel);
	struct supervisor *s = w->sup;
	struct group *g = w->group;
	uint32_t process = w->process;
	uint64_t serial = f->serial;

	end_forking(w, now);
	if (s->pool.processes[process].asked) {
		worker_free(w);
		pool_spawn_failed(&s->pool, process, true, now);
	} else {
		worker_disown(w);
		pool_start_began(&s->pool, process, now);
		start(w, now);
	}
	if (why != NULL)
		seat_blame(g, serial, why, now);
}

static const struct forking_ops fork_ops = {
	.is_taken = template_is_taken,
	.known = fork_known,
	.died = fork_died,
	.refused = fork_refused,
};

/* The kernel tells whose the first packet is. */
static void
unknown_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	(void)events;
	forking_heard(LOOP_OWNER(io, struct worker, channel)->forking, now);
}

/* Has the template fork the worker. False: none can now. */
static bool
fork_worker(struct worker *w)
{
	struct app_template *t = seat_template(w->group, w->generation);

	if (t == NULL)
		return false;
	w->forking = calloc(1, sizeof(*w->forking));
	if (w->forking == NULL || open_channel(w) == -1)
		goto fail;
	w->channel.ready = unknown_ready;
	if (template_ask(t, w->forking, w, &fork_ops) == -1)
		goto fail;
	w->group->nstarting++;
	w->group->seat->forked++;
	return true;
fail:
	free(w->forking);
	w->forking = NULL;
	worker_disown(w);
	return false;
}

void
spawn_abandon(struct worker *w, tstamp now)
{
	struct supervisor *s = w->sup;
	struct group *g = w->group;
	uint32_t process = w->process;
	uint64_t serial = w->forking->serial;

	end_forking(w, now);
	worker_free(w);
	pool_spawn_failed(&s->pool, process, true, now);
	seat_blame(g, serial, "a process that it forked does not speak", now);
}

static void
begin(struct worker *w, tstamp now)
{
	struct supervisor *s = w->sup;
	uint32_t process = w->process;
	const char *fault = NULL;

	pool_start_began(&s->pool, process, now);
	if (keeper_is_needed(w->group->conf))
		fault = keeper_fault(w->group);
	if (fault != NULL) {
		worker_free(w);
		failed(s, process, false, fault, now);
	} else if (!fork_worker(w)) {
		start(w, now);
	}
}

/* --- the queue ---------------------------------------------------------- */

static void
add(struct worker *w, tstamp now)
{
	struct group *g = w->group;

	if (TAILQ_EMPTY(&g->queued))
		TAILQ_INSERT_TAIL(&w->sup->start_queue, g, start_next);
	TAILQ_INSERT_TAIL(&g->queued, w, start_next);
	w->queued = true;
	pool_start_queued(&w->sup->pool, w->process, now);
}

/* Takes the worker out; its group goes to the end of the queue. */
static void
remove_queued(struct worker *w)
{
	struct supervisor *s = w->sup;
	struct group *g = w->group;

	w->queued = false;
	TAILQ_REMOVE(&g->queued, w, start_next);
	TAILQ_REMOVE(&s->start_queue, g, start_next);
	if (!TAILQ_EMPTY(&g->queued))
		TAILQ_INSERT_TAIL(&s->start_queue, g, start_next);
	else
		timer_set(&s->loop.timers, &g->start_rest, TSTAMP_NEVER);
}

/* Whether the queued workers of the group are not needed now. */
static bool
may_rest(const struct group *g)
{
	const struct app *a = &g->sup->pool.apps[g->app];

	return a->options.exit_ends && app_demand(a) == 0 &&
	    a->in_state[PROCESS_IDLE] > 0;
}

/* The group whose turn it is; NULL: all have as many starts as they may. */
static struct group *
next_group(struct supervisor *s)
{
	struct group *g, *first = NULL;

	TAILQ_FOREACH(g, &s->start_queue, start_next) {
		if (g->nstarting >= SPAWN_MAX_EACH ||
		    g->start_rest.at != TSTAMP_NEVER || seat_is_awaited(g))
			continue;
		if (app_demand(&s->pool.apps[g->app]) > 0)
			return g;
		if (first == NULL)
			first = g;
	}
	return first;
}

static void
run_queue(struct supervisor *s, tstamp now)
{
	struct group *g;
	struct worker *w;

	while (s->nstarting < SPAWN_MAX && (g = next_group(s)) != NULL) {
		w = TAILQ_FIRST(&g->queued);
		/* A reload may have broken the app meanwhile. */
		if (g->conf->broken != NULL) {
			spawn_call_off(w, now);
			continue;
		}
		remove_queued(w);
		begin(w, now);
	}
}

static void
rested(struct timer *t, tstamp now)
{
	run_queue(TIMER_OWNER(t, struct group, start_rest)->sup, now);
}

void
spawn_init(struct group *g)
{
	timer_init(&g->start_rest, rested);
}

void
spawn_process(struct supervisor *s, const struct action *a, tstamp now)
{
	struct group *g = s->groups[s->pool.processes[a->process].app];
	struct worker *w;

	if (g->conf->broken != NULL) {
		failed(s, a->process, false, g->conf->broken, now);
		return;
	}
	seat_update(g, now);
	w = worker_new(s, a->process);
	if (w == NULL) {
		failed(s, a->process, true, strerror(errno), now);
		return;
	}
	if (TAILQ_EMPTY(&g->queued) && may_rest(g))
		timer_set(&s->loop.timers, &g->start_rest, now + REST);
	add(w, now);
	/* The new process takes one off the demand of the backlog. */
	if (group_accepts_itself(g))
		backlog_look(g, now);
	run_queue(s, now);
}

void
spawn_hasten(struct supervisor *s, tstamp now)
{
	struct group *g;

	TAILQ_FOREACH(g, &s->start_queue, start_next)
		if (g->start_rest.at != TSTAMP_NEVER && !may_rest(g))
			timer_set(&s->loop.timers, &g->start_rest, now);
}

void
spawn_call_off(struct worker *w, tstamp now)
{
	struct supervisor *s = w->sup;
	uint32_t process = w->process;

	assert(w->queued);
	remove_queued(w);
	worker_free(w);
	pool_spawn_failed(&s->pool, process, true, now);
}
