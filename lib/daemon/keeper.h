#ifndef DAEMON_KEEPER_H
#define DAEMON_KEEPER_H

/*
 * The keepers of apps: processes of ours that touch what workers can have
 * others wait for; see keeper/keeper.c. An app has one, which starts with its
 * first process. A keeper that does not answer is left alone, and another takes
 * over. It is never waited for: when the kernel lets it go on it answers again,
 * or sees that the daemon is gone. What it is told, and what it says, is the
 * matter of keeping.h.
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
#include "sys/lane.h"

/* Keepers that an app has at a time; without one that answers it has failed. */
#define KEEPER_MAX 3

/* The time for an answer, and where it waits for nothing but its turn. */
#define KEEPER_PATIENCE TSPAN_SECONDS(1)
#define KEEPER_LIMIT TSPAN_SECONDS(10)

LIST_HEAD(kept_list, kept);

/* The uses of keepers. */
struct keeper_ops {
	/*
	 * A packet, and the descriptor with it, which is the callee's now; -1:
	 * there is none, or had no room. Returns the lines in it.
	 */
	int (*heard)(struct keeper *, const char *packet, size_t len, int fd,
	    tstamp now);
	/* An answer came: there may be room in its socket again. */
	void (*answered)(struct keeper *);
	/* A keeper is frozen, or dead and freed next. */
	void (*silent)(struct keeper *, tstamp now);
};

struct keeper {
	TAILQ_ENTRY(keeper) next; /* in supervisor.keepers */
	struct supervisor *sup;
	struct group *group; /* NULL: its app is gone */
	char *app; /* for the log; owned */
	struct output output; /* its socket */
	int its_end; /* of the socket, until it is started; then -1 */
	struct kept_list kept; /* outputs; see kept.h */
	char *left; /* identifiers to be said; owned */
	size_t nleft;
	unsigned takes; /* that it has to answer; see retake.h */
	bool closed; /* KEEPER_CLOSED is to be said; see closing.h */
	tstamp no_room_since; /* for the next packet; NEVER: there is */
	tstamp born;
	struct timer timer; /* its next question, or its answer is late */
	tstamp asked_at; /* TSTAMP_NEVER: it has answered */
	bool frozen; /* it does not answer */
	bool dead;
	bool dismissed; /* its socket is shut down */
	/* Its start, in most cases a worker's first step in the lane. */
	bool taken; /* begun */
	struct lane_job job; /* otherwise */
	char *path; /* owned */
	char *title; /* in ps(1); owned */
	char *argv[2];
	struct child_spec spec;
	struct child_result result; /* pid 0: not started yet */
};

/* Whether an app of these options needs keepers. */
bool keeper_is_needed(const struct conf_app *conf);

/* The keeper that new tasks are for; NULL: none answers. */
struct keeper *keeper_current(const struct group *g);

/* The current keeper, or a new one, not started yet; NULL and errno. */
struct keeper *keeper_get(struct group *g, tstamp now);

/*
 * Why no process of the app can be started now, or NULL: its keepers do not
 * answer.
 */
const char *keeper_fault(const struct group *g);

/* The keeper answers what it was just told, unless it is frozen. */
void keeper_expect(struct keeper *k, tstamp now);

/* Dismisses the keeper if it keeps nothing and another has taken over. */
void keeper_spare(struct keeper *k);

/*
 * The keeper that must be started before a worker; NULL: it is, or another
 * start sees to it. keeper_start() runs in the lane, and returns whether the
 * keeper runs; keeper_started() in the loop after it.
 */
struct keeper *keeper_new_one(const struct group *g);
bool keeper_start(struct keeper *k);
void keeper_started(struct keeper *k, tstamp now);

/* Starts it without a worker, unless that is begun. */
void keeper_start_alone(struct keeper *k);

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
