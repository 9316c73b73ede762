/* The prescan: finds the statements of a file before libconfuse parses it. */

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "conf/names.h"
#include "conf/options.h"
#include "conf/prescan.h"
#include "conf/token.h"

/* The syntax needs depth 2; a larger one can only be a mistake or an attack. */
#define DEPTH_MAX 8

struct open_section {
	struct stmt *stmt;
	bool blank; /* left out, with all that is in it */
};

struct prescan {
	struct source *source;
	struct findings *findings;
	const struct option *only;
	struct token *at; /* where the current statement begins */
	struct open_section open[DEPTH_MAX]; /* outermost first */
	unsigned depth;
	struct copy *copy;
};

/* ---- tokens ---- */

static bool
is_assignment(const struct token *t)
{
	return t->kind == TOKEN_EQUALS || t->kind == TOKEN_APPEND;
}

static bool
is_brace(const struct token *t)
{
	return t->kind == TOKEN_OPEN || t->kind == TOKEN_CLOSE;
}

static bool
is_name(const struct token *t)
{
	for (size_t i = 0; i < t->len; i++) {
		/* Names elsewhere have dots and hyphens. */
		if (!isalnum((unsigned char)t->text[i]) &&
		    strchr("_.-", t->text[i]) == NULL)
			return false;
	}
	return t->kind == TOKEN_WORD;
}

/* True if a statement may begin at the token. */
static bool
may_begin(const struct token *t)
{
	if (t->kind != TOKEN_WORD)
		return false;
	if (is_assignment(t + 1) || t[1].kind == TOKEN_LPAREN)
		return t->line == t[1].line;
	return t[1].kind == TOKEN_OPEN ||
	    (token_is_text(t + 1) && t[2].kind == TOKEN_OPEN);
}

/* The last token on the line of t that is no part of another statement. */
static struct token *
rest_of_line(struct token *t)
{
	struct token *last = t;

	while (last[1].kind != TOKEN_END && !is_brace(last + 1) &&
	    last[1].line == t->line && !may_begin(last + 1))
		last++;
	return last;
}

/*
 * Returns all tokens; an empty one stands before them, four TOKEN_END behind,
 * for looking back and ahead.
 */
static struct token *
read_tokens(struct source *source, struct findings *findings)
{
	struct token *list =
	    arena_grow(findings->arena, NULL, 0, sizeof(*list));
	struct tokens tokens;
	unsigned ends = 0;

	tokens_init(&tokens, source, findings);
	for (size_t len = 1; ends < 4; len++) {
		list = arena_grow(findings->arena, list, len, sizeof(*list));
		tokens_next(&tokens, &list[len]);
		ends += list[len].kind == TOKEN_END;
	}
	return list + 1;
}

/* ---- what is wrong ---- */

static struct where
where(const struct prescan *p, int line)
{
	return (struct where){ p->source, line };
}

static bool
is_blank(const struct prescan *p)
{
	return p->depth > 0 && p->open[p->depth - 1].blank;
}

/* True if a mistake in a token from p->at to last has been reported. */
static bool
has_bad(const struct prescan *p, const struct token *last)
{
	for (const struct token *t = p->at; t <= last; t++) {
		if (t->bad)
			return true;
	}
	return false;
}

/* Goes on behind last; the section lacks that statement. */
static void
leave_out(struct prescan *p, struct token *last)
{
	if (p->depth > 0)
		p->open[p->depth - 1].stmt->gaps = true;
	p->at = last + 1;
}

