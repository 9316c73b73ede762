/* Arenas: memory that is freed as a whole. */

#include <stdlib.h>

#include "conf/room.h"

struct arena_block {
	struct arena_block *next;
	size_t size; /* of the whole block, this head included */
	size_t left; /* bytes at its end that are still free */
};

#define ALIGNED(size) (((size) + 15) & ~(size_t)15)
#define HEAD ALIGNED(sizeof(struct arena_block))

/* A block for each, so that a sanitizer sees where an allocation ends. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BLOCK_SIZE 0
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define BLOCK_SIZE 0
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE ((size_t)64 * 1024)
#endif

void
arena_fini(struct arena *a)
{
	while (a->blocks != NULL) {
		struct arena_block *b = a->blocks;

		a->blocks = b->next;
		free(b);
	}
}

void *
arena_alloc(struct arena *a, size_t n, size_t size)
{
	struct arena_block *b = a->blocks;
	size_t step, whole;
	char *p;

	if (n > SIZE_MAX / 4 / size)
		fatal("no memory for the configuration");
	step = ALIGNED(n * size);
	if (b == NULL || b->left < step) {
		whole = HEAD + n * size;
		whole = whole > BLOCK_SIZE ? whole : BLOCK_SIZE;
		b = calloc(1, whole);
		if (b == NULL)
			fatal("no memory for the configuration");
		*b = (struct arena_block){ a->blocks, whole, whole - HEAD };
		a->blocks = b;
	}
	p = (char *)b + (b->size - b->left);
	b->left -= step < b->left ? step : b->left;
	return p;
}

void *
arena_grow(struct arena *a, void *list, size_t len, size_t size)
{
	void *larger;

	/* A list is full exactly when len is 0 or a power of two from 8 on. */
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
arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *p;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len < 0)
		fatal("no memory for the configuration");
	p = arena_alloc(a, (size_t)len + 1, 1);
	(void)vsnprintf(p, (size_t)len + 1, fmt, ap);
	va_end(ap);
	return p;
}
