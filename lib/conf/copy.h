#ifndef CONF_COPY_H
#define CONF_COPY_H

/*
 * The copy of a file that libconfuse parses: without comments, bare values in
 * quotes, and each line of it made of one statement and one line of the file.
 * So the line number that libconfuse knows names both.
 */

#include <stddef.h>

#include "conf/arena.h"
#include "conf/token.h"

struct stmt;

/* The origin of a line of the copy. */
struct copy_line {
	struct stmt *stmt; /* NULL: the first line, which is empty */
	int line; /* of the file */
};

struct copy {
	struct arena *arena;
	char *text; /* not ended by a NUL */
	size_t len;
	size_t size;
	struct copy_line *lines;
	size_t lines_len;
	size_t longest; /* bytes of the longest value, or values of a call */
	unsigned variables; /* "${NAME}" in the value or call with the most */
	size_t elements; /* values of the statement that has the most */
};

void copy_init(struct copy *c, struct arena *arena);

/* Adds text of a statement as it is: a name, signs. */
void copy_text(
    struct copy *c, struct stmt *stmt, int line, const char *text, size_t len);

/* Adds a value, which is a word or a string. */
void copy_value(struct copy *c, struct stmt *stmt, const struct token *t);

#endif
