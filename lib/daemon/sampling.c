/*
 * Samples of what processes use, taken in rounds over all workers, a piece in
 * each turn of the loop, so that thousands do not hold it up: their resident
 * size, for apps with max_memory (and at the end of each session); and their
 * processor time, for apps whose processes accept connections themselves.
 * Without such an app there is no round, unless apps have cgroups: the figures
 * of all are read by a lane.
 */

#include <sys/param.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/worker.h"
#include "sys/procinfo.h"

/* Workers sampled in one turn at most, and looked at whether they are due. */
#define SAMPLING_TURN_MAX 64
#define SAMPLING_SCAN_MAX 4096

/* Samples of processor time in update_interval and in max_idle_time. */
#define SAMPLING_CPU 4
#define SAMPLING_PAUSE_MIN TSPAN_MSECONDS(100)
#define SAMPLING_PAUSE_MAX TSPAN_SECONDS(10)

/* Between looks at the figures of cgroups. */
#define SAMPLING_CGROUPS TSPAN_SECONDS(2)

/* Children of a process, and theirs, that are counted. */
#define SAMPLING_CHILDREN 64

/* Over this share of a processor a process is in use, whatever it holds. */
#define SAMPLING_IDLE 0.01

void
sampling_memory(struct worker *w, tstamp now)
{
	uint64_t bytes;
	int folder;

	if (w->group->conf->pool.max_memory == 0 || w->pid == 0)
		return;
	if (w->memory_fd == -1 &&
	    (folder = procinfo_folder(w->pid, w->adapted)) != -1) {
		w->memory_fd = openat(folder, "statm", O_RDONLY | O_CLOEXEC);
		close(folder);
	}
	/* A process without a descriptor, or dead, is left out. */
	if (w->memory_fd == -1 || procinfo_memory(w->memory_fd, &bytes) == -1)
		return;
	w->memory_at = now;
	pool_measured(&w->sup->pool, w->process, bytes, now);
}

/* With what its children have used: they do the work of a server's master. */
static void
sampling_cpu(struct worker *w, tstamp now)
{
	bool first = w->cpu_at == 0, idle;
	tspan used = 0, passed = now - w->cpu_at, before = w->cpu;
	pid_t pids[1 + SAMPLING_CHILDREN] = { w->pid };
	int n =
	    1 + MAX(0, procinfo_children(w->pid, pids + 1, SAMPLING_CHILDREN));

	for (int i = 0; i < n; i++) {
		struct procinfo info = { .cpu_ended = 0 };
		struct timespec ts;
		clockid_t clock;

		/*
		 * Exact to the nanosecond, with threads that have ended. A
		 * process that is dead and not reaped yet has used what it has.
		 */
		if (clock_getcpuclockid(pids[i], &clock) == 0 &&
		    clock_gettime(clock, &ts) == 0)
			used += TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
		else if (i == 0)
			return;
		(void)procinfo_read(pids[i], false, &info);
		used += info.cpu_ended;
	}
	w->cpu = used;
	w->cpu_at = now;
	if (first || passed <= 0)
		return;
	/* It goes back when the time of a child that ends is rounded. */
	w->processors =
	    used < before ? 0 : (double)(used - before) / (double)passed;
	idle = w->processors <= SAMPLING_IDLE;
	pool_worked(&w->sup->pool, w->process, w->processors, !idle, now);
	if (idle)
		backlog_sampled(w, now);
}

/* --- cgroups -------------------------------------------------------------- */

struct sampling_look {
	struct lane_job job;
	struct supervisor *sup;
	struct conf *config; /* a reference */
	struct cgroup_figures figures[]; /* of its apps */
};

static void
sampling_look_work(struct lane_job *job)
{
	struct sampling_look *l = LOOP_OWNER(job, struct sampling_look, job);
	int folder;

	for (size_t i = 0; i < l->config->apps_len; i++) {
		folder = cgroup_open(l->config->apps[i].name, NULL);
		if (folder != -1) {
			cgroup_read(folder, &l->figures[i]);
			(void)close(folder);
		}
	}
}

