/*
 * The way through the tokens of a file, from statement to statement.
 */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_parser.h"

const struct conf_token *
conf_parser_token(const struct conf_parser *p, unsigned i)
{
	if (i > p->source->tokens_len)
		i = p->source->tokens_len;
	return &p->source->tokens[i];
}

enum conf_token_kind
conf_parser_kind(const struct conf_parser *p, unsigned i)
{
	return conf_parser_token(p, i)->kind;
}

bool
conf_parser_is_text(const struct conf_parser *p, unsigned i)
{
	return conf_parser_kind(p, i) == CONF_TOKEN_WORD ||
	    conf_parser_kind(p, i) == CONF_TOKEN_STRING;
}

bool
conf_parser_is_assignment(const struct conf_parser *p, unsigned i)
{
	return conf_parser_kind(p, i) == CONF_TOKEN_EQUALS ||
	    conf_parser_kind(p, i) == CONF_TOKEN_APPEND;
}

bool
conf_parser_same_line(const struct conf_parser *p, unsigned i, unsigned j)
{
	return conf_parser_token(p, i)->line == conf_parser_token(p, j)->line;
}

struct conf_where
conf_parser_where(const struct conf_parser *p, unsigned i)
{
	return (struct conf_where){ p->source, conf_parser_token(p, i)->line };
}

bool
conf_token_is(const struct conf_source *source, unsigned i, const char *word)
{
	const struct conf_token *t = &source->tokens[i];

	return t->kind == CONF_TOKEN_WORD && t->len == strlen(word) &&
	    memcmp(source->text + t->offset, word, t->len) == 0;
}

void
conf_stmt_blank(struct conf_source *source, unsigned stmt)
{
	const struct conf_stmt *s = &source->stmts[stmt];

	for (unsigned i = s->first; i <= s->last; i++)
		source->tokens[i].blank = true;
}

unsigned
conf_parser_add(struct conf_parser *p, unsigned last)
{
	struct conf_source *source = p->source;
	struct conf_stmt *s;
	bool bad = false;

	source->stmts =
	    conf_grow(source->stmts, source->stmts_len, sizeof(*source->stmts));
	s = &source->stmts[source->stmts_len];
	memset(s, 0, sizeof(*s));
	s->first = p->at;
	s->last = last;
	s->value = last;
	s->parent = p->depth > 0 ? p->open[p->depth - 1] : CONF_STMT_NONE;
	for (unsigned i = s->first; i <= last; i++) {
		source->tokens[i].stmt = source->stmts_len;
		bad = bad || source->tokens[i].bad;
	}
	if (bad)
		conf_stmt_blank(source, source->stmts_len);
	p->at = last + 1;
	return source->stmts_len++;
}

bool
conf_parser_has_bad(const struct conf_parser *p, unsigned last)
{
	for (unsigned i = p->at; i <= last; i++) {
		if (conf_parser_token(p, i)->bad)
			return true;
	}
	return false;
}

void
conf_parser_bad(struct conf_parser *p, unsigned last, unsigned culprit,
    const char *fmt, ...)
{
	va_list ap;
	char *text;

	if (!conf_parser_has_bad(p, last)) {
		va_start(ap, fmt);
		if (vasprintf(&text, fmt, ap) == -1)
			text = conf_strdup(fmt);
		va_end(ap);
		conf_mistake(
		    p->findings, conf_parser_where(p, culprit), "%s", text);
		free(text);
	}
	conf_stmt_blank(p->source, conf_parser_add(p, last));
}

/* True if a statement may begin at token i. */
static bool
may_begin(const struct conf_parser *p, unsigned i)
{
	if (conf_parser_kind(p, i) != CONF_TOKEN_WORD)
		return false;
	if (conf_parser_is_assignment(p, i + 1) ||
	    conf_parser_kind(p, i + 1) == CONF_TOKEN_LPAREN)
		return conf_parser_same_line(p, i, i + 1);
	if (conf_parser_kind(p, i + 1) == CONF_TOKEN_OPEN)
		return true;
	return conf_parser_is_text(p, i + 1) &&
	    conf_parser_kind(p, i + 2) == CONF_TOKEN_OPEN;
}

unsigned
conf_parser_rest_of_line(const struct conf_parser *p, unsigned i)
{
	unsigned last = i;

	while (conf_parser_kind(p, last + 1) != CONF_TOKEN_END &&
	    conf_parser_kind(p, last + 1) != CONF_TOKEN_OPEN &&
	    conf_parser_kind(p, last + 1) != CONF_TOKEN_CLOSE &&
	    conf_parser_same_line(p, i, last + 1) && !may_begin(p, last + 1))
		last++;
	return last;
}
