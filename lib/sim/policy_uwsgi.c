/*
 * uWSGI with cheaper-algo = busyness.  workers is max_processes, cheaper and
 * cheaper-initial are min_processes, at least 1; all else has its default:
 * cheaper-step 1, cheaper-overload 3 s, cheaper-busyness-max 50, -min 25,
 * -multiplier 10, -penalty 2, -backlog-alert 33, -backlog-multiplier 3,
 * -backlog-step 1.
 *
 * Once a second the master looks: every 3 seconds at the busyness, which is
 * the time of the requests that each worker has finished meanwhile, at most
 * 100 percent, and 100 for one that finished none but was seen busy; the mean
 * over all that are not cheaped counts, those that start included.
 *
 *	over 50		one more starts.  If one was stopped less than a
 *			multiplier of windows ago, the multiplier grows by
 *			the penalty; else it falls by 1, down to 10.
 *	under 25	one stops, if the timer has run out: it runs for a
 *			multiplier of windows, from the last start or stop.
 *			From one stop to the next the multiplier falls by 1.
 *	between		the timer is put off by a window; from the third such
 *			window in a row on it begins anew.
 *
 * In every second in which more than 33 connections are in the backlog and it
 * does nothing else, one more starts as an emergency: the multiplier is 10
 * again, and while there are such workers the timer runs for 3 windows.
 *
 * It stops the worker that was started longest ago, of those not busy.
 */

#include <stdlib.h>

#include "sim/backlog.h"
#include "sim/policy.h"

#define UWSGI_TICK TSPAN_SECONDS(1)
#define UWSGI_WINDOW TSPAN_SECONDS(3)
#define UWSGI_MAX 50 /* percent */
#define UWSGI_MIN 25
#define UWSGI_MULTIPLIER 10 /* windows */
#define UWSGI_PENALTY 2
#define UWSGI_ALERT 33 /* connections */
#define UWSGI_ALERT_MULTIPLIER 3 /* windows */
#define UWSGI_TOLERANCE 3 /* windows */

/* What is known of a worker in this window. */
struct uwsgi_worker {
	tspan served; /* in requests that have been finished */
	bool seen_busy;
};

struct uwsgi_app {
	tstamp checked; /* begin of the window; 0: before the first look */
	tstamp stop_at; /* the timer */
	tstamp stopped; /* the last stop; 0: none */
	uint32_t multiplier;
	uint32_t tolerated; /* windows in a row between min and max */
	uint32_t emergencies; /* workers */
	bool stopping; /* the last act was a stop */
};

struct uwsgi {
	struct backlog backlog;
	struct uwsgi_app *apps;
	struct uwsgi_worker *workers;
};

static uint32_t
uwsgi_cheaper(const struct conf_app *app)
{
	return app->min_processes > 0 ? app->min_processes : 1;
}

static void
uwsgi_wind(struct uwsgi_app *u, tstamp now)
{
	u->stop_at = now +
	    UWSGI_WINDOW *
		(u->emergencies > 0 ? UWSGI_ALERT_MULTIPLIER : u->multiplier);
}

static void
uwsgi_relax(struct uwsgi_app *u)
{
	if (u->multiplier > UWSGI_MULTIPLIER)
		u->multiplier--;
}

/* --- the window --------------------------------------------------------- */

static void
uwsgi_finished(struct backlog *b, uint32_t worker, tspan served, tstamp now)
{
	(void)now;
	((struct uwsgi *)b)->workers[worker].served += served;
}

static void
uwsgi_sample(struct uwsgi *u, const struct backlog_app *a)
{
	uint32_t w, end = a->base + a->conf->max_processes;

	for (w = a->base; w < end; w++) {
		const struct backlog_worker *worker = &u->backlog.workers[w];

		if (!backlog_is_active(worker))
			u->workers[w].seen_busy = false;
		else if (worker->serving > 0)
			u->workers[w].seen_busy = true;
	}
}

/* Percent, over the workers of the window that ends now. */
static uint32_t
uwsgi_busyness(struct uwsgi *u, const struct backlog_app *a)
{
	uint32_t w, end = a->base + a->conf->max_processes, sum = 0;

	for (w = a->base; w < end; w++) {
		const struct backlog_worker *worker = &u->backlog.workers[w];
		struct uwsgi_worker *seen = &u->workers[w];
		tspan percent = 100 * seen->served / UWSGI_WINDOW;

		if (percent > 100 || (seen->served == 0 && seen->seen_busy))
			percent = 100;
		if (backlog_is_active(worker))
			sum += (uint32_t)percent;
		*seen = (struct uwsgi_worker){ 0 };
	}
	return backlog_active(a) > 0 ? sum / backlog_active(a) : 0;
}

/* --- what is done ------------------------------------------------------- */

