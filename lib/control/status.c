/* The snapshot: all that the pool counts, of one instant. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/status_private.h"
#include "core/pool.h"
#include "daemon/locks.h"

/* No piece comes near this: one app's addresses, one worker's text. */
#define PIECE_MAX (1024 * 1024)

/* 10,000 workers with the longest texts are far below. */
#define STRINGS_MAX (64 * 1024 * 1024)

static size_t
status_keep(struct status *st, const char *s)
{
	size_t at = st->strings.len;

	if (s == NULL)
		return STATUS_NO_STRING;
	text_put(&st->strings, s, strlen(s) + 1);
	return at;
}

static size_t
keep_reason(struct status *st, const char *reason)
{
	return status_keep(st, reason[0] == '\0' ? NULL : reason);
}

static void
take_limit(struct status *st, struct status_app *a, const struct group *g)
{
	const struct conf_limit *limit = &g->conf->limit;
	const struct limiter_figures *locks = locks_figures(g);

	a->limit = STATUS_NO_STRING;
	if (limit->server == NULL || locks == NULL)
		return;
	a->limit = status_keep(st, limit->server);
	a->limit_key = status_keep(st, limit->key);
	a->limit_workers = limit->workers;
	a->locks = *locks;
}

static void
take_options(struct status *st, struct status_app *a, const struct group *g)
{
	const struct conf_app *conf = g->conf;
	const struct door *d;

	a->name = status_keep(st, conf->name);
	a->handoff = conf->handoff;
	a->listens = conf->handoff == CONF_HANDOFF_LISTEN;
	a->sessions = !a->listens && conf->handoff != CONF_HANDOFF_NONE;
	a->min_processes = conf->min_processes;
	a->max_processes = conf->handoff == CONF_HANDOFF_NONE
	    ? conf->min_processes
	    : conf->max_processes;
	a->max_queue = conf->max_queue;
	a->failure = keep_reason(st, g->last_failure);
	a->given_up_for = keep_reason(st, g->given_up_for);
	take_limit(st, a, g);
	a->listen = st->strings.len;
	TAILQ_FOREACH(d, &g->doors, next) {
		(void)status_keep(st, d->address);
		a->nlisten++;
	}
}

static void
take_figures(struct status_app *a, const struct pool *p, tstamp now)
{
	const struct app *app = &p->apps[a->number];
	tstamp oldest = pool_waiting_since(p, a->number);
	tstamp gate = pool_start_gate(p, a->number);

	a->state = app_state_name(app);
	a->processes = app_processes(app);
	a->stuck = app->stuck;
	memcpy(a->in_state, app->in_state, sizeof(a->in_state));
	a->load = app_load(app, now);
	a->work = app_work(app, now);
	a->rolling = app_rolling(app);
	a->given_up = app_gave_up_rollout(app);
	a->generation = app->generation;
	a->condemned = app->rollout_size;
	a->outdated = app->outdated;
	a->waiting = app_waiting(app);
	a->oldest_wait = oldest == TSTAMP_NEVER ? 0 : now - oldest;
	a->backoff = gate > now ? gate - now : 0;
	a->idle_while_waiting = pool_idle_while_waiting(p, a->number, now);
	a->figures = app->figures;
}

static bool
is_asked_for(const struct group *g, const char *app)
{
	return g != NULL && (app == NULL || strcmp(g->conf->name, app) == 0);
}

/* The apps; by[number] becomes their place + 1. false: no memory. */
static bool
take_apps(struct status *st, const char *app, uint32_t *by)
{
	const struct supervisor *s = st->sup;

	for (uint32_t n = 0; n < s->pool.napps; n++)
		st->napps += is_asked_for(s->groups[n], app);
	st->apps = calloc(st->napps + 1, sizeof(*st->apps));
	if (st->apps == NULL)
		return false;

	st->napps = 0;
	for (uint32_t n = 0; n < s->pool.napps; n++) {
		if (!is_asked_for(s->groups[n], app))
			continue;
		st->apps[st->napps].number = n;
		take_options(st, &st->apps[st->napps], s->groups[n]);
		take_figures(&st->apps[st->napps], &s->pool, st->at);
		by[n] = (uint32_t)++st->napps;
	}
	return true;
}

