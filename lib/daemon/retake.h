#ifndef DAEMON_RETAKE_H
#define DAEMON_RETAKE_H

/*
 * Taking back what a dead worker never received. A keeper of its app reads the
 * worker's end of the channel, of which we have a copy, and not we: a
 * descendant of the worker that sits in a page fault inside recvmsg() holds
 * the lock of the socket, and every reader waits for it. A keeper that does so
 * is left alone, and what it was to take back is lost.
 *
 * That a message is one of ours, and the descriptor the one that was sent with
 * it, needs no proof: only our end sends to the worker's, and nobody else has
 * that. Each is received once, by the worker or the keeper.
 *
 * An app takes back from one worker at a time, and waits for no other app.
 */

#include "daemon/keeper.h"

/* How long a keeper is looked for that can be asked. */
#define RETAKE_LIMIT TSPAN_SECONDS(5)

/*
 * One dead worker's channel, embedded in the user's struct and left alone
 * from retake_begin() until end() is called.
 */
struct retake {
	STAILQ_ENTRY(retake) next; /* in group.retakes */
	const char *id; /* of the worker; not owned */
	int child_end; /* of the channel; stays the user's */
	tstamp limit; /* NEVER: it was not its turn yet */
	/*
	 * A message the worker had not received, oldest first, and its
	 * descriptor, which is the callee's now; -1: it had none, or we had no
	 * room for it.
	 */
	void (*message)(
	    struct retake *, const char *buf, size_t len, int fd, tstamp now);
	/*
	 * The end, from which on it is the user's again and may be freed.
	 * Complete: all was read. Else the rest is lost.
	 */
	void (*end)(struct retake *, bool complete, tstamp now);
};

/* For a new group. */
void retake_init(struct group *g);

/* Queues it. Calls nothing back before the next turn of the loop. */
void retake_begin(struct group *g, struct retake *r, tstamp now);

/*
 * For keeping.c: a packet of the keeper's, with its descriptor, which is taken
 * over unless the result is false; the keeper does not answer, or is dead.
 */
bool retake_heard(
    struct keeper *k, const char *packet, size_t len, int fd, tstamp now);
void retake_unheard(struct keeper *k, tstamp now);

#endif
