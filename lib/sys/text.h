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

/* For whom bytes of strangers are made harmless. */
enum text_as {
	TEXT_TERMINAL, /* what it could take for a command comes out as \xHH */
	TEXT_LINE, /* of a log: likewise, but for tabs */
	TEXT_JSON, /* in quotes: what is not UTF-8 becomes U+FFFD */
};

typedef void text_piece(void *arg, const char *piece, size_t len);

/* Gives the text to put() in pieces, none of which ends within a character. */
void text_pieces(
    const char *s, size_t len, enum text_as as, text_piece *put, void *arg);

/* As put() above: adds to the text that arg is. */
static inline void
text_put_piece(void *t, const char *piece, size_t len)
{
	text_put(t, piece, len);
}

/* Adds the text for a terminal. */
void text_escaped(struct text *t, const char *s, size_t len);

/*
 * How many bytes the character at p takes, 1 to 4, of the len (at least 1)
 * that are there; 0 where no valid character begins.
 */
size_t text_char_length(const char *p, size_t len);

/*
 * For "is X meant?": the nearest of the names, which end with NULL, by letters
 * that are changed, added, left out or swapped; NULL: none is near.
 */
const char *suggest_nearest(const char *word, const char *const *names);

#endif