static void
uwsgi_grow(struct uwsgi *u, uint32_t app, tstamp now)
{
	struct uwsgi_app *state = &u->apps[app];

	state->tolerated = 0;
	if (backlog_start(&u->backlog, app, 1, now) == 0)
		return;
	state->stopping = false;
	if (state->stopped != 0 &&
	    (now - state->stopped) / UWSGI_WINDOW <= state->multiplier)
		state->multiplier += UWSGI_PENALTY;
	else
		uwsgi_relax(state);
	uwsgi_wind(state, now);
}

static void
uwsgi_alert(struct uwsgi *u, uint32_t app, tstamp now)
{
	struct uwsgi_app *state = &u->apps[app];

	state->multiplier = UWSGI_MULTIPLIER;
	state->stopping = false;
	state->emergencies += backlog_start(&u->backlog, app, 1, now);
	uwsgi_wind(state, now);
}

/* Of those that serve nothing, starting ones included. */
static uint32_t
uwsgi_victim(const struct backlog *b, const struct backlog_app *a)
{
	uint32_t w, end = a->base + a->conf->max_processes;
	uint32_t victim = ILIST_NONE;

	for (w = a->base; w < end; w++) {
		const struct backlog_worker *worker = &b->workers[w];

		if (worker->serving > 0 || !backlog_is_active(worker))
			continue;
		if (victim == ILIST_NONE ||
		    worker->born < b->workers[victim].born)
			victim = w;
	}
	return victim;
}

static void
uwsgi_shrink(struct uwsgi *u, uint32_t app, tstamp now)
{
	struct uwsgi_app *state = &u->apps[app];
	const struct backlog_app *a = &u->backlog.apps[app];
	uint32_t victim;

	state->tolerated = 0;
	if (backlog_active(a) <= uwsgi_cheaper(a->conf) || now < state->stop_at)
		return;
	if (state->stopping)
		uwsgi_relax(state);
	uwsgi_wind(state, now);
	state->stopped = now;
	state->stopping = true;
	if (state->emergencies > 0)
		state->emergencies--;
	victim = uwsgi_victim(&u->backlog, a);
	if (victim != ILIST_NONE)
		backlog_stop(&u->backlog, victim);
}

static void
uwsgi_tolerate(struct uwsgi_app *u, tstamp now)
{
	if (u->emergencies > 0)
		u->emergencies--;
	if (++u->tolerated >= UWSGI_TOLERANCE)
		uwsgi_wind(u, now);
	else
		u->stop_at += UWSGI_WINDOW;
}

static void
uwsgi_ticked(struct backlog *b, uint32_t app, tstamp now)
{
	struct uwsgi *u = (struct uwsgi *)b;
	struct uwsgi_app *state = &u->apps[app];
	const struct backlog_app *a = &b->apps[app];
	bool alert = a->queue.count > UWSGI_ALERT &&
	    backlog_active(a) < a->conf->max_processes;
	bool over = state->checked != 0 && now - state->checked >= UWSGI_WINDOW;
	uint32_t busyness;

	if (state->checked == 0) {
		state->checked = now;
		uwsgi_wind(state, now);
	}
	uwsgi_sample(u, a);
	busyness = over ? uwsgi_busyness(u, a) : 0;
	if (over)
		state->checked = now;

	if (over && busyness > UWSGI_MAX)
		uwsgi_grow(u, app, now);
	else if (alert)
		uwsgi_alert(u, app, now);
	else if (!over || backlog_active(a) == 1)
		return;
	else if (busyness < UWSGI_MIN)
		uwsgi_shrink(u, app, now);
	else
		uwsgi_tolerate(state, now);
}

/* --- memory ------------------------------------------------------------- */

static void
uwsgi_fini(struct backlog *b)
{
	free(((struct uwsgi *)b)->workers);
	free(((struct uwsgi *)b)->apps);
}

struct manager *
policy_uwsgi_new(const struct conf *conf, uint64_t seed)
{
	static const struct backlog_ops ops = {
		.name = "uWSGI busyness",
		.period = UWSGI_TICK,
		.first = uwsgi_cheaper,
		.finished = uwsgi_finished,
		.ticked = uwsgi_ticked,
		.fini = uwsgi_fini,
	};
	struct uwsgi *u =
	    (struct uwsgi *)backlog_new(sizeof(*u), &ops, conf, seed);
	uint32_t app;

	if (u == NULL)
		return NULL;
	u->apps = calloc(conf->apps_len, sizeof(*u->apps));
	u->workers = calloc(u->backlog.manager.workers, sizeof(*u->workers));
	if (u->apps == NULL || u->workers == NULL) {
		uwsgi_fini(&u->backlog);
		backlog_free(&u->backlog);
		return NULL;
	}
	for (app = 0; app < conf->apps_len; app++)
		u->apps[app].multiplier = UWSGI_MULTIPLIER;
	return &u->backlog.manager;
}
