#ifndef SIM_MANAGER_H
#define SIM_MANAGER_H

/*
 * A manager of processes, as the engine (engine.h) drives it: the engine
 * tells what has happened in virtual time, the manager answers with the
 * engine's services.  Our core behind pool_driver.h is one; the peers' rules
 * are others.
 *
 * The services never call the manager back: what they bring about is told
 * later, at the same virtual time at the earliest.  At one instant the order
 * is: ends of sessions, births and deaths as they were brought about, then
 * arrivals in the order of the load, then a tick.
 *
 * Processes are numbers that the manager chooses, 0 … its `processes` - 1,
 * free again after exited().  Requests (connections) are numbers that the
 * engine gives, 0 … its `requests` - 1, free after their end.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"

struct engine;
struct manager;

struct manager_ops {
	/* It may start its first processes. Before time 0: see engine.h. */
	void (*started)(struct manager *m, tstamp now);

	/* To be given to a process, kept until then, or refused. */
	void (*arrived)(
	    struct manager *m, uint32_t app, uint32_t request, tstamp now);

	/* Its start_time is over. */
	void (*ready)(struct manager *m, uint32_t process, tstamp now);

	/*
	 * The request has been served and its number is free.  If another one
	 * lay unread in the process's socket, that has been begun with already.
	 */
	void (*finished)(
	    struct manager *m, uint32_t process, uint32_t request, tstamp now);

	/*
	 * It is gone, and its number is free when this returns.  killed: what
	 * it was serving is lost.  What lay unread can be had back here by
	 * engine_take(), and only here; else it is lost too.
	 */
	void (*exited)(
	    struct manager *m, uint32_t process, bool killed, tstamp now);

	/* When it wants tick(), if nothing happens; TSTAMP_NEVER: never. */
	tstamp (*due)(const struct manager *m);
	void (*tick)(struct manager *m, tstamp now);

	void (*fini)(struct manager *m);
};

/* The first member of whatever a manager is. */
struct manager {
	const struct manager_ops *ops;
	const char *name; /* as the result calls it: "apppoold", "php-fpm …" */
	uint32_t processes; /* numbers it may use */
	uint32_t requests; /* that may be there at once; see engine.h */
	struct engine *engine; /* set before started() */
};

#endif
