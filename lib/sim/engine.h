#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

/*
 * Virtual time: the engine takes the requests (connections) of a load to a
 * manager, plays the workers that the manager starts, and notes what comes of
 * it.  engine_run.c lets time pass; engine.c plays workers and requests.
 *
 * A worker serves `concurrency` requests at a time, each for as long as the
 * load says.  Further requests that it is given lie in its socket, unread, in
 * order; it reads the next when it has finished one, as a real worker does.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/ilist.h"
#include "core/tstamp.h"
#include "sim/clients.h"
#include "sim/events.h"
#include "sim/load.h"
#include "sim/manager.h"
#include "sim/result.h"
#include "sim/tally.h"

/* When the load starts, by the manager's clock: the core wants more than 0. */
#define ENGINE_EPOCH TSPAN_SECONDS(3600)

/* Longest run after the end of the load. */
#define ENGINE_DRAIN TSPAN_SECONDS(3600)

struct engine_options {
	tspan start_time; /* from a start to ready; under ENGINE_EPOCH */
	tspan exit_time; /* from an end to exited() */

	/* Called now and then if not NULL: how much of the load is over. */
	void (*progress)(void *arg, tstamp at);
	void *progress_arg;
};

/*
 * Runs all of the load, and goes on until all connections have ended, but at
 * most ENGINE_DRAIN longer.  The manager is started so long before the load
 * that the workers it asks for at once are ready then: start_time before.
 *
 * *out: initialised for as many apps as the load has (result_init()).  0; or
 * -1: errno, or 0 in it: a mistake in the trace (load_mistake()).
 *
 * More than manager->requests connections at once are refused before the
 * manager hears of them, so it must be what the manager can hold and one more.
 *
 * The same load and manager give the same result.  Memory is allocated before
 * the run, not in it.
 */
int engine_run(const struct engine_options *o, struct load *load,
    struct manager *m, struct result *out);

/* --- services for the manager ------------------------------------------- */

/*
 * Starts a worker of the app under this number, which must be free; it serves
 * `concurrency` requests at a time.  It may be given requests when ready() has
 * been told.
 */
void engine_start(
    struct engine *e, uint32_t worker, uint32_t app, uint32_t concurrency);

/*
 * The worker finishes what it has, unread requests included, and exits.  From
 * now on it no longer counts among the processes, and may not be given any.
 */
void engine_stop(struct engine *e, uint32_t worker);

/* The worker exits, whatever it is doing. */
void engine_kill(struct engine *e, uint32_t worker);

/* Gives the worker a request that no worker holds. */
void engine_give(struct engine *e, uint32_t worker, uint32_t request);

/*
 * Takes back the oldest request that lies unread in the worker's socket;
 * ILIST_NONE: there is none.
 */
uint32_t engine_take(struct engine *e, uint32_t worker);

/* Ends a request that no worker holds. */
enum engine_refusal {
	ENGINE_REFUSED,
	ENGINE_OVERFLOWED, /* its backlog is full */
	ENGINE_TIMED_OUT,
};

void engine_refuse(struct engine *e, uint32_t request, enum engine_refusal how);

/* The app's promise, and what it needs for that; see result_app. */
void engine_promise(struct engine *e, uint32_t app, tspan target_wait);
void engine_need(struct engine *e, uint32_t app, uint32_t need);

uint32_t engine_app_of(const struct engine *e, uint32_t request);

/* --- for engine_run() ---------------------------------------------------- */

enum engine_worker_state {
	ENGINE_FREE, /* the number is */
	ENGINE_STARTING,
	ENGINE_READY,
};

struct engine_worker {
	uint8_t state; /* enum engine_worker_state */
	bool leaving; /* told to stop, or killed */
	bool killed;
	uint32_t app;
	uint32_t concurrency;
	struct ilist serving; /* requests; at most `concurrency` */
	struct ilist unread; /* empty if it could read one */
	uint64_t order; /* of its event to come; 0: none */
};

struct engine_request {
	uint64_t order; /* of the event that ends it; 0: not in service */
	tstamp arrived;
	tstamp given; /* to its worker */
	tspan service;
	uint32_t app;
	uint32_t worker; /* ILIST_NONE: none holds it */
	bool used;
};

struct engine {
	const struct engine_options *options;
	struct manager *manager;
	struct clients *clients; /* NULL: arrivals are those of the load */
	struct result *result;
	struct tally *tallies; /* of the apps, and behind them of all */
	struct engine_worker *workers;
	struct engine_request *requests;
	struct ilink *links; /* of requests: free, serving, unread ones */
	struct ilist free_requests;
	uint32_t present; /* requests that are used */
	uint32_t exited; /* worker whose exit is being told; or ILIST_NONE */
	struct ilist left; /* requests that it had not read */

	/* Below manager->workers: of that worker; else of a request. */
	struct events events;

	tstamp now;
	bool over; /* the load is */
};

/*
 * Until engine_fini(), all but the name of the result belongs to the engine.
 * -1 and errno: no memory.
 */
int engine_init(struct engine *e, const struct engine_options *o,
    const struct load_spec *load, struct manager *m, struct result *out);
void engine_fini(struct engine *e);

/* A connection arrives now. */
void engine_admit(struct engine *e, uint32_t app, tspan service);

/* The first of the events, whose time is now, happens. */
void engine_play(struct engine *e);

/* The load is over now. */
void engine_close(struct engine *e);

/* Counts what is left of the connections, and completes the result. */
void engine_sum_up(struct engine *e);

#endif
