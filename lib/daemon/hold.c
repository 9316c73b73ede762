/* What an operator does to an app: drains it, stops it and starts it again. */

#include <errno.h>
#include <stdlib.h>

#include "daemon/group.h"
#include "daemon/listeners.h"
#include "daemon/state.h"
#include "daemon/worker.h"
#include "sys/acceptor.h"

/* --- drained -------------------------------------------------------------- */

void
hold_drain(struct group *g, tstamp now)
{
	g->hold.muted = true;
	listeners_pause(g);
	parking_leave(g, now);
	pool_app_hold(&g->sup->pool, g->app, END_DRAINED, now);
	template_update(g, now);
}

void
hold_resume(struct group *g, tstamp now)
{
	g->hold.muted = false;
	template_update(g, now);
	pool_app_resume(&g->sup->pool, g->app, now);
	listeners_resume(g);
}

/* --- stopped and started ---------------------------------------------------
 */

/* How often listeners are opened that others remove at the same time. */
#define HOLD_ATTEMPTS 3

struct hold_start {
	struct lane_job job;
	struct group *group; /* NULL: it has gone */
	struct supervisor *sup;
	struct config *config; /* a reference: openings has its strings */
	struct openings openings;
	unsigned attempts;
	bool wanted; /* nobody has stopped the app since */
};

void
hold_stop(struct group *g, tstamp now)
{
	if (g->hold.starting != NULL)
		g->hold.starting->wanted = false;
	if (g->hold.stopped)
		return;
	g->hold.muted = false;
	g->hold.stopped = true;
	parking_leave(g, now);
	pool_app_hold(&g->sup->pool, g->app, END_STOPPED, now);
	template_update(g, now);
	accepting_leave_all(g, now);
}

static void
hold_start_end(struct hold_start *h, int error)
{
	if (h->group != NULL) {
		h->group->hold.starting = NULL;
		h->group->hold.error = error;
	}
	openings_fini(&h->openings, &h->sup->looker);
	config_unref(h->config);
	free(h);
}

/*
 * Opens all listeners of the app, and has it run. What a lane has to open first
 * is left to that, and then it is tried again.
 */
static void
hold_start_try(struct hold_start *h, tstamp now)
{
	struct app_listeners opened = TAILQ_HEAD_INITIALIZER(opened);
	struct group *g = h->group;
	int error = 0;

	/* A reload may have brought other addresses. */
	if (g == NULL || g->closing || g->config != h->config || !h->wanted) {
		hold_start_end(h, 0);
		return;
	}
	for (size_t i = 0; i < g->conf->listen.len; i++) {
		if (listeners_open(h->sup, g->conf, &g->conf->listen.list[i],
			&h->openings, &opened) == 0)
			continue;
		error = errno;
		if (error != EINPROGRESS)
			break;
	}
	if (error != 0)
		listeners_close_all(&opened);
	if (error == EINPROGRESS && h->attempts++ < HOLD_ATTEMPTS) {
		lane_submit(&h->sup->looker, &h->job);
		return;
	}
	if (error == 0) {
		g->hold.stopped = false;
		accepting_begin_all(&opened, g);
		hold_resume(g, now);
	}
	hold_start_end(h, error);
}

static void
hold_open_work(struct lane_job *job)
{
	openings_work(&LOOP_OWNER(job, struct hold_start, job)->openings);
}

static void
hold_open_done(struct lane_job *job, tstamp now)
{
	hold_start_try(LOOP_OWNER(job, struct hold_start, job), now);
}

void
hold_start(struct group *g, tstamp now)
{
	struct hold_start *h;

	if (g->hold.starting != NULL) {
		g->hold.starting->wanted = true;
		return;
	}
	h = calloc(1, sizeof(*h));
	if (h == NULL) {
		g->hold.error = ENOMEM;
		return;
	}
	h->job.work = hold_open_work;
	h->job.done = hold_open_done;
	h->group = g;
	h->sup = g->sup;
	h->config = config_ref(g->config);
	h->wanted = true;
	openings_init(&h->openings);
	g->hold.starting = h;
	hold_start_try(h, now);
}

void
hold_forget(struct group *g)
{
	if (g->hold.starting != NULL)
		g->hold.starting->group = NULL;
}
