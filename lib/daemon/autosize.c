/*
 * max_processes = auto: once a second a lane looks at the box and at some
 * processes, and the ceilings follow what core/autosize.c makes of that. A
 * process can have its memory locked for ever: so each is measured by a job of
 * its own, in a lane that has no other work.
 */

#include <sys/param.h>

#include <stdlib.h>

#include "daemon/worker.h"

#define AUTOSIZE_PERIOD TSPAN_SECONDS(1)

/* Between two measures of a process; and processes measured in one period. */
#define AUTOSIZE_PAUSE TSPAN_SECONDS(5)
#define AUTOSIZE_MEASURES 64
#define AUTOSIZE_SCAN_MAX 4096

/* The size of an app's processes falls by this part of the difference. */
#define SIZE_FALL 64

/* Seconds in sessions that are evidence of a share, and that are remembered. */
#define BUSY_LEAST 1
#define BUSY_MOST 60

/* A process under measurement. */
struct measuring {
	struct lane_job job;
	struct supervisor *sup;
	uint32_t process;
	uint64_t stamp; /* of that process */
	pid_t pid;
	bool good;
	struct procinfo_usage found;
};

/* --- processes ------------------------------------------------------------ */

static void
measuring_work(struct lane_job *job)
{
	struct measuring *m = LOOP_OWNER(job, struct measuring, job);

	m->good = procinfo_usage(m->pid, &m->found) == 0;
}

/* How much of a processor the sessions have used since the last measure. */
static void
autosize_note_share(struct worker *w, const struct procinfo_usage *found)
{
	const struct process *x = &w->sup->pool.processes[w->process];
	const struct app *a = &w->sup->pool.apps[x->app];
	struct group_autosize *of = &w->group->autosize;
	double ended = (double)(x->requests - w->usage.requests);
	double ran = tspan_to_seconds(found->ran - w->usage.found.ran);
	double busy =
	    ended * tspan_to_seconds(a->session.mean) / x->concurrency -
	    tspan_to_seconds(found->waited - w->usage.found.waited);
	double all = of->busy + MAX(busy, ran), keep = 1;

	/* Sessions that have not ended belong to a later measure. */
	if (w->usage.at != 0 && ended <= 0)
		return;
	if (w->usage.at != 0 && all > 0) {
		keep = MIN(1, BUSY_MOST / all);
		of->busy = keep * all;
		of->ran = keep * (of->ran + ran);
	}
	w->usage.requests = x->requests;
	w->usage.found.ran = found->ran;
	w->usage.found.waited = found->waited;
}

static void
measuring_done(struct lane_job *job, tstamp now)
{
	struct measuring *m = LOOP_OWNER(job, struct measuring, job);
	const struct process *x = &m->sup->pool.processes[m->process];
	struct worker *w = m->sup->workers[m->process];

	if (w != NULL && x->stamp == m->stamp) {
		struct group_autosize *of = &w->group->autosize;
		struct procinfo_usage *had = &w->usage.found;

		w->usage.under_way = false;
		/* Before it has served, a process is smaller than later. */
		if (x->handed == 0 && group_has_channels(w->group->conf))
			m->found.most = 0;
		if (m->good && w->pid == m->pid) {
			autosize_note_share(w, &m->found);
			of->own += m->found.own - had->own;
			of->most += m->found.most - had->most;
			of->measured += (had->most == 0) - (m->found.most == 0);
			had->own = m->found.own;
			had->most = m->found.most;
			w->usage.at = now;
		}
	}
	free(m);
}

static void
autosize_measure(struct supervisor *s, tstamp now)
{
	uint32_t n = s->autosize.next, end = n + AUTOSIZE_SCAN_MAX, begun = 0;

	for (; n < s->pool.nprocesses && n < end && begun < AUTOSIZE_MEASURES;
	     n++) {
		const struct process *x = &s->pool.processes[n];
		struct worker *w = s->workers[n];
		struct measuring *m;

		if (w == NULL || w->pid == 0 || w->usage.under_way ||
		    (x->state != PROCESS_IDLE && x->state != PROCESS_ACTIVE) ||
		    now - w->usage.at < AUTOSIZE_PAUSE ||
		    (m = calloc(1, sizeof(*m))) == NULL)
			continue;
		m->job.work = measuring_work;
		m->job.done = measuring_done;
		m->job.together = true;
		m->sup = s;
		m->process = n;
		m->stamp = x->stamp;
		m->pid = w->pid;
		w->usage.under_way = true;
		begun++;
		lane_submit(&s->autosize.lane, &m->job);
	}
	s->autosize.next = n < s->pool.nprocesses ? n : 0;
}

