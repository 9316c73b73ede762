#ifndef SYS_TEXT_H
#define SYS_TEXT_H

/*
 * Text that grows up to a bound, and the characters in it: UTF-8 as RFC 3629
 * has it, without overlong forms, surrogates and numbers past U+10FFFF.
 */

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *data; /* len bytes, without a NUL; NULL: none yet */
	size_t len;
	size_t size; /* bytes allocated */
	size_t max; /* bytes that may be allocated */
	/* A piece found no room or no memory: nothing is added any more. */
	bool failed;
};

/* Begins an empty text that never holds more than max bytes. */
void text_init(struct text *t, size_t max);
void text_fini(struct text *t);

/* Empties it for new text; the memory is kept. */
void text_clear(struct text *t);

void text_put(struct text *t, const char *s, size_t len);
void text_puts(struct text *t, const char *s);
void text_printf(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Puts text for a terminal: controls, which it could take for a command, and
 * bytes that are not UTF-8 come out as \xHH.
 */
void text_escaped(struct text *t, const char *s, size_t len);

/*
 * How many bytes the character at p takes, 1 to 4, of the len (at least 1)
 * that are there; 0 where no valid character begins.
 */
size_t text_char_length(const char *p, size_t len);

/* Whether the character of n bytes is one of U+0000-1F and U+007F-9F. */
bool text_is_control(const char *p, size_t n);

#endif
