/* How large processes are. */

#include <unistd.h>

#include "daemon/measure.h"
#include "daemon/round.h"
#include "daemon/supervisor.h"
#include "sys/procinfo.h"

/* Rounds begin no sooner one after the other. */
#define MEASURE_PAUSE TSPAN_MSECONDS(100)

static int
measure_open(const struct worker *w)
{
	int folder = worker_program(w), fd;

	if (folder == -1)
		return -1;
	fd = procinfo_memory_open(folder);
	close(folder);
	return fd;
}

void
measure_worker(struct worker *w, tstamp now)
{
	uint64_t bytes;

	if (w->group->conf->max_memory == 0 || w->pid == 0)
		return;
	if (w->memory_fd == -1)
		w->memory_fd = measure_open(w);
	/* Without a descriptor, or when it is dead, there is another time. */
	if (w->memory_fd == -1 || procinfo_memory(w->memory_fd, &bytes) == -1)
		return;
	w->measured = now;
	pool_measured(&w->sup->pool, w->process, bytes, now);
}

void
measure_configure(struct group *g, tstamp now)
{
	if (g->conf->max_memory > 0)
		g->sup->measure_at = tstamp_min(g->sup->measure_at,
		    tstamp_add(now, g->conf->update_interval));
}

tstamp
measure_deadline(const struct supervisor *s)
{
	return s->measure_at;
}

/* Whether it is ready, of such an app, and has not been looked at lately. */
static bool
measure_is_due(const struct worker *w, tstamp now)
{
	const struct conf_app *conf = w->group->conf;
	uint8_t state = w->sup->pool.processes[w->process].state;

	return conf->max_memory > 0 &&
	    (state == PROCESS_IDLE || state == PROCESS_ACTIVE) &&
	    now - w->measured >= conf->update_interval / 2;
}

/* When the next round begins: at the shortest update_interval. */
static tstamp
measure_next_round(const struct supervisor *s, tstamp now)
{
	tspan interval = TSTAMP_NEVER;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct group *g = s->groups[app];

		if (g != NULL && g->conf->max_memory > 0)
			interval =
			    tstamp_min(interval, g->conf->update_interval);
	}
	if (interval < MEASURE_PAUSE)
		interval = MEASURE_PAUSE;
	return tstamp_add(now, interval);
}

void
measure_tick(struct supervisor *s, tstamp now)
{
	if (round_go_on(
		s, &s->measure_next, measure_is_due, measure_worker, now))
		s->measure_at = measure_next_round(s, now);
}
