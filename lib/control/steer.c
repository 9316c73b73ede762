/* The commands that steer apps and workers, and what they are about. */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/room.h"
#include "sys/number.h"

/* The longest line of reasons. */
#define REASONS_MAX 4096

/* --- apps and workers by name ------------------------------------------- */

struct group *
target_lookup(const struct supervisor *s, const char *name)
{
	struct group *g = NULL, *found = NULL;

	/* An app that has left the configuration may still have work to do. */
	while ((g = group_next(s, g)) != NULL)
		if (strcmp(g->conf->name, name) == 0 &&
		    (found == NULL || !g->closing))
			found = g;
	return found;
}

/*
 * The app that a word names, or a worker of it, *worker_out, else NULL. Apps
 * come first: a name may be that of a worker, too.
 */
static struct group *
target_find(const struct supervisor *s, const char *word,
    const struct worker **worker_out)
{
	struct group *g = target_lookup(s, word);

	*worker_out = NULL;
	for (uint32_t n = 0; n < s->pool.nprocesses && g == NULL; n++)
		if (s->workers[n] != NULL &&
		    strcmp(s->workers[n]->id, word) == 0) {
			*worker_out = s->workers[n];
			g = s->workers[n]->group;
		}
	return g;
}

void
target_none(struct client *cl, const char *what, const char *name)
{
	const struct supervisor *s = cl->all->sup;
	const char **names, *nearest = NULL;
	const struct group *g = NULL;
	size_t len = 0;

	names = calloc((size_t)s->pool.napps + 1, sizeof(*names));
	while (names != NULL && (g = group_next(s, g)) != NULL)
		names[len++] = g->conf->name;
	if (names != NULL)
		nearest = suggest_nearest(name, names);
	if (nearest == NULL)
		client_error(cl, "no %s %.128s", what, name);
	else
		client_error(
		    cl, "no %s %.128s; is %.128s meant?", what, name, nearest);
	free(names);
}

const struct group *
target_subject(const struct supervisor *s, char *const *words)
{
	const struct group *subject = NULL;

	for (; *words != NULL; words++) {
		const struct worker *w;
		const struct group *g = target_find(s, *words, &w);

		if (g != NULL && subject != NULL && g != subject)
			return NULL;
		if (g != NULL)
			subject = g;
	}
	return subject;
}

/* --- targets ------------------------------------------------------------ */

static void
add_target(struct targets *all, const struct group *g, const struct worker *w)
{
	const struct pool *p = &g->sup->pool;
	struct target *t = &all->list[all->len];
	uint32_t process = w == NULL ? ILIST_NONE : w->process;

	for (size_t i = 0; i < all->len; i++)
		if (all->list[i].app == g->app &&
		    all->list[i].process == process)
			return;
	t->app = g->app;
	t->app_stamp = p->apps[g->app].stamp;
	t->process = process;
	(void)snprintf(t->name, sizeof(t->name), "%s", g->conf->name);
	if (w != NULL) {
		t->stamp = p->processes[process].stamp;
		t->pid = w->pid;
		memcpy(t->id, w->id, sizeof(t->id));
	}
	all->len++;
}

/*
 * Sets the targets of the client: the apps and workers of these words, each
 * once; without a word all apps that run. False: it was told what is wrong.
 */
static bool
target_choose(struct client *cl, char *const *words)
{
	const struct supervisor *s = cl->all->sup;
	const size_t most = *words == NULL ? s->pool.napps : COMMAND_WORDS_MAX;
	const struct group *g = NULL;

	cl->targets =
	    calloc(1, sizeof(*cl->targets) + most * sizeof(struct target));
	if (cl->targets == NULL) {
		client_error(cl, "%s", strerror(ENOMEM));
		return false;
	}
	while (*words == NULL && (g = group_next(s, g)) != NULL)
		if (s->pool.apps[g->app].phase == APP_RUNNING)
			add_target(cl->targets, g, NULL);
	for (; *words != NULL; words++) {
		const struct worker *w;

		g = target_find(s, *words, &w);
		if (g == NULL)
			target_none(cl, "app or worker", *words);
		else if (g->closing)
			client_error(cl, "%.128s is being removed", *words);
		if (g == NULL || g->closing)
			return false;
		add_target(cl->targets, g, w);
	}
	return true;
}

