#ifndef SUPPORT_LOCKS_H
#define SUPPORT_LOCKS_H

/*
 * Loads for a server of locks.  Each runs for about `span` on connections that
 * are open, and gives the operations it did and the time they took.  A wrong
 * answer ends the program.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"

struct locks {
	int *fds; /* connections */
	int count;
	int depth; /* lines sent at a time, even */
	bool echo; /* any answer is right */
	tspan span;
	int64_t operations;
	tspan elapsed;
};

/*
 * Locks and unlocks a key of its own on each connection, depth lines at a
 * time; all connections have one question open at any time.  An operation is
 * a line and its answer.
 */
void locks_round_trips(struct locks *l);

/* Each connection holds the same key in turn. An operation: LOCKED. */
void locks_handover(struct locks *l);

/* All connections wait for the release of the holder. An operation: DONE. */
void locks_wake_all(struct locks *l);

/* Four locks on each connection. */
void locks_hold(struct locks *l);

#endif
