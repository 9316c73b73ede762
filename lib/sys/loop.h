#ifndef SYS_LOOP_H
#define SYS_LOOP_H

/*
 * The event loop: epoll, one signalfd, timers, and the only reader of the
 * clock. One thread. It calls back and does nothing else.
 */

#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tstamp.h"
#include "sys/timer.h"

/* Events handled in one turn; the rest waits for the next one. */
#define LOOP_BATCH 256

/*
 * One descriptor in the loop; embedded in the user's struct, which LOOP_OWNER
 * finds again. fd and ready are set by the user before the first loop_set()
 * and stay as they are while events is not 0.
 */
struct loop_io {
	int fd;
	uint32_t events; /* EPOLLIN, EPOLLOUT, ... waited for; 0: not in the
			    loop. Written by loop_set() only. */
	void (*ready)(struct loop_io *, uint32_t events, tstamp now);
};

/* The struct of this type whose member of this name io points to. */
#define LOOP_OWNER(io, type, member) \
	((type *)(void *)((char *)(io)-offsetof(type, member)))

/*
 * A clock other than CLOCK_MONOTONIC, for tests in virtual time. wait() is
 * epoll_pwait2() in that time; a timeout of TSTAMP_NEVER means none, and it
 * returns the number of events, or -1 with errno.
 */
struct loop_clock {
	tstamp (*now)(void *arg);
	int (*wait)(
	    void *arg, int epfd, struct epoll_event *, int n, tspan timeout);
	void *arg;
};

struct loop {
	int epfd;
	struct loop_clock clock;
	tstamp now;
	struct timers timers; /* for timer_set() */
	/* The batch in hand: events[at .. n-1] are still to be handled. */
	struct epoll_event batch[LOOP_BATCH];
	int at;
	int n;
	/* fd is -1 before loop_signals(). */
	struct loop_io signals;
	sigset_t mask_before;
	void (*signalled)(void *, const struct signalfd_siginfo *, tstamp);
	void *signalled_arg;
};

/* A clock of NULL is CLOCK_MONOTONIC. 0, or -1 and errno. */
int loop_init(struct loop *, const struct loop_clock *);

/*
 * Closes what the loop opened and restores the signal mask. The descriptors
 * of the users' are theirs.
 */
void loop_fini(struct loop *);

/*
 * Waits for these events on io->fd from now on, level-triggered unless
 * EPOLLET is among them, and once with EPOLLONESHOT: until it is set again; 0
 * takes it out. What was seen this turn but is no
 * longer wanted is not called any more, so an io that was taken out may be
 * freed at once. Take it out before closing the descriptor: another copy of it
 * would keep it in the epoll set.
 * 0, or -1 and errno (ENOMEM, ENOSPC, EPERM for a plain file).
 */
int loop_set(struct loop *, struct loop_io *, uint32_t events);

/*
 * Blocks the signals of the set in this thread (start no thread before) and
 * has the function called for each that arrives. Signals merge: one SIGCHLD
 * may stand for many deaths. To be called once. 0, or -1 and errno.
 */
int loop_signals(struct loop *, const sigset_t *,
    void (*signalled)(void *arg, const struct signalfd_siginfo *, tstamp now),
    void *arg);

/*
 * Waits until something is ready, a timer is due or the deadline has come
 * (TSTAMP_NEVER: none; one in the past: does not wait), then calls ready() of
 * up to LOOP_BATCH ios and fires the timers that are due. Returns the number
 * of ios called, or -1 and errno.
 */
int loop_turn(struct loop *, tstamp deadline);

/*
 * The time at which the last turn's wait ended, or of loop_init(). The same
 * for everything done in one turn.
 */
tstamp loop_now(const struct loop *);

/* For how long the turn has lasted. Reads the clock. */
tspan loop_lasts(const struct loop *);

#endif
