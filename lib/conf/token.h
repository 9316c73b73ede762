#ifndef CONF_TOKEN_H
#define CONF_TOKEN_H

/*
 * The words and signs of a file, one after the other, as libconfuse's scanner
 * has them where that does what a reader expects. Where it does not, there is
 * a mistake with the right line: strings, comments and ${ that nothing closes
 * (libconfuse reads on to wherever the next one is), NUL bytes, comment signs
 * within a word.
 */

#include <stdbool.h>
#include <stddef.h>

#include "conf/findings.h"
#include "conf/source.h"

enum token_kind {
	TOKEN_WORD,
	TOKEN_STRING, /* its quotes are part of the text */
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_LPAREN,
	TOKEN_RPAREN,
	TOKEN_EQUALS,
	TOKEN_APPEND, /* "+=" */
	TOKEN_COMMA,
	TOKEN_END /* of the file */
};

struct token {
	enum token_kind kind;
	bool bad; /* a mistake in it has been told */
	int line;
	const char *text;
	size_t len;
	unsigned variables; /* "${NAME}" in it */
};

/* The text of a token for "%.*s", cut where it is long. */
#define TOKEN_SHOW_MAX 60
#define TOKEN_SHOW(t) \
	((t)->len < TOKEN_SHOW_MAX ? (int)(t)->len : TOKEN_SHOW_MAX), (t)->text

/* Whether the token can be a value. */
static inline bool
token_is_text(const struct token *t)
{
	return t->kind == TOKEN_WORD || t->kind == TOKEN_STRING;
}

/* A way through a file. */
struct tokens {
	struct source *source;
	struct findings *findings;
	const char *at;
	int line;
};

/* Begins at the first token; a file with a NUL byte has none. */
void tokens_init(
    struct tokens *s, struct source *source, struct findings *findings);

/* Reads the next token; at the end, and then for ever, a TOKEN_END. */
void tokens_next(struct tokens *s, struct token *out);

#endif