/* The app of a target; NULL: it is gone. */
static const struct app *
target_app(const struct supervisor *s, const struct target *t)
{
	const struct app *a = &s->pool.apps[t->app];

	return a->stamp == t->app_stamp && s->groups[t->app] != NULL ? a : NULL;
}

/* The process of it; NULL likewise. */
static const struct process *
target_process(const struct supervisor *s, const struct target *t)
{
	const struct process *x = &s->pool.processes[t->process];

	return x->stamp == t->stamp && x->state != PROCESS_GONE ? x : NULL;
}

/* --- the app of a command ----------------------------------------------- */

/* The app that the client has chosen; NULL: it leaves, and was told so. */
static const struct app *
chosen_app(struct client *cl)
{
	const struct target *t = &cl->targets->list[0];
	const struct app *a = target_app(cl->all->sup, t);

	if (cl->all->sup->stopping)
		client_error(cl, "the daemon is stopping");
	else if (a == NULL)
		client_error(cl, "%s is gone", t->name);
	else if (a->phase >= APP_CLOSING)
		client_error(cl, "%s is being removed", t->name);
	else
		return a;
	return NULL;
}

/* --- restart ------------------------------------------------------------ */

enum fate {
	FATE_COMING,
	FATE_DONE,
	FATE_FAILED,
};

/* How the restart of a target stands; why it failed is added to the line. */
static enum fate
fate_of(const struct supervisor *s, const struct target *t, struct text *line)
{
	const struct app *a = target_app(s, t);
	const struct group *g = s->groups[t->app];
	const bool whole = t->process == ILIST_NONE;
	const struct process *x = whole ? NULL : target_process(s, t);
	char why[GROUP_FAILURE_MAX];

	if (a == NULL)
		text_printf(line, "%s is gone; ", t->name);
	else if (a->phase != APP_RUNNING)
		text_printf(line, "%s is %s; ", t->name, app_state_name(a));
	else if (!whole && (x == NULL || x->asked))
		return FATE_DONE;
	else if ((!whole && x->outdated != 0) || wait_is_rolling(a))
		return FATE_COMING;
	else if (a->failed)
		text_printf(line, "%s has failed: %s; ", t->name,
		    group_failure(g, why));
	else if (!whole)
		text_printf(line,
		    "%s: the successor of worker %s fails, the worker stays: "
		    "%s; ",
		    t->name, t->id, g->given_up.why);
	else if (a->rollout.state == ROLLOUT_GIVEN_UP)
		text_printf(line, GIVEN_UP "; ", t->name, g->given_up.why);
	else
		return app_is_ready(a) ? FATE_DONE : FATE_COMING;
	return FATE_FAILED;
}

/* The end of each answer to `rollback`. */
#define ROLLED_BACK_MORE \
	"; the next reload brings what the file says: correct it first"

/* Tells what has been restarted, an app, a worker, or several; and what not. */
static bool
restart_goes_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	const struct targets *all = cl->targets;
	struct progress ready = { .what = "ready" };
	const struct target *first = &all->list[0];
	char count[40] = "";
	bool coming = false, back = cl->id == COMMAND_ROLLBACK;
	size_t failed = 0;
	struct text reasons;

	out->what = "replaced";
	text_init(&reasons, REASONS_MAX);
	for (size_t i = 0; i < all->len; i++) {
		const struct target *t = &all->list[i];
		const struct app *a = target_app(s, t);
		enum fate fate = fate_of(s, t, &reasons);
		uint32_t left = 0;

		coming |= fate == FATE_COMING;
		failed += fate == FATE_FAILED;
		if (fate != FATE_DONE && a != NULL)
			left = t->process == ILIST_NONE ? a->outdated : t->of;
		out->done += left < t->of ? t->of - left : 0;
		out->of += t->of;
		if (a == NULL)
			continue;
		ready.done += app_ready(a);
		ready.of += a->options.min_processes;
	}
	/* With none to be replaced, those of the minimum are awaited. */
	if (coming && out->of == 0)
		*out = ready;
	if (out->done > 0)
		(void)snprintf(count, sizeof(count),
		    ", %" PRIu32 " process%s replaced", out->done,
		    out->done == 1 ? "" : "es");
	if (!coming && failed == 0 && all->len == 1 &&
	    first->process != ILIST_NONE)
		client_tell(cl, "%s: worker %s (pid %d) replaced", first->name,
		    first->id, (int)first->pid);
	else if (!coming && (failed < all->len || all->len == 0))
		client_tell(cl, "%s%s%s%s%s", all->len == 1 ? first->name : "",
		    all->len == 1 ? ": " : "",
		    back ? "rolled back" : "restarted", count,
		    back ? ROLLED_BACK_MORE : "");
	if (!coming && failed > 0)
		client_error(cl, "%.*s",
		    reasons.len > 2 ? (int)reasons.len - 2 : 0, reasons.data);
	text_fini(&reasons);
	return coming;
}

