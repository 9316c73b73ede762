/* Which worker is started next, and how a start ends. */

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/backlog.h"
#include "daemon/channel.h"
#include "daemon/death.h"
#include "daemon/environment.h"
#include "daemon/sampling.h"
#include "daemon/spawn.h"
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

/* A start under way. */
struct start {
	struct lane_job job;
	struct worker *worker;
	struct environment environment;
	struct keeper *keeper; /* to be started first; NULL: it runs */
	bool keeper_failed;
	struct child_result result;
	int open_error; /* errno of opening unopened; 0: none */
	const char *unopened;
};

static void run_queue(struct supervisor *s, tstamp now);

/* --- in the lane -------------------------------------------------------- */

static void
start_work(struct lane_job *job)
{
	struct start *t = LOOP_OWNER(job, struct start, job);

	if (t->keeper != NULL && !keeper_start(t->keeper))
		t->keeper_failed = true;
	else if (environment_open(&t->environment, &t->unopened) == -1)
		t->open_error = errno;
	else
		(void)child_spawn(&t->environment.spec, &t->result);
	environment_close(&t->environment);
}

/* --- how a start ends --------------------------------------------------- */

/* Whether the system had no room, and not the app a mistake. */
static bool
lacked_room(const struct start *t)
{
	if (t->keeper_failed)
		return child_no_room(&t->keeper->result);
	switch (t->open_error) {
	case 0:
		return child_no_room(&t->result);
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return true;
	default:
		return false;
	}
}

static void
explain(const struct start *t, char *buf, size_t size)
{
	if (t->keeper_failed)
		(void)child_explain(
		    &t->keeper->spec, &t->keeper->result, buf, size);
	else if (t->open_error == 0)
		(void)child_explain(
		    &t->environment.spec, &t->result, buf, size);
	else
		(void)snprintf(buf, size, "cannot open %s: %s", t->unopened,
		    strerror(t->open_error));
}

static void
free_start(struct start *t)
{
	environment_fini(&t->environment);
	free(t);
}

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
start_failed(struct worker *w, struct start *t, tstamp now)
{
	struct supervisor *s = w->sup;
	uint32_t process = w->process;
	bool no_room = lacked_room(t);
	char why[256];

	explain(t, why, sizeof(why));
	worker_free(w);
	if (t->keeper != NULL)
		keeper_started(t->keeper, now);
	free_start(t);
	failed(s, process, no_room, why, now);
}

static void
start_succeeded(struct worker *w, struct start *t, tstamp now)
{
	worker_started(w, t->result.pid);
	if (t->keeper != NULL)
		keeper_started(t->keeper, now);
	free_start(t);
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
	struct worker *w = t->worker;
	struct supervisor *s = w->sup;

	TAILQ_REMOVE(&s->starting, w, start_next);
	s->nstarting--;
	w->group->nstarting--;
	w->starting = NULL;
	if (t->keeper_failed || t->open_error != 0 || t->result.error != 0)
		start_failed(w, t, now);
	else
		start_succeeded(w, t, now);
	death_start_over(s, now);
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
	struct start *t;

	w->one_session = conf->handoff == CONF_HANDOFF_STDIO;
	w->adapted = conf->handoff == CONF_HANDOFF_ACCEPT;
	/* An adapter gives connections before it takes them off the channel. */
	w->keeps = w->adapted && conf->prefetch == 0;
	if (open_channel(w) == -1 ||
	    (keeper_is_needed(conf) &&
		keeper_get(w->group, loop_now(&w->sup->loop)) == NULL) ||
	    (t = calloc(1, sizeof(*t))) == NULL)
		return NULL;
	if (environment_init(&t->environment, w) == -1) {
		int error = errno;

		free(t);
		errno = error;
		return NULL;
	}
	t->job.work = start_work;
	t->job.done = start_done;
	t->worker = w;
	t->keeper = keeper_new_one(w->group);
	child_result_init(&t->result);
	return t;
}

static void
begin(struct worker *w, tstamp now)
{
	struct supervisor *s = w->sup;
	uint32_t process = w->process;
	const char *fault = NULL;
	struct start *t;

	pool_start_began(&s->pool, process, now);
	if (keeper_is_needed(w->group->conf))
		fault = keeper_fault(w->group);
	if (fault != NULL) {
		worker_free(w);
		failed(s, process, false, fault, now);
		return;
	}
	t = new_start(w);
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
		    g->start_rest.at != TSTAMP_NEVER)
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
