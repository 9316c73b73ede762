#include <assert.h>
#include <stdlib.h>

#include "sim/events.h"

int
events_init(struct events *q, uint32_t capacity)
{
	q->heap = calloc(capacity, sizeof(*q->heap));
	q->count = 0;
	q->capacity = capacity;
	q->orders = 0;
	return q->heap == NULL ? -1 : 0;
}

void
events_fini(struct events *q)
{
	free(q->heap);
}

static bool
events_before(const struct event *a, const struct event *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void
events_up(struct events *q, uint32_t hole, struct event e)
{
	while (hole > 0) {
		uint32_t parent = (hole - 1) / 2;

		if (!events_before(&e, &q->heap[parent]))
			break;
		q->heap[hole] = q->heap[parent];
		hole = parent;
	}
	q->heap[hole] = e;
}

static void
events_down(struct events *q, uint32_t hole, struct event e)
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

uint64_t
events_put(struct events *q, tstamp at, uint32_t number)
{
	struct event e = { .at = at, .order = ++q->orders, .number = number };

	assert(q->count < q->capacity);
	events_up(q, q->count++, e);
	return e.order;
}

struct event
events_pop(struct events *q)
{
	struct event first = q->heap[0];

	q->count--;
	if (q->count > 0)
		events_down(q, 0, q->heap[q->count]);
	return first;
}

void
events_sweep(struct events *q,
    bool (*stale)(const void *arg, const struct event *), const void *arg)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < q->count; i++)
		if (!stale(arg, &q->heap[i]))
			q->heap[kept++] = q->heap[i];
	q->count = kept;
	for (uint32_t i = kept / 2; i > 0; i--)
		events_down(q, i - 1, q->heap[i - 1]);
}
