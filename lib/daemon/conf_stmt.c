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
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/conf_private.h"

/* The syntax needs two; more can only be a mistake or an attack. */
#define DEPTH_MAX 8

/* libconfuse adds to a list in time that grows with its length. */
#define LIST_TOKENS_MAX 8192

struct parser {
	struct conf_source *source;
	struct conf_findings *findings;
	unsigned at; /* the token looked at */
	unsigned open[DEPTH_MAX];
	unsigned depth;
};

static const struct conf_token *
token(const struct parser *p, unsigned i)
{
	if (i > p->source->tokens_len)
		i = p->source->tokens_len;
	return &p->source->tokens[i];
}

static enum conf_token_kind
kind(const struct parser *p, unsigned i)
{
	return token(p, i)->kind;
}

static bool
is_text(const struct parser *p, unsigned i)
{
	return kind(p, i) == CONF_TOKEN_WORD || kind(p, i) == CONF_TOKEN_STRING;
}

static bool
is_assignment(const struct parser *p, unsigned i)
{
	return kind(p, i) == CONF_TOKEN_EQUALS ||
	    kind(p, i) == CONF_TOKEN_APPEND;
}

static bool
same_line(const struct parser *p, unsigned i, unsigned j)
{
	return token(p, i)->line == token(p, j)->line;
}

static struct conf_where
where(const struct parser *p, unsigned i)
{
	return (struct conf_where){ p->source, token(p, i)->line };
}

/* The text of a token for a message, cut where it is long. */
#define SHOW_MAX 60
#define SHOW(p, i) \
	(int)(token(p, i)->len < SHOW_MAX ? token(p, i)->len : SHOW_MAX), \
	    (p)->source->text + token(p, i)->offset

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

/* Adds a statement of the tokens at .. last, and moves behind it. */
static unsigned
stmt_add(struct parser *p, unsigned last)
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

static bool
has_bad_token(const struct parser *p, unsigned last)
{
	for (unsigned i = p->at; i <= last; i++) {
		if (token(p, i)->bad)
			return true;
	}
	return false;
}

