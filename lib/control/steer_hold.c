/* The commands that hold an app, and have it run again. */

#include <inttypes.h>
#include <string.h>

#include "control/steer.h"
#include "control/wait.h"
#include "daemon/hold.h"

/* --- drain and stop ------------------------------------------------------ */

static void
tell_held(struct client *cl, const struct target *t, const struct app *a)
{
	uint32_t n = t->of - a->stuck;
	char ended[40] = "", stuck[64] = "";

	if (n > 0)
		(void)snprintf(ended, sizeof(ended),
		    ", %" PRIu32 " process%s ended", n, n == 1 ? "" : "es");
	if (a->stuck > 0)
		(void)snprintf(stuck, sizeof(stuck),
		    ", %" PRIu32 " still there after SIGKILL", a->stuck);
	client_tell(cl, "%s: %s%s%s", t->name, app_state_name(a), ended, stuck);
}

static bool
hold_goes_on(struct client *cl, struct progress *out)
{
	struct target *t = &cl->targets->list[0];
	const struct app *a = steer_app(cl);

	if (a == NULL)
		return false;
	if (a->phase == APP_RUNNING) {
		client_error(cl, "%s runs again", t->name);
		return false;
	}
	/* Processes may be started for what waits. */
	if (app_living(a) > t->of)
		t->of = app_living(a);
	if (a->at_rest) {
		tell_held(cl, t, a);
		return false;
	}
	*out = (struct progress){ t->of - app_living(a), t->of, "ended" };
	return true;
}

/* Has the app held for this; one that is already is waited for. */
static void
hold(struct client *cl, char *name, enum process_end why, tstamp now)
{
	struct supervisor *s = cl->all->sup;
	const struct app *a;
	const struct target *t;

	if (!steer_choose_app(cl, name))
		return;
	t = &cl->targets->list[0];
	a = &s->pool.apps[t->app];
	if (why == END_DRAINED && a->phase == APP_RUNNING) {
		hold_drain(s->groups[t->app], now);
	} else if (why == END_STOPPED) {
		hold_stop(s->groups[t->app], now);
	} else if (a->held_for != why) {
		client_error(cl, "%s is %s", t->name, app_state_name(a));
		return;
	}
	wait_while(cl, hold_goes_on);
}

void
steer_drain(struct client *cl, char *const *words, tstamp now)
{
	hold(cl, words[0], END_DRAINED, now);
}

void
steer_stop(struct client *cl, char *const *words, tstamp now)
{
	hold(cl, words[0], END_STOPPED, now);
}

/* --- resume and start ---------------------------------------------------- */

static void
tell_running(struct client *cl, const struct target *t, const struct app *a)
{
	client_tell(cl, "%s: running, %" PRIu32 " process%s ready", t->name,
	    app_ready(a), app_ready(a) == 1 ? "" : "es");
}

static bool
run_goes_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	const struct target *t = &cl->targets->list[0];
	const struct app *a = steer_app(cl);
	const struct group *g = s->groups[t->app];
	char why[GROUP_FAILURE_MAX];

	if (a == NULL)
		return false;
	if (g->stopped && g->starting != NULL)
		return true;
	if (g->stopped && g->start_error != 0)
		client_error(cl,
		    "%s stays stopped, it cannot listen: %s; see "
		    "the log",
		    t->name, strerror(g->start_error));
	else if (a->phase != APP_RUNNING)
		client_error(cl, "%s is %s", t->name, app_state_name(a));
	else if (app_has_failed(a))
		client_error(
		    cl, "%s has failed: %s", t->name, group_failure(g, why));
	else if (app_is_ready(a))
		tell_running(cl, t, a);
	else {
		*out = (struct progress){ app_ready(a),
			a->options.min_processes, "ready" };
		return true;
	}
	return false;
}

void
steer_resume(struct client *cl, char *const *words, tstamp now)
{
	struct supervisor *s = cl->all->sup;
	struct group *g;

	if (!steer_choose_app(cl, words[0]))
		return;
	g = s->groups[cl->targets->list[0].app];
	if (g->stopped) {
		client_error(cl,
		    "%s is %s, and not drained: start has it run "
		    "again",
		    words[0], app_state_name(&s->pool.apps[g->app]));
		return;
	}
	if (g->muted)
		hold_resume(g, now);
	wait_while(cl, run_goes_on);
}

void
steer_start(struct client *cl, char *const *words, tstamp now)
{
	struct supervisor *s = cl->all->sup;
	struct group *g;

	if (!steer_choose_app(cl, words[0]))
		return;
	g = s->groups[cl->targets->list[0].app];
	if (g->muted) {
		client_error(cl,
		    "%s is %s, and not stopped: resume has it run "
		    "again",
		    words[0], app_state_name(&s->pool.apps[g->app]));
		return;
	}
	if (g->stopped && !g->drained) {
		client_error(cl,
		    "%s still serves what is in the backlog of its listeners: "
		    "try again when it does not",
		    words[0]);
		return;
	}
	if (g->stopped)
		hold_start(g, now);
	wait_while(cl, run_goes_on);
}
