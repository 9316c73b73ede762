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
 * and so does every connection that has waited for 3 s, for 6 s, 9 s ….  Who
 * asks within init-start-delay of the last start of the app, or within
 * restart-delay if the slot was used before, is not heard, nor who asks while
 * a victim has not ended.
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

#include <stdlib.h>

#include "core/deadlines.h"
#include "sim/backlog.h"
#include "sim/engine.h"
#include "sim/policy.h"

#define FASTCGI_TICK TSPAN_SECONDS(1)
#define FASTCGI_START_DELAY TSPAN_SECONDS(3)
#define FASTCGI_SLACK 5
#define FASTCGI_MAX 50
#define FASTCGI_CLASSES 5 /* -maxProcesses / -maxClassProcesses */
#define FASTCGI_GAIN 0.5
#define FASTCGI_MULTI 50 /* percent */

/* It counts whole seconds. */
#define FASTCGI_INTERVAL 300
#define FASTCGI_INIT_START 1
#define FASTCGI_RESTART 5

struct fastcgi_class {
	int64_t started; /* second of the last start; 0: none */
	int64_t updated; /* second of the last update */
	uint64_t sum; /* microseconds of requests since then */
	uint64_t smooth;
};

struct fastcgi {
	struct backlog backlog;
	struct fastcgi_class *classes;
	struct deadlines waits; /* of requests: when they ask next */
	void *memory; /* of waits */
	int64_t looked; /* second of the last kill policy; 0: none yet */
	uint32_t min;
	uint32_t max;
};

static int64_t
fastcgi_second(tstamp now)
{
	return now / TSPAN_SECONDS(1);
}

/* Nothing runs before the first connection. */
static uint32_t
fastcgi_first(const struct conf_app *app)
{
	(void)app;
	return 0;
}

/* --- the kill policy ---------------------------------------------------- */

/* Whether there is no victim in the class, in the integers of its source. */
static bool
fastcgi_loaded(const struct fastcgi_class *c, int running, int64_t seconds)
{
	uint64_t used = c->smooth != 0 ? c->smooth : c->sum;
	uint64_t time = (uint64_t)running * (uint64_t)seconds * 1000000 + 1;
	/* An int there: under slack, `time` is 1 and this wraps around. */
	int load = (int)(uint32_t)(100 * used / time);

	if (running == 1)
		return load >= 0;
	return (int)(uint32_t)(running / (running - 1) * (int64_t)load) >=
	    FASTCGI_MULTI;
}

static void
fastcgi_stop_youngest(struct backlog *b, const struct backlog_app *a)
{
	uint32_t w, youngest = ILIST_NONE;

	for (w = a->base; w < a->base + a->conf->max_processes; w++) {
		const struct backlog_worker *worker = &b->workers[w];

		if (!backlog_is_active(worker))
			continue;
		if (youngest == ILIST_NONE ||
		    worker->born >= b->workers[youngest].born)
			youngest = w;
	}
	if (youngest != ILIST_NONE)
		backlog_stop(b, youngest);
}

static void
fastcgi_kill(struct fastcgi *f, int64_t second)
{
	struct backlog *b = &f->backlog;
	uint32_t app, victims = 0;

	for (app = 0; app < b->napps; app++) {
		const struct backlog_app *a = &b->apps[app];
		uint32_t running = backlog_active(a);

		if (!a->served || running == 0 ||
		    fastcgi_loaded(
			&f->classes[app], (int)running, second - f->looked))
			continue;
		/* One that has not ended yet is waited for. */
		if (a->leaving > 0)
			continue;
		fastcgi_stop_youngest(b, a);
		victims++;
		if (b->total - victims <= f->min)
			break;
	}
	f->looked = second;
}

/* What is done on each message, and when an alarm goes off. */
static void
fastcgi_pass(struct fastcgi *f, tstamp now)
{
	int64_t second = fastcgi_second(now);
	uint32_t app;

	for (app = 0; app < f->backlog.napps; app++) {
		struct fastcgi_class *c = &f->classes[app];

		if (c->updated == 0)
			c->updated = second;
		if (second - c->updated < FASTCGI_INTERVAL)
			continue;
		c->updated +=
		    (second - c->updated) / FASTCGI_INTERVAL * FASTCGI_INTERVAL;
		c->smooth = (uint64_t)((1 - FASTCGI_GAIN) * (double)c->smooth +
		    FASTCGI_GAIN * (double)c->sum);
		c->sum = 0;
	}
	if (f->looked == 0)
		f->looked = second;
	if (second - f->looked >= FASTCGI_INTERVAL ||
	    f->backlog.total + FASTCGI_SLACK >= f->max)
		fastcgi_kill(f, second);
}

