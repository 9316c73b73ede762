#ifndef SIM_MANAGER_H
#define SIM_MANAGER_H

/*
 * A manager of workers, as the engine (engine.h) drives it: the engine tells
 * what has happened in virtual time, the manager answers with the engine's
 * services.  Our core behind pool_driver.h is a manager, each of the peers
 * (policy.h) is another.
 *
 * The services never call the manager back: what they bring about is told
 * later, at the same virtual time at the earliest.  At one instant the order
 * is: ends of requests, starts and exits as they were brought about, then
 * arrivals in the order of the load, then a tick.
 *
 * Workers are numbers that the manager chooses, 0 … its `workers` - 1, free
 * again after exited().  Requests (connections) are numbers that the engine
 * gives, 0 … the manager's `requests` - 1, free after their end.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"

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

#endif
