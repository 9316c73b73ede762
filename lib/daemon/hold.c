/*
 * What an operator does to an app: drains it, stops it and starts it again, or
 * gives it another size.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "daemon/group.h"
#include "daemon/listeners.h"
#include "daemon/state.h"
#include "daemon/worker.h"
#include "sys/acceptor.h"

/* --- drained -------------------------------------------------------------- */

void
hold_drain(struct group *g, tstamp now)
{
	g->hold.muted = true;
	listeners_pause(g);
	parking_leave(g, now);
	pool_app_hold(&g->sup->pool, g->app, END_DRAINED, now);
	template_update(g, now);
}

void
hold_resume(struct group *g, tstamp now)
{
	g->hold.muted = false;
	template_update(g, now);
	pool_app_resume(&g->sup->pool, g->app, now);
	listeners_resume(g);
}

/* --- stopped and started ---------------------------------------------------
 */

/* How often listeners are opened that others remove at the same time. */
#define HOLD_ATTEMPTS 3

struct hold_start {
	struct lane_job job;
	struct group *group; /* NULL: it has gone */
	struct supervisor *sup;
	struct config *config; /* a reference: openings has its strings */
	struct openings openings;
	unsigned attempts;
	bool wanted; /* nobody has stopped the app since */
};

void
hold_stop(struct group *g, tstamp now)
{
	if (g->hold.starting != NULL)
		g->hold.starting->wanted = false;
	if (g->hold.stopped)
		return;
	g->hold.muted = false;
	g->hold.stopped = true;
	parking_leave(g, now);
	pool_app_hold(&g->sup->pool, g->app, END_STOPPED, now);
	template_update(g, now);
	accepting_leave_all(g, now);
}

static void
hold_start_end(struct hold_start *h, int error)
{
	if (h->group != NULL) {
		h->group->hold.starting = NULL;
		h->group->hold.error = error;
	}
	openings_fini(&h->openings, &h->sup->looker);
	config_unref(h->config);
	free(h);
}

/*
 * Opens all listeners of the app, and has it run. What a lane has to open first
 * is left to that, and then it is tried again.
 */
static void
hold_start_try(struct hold_start *h, tstamp now)
{
	struct app_listeners opened = TAILQ_HEAD_INITIALIZER(opened);
	struct group *g = h->group;
	int error = 0;

	/* A reload may have brought other addresses. */
	if (g == NULL || g->closing || g->config != h->config || !h->wanted) {
		hold_start_end(h, 0);
		return;
	}
	for (size_t i = 0; i < g->conf->listen.len; i++) {
		if (listeners_open(h->sup, g->conf, &g->conf->listen.list[i],
			&h->openings, &opened) == 0)
			continue;
		error = errno;
		if (error != EINPROGRESS)
			break;
	}
	if (error != 0)
		listeners_close_all(&opened);
	if (error == EINPROGRESS && h->attempts++ < HOLD_ATTEMPTS) {
		lane_submit(&h->sup->looker, &h->job);
		return;
	}
	if (error == 0) {
		g->hold.stopped = false;
		accepting_begin_all(&opened, g);
		hold_resume(g, now);
	}
	hold_start_end(h, error);
}

static void
hold_open_work(struct lane_job *job)
{
	openings_work(&LOOP_OWNER(job, struct hold_start, job)->openings);
}

static void
hold_open_done(struct lane_job *job, tstamp now)
{
	hold_start_try(LOOP_OWNER(job, struct hold_start, job), now);
}

void
hold_start(struct group *g, tstamp now)
{
	struct hold_start *h;

	if (g->hold.starting != NULL) {
		g->hold.starting->wanted = true;
		return;
	}
	h = calloc(1, sizeof(*h));
	if (h == NULL) {
		g->hold.error = ENOMEM;
		return;
	}
	h->job.work = hold_open_work;
	h->job.done = hold_open_done;
	h->group = g;
	h->sup = g->sup;
	h->config = config_ref(g->config);
	h->wanted = true;
	openings_init(&h->openings);
	g->hold.starting = h;
	hold_start_try(h, now);
}

