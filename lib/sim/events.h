#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

/*
 * What is to happen, earliest first, and at one time in the order in which it
 * was put here: a binary heap in memory that is allocated once.
 *
 * An event cannot be taken back: who has one to come remembers its `order`,
 * and does not know another one when it comes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"

struct event {
	tstamp at;
	uint64_t order; /* unique, and never 0 */
	uint32_t number; /* the caller's */
};

struct events {
	struct event *heap;
	uint32_t count;
	uint32_t capacity;
	uint64_t orders; /* given out */
};

/* -1 and errno: no memory. */
int events_init(struct events *q, uint32_t capacity);
void events_fini(struct events *q);

/* There must be room: count < capacity. Gives its order. */
uint64_t events_put(struct events *q, tstamp at, uint32_t number);

/* When the first one is; TSTAMP_NEVER: there is none. */
static inline tstamp
events_first(const struct events *q)
{
	return q->count == 0 ? TSTAMP_NEVER : q->heap[0].at;
}

/* Takes the first one out; there is one. */
struct event events_pop(struct events *q);

/* Throws away all that `stale` says are. */
void events_sweep(struct events *q,
    bool (*stale)(const void *arg, const struct event *), const void *arg);

#endif
