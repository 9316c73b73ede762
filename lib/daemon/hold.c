/* The operator's hold on an app: drained, stopped and started again. */

#include <stdlib.h>

#include "daemon/worker.h"

/* A stopped app is started; it may stop again meanwhile, or go. */
struct hold_start {
	struct openings openings;
	struct app_listeners opened;
	struct supervisor *sup;
	uint32_t app;
	struct conf *config; /* a reference: the app of that is started */
	bool wanted; /* nobody has stopped the app since */
};

void
hold_close(struct timer *t, tstamp now)
{
	struct group *g = TIMER_OWNER(t, struct group, hold.close);
	enum process_end why = g->hold.why;

	timer_set(&g->sup->loop.timers, t, TSTAMP_NEVER);
	g->hold.stopped = why == END_STOPPED;
	g->hold.muted = !g->hold.stopped;
	if (g->hold.muted)
		listeners_pause(g);
	parking_leave(g, now);
	pool_app_hold(&g->sup->pool, g->app, why, now);
	template_update(g, now);
	if (g->hold.stopped)
		accepting_leave(g, now);
}

void
hold_begin(struct group *g, enum process_end why, tstamp now)
{
	tspan delay = g->conf->close_delay;
	const struct app *a = &g->sup->pool.apps[g->app];

	if (why == END_STOPPED && g->hold.starting != NULL)
		g->hold.starting->wanted = false;
	if (g->hold.stopped)
		return;
	g->hold.why = why;
	if (delay == 0 || a->phase != APP_RUNNING) {
		hold_close(&g->hold.close, now);
		return;
	}
	if (g->hold.close.at == TSTAMP_NEVER)
		timer_set(&g->sup->loop.timers, &g->hold.close, now + delay);
	pool_app_hold_soon(&g->sup->pool, g->app, why, now);
}

/*
 * The lane has opened what the app lacked: at first nothing. It may lack more
 * by now, as a listener that was still leaving may have been closed meanwhile.
 */
static void
hold_opened(struct lane_job *job, tstamp now)
{
	struct hold_start *h = LOOP_OWNER(job, struct hold_start, openings.job);
	struct group *g = h->sup->groups[h->app];
	bool ours = g != NULL && g->hold.starting == h;
	/* A reload may have brought other addresses. */
	bool wanted =
	    ours && h->wanted && !g->closing && g->config == h->config;
	bool open = openings_end(&h->openings);

	for (size_t i = 0; wanted && open && i < g->conf->listen.len; i++)
		listeners_open_missing(g->sup, g->conf,
		    &g->conf->listen.list[i], &h->openings, &h->opened);
	if (!STAILQ_EMPTY(&h->openings.list)) {
		openings_submit(&h->openings, &g->sup->looker, hold_opened);
		return;
	}
	if (ours) {
		g->hold.starting = NULL;
		g->hold.error = wanted ? h->openings.error : 0;
	}
	if (wanted && h->openings.error == 0) {
		g->hold.stopped = false;
		(void)listeners_claim(g, &h->opened, false);
		hold_resume(g, now);
	}
	listeners_close_all(&h->opened);
	conf_free(h->config);
	free(h);
}

void
hold_resume(struct group *g, tstamp now)
{
	struct hold_start *h = g->hold.starting;

	if (g->hold.close.at != TSTAMP_NEVER) {
		timer_set(&g->sup->loop.timers, &g->hold.close, TSTAMP_NEVER);
		pool_app_hold_soon(&g->sup->pool, g->app, 0, now);
		return;
	}
	if (!g->hold.stopped) {
		g->hold.muted = false;
		app_cgroup_make(g);
		template_update(g, now);
		pool_app_resume(&g->sup->pool, g->app, now);
		listeners_resume(g);
		return;
	}
	if (h != NULL) {
		h->wanted = true;
		return;
	}
	h = calloc(1, sizeof(*h));
	if (h == NULL) {
		g->hold.error = ENOMEM;
		return;
	}
	openings_init(&h->openings, NULL);
	TAILQ_INIT(&h->opened);
	h->sup = g->sup;
	h->app = g->app;
	h->config = conf_ref(g->config);
	h->wanted = true;
	g->hold.starting = h;
	openings_submit(&h->openings, &g->sup->looker, hold_opened);
}
