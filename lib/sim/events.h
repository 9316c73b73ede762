#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

/*
 * Events to come, earliest first, and those of one time in the order in which
 * they were put here: a binary heap in memory that is allocated once.
 *
 * An event cannot be taken back: its owner remembers its `order`, and ignores
 * an event of another order when that comes.
 */

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

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
static inline int
events_init(struct events *q, uint32_t capacity)
{
	*q = (struct events){ .capacity = capacity };
	q->heap = calloc(capacity, sizeof(*q->heap));
	return q->heap == NULL ? -1 : 0;
}

static inline void
events_fini(struct events *q)
{
	free(q->heap);
}

static inline bool
events_before(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

/* Puts e into the hole, or into a place below that the hole moves to. */
static inline void
events_sink(struct events *q, uint32_t hole, struct event e)
{
	uint32_t child;

	while ((child = 2 * hole + 1) < q->count) {
		if (child + 1 < q->count &&
		    events_before(&q->heap[child + 1], &q->heap[child]))
			child++;
		if (!events_before(&q->heap[child], &e))
			break;
		q->heap[hole] = q->heap[child];
		hole = child;
	}
	q->heap[hole] = e;
}

/* Puts an event on the heap, which has room; gives the order of it. */
static inline uint64_t
events_put(struct events *q, tstamp at, uint32_t number)
{
	struct event e = { .at = at, .order = ++q->orders, .number = number };
	uint32_t hole = q->count++;

	assert(hole < q->capacity);
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
	struct event first = q->heap[0];

	q->count--;
	if (q->count > 0)
		events_sink(q, 0, q->heap[q->count]);
	return first;
}

/* Throws away all events that `stale` says are. */
static inline void
events_sweep(struct events *q,
    bool (*stale)(const void *arg, const struct event *), const void *arg)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < q->count; i++)
		if (!stale(arg, &q->heap[i]))
			q->heap[kept++] = q->heap[i];
	q->count = kept;
	for (uint32_t i = kept / 2; i > 0; i--)
		events_sink(q, i - 1, q->heap[i - 1]);
}

#endif
