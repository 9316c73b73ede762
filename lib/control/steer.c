/* The commands that steer apps and workers. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/steer.h"
#include "control/target.h"
#include "control/wait.h"
#include "daemon/size.h"
#include "sys/number.h"

/* The longest line of reasons. */
#define REASONS_MAX 4096

/* The fate of a target. */
enum outcome {
	OUTCOME_COMING,
	OUTCOME_DONE,
	OUTCOME_FAILED,
};

/* Whether the client may have something done that takes a while. */
static bool
may_begin(struct client *cl)
{
	if (cl->all->sup->stopping) {
		client_error(cl, "the daemon is stopping");
		return false;
	}
	return client_may_wait(cl);
}

/* Sets the targets of the client; false: it was told why not. */
static bool
choose(struct client *cl, char *const *words)
{
	char why[TARGET_WHY];

	if (!may_begin(cl))
		return false;
	cl->targets = target_find(cl->all->sup, words, why);
	if (cl->targets == NULL)
		client_error(cl, "%s", why);
	return cl->targets != NULL;
}

bool
steer_choose_app(struct client *cl, char *name)
{
	char *const words[] = { name, NULL };

	if (!choose(cl, words))
		return false;
	if (cl->targets->list[0].process == ILIST_NONE)
		return true;
	client_error(cl, "%s is a worker of %s; this takes an app", name,
	    cl->targets->list[0].name);
	return false;
}

const struct app *
steer_app(struct client *cl)
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

/* Why a rollout was given up is known when its news have been told. */
static bool
is_rolling(const struct app *a)
{
	return app_rolling(a) || (a->news & 1u << NEWS_GIVEN_UP) != 0;
}

static enum outcome
app_restarted(const struct app *a)
{
	if (is_rolling(a))
		return OUTCOME_COMING;
	if (a->rollout == ROLLOUT_GIVEN_UP || app_has_failed(a))
		return OUTCOME_FAILED;
	return app_is_ready(a) ? OUTCOME_DONE : OUTCOME_COMING;
}

static enum outcome
restarted(const struct supervisor *s, const struct target *t)
{
	const struct app *a = target_app(s, t);
	const struct process *x;

	if (a == NULL || a->phase != APP_RUNNING)
		return OUTCOME_FAILED;
	if (t->process == ILIST_NONE)
		return app_restarted(a);
	x = target_process(s, t);
	if (x == NULL || x->asked)
		return OUTCOME_DONE;
	return x->outdated != 0 || is_rolling(a) ? OUTCOME_COMING
						 : OUTCOME_FAILED;
}

static void
count_replaced(
    const struct supervisor *s, const struct target *t, struct progress *sum)
{
	const struct app *a = target_app(s, t);
	uint32_t left = 0;

	if (restarted(s, t) != OUTCOME_DONE && a != NULL)
		left = t->process == ILIST_NONE ? a->outdated : t->of;
	sum->done += left < t->of ? t->of - left : 0;
	sum->of += t->of;
	sum->what = "replaced";
}

/* Adds why the target was not restarted to a line. */
static void
explain_restart(
    const struct supervisor *s, const struct target *t, struct text *line)
{
	const struct app *a = target_app(s, t);
	const struct group *g = s->groups[t->app];
	char why[GROUP_FAILURE_MAX];

	if (line->len > 0)
		text_puts(line, "; ");
	if (a == NULL)
		text_printf(line, "%s is gone", t->name);
	else if (a->phase != APP_RUNNING)
		text_printf(line, "%s is %s", t->name, app_state_name(a));
	else if (app_has_failed(a))
		text_printf(
		    line, "%s has failed: %s", t->name, group_failure(g, why));
	else if (t->process == ILIST_NONE)
		text_printf(line,
		    "%s: the new generation does not live, the old one stays: "
		    "%s",
		    t->name, g->given_up_for);
	else
		text_printf(line,
		    "%s: the successor of worker %s does not live, the worker "
		    "stays: %s",
		    t->name, t->id, g->given_up_for);
}

