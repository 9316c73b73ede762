#ifndef CONTROL_CONTROL_LINE_H
#define CONTROL_CONTROL_LINE_H

/* What a client of the control socket says: one line of words. */

#include <stdbool.h>
#include <stddef.h>

/* Longest line, without its newline. */
#define CONTROL_LINE_MAX 4096

/* The command and its arguments. */
#define CONTROL_WORDS_MAX 16

struct control_line {
	bool json; /* it began with this word, which is left out */
	/* They point into the line; the last one is NULL. */
	char *words[CONTROL_WORDS_MAX + 1];
	size_t nwords; /* at least 1 */
};

/*
 * Takes a line of len bytes apart; line[len] is there and may be written to.
 * Words stand apart by blanks or tabs. NULL, or what is wrong with it.
 */
const char *control_line_parse(
    char *line, size_t len, struct control_line *out);

#endif