static void
sampling_look_done(struct lane_job *job, tstamp now)
{
	struct sampling_look *l = LOOP_OWNER(job, struct sampling_look, job);

	for (size_t i = 0; i < l->config->apps_len; i++) {
		struct group *g = group_find(l->sup, l->config->apps[i].name);

		if (g == NULL)
			continue;
		/* A process killed before the last look was none of ours. */
		if (g->cgroup.oom_kills < g->cgroup.figures.oom_kills)
			g->cgroup.oom_kills = g->cgroup.figures.oom_kills;
		g->cgroup.figures = l->figures[i];
	}
	l->sup->sampling.cgroups_at = now + SAMPLING_CGROUPS / 2;
	conf_free(l->config);
	free(l);
}

static void
sampling_look(struct supervisor *s, tstamp now)
{
	const size_t n = s->config->apps_len;
	struct sampling_look *l;

	if (cgroup_lacks(CGROUP_ANY) != NULL || now < s->sampling.cgroups_at)
		return;
	l = calloc(1, sizeof(*l) + n * sizeof(l->figures[0]));
	if (l == NULL)
		return;
	s->sampling.cgroups_at = TSTAMP_NEVER;
	l->sup = s;
	l->config = conf_ref(s->config);
	l->job.work = sampling_look_work;
	l->job.done = sampling_look_done;
	lane_submit(&s->looker, &l->job);
}

/* --- rounds --------------------------------------------------------------- */

/* Between samples of the size, or of the processor time; NEVER: none. */
static tspan
sampling_pause(const struct group *g, bool cpu)
{
	const struct app_options *o = &g->conf->pool;
	tspan pause = o->load.update_interval;

	if (cpu ? !group_accepts_itself(g) : o->max_memory == 0)
		return TSTAMP_NEVER;
	if (cpu && o->max_idle_time > 0)
		pause = tstamp_min(pause, o->max_idle_time);
	if (cpu)
		pause = tstamp_min(pause / SAMPLING_CPU, SAMPLING_PAUSE_MAX);
	return pause < SAMPLING_PAUSE_MIN ? SAMPLING_PAUSE_MIN : pause;
}

/* A piece of a round. If there is more, the next turn comes at once. */
static void
sampling_round(struct timer *t, tstamp now)
{
	struct supervisor *s =
	    TIMER_OWNER(t, struct supervisor, sampling.timer);
	uint32_t n = s->sampling.next, end = n + SAMPLING_SCAN_MAX, sampled = 0;

	for (; n < s->pool.nprocesses && n < end && sampled < SAMPLING_TURN_MAX;
	     n++) {
		struct worker *w = s->workers[n];
		uint8_t state = s->pool.processes[n].state;
		bool memory, cpu;

		if (w == NULL)
			continue;
		memory = (state == PROCESS_IDLE || state == PROCESS_ACTIVE) &&
		    now - w->memory_at >=
			sampling_pause(w->group, false) / 4 * 3;
		cpu = w->pid != 0 && state == PROCESS_IDLE &&
		    now - w->cpu_at >= sampling_pause(w->group, true) / 2;
		if (memory)
			sampling_memory(w, now);
		if (cpu)
			sampling_cpu(w, now);
		sampled += memory || cpu;
	}
	s->sampling.next = n < s->pool.nprocesses ? n : 0;
	if (s->sampling.next != 0) {
		timer_set(&s->loop.timers, t, now);
		return;
	}
	sampling_look(s, now);
	/* The start of a process makes the next round of an app without any. */
	for (uint32_t app = 0; app < s->pool.napps; app++)
		if (s->groups[app] != NULL &&
		    app_living(&s->pool.apps[app]) > 0)
			sampling_begin(s->groups[app], now);
}

void
sampling_begin(struct group *g, tstamp now)
{
	tspan pause =
	    tstamp_min(sampling_pause(g, false), sampling_pause(g, true));

	if (cgroup_lacks(CGROUP_ANY) == NULL)
		pause = tstamp_min(pause, SAMPLING_CGROUPS);
	g->sup->sampling.timer.fire = sampling_round;
	timer_advance(&g->sup->loop.timers, &g->sup->sampling.timer,
	    tstamp_add(now, pause));
}
