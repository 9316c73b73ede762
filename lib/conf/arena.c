/* Arenas: memory that is freed as a whole. */

#include <sys/mman.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/arena.h"

struct arena_block {
	struct arena_block *next;
	size_t size; /* of the whole block, this head included */
	size_t left; /* bytes at its end that are still free */
};

#define ALIGNED(size) (((size) + 15) & ~(size_t)15)
#define HEAD ALIGNED(sizeof(struct arena_block))

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_CHECKED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_CHECKED
#endif

#ifdef ARENA_CHECKED
/*
 * Each allocation is a block of its own, so that the sanitizer sees where it
 * ends.
 */
#define BLOCK_SIZE 0

static void *
block_get(size_t size)
{
	return calloc(1, size);
}

static void
block_put(struct arena_block *b)
{
	free(b);
}
#else
#define BLOCK_SIZE ((size_t)64 * 1024)

/*
 * Blocks come from mmap(2): free memory of malloc(3) stays free for libconfuse,
 * which ends the process when it gets none (see reserve() in parse.c).
 */
static void *
block_get(size_t size)
{
	void *b = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return b != MAP_FAILED ? b : NULL;
}

static void
block_put(struct arena_block *b)
{
	(void)munmap(b, b->size);
}
#endif

void
arena_fini(struct arena *a)
{
	while (a->blocks != NULL) {
		struct arena_block *b = a->blocks;

		a->blocks = b->next;
		block_put(b);
	}
}

/* Adds a block with room for size bytes. False: no memory, no block. */
static bool
add_block(struct arena *a, size_t size)
{
	size_t whole = HEAD + size > BLOCK_SIZE ? HEAD + size : BLOCK_SIZE;
	struct arena_block *b = block_get(whole);

	if (b == NULL)
		return false;
	b->next = a->blocks;
	b->size = whole;
	b->left = whole - HEAD;
	a->blocks = b;
	return true;
}

void *
arena_try(struct arena *a, size_t size)
{
	size_t step = ALIGNED(size);
	struct arena_block *b = a->blocks;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	if ((b == NULL || b->left < step) && !add_block(a, size))
		return NULL;
	b = a->blocks;
	p = (char *)b + (b->size - b->left);
	b->left -= step < b->left ? step : b->left;
	return p;
}

void
arena_exhausted(const struct arena *a)
{
	longjmp(*a->exhausted, 1);
}

void *
arena_alloc(struct arena *a, size_t n, size_t size)
{
	void *p = n > SIZE_MAX / 2 / size ? NULL : arena_try(a, n * size);

	if (p == NULL)
		arena_exhausted(a);
	return p;
}

void *
arena_grow(struct arena *a, void *list, size_t len, size_t size)
{
	void *larger;

	/*
	 * The list is full exactly when len is 0 or a power of two from 8 on.
	 */
	if (len != 0 && (len < 8 || (len & (len - 1)) != 0))
		return list;
	larger = arena_alloc(a, len == 0 ? 8 : len * 2, size);
	if (len > 0)
		memcpy(larger, list, len * size);
	return larger;
}

char *
arena_strndup(struct arena *a, const char *text, size_t len)
{
	char *p = arena_alloc(a, len + 1, 1);

	memcpy(p, text, len);
	return p;
}

char *
arena_strdup(struct arena *a, const char *text)
{
	return arena_strndup(a, text, strlen(text));
}

char *
arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *p;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0)
		arena_exhausted(a);
	p = arena_alloc(a, (size_t)len + 1, 1);
	(void)vsnprintf(p, (size_t)len + 1, fmt, ap);
	return p;
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;

	va_start(ap, fmt);
	p = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return p;
}
