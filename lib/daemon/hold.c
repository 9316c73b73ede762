/* Apps that are drained or stopped, and their listeners. */

#include <errno.h>
#include <stdlib.h>

#include "daemon/group.h"
#include "daemon/listeners.h"
#include "daemon/worker.h"
#include "sys/acceptor.h"

void
hold_drain(struct group *g, tstamp now)
{
	g->muted = true;
	listeners_pause(g);
	parking_leave(g, now);
	pool_app_hold(&g->sup->pool, g->app, END_DRAINED, now);
	template_update(g, now);
}

void
hold_resume(struct group *g, tstamp now)
{
	g->muted = false;
	template_update(g, now);
	pool_app_resume(&g->sup->pool, g->app, now);
	listeners_resume(g);
}

/* --- starting ------------------------------------------------------------ */

/* How often listeners are opened that others remove at the same time. */
#define ATTEMPTS 3

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
	if (g->starting != NULL)
		g->starting->wanted = false;
	if (g->stopped)
		return;
	g->muted = false;
	g->stopped = true;
	parking_leave(g, now);
	pool_app_hold(&g->sup->pool, g->app, END_STOPPED, now);
	template_update(g, now);
	accepting_leave_all(g, now);
}

/* Opens all listeners of the app. 0, or an errno: none is open. */
static int
open_all(struct hold_start *h, struct app_listeners *out)
{
	const struct conf_app *conf = h->group->conf;
	int error = 0;

	for (size_t i = 0; i < conf->listen.len; i++) {
		if (listeners_open(h->sup, conf, &conf->listen.list[i],
			&h->openings, out) == 0)
			continue;
		error = errno;
		if (error != EINPROGRESS)
			break;
	}
	if (error != 0)
		listeners_close_all(out);
	return error;
}

static void
end_start(struct hold_start *h, int error)
{
	if (h->group != NULL) {
		h->group->starting = NULL;
		h->group->start_error = error;
	}
	openings_fini(&h->openings, &h->sup->looker);
	config_unref(h->config);
	free(h);
}

/* Tries to start the app; what a lane has to do first is left to it. */
static void
try(struct hold_start *h, tstamp now)
{
	struct app_listeners opened = TAILQ_HEAD_INITIALIZER(opened);
	struct group *g = h->group;
	int error;

	/* A reload may have brought other addresses. */
	if (g == NULL || g->closing || g->config != h->config || !h->wanted) {
		end_start(h, 0);
		return;
	}
	error = open_all(h, &opened);
	if (error == EINPROGRESS && h->attempts++ < ATTEMPTS) {
		lane_submit(&h->sup->looker, &h->job);
		return;
	}
	if (error == 0) {
		g->stopped = false;
		accepting_begin_all(&opened, g);
		hold_resume(g, now);
	}
	end_start(h, error);
}

static void
open_work(struct lane_job *job)
{
	openings_work(&LOOP_OWNER(job, struct hold_start, job)->openings);
}

static void
open_done(struct lane_job *job, tstamp now)
{
	try(LOOP_OWNER(job, struct hold_start, job), now);
}

void
hold_start(struct group *g, tstamp now)
{
	struct hold_start *h;

	if (g->starting != NULL) {
		g->starting->wanted = true;
		return;
	}
	h = calloc(1, sizeof(*h));
	if (h == NULL) {
		g->start_error = ENOMEM;
		return;
	}
	h->job.work = open_work;
	h->job.done = open_done;
	h->group = g;
	h->sup = g->sup;
	h->config = config_ref(g->config);
	h->wanted = true;
	openings_init(&h->openings);
	g->starting = h;
	try(h, now);
}

void
hold_forget(struct group *g)
{
	if (g->starting != NULL)
		g->starting->group = NULL;
}
