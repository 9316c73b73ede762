#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

/*
 * Virtual time: takes the connections of a load to a manager, plays the
 * processes that the manager starts, and notes what comes of it.
 *
 * The manager is started so long before time 0 (the start of the load) that
 * the processes it asks for at once are ready then: start_time before.  Its
 * clock is later than 0 all the same, as the core wants it: ENGINE_EPOCH is
 * when the load starts.
 *
 * A process serves `concurrency` requests at a time, each for as long as the
 * load says.  Further ones that it is given lie in its socket, unread, in
 * order; it reads the next when it has finished one, as a real worker does.
 *
 * When the load has ended the run goes on until all connections have ended,
 * but at most ENGINE_DRAIN longer.
 *
 * The same load and manager give the same result.  Memory is allocated before
 * the run, not in it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/ilist.h"
#include "core/tstamp.h"
#include "sim/load.h"
#include "sim/manager.h"
#include "sim/result.h"

#define ENGINE_EPOCH TSPAN_SECONDS(3600)
#define ENGINE_DRAIN TSPAN_SECONDS(3600)

struct engine_options {
	tspan start_time; /* from a start to ready; under ENGINE_EPOCH */
	tspan exit_time; /* from an end to exited() */
	tspan length; /* of the load; 0: until its last arrival */

	/* Called now and then if not NULL: how much of the load is over. */
	void (*progress)(void *arg, tstamp at);
	void *progress_arg;
};

/*
 * Runs all of the load.  names: of the apps, as many as *out was initialised
 * for (result_init()).  0; or -1: errno, or 0 in it: a mistake in the trace
 * (load_mistake()).
 *
 * More than manager->requests connections at once are refused before the
 * manager hears of them, so it must be what the manager can hold and one more.
 */
int engine_run(const struct engine_options *o, struct load *load,
    const char *const *names, struct manager *m, struct result *out);

/* --- services for the manager ------------------------------------------- */

/*
 * Starts a process of the app under this number, which must be free; it
 * serves `concurrency` requests at a time.  It may be given requests when
 * ready() has been told.
 */
void engine_start(
    struct engine *e, uint32_t process, uint32_t app, uint32_t concurrency);

/*
 * It finishes what it has, unread ones included, and exits.  From now on it
 * no longer counts among the processes, and may not be given anything.
 */
void engine_stop(struct engine *e, uint32_t process);

/* It exits, whatever it is doing. */
void engine_kill(struct engine *e, uint32_t process);

/* Gives it a request that no process holds. */
void engine_give(struct engine *e, uint32_t process, uint32_t request);

/*
 * Takes back the oldest request that lies unread in its socket; ILIST_NONE:
 * there is none.
 */
uint32_t engine_take(struct engine *e, uint32_t process);

/* Ends a request that no process holds. */
enum engine_refusal {
	ENGINE_REFUSED,
	ENGINE_OVERFLOWED, /* its backlog is full */
	ENGINE_TIMED_OUT,
};

void engine_refuse(struct engine *e, uint32_t request, enum engine_refusal how);

/* --- what a manager may look at ----------------------------------------- */

uint32_t engine_app_of(const struct engine *e, uint32_t request);

#endif
