#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

/*
 * Virtual time: the engine takes the requests (connections) of a load to a
 * manager of workers, plays the workers that the manager starts, and notes
 * what comes of it.  Our core (pool_driver.c) is such a manager; each of the
 * peers that tests compare it with is another.
 *
 * The engine tells what has happened, the manager answers with the engine's
 * services.  The services never call the manager back: what they bring about
 * is told later, at the same virtual time at the earliest.  At one instant the
 * order is: ends of requests, starts and exits as they were brought about, then
 * arrivals in the order of the load, then a tick.
 *
 * Workers are numbers that the manager chooses, 0 … its `workers` - 1, free
 * again after exited().  Requests are numbers that the engine gives, 0 … the
 * manager's `requests` - 1, free after their end.
 *
 * A worker serves `concurrency` requests at a time, each for as long as the
 * load says.  Further requests that it is given lie in its socket, unread, in
 * order; it reads the next when it has finished one, as a real worker does.
 */

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "core/tstamp.h"
#include "sim/load.h"
#include "sim/result.h"

/* When the load starts, by the manager's clock: the core wants more than 0. */
#define ENGINE_EPOCH TSPAN_SECONDS(3600)

/* Longest run after the end of the load. */
#define ENGINE_DRAIN TSPAN_SECONDS(3600)

struct engine;
struct manager;

struct manager_ops {
	/* The first workers may be started. Before time 0: see engine_run(). */
	void (*started)(struct manager *m, tstamp now);

	/* A request to be given to a worker, kept until then, or refused. */
	void (*arrived)(
	    struct manager *m, uint32_t app, uint32_t request, tstamp now);

	/* The start_time of the worker is over. */
	void (*ready)(struct manager *m, uint32_t worker, tstamp now);

	/*
	 * The request has been served and its number is free.  If another
	 * request lay unread in the worker's socket, the worker has begun with
	 * that already.
	 */
	void (*finished)(
	    struct manager *m, uint32_t worker, uint32_t request, tstamp now);

	/*
	 * The worker is gone, and its number is free when this returns.
	 * killed: what it was serving is lost.  What lay unread can be had back
	 * here by engine_take(), and only here; else it is lost too.
	 */
	void (*exited)(
	    struct manager *m, uint32_t worker, bool killed, tstamp now);

	/* When tick() is wanted if nothing happens; TSTAMP_NEVER: never. */
	tstamp (*due)(const struct manager *m);
	void (*tick)(struct manager *m, tstamp now);

	void (*fini)(struct manager *m);
};

/* The first member of whatever a manager is. */
struct manager {
	const struct manager_ops *ops;
	const char *name; /* as the result calls it: "apppoold", "php-fpm …" */
	uint32_t workers; /* numbers it may use */
	uint32_t requests; /* that may be there at once; see engine_run() */
	struct engine *engine; /* set before started() */
};

struct engine_options {
	tspan start_time; /* from a start to ready; under ENGINE_EPOCH */
	tspan exit_time; /* from an end to exited() */
};

/* --- engine.c ------------------------------------------------------------- */

/*
 * Runs all of the load, and goes on until all connections have ended, but at
 * most ENGINE_DRAIN longer.  The manager is started so long before the load
 * that the workers it asks for at once are ready then: start_time before.
 *
 * *out: initialised for as many apps as the load has (result_init()).  0; or
 * -1: a mistake in the trace (load_mistake()).
 *
 * More than manager->requests connections at once are refused before the
 * manager hears of them, so it must be what the manager can hold and one more.
 *
 * The same load and manager give the same result.
 */
int engine_run(const struct engine_options *o, struct load *load,
    struct manager *m, struct result *out);

/* Starts a worker under this number, which must be free. */
void engine_start(
    struct engine *e, uint32_t worker, uint32_t app, uint32_t concurrency);

/*
 * The worker finishes what it has, unread requests included, and exits.  From
 * now on it no longer counts among the processes, and may not be given any.
 */
void engine_stop(struct engine *e, uint32_t worker);

/* The worker exits, whatever it is doing. */
void engine_kill(struct engine *e, uint32_t worker);

/* Gives a worker that is ready a request that no worker holds. */
void engine_give(struct engine *e, uint32_t worker, uint32_t request);

/* Takes the oldest request back that the worker has not read; ILIST_NONE. */
uint32_t engine_take(struct engine *e, uint32_t worker);

/* Ends a request that no worker holds. */
enum engine_refusal {
	ENGINE_REFUSED,
	ENGINE_OVERFLOWED, /* its backlog is full */
	ENGINE_TIMED_OUT,
};

void engine_refuse(struct engine *e, uint32_t request, enum engine_refusal how);

/* The app's promise, and the workers that it needs for that. */
void engine_need(
    struct engine *e, uint32_t app, tspan target_wait, uint32_t need);

uint32_t engine_app_of(const struct engine *e, uint32_t request);

/* --- pool_driver.c -------------------------------------------------------- */

/*
 * Our manager: the core itself, as the daemon drives it, with a backlog in
 * front of each app such as the kernel has.
 *
 * conf must outlive it; the caller undoes it with m->ops->fini(m).  seed is
 * that of the core's own jitters.
 */
struct manager *pool_driver_new(const struct conf *conf, uint64_t seed);

#endif
