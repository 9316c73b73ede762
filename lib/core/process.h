#ifndef CORE_PROCESS_H
#define CORE_PROCESS_H

/*
 * A process of an app: its states, the events that change them, and why it
 * ended.  States and events form a table (process.c), and events that cannot
 * be in a state stand in it as such.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/ilist.h"
#include "core/tstamp.h"

enum process_state {
	PROCESS_GONE, /* this number is free */
	PROCESS_STARTING, /* asked for, not yet ready */
	PROCESS_IDLE, /* ready, without a session */
	PROCESS_ACTIVE, /* ready, with sessions */
	PROCESS_DETACHED, /* finishing its sessions, and then told to stop */
	PROCESS_RETIRING, /* told to stop, finishing its sessions */
	PROCESS_STOPPING, /* told to stop, without a session */
	PROCESS_DYING, /* dead; what it never received is being taken back */
	PROCESS_STATES
};

enum process_event {
	PROCESS_STARTED,
	PROCESS_READY,
	PROCESS_GIVEN, /* a connection */
	PROCESS_DONE, /* a session ended, others remain */
	PROCESS_EMPTIED, /* the last session ended */
	PROCESS_RELEASED, /* it is given no more, and not told to stop yet */
	PROCESS_TOLD, /* to stop */
	PROCESS_DIED,
	PROCESS_FREED,
	PROCESS_EVENTS
};

/* How far the stopping of a process has come. */
enum process_step {
	STEP_NONE,
	STEP_STOP, /* asked politely */
	STEP_TERM, /* SIGTERM sent */
	STEP_KILL, /* SIGKILL sent to its group */
	STEP_STUCK, /* and still there kill_timeout later */
};

/*
 * Why a process ended.  Up to END_SIGNAL it ended by itself; the others are
 * ends that we asked for.
 */
enum process_end {
	END_EXIT, /* exit 0 */
	END_FAILURE, /* another exit status */
	END_SIGNAL, /* killed, not by us */
	END_RETIRED, /* it asked to retire */
	END_IDLE, /* max_idle_time */
	END_LOAD, /* not needed, by the load estimate */
	END_EVICTED, /* its place is for another app */
	END_REQUESTS, /* max_requests */
	END_LIFETIME, /* max_lifetime */
	END_MEMORY, /* max_memory */
	END_KEEPER, /* nobody reads its output any more */
	END_RESIZED, /* over a lowered ceiling */
	END_DETACHED, /* an operator had it leave */
	END_RESTARTED, /* replaced by a newer generation */
	END_DRAINED, /* its app was drained */
	END_STOPPED, /* its app was stopped */
	END_CLOSED, /* its app left the configuration */
	END_SHUTDOWN, /* the daemon stops */
	END_START_TIMEOUT, /* not ready within start_timeout */
	END_PICKUP_TIMEOUT, /* did not receive what it was handed */
	END_REQUEST_TIMEOUT, /* a session over request_timeout old */
	END_NONSENSE, /* broke the worker protocol */
	END_FAIL, /* said FAIL */
	END_SPAWN, /* could not be started */
	PROCESS_ENDS
};

struct process {
	uint8_t state; /* enum process_state */
	uint8_t step; /* enum process_step */
	uint8_t end; /* enum process_end, if asked */
	bool asked; /* we asked for its end */
	bool launched; /* its ACTION_SPAWN was taken out */
	bool queued; /* launched, but others are started first */
	bool stuck; /* SIGKILL did not end it */
	bool apart; /* no ceiling counts it: stuck, or detached */
	bool ready; /* READY was said, or ready_after has passed */
	bool cooling; /* no room until it speaks or cool_until */
	bool expiring; /* its last allowed session is running */
	bool single; /* started for one session only */
	bool exited; /* if dying: ended by exit() */
	bool blind; /* when its sessions end cannot be known */
	uint8_t
	    outdated; /* enum process_end: to be replaced for this; 0: not */
	uint32_t app;
	uint32_t generation; /* of the app when it was started */
	uint32_t concurrency; /* likewise */
	uint32_t places; /* further sessions that there is room for */
	uint32_t home; /* enum app_home: the list of its app it is on */
	struct ilist conns; /* assigned and handed, in this order */
	uint32_t prefetched; /* the first such of them; ILIST_NONE: none */
	uint32_t busy; /* its part in its app's load, of room_whole() */
	uint64_t stamp; /* unique over the pool's life */
	uint64_t requests; /* sessions that ended */
	uint64_t handed; /* sessions begun, retaken ones not counted */
	uint64_t request_limit; /* 0: none */
	tstamp started;
	tstamp since; /* the beginning of its state */
	tstamp used; /* last hand-over or end of a session */
	tstamp executed; /* without sessions: the exec; 0: not yet */
	tstamp step_at; /* when the present step of stopping began */
	tstamp cool_until;
	uint32_t jitter; /* of all that varies by process, in 2^-32 */
};

/* Sessions in its hands, assigned ones included. */
static inline uint32_t
process_sessions(const struct process *p)
{
	return p->conns.count;
}

/*
 * The state after the event, or PROCESS_STATES if the process caused an event
 * that cannot be in this state: it breaks the protocol.  An event that only
 * we could have caused wrongly is our bug: assert.
 */
enum process_state process_next(enum process_state s, enum process_event e);

/* The words of status and logs. */
const char *process_state_name(enum process_state s);
const char *process_end_name(enum process_end e);

#endif