static void
take_worker(struct status *st, const struct status_app *a,
    struct status_worker *row, uint32_t number)
{
	const struct process *p = &st->sup->pool.processes[number];
	const struct worker *w = st->sup->workers[number];

	row->process = number;
	row->state = p->state;
	row->stuck = p->stuck;
	row->sessions = process_sessions(p);
	row->requests = p->requests;
	row->born = p->started;
	row->counts = a->sessions;
	row->since = a->listens ? p->used : p->since;
	row->generation = p->generation;
	row->text = STATUS_NO_STRING;
	/* One whose start has just been asked for has no worker yet. */
	if (w == NULL)
		return;
	row->slot = w->slot;
	row->generation = w->generation;
	row->pid = w->pid;
	memcpy(row->id, w->id, sizeof(row->id));
	row->text = status_keep(st, w->status);
}

/* The workers, those of an app together: counted first, then put there. */
static bool
take_workers(struct status *st, const uint32_t *by)
{
	const struct pool *p = &st->sup->pool;
	uint32_t first = 0;

	for (uint32_t n = 0; n < p->nprocesses; n++) {
		const struct process *x = &p->processes[n];

		if (x->state != PROCESS_GONE && by[x->app] != 0)
			st->apps[by[x->app] - 1].count++;
	}
	for (size_t i = 0; i < st->napps; i++) {
		st->apps[i].first = first;
		first += st->apps[i].count;
		st->apps[i].count = 0;
	}
	st->nworkers = first;
	st->workers = calloc((size_t)first + 1, sizeof(*st->workers));
	if (st->workers == NULL)
		return false;

	for (uint32_t n = 0; n < p->nprocesses; n++) {
		const struct process *x = &p->processes[n];
		struct status_app *a;

		if (x->state == PROCESS_GONE || by[x->app] == 0)
			continue;
		a = &st->apps[by[x->app] - 1];
		take_worker(st, a, &st->workers[a->first + a->count++], n);
	}
	return true;
}

static void
take_totals(struct status *st)
{
	const struct supervisor *s = st->sup;

	st->uptime = st->at - s->started;
	st->generation = s->generation;
	st->config = status_keep(st, s->config->conf->file);
	st->stopping = s->stopping;
	st->max_processes = s->pool.max_processes;
	st->processes = s->pool.count;
	st->living = s->pool.living;
	for (uint32_t n = 0; n < s->pool.napps; n++) {
		if (s->groups[n] == NULL)
			continue;
		st->active += s->pool.apps[n].in_state[PROCESS_ACTIVE];
		st->waiting += app_waiting(&s->pool.apps[n]) +
		    (uint32_t)s->groups[n]->depth;
	}
}

static void
take_counter(struct status *st)
{
	const struct services *all = &st->sup->services;
	struct counter_address address;

	st->counts = services_counter_figures(all, st->at, &st->counter);
	if (!st->counts)
		return;
	st->counter_listen = st->strings.len;
	while (services_counter_address(all, st->counter_nlisten, &address)) {
		(void)status_keep(st, address.listens);
		st->counter_nlisten++;
	}
}

struct status *
status_take(struct supervisor *s, const char *app, bool json, tstamp now)
{
	struct status *st = calloc(1, sizeof(*st));
	uint32_t *by = calloc((size_t)s->pool.napps + 1, sizeof(*by));
	bool taken;

	if (st == NULL || by == NULL)
		goto fail;
	st->sup = s;
	st->writer = json ? &status_json : &status_text;
	st->at = now;
	text_init(&st->strings, STRINGS_MAX);
	text_init(&st->piece, PIECE_MAX);
	json_init(&st->json, &st->piece);

	take_totals(st);
	take_counter(st);
	taken = take_apps(st, app, by) && take_workers(st, by);
	if (!taken || st->strings.failed)
		goto fail;
	if (app != NULL && st->napps == 0) {
		free(by);
		status_free(st);
		errno = ENOENT;
		return NULL;
	}
	free(by);
	return st;

fail:
	free(by);
	status_free(st);
	errno = ENOMEM;
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
	free(st);
}

size_t
status_size(const struct status *st)
{
	return sizeof(*st) + st->napps * sizeof(*st->apps) +
	    st->nworkers * sizeof(*st->workers) + st->strings.size;
}
