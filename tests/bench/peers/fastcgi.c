/*
 * mod_fastcgi's process manager for dynamic applications, as the source of
 * 2.4.7.1 has it.  -maxClassProcesses is max_processes of the app,
 * -minProcesses the sum of all min_processes, -maxProcesses the global
 * max_processes but at least five times the largest class and 50, as their
 * defaults are; all else has its default: -processSlack 5, -startDelay 3 s,
 * -updateInterval and -killInterval 300 s, -gainValue 0.5, -singleThreshold 0,
 * -multiThreshold 50, init-start-delay 1 s, restart-delay 5 s.
 *
 * Nothing is started before the first connection.  It asks for one process,
 * and so does every connection that has waited for 3 s, for 6 s, 9 s ….  A
 * request for a process is not heard within init-start-delay of the last start
 * of the app, or within restart-delay if the slot was used before, nor while a
 * victim has not ended.
 *
 * The time of finished requests is summed, and at each update halved into the
 * smoothed sum.  Every killInterval, and on every message while processes and
 * slack reach -maxProcesses, each class may have one victim, its youngest
 * process, busy or not: if the smoothed sum is less than -multiThreshold of
 * the time since the last such look.  Its source divides integers there:
 * n / (n - 1) is 2 for two processes and 1 for more.  It also mixes two
 * windows, and looks at -minProcesses when the victim is chosen already.
 *
 * The first byte of an answer is taken to come when a worker begins with it.
 */

#include "sim/simulate.h"

#include "peers.h"

#define TICK TSPAN_SECONDS(1)
#define START_DELAY TSPAN_SECONDS(3)
#define SLACK 5
#define MAX_PROCESSES 50
#define CLASSES 5 /* -maxProcesses / -maxClassProcesses */
#define GAIN 0.5
#define MULTI_THRESHOLD 50 /* percent */

/* Whole seconds, as mod_fastcgi counts them. */
#define INTERVAL 300
#define INIT_START_DELAY 1
#define RESTART_DELAY 5

struct fastcgi_class {
	int64_t started; /* second of the last start; 0: none */
	uint64_t sum; /* microseconds of requests since the last update */
	uint64_t smooth;
};

struct fastcgi {
	struct policy policy;
	int64_t updated; /* second of the last update; 0: no message yet */
	int64_t looked; /* second of the last kill policy */
	uint32_t min;
	uint32_t max;
};

static struct fastcgi_class *
class_of(struct policy *p, uint32_t app)
{
	return (struct fastcgi_class *)p->app_states + app;
}

static int64_t
second_of(tstamp now)
{
	return now / TSPAN_SECONDS(1);
}

/* Nothing runs before the first connection. */
static uint32_t
begin(struct policy *p, uint32_t app)
{
	(void)p;
	(void)app;
	return 0;
}

/* --- the kill policy ---------------------------------------------------- */

/* True if the class has no victim, in the integers of the source. */
static bool
is_loaded(const struct fastcgi_class *c, int running, int64_t seconds)
{
	uint64_t used = c->smooth != 0 ? c->smooth : c->sum;
	uint64_t time = (uint64_t)running * (uint64_t)seconds * 1000000 + 1;
	/* An int there: under slack, `time` is 1 and this wraps around. */
	int load = (int)(uint32_t)(100 * used / time);

	if (running == 1)
		return load >= 0;
	return (int)(uint32_t)(running / (running - 1) * (int64_t)load) >=
	    MULTI_THRESHOLD;
}

static void
stop_youngest(struct policy *p, const struct policy_app *a)
{
	const struct policy_worker *workers = p->workers;
	uint32_t youngest = ILIST_NONE;

	for (uint32_t w = a->base; w < a->base + a->numbers; w++) {
		if (!policy_is_active(&workers[w]))
			continue;
		if (youngest == ILIST_NONE ||
		    workers[w].started >= workers[youngest].started)
			youngest = w;
	}
	if (youngest != ILIST_NONE)
		policy_stop(p, youngest);
}

