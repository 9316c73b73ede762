/*
 * The snapshot: all that the pool counts, of one instant. What has to be
 * measured (resident sizes, backlogs, percentiles) is measured as its piece is
 * written: for thousands of workers at once that would hold the loop up.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/status.h"
#include "core/app.h"
#include "core/pool.h"
#include "core/window.h"
#include "daemon/listeners.h"
#include "daemon/locks.h"
#include "daemon/seat.h"

/*
 * A piece ends at so many bytes, or when it has cost so much: a worker costs
 * 1, an app as much as four workers.
 */
#define PIECE_LEN 16384
#define PIECE_COST 16
#define APP_COST 4

/* Far above any piece: the last item may be an app with all its addresses. */
#define PIECE_MAX (1024 * 1024)

/* Far above the texts of 10,000 workers at their longest. */
#define STRINGS_MAX (64 * 1024 * 1024)

/* --- taking ------------------------------------------------------------- */

static size_t
keep(struct status *st, const char *s)
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
	return keep(st, reason[0] == '\0' ? NULL : reason);
}

static void
take_limit(struct status *st, struct status_app *a, const struct group *g)
{
	const struct conf_limit *limit = &g->conf->limit;
	const struct limiter_figures *locks = locks_figures(g);

	a->limit = STATUS_NO_STRING;
	if (limit->server == NULL || locks == NULL)
		return;
	a->limit = keep(st, limit->server);
	a->limit_key = keep(st, limit->key);
	a->limit_workers = limit->workers;
	a->locks = *locks;
}

static void
take_options(struct status *st, struct status_app *a, const struct group *g)
{
	const struct conf_app *conf = g->conf;
	const struct app_listener *l;
	char why[GROUP_FAILURE_MAX];

	a->name = keep(st, conf->name);
	a->handoff = conf->handoff;
	a->listens = conf->handoff == CONF_HANDOFF_LISTEN;
	a->sessions = !a->listens && conf->handoff != CONF_HANDOFF_NONE;
	a->resized = g->resized;
	a->file_size = g->file_size;
	a->max_queue = conf->max_queue;
	a->failure = keep_reason(
	    st, g->stray[0] != '\0' ? g->stray : group_failure(g, why));
	a->given_up_for = keep_reason(st, g->given_up_for);
	take_limit(st, a, g);
	a->listen = st->strings.len;
	TAILQ_FOREACH(l, &g->listeners, next) {
		(void)keep(st, l->address);
		a->nlisten++;
	}
}

static void
take_keepers(struct status_app *a, const struct group *g)
{
	const struct keeper *k;

	TAILQ_FOREACH(k, &g->sup->keepers, next) {
		if (k->group != g || k->result.pid == 0 ||
		    a->nkeepers == KEEPER_MAX)
			continue;
		a->keepers[a->nkeepers].pid = k->result.pid;
		a->keepers[a->nkeepers++].answers = !k->frozen;
	}
}

static void
take_template(struct status *st, struct status_app *a, const struct group *g)
{
	struct status_template *to = &a->template;
	const struct seat *seat = g->seat;
	const struct app_template *t;

	to->id = to->from = to->failure = STATUS_NO_STRING;
	if (seat == NULL)
		return;
	t = seat->current != NULL ? seat->current : seat->coming;
	to->state = seat_state_name(seat);
	to->failure = keep_reason(st, seat->failure);
	to->forked = seat->forked;
	to->failures = seat->failures;
	if (t == NULL)
		return;
	to->pid = t->pid;
	to->id = keep(st, t->id);
	to->from = keep_reason(st, t->from);
	to->age = st->at - t->born;
}

