/* The place of an app's template: which one has it, and what comes next. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/seat.h"
#include "daemon/tell.h"

/* Starts that waited for a template may go on. */
static void
wake(struct group *g, tstamp now)
{
	if (!TAILQ_EMPTY(&g->queued))
		timer_advance(&g->sup->loop.timers, &g->start_rest, now);
}

/* --- what becomes of a template ------------------------------------------ */

/* Once; a start without it fails likewise, and tells. */
static void
tell_failure(struct app_template *t, bool current, const char *text)
{
	struct seat *seat = t->group->seat;
	bool tell = !seat->told && !t->unstarted;
	char pid[32] = "";

	if (t->pid != 0)
		(void)snprintf(pid, sizeof(pid), " (pid %ld)", (long)t->pid);

	seat->told = true;
	tell_app(t->group, tell ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG,
	    EVENT_FAILURE, NULL, "template %s%s %s%s", t->id, pid, text,
	    current ? ": processes are started without it" : "");
}

/* The next one is started later, as after failures of workers. */
static void
count_failure(struct app_template *t, const char *text, tstamp now)
{
	struct seat *seat = t->group->seat;
	const struct conf_app *conf = t->group->conf;

	(void)snprintf(seat->failure, sizeof(seat->failure), "%s", text);
	seat->failures++;
	if (t->from[0] != '\0')
		seat->refork_at = tstamp_add(now, conf->restart_delay_max);
	if (t->from[0] != '\0' && seat->current != NULL)
		return;
	seat->failed = true;
	if (now - t->born >= conf->min_server_life)
		backoff_reset(&seat->backoff);
	backoff_failed(&seat->backoff, t->born, conf->restart_delay,
	    conf->restart_delay_max, &seat->prng, now);
	timer_set(&t->sup->loop.timers, &seat->timer, seat->backoff.until);
}

static void
failed(struct app_template *t, const char *text, tstamp now)
{
	struct seat *seat = t->group->seat;
	bool current = seat->current == t || seat->current == NULL;

	tell_failure(t, current, text);
	if (seat->current == t)
		seat->current = NULL;
	if (seat->coming == t)
		seat->coming = NULL;
	count_failure(t, text, now);
	wake(t->group, now);
}

/* Workers of older templates leave, one after the other, for new ones. */
static void
replace_workers(struct app_template *t, tstamp now)
{
	struct supervisor *s = t->sup;

	for (uint32_t n = 0; n < s->pool.nprocesses; n++) {
		struct worker *w = s->workers[n];

		/* Pages that it has loaded are shared with the template. */
		if (w != NULL && w->group == t->group &&
		    strcmp(w->id, t->from) != 0)
			pool_replace(&s->pool, n, now);
	}
}

static void
ready(struct app_template *t, tstamp now)
{
	struct seat *seat = t->group->seat;
	struct app_template *former = seat->current;

	seat->coming = NULL;
	seat->current = t;
	seat->forks_before = t->sup->fork_serial;
	tell_app(t->group, LOG_LEVEL_INFO,
	    seat->told ? EVENT_RECOVERY : EVENT_READY, NULL,
	    "template %s (pid %ld) is ready after %.3f s%s%s", t->id,
	    (long)t->pid, tspan_to_seconds(now - t->born),
	    t->from[0] == '\0' ? "" : ", forked by worker ", t->from);
	seat->told = false;
	if (former != NULL)
		template_leave(former, false, now);
	if (t->from[0] != '\0')
		replace_workers(t, now);
	wake(t->group, now);
}

const struct template_ops seat_ops = {
	.ready = ready,
	.failed = failed,
};

void
seat_blame(struct group *g, uint64_t fork_serial, const char *why, tstamp now)
{
	struct seat *seat = g->seat;

	if (seat != NULL && seat->current != NULL &&
	    fork_serial > seat->forks_before)
		template_fail(seat->current, now, "is killed: %s", why);
}

/* --- the app ------------------------------------------------------------- */