void
hold_forget(struct group *g)
{
	if (g->hold.starting != NULL)
		g->hold.starting->group = NULL;
}

/* --- its size --------------------------------------------------------------
 */

/* Bounds of the file: job workers are as many as their minimum. */
static struct group_size
size_of_file(const struct conf_app *conf)
{
	return (struct group_size){ conf->pool.min_processes,
		conf->pool.max_processes };
}

const char *
size_format(struct group_size size, char buf[SIZE_TEXT])
{
	if (size.min == size.max)
		(void)snprintf(buf, SIZE_TEXT, "%" PRIu32 " process%s",
		    size.max, size.max == 1 ? "" : "es");
	else
		(void)snprintf(buf, SIZE_TEXT,
		    "%" PRIu32 " to %" PRIu32 " processes", size.min, size.max);
	return buf;
}

static bool
size_is_same(struct group_size a, struct group_size b)
{
	return a.min == b.min && a.max == b.max;
}

void
size_options(const struct group *g, struct app_options *out)
{
	*out = g->conf->pool;
	if (!g->size.set)
		return;
	out->min_processes = g->size.now.min;
	out->max_processes = g->size.now.max;
}

/* Whether the app may have this size; why says why not. */
static bool
size_is_possible(
    const struct group *g, uint32_t min, uint32_t max, char why[SIZE_WHY])
{
	const struct conf_app *conf = g->conf;
	const struct supervisor *s = g->sup;
	uint64_t sum = min;

	for (uint32_t n = 0; n < s->pool.napps; n++)
		if (s->groups[n] != NULL && s->groups[n] != g &&
		    !s->groups[n]->closing)
			sum += s->pool.apps[n].options.min_processes;
	why[0] = '\0';
	if (conf->handoff == CONF_HANDOFF_NONE && min != max)
		(void)snprintf(why, SIZE_WHY,
		    "with handoff = none there are always min_processes: both "
		    "numbers have to be the same");
	else if (max < 1 && conf->handoff != CONF_HANDOFF_NONE)
		(void)snprintf(why, SIZE_WHY, "max_processes is at least 1");
	else if (min > max)
		(void)snprintf(why, SIZE_WHY,
		    "min_processes (%" PRIu32
		    ") is over max_processes (%" PRIu32 ")",
		    min, max);
	else if (conf->pool.min_idle > max)
		(void)snprintf(why, SIZE_WHY,
		    "min_idle (%u) is over max_processes (%" PRIu32 ")",
		    conf->pool.min_idle, max);
	else if (sum > g->sup->pool.max_processes)
		(void)snprintf(why, SIZE_WHY,
		    "the apps' min_processes would add up to %" PRIu64
		    ", over max_processes of the daemon (%" PRIu32 ")",
		    sum, g->sup->pool.max_processes);
	return why[0] == '\0';
}

bool
size_set(
    struct group *g, uint32_t min, uint32_t max, char why[SIZE_WHY], tstamp now)
{
	struct app_options o;

	if (!size_is_possible(g, min, max, why))
		return false;
	g->size.now = (struct group_size){ min, max == 0 ? 1 : max };
	g->size.of_file = size_of_file(g->conf);
	g->size.set = !size_is_same(g->size.now, g->size.of_file);
	size_options(g, &o);
	pool_app_change(&g->sup->pool, g->app, &o, now);
	return true;
}

void
size_reloaded(struct group *g, FILE *answer)
{
	struct group_size file = size_of_file(g->conf);
	char set[SIZE_TEXT], says[SIZE_TEXT];

	if (!g->size.set)
		return;
	g->size.set = size_is_same(file, g->size.of_file) &&
	    !size_is_same(file, g->size.now);
	(void)size_format(g->size.now, set);
	(void)size_format(file, says);
	if (g->size.set)
		logging_tell(answer, true,
		    "%s: keeps %s, as resized; the file says %s as before",
		    g->conf->name, set, says);
	else
		logging_tell(answer, true,
		    "%s: %s, as the file says; no longer %s as resized",
		    g->conf->name, says, set);
}