static void bad(struct prescan *p, struct token *last, int line,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Leaves the tokens up to last out, and reports why, once. */
static void
bad(struct prescan *p, struct token *last, int line, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = arena_vprintf(p->findings->arena, fmt, ap);
	va_end(ap);
	if (!has_bad(p, last))
		findings_mistake(p->findings, where(p, line), "%s", text);
	leave_out(p, last);
}

/* ---- names ---- */

/* The name at p->at, of that text. */
static struct name
name_here(const struct prescan *p, const char *text)
{
	return (
	    struct name){ p->findings, p->source, p->at, text, p->depth > 0 };
}

/*
 * True if the name of s is known and used as it should be; reports it
 * otherwise.
 */
static bool
check_name(struct prescan *p, struct stmt *s, enum form form)
{
	const struct name name = name_here(p, s->name);

	s->option = options_find(name.in_app, s->name);
	if (p->only != NULL && s->option != p->only && !names_is_call(&name))
		return false;
	return names_check(&name, form);
}

/* ---- the copy ---- */

/* Copies the name of s and all behind it up to last. */
static void
put_tokens(struct prescan *p, struct stmt *s, const struct token *last)
{
	for (const struct token *t = p->at; t <= last; t++) {
		if (t == p->at || !token_is_text(t)) {
			copy_text(p->copy, s, t->line, t->text, t->len);
		} else {
			copy_value(p->copy, s, t);
			s->size++;
		}
	}
}

static struct stmt *
stmt_new(struct prescan *p)
{
	struct stmt *s = arena_alloc(p->findings->arena, 1, sizeof(*s));

	s->name = arena_strndup(p->findings->arena, p->at->text, p->at->len);
	s->where = where(p, p->at->line);
	s->section = p->depth > 0 ? p->open[p->depth - 1].stmt : NULL;
	return s;
}

/* Makes room for the values of a statement that is in the copy. */
static void
stmt_end(struct prescan *p, struct stmt *s)
{
	if (s->size > p->copy->elements)
		p->copy->elements = s->size;
	s->values =
	    arena_alloc(p->findings->arena, s->size + 1, sizeof(*s->values));
}

/* ---- options and calls ---- */

/* The first token from t to before end that breaks "VALUE, ..."; or NULL. */
static const struct token *
out_of_order(const struct token *t, const struct token *end)
{
	for (bool value = true; t < end; t++, value = !value) {
		if (value ? !token_is_text(t) : t->kind != TOKEN_COMMA)
			return t;
	}
	return NULL;
}

/* Takes a statement with values, which end at last. */
static void
valued(struct prescan *p, struct token *last, enum form form)
{
	const struct token *t = p->at;
	const struct token *unexpected =
	    form == FORM_OPTION ? out_of_order(t + 3, last) : NULL;
	struct token *rest = rest_of_line(last);
	struct stmt *s = stmt_new(p);

	if (rest > last) {
		bad(p, rest, last[1].line,
		    "unexpected '%.*s' after the value of '%s': a value with "
		    "spaces stands in quotes, a list in { \"a\", \"b\" }",
		    TOKEN_SHOW(last + 1), s->name);
		return;
	}
	if (last - t > 2 * PRESCAN_ELEMENTS) {
		bad(p, last, t->line,
		    "the list of option '%s' has more than %d elements",
		    s->name, PRESCAN_ELEMENTS);
		return;
	}
	if (has_bad(p, last) || is_blank(p) || !check_name(p, s, form)) {
		leave_out(p, last);
		return;
	}
	if (unexpected != NULL) {
		bad(p, last, unexpected->line,
		    "unexpected '%.*s' in the list of option '%s': write "
		    "{ \"a\", \"b\" }",
		    TOKEN_SHOW(unexpected), s->name);
		return;
	}
	s->append = t[1].kind == TOKEN_APPEND;
	s->empty = t[2].kind == TOKEN_OPEN && t[3].kind == TOKEN_CLOSE;
	put_tokens(p, s, s->empty ? t + 2 : last);
	if (s->empty)
		/* libconfuse calls no callback for an empty list. */
		copy_text(p->copy, s, t[2].line, "\"\"}", 3);
	stmt_end(p, s);
	p->at = last + 1;
}

/* True at the '=' of NAME=VALUE in a list, which needs quotes. */
static bool
is_bare_variable(const struct token *t)
{
	return t->kind == TOKEN_EQUALS && t[-1].kind == TOKEN_WORD &&
	    t[-1].text + t[-1].len == t->text &&
	    (t[-2].kind == TOKEN_COMMA || t[-2].kind == TOKEN_OPEN);
}

/* Returns the token that ends a list; NULL, and reported: none does. */
static struct token *
list_end(struct prescan *p)
{
	struct token *t = p->at + 2;
	unsigned level = 0;

	for (;; t++) {
		if (t->kind == TOKEN_OPEN) {
			level++;
		} else if (t->kind == TOKEN_CLOSE) {
			if (--level == 0)
				return t;
		} else if (is_bare_variable(t)) {
			findings_mistake(p->findings, where(p, t->line),
			    "'%.*s=' in a list: put NAME=VALUE in quotes",
			    TOKEN_SHOW(t - 1));
			t->bad = true;
		} else if (t->kind == TOKEN_END || is_assignment(t)) {
			break;
		}
	}
	/* The sign, and a name before it, belong to the next option. */
	bad(p, is_assignment(t) && token_is_text(t - 1) ? t - 2 : t - 1,
	    p->at[2].line, "the list of option '%.*s' is never closed with '}'",
	    TOKEN_SHOW(p->at));
	return NULL;
}

/* Takes "NAME = VALUE" or "NAME += VALUE". */
static void
option(struct prescan *p)
{
	struct token *t = p->at;
	struct token *last = t + 2;

	if (t[2].kind == TOKEN_OPEN) {
		last = list_end(p);
	} else if (t[2].kind != TOKEN_STRING &&
	    (t[2].kind != TOKEN_WORD || t[2].line != t[1].line)) {
		/* A word on the next line is the name of the next option. */
		bad(p, rest_of_line(t + 1), t[1].line,
		    "option '%.*s' has no value", TOKEN_SHOW(t));
		return;
	}
	if (last != NULL)
		valued(p, last, FORM_OPTION);
}

/* libconfuse has all values of a call in memory until it is made. */
static void
call_need(struct copy *c, const struct token *first, const struct token *last)
{
	unsigned variables = 0;
	size_t len = 0;

	for (const struct token *t = first; t <= last; t++) {
		variables += t->variables;
		len += t->len;
	}
	c->longest = len > c->longest ? len : c->longest;
	c->variables = variables > c->variables ? variables : c->variables;
}

/*
 * Takes "NAME(VALUE, ...)". Only calls without a mistake get into the copy:
 * libconfuse leaks memory at others.
 */
static void
call(struct prescan *p)
{
	struct token *name = p->at;
	struct token *t = name + 2;
	const struct token *unexpected;

	while (token_is_text(t) || t->kind == TOKEN_COMMA)
		t++;
	unexpected = out_of_order(name + 2, t);
	call_need(p->copy, name, t);
	if (t->kind != TOKEN_RPAREN)
		bad(p, rest_of_line(name), name[1].line,
		    "'(' after '%.*s' is never closed", TOKEN_SHOW(name));
	else if (unexpected != NULL)
		bad(p, t, unexpected->line,
		    "unexpected '%.*s' in the call of '%.*s'",
		    TOKEN_SHOW(unexpected), TOKEN_SHOW(name));
	else
		valued(p, t, FORM_CALL);
}

/* ---- sections ---- */

/* True if a section of a known name begins here; reports it otherwise. */
static bool
check_section(struct prescan *p, struct stmt *s, size_t brace)
{
	const struct token *t = p->at;

	if (has_bad(p, t + brace))
		return false;
	if (brace > 0 && is_name(t))
		return is_blank(p) ||
		    check_name(p, s, brace > 1 ? FORM_TITLED : FORM_SECTION);
	findings_mistake(p->findings, s->where,
	    brace > 0 ? "unexpected '%.*s' where a section should begin"
		      : "unexpected '%.*s': a section begins with its name",
	    TOKEN_SHOW(t));
	return false;
}

/*
 * Copies the begin of a section. libconfuse calls no callback there, but one
 * for the option that holds the title.
 */
static void
put_title(struct prescan *p, struct stmt *s, const struct token *title)
{
	static const char begin[] = "{" PRESCAN_TITLE "=";
	const struct token none = { .kind = TOKEN_STRING,
		.line = s->where.line,
		.text = "\"\"",
		.len = 2 };

	put_tokens(p, s, p->at);
	copy_text(p->copy, s, s->where.line, begin, strlen(begin));
	copy_value(p->copy, s, title != NULL ? title : &none);
	s->titled = title != NULL;
	s->size = 1;
	stmt_end(p, s);
}

/* Opens a section, whose '{' is the token at distance brace. */
static void
section(struct prescan *p, size_t brace)
{
	struct stmt *s = stmt_new(p);
	bool good = check_section(p, s, brace);
	bool blank = is_blank(p) || !good;

	if (!good && s->section != NULL)
		s->section->gaps = true;
	if (!blank)
		put_title(p, s, brace > 1 ? p->at + 1 : NULL);
	p->open[p->depth++] = (struct open_section){ s, blank };
	p->at += brace + 1;
}

static void
section_end(struct prescan *p, int line)
{
	p->depth--;
	if (!p->open[p->depth].blank)
		copy_text(p->copy, p->open[p->depth].stmt, line, "}", 1);
}

/* ---- files ---- */

/* Too many braces: the rest of the file is not read. */
static void
too_deep(struct prescan *p)
{
	findings_mistake(p->findings, where(p, p->at->line),
	    "sections are nested more than %d deep (the first is of line %d)",
	    DEPTH_MAX, p->open[0].stmt->where.line);
	p->open[0].stmt->gaps = true;
	while (p->depth > 0)
		section_end(p, p->at->line);
	while (p->at->kind != TOKEN_END)
		p->at++;
}

/* The distance from a name to the '{' of a section; 0: there is none. */
static size_t
brace_behind(const struct token *t)
{
	if (!token_is_text(t))
		return 0;
	if (t[1].kind == TOKEN_OPEN)
		return 1;
	return token_is_text(t + 1) && t->line == t[1].line &&
		t[2].kind == TOKEN_OPEN
	    ? 2
	    : 0;
}

/* Leaves out a line that begins with a name, and has no sign behind it. */
static void
no_sign(struct prescan *p)
{
	struct token *t = p->at;
	const struct name name =
	    name_here(p, arena_strndup(p->findings->arena, t->text, t->len));
	const char *advice = names_advice(&name);

	bad(p, rest_of_line(t), t->line, "%s",
	    advice != NULL
		? advice
		: arena_printf(p->findings->arena,
		      "'%s' is not followed by '=' or '{'", name.text));
}

/* Leaves out a line that begins with anything but a name. */
static void
no_name(struct prescan *p)
{
	struct token *t = p->at;

	if (t->kind == TOKEN_WORD && t->text[0] == '[')
		bad(p, rest_of_line(t), t->line,
		    "unexpected '%.*s': a section is written app \"NAME\" "
		    "{ ... }",
		    TOKEN_SHOW(t));
	else
		bad(p, rest_of_line(t), t->line,
		    "unexpected '%.*s' where an option should begin",
		    TOKEN_SHOW(t));
}

static void
statement(struct prescan *p)
{
	struct token *t = p->at;
	size_t brace = brace_behind(t);

	if (brace > 0 || t->kind == TOKEN_OPEN) {
		if (p->depth < DEPTH_MAX)
			section(p, brace);
		else
			too_deep(p);
	} else if (is_name(t) && is_assignment(t + 1)) {
		option(p);
	} else if (is_name(t) && t[1].kind == TOKEN_LPAREN) {
		call(p);
	} else if (is_name(t)) {
		no_sign(p);
	} else {
		no_name(p);
	}
}

static void
close_brace(struct prescan *p)
{
	if (p->depth == 0) {
		bad(p, p->at, p->at->line, "unexpected '}': nothing is open");
		return;
	}
	section_end(p, p->at->line);
	p->at++;
}

/* Closes the sections that are open at the end of the file. */
static void
end_of_file(struct prescan *p)
{
	int line = p->source->lines;

	while (p->depth > 0) {
		findings_mistake(p->findings, where(p, line),
		    "missing '}' at the end of the file ('{' is of line %d)",
		    p->open[p->depth - 1].stmt->where.line);
		section_end(p, line);
	}
	copy_text(p->copy, NULL, 0, "\n", 1);
}

void
prescan(struct source *source, const struct option *only,
    struct findings *findings, struct copy *out)
{
	struct prescan p = { .source = source,
		.findings = findings,
		.only = only,
		.at = read_tokens(source, findings),
		.copy = out };

	copy_init(out, findings->arena);
	while (p.at->kind != TOKEN_END) {
		if (p.at->kind == TOKEN_CLOSE)
			close_brace(&p);
		else
			statement(&p);
	}
	end_of_file(&p);
}
