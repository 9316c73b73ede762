/* Answers that wait: until apps are ready, rollouts over, commands done. */

#include <sys/socket.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/room.h"
#include "daemon/group.h"
#include "daemon/listeners.h"
#include "daemon/restart_files.h"

/* Between two looks at what clients wait for, at least. */
#define LOOK_PAUSE TSPAN_MSECONDS(5)

/* --- looking ------------------------------------------------------------ */

/*
 * Whether the client has to wait on. If it wants to know how far things are, a
 * line tells it, which is taken whole or not at all: then the next will do.
 */
static bool
must_wait(struct client *cl)
{
	struct progress p = { 0 };
	char line[96];
	int len;

	if (!cl->goes_on(cl, &p))
		return false;
	if (!cl->watches || p.of == 0 || memcmp(&cl->shown, &p, sizeof(p)) == 0)
		return true;
	cl->shown = p;
	len = snprintf(line, sizeof(line),
	    "progress: %" PRIu32 " of %" PRIu32 " %s\n", p.done, p.of, p.what);
	(void)send(cl->io.fd, line, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return true;
}

void
wait_while(
    struct client *cl, bool (*goes_on)(struct client *, struct progress *out))
{
	cl->goes_on = goes_on;
	if (must_wait(cl) && client_may_wait(cl))
		cl->waits = WAIT_APPS;
}

/*
 * Whatever a client waits for comes about in a turn of the loop: so nothing has
 * to tell us of it, and while nothing happens nobody looks. Of a busy daemon's
 * many turns few are looked after; the timer sees to it that one comes.
 */
void
wait_turn(struct clients *all, tstamp now)
{
	struct client *cl, *next;

	all->worked = false;
	if (all->nwaiting == 0)
		return;
	if (now < all->looked + LOOK_PAUSE) {
		timer_advance(&all->sup->loop.timers, &all->wake,
		    all->looked + LOOK_PAUSE);
		return;
	}
	all->looked = now;
	TAILQ_FOREACH_SAFE(cl, &all->list, next, next) {
		if (cl->state != CLIENT_WAITING)
			continue;
		if (cl->waits == WAIT_EVENTS && follow_has_more(cl->follow)) {
			client_answer(cl, now);
		} else if (cl->waits == WAIT_APPS && !must_wait(cl)) {
			cl->waits = WAIT_NOTHING;
			client_answer(cl, now);
		}
	}
}

/* --- until apps are ready ----------------------------------------------- */

/*
 * Whether there is more to wait for of the app, whose processes that are ready
 * are counted; if not, the client is told if it has failed. An app that does
 * not run keeps no client that waits for all apps.
 */
static bool
group_goes_on(struct client *cl, const struct group *g, struct progress *sum)
{
	const struct app *a = &g->sup->pool.apps[g->app];
	const tstamp now = loop_now(&g->sup->loop);
	const uint32_t ready = app_ready(a), least = a->options.min_processes;
	char why[GROUP_FAILURE_MAX];

	if (a->phase != APP_RUNNING)
		return false;
	sum->done += ready < least ? ready : least;
	sum->of += least;
	sum->what = "ready";
	if (g->closing)
		return false;
	if (a->failed) {
		client_error(cl, "%s has failed: %s", g->conf->name,
		    group_failure(g, why));
		return false;
	}
	if (restart_files_are_awaited(g, now) || app_rolling(a))
		return true;
	if (backlog_wrong_port(g)[0] != '\0') {
		client_error(
		    cl, "%s: %s", g->conf->name, backlog_wrong_port(g));
		return false;
	}
	return !app_is_ready(a);
}

static bool
ready_goes_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	const struct group *g = NULL;
	bool goes_on = false;

	if (cl->app != NULL)
		g = target_lookup(s, cl->app);
	if (s->stopping)
		client_error(cl, "the daemon is stopping");
	else if (cl->app != NULL && g == NULL)
		client_error(cl, "no app %s any more", cl->app);
	else if (g != NULL && g->closing)
		client_error(cl, "%s is being removed", cl->app);
	else if (g != NULL && s->pool.apps[g->app].phase != APP_RUNNING)
		client_error(cl, "%s is %s", cl->app,
		    app_state_name(&s->pool.apps[g->app]));
	else if (g != NULL)
		goes_on = group_goes_on(cl, g, out);
	for (uint32_t n = 0; n < s->pool.napps && cl->app == NULL; n++)
		if (s->groups[n] != NULL && cl->out.len == 0)
			goes_on |= group_goes_on(cl, s->groups[n], out);
	if (cl->out.len > 0)
		return false;
	if (!goes_on)
		client_tell(cl, "ready");
	return goes_on;
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

/* Whether a rollout is under way; else tells which one was given up. */
static bool
rollouts_go_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	const struct group *given_up = NULL;
	bool rolls = false;

	out->what = "replaced";
	for (uint32_t n = 0; n < s->pool.napps; n++) {
		const struct app *a = &s->pool.apps[n];

		if (s->groups[n] == NULL)
			continue;
		rolls |= wait_is_rolling(a);
		if (a->rollout.state == ROLLOUT_GIVEN_UP && given_up == NULL)
			given_up = s->groups[n];
		if (app_rolling(a) && a->outdated <= a->rollout.size) {
			out->done += a->rollout.size - a->outdated;
			out->of += a->rollout.size;
		}
	}
	if (rolls && !s->stopping)
		return true;
	if (given_up != NULL)
		client_error(cl,
		    "%s: the new generation does not live, the old one "
		    "stays: %s",
		    given_up->conf->name, given_up->given_up.why);
	return false;
}

void
wait_until_rolled_out(struct client *cl)
{
	const struct supervisor *s = cl->all->sup;

	/* One that was given up before is none of this reload. */
	for (uint32_t n = 0; n < s->pool.napps; n++) {
		if (s->groups[n] == NULL || !wait_is_rolling(&s->pool.apps[n]))
			continue;
		wait_while(cl, rollouts_go_on);
		return;
	}
}
