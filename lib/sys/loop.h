#ifndef SYS_LOOP_H
#define SYS_LOOP_H

/*
 * The event loop: epoll, one signalfd, timers, and the clock. And what is
 * beside it: threads, and the watch, which sees a turn that lasts too long.
 */

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/tree.h>
#include <sys/types.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "core/tstamp.h"

/* libbsd's tree.h uses it in static functions and does not define it. */
#ifndef __unused
#define __unused __attribute__((unused))
#endif

/* Now, as all but tests in virtual time have it: CLOCK_MONOTONIC. */
static inline tstamp
clock_now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return TSPAN_SECONDS(ts.tv_sec) + ts.tv_nsec;
}

/* A point or a length of time, not negative, as system calls take it. */
static inline struct timespec
clock_timespec(tstamp at)
{
	return (struct timespec){
		.tv_sec = (time_t)(at / TSPAN_SECONDS(1)),
		.tv_nsec = (long)(at % TSPAN_SECONDS(1)),
	};
}

/*
 * Timers, embedded in the structs of their users and fired by the loop, the
 * earliest first; of several due at the same time, the one set first.
 */
struct timer {
	RB_ENTRY(timer) entry; /* in its timers unless at is TSTAMP_NEVER */
	tstamp at; /* when it fires; TSTAMP_NEVER: not set */
	uint64_t seq; /* number of the call that set it */
	void (*fire)(struct timer *, tstamp now);
};

/* The struct of this type whose member of this name it points to. */
#define LOOP_OWNER(it, type, member) \
	((type *)(void *)((char *)(it)-offsetof(type, member)))
#define TIMER_OWNER LOOP_OWNER

RB_HEAD(timer_tree, timer);

/* All 0: none is set. */
struct timers {
	struct timer_tree tree;
	uint64_t seq; /* of the latest timer_set() */
};

/* A timer that is not set; fire NULL: it makes a turn, and that is all. */
void timer_init(struct timer *t, void (*fire)(struct timer *, tstamp now));

/*
 * Fires once, at this time or soon after it; TSTAMP_NEVER clears it, as must be
 * done before its struct is freed. While it fires it is not set.
 */
void timer_set(struct timers *all, struct timer *t, tstamp at);

/* Sets it to this time unless it fires earlier anyway. */
void timer_advance(struct timers *all, struct timer *t, tstamp at);

/* When the first of them fires; TSTAMP_NEVER: none is set. */
tstamp timers_first(struct timers *all);

/* Fires all that are due; what is set meanwhile waits for the next call. */
void timers_fire(struct timers *all, tstamp now);

/* --- turns, as they are seen from beside the loop --------------------- */

/* A turn, or a part of it, that is for no app. */
#define TURN_NO_APP UINT32_MAX

/*
 * The work of the loop, told to the watch by a few stores and no system call.
 * Written by the loop's thread alone, but for dozing.
 */
struct turn {
	_Atomic tstamp began; /* the latest turn, by the loop's clock */
	_Atomic uint32_t busy; /* 1: it is under way; 0: the loop waits */
	_Atomic uint32_t app; /* for which something is done now */
	/* The latest call that a stranger might make wait; NULL: none. */
	const char *_Atomic call;
	/*
	 * 1: the watch waits for the next turn by futex(2), and has to be
	 * woken. In a line of the processor's cache that hardly changes.
	 */
	_Alignas(64) _Atomic uint32_t dozing;
};

/* Never NULL; a place of this process alone, until watch.c has another. */
extern struct turn *turn_now;

/* The calls from here on are made for the app of this number. */
static inline void
turn_for(uint32_t app)
{
	atomic_store_explicit(&turn_now->app, app, memory_order_relaxed);
	atomic_store_explicit(&turn_now->call, NULL, memory_order_relaxed);
}

/* Names the system call that comes next. */
static inline void
turn_call(const char *name)
{
	atomic_store_explicit(&turn_now->call, name, memory_order_relaxed);
}

/* --- the loop --------------------------------------------------------- */

/* Events handled in one turn; the rest waits for the next one. */
#define LOOP_BATCH 256

/*
 * A descriptor in the loop, embedded in the user's struct. fd and ready are the
 * user's to set, and stay as they are while events is not 0.
 */
