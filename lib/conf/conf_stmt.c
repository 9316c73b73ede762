/*
 * Finds the statements among the tokens of a file:
 *
 *	NAME = VALUE, NAME += { VALUE, ... }, NAME(VALUE, ...),
 *	NAME { ... }, NAME "TITLE" { ... }
 *
 * so that a bad one can be left out and the rest still be looked at. What
 * cannot be one of these is said here; whether the names and values are right
 * is for others to say.
 */

#include <ctype.h>

#include "conf/conf_parser.h"

static void
section_end(struct conf_parser *p)
{
	struct conf_stmt *s = &p->source->stmts[p->open[--p->depth]];

	s->last = p->at;
	p->source->tokens[p->at].stmt = p->open[p->depth];
	/* Blanked from its beginning, it is blank to its end. */
	if (p->source->tokens[s->first].blank)
		conf_stmt_blank(p->source, p->open[p->depth]);
	p->at++;
}

/* Far too many braces: the outermost section is left out as a whole. */
static void
too_deep(struct conf_parser *p)
{
	unsigned level = p->depth;

	conf_mistake(p->findings, conf_parser_where(p, p->at),
	    "sections are nested more than %d deep (the first is of line %d)",
	    CONF_DEPTH_MAX,
	    conf_parser_token(p, p->source->stmts[p->open[0]].first)->line);
	p->depth = 1;
	while (p->depth > 0 && conf_parser_kind(p, p->at) != CONF_TOKEN_END) {
		p->source->tokens[p->at].stmt = p->open[0];
		if (conf_parser_kind(p, p->at) == CONF_TOKEN_OPEN)
			level++;
		if (conf_parser_kind(p, p->at) == CONF_TOKEN_CLOSE &&
		    --level == 0)
			p->depth = 0;
		p->at++;
	}
	p->source->stmts[p->open[0]].last = p->at - 1;
	conf_stmt_blank(p->source, p->open[0]);
	p->depth = 0;
}

static void
section(struct conf_parser *p, unsigned brace)
{
	unsigned name = p->at;
	unsigned s;

	if (p->depth == CONF_DEPTH_MAX) {
		too_deep(p);
		return;
	}
	s = conf_parser_add(p, brace);
	p->source->stmts[s].title = brace > name + 1;
	p->open[p->depth++] = s;
}

static bool
is_name(const struct conf_parser *p, unsigned i)
{
	const char *text = p->source->text + conf_parser_token(p, i)->offset;

	for (unsigned n = 0; n < conf_parser_token(p, i)->len; n++) {
		if (!isalnum((unsigned char)text[n]) && text[n] != '_')
			return false;
	}
	return conf_parser_kind(p, i) == CONF_TOKEN_WORD;
}

/* Within a section that had no name either; said already. */
static bool
in_nameless(const struct conf_parser *p)
{
	return p->depth > 0 &&
	    conf_parser_kind(
		p, p->source->stmts[p->open[p->depth - 1]].first) ==
	    CONF_TOKEN_OPEN;
}

/* A section with a name of any kind, or none. */
static void
named_section(struct conf_parser *p, unsigned brace)
{
	bool nameless = conf_parser_kind(p, p->at) == CONF_TOKEN_OPEN;

	if (nameless && !in_nameless(p))
		conf_mistake(p->findings, conf_parser_where(p, p->at),
		    "unexpected '{': a section begins with its name");
	else if (!nameless && !is_name(p, p->at))
		conf_mistake(p->findings, conf_parser_where(p, p->at),
		    "unexpected '%.*s' where a section should begin",
		    SHOW(p, p->at));
	if (!is_name(p, p->at))
		p->source->tokens[p->at].bad = true;
	section(p, nameless ? p->at : brace);
}

static void
statement(struct conf_parser *p)
{
	unsigned next = p->at + 1;
	unsigned brace = next;

	if (conf_parser_is_text(p, next) &&
	    conf_parser_same_line(p, p->at, next))
		brace = next + 1;

	if (conf_parser_kind(p, p->at) == CONF_TOKEN_OPEN ||
	    (conf_parser_is_text(p, p->at) &&
		conf_parser_kind(p, brace) == CONF_TOKEN_OPEN)) {
		named_section(p, brace);
	} else if (!is_name(p, p->at)) {
		conf_parser_bad(p, conf_parser_rest_of_line(p, p->at), p->at,
		    "unexpected '%.*s' where an option should begin",
		    SHOW(p, p->at));
	} else if (conf_parser_is_assignment(p, next)) {
		conf_parser_option(p);
	} else if (conf_parser_kind(p, next) == CONF_TOKEN_LPAREN) {
		conf_parser_call(p);
	} else {
		conf_parser_bad(p, conf_parser_rest_of_line(p, p->at), p->at,
		    "'%.*s' is not followed by '=' or '{'", SHOW(p, p->at));
	}
}

static void
close_brace(struct conf_parser *p)
{
	if (p->depth > 0)
		section_end(p);
	else
		conf_parser_bad(
		    p, p->at, p->at, "unexpected '}': nothing is open");
}

/* Puts a '}' before the end, which stands at at. */
static void
close_at_end(struct conf_parser *p)
{
	struct conf_source *source = p->source;
	struct conf_token end = *conf_parser_token(p, p->at);

	source->tokens = conf_grow(
	    source->tokens, source->tokens_len + 1, sizeof(*source->tokens));
	source->tokens[p->at].kind = CONF_TOKEN_CLOSE;
	source->tokens[p->at].line = source->lines;
	source->tokens[p->at + 1] = end;
	source->tokens_len++;
}

/* Sections that the end of the file cuts off are closed there. */
static void
end_of_file(struct conf_parser *p)
{
	while (p->depth > 0) {
		const struct conf_stmt *s =
		    &p->source->stmts[p->open[p->depth - 1]];

		conf_mistake(p->findings,
		    (struct conf_where){ p->source, p->source->lines },
		    "missing '}' at the end of the file ('{' is of line %d)",
		    conf_parser_token(p, s->first)->line);
		close_at_end(p);
		section_end(p);
	}
}

void
conf_stmt_scan(struct conf_source *source, struct conf_findings *findings)
{
	struct conf_parser p = { .source = source, .findings = findings };

	while (conf_parser_kind(&p, p.at) != CONF_TOKEN_END) {
		if (conf_parser_kind(&p, p.at) == CONF_TOKEN_CLOSE)
			close_brace(&p);
		else
			statement(&p);
	}
	end_of_file(&p);
}
