/* Lines on their way to the thread that writes them. */

#include <sys/mman.h>

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sys/logring.h"

/* Up to this much memory is kept when the ring is empty. */
#define KEEP (64 * 1024)

/*
 * One line in memory, followed by app, NUL, id, NUL and text. Records are never
 * split: where one does not fit before the end of the memory, a record of size
 * WRAP, or the end itself, sends the reader to the beginning.
 */
#define WRAP 0

struct record {
	uint32_t size; /* with all that follows, or WRAP */
	uint32_t len;
	uint16_t app_size; /* with NUL; 0: no app and no id */
	uint16_t id_size;
	uint16_t level;
	struct timespec at;
};

int
logring_init(struct logring *r)
{
	memset(r, 0, sizeof(*r));
	r->mem = mmap(NULL, LOGRING_SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->mem == MAP_FAILED) {
		r->mem = NULL;
		return -1;
	}
	return 0;
}

void
logring_fini(struct logring *r)
{
	if (r->mem != NULL)
		(void)munmap(r->mem, LOGRING_SIZE);
	r->mem = NULL;
}

/* Returns where size bytes can go; NULL: nowhere. */
static char *
find_room(struct logring *r, size_t size)
{
	const uint32_t wrap = WRAP;

	if (r->lines == 0)
		r->head = r->tail = 0;
	if (r->head > r->tail || r->lines == 0) {
		if (LOGRING_SIZE - r->head >= size)
			return r->mem + r->head;
		/* Not to the tail itself: head == tail means empty. */
		if (r->tail <= size)
			return NULL;
		if (LOGRING_SIZE - r->head >= sizeof(wrap))
			memcpy(r->mem + r->head, &wrap, sizeof(wrap));
		r->head = 0;
		return r->mem;
	}
	return r->tail - r->head > size ? r->mem + r->head : NULL;
}

static bool
put(struct logring *r, const struct logline *line)
{
	struct record rec = {
		.len = (uint32_t)line->len,
		.level = (uint16_t)line->level,
		.at = line->at,
	};
	size_t size;
	char *p;

	if (line->app != NULL) {
		rec.app_size = (uint16_t)(strlen(line->app) + 1);
		rec.id_size = (uint16_t)(strlen(line->id) + 1);
	}
	size = sizeof(rec) + rec.app_size + rec.id_size + line->len;
	size = (size + _Alignof(struct record) - 1) &
	    ~(_Alignof(struct record) - 1);
	rec.size = (uint32_t)size;

	p = find_room(r, size);
	if (p == NULL)
		return false;
	memcpy(p, &rec, sizeof(rec));
	p += sizeof(rec);
	if (line->app != NULL) {
		memcpy(p, line->app, rec.app_size);
		memcpy(p + rec.app_size, line->id, rec.id_size);
		p += rec.app_size + rec.id_size;
	}
	memcpy(p, line->text, line->len);

	r->head += size;
	r->lines++;
	if (r->head > r->high)
		r->high = r->head;
	return true;
}

void
logring_report_dropped(struct logring *r)
{
	char text[80];
	struct logline line = { .level = LOG_LEVEL_WARN, .text = text };

	if (r->dropped == 0)
		return;
	line.len = (size_t)snprintf(text, sizeof(text),
	    "%lu lines of log dropped: they are not read fast enough",
	    r->dropped);
	clock_gettime(CLOCK_REALTIME, &line.at);
	if (put(r, &line))
		r->dropped = 0;
}

bool
logring_put(struct logring *r, const struct logline *line)
{
	logring_report_dropped(r);
	if (r->dropped == 0 && put(r, line))
		return true;
	r->dropped++;
	return false;
}

/* Copies the record at the tail, or after a WRAP; returns where it is. */
static const char *
oldest(const struct logring *r, struct record *out)
{
	const char *p = r->mem + r->tail;

	if (LOGRING_SIZE - r->tail < sizeof(out->size))
		p = r->mem;
	memcpy(&out->size, p, sizeof(out->size));
	if (out->size == WRAP)
		p = r->mem;
	memcpy(out, p, sizeof(*out));
	return p;
}

bool
logring_peek(const struct logring *r, struct logline *out)
{
	struct record rec;
	const char *p;

	if (r->lines == 0)
		return false;

	p = oldest(r, &rec) + sizeof(rec);
	out->at = rec.at;
	out->level = (enum log_level)rec.level;
	out->app = rec.app_size != 0 ? p : NULL;
	out->id = rec.app_size != 0 ? p + rec.app_size : NULL;
	out->text = p + rec.app_size + rec.id_size;
	out->len = rec.len;
	return true;
}

void
logring_pop(struct logring *r)
{
	struct record rec;
	const char *p;

	assert(r->lines > 0);
	p = oldest(r, &rec);
	r->tail = (size_t)(p - r->mem) + rec.size;
	r->lines--;
	if (r->lines > 0)
		return;

	r->head = r->tail = 0;
	if (r->high > KEEP) {
		(void)madvise(
		    r->mem + KEEP, LOGRING_SIZE - KEEP, MADV_DONTNEED);
		r->high = 0;
	}
}