static void
kill_idle(struct fastcgi *f, int64_t second)
{
	struct policy *p = &f->policy;
	uint32_t victims = 0;

	for (uint32_t app = 0; app < p->napps; app++) {
		const struct policy_app *a = &p->apps[app];
		uint32_t running = policy_active(a);

		if (!a->served || running == 0 ||
		    is_loaded(
			class_of(p, app), (int)running, second - f->looked))
			continue;
		/* A victim that has not ended yet is waited for. */
		if (a->count[POLICY_LEAVING] > 0)
			continue;
		stop_youngest(p, a);
		victims++;
		if (p->total - victims <= f->min)
			break;
	}
	f->looked = second;
}

/* The windows begin with the first message. */
static void
begin_windows(struct fastcgi *f, int64_t second)
{
	const struct conf *conf = f->policy.conf;

	f->updated = f->looked = second;
	f->max = conf->max_processes;
	if (f->max < MAX_PROCESSES)
		f->max = MAX_PROCESSES;
	for (size_t i = 0; i < conf->apps_len; i++) {
		f->min += conf->apps[i].pool.min_processes;
		if (f->max < CLASSES * conf->apps[i].pool.max_processes)
			f->max = CLASSES * conf->apps[i].pool.max_processes;
	}
}

/* The work of each message, and of an alarm. */
static void
pass(struct fastcgi *f, tstamp now)
{
	struct policy *p = &f->policy;
	int64_t second = second_of(now), intervals;

	if (f->updated == 0)
		begin_windows(f, second);
	intervals = (second - f->updated) / INTERVAL;
	f->updated += intervals * INTERVAL;
	for (uint32_t app = 0; app < p->napps && intervals > 0; app++) {
		struct fastcgi_class *c = class_of(p, app);

		c->smooth = (uint64_t)((1 - GAIN) * (double)c->smooth +
		    GAIN * (double)c->sum);
		c->sum = 0;
	}
	if (second - f->looked >= INTERVAL || p->total + SLACK >= f->max)
		kill_idle(f, second);
}

/* --- messages ----------------------------------------------------------- */

/* A connection asks for one more process. */
static void
ask(struct policy *p, uint32_t app, tstamp now)
{
	struct fastcgi *f = (struct fastcgi *)p;
	struct policy_app *a = &p->apps[app];
	struct fastcgi_class *c = class_of(p, app);
	int64_t second = second_of(now), delay;

	pass(f, now);
	if (p->total + 1 > f->max || a->count[POLICY_LEAVING] > 0 ||
	    ilist_empty(&a->free))
		return;
	delay = p->workers[a->free.first].started != 0 ? RESTART_DELAY
						       : INIT_START_DELAY;
	if (second - c->started < delay)
		return;
	c->started = second;
	policy_start(p, app, 1, now);
}

static void
arrived(
    struct policy *p, uint32_t app, uint32_t request, bool waits, tstamp now)
{
	const struct policy_app *a = &p->apps[app];

	if (!waits)
		return;
	deadlines_set(&p->deadlines, request, now + START_DELAY);
	if (policy_active(a) + a->count[POLICY_LEAVING] == 0)
		ask(p, app, now);
}

static void
accepted(struct policy *p, uint32_t worker, uint32_t request, tstamp now)
{
	(void)worker;
	(void)now;
	deadlines_set(&p->deadlines, request, TSTAMP_NEVER);
}

static void
finished(struct policy *p, uint32_t worker, tspan served, tstamp now)
{
	/* The record of a request is read after the updates that are due. */
	pass((struct fastcgi *)p, now);
	class_of(p, p->workers[worker].app)->sum +=
	    (uint64_t)(served / TSPAN_USECONDS(1));
}

static void
waited(struct policy *p, uint32_t request, tstamp now)
{
	deadlines_set(&p->deadlines, request, now + START_DELAY);
	ask(p, p->app_of[request], now);
}

static void
ticked(struct policy *p, uint32_t app, tstamp now)
{
	(void)app;
	pass((struct fastcgi *)p, now);
}

const struct policy_ops policy_fastcgi = {
	.name = "mod_fastcgi",
	.period = TICK,
	.size = sizeof(struct fastcgi),
	.app_size = sizeof(struct fastcgi_class),
	.begin = begin,
	.arrived = arrived,
	.accepted = accepted,
	.finished = finished,
	.ticked = ticked,
	.due = waited,
};
