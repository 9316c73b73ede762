/* A binary heap of deadlines, addressable by number. */

#include <assert.h>
#include <string.h>

#include "core/deadlines.h"

size_t
deadlines_memory(uint32_t capacity)
{
	return (size_t)capacity *
	    (sizeof(struct deadline) + sizeof(tstamp)); /* where, padded */
}

void
deadlines_init(struct deadlines *d, void *memory, uint32_t capacity)
{
	d->heap = memory;
	d->where = (uint32_t *)(d->heap + capacity);
	d->count = 0;
}

void
deadlines_copy(const struct deadlines *from, struct deadlines *to, uint32_t n)
{
	memcpy(to->heap, from->heap, from->count * sizeof(*to->heap));
	memcpy(to->where, from->where, n * sizeof(*to->where));
	to->count = from->count;
}

static void
deadlines_put(struct deadlines *d, uint32_t place, struct deadline x)
{
	d->heap[place] = x;
	d->where[x.number] = place + 1;
}

/* Lets x rise from the free place to where it belongs; gives that place. */
static uint32_t
deadlines_rise(struct deadlines *d, uint32_t place, struct deadline x)
{
	while (place > 0) {
		uint32_t parent = (place - 1) / 2;

		if (d->heap[parent].at <= x.at)
			break;
		deadlines_put(d, place, d->heap[parent]);
		place = parent;
	}
	deadlines_put(d, place, x);
	return place;
}

static void
deadlines_sink(struct deadlines *d, uint32_t place, struct deadline x)
{
	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child >= d->count)
			break;
		if (child + 1 < d->count &&
		    d->heap[child + 1].at < d->heap[child].at)
			child++;
		if (d->heap[child].at >= x.at)
			break;
		deadlines_put(d, place, d->heap[child]);
		place = child;
	}
	deadlines_put(d, place, x);
}

static void
deadlines_clear(struct deadlines *d, uint32_t number)
{
	uint32_t place = d->where[number];
	struct deadline last;

	if (place == 0)
		return;
	d->where[number] = 0;
	last = d->heap[--d->count];
	if (--place == d->count)
		return;
	if (deadlines_rise(d, place, last) == place)
		deadlines_sink(d, place, last);
}

void
deadlines_set(struct deadlines *d, uint32_t number, tstamp at)
{
	struct deadline x = { .at = at, .number = number };
	uint32_t place = d->where[number];

	if (at == TSTAMP_NEVER) {
		deadlines_clear(d, number);
		return;
	}
	place = place == 0 ? d->count++ : place - 1;
	if (deadlines_rise(d, place, x) == place)
		deadlines_sink(d, place, x);
}

tstamp
deadlines_get(const struct deadlines *d, uint32_t number)
{
	uint32_t place = d->where[number];

	if (place == 0)
		return TSTAMP_NEVER;
	assert(d->heap[place - 1].number == number);
	return d->heap[place - 1].at;
}

tstamp
deadlines_first(const struct deadlines *d, uint32_t *number)
{
	if (d->count == 0)
		return TSTAMP_NEVER;
	*number = d->heap[0].number;
	return d->heap[0].at;
}