static bool
steer_rollback(struct client *cl, struct group *g, tstamp now)
{
	const struct app *a = &g->sup->pool.apps[g->app];
	bool canary;

	if (a->phase != APP_RUNNING) {
		client_error(cl, "%s is %s", g->conf->name, app_state_name(a));
	} else if (!group_roll_back(g, now)) {
		client_error(cl,
		    "%s: there is nothing to go back to: no reload since the "
		    "start, or since the latest rollback, has replaced its "
		    "processes at the same addresses",
		    g->conf->name);
	} else {
		canary = a->rollout.canary.processes > 0;
		/* The clients of a rollout that is under way learn of it. */
		if (app_rolling(a)) {
			g->given_up.at = now;
			(void)strlcpy(g->given_up.why, GROUP_ROLLED_BACK,
			    sizeof(g->given_up.why));
		}
		tell_app(g, LOG_LEVEL_INFO, EVENT_RESTART, NULL,
		    "rolled back to what it was before the latest reload");
		pool_app_roll_back(&g->sup->pool, g->app, now);
		if (canary)
			client_tell(cl,
			    "%s: rolled back, the new processes leave" ROLLED_BACK_MORE,
			    g->conf->name);
		cl->targets->list[0].of = a->outdated;
		return !canary;
	}
	return false;
}

static bool
steer_restart(struct client *cl, struct group *g, tstamp now)
{
	struct pool *p = &cl->all->sup->pool;

	(void)g;
	for (size_t i = 0; i < cl->targets->len; i++) {
		const struct target *t = &cl->targets->list[i];
		const struct app *a = &p->apps[t->app];

		if (a->phase == APP_RUNNING)
			continue;
		client_error(cl, "%s is %s", t->name, app_state_name(a));
		return false;
	}
	for (size_t i = 0; i < cl->targets->len; i++) {
		struct target *t = &cl->targets->list[i];

		if (t->process == ILIST_NONE) {
			pool_app_restart(p, t->app, now);
			t->of = p->apps[t->app].outdated;
		} else {
			pool_replace(p, t->process, now);
			t->of = 1;
		}
	}
	return true;
}

/* --- detach ------------------------------------------------------------- */

static bool
detach_goes_on(struct client *cl, struct progress *out)
{
	const struct target *t = &cl->targets->list[0];
	const struct process *x = target_process(cl->all->sup, t);
	char with[40] = "";

	if (x != NULL && x->stuck) {
		client_error(cl,
		    "%s: worker %s (pid %d) is detached, and is still there "
		    "after SIGKILL",
		    t->name, t->id, (int)t->pid);
		return false;
	}
	if (x != NULL) {
		if (x->conns.count <= t->of)
			out->done = t->of - x->conns.count;
		out->of = t->of;
		out->what = t->of == 1 ? "session ended" : "sessions ended";
		return true;
	}
	if (t->of > 0)
		(void)snprintf(with, sizeof(with),
		    " with %" PRIu32 " session%s", t->of,
		    t->of == 1 ? "" : "s");
	client_tell(cl, "%s: worker %s (pid %d) detached%s; it has ended",
	    t->name, t->id, (int)t->pid, with);
	return false;
}

static bool
steer_detach(struct client *cl, struct group *g, tstamp now)
{
	struct pool *p = &cl->all->sup->pool;
	struct target *t = &cl->targets->list[0];
	const struct process *x;

	(void)g;
	if (t->process == ILIST_NONE) {
		client_error(cl,
		    "%s is an app: detach takes the identifier of a worker, "
		    "which status %s shows",
		    t->name, t->name);
		return false;
	}
	x = &p->processes[t->process];
	if (x->asked || x->state == PROCESS_DYING) {
		client_error(cl, "%s: worker %s is leaving already (%s)",
		    t->name, t->id, process_state_names[x->state]);
		return false;
	}
	t->of = x->conns.count;
	pool_detach(p, t->process, now);
	return true;
}

