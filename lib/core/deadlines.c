/* A binary heap of deadlines, addressable by number. */

#include <assert.h>

#include "core/deadlines.h"

void
deadlines_carve(
    struct deadlines *d, char *memory, size_t *used, uint32_t capacity)
{
	LAYOUT_CARVE(d->heap, memory, used, capacity);
	LAYOUT_CARVE(d->where, memory, used, capacity);
}

static void
deadlines_put(struct deadlines *d, uint32_t place, struct deadline x)
{
	d->heap[place] = x;
	d->where[x.number] = place + 1;
}

void
deadlines_set(struct deadlines *d, uint32_t number, tstamp at)
{
	struct deadline x = { .at = at, .number = number };
	uint32_t place = d->where[number], next;

	if (at != TSTAMP_NEVER) {
		place = place == 0 ? d->count++ : place - 1;
	} else {
		if (place == 0)
			return;
		/* The last deadline takes the place that is free now. */
		d->where[number] = 0;
		x = d->heap[--d->count];
		if (--place == d->count)
			return;
	}
	/* Up or down from there, to where it belongs. */
	for (; place > 0; place = next) {
		next = (place - 1) / 2;
		if (d->heap[next].at <= x.at)
			break;
		deadlines_put(d, place, d->heap[next]);
	}
	for (; (next = 2 * place + 1) < d->count; place = next) {
		if (next + 1 < d->count &&
		    d->heap[next + 1].at < d->heap[next].at)
			next++;
		if (d->heap[next].at >= x.at)
			break;
		deadlines_put(d, place, d->heap[next]);
	}
	deadlines_put(d, place, x);
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
