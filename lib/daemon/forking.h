#ifndef DAEMON_FORKING_H
#define DAEMON_FORKING_H

/*
 * Processes that others have been asked to fork for us, until we know which
 * they are. A number that a template tells proves nothing: the kernel says who
 * sends the first packet on the channel of the new process, and that must be a
 * child of ours (we are its subreaper) with the user of the app.
 *
 * A child may end before it has said anything. So while processes are being
 * forked the ends of children that nobody knows are remembered.
 */

#include "daemon/state.h"

struct forking;

/* All but the first are called once at most, and may free the struct. */
struct forking_ops {
	/* Whether a process that is known already has this number. */
	bool (*is_taken)(struct supervisor *, pid_t pid);
	/* The process has this number, and its packets can be read. */
	void (*known)(struct forking *, pid_t pid, tstamp now);
	/* The process has ended, unheard, and is reaped. */
	void (*died)(struct forking *, const struct reap_death *, tstamp now);
	/* There is no such process, or it is not ours; why: what is wrong. */
	void (*refused)(struct forking *, const char *why, tstamp now);
};

/* An order to fork that is not answered yet; owned by its user. */
struct fork_order {
	TAILQ_ENTRY(fork_order) next;
	uint64_t serial;
	struct forking *forking; /* NULL: the process is known, or given up */
};

TAILQ_HEAD(fork_orders, fork_order);

/* Embedded in the struct of its user. */
struct forking {
	TAILQ_ENTRY(forking) next; /* in supervisor.forkings */
	struct fork_order *order; /* of the one that forks; NULL: answered */
	struct supervisor *sup;
	const struct forking_ops *ops;
	uint64_t serial;
	struct loop_io *channel; /* our end */
	uid_t uid; /* of the app */
	pid_t session; /* of the process that forks */
	pid_t named; /* the process forked, as that says; 0: not yet */
	tstamp named_at;
	tstamp since;
	struct timer again; /* set: who spoke, or was named, is no child yet */
};

/*
 * A process is to be forked by one of that session, and speaks on the channel;
 * whose ready() calls forking_heard() until the process is known. 0, or -1 and
 * errno.
 */
int forking_begin(struct forking *f, struct supervisor *s,
    struct loop_io *channel, uid_t uid, pid_t session,
    const struct forking_ops *ops);

/* The struct goes, or the process is known. */
void forking_end(struct forking *f);

/* Something is in the channel. */
void forking_heard(struct forking *f, tstamp now);

/* The process that forks has told the number of the new one. */
void forking_named(struct forking *f, pid_t pid, tstamp now);

/* A child that nobody knows has ended, and is reaped. */
void forking_exited(
    struct supervisor *s, const struct reap_death *death, tstamp now);

/*
 * Sends the signal to the process that was named, if it is a child of ours of
 * that session. False: there is no such process.
 */
bool forking_signal(const struct forking *f, int sig);

#endif
