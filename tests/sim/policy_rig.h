#ifndef TESTS_SIM_POLICY_RIG_H
#define TESTS_SIM_POLICY_RIG_H

/*
 * One policy in virtual time, with an engine of this file's own: workers are
 * ready, finish and so on when a test says so, and nothing else happens.
 * Tests count milliseconds from rig_begin(); what the policy has started and
 * stopped since the last look comes out of rig_starts() and rig_stops().
 */

#include <assert.h>

#include "sim/engine.h"

#include "../bench/peers/policies.h"
#include "../unit/check.h"

#define RIG_START TSPAN_SECONDS(3600)
#define RIG_APPS 8
#define RIG_WORKERS 600
#define RIG_REQUESTS 4000

enum rig_state {
	RIG_FREE,
	RIG_STARTING,
	RIG_READY,
};

struct rig_worker {
	enum rig_state state;
	bool leaving;
	unsigned order; /* of its start */
	uint32_t serving[8]; /* requests in its hands, oldest first */
	unsigned nserving;
};

static struct {
	struct conf conf;
	struct conf_app apps[RIG_APPS];
	uint32_t app_of[RIG_REQUESTS];
	struct manager *manager;
	struct rig_worker workers[RIG_WORKERS];
	unsigned order;
	bool used[RIG_REQUESTS];
	tstamp now;
	unsigned starts;
	unsigned stops;
	unsigned refused;
	uint32_t stopped; /* the last one */
} rig;

/* --- the engine --------------------------------------------------------- */

void
engine_start(
    struct engine *e, uint32_t process, uint32_t app, uint32_t concurrency)
{
	(void)e;
	(void)app;
	(void)concurrency;
	assert(process < RIG_WORKERS);
	assert(rig.workers[process].state == RIG_FREE);
	rig.workers[process] =
	    (struct rig_worker){ .state = RIG_STARTING, .order = ++rig.order };
	rig.starts++;
}

void
engine_stop(struct engine *e, uint32_t process)
{
	(void)e;
	assert(!rig.workers[process].leaving);
	rig.workers[process].leaving = true;
	rig.stopped = process;
	rig.stops++;
}

void
engine_give(struct engine *e, uint32_t process, uint32_t request)
{
	struct rig_worker *w = &rig.workers[process];

	(void)e;
	assert(w->state == RIG_READY && !w->leaving && w->nserving < 8);
	w->serving[w->nserving++] = request;
}

void
engine_refuse(struct engine *e, uint32_t request, enum engine_refusal how)
{
	(void)e;
	assert(how == ENGINE_OVERFLOWED);
	rig.used[request] = false;
	rig.refused++;
}

uint32_t
engine_app_of(const struct engine *e, uint32_t request)
{
	(void)e;
	return rig.app_of[request];
}

/* --- what happens ------------------------------------------------------- */

/* Lets workers exit that are to leave and have nothing to do. */
static inline void
rig_settle(void)
{
	for (uint32_t n = 0; n < RIG_WORKERS; n++) {
		struct rig_worker *w = &rig.workers[n];

		if (!w->leaving || w->nserving > 0)
			continue;
		w->state = RIG_FREE;
		w->leaving = false;
		rig.manager->ops->exited(rig.manager, n, false, rig.now);
	}
}

/* Begins with so many apps like this. No worker is ready: rig_ready(). */
static inline void
rig_begin_like(enum policies policy, struct conf_app app, unsigned apps)
{
	memset(&rig, 0, sizeof(rig));
	rig.now = RIG_START;
	app.listen.backlog = 1024;
	app.pool.max_queue = 100;
	for (unsigned i = 0; i < apps; i++)
		rig.apps[i] = app;
	rig.conf = (struct conf){
		.max_processes = apps * app.pool.max_processes,
		.apps = rig.apps,
		.apps_len = apps,
	};
	rig.manager = policies_new(policy, &rig.conf, 1);
	rig.manager->ops->started(rig.manager, rig.now);
}

static inline void
rig_begin_apps(enum policies policy, unsigned apps, unsigned min, unsigned max)
{
	rig_begin_like(policy,
	    (struct conf_app){
		.pool.sessions = true,
		.pool.min_processes = min,
		.pool.max_processes = max,
		.pool.concurrency = 1,
	    },
	    apps);
}

