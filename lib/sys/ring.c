/* Records of any length in a memory of fixed size. */

#include <sys/mman.h>

#include <assert.h>
#include <string.h>

#include "sys/ring.h"

/*
 * Each record stands behind its size, this head included. Where one does not
 * fit before the end of the memory, WRAP, or the end itself, sends the reader
 * to the beginning.
 */
#define HEAD sizeof(uint64_t)
#define WRAP 0

/* Up to this much memory is kept when the ring is empty. */
#define KEEP ((size_t)64 * 1024)

int
ring_init(struct ring *r, size_t size)
{
	*r = (struct ring){ .size = size, .oldest = 1, .next = 1 };
	r->mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->mem != MAP_FAILED)
		return 0;
	r->mem = NULL;
	return -1;
}

void
ring_fini(struct ring *r)
{
	if (r->mem != NULL)
		(void)munmap(r->mem, r->size);
	r->mem = NULL;
}

/* Where the record is that was put at this place, and its size. */
static size_t
ring_resolve(const struct ring *r, size_t at, uint64_t *size_out)
{
	*size_out = WRAP;
	if (at < r->size)
		memcpy(size_out, r->mem + at, HEAD);
	if (*size_out != WRAP)
		return at;
	memcpy(size_out, r->mem, HEAD);
	return 0;
}

void *
ring_add(struct ring *r, size_t len)
{
	const uint64_t size = (HEAD + len + HEAD - 1) / HEAD * HEAD;
	const uint64_t wrap = WRAP;
	char *record;

	if (r->mem == NULL)
		return NULL;
	if (r->oldest == r->next)
		r->head = r->tail = 0;
	if (r->head > r->tail || r->oldest == r->next) {
		if (r->size - r->head < size) {
			/* Not to the tail itself: that would mean empty. */
			if (r->tail <= size)
				return NULL;
			if (r->head < r->size)
				memcpy(r->mem + r->head, &wrap, HEAD);
			r->head = 0;
		}
	} else if (r->tail - r->head <= size) {
		return NULL;
	}
	record = r->mem + r->head;
	memcpy(record, &size, HEAD);
	r->head += size;
	r->next++;
	if (r->head > r->high)
		r->high = r->head;
	return record + HEAD;
}

void
ring_drop(struct ring *r)
{
	uint64_t size;

	assert(r->oldest < r->next);
	r->tail = ring_resolve(r, r->tail, &size) + size;
	r->oldest++;
	if (r->oldest < r->next)
		return;
	if (r->high > KEEP)
		(void)madvise(r->mem + KEEP, r->size - KEEP, MADV_DONTNEED);
	r->high = 0;
}

const void *
ring_read(const struct ring *r, struct ring_place *place)
{
	struct ring_place first = { .number = 0 };
	uint64_t size;
	size_t at;

	if (place == NULL)
		place = &first;
	/* Of the oldest, too, the place may have been written over. */
	if (place->number <= r->oldest) {
		place->lost += r->oldest - place->number;
		place->number = r->oldest;
		place->at = r->tail;
	}
	if (place->number == r->next)
		return NULL;
	at = ring_resolve(r, place->at, &size);
	place->at = at + size;
	place->number++;
	return r->mem + at + HEAD;
}
