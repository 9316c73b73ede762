#ifndef DAEMON_KEPT_H
#define DAEMON_KEPT_H

/*
 * The output of workers, which the keepers of their apps read. A keeper that
 * does not answer gets no further workers, and those it has are replaced.
 */

#include "daemon/keeper.h"

/* The output of a worker, embedded in its struct. */
struct kept {
	LIST_ENTRY(kept) next; /* of its keeper */
	struct keeper *keeper; /* NULL: nobody reads it */
	uint32_t process; /* the worker's number in the pool */
	const char *id; /* not owned, lasts as long */
};

/* The output of the process of this number; no keeper reads it yet. */
void kept_init(struct kept *o, uint32_t process, const char *id);

/*
 * Opens the pipe for a worker and has a keeper of its app read it until
 * kept_leave(). owner: the user that may open /dev/stderr; (uid_t)-1: ours.
 * Gives the end for the worker, which the caller closes, or -1 and errno.
 */
int kept_hold(struct group *g, struct kept *o, uid_t owner);

/* The worker is gone: its keeper reads the pipe to the end and closes it. */
void kept_leave(struct kept *o);

/*
 * For keeping.c: logs a packet, and returns the lines in it; says what had no
 * room before; has workers replaced whose output nobody reads.
 */
int kept_heard(const struct keeper *k, const char *packet, size_t len);
void kept_say(struct keeper *k);
void kept_unheard(struct keeper *k, tstamp now);

#endif