/* --- resize ------------------------------------------------------------- */

static bool
resize_goes_on(struct client *cl, struct progress *out)
{
	struct target *t = &cl->targets->list[0];
	const struct app *a = chosen_app(cl);
	const struct group *g = cl->all->sup->groups[t->app];
	char now[SIZE_TEXT], file[SIZE_TEXT], why[GROUP_FAILURE_MAX];
	uint32_t n, max;

	if (a == NULL)
		return false;
	n = app_processes(a);
	max = a->options.max_processes;
	if (n > t->of)
		t->of = n;
	if (a->failed) {
		client_error(cl, "%s is resized, and has failed: %s", t->name,
		    group_failure(g, why));
		return false;
	}
	if (a->phase == APP_RUNNING && n > max) {
		*out = (struct progress){ t->of - n, t->of - max, "stopped" };
		return true;
	}
	if (a->phase == APP_RUNNING && !app_is_ready(a)) {
		*out = (struct progress){ app_ready(a),
			a->options.min_processes, "ready" };
		return true;
	}
	(void)size_format(
	    (struct group_size){ a->options.min_processes, max }, now);
	client_tell(cl, "%s: %s, %" PRIu32 " now; %s%s", t->name, now, n,
	    g->size.set ? "the file says " : "as the file says",
	    g->size.set ? size_format(g->size.of_file, file) : "");
	return false;
}

static bool
steer_resize(struct client *cl, struct group *g, tstamp now)
{
	char why[SIZE_WHY];
	uint64_t size[2];

	for (int i = 0; i < 2; i++) {
		const char *word = cl->said.words[2 + i];

		if (number_parse(word, strlen(word), &size[i]) &&
		    size[i] <= CONF_PROCESSES_MAX)
			continue;
		client_error(cl,
		    "%s is no number of processes, from 0 to %u: resize APP "
		    "MIN MAX",
		    word, CONF_PROCESSES_MAX);
		return false;
	}
	if (size_set(g, (uint32_t)size[0], (uint32_t)size[1], why, now))
		return true;
	client_error(cl, "%s: %s", g->conf->name, why);
	return false;
}

/* --- drain and stop ----------------------------------------------------- */

static bool
hold_goes_on(struct client *cl, struct progress *out)
{
	struct target *t = &cl->targets->list[0];
	const struct app *a = chosen_app(cl);
	const struct group *g = cl->all->sup->groups[t->app];
	char ended[40] = "", stuck[64] = "";
	uint32_t n;

	if (a == NULL)
		return false;
	if (a->phase == APP_RUNNING && a->leaving.soon == 0) {
		client_error(cl, "%s runs again", t->name);
		return false;
	}
	/* Processes may be started for what waits. */
	if (app_living(a) > t->of)
		t->of = app_living(a);
	if (a->phase == APP_RUNNING) {
		out->of = (uint32_t)(g->conf->close_delay / TSPAN_SECONDS(1));
		out->done = out->of -
		    (uint32_t)((g->hold.close.at - loop_now(&g->sup->loop)) /
			TSPAN_SECONDS(1));
		out->what = "seconds of close_delay over";
		return true;
	}
	if (!a->leaving.at_rest) {
		*out =
		    (struct progress){ t->of - app_living(a), t->of, "ended" };
		return true;
	}
	n = t->of - a->stuck;
	if (n > 0)
		(void)snprintf(ended, sizeof(ended),
		    ", %" PRIu32 " process%s ended", n, n == 1 ? "" : "es");
	if (a->stuck > 0)
		(void)snprintf(stuck, sizeof(stuck),
		    ", %" PRIu32 " still there after SIGKILL", a->stuck);
	client_tell(cl, "%s: %s%s%s", t->name, app_state_name(a), ended, stuck);
	return false;
}

/* An app that is drained already is waited for. */
static bool
steer_hold(struct client *cl, struct group *g, tstamp now)
{
	const struct app *a = &g->sup->pool.apps[g->app];
	const enum process_end why =
	    cl->id == COMMAND_DRAIN ? END_DRAINED : END_STOPPED;

	if (why == END_STOPPED ||
	    (a->phase == APP_RUNNING && a->leaving.soon != END_STOPPED)) {
		hold_begin(g, why, now);
	} else if (a->phase == APP_RUNNING || a->leaving.why != why) {
		client_error(cl, "%s is %s", g->conf->name, app_state_name(a));
		return false;
	}
	return true;
}