/* --- ceilings ------------------------------------------------------------- */

static void
autosize_look(struct group *g)
{
	const struct app *a = &g->sup->pool.apps[g->app];
	struct group_autosize *of = &g->autosize;
	struct autosize *fit = &of->fit;
	uint64_t mean = of->measured > 0 ? of->most / of->measured : 0;

	fit->set = group_is_auto(g);
	fit->least = MAX(a->options.min_processes, 1);
	fit->bound = fit->set
	    ? MIN(g->conf->pool.max_processes, g->sup->config->max_processes)
	    : a->options.max_processes;
	fit->processes = app_living(a);
	fit->starves =
	    app_demand(a) > 0 && app_processes(a) >= a->options.max_processes;
	fit->own = of->own;
	if (mean > fit->size)
		fit->size = mean;
	else if (mean > 0)
		fit->size -= (fit->size - mean) / SIZE_FALL;
	/* A process that accepts by itself can keep a processor busy. */
	fit->share = 0;
	if (group_accepts_itself(g))
		fit->share = 1;
	else if (of->busy >= BUSY_LEAST &&
	    a->figures.completed >= PROMISE_EVIDENCE)
		fit->share = of->ran / of->busy;
}

/* The box has been looked at. */
static void
autosize_looked(struct lane_job *job, tstamp now)
{
	struct supervisor *s = LOOP_OWNER(job, struct supervisor, autosize.job);
	const struct machine *m = &s->autosize.found;
	struct autosize *all = &s->autosize.all, *first = NULL;
	struct group *g = NULL;

	s->autosize.under_way = false;
	s->autosize.box =
	    (struct autosize_box){ m->memory, m->used, m->processors };
	if (s->stopping || m->memory == 0)
		return;
	all->least = 0;
	while ((g = group_next(s, g)) != NULL) {
		autosize_look(g);
		g->autosize.fit.next = first;
		first = &g->autosize.fit;
		if (!g->closing)
			all->least +=
			    s->pool.apps[g->app].options.min_processes;
	}
	all->least = MAX(all->least, 1);
	autosize_step(&s->autosize.box, first, all);
	while ((g = group_next(s, g)) != NULL)
		if (g->autosize.fit.set)
			size_follow(g, now);
	if (all->set && all->ceiling != s->pool.max_processes)
		pool_resize(
		    &s->pool, all->ceiling, s->config->process_slack, now);
}

static void
autosize_read(struct lane_job *job)
{
	machine_read(
	    &LOOP_OWNER(job, struct supervisor, autosize.job)->autosize.found);
}

static void
autosize_tick(struct timer *t, tstamp now)
{
	struct supervisor *s =
	    TIMER_OWNER(t, struct supervisor, autosize.timer);
	const struct group *g = NULL;

	while (!s->config->max_auto && (g = group_next(s, g)) != NULL)
		if (group_is_auto(g))
			break;
	if (!s->config->max_auto && g == NULL)
		return;
	autosize_measure(s, now);
	if (!s->autosize.under_way) {
		s->autosize.under_way = true;
		s->autosize.job.work = autosize_read;
		s->autosize.job.done = autosize_looked;
		lane_submit(&s->looker, &s->autosize.job);
	}
	timer_set(&s->loop.timers, t, now + AUTOSIZE_PERIOD);
}

void
autosize_begin(struct supervisor *s, tstamp now)
{
	if (s->autosize.lane.loop == NULL &&
	    lane_start(&s->autosize.lane, &s->loop, "measurer", NULL) == -1) {
		log_warn("max_processes = auto: cannot start a thread");
		s->autosize.lane.loop = NULL;
		return;
	}
	s->autosize.timer.fire = autosize_tick;
	timer_advance(
	    &s->loop.timers, &s->autosize.timer, now + AUTOSIZE_PERIOD);
}

void
autosize_configure(struct supervisor *s, tstamp now)
{
	const struct conf *conf = s->config;
	struct autosize *all = &s->autosize.all;
	uint32_t least = 0;

	for (size_t i = 0; i < conf->apps_len; i++)
		least += conf->apps[i].pool.min_processes;
	all->set = conf->max_auto;
	all->bound = conf->max_processes;
	/* Nothing is known at first: the minima, and a process for each app. */
	if (all->ceiling == 0)
		all->ceiling = MAX(least, (uint32_t)conf->apps_len);
	all->ceiling = MIN(MAX(all->ceiling, MAX(least, 1)), all->bound);
	if (!all->set)
		all->ceiling = all->bound;
	pool_resize(&s->pool, all->ceiling, conf->process_slack, now);
	if (all->set)
		autosize_begin(s, now);
}
