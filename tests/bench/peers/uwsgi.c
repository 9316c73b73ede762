/*
 * uWSGI with cheaper-algo = busyness.  workers is max_processes, cheaper and
 * cheaper-initial are min_processes, at least 1; all else has its default:
 * cheaper-step 1, cheaper-overload 3 s, cheaper-busyness-max 50, -min 25,
 * -multiplier 10, -penalty 2, -backlog-alert 33, -backlog-multiplier 3,
 * -backlog-step 1.
 *
 * Once a second the master looks: every 3 seconds at the busyness, which is
 * the time of the requests that each worker has finished meanwhile, at most
 * 100 percent, and 100 for a worker that finished none but was seen busy; the
 * mean over all that are not cheaped counts, those that start included.
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

#include "peers.h"

#define TICK TSPAN_SECONDS(1)
#define WINDOW TSPAN_SECONDS(3)
#define BUSY_MAX 50 /* percent */
#define BUSY_MIN 25
#define MULTIPLIER 10 /* windows */
#define PENALTY 2
#define ALERT 33 /* connections */
#define ALERT_MULTIPLIER 3 /* windows */
#define TOLERANCE 3 /* windows */

/* A worker in this window. */
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

static struct uwsgi_app *
state_of(struct policy *p, uint32_t app)
{
	return (struct uwsgi_app *)p->app_states + app;
}

static struct uwsgi_worker *
seen_of(struct policy *p, uint32_t worker)
{
	return (struct uwsgi_worker *)p->worker_states + worker;
}

static uint32_t
cheaper(const struct conf_app *app)
{
	return app->pool.min_processes > 0 ? app->pool.min_processes : 1;
}

static uint32_t
begin(struct policy *p, uint32_t app)
{
	state_of(p, app)->multiplier = MULTIPLIER;
	return cheaper(p->apps[app].conf);
}

static void
wind(struct uwsgi_app *u, tstamp now)
{
	u->stop_at = now +
	    WINDOW * (u->emergencies > 0 ? ALERT_MULTIPLIER : u->multiplier);
}

static void
relax(struct uwsgi_app *u)
{
	if (u->multiplier > MULTIPLIER)
		u->multiplier--;
}

/* --- the window --------------------------------------------------------- */

static void
finished(struct policy *p, uint32_t worker, tspan served, tstamp now)
{
	(void)now;
	seen_of(p, worker)->served += served;
}

static void
sample(struct policy *p, const struct policy_app *a)
{
	for (uint32_t w = a->base; w < a->base + a->numbers; w++) {
		if (!policy_is_active(&p->workers[w]))
			seen_of(p, w)->seen_busy = false;
		else if (p->workers[w].serving > 0)
			seen_of(p, w)->seen_busy = true;
	}
}

/* Gives percent, over the workers of the window that ends now. */
static uint32_t
busyness(struct policy *p, const struct policy_app *a)
{
	uint32_t sum = 0;

	for (uint32_t w = a->base; w < a->base + a->numbers; w++) {
		struct uwsgi_worker *seen = seen_of(p, w);
		tspan percent = 100 * seen->served / WINDOW;

		if (percent > 100 || (seen->served == 0 && seen->seen_busy))
			percent = 100;
		if (policy_is_active(&p->workers[w]))
			sum += (uint32_t)percent;
		*seen = (struct uwsgi_worker){ 0 };
	}
	return policy_active(a) > 0 ? sum / policy_active(a) : 0;
}

/* --- what is done ------------------------------------------------------- */

static void
grow(struct policy *p, uint32_t app, tstamp now)
{
	struct uwsgi_app *u = state_of(p, app);

	u->tolerated = 0;
	if (policy_start(p, app, 1, now) == 0)
		return;
	u->stopping = false;
	if (u->stopped != 0 && (now - u->stopped) / WINDOW <= u->multiplier)
		u->multiplier += PENALTY;
	else
		relax(u);
	wind(u, now);
}

static void
alert(struct policy *p, uint32_t app, tstamp now)
{
	struct uwsgi_app *u = state_of(p, app);

	u->multiplier = MULTIPLIER;
	u->stopping = false;
	u->emergencies += policy_start(p, app, 1, now);
	wind(u, now);
}

/* The worker that was started first, of those that serve nothing. */
static uint32_t
oldest(const struct policy *p, const struct policy_app *a)
{
	const struct policy_worker *workers = p->workers;
	uint32_t found = ILIST_NONE;

	for (uint32_t w = a->base; w < a->base + a->numbers; w++) {
		if (workers[w].serving > 0 || !policy_is_active(&workers[w]))
			continue;
		if (found == ILIST_NONE ||
		    workers[w].started < workers[found].started)
			found = w;
	}
	return found;
}

static void
shrink(struct policy *p, uint32_t app, tstamp now)
{
	struct uwsgi_app *u = state_of(p, app);
	const struct policy_app *a = &p->apps[app];
	uint32_t victim;

	u->tolerated = 0;
	if (policy_active(a) <= cheaper(a->conf) || now < u->stop_at)
		return;
	if (u->stopping)
		relax(u);
	wind(u, now);
	u->stopped = now;
	u->stopping = true;
	if (u->emergencies > 0)
		u->emergencies--;
	victim = oldest(p, a);
	if (victim != ILIST_NONE)
		policy_stop(p, victim);
}

static void
tolerate(struct uwsgi_app *u, tstamp now)
{
	if (u->emergencies > 0)
		u->emergencies--;
	if (++u->tolerated >= TOLERANCE)
		wind(u, now);
	else
		u->stop_at += WINDOW;
}

static void
ticked(struct policy *p, uint32_t app, tstamp now)
{
	struct uwsgi_app *u = state_of(p, app);
	const struct policy_app *a = &p->apps[app];
	bool over = u->checked != 0 && now - u->checked >= WINDOW;
	uint32_t busy;

	if (u->checked == 0)
		wind(u, now);
	sample(p, a);
	busy = over ? busyness(p, a) : 0;
	if (over || u->checked == 0)
		u->checked = now;

	if (over && busy > BUSY_MAX)
		grow(p, app, now);
	else if (a->queue.count > ALERT &&
	    policy_active(a) < a->conf->pool.max_processes)
		alert(p, app, now);
	else if (!over || policy_active(a) == 1)
		return;
	else if (busy < BUSY_MIN)
		shrink(p, app, now);
	else
		tolerate(u, now);
}

const struct policy_ops policy_uwsgi = {
	.name = "uWSGI busyness",
	.period = TICK,
	.app_size = sizeof(struct uwsgi_app),
	.worker_size = sizeof(struct uwsgi_worker),
	.begin = begin,
	.finished = finished,
	.ticked = ticked,
};
