/* The life of a process as a table. */

#include <assert.h>

#include "core/process.h"

/*
 * The state after each event.  HOLE: an event that only we could cause here,
 * and must not.  FOUL: an event that the process caused, and must not.
 */
enum {
	HOLE = PROCESS_STATES + 1,
	FOUL = PROCESS_STATES,
	GONE = PROCESS_GONE,
	STARTING = PROCESS_STARTING,
	IDLE = PROCESS_IDLE,
	ACTIVE = PROCESS_ACTIVE,
	DETACHED = PROCESS_DETACHED,
	RETIRING = PROCESS_RETIRING,
	STOPPING = PROCESS_STOPPING,
	DYING = PROCESS_DYING
};

/* clang-format off */
static const unsigned char table[PROCESS_STATES][PROCESS_EVENTS] = {
/*	               STARTED   READY     GIVEN   DONE      EMPTIED   RELEASED  TOLD      DIED   FREED */
[PROCESS_GONE] =     { STARTING, HOLE,     HOLE,   HOLE,     HOLE,     HOLE,     HOLE,     HOLE,  HOLE },
[PROCESS_STARTING] = { HOLE,     IDLE,     HOLE,   FOUL,     FOUL,     HOLE,     STOPPING, DYING, GONE },
[PROCESS_IDLE] =     { HOLE,     FOUL,     ACTIVE, FOUL,     FOUL,     HOLE,     STOPPING, DYING, HOLE },
[PROCESS_ACTIVE] =   { HOLE,     FOUL,     ACTIVE, ACTIVE,   IDLE,     DETACHED, RETIRING, DYING, HOLE },
[PROCESS_DETACHED] = { HOLE,     FOUL,     HOLE,   DETACHED, STOPPING, HOLE,     RETIRING, DYING, HOLE },
[PROCESS_RETIRING] = { HOLE,     FOUL,     HOLE,   RETIRING, STOPPING, HOLE,     RETIRING, DYING, HOLE },
[PROCESS_STOPPING] = { HOLE,     STOPPING, HOLE,   FOUL,     FOUL,     HOLE,     STOPPING, DYING, GONE },
[PROCESS_DYING] =    { HOLE,     DYING,    HOLE,   DYING,    DYING,    HOLE,     HOLE,     HOLE,  GONE },
};
/* clang-format on */

enum process_state
process_next(enum process_state s, enum process_event e)
{
	unsigned next = table[s][e];

	assert(next != HOLE);
	return (enum process_state)next;
}

const char *
process_state_name(enum process_state s)
{
	static const char *const names[] = {
		[PROCESS_GONE] = "gone",
		[PROCESS_STARTING] = "starting",
		[PROCESS_IDLE] = "idle",
		[PROCESS_ACTIVE] = "active",
		[PROCESS_DETACHED] = "detached",
		[PROCESS_RETIRING] = "retiring",
		[PROCESS_STOPPING] = "stopping",
		[PROCESS_DYING] = "dying",
	};

	return names[s];
}

const char *
process_end_name(enum process_end e)
{
	static const char *const names[] = {
		[END_EXIT] = "exit",
		[END_FAILURE] = "failure",
		[END_SIGNAL] = "signal",
		[END_RETIRED] = "retired",
		[END_IDLE] = "idle",
		[END_LOAD] = "load",
		[END_EVICTED] = "evicted",
		[END_REQUESTS] = "max_requests",
		[END_LIFETIME] = "max_lifetime",
		[END_MEMORY] = "max_memory",
		[END_KEEPER] = "keeper",
		[END_RESIZED] = "resized",
		[END_DETACHED] = "detached",
		[END_RESTARTED] = "restarted",
		[END_DRAINED] = "drained",
		[END_STOPPED] = "stopped",
		[END_CLOSED] = "closed",
		[END_SHUTDOWN] = "shutdown",
		[END_START_TIMEOUT] = "start_timeout",
		[END_PICKUP_TIMEOUT] = "pickup_timeout",
		[END_REQUEST_TIMEOUT] = "request_timeout",
		[END_NONSENSE] = "nonsense",
		[END_FAIL] = "fail",
		[END_SPAWN] = "spawn",
	};

	return names[e];
}
