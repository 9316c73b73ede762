#ifndef CORE_ILIST_H
#define CORE_ILIST_H

/*
 * Doubly linked lists of the elements of an array, linked by their numbers
 * and not by their addresses: the array may be moved, and every list stays
 * whole.  The links lie in an array of their own, one for each element, which
 * is on at most one of the lists that share them.
 *
 * And such arrays, laid out one after the other in one piece of memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of no element. */
#define ILIST_NONE UINT32_MAX

struct ilink {
	uint32_t prev;
	uint32_t next;
};

/* first and last are ILIST_NONE if and only if count is 0. */
struct ilist {
	uint32_t first;
	uint32_t last;
	uint32_t count;
};

static inline void
ilist_init(struct ilist *l)
{
	l->first = ILIST_NONE;
	l->last = ILIST_NONE;
	l->count = 0;
}

static inline bool
ilist_empty(const struct ilist *l)
{
	return l->count == 0;
}

/* Puts n before the element `at` of the list; ILIST_NONE: at its end. */
static inline void
ilist_insert(struct ilist *l, struct ilink *links, uint32_t n, uint32_t at)
{
	uint32_t prev = at == ILIST_NONE ? l->last : links[at].prev;

	links[n].prev = prev;
	links[n].next = at;
	if (prev == ILIST_NONE)
		l->first = n;
	else
		links[prev].next = n;
	if (at == ILIST_NONE)
		l->last = n;
	else
		links[at].prev = n;
	l->count++;
}

static inline void
ilist_push_front(struct ilist *l, struct ilink *links, uint32_t n)
{
	ilist_insert(l, links, n, l->first);
}

static inline void
ilist_push_back(struct ilist *l, struct ilink *links, uint32_t n)
{
	ilist_insert(l, links, n, ILIST_NONE);
}

static inline void
ilist_remove(struct ilist *l, struct ilink *links, uint32_t n)
{
	uint32_t prev = links[n].prev, next = links[n].next;

	if (prev == ILIST_NONE)
		l->first = next;
	else
		links[prev].next = next;
	if (next == ILIST_NONE)
		l->last = prev;
	else
		links[next].prev = prev;
	l->count--;
}

/*
 * Gives the next n bytes of the memory, *used bytes of which are taken, each
 * array aligned as malloc does; NULL where there is no memory, and the bytes
 * are only counted.
 */
static inline void *
layout_carve(char *memory, size_t *used, size_t n)
{
	void *at = memory == NULL ? NULL : memory + *used;

	*used += (n + 15) & ~(size_t)15;
	return at;
}

/* The same for an array of n elements, which `array` is to point to. */
#define LAYOUT_CARVE(array, memory, used, n) \
	((array) = layout_carve(memory, used, (n) * sizeof(*(array))))

#endif
