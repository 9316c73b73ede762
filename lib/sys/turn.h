#ifndef SYS_TURN_H
#define SYS_TURN_H

/*
 * What the loop is doing, for somebody beside it who sees a turn last too long;
 * see watch.h. To say so costs a few stores, and no system call.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tstamp.h"

/* A turn, or a part of it, that is for no app. */
#define TURN_NO_APP UINT32_MAX

/* Written by the loop's thread alone, but for dozing. */
struct turn {
	_Atomic tstamp began; /* the latest turn, by the loop's clock */
	_Atomic uint32_t busy; /* 1: it is under way; 0: the loop waits */
	_Atomic uint32_t app; /* for which something is done now */
	/*
	 * The latest system call that a stranger might make wait, since that
	 * is so: a string of the program's; NULL: none.
	 */
	const char *_Atomic call;
	/*
	 * 1: somebody waits for the next turn to begin, by futex(2), and has
	 * to be woken. In a line of the processor's cache that hardly changes.
	 */
	_Alignas(64) _Atomic uint32_t dozing;
};

/* Never NULL; of this process alone until turn_share(). */
extern struct turn *turn_now;

/* Has the loop write there from now on; NULL: to a place of its own again. */
void turn_share(struct turn *);

/* For the loop: its wait ended at this time, or it begins to wait. */
void turn_begins(tstamp now);
void turn_ends(void);

/* The calls from here on are made for the app of this number. */
static inline void
turn_for(uint32_t app)
{
	atomic_store_explicit(&turn_now->app, app, memory_order_relaxed);
	atomic_store_explicit(&turn_now->call, NULL, memory_order_relaxed);
}

/* This system call comes next. */
static inline void
turn_call(const char *name)
{
	atomic_store_explicit(&turn_now->call, name, memory_order_relaxed);
}

#endif
