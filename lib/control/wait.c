/* Answers that wait: until apps are ready, rollouts over, commands done. */

#include "control/wait.h"
#include "control/target.h"
#include "core/action.h"
#include "core/app.h"
#include "daemon/group.h"
#include "daemon/restart_files.h"
#include "daemon/stray.h"

/* Between two looks at the apps. */
#define LOOK_EVERY TSPAN_MSECONDS(20)

/* --- looking ------------------------------------------------------------ */

static void
look_soon(struct clients *all)
{
	timer_advance(&all->sup->loop.timers, &all->look,
	    loop_now(&all->sup->loop) + LOOK_EVERY);
}

/* Whether the client has to wait on, which it is shown if it watches. */
static bool
must_wait(struct client *cl)
{
	struct progress progress = { 0 };

	if (!cl->goes_on(cl, &progress))
		return false;
	client_progress(cl, &progress);
	return true;
}

static void
look(struct timer *t, tstamp now)
{
	struct clients *all = TIMER_OWNER(t, struct clients, look);
	struct client *cl, *next;

	TAILQ_FOREACH_SAFE(cl, &all->list, next, next) {
		if (cl->waits == WAIT_EVENTS) {
			look_soon(all);
			if (cl->state == CLIENT_WAITING &&
			    follow_has_more(cl->follow))
				client_answer(cl, now);
			continue;
		}
		if (cl->state != CLIENT_WAITING || cl->waits != WAIT_APPS)
			continue;
		if (must_wait(cl)) {
			look_soon(all);
			continue;
		}
		cl->waits = WAIT_NOTHING;
		client_answer(cl, now);
	}
}

void
wait_for_events(struct client *cl)
{
	cl->waits = WAIT_EVENTS;
	look_soon(cl->all);
}

void
wait_while(
    struct client *cl, bool (*goes_on)(struct client *, struct progress *out))
{
	cl->goes_on = goes_on;
	if (!must_wait(cl) || !client_may_wait(cl))
		return;
	cl->waits = WAIT_APPS;
	look_soon(cl->all);
}

void
wait_init(struct clients *all)
{
	timer_init(&all->look, look);
}

void
wait_fini(struct clients *all)
{
	timer_set(&all->sup->loop.timers, &all->look, TSTAMP_NEVER);
}

/* --- until apps are ready ----------------------------------------------- */

enum readiness {
	READY,
	COMING,
	FAILED,
};

static enum readiness
group_readiness(const struct group *g)
{
	const struct app *a = &g->sup->pool.apps[g->app];

	if (g->closing || a->phase != APP_RUNNING)
		return READY;
	if (app_has_failed(a))
		return FAILED;
	if (restart_files_are_awaited(g, loop_now(&g->sup->loop)))
		return COMING;
	if (app_rolling(a) || stray_is_unknown(g, loop_now(&g->sup->loop)))
		return COMING;
	if (g->stray[0] != '\0')
		return FAILED;
	return app_is_ready(a) ? READY : COMING;
}

/* The worst of all groups, which *group_out is unless READY. */
static enum readiness
all_readiness(const struct supervisor *s, const struct group **group_out)
{
	enum readiness worst = READY;

	for (uint32_t n = 0; n < s->pool.napps; n++) {
		enum readiness r;

		if (s->groups[n] == NULL)
			continue;
		r = group_readiness(s->groups[n]);
		if (r > worst) {
			worst = r;
			*group_out = s->groups[n];
		}
	}
	return worst;
}

/* Tells the client the end of its wait. True: there is more to wait for. */
static bool
tell_readiness(struct client *cl, const struct group *g, enum readiness r)
{
	char why[GROUP_FAILURE_MAX];

	switch (r) {
	case READY:
		client_tell(cl, "ready");
		return false;
	case FAILED:
		if (!app_has_failed(&g->sup->pool.apps[g->app]))
			client_error(cl, "%s: %s", g->conf->name, g->stray);
		else
			client_error(cl, "%s has failed: %s", g->conf->name,
			    group_failure(g, why));
		return false;
	case COMING:
		break;
	}
	return true;
}

/* Adds how many of the processes that the app keeps are ready. */
static void
count_ready(const struct app *a, struct progress *sum)
{
	uint32_t ready = app_ready(a), least = a->options.min_processes;

	if (a->phase != APP_RUNNING)
		return;
	sum->done += ready < least ? ready : least;
	sum->of += least;
	sum->what = "ready";
}

static bool
all_go_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	const struct group *g = NULL;
	enum readiness r = all_readiness(s, &g);

	for (uint32_t n = 0; n < s->pool.napps; n++)
		count_ready(&s->pool.apps[n], out);
	return tell_readiness(cl, g, r);
}

static bool
ready_goes_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	const struct group *g;

	if (s->stopping) {
		client_error(cl, "the daemon is stopping");
		return false;
	}
	if (cl->app == NULL)
		return all_go_on(cl, out);
	g = target_lookup(s, cl->app);
	if (g == NULL) {
		client_error(cl, "no app %s any more", cl->app);
		return false;
	}
	if (g->closing) {
		client_error(cl, "%s is being removed", cl->app);
		return false;
	}
	if (s->pool.apps[g->app].phase != APP_RUNNING) {
		client_error(cl, "%s is %s", cl->app,
		    app_state_name(&s->pool.apps[g->app]));
		return false;
	}
	count_ready(&s->pool.apps[g->app], out);
	return tell_readiness(cl, g, group_readiness(g));
}

void
wait_until_ready(struct client *cl)
{
	struct supervisor *s = cl->all->sup;

	/* A touch before the command is a restart to wait for. */
	restart_files_await(s, loop_now(&s->loop));
	wait_while(cl, ready_goes_on);
}

/* --- after a reload ----------------------------------------------------- */

/* The reason of a rollout's end is known when its news have been told. */
static bool
is_rolling(const struct supervisor *s)
{
	for (uint32_t n = 0; n < s->pool.napps; n++) {
		const struct app *a = &s->pool.apps[n];

		if (s->groups[n] != NULL &&
		    (app_rolling(a) || (a->news & 1u << NEWS_GIVEN_UP)))
			return true;
	}
	return false;
}

static void
count_replaced(const struct supervisor *s, struct progress *sum)
{
	for (uint32_t n = 0; n < s->pool.napps; n++) {
		const struct app *a = &s->pool.apps[n];

		if (!app_rolling(a) || a->outdated > a->rollout_size)
			continue;
		sum->done += a->rollout_size - a->outdated;
		sum->of += a->rollout_size;
	}
	sum->what = "replaced";
}

/* Whether a rollout is under way; else tells which one was given up. */
static bool
rollouts_go_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;

	if (!s->stopping && is_rolling(s)) {
		count_replaced(s, out);
		return true;
	}
	for (uint32_t n = 0; n < s->pool.napps; n++) {
		const struct group *g = s->groups[n];

		if (g == NULL || s->pool.apps[n].rollout != ROLLOUT_GIVEN_UP)
			continue;
		client_error(cl,
		    "%s: the new generation does not live, the old one "
		    "stays: %s",
		    g->conf->name, g->given_up_for);
		return false;
	}
	return false;
}

bool
wait_until_rolled_out(struct client *cl)
{
	if (!is_rolling(cl->all->sup))
		return false;
	wait_while(cl, rollouts_go_on);
	return cl->waits == WAIT_APPS;
}