/* Tells what has been restarted: an app, a worker, or several. */
static void
tell_replaced(struct client *cl, uint32_t n)
{
	const struct targets *all = cl->targets;
	const struct target *t = &all->list[0];
	char count[40] = "";

	if (all->len == 1 && t->process != ILIST_NONE) {
		client_tell(cl, "%s: worker %s (pid %d) replaced", t->name,
		    t->id, (int)t->pid);
		return;
	}
	if (n > 0)
		(void)snprintf(count, sizeof(count),
		    ", %" PRIu32 " process%s replaced", n, n == 1 ? "" : "es");
	client_tell(cl, "%s%srestarted%s", all->len == 1 ? t->name : "",
	    all->len == 1 ? ": " : "", count);
}

static void
tell_restarted(struct client *cl, uint32_t replaced)
{
	const struct targets *all = cl->targets;
	struct text reasons;
	size_t failed = 0;

	text_init(&reasons, REASONS_MAX);
	for (size_t i = 0; i < all->len; i++) {
		if (restarted(cl->all->sup, &all->list[i]) != OUTCOME_FAILED)
			continue;
		explain_restart(cl->all->sup, &all->list[i], &reasons);
		failed++;
	}
	if (failed < all->len || all->len == 0)
		tell_replaced(cl, replaced);
	if (failed > 0)
		client_error(cl, "%.*s", (int)reasons.len, reasons.data);
	text_fini(&reasons);
}

/* Where no process was to be replaced, those of the minimum are waited for. */
static void
count_ready(
    const struct supervisor *s, const struct targets *all, struct progress *sum)
{
	for (size_t i = 0; i < all->len; i++) {
		const struct app *a = target_app(s, &all->list[i]);

		if (a == NULL)
			continue;
		sum->done += app_ready(a);
		sum->of += a->options.min_processes;
	}
	sum->what = "ready";
}

static bool
restart_goes_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	const struct targets *all = cl->targets;
	bool coming = false;

	for (size_t i = 0; i < all->len; i++) {
		coming |= restarted(s, &all->list[i]) == OUTCOME_COMING;
		count_replaced(s, &all->list[i], out);
	}
	if (!coming)
		tell_restarted(cl, out->done);
	else if (out->of == 0)
		count_ready(s, all, out);
	return coming;
}

/* Whether the targets are of apps that run; else the client was told. */
static bool
all_run(struct client *cl)
{
	const struct pool *p = &cl->all->sup->pool;

	for (size_t i = 0; i < cl->targets->len; i++) {
		const struct target *t = &cl->targets->list[i];

		if (p->apps[t->app].phase == APP_RUNNING)
			continue;
		client_error(
		    cl, "%s is %s", t->name, app_state_name(&p->apps[t->app]));
		return false;
	}
	return true;
}

void
steer_restart(struct client *cl, char *const *words, tstamp now)
{
	struct pool *p = &cl->all->sup->pool;

	if (!choose(cl, words))
		return;
	if (!all_run(cl))
		return;
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
	wait_while(cl, restart_goes_on);
}

/* --- detach -------------------------------------------------------------- */

static void
tell_detached(struct client *cl, const struct target *t)
{
	char with[40] = "";

	if (t->of > 0)
		(void)snprintf(with, sizeof(with),
		    " with %" PRIu32 " session%s", t->of,
		    t->of == 1 ? "" : "s");
	client_tell(cl, "%s: worker %s (pid %d) detached%s; it has ended",
	    t->name, t->id, (int)t->pid, with);
}