static inline void
rig_begin(enum policies policy, unsigned min, unsigned max)
{
	rig_begin_apps(policy, 1, min, max);
}

static inline void
rig_end(void)
{
	rig.manager->ops->fini(rig.manager);
}

/* Lets all workers that start be ready. */
static inline void
rig_ready(void)
{
	for (uint32_t n = 0; n < RIG_WORKERS; n++) {
		struct rig_worker *w = &rig.workers[n];

		if (w->state != RIG_STARTING || w->leaving)
			continue;
		w->state = RIG_READY;
		rig.manager->ops->ready(rig.manager, n, rig.now);
	}
	rig_settle();
}

/* Begins with all first workers ready, and their starts seen. */
static inline void
rig_begin_ready(enum policies policy, unsigned min, unsigned max)
{
	rig_begin(policy, min, max);
	rig_ready();
	rig.starts = 0;
}

static inline void
rig_arrive_at(uint32_t app, unsigned n)
{
	for (uint32_t request = 0; n > 0; request++) {
		assert(request < RIG_REQUESTS);
		if (rig.used[request])
			continue;
		rig.used[request] = true;
		rig.app_of[request] = app;
		rig.manager->ops->arrived(rig.manager, app, request, rig.now);
		n--;
	}
	rig_settle();
}

static inline void
rig_arrive(unsigned n)
{
	rig_arrive_at(0, n);
}

/* Lets the worker finish its oldest request. */
static inline void
rig_finish(uint32_t worker)
{
	struct rig_worker *w = &rig.workers[worker];
	uint32_t request = w->serving[0];

	assert(w->nserving > 0);
	memmove(
	    w->serving, w->serving + 1, --w->nserving * sizeof(w->serving[0]));
	rig.used[request] = false;
	rig.manager->ops->finished(rig.manager, worker, request, rig.now);
	rig_settle();
}

/* Lets every worker that is busy now finish a request. */
static inline void
rig_finish_all(void)
{
	bool busy[RIG_WORKERS];

	for (uint32_t n = 0; n < RIG_WORKERS; n++)
		busy[n] = rig.workers[n].nserving > 0;
	for (uint32_t n = 0; n < RIG_WORKERS; n++) {
		if (busy[n])
			rig_finish(n);
	}
}

/* Lets that much time pass, with all ticks that are due. */
static inline void
rig_pass(unsigned milliseconds)
{
	tstamp end = rig.now + TSPAN_MSECONDS(milliseconds);

	while (rig.manager->ops->due(rig.manager) <= end) {
		tstamp due = rig.manager->ops->due(rig.manager);

		if (due > rig.now)
			rig.now = due;
		rig.manager->ops->tick(rig.manager, rig.now);
		rig_settle();
	}
	rig.now = end;
}

/* Lets seconds pass in which nothing happens but ticks. */
static inline void
rig_seconds(unsigned n)
{
	rig_pass(1000 * n);
}

/* --- what there is ------------------------------------------------------ */

static inline unsigned
rig_starts(void)
{
	unsigned n = rig.starts;

	rig.starts = 0;
	return n;
}

static inline unsigned
rig_stops(void)
{
	unsigned n = rig.stops;

	rig.stops = 0;
	return n;
}

/* The number of workers, leaving ones not included. */
static inline unsigned
rig_count(void)
{
	unsigned count = 0;

	for (uint32_t n = 0; n < RIG_WORKERS; n++)
		count +=
		    rig.workers[n].state != RIG_FREE && !rig.workers[n].leaving;
	return count;
}

/* The worker that was started as the n-th, from 1; RIG_WORKERS: none. */
static inline uint32_t
rig_nth(unsigned order)
{
	uint32_t n = 0;

	while (n < RIG_WORKERS &&
	    (rig.workers[n].state == RIG_FREE || rig.workers[n].order != order))
		n++;
	return n;
}

/* The first worker with something to do; RIG_WORKERS: there is none. */
static inline uint32_t
rig_busy(void)
{
	uint32_t n = 0;

	while (n < RIG_WORKERS && rig.workers[n].nserving == 0)
		n++;
	return n;
}

#endif
