/* The snapshot: all that the pool counts, of one instant. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/room.h"

/* Far above any piece: the last item may be an app with all its addresses. */
#define PIECE_MAX (1024 * 1024)

/* Far above the texts of 10,000 workers at their longest. */
#define STRINGS_MAX (64 * 1024 * 1024)

/* --- taking ------------------------------------------------------------- */

static size_t
keep_string(struct status *st, const char *s)
{
	size_t at = st->strings.len;

	if (s == NULL)
		return STATUS_NO_STRING;
	text_put(&st->strings, s, strlen(s) + 1);
	return at;
}

/* "" is none. */
static size_t
keep_reason(struct status *st, const char *reason)
{
	return keep_string(st, reason[0] == '\0' ? NULL : reason);
}

static void
take_auto(const struct status *st, bool is, const struct autosize *fit,
    uint32_t *has, struct status_auto *out)
{
	const struct autosize_box *box = &st->sup->autosize.box;

	if (!is)
		return;
	*has |= HAS_AUTO | (fit->size > 0 ? HAS_SIZE : 0) |
	    (fit->share > 0 ? HAS_SHARE : 0);
	*out = (struct status_auto){ box->memory, autosize_reserve(box),
		box->processors, *fit };
}

static void
take_daemon(struct status *st)
{
	const struct supervisor *s = st->sup;
	const struct counter_address *at;
	const struct group *g = NULL;

	st->version = APPPOOL_VERSION;
	st->pid = getpid();
	st->state = s->stopping ? "stopping" : "running";
	st->uptime = st->at - s->started;
	st->generation = s->generation;
	st->config = keep_string(st, s->config->file);
	st->max_processes = s->pool.max_processes;
	take_auto(
	    st, s->config->max_auto, &s->autosize.all, &st->has, &st->autosize);
	st->processes = s->pool.count;
	st->living = s->pool.living;
	while ((g = group_next(s, g)) != NULL) {
		st->active += s->pool.apps[g->app].in_state[PROCESS_ACTIVE];
		st->waiting += app_waiting(&s->pool.apps[g->app]) +
		    (uint32_t)g->backlog.depth;
	}

	if (!poolcounter_figures(s, &st->counter))
		return;
	st->has |= HAS_COUNTER;
	st->counter_listen = st->strings.len;
	for (size_t i = 0; (at = poolcounter_address(s, i)) != NULL; i++)
		(void)keep_string(st, at->listens);
	(void)keep_string(st, "");
}

/* The core's counts of the app. */
static void
take_figures(struct status_app *a, const struct pool *p, tstamp now)
{
	const struct app *app = &p->apps[a->number];
	const tstamp oldest = pool_waiting_since(p, a->number);
	const tstamp gate = pool_start_gate(app);
	struct status_rollout *r = &a->rollout;
	const struct app_canary *canary = &app->rollout.canary;

	a->state = app_state_name(app);
	a->state_for = now - app->state.since;
	a->options = app->options;
	if (app_has_jobs(app))
		a->options.max_processes = app->options.min_processes;
	if (!app_prefetches(app))
		a->options.prefetch = 0;
	a->processes = app_processes(app);
	a->stuck = app->stuck;
	memcpy(a->in_state, app->in_state, sizeof(a->in_state));
	a->in_state[PROCESS_STOPPING] += app->in_state[PROCESS_DYING];
	a->load = app_load(app, now);
	a->work = app_work(app, now);

	r->given_up = app->rollout.state == ROLLOUT_GIVEN_UP;
	a->has |= (app_rolling(app) ? HAS_ROLLOUT : 0) |
	    (r->given_up ? HAS_ROLLOUT | HAS_GIVEN_UP : 0);
	r->state = app_rolling(app) ? "rolling" : "given up";
	/* Processes that start after a canary has failed are of the next. */
	r->generation =
	    app->generation - (r->given_up && canary->fault != CANARY_WELL);
	r->of = app->rollout.size;
	r->outdated = app->outdated;
	r->done = r->of > r->outdated ? r->of - r->outdated : 0;
	r->canary = canary->processes;
	a->has |= app_rolling(app) && r->canary > 0 ? HAS_CANARY : 0;
	r->canary_left = canary->until == 0 ? app->options.canary.time
	    : canary->until > now           ? canary->until - now
					    : 0;

	a->waiting = app_waiting(app);
	a->oldest_wait = oldest == TSTAMP_NEVER ? 0 : now - oldest;
	a->backoff = gate > now ? gate - now : 0;
	a->idle_while_waiting = app_idle_waiting(app, now);
	a->start_time = app->start_time;
	a->need = app_has_need(app) ? app->promise.need : 0;
	a->has |= (a->start_time > 0 ? HAS_START_TIME : 0) |
	    (app->options.target_wait > 0 ? HAS_TARGET : 0) |
	    (a->need > 0 ? HAS_NEED : 0);
	a->figures = app->figures;
	a->queue_wait = app->queue_wait.ever;
	a->session_time = app->session_time.ever;
}

