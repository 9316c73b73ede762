#ifndef CORE_DEADLINES_H
#define CORE_DEADLINES_H

/*
 * At most one deadline for each of the numbers 0 … capacity-1: a binary heap
 * that knows where each number stands in it, O(log n).  Its memory is the
 * caller's.
 */

#include "core/ilist.h"
#include "core/tstamp.h"

struct deadline {
	tstamp at;
	uint32_t number;
};

struct deadlines {
	struct deadline *heap; /* heap[0] is the earliest */
	uint32_t *where; /* place in heap + 1; 0: no deadline */
	uint32_t count;
};

/* Its arrays, as layout_carve(), of zeroed memory; the count is to be 0. */
void deadlines_carve(
    struct deadlines *d, char *memory, size_t *used, uint32_t capacity);

/* Sets or moves the deadline of the number; TSTAMP_NEVER: clears it. */
void deadlines_set(struct deadlines *d, uint32_t number, tstamp at);

/* The deadline of the number; TSTAMP_NEVER: it has none. */
tstamp deadlines_get(const struct deadlines *d, uint32_t number);

/* The earliest of all; TSTAMP_NEVER: there is none, *number is untouched. */
tstamp deadlines_first(const struct deadlines *d, uint32_t *number);

#endif