struct app_template *
seat_template(const struct group *g, uint32_t generation)
{
	struct app_template *t = g->seat == NULL ? NULL : g->seat->current;

	if (t == NULL || t->silent || g->seat->generation != generation)
		return NULL;
	/* A template whose output is not read would end by that. */
	if (g->conf->output == CONF_OUTPUT_LOG && t->output.keeper == NULL)
		return NULL;
	return t;
}

bool
seat_is_awaited(const struct group *g)
{
	const struct seat *seat = g->seat;

	return seat != NULL && seat->coming != NULL && seat->current == NULL &&
	    !seat->failed;
}

static void
dismiss(struct app_template **place, tstamp now)
{
	struct app_template *t = *place;

	*place = NULL;
	if (t != NULL)
		template_leave(t, false, now);
}

void
seat_end(struct group *g, tstamp now)
{
	struct seat *seat = g->seat;

	if (seat == NULL)
		return;
	timer_set(&g->sup->loop.timers, &seat->timer, TSTAMP_NEVER);
	seat->begun = false;
	dismiss(&seat->coming, now);
	dismiss(&seat->current, now);
	wake(g, now);
}

/* Starts a template by itself. */
static void
begin(struct group *g, tstamp now)
{
	struct seat *seat = g->seat;

	seat->begun = true;
	seat->coming = template_start(g, &seat_ops, now);
	if (seat->coming != NULL)
		return;
	/* There is no room. */
	seat->failed = true;
	seat->backoff.until = tstamp_add(now, g->conf->restart_delay);
	timer_set(&g->sup->loop.timers, &seat->timer, seat->backoff.until);
}

/* Begins anew, for another generation. */
static void
succeed(struct group *g, uint32_t generation, tstamp now)
{
	struct seat *seat = g->seat;

	seat_end(g, now);
	seat->generation = generation;
	seat->failed = false;
	seat->refork_at = now;
	backoff_reset(&seat->backoff);
	begin(g, now);
}

/* Begins if the pause after a failure is over, or else then. */
static void
try_again(struct group *g, tstamp now)
{
	struct seat *seat = g->seat;

	if (now >= seat->backoff.until)
		begin(g, now);
	else
		timer_set(
		    &g->sup->loop.timers, &seat->timer, seat->backoff.until);
}

void
seat_update(struct group *g, tstamp now)
{
	struct seat *seat = g->seat;
	uint32_t generation = g->sup->pool.apps[g->app].generation;

	if (seat == NULL)
		return;
	if (g->closing || g->muted || g->stopped || g->conf->broken != NULL)
		seat_end(g, now);
	else if (!seat->begun || seat->generation != generation)
		succeed(g, generation, now);
	else if (seat->current == NULL && seat->coming == NULL)
		try_again(g, now);
	else if (seat->current != NULL && !seat->current->silent &&
	    seat_template(g, generation) == NULL)
		template_fail(seat->current, now, "has lost its keeper");
}

static void
update_later(struct timer *timer, tstamp now)
{
	struct seat *seat = TIMER_OWNER(timer, struct seat, timer);

	seat_update(seat->group, now);
}

bool
seat_configure(struct group *g, tstamp now)
{
	struct seat *seat = g->seat;

	if (!g->conf->template) {
		seat_forget(g, now);
		return true;
	}
	if (seat == NULL) {
		seat = calloc(1, sizeof(*seat));
		if (seat == NULL)
			return false;
		seat->group = g;
		seat->prng.state = arc4random();
		timer_init(&seat->timer, update_later);
		g->seat = seat;
	}
	/* In this turn its listeners are opened. */
	timer_advance(&g->sup->loop.timers, &seat->timer, now);
	return true;
}

void
seat_forget(struct group *g, tstamp now)
{
	if (g->seat == NULL)
		return;
	seat_end(g, now);
	template_orphan(g);
	free(g->seat);
	g->seat = NULL;
}

const char *
seat_state_name(const struct seat *seat)
{
	if (seat->current != NULL)
		return "ready";
	if (seat->coming != NULL)
		return "starting";
	return seat->failed ? "failed" : "none";
}