static void
take_figures(struct status_app *a, const struct pool *p, tstamp now)
{
	const struct app *app = &p->apps[a->number];
	tstamp oldest = pool_waiting_since(p, a->number);
	tstamp gate = pool_start_gate(p, a->number);

	a->state = app_state_name(app);
	a->min_processes = app->options.min_processes;
	a->max_processes =
	    app_has_jobs(app) ? a->min_processes : app->options.max_processes;
	a->processes = app_processes(app);
	a->stuck = app->stuck;
	memcpy(a->in_state, app->in_state, sizeof(a->in_state));
	a->load = app_load(app, now);
	a->work = app_work(app, now);
	a->rolling = app_rolling(app);
	a->given_up = app->rollout == ROLLOUT_GIVEN_UP;
	a->generation = app->generation;
	a->rollout_size = app->rollout_size;
	a->outdated = app->outdated;
	a->waiting = app_waiting(app);
	a->oldest_wait = oldest == TSTAMP_NEVER ? 0 : now - oldest;
	a->backoff = gate > now ? gate - now : 0;
	a->idle_while_waiting = pool_idle_while_waiting(p, a->number, now);
	a->start_time = app->start_time;
	a->prefetch = app_prefetches(app) ? app->options.prefetch : 0;
	a->target_wait = app->options.target_wait;
	a->need = a->target_wait > 0 ? app->promise.need : 0;
	a->figures = app->figures;
	a->queue_wait = app->queue_wait.ever;
	a->session_time = app->session_time.ever;
}

static bool
is_asked_for(const struct group *g, const char *app)
{
	return g != NULL && (app == NULL || strcmp(g->conf->name, app) == 0);
}

/* The apps; by[number] becomes the index of the app + 1. False: no memory. */
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
		take_keepers(&st->apps[st->napps], s->groups[n]);
		take_template(st, &st->apps[st->napps], s->groups[n]);
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
	row->started = p->started;
	row->counts = a->sessions;
	row->since = a->listens ? p->used : p->since;
	row->generation = p->generation;
	row->text = STATUS_NO_STRING;
	/* A process whose start is not carried out yet has no worker. */
	if (w == NULL)
		return;
	row->slot = w->slot;
	row->generation = w->generation;
	row->pid = w->pid;
	memcpy(row->id, w->id, sizeof(row->id));
	row->text = keep(st, w->status);
}

/* The workers, app by app: first counted, then put in their places. */
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
	st->config = keep(st, s->config->conf->file);
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
		(void)keep(st, address.listens);
		st->counter_nlisten++;
	}
}

