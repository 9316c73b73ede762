#ifndef DAEMON_KEEPER_H
#define DAEMON_KEEPER_H

/*
 * The keeper, one for all apps: a process of ours that touches what workers,
 * and clients of theirs, can have others wait for; see keeper/keeper.c.
 *
 * A keeper that waits for somebody is left alone, and killed, which comes true
 * when the kernel lets it go; another one takes over. We have a copy of each
 * descriptor that it was given, and take back from its socket what it has not
 * read: only what it was busy with is given up, which the page that we share
 * with it names. An app that has stalled KEEPER_STALLS of them has failed.
 */

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tstamp.h"
#include "sys/keeper_wire.h"
#include "sys/log.h"
#include "sys/loop.h"

struct conf_app;
struct group;

/* Keepers that one app may stall, each of which is forgotten after a while. */
#define KEEPER_STALLS 3

/* With more descriptors that wait to be closed an app accepts nothing. */
#define KEEPER_CLOSINGS 256

/* How long a keeper is looked for that answers when asked to take back. */
#define KEEPER_TAKE_LIMIT TSPAN_SECONDS(5)

/* A process that the pool does not know. */
#define KEEPER_NO_PROCESS UINT32_MAX

/*
 * An app as the keeper knows it: by its name, because what is left of it may
 * outlast its group, and what it did is still known when it comes again.
 */
struct keeper_app {
	TAILQ_ENTRY(keeper_app) next; /* in keepers.apps */
	struct keepers *all;
	char *name; /* owned */
	unsigned refs; /* of groups, outputs, closings and stalled keepers */
	unsigned stalls; /* keepers that it has stalled */
	enum log_level errors; /* of lines of standard error */
	struct keeper_closing {
		int fd;
		bool drain; /* what lies in it is read before */
	} * closings; /* owned, the oldest first */
	size_t nclosings;
};

/* The output of a worker, whose keeper_leave() has not returned false. */
struct output {
	TAILQ_ENTRY(output) next; /* in keepers.said, or unsaid */
	bool said;
	struct keeper_app *app;
	uint32_t process; /* the worker's number in the pool, or none */
	char id[KEEPER_ID_LEN + 1];
	int ends[KEEPER_HOLD_FDS]; /* to read; -1: given up */
	int its_ends[KEEPER_HOLD_FDS]; /* to write, until it has them; -1 */
	bool held; /* the keeper has it, too */
	bool gone; /* the worker is */
	struct timer patience; /* set: its last lines are waited for */
	/* They are there, or do not come; may free the worker. NULL: told. */
	void (*over)(void *arg, tstamp now);
	void *arg;
};

/*
 * The unread messages of a dead worker, or the oldest of a living one, embedded
 * in its struct and left alone from keeper_take_back() until end() is called.
 *
 * That a message is one of ours, and the descriptor the one that was sent with
 * it, needs no proof: only our end sends to the worker's, and nobody else has
 * that. Each is received once, by the worker or the keeper.
 */
struct retake {
	TAILQ_ENTRY(retake) next; /* in keepers.retakes */
	struct keeper_app *app;
	const char *id; /* of the worker; not owned */
	int child_end; /* of the channel; stays the user's */
	bool living;
	tstamp limit; /* the end, unless a keeper is at it; NEVER: no try yet */
	/*
	 * Each message, oldest first, and its descriptor, which is the callee's
	 * now; -1: it had none, or we had no room for it.
	 */
	void (*message)(
	    struct retake *, const char *buf, size_t len, int fd, tstamp now);
	/* Complete: all was read. Else the rest is lost, or may be. */
	void (*end)(struct retake *, bool complete, tstamp now);
};

/* The keeper and its predecessors, and all there is for it to do. */
struct keepers {
	struct supervisor *sup;
	struct keeper *current; /* NULL: none */
	TAILQ_HEAD(, keeper) stalled; /* the oldest first */
	tstamp rest; /* one died, or did not start: no other before then */
	bool ails; /* the latest did not start, which is told */
	bool unstarted; /* likewise, and not for want of room */
	struct timer timer; /* set: there may be something to say */
	TAILQ_HEAD(, keeper_app) apps;
	/* The keeper is to be told of the output; or there is nothing to be. */
	TAILQ_HEAD(, output) unsaid, said;
	TAILQ_HEAD(, retake) retakes;
	struct keeper_app *closing; /* descriptors of which it is given */
	size_t nclosing; /* so many */
	bool closes; /* it has descriptors that are ours no more */
	/* Lines that all workers together may have logged in a period. */
	struct timer lines; /* set: no more in this one */
	tstamp period;
	int work; /* left in it; may be exceeded by one packet */
};

/* 0, or -1 without memory. No start may be in the lane at the end. */
int keeper_init(struct supervisor *s);
void keeper_fini(struct supervisor *s);

/* A reference; the app of this name is made if need be. NULL: no memory. */
struct keeper_app *keeper_app_get(struct supervisor *s, const char *name);
void keeper_app_put(struct keeper_app *app);

/* Whether an app of these options needs the keeper. */
bool keeper_is_needed(const struct conf_app *conf);

/*
 * Opens the pipes for a worker, whose user may open /dev/stderr, and has the
 * keeper read them. Gives the ends for the worker, of standard output and of
 * standard error, which stay ours. NULL and errno.
 */
struct output *keeper_hold(
    struct group *g, const char *id, uint32_t process, int its_ends_out[2]);

/* The worker has its ends, or will not have them: ours are closed. */
void keeper_ends_given(struct output *o);

/*
 * The worker is gone, or *o NULL: all that it has printed is logged. over is
 * called after that, or after a quarter of a second, and the output is the
 * caller's until then. False: it is not called, and *o is NULL, as after a
 * second call with NULL.
 */
bool keeper_leave(struct output **o, void (*over)(void *arg, tstamp now),
    void *arg, tstamp now);

/* Queues it. Calls nothing back before the next turn of the loop. */
void keeper_take_back(struct group *g, struct retake *r);

/*
 * Takes the descriptor over, and has the keeper close it. drain: what a client
 * has sent is read first, so that it sees no reset; not where a process may be
 * reading. _conn(): here and now if that cannot take long, for a connection;
 * takes no lock that a process may hold.
 */
void keeper_close(struct keeper_app *app, int fd, bool drain);
void keeper_close_conn(struct group *g, int fd, bool tcp, bool drain);

/* The daemon ends: has the keeper do what is left, by then. Turns the loop. */
void keeper_hear_out(struct supervisor *s, tstamp until);

/* The keeper, or a new one; NULL: there can be none now. */
struct keeper *keeper_get(struct keepers *all, tstamp now);

/* A child was reaped: whether it was the keeper, or a former one. */
bool keeper_exited(struct supervisor *s, pid_t pid, tstamp now);

/* The keepers of the app, the oldest first; their number. */
#define KEEPER_SIGHTS (KEEPER_STALLS + 1)
struct keeper_sight {
	pid_t pid;
	bool answers;
};
size_t keeper_sights(
    const struct group *g, struct keeper_sight out[KEEPER_SIGHTS]);

#endif