struct loop_io {
	int fd;
	uint32_t
	    events; /* waited for, by loop_set() only; 0: not in the loop */
	void (*ready)(struct loop_io *, uint32_t events, tstamp now);
};

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

/* What the epoll set has of a descriptor. */
struct loop_place {
	struct loop_io *io; /* NULL: nothing of this program */
	uint32_t events; /* 0: nothing at all */
};

struct loop {
	int epfd;
	struct loop_place *places; /* by descriptor */
	int nplaces;
	bool inherited; /* places may have events without an io */
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

/* Closes what the loop opened, and restores the signal mask. */
void loop_fini(struct loop *);

/*
 * Waits for these events on io->fd from now on, level-triggered unless
 * EPOLLET is among them, once with EPOLLONESHOT; 0 takes it out, and it may be
 * freed at once: what was seen this turn is not called any more. Take it out
 * before closing the descriptor: a copy would keep it in the epoll set.
 * 0, or -1 and errno (ENOMEM, ENOSPC, EPERM for a plain file).
 */
int loop_set(struct loop *, struct loop_io *, uint32_t events);

/*
 * A list of what is in the loop, for a program that this process executes and
 * that goes on with the epoll set: to fill another one takes a system call for
 * each descriptor. Owned; NULL: no memory.
 */
char *loop_list(const struct loop *);

/*
 * Goes on with the epoll set of the loop that has written the list. What
 * loop_set() has not asked for before the first turn is taken out of it. False:
 * the list is none, or there is no memory.
 */
bool loop_inherit(struct loop *, int epfd, const char *list);

/*
 * Blocks the signals of the set in this thread (start no thread before) and
 * has the function called for each that arrives. Signals merge: one SIGCHLD
 * may stand for many deaths. To be called once. 0, or -1 and errno, and then
 * the loop is of no use.
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

/* When the last turn's wait ended: the same for all that a turn does. */
tstamp loop_now(const struct loop *);

/* For how long the turn has lasted. Reads the clock. */
tspan loop_lasts(const struct loop *);

/* --- watch.c: a watch over the turns ------------------------------------ */

/*
 * A turn that lasts longer than WATCH_LIMIT may sit in a system call that
 * somebody makes wait, such as accept4() on a socket that another process has
 * set to block. The watch is a process of ours that shares a page with the loop
 * and sends its thread a signal then, and again each WATCH_LIMIT: so every call
 * of the loop may fail with EINTR, without having done anything; but a close
 * that does has closed. A thread would make each call on a descriptor dearer.
 */

#define WATCH_LIMIT TSPAN_MSECONDS(50)

struct watch_page;

/* A process that the watch ends if the daemon is killed; see watch_child(). */
struct watch_child {
	pid_t pid; /* of the leader of a session; 0: none */
	int signal; /* that is sent at once; 0: none */
	bool told; /* 0 */
	tspan wait; /* until it gets SIGTERM, */
	tspan grace; /* and its group, if it is still there then, SIGKILL */
};

/* More are left to themselves. Pages of a table that are not used cost none. */
#define WATCH_CHILDREN 20000

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
 * Starts the watch over the loop of this thread, the first of the process,
 * early, while that is small; without a process, later. Returns 0, or -1 and
 * errno.
 */
int watch_init(struct watch *, struct loop *);

/* Ends it, without waiting for it. */
void watch_fini(struct watch *);

/* Tells the watch of child n. */
void watch_child(struct watch *, uint32_t n, const struct watch_child *child);

/* Whether the child that was reaped was the watch: then another is started. */
bool watch_exited(struct watch *, pid_t, tstamp now);

/*
 * To be called at the end of a turn: whether the watch has sent a signal since
 * the latest call, and what it saw before the latest one.
 */
bool watch_saw(struct watch *, struct watch_sight *out);

/*
 * Starts a thread that gets no signals: these are the loop's, and a broken pipe
 * is no more than EPIPE to the thread. The name (at most 15 characters) is what
 * ps shows. Returns 0, or -1 and errno, *out untouched.
 */
int thread_start(const char *name, size_t stack_size, void *(*run)(void *),
    void *arg, pthread_t *out);

#endif