static bool
detach_goes_on(struct client *cl, struct progress *out)
{
	const struct target *t = &cl->targets->list[0];
	const struct process *x = target_process(cl->all->sup, t);

	if (x == NULL) {
		tell_detached(cl, t);
		return false;
	}
	if (x->stuck) {
		client_error(cl,
		    "%s: worker %s (pid %d) is detached, and is still there "
		    "after SIGKILL",
		    t->name, t->id, (int)t->pid);
		return false;
	}
	if (process_sessions(x) <= t->of)
		out->done = t->of - process_sessions(x);
	out->of = t->of;
	out->what = t->of == 1 ? "session ended" : "sessions ended";
	return true;
}

void
steer_detach(struct client *cl, char *const *words, tstamp now)
{
	struct pool *p = &cl->all->sup->pool;
	const struct process *x;
	struct target *t;

	if (!choose(cl, words))
		return;
	t = &cl->targets->list[0];
	if (t->process == ILIST_NONE) {
		client_error(cl,
		    "%s is an app: detach takes the identifier of a worker, "
		    "which status %s shows",
		    t->name, t->name);
		return;
	}
	x = &p->processes[t->process];
	if (x->asked || x->state == PROCESS_DYING) {
		client_error(cl, "%s: worker %s is leaving already (%s)",
		    t->name, t->id,
		    process_state_name((enum process_state)x->state));
		return;
	}
	t->of = process_sessions(x);
	pool_detach(p, t->process, now);
	wait_while(cl, detach_goes_on);
}

/* --- resize -------------------------------------------------------------- */

static void
tell_resized(struct client *cl, const struct target *t)
{
	const struct app *a = &cl->all->sup->pool.apps[t->app];
	const struct group *g = cl->all->sup->groups[t->app];
	char now[SIZE_TEXT], file[SIZE_TEXT];

	(void)size_format((struct group_size){ a->options.min_processes,
			      a->options.max_processes },
	    now);
	client_tell(cl, "%s: %s, %" PRIu32 " now; %s%s", t->name, now,
	    app_processes(a),
	    g->resized ? "the file says " : "as the file says",
	    g->resized ? size_format(g->file_size, file) : "");
}

static bool
resize_goes_on(struct client *cl, struct progress *out)
{
	const struct supervisor *s = cl->all->sup;
	struct target *t = &cl->targets->list[0];
	const struct app *a = steer_app(cl);
	char why[GROUP_FAILURE_MAX];
	uint32_t n;

	if (a == NULL)
		return false;
	n = app_processes(a);
	if (n > t->of)
		t->of = n;
	if (app_has_failed(a)) {
		client_error(cl, "%s is resized, and has failed: %s", t->name,
		    group_failure(s->groups[t->app], why));
		return false;
	}
	if (a->phase == APP_RUNNING &&
	    (n > a->options.max_processes || !app_is_ready(a))) {
		*out = n > a->options.max_processes
		    ? (struct progress){ t->of - n,
			      t->of - a->options.max_processes, "stopped" }
		    : (struct progress){ app_ready(a), a->options.min_processes,
			      "ready" };
		return true;
	}
	tell_resized(cl, t);
	return false;
}

/* False: the word is no number of processes. */
static bool
read_size(struct client *cl, const char *word, uint32_t *out)
{
	uint64_t n;

	if (!number_parse(word, strlen(word), &n) || n > CONF_PROCESSES_MAX) {
		client_error(cl,
		    "%s is no number of processes, from 0 to %u: resize APP "
		    "MIN MAX",
		    word, CONF_PROCESSES_MAX);
		return false;
	}
	*out = (uint32_t)n;
	return true;
}

void
steer_resize(struct client *cl, char *const *words, tstamp now)
{
	struct supervisor *s = cl->all->sup;
	char why[SIZE_WHY];
	struct target *t;
	uint32_t min, max;

	if (!steer_choose_app(cl, words[0]) || !read_size(cl, words[1], &min) ||
	    !read_size(cl, words[2], &max))
		return;
	t = &cl->targets->list[0];
	if (!size_set(s->groups[t->app], min, max, why, now)) {
		client_error(cl, "%s: %s", t->name, why);
		return;
	}
	wait_while(cl, resize_goes_on);
}
