#ifndef DAEMON_KEEPER_H
#define DAEMON_KEEPER_H

/*
 * The keepers of apps: processes of ours that read what workers print, because
 * a worker can have its reader wait for ever; see keeper/keeper.c. An app has
 * one, which starts with its first process. A keeper that does not answer gets
 * no further workers, those it has are replaced, and another takes over. It is
 * never waited for: when the kernel lets it go on it answers again, or sees
 * that the daemon is gone.
 */

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/group.h"
#include "daemon/output.h"
#include "sys/child.h"
#include "sys/keeper_wire.h"

/* Keepers that an app has at a time; without one that answers it has failed. */
#define KEEPER_MAX 3

/* The time for an answer, and where it waits for nothing but its turn. */
#define KEEPER_PATIENCE TSPAN_SECONDS(1)
#define KEEPER_LIMIT TSPAN_SECONDS(10)

/* The output of a worker, embedded in its struct. */
struct kept {
	LIST_ENTRY(kept) next; /* of its keeper */
	struct keeper *keeper; /* NULL: nobody reads it */
	uint32_t process; /* the worker's number in the pool */
	const char *id; /* not owned, lasts as long */
};

LIST_HEAD(kept_list, kept);

struct keeper {
	TAILQ_ENTRY(keeper) next; /* in supervisor.keepers */
	struct supervisor *sup;
	struct group *group; /* NULL: its app is gone */
	char *app; /* for the log; owned */
	struct output output; /* its socket */
	int its_end; /* of the socket, until it is started; then -1 */
	struct kept_list kept;
	char *left; /* identifiers to be said; owned */
	size_t nleft;
	tstamp born;
	struct timer timer; /* its next question, or its answer is late */
	tstamp asked_at; /* TSTAMP_NEVER: it has answered */
	bool frozen; /* it does not answer */
	bool dismissed; /* its socket is shut down */
	/* Its start, which is a worker's first step in the lane. */
	bool taken; /* by a worker */
	char *path; /* owned */
	char *argv[2];
	struct child_spec spec;
	struct child_result result; /* pid 0: not started yet */
};

/* The output of the process of this number; no keeper reads it yet. */
void keeper_init(struct kept *o, uint32_t process, const char *id);

/*
 * Why no process of the app can be started now, or NULL: its keepers do not
 * answer.
 */
const char *keeper_fault(const struct group *g);

/*
 * Opens the pipe for a worker and has a keeper of its app read it until
 * keeper_leave(). owner: the user that may open /dev/stderr; (uid_t)-1: ours.
 * Gives the end for the worker, which the caller closes, or -1 and errno.
 */
int keeper_hold(struct group *g, struct kept *o, uid_t owner);

/* The worker is gone: its keeper reads the pipe to the end and closes it. */
void keeper_leave(struct kept *o);

/*
 * The keeper that must be started before the worker of this output; NULL: it
 * is, or another worker's start sees to it. keeper_start() runs in the lane,
 * and returns whether the keeper runs; keeper_started() in the loop after it.
 */
struct keeper *keeper_new_one(struct kept *o);
bool keeper_start(struct keeper *k);
void keeper_started(struct keeper *k, tstamp now);

/*
 * Has the keepers of an app that is gone, or of all (NULL), pass on what is
 * left and end. Each is freed when it has.
 */
void keeper_dismiss_all(struct supervisor *s, const struct group *g);

/* Whether there are keepers that are not frozen. */
bool keeper_any_answers(const struct supervisor *s);

/* Forgets all keepers; no start of one may be in the lane. */
void keeper_free_all(struct supervisor *s);

#endif