static void
take_template(
    struct status *st, struct status_app *a, const struct templating *of)
{
	const struct template *t =
	    of->current != NULL ? of->current : of->coming;
	struct status_template *to = &a->template;

	a->has |= HAS_TEMPLATE;
	to->id = to->from = STATUS_NO_STRING;
	to->ready = of->current != NULL;
	to->state = to->ready    ? "ready"
	    : of->coming != NULL ? "starting"
	    : of->failed         ? "failed"
				 : "none";
	to->failure = keep_reason(st, of->failure);
	to->forked = of->forked;
	to->failures = of->failures;
	if (t == NULL)
		return;
	to->pid = t->w->pid;
	to->id = keep_string(st, t->w->id);
	to->from = keep_reason(st, t->from);
	to->age = st->at - t->begun;
	if (to->pid != 0)
		a->has |= HAS_PID;
}

static void
take_app(
    struct status *st, struct status_app *a, const struct group *g, bool alone)
{
	const struct conf_app *conf = g->conf;
	const char *wrong = backlog_wrong_port(g);
	const tstamp closes = tstamp_min(g->hold.close.at, st->sup->close.at);
	const struct app_listener *l;
	char why[GROUP_FAILURE_MAX];

	a->number = g->app;
	a->name = keep_string(st, conf->name);
	a->handoff = conf_handoff_names[conf->handoff];
	if (conf->handoff == CONF_HANDOFF_ACCEPT)
		a->accept_by = group_has_library(g) ? "library" : "seccomp";
	if (conf->handoff == CONF_HANDOFF_LISTEN)
		a->has |= HAS_CLIENTS;
	else if (conf->handoff != CONF_HANDOFF_NONE)
		a->has |= HAS_CLIENTS | HAS_SESSIONS | HAS_WAITING;
	take_figures(a, &st->sup->pool, st->at);
	a->ready = group_is_ready(g);
	if (!g->closing || st->sup->stopping)
		a->has |= HAS_READY;
	if (st->sup->pool.apps[g->app].leaving.soon != 0) {
		a->has |= HAS_CLOSING;
		a->closing_in = closes > st->at ? closes - st->at : 0;
	}
	a->size = g->size;
	a->rolled_back = g->former.in_force;
	take_auto(
	    st, group_is_auto(g), &g->autosize.fit, &a->has, &a->autosize);
	if (g->size.set)
		a->has |= HAS_RESIZED;

	/* Of all apps that would be much. */
	if (conf->program.output == CONF_OUTPUT_LOG &&
	    (alone || st->sup->pool.apps[g->app].failed))
		a->has |= HAS_OUTPUT;
	a->failure =
	    keep_reason(st, wrong[0] != '\0' ? wrong : group_failure(g, why));
	if (wrong[0] == '\0' && a->failure != STATUS_NO_STRING)
		a->has |= HAS_FAILURE_AGE;
	a->failure_age = st->at - g->failure.at;
	a->rollout.age = st->at - g->given_up.at;
	a->rollout.given_up_for = keep_reason(st, g->given_up.why);

	a->listen = st->strings.len;
	TAILQ_FOREACH(l, &g->listeners, next) {
		(void)keep_string(st, l->address);
		a->restored += l->acceptor.restored;
	}
	(void)keep_string(st, "");
	a->nkeepers = (uint32_t)keeper_sights(g, a->keepers);
	a->cgroup = g->cgroup.figures;
	a->has |= a->cgroup.has * HAS_CGROUP;
	if (g->templating != NULL)
		take_template(st, a, g->templating);
	if (conf->limit.server != NULL && g->limiter != NULL) {
		a->has |= HAS_LIMIT;
		a->limit.server = keep_string(st, conf->limit.server);
		a->limit.key = keep_string(st, conf->limit.key);
		a->limit.workers = conf->limit.workers;
		a->limit.locks = g->locks;
	}
}

