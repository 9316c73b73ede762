#ifndef SYS_RETRIEVER_H
#define SYS_RETRIEVER_H

/*
 * Taking back messages that a dead worker never received. The worker's end of
 * the channel, of which we have a copy, is read by a small helper process and
 * not by us: a descendant of the worker that sits in a page fault inside
 * recvmsg() holds the socket's lock, and every reader waits for it,
 * uninterruptibly. A helper found in such a wait after RETRIEVER_PATIENCE is
 * abandoned; a helper that is merely late has RETRIEVER_LIMIT.
 *
 * One worker at a time is taken back from; others queue up.
 */

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "core/tstamp.h"
#include "sys/loop.h"

#define RETRIEVER_PATIENCE TSPAN_SECONDS(1)
#define RETRIEVER_LIMIT TSPAN_SECONDS(10)

/* Longest message passed on; a longer one arrives cut. */
#define RETRIEVER_MESSAGE_MAX 4096

/*
 * One dead worker's channel, embedded in the user's struct and left alone
 * from retriever_take() until end() is called.
 */
struct retriever_take {
	STAILQ_ENTRY(retriever_take) next;
	int child_end; /* of the channel; stays the user's */
	unsigned attempts; /* to have it read, so far */
};

STAILQ_HEAD(retriever_takes, retriever_take);

struct retriever_ops {
	/*
	 * A message the worker had not received, oldest first, and its
	 * descriptor, which is the callee's now; -1: it had none, or we had no
	 * room for it.
	 */
	void (*message)(void *arg, struct retriever_take *, const char *buf,
	    size_t len, int fd, tstamp now);
	/*
	 * The end of a take, which is the user's again and may be freed.
	 * Complete: all was read. Else the rest is lost.
	 */
	void (*end)(
	    void *arg, struct retriever_take *, bool complete, tstamp now);
};

struct retriever {
	struct loop *loop;
	const struct retriever_ops *ops;
	void *arg;
	struct loop_io io; /* to the helper; fd is -1: none */
	pid_t pid; /* of the helper, 0: none */
	struct retriever_takes takes; /* in the order they came */
	bool asked; /* the helper reads the first of them */
	bool no_room; /* for a descriptor; the socket is out of the loop */
	struct timer timer; /* set while there are takes */
	tstamp limit; /* if asked: when a late helper is given up */
};

/*
 * Forks the first helper; to be called early, while the process is small and
 * has one thread. Returns 0, or -1 and the errno of socketpair(2) or fork(2).
 */
int retriever_init(
    struct retriever *, struct loop *, const struct retriever_ops *, void *arg);

/* Ends the helper and forgets all takes, without calling back. */
void retriever_fini(struct retriever *);

/*
 * Bytes that lie unread in the worker's end, or -1 and errno. With 0 there is
 * nothing to take back. Never blocks.
 */
int retriever_inquire(int child_end);

/* Queues the take. Calls nothing back before the next turn of the loop. */
void retriever_take(
    struct retriever *, struct retriever_take *, int child_end, tstamp now);

/*
 * To be called for every child that was reaped: its number is not used any
 * more. Returns whether it was the helper; an abandoned helper is a stranger.
 */
bool retriever_exited(struct retriever *, pid_t);

#endif
