/* Who is started next, and how a start ends. */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "daemon/backlog.h"
#include "daemon/birth.h"
#include "daemon/nursery.h"
#include "daemon/sampling.h"
#include "sys/fdpass.h"
#include "sys/log.h"

/* The system had no room, or the app cannot be run as it is. */
static void
nursery_failed(struct supervisor *s, uint32_t process, bool no_room,
    const char *why, tstamp now)
{
	uint32_t app = s->pool.processes[process].app;
	struct group *g = s->groups[app];
	bool tell = false, had_failed = app_has_failed(&s->pool.apps[app]);

	if (no_room) {
		log_limited(&g->no_room_rate, now, LOG_LEVEL_WARN,
		    "%s: no room for another process, trying again: %s",
		    g->conf->name, why);
	} else if (!s->pool.processes[process].asked) {
		group_failure(g, "%s", why);
		tell = true;
	}
	pool_spawn_failed(&s->pool, process, no_room, now);
	/* That the app has failed by this is told with the same reason. */
	if (tell && (had_failed || !app_has_failed(&s->pool.apps[app])))
		log_warnx("%s: %s", g->conf->name, why);
}

/* --- a birth under way -------------------------------------------------- */

static void
nursery_birth_failed(struct worker *w, struct birth *b, tstamp now)
{
	struct supervisor *s = w->sup;
	uint32_t process = w->process;
	bool no_room = birth_no_room(b);
	char why[256];

	birth_explain(b, why, sizeof(why));
	birth_free(b);
	worker_free(w);
	nursery_failed(s, process, no_room, why, now);
}

static void
nursery_birth_succeeded(struct worker *w, struct birth *b, tstamp now)
{
	w->pid = b->result.pid;
	birth_free(b);
	RB_INSERT(pids, &w->sup->pids, w);
	log_debug("%s: worker %s started (pid %ld)", w->group->conf->name,
	    w->id, (long)w->pid);
	pool_spawned(&w->sup->pool, w->process, now);
	sampling_started(w, now);
	if (w->channel.events != 0)
		(void)loop_set(&w->sup->loop, &w->channel, EPOLLIN);
	if (w->pending_signal != 0)
		worker_signal(w, w->pending_signal, w->pending_group);
}

static void nursery_run(struct supervisor *s, tstamp now);

/* It is over, one way or the other: done() of the lane job. */
static void
nursery_born(struct birth *b, tstamp now)
{
	struct worker *w = b->worker;
	struct supervisor *s = w->sup;

	TAILQ_REMOVE(&s->births, b, next);
	s->nbirths--;
	w->group->births--;
	w->birth = NULL;
	if (birth_failed(b))
		nursery_birth_failed(w, b, now);
	else
		nursery_birth_succeeded(w, b, now);
	/* The reaper may have met it already, and have stopped there. */
	worker_reap_all(s, now);
	if (!s->spawner.stopping)
		nursery_run(s, now);
}

static int
nursery_open_channel(struct worker *w)
{
	int ends[2];

	if (w->group->conf->handoff == CONF_HANDOFF_NONE ||
	    w->group->conf->handoff == CONF_HANDOFF_LISTEN)
		return 0;
	if (fdpass_pair(ends) == -1)
		return -1;
	fdpass_refuse(ends[0]);
	w->channel.fd = ends[0];
	w->child_end = ends[1];
	/* It is not listened to before it has a number. */
	return loop_set(&w->sup->loop, &w->channel, EPOLLET);
}

static void
nursery_begin(struct worker *w, tstamp now)
{
	struct supervisor *s = w->sup;
	uint32_t process = w->process;

	pool_start_began(&s->pool, process, now);
	if (nursery_open_channel(w) == -1 ||
	    (w->birth = birth_new(w, nursery_born)) == NULL) {
		int error = errno;

		worker_free(w);
		nursery_failed(s, process, true, strerror(error), now);
		return;
	}
	TAILQ_INSERT_TAIL(&s->births, w->birth, next);
	s->nbirths++;
	w->group->births++;
	lane_submit(&s->spawner, &w->birth->job);
}

