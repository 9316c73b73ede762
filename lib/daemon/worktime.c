/* Processor time of those who accept connections themselves. */

#include "daemon/worktime.h"
#include "daemon/holding.h"
#include "daemon/listening.h"
#include "daemon/round.h"
#include "sys/procinfo.h"

/* Samples in each update_interval and in max_idle_time, if these are long. */
#define WORKTIME_SAMPLES 4
#define WORKTIME_PAUSE_MIN TSPAN_MSECONDS(100)
#define WORKTIME_PAUSE_MAX TSPAN_SECONDS(10)

/* What is over this share of a processor is in use, whatever it holds. */
#define WORKTIME_IDLE 0.01

static tspan
worktime_pause(const struct conf_app *conf)
{
	tspan pause = conf->update_interval;

	if (conf->max_idle_time > 0 && conf->max_idle_time < pause)
		pause = conf->max_idle_time;
	pause /= WORKTIME_SAMPLES;
	if (pause < WORKTIME_PAUSE_MIN)
		return WORKTIME_PAUSE_MIN;
	return pause > WORKTIME_PAUSE_MAX ? WORKTIME_PAUSE_MAX : pause;
}

void
worktime_born(struct worker *w, tstamp now)
{
	/* What it does before it serves is no load. */
	w->worked_at = 0;
	worktime_configure(w->group, now);
}

void
worktime_configure(struct group *g, tstamp now)
{
	if (listening_is(g))
		g->sup->worktime_at = tstamp_min(g->sup->worktime_at,
		    tstamp_add(now, worktime_pause(g->conf)));
}

tstamp
worktime_deadline(const struct supervisor *s)
{
	return s->worktime_at;
}

static bool
worktime_is_due(const struct worker *w, tstamp now)
{
	return w->pid != 0 && listening_is(w->group) &&
	    w->sup->pool.processes[w->process].state == PROCESS_IDLE &&
	    now - w->worked_at >= worktime_pause(w->group->conf) / 2;
}

static void
worktime_sample(struct worker *w, tstamp now)
{
	bool first = w->worked_at == 0, idle;
	tspan used, passed = now - w->worked_at, before = w->worked;

	/* One that is dead and not reaped yet has used what it has. */
	if (procinfo_cpu(w->pid, &used) == -1)
		return;
	w->worked = used;
	w->worked_at = now;
	if (first || passed <= 0)
		return;
	/* The kernel does not promise that this clock never goes back. */
	w->processors =
	    used < before ? 0 : (double)(used - before) / (double)passed;
	idle = w->processors <= WORKTIME_IDLE;
	pool_worked(&w->sup->pool, w->process, w->processors, !idle, now);
	if (idle)
		holding_look(w->group, now);
}

/* When the next round begins: when the first of the apps wants it. */
static tstamp
worktime_next_round(const struct supervisor *s, tstamp now)
{
	tspan pause = TSTAMP_NEVER;
	const struct group *g;

	TAILQ_FOREACH(g, &s->listening, listening_next)
		if (app_living(&s->pool.apps[g->app]) > 0)
			pause = tstamp_min(pause, worktime_pause(g->conf));
	return tstamp_add(now, pause);
}

void
worktime_tick(struct supervisor *s, tstamp now)
{
	if (round_go_on(
		s, &s->worktime_next, worktime_is_due, worktime_sample, now))
		s->worktime_at = worktime_next_round(s, now);
}