/* The apps; by[number] becomes the index of the app + 1. False: no memory. */
static bool
take_apps(struct status *st, const char *app, uint32_t *by)
{
	const struct supervisor *s = st->sup;
	const struct group *g = NULL;

	while ((g = group_next(s, g)) != NULL)
		if (app == NULL || strcmp(g->conf->name, app) == 0)
			by[g->app] = (uint32_t)++st->napps;
	st->apps = calloc(st->napps + 1, sizeof(*st->apps));
	for (uint32_t n = 0; n < s->pool.napps && st->apps != NULL; n++)
		if (by[n] != 0)
			take_app(st, &st->apps[by[n] - 1], s->groups[n],
			    app != NULL);
	return st->apps != NULL;
}

static void
take_worker(struct status *st, const struct status_app *a,
    struct status_worker *row, uint32_t number)
{
	const struct process *p = &st->sup->pool.processes[number];
	const struct worker *w = st->sup->workers[number];

	row->process = number;
	row->state = p->stuck ? "stuck" : process_state_names[p->state];
	row->sessions = p->conns.count;
	row->requests = p->requests;
	row->age = st->at - p->started;
	/* A process that accepts itself is never seen busy, but in use. */
	row->in_state = st->at -
	    ((a->has & (HAS_CLIENTS | HAS_SESSIONS)) == HAS_CLIENTS ? p->used
								    : p->since);
	row->generation = p->generation;
	row->has = (a->has & HAS_SESSIONS) |
	    (p->state == PROCESS_IDLE ? HAS_IDLE : 0) |
	    (row->sessions != 0 ? HAS_BUSY : 0);
	row->text = row->request = STATUS_NO_STRING;
	/* A process whose start is not carried out yet has no worker. */
	if (w == NULL)
		return;
	row->has |= HAS_SLOT | (w->pid != 0 ? HAS_PID : 0);
	row->slot = w->slot;
	row->pid = w->pid;
	row->id = keep_string(st, w->id);
	row->text = keep_string(st, w->status);
	row->request = keep_string(st, worker_request(w));
}

static bool
take_workers(struct status *st, const uint32_t *by)
{
	const struct pool *p = &st->sup->pool;

	for (size_t i = 0; i < st->napps; i++) {
		st->apps[i].first = (uint32_t)st->nworkers;
		st->nworkers += app_living(&p->apps[st->apps[i].number]);
	}
	st->workers = calloc(st->nworkers + 1, sizeof(*st->workers));
	for (uint32_t n = 0; n < p->nprocesses && st->workers != NULL; n++) {
		const struct process *x = &p->processes[n];
		struct status_app *a;

		if (x->state == PROCESS_GONE || by[x->app] == 0)
			continue;
		a = &st->apps[by[x->app] - 1];
		take_worker(st, a, &st->workers[a->first + a->count++], n);
	}
	return st->workers != NULL;
}

struct status *
status_take(struct supervisor *s, const char *app, enum status_format format,
    tstamp now)
{
	struct status *st = calloc(1, sizeof(*st));
	uint32_t *by = calloc((size_t)s->pool.napps + 1, sizeof(*by));
	bool workers = format == STATUS_JSON || format == STATUS_TEXT;
	int error = ENOMEM;

	if (st == NULL || by == NULL)
		goto fail;
	st->sup = s;
	st->format = format;
	st->at = now;
	text_init(&st->strings, STRINGS_MAX);
	text_init(&st->piece, PIECE_MAX);
	text_init(&st->words, 2 * PIECE_MAX);
	st->json = (struct emit){ .out = &st->piece };

	take_daemon(st);
	if (!take_apps(st, app, by) || (workers && !take_workers(st, by)) ||
	    st->strings.failed)
		goto fail;
	if (app != NULL && st->napps == 0) {
		error = ENOENT;
		goto fail;
	}
	free(by);
	st->size = sizeof(*st) + st->napps * sizeof(*st->apps) +
	    st->nworkers * sizeof(*st->workers) + st->strings.size;
	return st;

fail:
	free(by);
	status_free(st);
	errno = error;
	return NULL;
}

void
status_free(struct status *st)
{
	if (st == NULL)
		return;
	free(st->apps);
	free(st->workers);
	text_fini(&st->strings);
	text_fini(&st->piece);
	text_fini(&st->words);
	free(st);
}
