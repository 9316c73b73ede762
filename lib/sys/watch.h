#ifndef SYS_WATCH_H
#define SYS_WATCH_H

/*
 * A watch over the turns of the loop. A turn that lasts longer than
 * WATCH_LIMIT may sit in a system call that somebody makes wait, such as
 * accept4() on a socket that another process has set to block, or the close of
 * a connection that lingers. The watch is a process of ours that shares a page
 * with the loop (sys/loop.h) and sends its thread a signal then, and again
 * each WATCH_LIMIT: a call that can be interrupted fails with EINTR, and the
 * turn goes on. So every call of the loop may fail with EINTR, without having
 * done anything; but a close that does has closed.
 *
 * The watch is no thread: where a process has two of them, each call on a
 * descriptor is dearer.
 */

#include <sys/types.h>

#include <stdbool.h>

#include "core/tstamp.h"
#include "sys/loop.h"

#define WATCH_LIMIT TSPAN_MSECONDS(50)

struct watch_page;

struct watch {
	struct loop *loop;
	struct watch_page *page; /* shared with the process */
	struct turn *own; /* where the loop wrote before */
	pid_t pid; /* 0: there is none */
	tstamp started; /* the latest one */
	struct timer timer; /* set: another one is to be started */
	uint32_t reported; /* interruptions that watch_saw() has told of */
};

/* A turn as the watch saw it when it sent a signal. */
struct watch_sight {
	const char *call; /* the latest in question; NULL: none */
	uint32_t app; /* TURN_NO_APP: none */
};

/*
 * Starts the watch over the loop of this thread, which has to be the first of
 * the process. To be called early, while the process is small. Without a
 * process it is tried again later. Returns 0, or -1 and errno.
 */
int watch_init(struct watch *, struct loop *);

/* Ends it, without waiting for it. */
void watch_fini(struct watch *);

/* Whether the child that was reaped was the watch: then another is started. */
bool watch_exited(struct watch *, pid_t, tstamp now);

/*
 * To be called at the end of a turn: whether the watch has sent a signal since
 * the latest call, and what it saw before the latest one.
 */
bool watch_saw(struct watch *, struct watch_sight *out);

#endif
