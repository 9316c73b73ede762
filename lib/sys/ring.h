#ifndef SYS_RING_H
#define SYS_RING_H

/*
 * Records of any length in a memory of fixed size, in the order in which they
 * were added. Records are never split. Only memory that was used is taken from
 * the system, and most of it goes back when the ring is empty. Calls are not
 * locked here; but the oldest record stays where it is until ring_drop().
 */

#include <stddef.h>
#include <stdint.h>

struct ring {
	char *mem; /* NULL: there is none, and nothing is kept */
	size_t size;
	size_t head; /* where the next record goes */
	size_t tail; /* where the oldest is */
	size_t high; /* how much of mem has been written to */
	uint64_t oldest; /* number of a record, from 1 on without gaps */
	uint64_t next; /* of the next one; the same: the ring is empty */
};

/* size: a multiple of 8. Returns 0, or -1 and errno. */
int ring_init(struct ring *r, size_t size);
void ring_fini(struct ring *r);

/*
 * Adds a record of len bytes, which the caller fills in: aligned for a struct
 * timespec. NULL: there is no room.
 */
void *ring_add(struct ring *r, size_t len);

/* Forgets the oldest record, of which there must be one. */
void ring_drop(struct ring *r);

/* The place of a reader, who may be overtaken. */
struct ring_place {
	uint64_t number; /* of the record that is read next */
	size_t at; /* where it is, unless it is gone */
	uint64_t lost; /* records that were gone when they were to be read */
};

static inline void
ring_begin(const struct ring *r, struct ring_place *out)
{
	*out = (struct ring_place){ .number = r->oldest, .at = r->tail };
}

/*
 * The record at the place, which goes on to the next one: it stays until
 * something is added or dropped. NULL: there is none yet. The oldest record for
 * no place, NULL.
 */
const void *ring_read(const struct ring *r, struct ring_place *place);

#endif
