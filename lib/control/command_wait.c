/* Commands that end when apps are ready, or their processes replaced. */

#include "control/control_private.h"
#include "core/app.h"

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
	if (app_rolling(a))
		return COMING;
	return app_is_ready(a) ? READY : COMING;
}

/* Of all groups; group_out is one of those that stand worst, unless READY. */
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

/* Has the client told how it stands; true: there is more to wait for. */
static bool
tell_readiness(struct client *cl, const struct group *g, enum readiness r)
{
	switch (r) {
	case READY:
		client_tell(cl, "ready");
		return false;
	case FAILED:
		client_error(cl, "%s has failed: %s", g->conf->name,
		    g->last_failure[0] != '\0' ? g->last_failure
					       : "see the log");
		return false;
	case COMING:
		break;
	}
	return true;
}

static bool
must_wait(struct client *cl)
{
	const struct supervisor *s = cl->control->sup;
	const struct group *g = NULL;
	enum readiness r;

	if (s->stopping) {
		client_error(cl, "the daemon is stopping");
		return false;
	}
	if (cl->app == NULL) {
		r = all_readiness(s, &g);
		return tell_readiness(cl, g, r);
	}
	g = supervisor_group(s, cl->app);
	if (g == NULL) {
		client_error(cl, "no app %s any more", cl->app);
		return false;
	}
	return tell_readiness(cl, g, group_readiness(g));
}

void
command_wait(struct client *cl, char *const *args, tstamp now)
{
	struct control *c = cl->control;

	if (args[0] != NULL && !command_choose_app(cl, args[0]))
		return;
	if (!must_wait(cl))
		return;
	if (c->nwaiting >= c->max_waiting) {
		client_error(cl, "too many clients wait already");
		return;
	}
	cl->waits = WAIT_READY;
	c->wait_at = tstamp_min(c->wait_at, now + CONTROL_WAIT_STEP);
}

/* --- after a reload ----------------------------------------------------- */

static bool
is_rolling(const struct supervisor *s)
{
	for (uint32_t n = 0; n < s->pool.napps; n++)
		if (s->groups[n] != NULL && app_rolling(&s->pool.apps[n]))
			return true;
	return false;
}

bool
command_wait_rollout(struct client *cl)
{
	struct control *c = cl->control;

	if (!is_rolling(c->sup))
		return false;
	cl->waits = WAIT_ROLLOUT;
	c->wait_at =
	    tstamp_min(c->wait_at, loop_now(&c->sup->loop) + CONTROL_WAIT_STEP);
	return true;
}

/* Whether a rollout is under way; else tells what has not come of them. */
static bool
must_wait_rollout(struct client *cl)
{
	const struct supervisor *s = cl->control->sup;

	if (!s->stopping && is_rolling(s))
		return true;
	for (uint32_t n = 0; n < s->pool.napps; n++) {
		const struct group *g = s->groups[n];

		if (g == NULL || !app_gave_up_rollout(&s->pool.apps[n]))
			continue;
		client_error(cl,
		    "%s: the new generation does not live, the old one "
		    "stays: %s",
		    g->conf->name, g->given_up_for);
		return false;
	}
	return false;
}

/* --- looking ------------------------------------------------------------ */

static bool
must_wait_on(struct client *cl)
{
	return cl->waits == WAIT_ROLLOUT ? must_wait_rollout(cl)
					 : must_wait(cl);
}

tstamp
command_look(struct control *c, tstamp now)
{
	struct client *cl, *next;
	bool left = false;

	TAILQ_FOREACH_SAFE(cl, &c->clients, next, next) {
		if (cl->state != CLIENT_WAITING ||
		    (cl->waits != WAIT_READY && cl->waits != WAIT_ROLLOUT))
			continue;
		if (must_wait_on(cl)) {
			left = true;
			continue;
		}
		cl->waits = WAIT_NOTHING;
		client_answer(cl, now);
	}
	return left ? now + CONTROL_WAIT_STEP : TSTAMP_NEVER;
}
