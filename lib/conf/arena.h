#ifndef CONF_ARENA_H
#define CONF_ARENA_H

/*
 * An arena is memory that is freed as a whole: that of one configuration, or of
 * the work of loading one. Its memory is zeroed.
 *
 * When memory runs out, the functions here do not return: they jump to where
 * the load began. So a caller that holds a descriptor, or memory of a library,
 * uses arena_try(), releases what it holds, and calls arena_exhausted().
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks; /* the newest first, or NULL */
	jmp_buf *exhausted; /* the jump when memory runs out */
};

/* Frees all memory of the arena. */
void arena_fini(struct arena *a);

/* Returns size bytes; NULL: no memory. */
void *arena_try(struct arena *a, size_t size);

/* Jumps to where the load began. */
_Noreturn void arena_exhausted(const struct arena *a);

/* Returns n elements of size bytes each. */
void *arena_alloc(struct arena *a, size_t n, size_t size);

/*
 * Returns the list of len elements of size bytes with room for one more. Only
 * this function may have allocated it; NULL is the empty list.
 */
void *arena_grow(struct arena *a, void *list, size_t len, size_t size);

char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t len);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

#endif
