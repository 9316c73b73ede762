#ifndef SIM_ENGINE_PRIVATE_H
#define SIM_ENGINE_PRIVATE_H

/* What the files of the engine share: engine.c lets time pass, engine_play.c
 * plays the processes, engine_result.c sums up. */

#include <stdbool.h>
#include <stdint.h>

#include "sim/engine.h"
#include "sim/events.h"
#include "sim/tally.h"

enum played_state {
	PLAYED_NONE, /* this number is free */
	PLAYED_STARTING,
	PLAYED_READY,
};

struct played {
	uint8_t state; /* enum played_state */
	bool leaving; /* told to stop, or killed */
	bool killed;
	uint32_t app;
	uint32_t concurrency;
	struct ilist serving; /* requests; at most `concurrency` */
	struct ilist unread; /* empty if it could read one */
	uint64_t order; /* of its event to come; 0: none */
};

struct request {
	uint64_t order; /* of the event that ends it; 0: not in service */
	tstamp arrived;
	tstamp given; /* to its process */
	tspan service;
	uint32_t app;
	uint32_t process; /* ILIST_NONE: none holds it */
	bool used;
};

struct engine {
	const struct engine_options *options;
	struct load *load;
	struct manager *manager;
	struct result *result;
	struct tally *tallies; /* of the apps */
	struct tally *total; /* NULL: there is but one app */
	struct played *processes;
	struct request *requests;
	struct ilink *links; /* of requests: free, serving, unread ones */
	struct ilist free_requests;
	uint32_t present; /* requests that are used */
	struct ilist estate; /* what the one that just exited had not read */
	uint32_t buried; /* that one; ILIST_NONE: none */

	/* Below manager->processes: of that process; else of a request. */
	struct events events;

	tstamp now;
	tstamp end; /* of the load; TSTAMP_NEVER: not known yet */
	bool over; /* the load is */
	tstamp next_at; /* of the arrival to come; TSTAMP_NEVER: none is */
	struct arrival next;
};

/* Lets the figures of the app come to the present; before they change. */
static inline void
engine_pass(struct engine *e, uint32_t app)
{
	tally_to(&e->tallies[app], e->now);
	if (e->total != NULL)
		tally_to(e->total, e->now);
}

/* One more or less of the connections that no process holds. */
static inline void
engine_unheld(struct engine *e, uint32_t app, uint32_t by)
{
	e->tallies[app].unheld += by;
	if (e->total != NULL)
		e->total->unheld += by;
}

/* The event is that of something that has ended meanwhile. */
bool engine_is_stale(const void *arg, const struct event *event);

void engine_request_free(struct engine *e, uint32_t request);

/* What is to happen happens. */
void engine_play(struct engine *e, const struct event *event);

/* Counts what is left of the connections, and fills in the result. */
void engine_sum_up(struct engine *e);

#endif
