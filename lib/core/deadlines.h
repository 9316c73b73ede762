#ifndef CORE_DEADLINES_H
#define CORE_DEADLINES_H

/*
 * At most one deadline for each of the numbers 0 … capacity-1, earliest
 * first: a binary heap that knows where each number stands in it.  Setting
 * and clearing are O(log n), looking at the earliest is O(1).
 *
 * The memory is the caller's and may be moved; it holds no addresses.
 */

#include <stddef.h>
#include <stdint.h>

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

/* Bytes that deadlines_init() needs for so many numbers. */
size_t deadlines_memory(uint32_t capacity);

/* memory: deadlines_memory() zeroed bytes, aligned for a tstamp. */
void deadlines_init(struct deadlines *d, void *memory, uint32_t capacity);

/*
 * Gives `to`, which has none, the deadlines of `from`, all of whose numbers
 * are below n.
 */
void deadlines_copy(
    const struct deadlines *from, struct deadlines *to, uint32_t n);

/* Sets or moves the deadline of the number; TSTAMP_NEVER: clears it. */
void deadlines_set(struct deadlines *d, uint32_t number, tstamp at);

/* The deadline of the number; TSTAMP_NEVER: it has none. */
tstamp deadlines_get(const struct deadlines *d, uint32_t number);

/* The earliest of all; TSTAMP_NEVER: there is none, *number is untouched. */
tstamp deadlines_first(const struct deadlines *d, uint32_t *number);

#endif
