#ifndef CONF_CONF_PARSER_H
#define CONF_CONF_PARSER_H

/*
 * What the files conf_parser.c, conf_assign.c and conf_stmt.c share: the way
 * through the tokens of a file, and the statements found on it.
 */

#include "conf/conf_private.h"

/* The syntax needs two; more can only be a mistake or an attack. */
#define CONF_DEPTH_MAX 8

struct conf_parser {
	struct conf_source *source;
	struct conf_findings *findings;
	unsigned at; /* the token looked at */
	unsigned open[CONF_DEPTH_MAX]; /* sections, outermost first */
	unsigned depth;
};

/* A token; beyond the last one it is CONF_TOKEN_END. */
const struct conf_token *conf_parser_token(
    const struct conf_parser *, unsigned i);
enum conf_token_kind conf_parser_kind(const struct conf_parser *, unsigned i);
struct conf_where conf_parser_where(const struct conf_parser *, unsigned i);
bool conf_parser_is_text(const struct conf_parser *, unsigned i);
bool conf_parser_is_assignment(const struct conf_parser *, unsigned i);
bool conf_parser_same_line(const struct conf_parser *, unsigned i, unsigned j);

/* The text of a token for "%.*s", cut where it is long. */
#define SHOW_MAX 60
#define SHOW(p, i) \
	(int)(conf_parser_token(p, i)->len < SHOW_MAX \
		? conf_parser_token(p, i)->len \
		: SHOW_MAX), \
	    (p)->source->text + conf_parser_token(p, i)->offset

/* Adds a statement of the tokens at .. last, and moves behind it. */
unsigned conf_parser_add(struct conf_parser *, unsigned last);

/* Whether something was said of one of the tokens at .. last. */
bool conf_parser_has_bad(const struct conf_parser *, unsigned last);

/*
 * Adds a statement that is nothing. Says so, in the line of the token culprit,
 * unless something was said of it already.
 */
void conf_parser_bad(struct conf_parser *, unsigned last, unsigned culprit,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The last token from i on that is on its line and begins nothing new. */
unsigned conf_parser_rest_of_line(const struct conf_parser *, unsigned i);

/* conf_assign.c: at "NAME =" or "NAME +=", and at "NAME(". */
void conf_parser_option(struct conf_parser *);
void conf_parser_call(struct conf_parser *);

#endif
