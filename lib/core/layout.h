#ifndef CORE_LAYOUT_H
#define CORE_LAYOUT_H

/* Tables laid out one after the other in one piece of memory. */

#include <stddef.h>

/*
 * Gives the next n bytes of the memory, *used bytes of which are taken, each
 * table aligned as malloc does; NULL where there is no memory, and the bytes
 * are only counted.
 */
static inline void *
layout_carve(char *memory, size_t *used, size_t n)
{
	void *at = memory == NULL ? NULL : memory + *used;

	*used += (n + 15) & ~(size_t)15;
	return at;
}

#endif