/* --- resume and start --------------------------------------------------- */

static bool
run_goes_on(struct client *cl, struct progress *out)
{
	const struct target *t = &cl->targets->list[0];
	const struct app *a = chosen_app(cl);
	const struct group *g = cl->all->sup->groups[t->app];
	char why[GROUP_FAILURE_MAX];

	if (a == NULL)
		return false;
	if (g->hold.stopped && g->hold.starting != NULL)
		return true;
	if (g->hold.stopped && g->hold.error != 0) {
		client_error(cl,
		    "%s stays stopped, it cannot listen: %s; see the log",
		    t->name, strerror(g->hold.error));
	} else if (a->phase != APP_RUNNING) {
		client_error(cl, "%s is %s", t->name, app_state_name(a));
	} else if (a->failed) {
		client_error(
		    cl, "%s has failed: %s", t->name, group_failure(g, why));
	} else if (app_is_ready(a)) {
		client_tell(cl, "%s: running, %" PRIu32 " process%s ready",
		    t->name, app_ready(a), app_ready(a) == 1 ? "" : "es");
	} else {
		*out = (struct progress){ app_ready(a),
			a->options.min_processes, "ready" };
		return true;
	}
	return false;
}

/* An app that was held for this reason runs again, or does already. */
static bool
steer_resume(struct client *cl, struct group *g, tstamp now)
{
	const bool resume = cl->id == COMMAND_RESUME;
	const enum process_end why = resume ? END_DRAINED : END_STOPPED;
	const bool soon = g->hold.close.at != TSTAMP_NEVER;

	if (soon         ? g->hold.why != why
		: resume ? g->hold.stopped
			 : g->hold.muted) {
		client_error(cl, "%s is %s, and not %s: %s has it run again",
		    g->conf->name, app_state_name(&g->sup->pool.apps[g->app]),
		    process_end_names[why], resume ? "start" : "resume");
		return false;
	}
	if (g->hold.stopped && !g->drained) {
		client_error(cl,
		    "%s still serves what is in the backlog of its listeners: "
		    "try again when it does not",
		    g->conf->name);
		return false;
	}
	if (g->hold.stopped || g->hold.muted || soon)
		hold_resume(g, now);
	return true;
}

void
steer_run(struct client *cl)
{
	/*
	 * A command is for one app, whose name comes first, or for targets.
	 * True: the client waits as long as goes_on says so.
	 */
	static const struct {
		bool (*goes_on)(struct client *, struct progress *);
		bool (*begin)(struct client *, struct group *, tstamp);
		bool targets; /* and no group */
	} steers[COMMANDS] = {
		[COMMAND_DETACH] = { detach_goes_on, steer_detach, true },
		[COMMAND_DRAIN] = { hold_goes_on, steer_hold, false },
		[COMMAND_RESIZE] = { resize_goes_on, steer_resize, false },
		[COMMAND_RESTART] = { restart_goes_on, steer_restart, true },
		[COMMAND_RESUME] = { run_goes_on, steer_resume, false },
		[COMMAND_ROLLBACK] = { restart_goes_on, steer_rollback, false },
		[COMMAND_START] = { run_goes_on, steer_resume, false },
		[COMMAND_STOP] = { hold_goes_on, steer_hold, false },
	};
	const bool targets = steers[cl->id].targets;
	char **words = cl->said.words + 1;
	char *const name[] = { words[0], NULL };
	struct supervisor *s = cl->all->sup;
	const struct target *t;

	assert(steers[cl->id].begin != NULL);
	if (cl->again) {
		cl->waits = WAIT_APPS;
		cl->goes_on = steers[cl->id].goes_on;
		return;
	}
	if (s->stopping)
		client_error(cl, "the daemon is stopping");
	if (s->stopping || !client_may_wait(cl) ||
	    !target_choose(cl, targets ? words : name))
		return;
	t = cl->targets->list;
	if (!targets && t->process != ILIST_NONE)
		client_error(cl, "%s is a worker of %s; this takes an app",
		    words[0], t->name);
	else if (steers[cl->id].begin(cl, targets ? NULL : s->groups[t->app],
		     loop_now(&s->loop)))
		client_wait_while(cl, steers[cl->id].goes_on);
}