struct status *
status_take(struct supervisor *s, const char *app,
    const struct status_writer *writer, tstamp now)
{
	struct status *st = calloc(1, sizeof(*st));
	uint32_t *by = calloc((size_t)s->pool.napps + 1, sizeof(*by));
	bool taken;

	if (st == NULL || by == NULL)
		goto fail;
	st->sup = s;
	st->writer = writer;
	st->at = now;
	text_init(&st->strings, STRINGS_MAX);
	text_init(&st->piece, PIECE_MAX);
	json_init(&st->json, &st->piece);

	take_totals(st);
	take_counter(st);
	taken = take_apps(st, app, by) &&
	    (writer->worker == NULL || take_workers(st, by));
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

/* --- measuring ---------------------------------------------------------- */

static void
measure_window(const struct window *w, tstamp now, struct status_spans *out)
{
	out->p50 = window_share(w, 0.5, now);
	out->p90 = window_share(w, 0.9, now);
	out->p99 = window_share(w, 0.99, now);
	out->max = window_share(w, 1, now);
}

/* The app of the snapshot; NULL: it is gone, or another has its place. */
static const struct group *
find_group(const struct status *st, const struct status_app *a)
{
	const struct group *g = st->sup->groups[a->number];

	if (g == NULL || strcmp(g->conf->name, status_string(st, a->name)) != 0)
		return NULL;
	return g;
}

long
status_backlog(const struct status *st, const struct status_app *a)
{
	const struct group *g = find_group(st, a);
	const struct app_listener *l;
	long depth, sum = 0;

	if (g == NULL)
		return -1;
	TAILQ_FOREACH(l, &g->listeners, next) {
		depth = listener_depth(&l->acceptor.listener, &st->sup->diag);
		if (depth == -1)
			return -1;
		sum += depth;
	}
	return sum;
}

int64_t
status_template_rss(const struct status *st, const struct status_app *a)
{
	struct procinfo info;

	/* The pid means this process only as long as it is a template. */
	if (a->template.pid == 0 ||
	    template_find(st->sup, a->template.pid) == NULL ||
	    procinfo_read(a->template.pid, &info) == -1)
		return -1;
	return info.rss;
}

double
status_kept(const struct status *st, const struct status_app *a)
{
	if (a->target_wait == 0 || find_group(st, a) == NULL)
		return -1;
	return window_within(&st->sup->pool.apps[a->number].queue_wait,
	    a->target_wait, loop_now(&st->sup->loop));
}

static void
measure_app(const struct status *st, const struct status_app *a,
    struct status_measured *out)
{
	const struct group *g = find_group(st, a);
	const struct app *app = &st->sup->pool.apps[a->number];
	const tstamp now = loop_now(&st->sup->loop);

	*out = (struct status_measured){ .backlog = status_backlog(st, a),
		.template_rss = status_template_rss(st, a) };
	if (g == NULL)
		return;
	out->known = true;
	out->kept = status_kept(st, a);
	out->rate = window_rate(&app->queue_wait, g->since, now);
	measure_window(&app->queue_wait, now, &out->queue_wait);
	measure_window(&app->session_time, now, &out->session_time);
}

/* The pid means this process only as long as the worker has it. */
static bool
measure_worker(const struct status *st, const struct status_worker *w,
    struct procinfo *out)
{
	const struct worker *now = st->sup->workers[w->process];
	int folder;
	bool known;

	if (w->pid == 0 || now == NULL || now->pid != w->pid)
		return false;
	if (!now->adapted)
		return procinfo_read(w->pid, out) == 0;
	/* The size of interest is that of the adapter's program. */
	folder = procinfo_child_folder(w->pid);
	known = folder != -1 && procinfo_read_folder(folder, out) == 0;
	if (folder != -1)
		(void)close(folder);
	return known;
}

/* Writes the next item and moves on. Returns what it cost. */
static unsigned
write_step(struct status *st)
{
	const struct status_app *a = &st->apps[st->app];
	struct status_measured measured;
	struct procinfo info;

	if (st->writer->step != NULL) {
		st->writer->step(st);
		return 1;
	}
	if (!st->begun) {
		st->begun = true;
		st->writer->head(st);
		return 1;
	}
	if (st->app == st->napps) {
		st->ended = true;
		if (st->writer->tail != NULL)
			st->writer->tail(st);
		return 1;
	}
	if (!st->app_begun) {
		st->app_begun = true;
		st->worker = a->first;
		measure_app(st, a, &measured);
		st->writer->app(st, a, &measured);
		return APP_COST;
	}
	if (st->worker < (size_t)a->first + a->count) {
		const struct status_worker *w = &st->workers[st->worker++];

		st->writer->worker(
		    st, w, measure_worker(st, w, &info) ? &info : NULL);
		return 1;
	}
	if (st->writer->app_end != NULL)
		st->writer->app_end(st);
	st->app_begun = false;
	st->app++;
	return 1;
}

const char *
status_next(struct status *st, size_t *len_out)
{
	unsigned cost = 0;

	text_clear(&st->piece);
	while (!st->ended &&
	    (st->piece.len == 0 ||
		(cost < PIECE_COST && st->piece.len < PIECE_LEN)))
		cost += write_step(st);
	if (st->piece.failed) {
		/* A reader must not take the piece for the whole. */
		static const char cut[] = "\nerror: out of memory\n";

		st->ended = true;
		*len_out = sizeof(cut) - 1;
		return cut;
	}
	*len_out = st->piece.len;
	return st->piece.len == 0 ? NULL : st->piece.data;
}
