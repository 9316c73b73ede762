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
	uint32_t process; /* the worker's number in the pool, or none */
	const char *id; /* not owned, lasts as long */
	struct timer patience; /* set: kept_ask() has no answer yet */
	/* The answer: the line, or none (len 0); may free the worker. */
	void (*words)(struct kept *, const char *line, size_t len, tstamp now);
};

/* A process that the pool does not know. */
#define KEPT_NO_PROCESS UINT32_MAX

/* The output of the process of this number; no keeper reads it yet. */
void kept_init(struct kept *o, uint32_t process, const char *id);

/*
 * Opens the pipes for a worker and has a keeper of its app read them until
 * kept_leave(). owner: the user that may open /dev/stderr; (uid_t)-1: ours.
 * Gives the ends for the worker, of standard output and of standard error,
 * which the caller closes. 0, or -1 and errno.
 */
int kept_hold(struct group *g, struct kept *o, uid_t owner, int ends_out[2]);

/*
 * Asks for the last line of a dead worker on standard error; all that it has
 * printed there is logged before the answer, o->words(), which comes within a
 * quarter of a second. False: there will be none.
 */
bool kept_ask(struct kept *o, tstamp now);

/* Whether the answer is still to come. */
static inline bool
kept_awaits(const struct kept *o)
{
	return o->patience.at != TSTAMP_NEVER;
}

/* The worker is gone: its keeper reads the pipes to the end and closes them. */
void kept_leave(struct kept *o);

/*
 * For keeping.c: logs a packet, and returns the lines in it; says what had no
 * room before; has workers replaced whose output nobody reads.
 */
int kept_heard(
    const struct keeper *k, const char *packet, size_t len, tstamp now);
void kept_say(struct keeper *k);
void kept_unheard(struct keeper *k, tstamp now);

#endif
