#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

/*
 * Events to come, earliest first, and those of one time in the order in which
 * they were put here, which core/deadlines.h does not keep: a binary heap.
 *
 * An event cannot be taken back: its owner remembers its `order`, and ignores
 * an event of another order when that comes.
 */

#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sysexits.h>

#include "core/tstamp.h"

struct event {
	tstamp at;
	uint64_t order; /* unique, and never 0 */
	uint32_t number; /* the caller's */
};

/* Zeroes have none; free() of the heap is the owner's. */
struct events {
	struct event *heap;
	size_t count;
	size_t capacity;
	uint64_t orders; /* given out */
};

static inline bool
events_before(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

/* Gives the order of the event. */
static inline uint64_t
events_put(struct events *q, tstamp at, uint32_t number)
{
	struct event e = { .at = at, .order = ++q->orders, .number = number };
	size_t hole = q->count++;

	if (hole == q->capacity) {
		q->capacity = 2 * hole + 64;
		q->heap = reallocarray(q->heap, q->capacity, sizeof(e));
		if (q->heap == NULL)
			err(EX_OSERR, "simulate");
	}
	while (hole > 0 && events_before(&e, &q->heap[(hole - 1) / 2])) {
		q->heap[hole] = q->heap[(hole - 1) / 2];
		hole = (hole - 1) / 2;
	}
	q->heap[hole] = e;
	return e.order;
}

/* The time of the first event; TSTAMP_NEVER: there is none. */
static inline tstamp
events_first(const struct events *q)
{
	return q->count == 0 ? TSTAMP_NEVER : q->heap[0].at;
}

/* Takes the first event out; there is one. */
static inline struct event
events_pop(struct events *q)
{
	struct event first = q->heap[0], last = q->heap[--q->count];
	size_t hole = 0, child;

	while ((child = 2 * hole + 1) < q->count) {
		if (child + 1 < q->count &&
		    events_before(&q->heap[child + 1], &q->heap[child]))
			child++;
		if (!events_before(&q->heap[child], &last))
			break;
		q->heap[hole] = q->heap[child];
		hole = child;
	}
	q->heap[hole] = last;
	return first;
}

#endif
