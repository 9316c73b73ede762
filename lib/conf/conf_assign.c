/*
 * Statements that are no sections: options with a value or a list, and calls.
 */

#include "conf/conf_parser.h"

/* libconfuse adds to a list in time that grows with its length. */
#define LIST_TOKENS_MAX 8192

/* In a list: "NAME=VALUE" without the quotes it needs? */
static bool
is_bare_variable(const struct conf_parser *p, unsigned equals)
{
	const struct conf_token *name = conf_parser_token(p, equals - 1);

	return conf_parser_kind(p, equals) == CONF_TOKEN_EQUALS &&
	    name->kind == CONF_TOKEN_WORD &&
	    name->offset + name->len == conf_parser_token(p, equals)->offset &&
	    (conf_parser_kind(p, equals - 2) == CONF_TOKEN_COMMA ||
		conf_parser_kind(p, equals - 2) == CONF_TOKEN_OPEN);
}

static void
say_bare_variable(struct conf_parser *p, unsigned equals)
{
	conf_mistake(p->findings, conf_parser_where(p, equals),
	    "'%.*s=' in a list: put NAME=VALUE in quotes", SHOW(p, equals - 1));
	p->source->tokens[equals].bad = true;
}

/* "NAME = {": the token that ends the list, or 0 if nothing does. */
static unsigned
list_end(struct conf_parser *p, unsigned open, unsigned *cut_out)
{
	unsigned level = 0;
	unsigned i;

	for (i = open; conf_parser_kind(p, i) != CONF_TOKEN_END; i++) {
		if (is_bare_variable(p, i)) {
			say_bare_variable(p, i);
			continue;
		}
		/* That belongs to the next option, so this one never ended. */
		if (conf_parser_is_assignment(p, i)) {
			*cut_out =
			    conf_parser_is_text(p, i - 1) ? i - 2 : i - 1;
			return 0;
		}
		if (conf_parser_kind(p, i) == CONF_TOKEN_OPEN)
			level++;
		if (conf_parser_kind(p, i) == CONF_TOKEN_CLOSE && --level == 0)
			return i;
	}
	*cut_out = i - 1;
	return 0;
}

/* What stands behind a value on its line without beginning anything. */
static void
option_end(struct conf_parser *p, unsigned value, bool append)
{
	unsigned name = p->at;
	unsigned last = conf_parser_rest_of_line(p, value);
	unsigned s;

	if (last - name > LIST_TOKENS_MAX) {
		conf_parser_bad(p, last, name,
		    "the list of option '%.*s' has more than %d elements",
		    SHOW(p, name), LIST_TOKENS_MAX / 2);
		return;
	}
	if (last > value && !conf_parser_has_bad(p, last)) {
		conf_mistake(p->findings, conf_parser_where(p, value + 1),
		    "unexpected '%.*s' after the value of '%.*s': a value with "
		    "spaces stands in quotes, a list in { \"a\", \"b\" }",
		    SHOW(p, value + 1), SHOW(p, name));
		p->source->tokens[value + 1].bad = true;
	}
	s = conf_parser_add(p, last);
	p->source->stmts[s].value = value;
	p->source->stmts[s].append = append;
}

void
conf_parser_option(struct conf_parser *p)
{
	unsigned equals = p->at + 1;
	unsigned value = equals + 1;
	bool append = conf_parser_kind(p, equals) == CONF_TOKEN_APPEND;
	unsigned cut = value;
	unsigned end;

	if (conf_parser_kind(p, value) == CONF_TOKEN_OPEN) {
		end = list_end(p, value, &cut);
		if (end == 0)
			conf_parser_bad(p, cut, value,
			    "the list of option '%.*s' is never closed with '}'",
			    SHOW(p, p->at));
		else
			option_end(p, end, append);
		return;
	}
	/* A word on the next line is the next option, not a value. */
	if (conf_parser_kind(p, value) == CONF_TOKEN_STRING ||
	    (conf_parser_kind(p, value) == CONF_TOKEN_WORD &&
		conf_parser_same_line(p, equals, value))) {
		option_end(p, value, append);
		return;
	}
	conf_parser_bad(p, conf_parser_rest_of_line(p, equals), equals,
	    "option '%.*s' has no value", SHOW(p, p->at));
}

/* "NAME(": where it ends, or 0 if it does not. */
static unsigned
call_end(const struct conf_parser *p)
{
	unsigned i = p->at + 2;

	while (conf_parser_kind(p, i) != CONF_TOKEN_RPAREN) {
		if (conf_parser_kind(p, i) == CONF_TOKEN_END ||
		    conf_parser_kind(p, i) == CONF_TOKEN_LPAREN ||
		    conf_parser_kind(p, i) == CONF_TOKEN_OPEN ||
		    conf_parser_kind(p, i) == CONF_TOKEN_CLOSE ||
		    conf_parser_is_assignment(p, i))
			return 0;
		i++;
	}
	return i;
}

/*
 * libconfuse forgets to free what it has read of a call when that turns out to
 * be wrong, so it gets to see none that is.
 */
void
conf_parser_call(struct conf_parser *p)
{
	unsigned end = call_end(p);

	if (end == 0) {
		conf_parser_bad(p, conf_parser_rest_of_line(p, p->at),
		    p->at + 1, "'(' after '%.*s' is never closed",
		    SHOW(p, p->at));
		return;
	}
	for (unsigned i = p->at + 2; i < end; i++) {
		bool is_value = (i - p->at) % 2 == 0;

		if (is_value ? conf_parser_is_text(p, i)
			     : conf_parser_kind(p, i) == CONF_TOKEN_COMMA)
			continue;
		conf_parser_bad(p, end, i,
		    "unexpected '%.*s' in the call of '%.*s'", SHOW(p, i),
		    SHOW(p, p->at));
		return;
	}
	option_end(p, end, false);
}