static void stmt_bad(struct parser *p, unsigned last, unsigned culprit,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* A statement that is nothing; said unless one of its tokens was already. */
static void
stmt_bad(
    struct parser *p, unsigned last, unsigned culprit, const char *fmt, ...)
{
	va_list ap;
	char *text;

	if (!has_bad_token(p, last)) {
		va_start(ap, fmt);
		if (vasprintf(&text, fmt, ap) == -1)
			text = conf_strdup(fmt);
		va_end(ap);
		conf_mistake(p->findings, where(p, culprit), "%s", text);
		free(text);
	}
	conf_stmt_blank(p->source, stmt_add(p, last));
}

/* True if a statement may begin at token i. */
static bool
may_begin(const struct parser *p, unsigned i)
{
	if (kind(p, i) != CONF_TOKEN_WORD)
		return false;
	if (is_assignment(p, i + 1) || kind(p, i + 1) == CONF_TOKEN_LPAREN)
		return same_line(p, i, i + 1);
	if (kind(p, i + 1) == CONF_TOKEN_OPEN)
		return true;
	return is_text(p, i + 1) && kind(p, i + 2) == CONF_TOKEN_OPEN;
}

/* The last token from i on that is on its line and begins nothing new. */
static unsigned
rest_of_line(const struct parser *p, unsigned i)
{
	unsigned last = i;

	while (kind(p, last + 1) != CONF_TOKEN_END &&
	    kind(p, last + 1) != CONF_TOKEN_OPEN &&
	    kind(p, last + 1) != CONF_TOKEN_CLOSE &&
	    same_line(p, i, last + 1) && !may_begin(p, last + 1))
		last++;
	return last;
}

static void
section_end(struct parser *p)
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
too_deep(struct parser *p)
{
	unsigned level = p->depth;

	conf_mistake(p->findings, where(p, p->at),
	    "sections are nested more than %d deep (the first is of line %d)",
	    DEPTH_MAX, token(p, p->source->stmts[p->open[0]].first)->line);
	p->depth = 1;
	while (p->depth > 0 && kind(p, p->at) != CONF_TOKEN_END) {
		p->source->tokens[p->at].stmt = p->open[0];
		if (kind(p, p->at) == CONF_TOKEN_OPEN)
			level++;
		if (kind(p, p->at) == CONF_TOKEN_CLOSE && --level == 0)
			p->depth = 0;
		p->at++;
	}
	p->source->stmts[p->open[0]].last = p->at - 1;
	conf_stmt_blank(p->source, p->open[0]);
	p->depth = 0;
}

static void
section(struct parser *p, unsigned brace)
{
	unsigned name = p->at;
	unsigned s;

	if (p->depth == DEPTH_MAX) {
		too_deep(p);
		return;
	}
	s = stmt_add(p, brace);
	p->source->stmts[s].title = brace > name + 1;
	p->open[p->depth++] = s;
}

/* In a list: "NAME=VALUE" without the quotes it needs? */
static bool
is_bare_variable(const struct parser *p, unsigned equals)
{
	const struct conf_token *name = token(p, equals - 1);

	return kind(p, equals) == CONF_TOKEN_EQUALS &&
	    name->kind == CONF_TOKEN_WORD &&
	    name->offset + name->len == token(p, equals)->offset &&
	    (kind(p, equals - 2) == CONF_TOKEN_COMMA ||
		kind(p, equals - 2) == CONF_TOKEN_OPEN);
}

static void
say_bare_variable(struct parser *p, unsigned equals)
{
	conf_mistake(p->findings, where(p, equals),
	    "'%.*s=' in a list: put NAME=VALUE in quotes", SHOW(p, equals - 1));
	p->source->tokens[equals].bad = true;
}

/* "NAME = {": the token that ends the list, or 0 if nothing does. */
static unsigned
list_end(struct parser *p, unsigned open, unsigned *cut_out)
{
	unsigned level = 0;
	unsigned i;

	for (i = open; kind(p, i) != CONF_TOKEN_END; i++) {
		if (is_bare_variable(p, i)) {
			say_bare_variable(p, i);
			continue;
		}
		/* That belongs to the next option, so this one never ended. */
		if (is_assignment(p, i)) {
			*cut_out = is_text(p, i - 1) ? i - 2 : i - 1;
			return 0;
		}
		if (kind(p, i) == CONF_TOKEN_OPEN)
			level++;
		if (kind(p, i) == CONF_TOKEN_CLOSE && --level == 0)
			return i;
	}
	*cut_out = i - 1;
	return 0;
}

/* What stands behind a value on its line without beginning anything. */
static void
option_end(struct parser *p, unsigned value, bool append)
{
	unsigned name = p->at;
	unsigned last = rest_of_line(p, value);
	unsigned s;

	if (last - name > LIST_TOKENS_MAX) {
		stmt_bad(p, last, name,
		    "the list of option '%.*s' has more than %d elements",
		    SHOW(p, name), LIST_TOKENS_MAX / 2);
		return;
	}
	if (last > value && !has_bad_token(p, last)) {
		conf_mistake(p->findings, where(p, value + 1),
		    "unexpected '%.*s' after the value of '%.*s': a value with "
		    "spaces stands in quotes, a list in { \"a\", \"b\" }",
		    SHOW(p, value + 1), SHOW(p, name));
		p->source->tokens[value + 1].bad = true;
	}
	s = stmt_add(p, last);
	p->source->stmts[s].value = value;
	p->source->stmts[s].append = append;
}

static void
option(struct parser *p)
{
	unsigned equals = p->at + 1;
	unsigned value = equals + 1;
	bool append = kind(p, equals) == CONF_TOKEN_APPEND;
	unsigned cut = value;
	unsigned end;

	if (kind(p, value) == CONF_TOKEN_OPEN) {
		end = list_end(p, value, &cut);
		if (end == 0)
			stmt_bad(p, cut, value,
			    "the list of option '%.*s' is never closed with '}'",
			    SHOW(p, p->at));
		else
			option_end(p, end, append);
		return;
	}
	/* A word on the next line is the next option, not a value. */
	if (kind(p, value) == CONF_TOKEN_STRING ||
	    (kind(p, value) == CONF_TOKEN_WORD &&
		same_line(p, equals, value))) {
		option_end(p, value, append);
		return;
	}
	stmt_bad(p, rest_of_line(p, equals), equals,
	    "option '%.*s' has no value", SHOW(p, p->at));
}

/* "NAME(": where it ends, or 0 if it does not. */
static unsigned
call_end(const struct parser *p)
{
	unsigned i = p->at + 2;

	while (kind(p, i) != CONF_TOKEN_RPAREN) {
		if (kind(p, i) == CONF_TOKEN_END ||
		    kind(p, i) == CONF_TOKEN_OPEN ||
		    kind(p, i) == CONF_TOKEN_CLOSE || is_assignment(p, i))
			return 0;
		i++;
	}
	return i;
}

/*
 * libconfuse forgets to free what it has read of a call when that turns out to
 * be wrong, so it gets to see none that is.
 */
static void
call(struct parser *p)
{
	unsigned end = call_end(p);

	if (end == 0) {
		stmt_bad(p, rest_of_line(p, p->at), p->at + 1,
		    "'(' after '%.*s' is never closed", SHOW(p, p->at));
		return;
	}
	for (unsigned i = p->at + 2; i < end; i++) {
		bool is_value = (i - p->at) % 2 == 0;

		if (is_value ? is_text(p, i) : kind(p, i) == CONF_TOKEN_COMMA)
			continue;
		stmt_bad(p, end, i, "unexpected '%.*s' in the call of '%.*s'",
		    SHOW(p, i), SHOW(p, p->at));
		return;
	}
	option_end(p, end, false);
}

static bool
is_name(const struct parser *p, unsigned i)
{
	const char *text = p->source->text + token(p, i)->offset;

	for (unsigned n = 0; n < token(p, i)->len; n++) {
		if (!isalnum((unsigned char)text[n]) && text[n] != '_')
			return false;
	}
	return kind(p, i) == CONF_TOKEN_WORD;
}

/* Within a section that had no name either; said already. */
static bool
in_nameless(const struct parser *p)
{
	return p->depth > 0 &&
	    kind(p, p->source->stmts[p->open[p->depth - 1]].first) ==
	    CONF_TOKEN_OPEN;
}

/* A section with a name of any kind, or none. */
static void
named_section(struct parser *p, unsigned brace)
{
	bool nameless = kind(p, p->at) == CONF_TOKEN_OPEN;

	if (nameless && !in_nameless(p))
		conf_mistake(p->findings, where(p, p->at),
		    "unexpected '{': a section begins with its name");
	else if (!nameless && !is_name(p, p->at))
		conf_mistake(p->findings, where(p, p->at),
		    "unexpected '%.*s' where a section should begin",
		    SHOW(p, p->at));
	if (!is_name(p, p->at))
		p->source->tokens[p->at].bad = true;
	section(p, nameless ? p->at : brace);
}

static void
statement(struct parser *p)
{
	unsigned next = p->at + 1;
	unsigned brace = next;

	if (is_text(p, next) && same_line(p, p->at, next))
		brace = next + 1;

	if (kind(p, p->at) == CONF_TOKEN_OPEN ||
	    (is_text(p, p->at) && kind(p, brace) == CONF_TOKEN_OPEN)) {
		named_section(p, brace);
	} else if (!is_name(p, p->at)) {
		stmt_bad(p, rest_of_line(p, p->at), p->at,
		    "unexpected '%.*s' where an option should begin",
		    SHOW(p, p->at));
	} else if (is_assignment(p, next)) {
		option(p);
	} else if (kind(p, next) == CONF_TOKEN_LPAREN) {
		call(p);
	} else {
		stmt_bad(p, rest_of_line(p, p->at), p->at,
		    "'%.*s' is not followed by '=' or '{'", SHOW(p, p->at));
	}
}

static void
close_brace(struct parser *p)
{
	if (p->depth > 0)
		section_end(p);
	else
		stmt_bad(p, p->at, p->at, "unexpected '}': nothing is open");
}

/* Puts a '}' before the end, which stands at at. */
static void
close_at_end(struct parser *p)
{
	struct conf_source *source = p->source;
	struct conf_token end = *token(p, p->at);

	source->tokens = conf_grow(
	    source->tokens, source->tokens_len + 1, sizeof(*source->tokens));
	source->tokens[p->at].kind = CONF_TOKEN_CLOSE;
	source->tokens[p->at].line = source->lines;
	source->tokens[p->at + 1] = end;
	source->tokens_len++;
}

/* Sections that the end of the file cuts off are closed there. */
static void
end_of_file(struct parser *p)
{
	while (p->depth > 0) {
		const struct conf_stmt *s =
		    &p->source->stmts[p->open[p->depth - 1]];

		conf_mistake(p->findings,
		    (struct conf_where){ p->source, p->source->lines },
		    "missing '}' at the end of the file ('{' is of line %d)",
		    token(p, s->first)->line);
		close_at_end(p);
		section_end(p);
	}
}

void
conf_stmt_scan(struct conf_source *source, struct conf_findings *findings)
{
	struct parser p = { .source = source, .findings = findings };

	while (kind(&p, p.at) != CONF_TOKEN_END) {
		if (kind(&p, p.at) == CONF_TOKEN_CLOSE)
			close_brace(&p);
		else
			statement(&p);
	}
	end_of_file(&p);
}