/* --- messages ----------------------------------------------------------- */

/* Somebody asks for one more process. */
static void
fastcgi_ask(struct fastcgi *f, uint32_t app, tstamp now)
{
	struct backlog *b = &f->backlog;
	struct backlog_app *a = &b->apps[app];
	struct fastcgi_class *c = &f->classes[app];
	int64_t second = fastcgi_second(now), pause;

	fastcgi_pass(f, now);
	if (b->total + 1 > f->max || a->leaving > 0 || ilist_empty(&a->free))
		return;
	pause = b->workers[a->free.first].born != 0 ? FASTCGI_RESTART
						    : FASTCGI_INIT_START;
	if (second - c->started < pause)
		return;
	c->started = second;
	backlog_start(b, app, 1, now);
}

static void
fastcgi_arrived(
    struct backlog *b, uint32_t app, uint32_t request, bool waits, tstamp now)
{
	struct fastcgi *f = (struct fastcgi *)b;

	if (!waits)
		return;
	deadlines_set(&f->waits, request, now + FASTCGI_START_DELAY);
	if (backlog_living(&b->apps[app]) == 0)
		fastcgi_ask(f, app, now);
}

static void
fastcgi_begun(struct backlog *b, uint32_t request)
{
	deadlines_set(&((struct fastcgi *)b)->waits, request, TSTAMP_NEVER);
}

static void
fastcgi_finished(struct backlog *b, uint32_t worker, tspan served, tstamp now)
{
	struct fastcgi *f = (struct fastcgi *)b;

	/* The record of a request is read after the updates that are due. */
	fastcgi_pass(f, now);
	f->classes[b->workers[worker].app].sum +=
	    (uint64_t)(served / TSPAN_USECONDS(1));
}

static tstamp
fastcgi_due(const struct backlog *b)
{
	uint32_t request;

	return deadlines_first(&((const struct fastcgi *)b)->waits, &request);
}

static void
fastcgi_woken(struct backlog *b, tstamp now)
{
	struct fastcgi *f = (struct fastcgi *)b;
	uint32_t request;

	while (deadlines_first(&f->waits, &request) <= now) {
		deadlines_set(&f->waits, request, now + FASTCGI_START_DELAY);
		fastcgi_ask(f, engine_app_of(b->manager.engine, request), now);
	}
}

static void
fastcgi_ticked(struct backlog *b, uint32_t app, tstamp now)
{
	(void)app;
	fastcgi_pass((struct fastcgi *)b, now);
}

/* --- memory ------------------------------------------------------------- */

static void
fastcgi_fini(struct backlog *b)
{
	free(((struct fastcgi *)b)->memory);
	free(((struct fastcgi *)b)->classes);
}

struct manager *
policy_fastcgi_new(const struct conf *conf, uint64_t seed)
{
	static const struct backlog_ops ops = {
		.name = "mod_fastcgi",
		.period = FASTCGI_TICK,
		.first = fastcgi_first,
		.arrived = fastcgi_arrived,
		.begun = fastcgi_begun,
		.finished = fastcgi_finished,
		.ticked = fastcgi_ticked,
		.due = fastcgi_due,
		.woken = fastcgi_woken,
		.fini = fastcgi_fini,
	};
	struct fastcgi *f =
	    (struct fastcgi *)backlog_new(sizeof(*f), &ops, conf, seed);
	uint32_t app, requests;

	if (f == NULL)
		return NULL;
	requests = f->backlog.manager.requests;
	f->classes = calloc(conf->apps_len, sizeof(*f->classes));
	f->memory = calloc(1, deadlines_memory(requests));
	if (f->classes == NULL || f->memory == NULL) {
		fastcgi_fini(&f->backlog);
		backlog_free(&f->backlog);
		return NULL;
	}
	deadlines_init(&f->waits, f->memory, requests);
	f->max = conf->max_processes;
	if (f->max < FASTCGI_MAX)
		f->max = FASTCGI_MAX;
	for (app = 0; app < conf->apps_len; app++) {
		const struct conf_app *a = &conf->apps[app];

		f->min += a->min_processes;
		if (f->max < FASTCGI_CLASSES * a->max_processes)
			f->max = FASTCGI_CLASSES * a->max_processes;
	}
	return &f->backlog.manager;
}