/* --- who waits to be started -------------------------------------------- */

static void
nursery_add(struct worker *w, tstamp now)
{
	struct group *g = w->group;

	if (TAILQ_EMPTY(&g->unborn))
		TAILQ_INSERT_TAIL(&w->sup->nursery, g, nursery_next);
	TAILQ_INSERT_TAIL(&g->unborn, w, unborn_next);
	w->unborn = true;
	pool_start_queued(&w->sup->pool, w->process, now);
}

/* Takes it out; its group goes to the end of the line. */
static void
nursery_remove(struct worker *w)
{
	struct group *g = w->group;

	w->unborn = false;
	TAILQ_REMOVE(&g->unborn, w, unborn_next);
	TAILQ_REMOVE(&w->sup->nursery, g, nursery_next);
	if (!TAILQ_EMPTY(&g->unborn))
		TAILQ_INSERT_TAIL(&w->sup->nursery, g, nursery_next);
}

/* Whether nobody would miss those unborn. */
static bool
nursery_may_rest(const struct group *g)
{
	const struct app *a = &g->sup->pool.apps[g->app];

	return a->options.exit_ends && app_demand(a) == 0 &&
	    a->in_state[PROCESS_IDLE] > 0;
}

/* The group whose turn it is; NULL: all have as many births as they may. */
static struct group *
nursery_turn(struct supervisor *s)
{
	struct group *g, *first = NULL;

	TAILQ_FOREACH(g, &s->nursery, nursery_next) {
		if (g->births >= NURSERY_BIRTHS_EACH || g->rest_until != 0)
			continue;
		if (app_demand(&s->pool.apps[g->app]) > 0)
			return g;
		if (first == NULL)
			first = g;
	}
	return first;
}

static void
nursery_run(struct supervisor *s, tstamp now)
{
	struct group *g;
	struct worker *w;

	while (s->nbirths < NURSERY_BIRTHS && (g = nursery_turn(s)) != NULL) {
		w = TAILQ_FIRST(&g->unborn);
		/* A reload may have come in between. */
		if (g->conf->broken != NULL) {
			nursery_call_off(w, now);
			continue;
		}
		nursery_remove(w);
		nursery_begin(w, now);
	}
}

void
nursery_spawn(struct supervisor *s, uint32_t process, tstamp now)
{
	struct group *g = s->groups[s->pool.processes[process].app];
	struct worker *w;

	if (g->conf->broken != NULL) {
		nursery_failed(s, process, false, g->conf->broken, now);
		return;
	}
	w = worker_new(s, process);
	if (w == NULL) {
		nursery_failed(s, process, true, strerror(errno), now);
		return;
	}
	if (TAILQ_EMPTY(&g->unborn))
		g->rest_until =
		    nursery_may_rest(g) ? tstamp_add(now, NURSERY_REST) : 0;
	nursery_add(w, now);
	/* One of those who wait is for this one. */
	if (group_accepts_itself(g))
		backlog_look(g, now);
	nursery_run(s, now);
}

tstamp
nursery_deadline(const struct supervisor *s)
{
	const struct group *g;
	tstamp at = TSTAMP_NEVER;

	TAILQ_FOREACH(g, &s->nursery, nursery_next)
		if (g->rest_until != 0)
			at = tstamp_min(
			    at, nursery_may_rest(g) ? g->rest_until : 0);
	return at;
}

void
nursery_tick(struct supervisor *s, tstamp now)
{
	struct group *g;

	TAILQ_FOREACH(g, &s->nursery, nursery_next)
		if (g->rest_until <= now || !nursery_may_rest(g))
			g->rest_until = 0;
	nursery_run(s, now);
}

void
nursery_call_off(struct worker *w, tstamp now)
{
	struct supervisor *s = w->sup;
	uint32_t process = w->process;

	assert(w->unborn);
	nursery_remove(w);
	worker_free(w);
	pool_spawn_failed(&s->pool, process, true, now);
}
