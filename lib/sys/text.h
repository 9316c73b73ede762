#ifndef SYS_TEXT_H
#define SYS_TEXT_H

/* Text that grows up to a bound. */

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *data; /* len bytes, and no NUL behind them; NULL: none yet */
	size_t len;
	size_t size; /* bytes there are */
	size_t max; /* bytes there may be */
	/* Something found no room, or no memory: nothing is added any more. */
	bool failed;
};

/* An empty one that never holds more than max bytes. */
void text_init(struct text *t, size_t max);
void text_fini(struct text *t);

/* Empties it for new text; the memory is kept. */
void text_clear(struct text *t);

void text_put(struct text *t, const char *s, size_t len);
void text_puts(struct text *t, const char *s);
void text_printf(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * For a terminal: what could be taken for a command, and what is not UTF-8,
 * comes out as \xHH.
 */
void text_escaped(struct text *t, const char *s, size_t len);

#endif
