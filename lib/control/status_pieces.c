/*
 * The way of a snapshot out, piece by piece. What has to be measured (resident
 * sizes, backlogs, percentiles) is measured as its piece is written: for
 * thousands of workers at once that would hold the loop up.
 */

#include <string.h>
#include <unistd.h>

#include "control/status_private.h"
#include "core/pool.h"
#include "core/window.h"

/* A piece ends when it has this many bytes, */
#define PIECE_LEN 16384

/* ... or has cost as much as so many workers. An app costs like four. */
#define PIECE_COST 16
#define APP_COST 4

static void
measure_window(const struct window *w, tstamp now, struct status_spans *out)
{
	out->p50 = window_share(w, 0.5, now);
	out->p90 = window_share(w, 0.9, now);
	out->p99 = window_share(w, 0.99, now);
	out->max = window_share(w, 1, now);
}

/* The app may have left, and even another one have come in its place. */
static void
measure_app(const struct status *st, const struct status_app *a,
    struct status_measured *out)
{
	struct supervisor *s = st->sup;
	const struct group *g = s->groups[a->number];
	const struct app *app = &s->pool.apps[a->number];
	const tstamp now = loop_now(&s->loop);
	const struct door *d;
	long depth;

	*out = (struct status_measured){ .backlog = -1 };
	if (g == NULL || strcmp(g->conf->name, status_string(st, a->name)) != 0)
		return;
	out->known = true;
	measure_window(&app->queue_wait, now, &out->queue_wait);
	measure_window(&app->session_time, now, &out->session_time);

	out->backlog = 0;
	TAILQ_FOREACH(d, &g->doors, next) {
		depth = listener_depth(&d->listener, &s->diag);
		if (depth == -1) {
			out->backlog = -1;
			return;
		}
		out->backlog += depth;
	}
}

/* Only while the process is ours is it the one that has this pid. */
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
	/* What is worth knowing is the size of the adapter's program. */
	folder = procinfo_child_folder(w->pid);
	known = folder != -1 && procinfo_read_folder(folder, out) == 0;
	if (folder != -1)
		(void)close(folder);
	return known;
}

/* Writes the next item and moves on. Returns what it cost. */
static unsigned
status_step(struct status *st)
{
	const struct status_app *a = &st->apps[st->app];
	struct status_measured measured;
	struct procinfo info;

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
		cost += status_step(st);
	if (st->piece.failed) {
		/* Whoever reads it must not take it for the whole. */
		static const char cut[] = "\nerror: out of memory\n";

		st->ended = true;
		*len_out = sizeof(cut) - 1;
		return cut;
	}
	*len_out = st->piece.len;
	return st->piece.len == 0 ? NULL : st->piece.data;
}
