#ifndef SYS_TIMER_H
#define SYS_TIMER_H

/*
 * Timers, embedded in the structs of their users and fired by the loop, the
 * earliest first; of several due at the same time, the one set first. Setting
 * and clearing are O(log n) and cannot fail: a timer has its place in itself.
 */

#include <sys/tree.h>

#include <stddef.h>
#include <stdint.h>

#include "core/tstamp.h"

/*
 * fire is set by the user before the first timer_set(), and at is
 * TSTAMP_NEVER then: see timer_init().
 */
struct timer {
	RB_ENTRY(timer) entry; /* in its timers unless at is TSTAMP_NEVER */
	tstamp at; /* when it fires; TSTAMP_NEVER: not set */
	uint64_t seq; /* number of the call that set it */
	void (*fire)(struct timer *, tstamp now);
};

/* The struct of this type whose member of this name t points to. */
#define TIMER_OWNER(t, type, member) \
	((type *)(void *)((char *)(t)-offsetof(type, member)))

RB_HEAD(timer_tree, timer);

struct timers {
	struct timer_tree tree;
	uint64_t seq; /* of the latest timer_set() */
};

void timers_init(struct timers *all);

/* A timer that is not set. */
void timer_init(struct timer *t, void (*fire)(struct timer *, tstamp now));

/*
 * Fires once, at this time or soon after it, in place of any earlier setting;
 * TSTAMP_NEVER clears it. A timer must be cleared before its struct is freed;
 * while it fires it is not set.
 */
void timer_set(struct timers *all, struct timer *t, tstamp at);

/* Sets it to this time unless it fires earlier anyway. */
void timer_advance(struct timers *all, struct timer *t, tstamp at);

/* When the first of them fires; TSTAMP_NEVER: none is set. */
tstamp timers_first(struct timers *all);

/*
 * Fires all that are due. A timer that is set meanwhile, to whatever time,
 * waits for the next call: so each call ends.
 */
void timers_fire(struct timers *all, tstamp now);

#endif
