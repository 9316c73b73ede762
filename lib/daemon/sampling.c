/* Memory and processor time of processes, sampled in rounds. */

#include <unistd.h>

#include "daemon/group.h"
#include "daemon/listeners.h"
#include "daemon/worker.h"
#include "sys/procinfo.h"

/* Workers sampled in one turn at most, and looked at whether they are due. */
#define TURN_MAX 64
#define SCAN_MAX 4096

/* Rounds of memory begin no sooner one after the other. */
#define MEMORY_PAUSE TSPAN_MSECONDS(100)

/* Samples in each update_interval and in max_idle_time, if these are long. */
#define CPU_SAMPLES 4
#define CPU_PAUSE_MIN TSPAN_MSECONDS(100)
#define CPU_PAUSE_MAX TSPAN_SECONDS(10)

/* Over this share of a processor a process is in use, whatever it holds. */
#define CPU_IDLE 0.01

/*
 * Goes on with a round: samples the workers that are due. False: there is
 * more, for which the next turn comes at once.
 */
static bool
go_on(struct supervisor *s, struct sampling_round *r,
    bool (*is_due)(const struct worker *, tstamp now),
    void (*sample)(struct worker *, tstamp now), tstamp now)
{
	uint32_t sampled = 0, end = r->next + SCAN_MAX;

	while (r->next < s->pool.nprocesses && r->next < end &&
	    sampled < TURN_MAX) {
		struct worker *w = s->workers[r->next++];

		if (w == NULL || !is_due(w, now))
			continue;
		sample(w, now);
		sampled++;
	}
	if (r->next < s->pool.nprocesses) {
		timer_set(&s->loop.timers, &r->timer, now);
		return false;
	}
	r->next = 0;
	return true;
}

/* --- memory ------------------------------------------------------------- */

static int
open_memory(const struct worker *w)
{
	int folder = worker_program(w), fd;

	if (folder == -1)
		return -1;
	fd = procinfo_memory_open(folder);
	close(folder);
	return fd;
}

void
sampling_memory(struct worker *w, tstamp now)
{
	uint64_t bytes;

	if (w->group->conf->pool.max_memory == 0 || w->pid == 0)
		return;
	if (w->memory_fd == -1)
		w->memory_fd = open_memory(w);
	/* A process without a descriptor, or dead, is left out. */
	if (w->memory_fd == -1 || procinfo_memory(w->memory_fd, &bytes) == -1)
		return;
	w->memory_at = now;
	pool_measured(&w->sup->pool, w->process, bytes, now);
}

/* Whether the process is ready, its app has max_memory, and it is time. */
static bool
memory_is_due(const struct worker *w, tstamp now)
{
	const struct conf_app *conf = w->group->conf;
	uint8_t state = w->sup->pool.processes[w->process].state;

	return conf->pool.max_memory > 0 &&
	    (state == PROCESS_IDLE || state == PROCESS_ACTIVE) &&
	    now - w->memory_at >= conf->pool.update_interval / 2;
}

/* Until the next round: the shortest update_interval. */
static tspan
memory_pause(const struct supervisor *s)
{
	tspan pause = TSTAMP_NEVER;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct group *g = s->groups[app];

		if (g != NULL && g->conf->pool.max_memory > 0)
			pause =
			    tstamp_min(pause, g->conf->pool.update_interval);
	}
	return pause < MEMORY_PAUSE ? MEMORY_PAUSE : pause;
}

static void
memory_round(struct timer *t, tstamp now)
{
	struct supervisor *s = TIMER_OWNER(t, struct supervisor, memory.timer);

	if (go_on(s, &s->memory, memory_is_due, sampling_memory, now))
		timer_set(&s->loop.timers, t, tstamp_add(now, memory_pause(s)));
}

/* --- processor time ----------------------------------------------------- */

static tspan
cpu_pause(const struct conf_app *conf)
{
	tspan pause = conf->pool.update_interval;

	if (conf->pool.max_idle_time > 0 && conf->pool.max_idle_time < pause)
		pause = conf->pool.max_idle_time;
	pause /= CPU_SAMPLES;
	if (pause < CPU_PAUSE_MIN)
		return CPU_PAUSE_MIN;
	return pause > CPU_PAUSE_MAX ? CPU_PAUSE_MAX : pause;
}

static bool
cpu_is_due(const struct worker *w, tstamp now)
{
	return w->pid != 0 && group_accepts_itself(w->group) &&
	    w->sup->pool.processes[w->process].state == PROCESS_IDLE &&
	    now - w->cpu_at >= cpu_pause(w->group->conf) / 2;
}

static void
sample_cpu(struct worker *w, tstamp now)
{
	bool first = w->cpu_at == 0, idle;
	tspan used, passed = now - w->cpu_at, before = w->cpu;

	/* A process that is dead and not reaped yet has used what it has. */
	if (procinfo_cpu(w->pid, &used) == -1)
		return;
	w->cpu = used;
	w->cpu_at = now;
	if (first || passed <= 0)
		return;
	/* The kernel does not promise that this clock never goes back. */
	w->processors =
	    used < before ? 0 : (double)(used - before) / (double)passed;
	idle = w->processors <= CPU_IDLE;
	pool_worked(&w->sup->pool, w->process, w->processors, !idle, now);
	if (idle)
		backlog_sampled(w, now);
}

/* When the next round begins: when the first of the apps wants it. */
static tstamp
next_cpu_round(const struct supervisor *s, tstamp now)
{
	tspan pause = TSTAMP_NEVER;

	for (uint32_t app = 0; app < s->pool.napps; app++) {
		const struct group *g = s->groups[app];

		if (g != NULL && group_accepts_itself(g) &&
		    app_living(&s->pool.apps[app]) > 0)
			pause = tstamp_min(pause, cpu_pause(g->conf));
	}
	return tstamp_add(now, pause);
}

static void
cpu_round(struct timer *t, tstamp now)
{
	struct supervisor *s = TIMER_OWNER(t, struct supervisor, cpu.timer);

	if (go_on(s, &s->cpu, cpu_is_due, sample_cpu, now))
		timer_set(&s->loop.timers, t, next_cpu_round(s, now));
}

/* --- beginning ---------------------------------------------------------- */

void
sampling_init(struct supervisor *s)
{
	timer_init(&s->memory.timer, memory_round);
	timer_init(&s->cpu.timer, cpu_round);
}

void
sampling_configure(struct group *g, tstamp now)
{
	struct supervisor *s = g->sup;

	if (g->conf->pool.max_memory > 0)
		timer_advance(&s->loop.timers, &s->memory.timer,
		    tstamp_add(now, g->conf->pool.update_interval));
	if (group_accepts_itself(g))
		timer_advance(&s->loop.timers, &s->cpu.timer,
		    tstamp_add(now, cpu_pause(g->conf)));
}

void
sampling_started(struct worker *w, tstamp now)
{
	/* The work of a process before it serves is no load. */
	w->cpu_at = 0;
	if (group_accepts_itself(w->group))
		timer_advance(&w->sup->loop.timers, &w->sup->cpu.timer,
		    tstamp_add(now, cpu_pause(w->group->conf)));
}
