/*
 * One look at a file before libconfuse has it, which stops at its first
 * mistake, miscounts lines behind comments and takes a missing '}' for the end
 * of the file. The prescan finds the statements
 *
 *	NAME = VALUE, NAME += { VALUE, ... }, NAME(VALUE, ...),
 *	NAME { ... }, NAME "TITLE" { ... }
 *
 * tells which names are unknown or in the wrong place and what cannot be a
 * statement at all, and leaves the others to libconfuse, in a text without
 * comments.
 */

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "conf/room.h"

/* The syntax needs depth 2; a larger one can only be a mistake or an attack. */
#define DEPTH_MAX 8

/* ---- tokens ---- */

static bool
is_assignment(const struct token *t)
{
	return t->kind == TOKEN_EQUALS || t->kind == TOKEN_APPEND;
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

/* The last token on the line of t that is no part of another statement. */
static struct token *
line_rest(struct token *t)
{
	struct token *n = t + 1;

	for (; n->kind != TOKEN_END && n->line == t->line; n++) {
		bool sign = is_assignment(n + 1) || n[1].kind == TOKEN_LPAREN;

		if (n->kind == TOKEN_OPEN || n->kind == TOKEN_CLOSE)
			break;
		/* A statement may begin here. */
		if (n->kind == TOKEN_WORD &&
		    (sign ? n->line == n[1].line
			  : n[1].kind == TOKEN_OPEN ||
				(token_is_text(n + 1) &&
				    n[2].kind == TOKEN_OPEN)))
			break;
	}
	return n - 1;
}

/* ---- what is wrong ---- */

struct prescan {
	const struct source *source;
	struct findings *findings;
	struct token *at; /* where the current statement begins */
	struct stmt *section; /* the innermost that is open, or NULL */
	unsigned depth; /* of it */
	struct stmts *stmts;
	char *text; /* for libconfuse, ended by NULs */
	size_t len;
	size_t size;
};

static struct where
where_of(const struct prescan *p, int line)
{
	return (struct where){ p->source, line };
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

/*
 * Goes on behind last: the section lacks that statement. Reports why, but only
 * once; NULL: that was reported.
 */
static void __attribute__((format(printf, 4, 5)))
reject(struct prescan *p, struct token *last, int line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (fmt != NULL && !has_bad(p, last))
		findings_mistake(p->findings, where_of(p, line), "%s",
		    arena_vprintf(p->findings->arena, fmt, ap));
	va_end(ap);
	if (p->section != NULL)
		p->section->gaps = true;
	p->at = last + 1;
}

/* ---- the text for libconfuse ---- */

static void
stmt_put(struct prescan *p, const char *text, size_t len)
{
	assert(len < p->size - p->len);
	memcpy(p->text + p->len, text, len);
	p->len += len;
}

/*
 * Bare words get quotes: libconfuse drops a '*' or '+' in them and takes the
 * parts around it for two values. A backslash at the end of a line goes with
 * the line end, which may be one of Windows.
 */
static void
stmt_put_value(struct prescan *p, const struct token *t)
{
	if (t->kind == TOKEN_WORD)
		stmt_put(p, "\"", 1);
	for (size_t i = 0; i < t->len; i++) {
		bool escape = t->text[i] == '\\';
		size_t next = escape && t->text[i + 1] == '\r' ? i + 2 : i + 1;

		if (escape && t->kind == TOKEN_WORD) {
			stmt_put(p, "\\", 1);
		} else if (escape && t->text[next] == '\n') {
			i = next;
			continue;
		} else if (escape) {
			stmt_put(p, t->text + i++, 1);
		}
		stmt_put(p, t->text + i, 1);
	}
	if (t->kind == TOKEN_WORD)
		stmt_put(p, "\"", 1);
}

/* Adds the statement at p->at, of which the tokens up to last are text. */
static void
stmt_put_all(struct prescan *p, struct stmt *s, const struct token *last)
{
	stmt_put(p, "\n", 1);
	for (const struct token *t = p->at; t <= last; t++) {
		if (t == p->at || !token_is_text(t)) {
			stmt_put(p, t->text, t->len);
		} else {
			stmt_put_value(p, t);
			s->size++;
		}
	}
	STAILQ_INSERT_TAIL(p->stmts, s, next);
}

/* ---- statements ---- */

static struct stmt *
stmt_new(struct prescan *p, enum form form)
{
	struct stmt *s = arena_alloc(p->findings->arena, 1, sizeof(*s));

	s->name = arena_strndup(p->findings->arena, p->at->text, p->at->len);
	s->where = where_of(p, p->at->line);
	s->form = form;
	s->section = p->section;
	s->blank = p->section != NULL && p->section->blank;
	return s;
}

/*
 * True if the name of s is known and used as it should be; reports it
 * otherwise.
 */
static bool
check_name(struct prescan *p, struct stmt *s)
{
	s->option = options_find(s->section != NULL, s->name);
	return names_check(p->findings, s, p->at);
}

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
take_valued(struct prescan *p, struct token *last, enum form form)
{
	const struct token *t = p->at;
	const struct token *unexpected =
	    form == FORM_OPTION ? out_of_order(t + 3, last) : NULL;
	struct token *rest = line_rest(last);
	struct stmt *s = stmt_new(p, form);

	if (rest > last) {
		reject(p, rest, last[1].line,
		    "unexpected '%.*s' after the value of '%s': a value with "
		    "spaces stands in quotes, a list in { \"a\", \"b\" }",
		    TOKEN_SHOW(last + 1), s->name);
	} else if (has_bad(p, last) || s->blank || !check_name(p, s)) {
		reject(p, last, 0, NULL);
	} else if (unexpected != NULL) {
		reject(p, last, unexpected->line,
		    "unexpected '%.*s' in the list of option '%s': write "
		    "{ \"a\", \"b\" }",
		    TOKEN_SHOW(unexpected), s->name);
	} else {
		s->append = t[1].kind == TOKEN_APPEND;
		stmt_put_all(p, s, last);
		p->at = last + 1;
	}
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
		} else if (t->kind == TOKEN_EQUALS &&
		    t[-1].kind == TOKEN_WORD &&
		    t[-1].text + t[-1].len == t->text &&
		    (t[-2].kind == TOKEN_COMMA || t[-2].kind == TOKEN_OPEN)) {
			findings_mistake(p->findings, where_of(p, t->line),
			    "'%.*s=' in a list: put NAME=VALUE in quotes",
			    TOKEN_SHOW(t - 1));
			t->bad = true;
		} else if (t->kind == TOKEN_END || is_assignment(t)) {
			break;
		}
	}
	/* The sign, and a name before it, belong to the next option. */
	reject(p, is_assignment(t) && token_is_text(t - 1) ? t - 2 : t - 1,
	    p->at[2].line, "the list of option '%.*s' is never closed with '}'",
	    TOKEN_SHOW(p->at));
	return NULL;
}

/* Takes "NAME = VALUE" or "NAME += VALUE". */
static void
take_option(struct prescan *p)
{
	struct token *t = p->at;
	struct token *last = t + 2;

	if (t[2].kind == TOKEN_OPEN) {
		last = list_end(p);
	} else if (t[2].kind != TOKEN_STRING &&
	    (t[2].kind != TOKEN_WORD || t[2].line != t[1].line)) {
		/* A word on the next line is the name of the next option. */
		reject(p, line_rest(t + 1), t[1].line,
		    "option '%.*s' has no value", TOKEN_SHOW(t));
		return;
	}
	if (last != NULL)
		take_valued(p, last, FORM_OPTION);
}

/*
 * Takes "NAME(VALUE, ...)". libconfuse leaks memory at a call with a mistake.
 */
static void
take_call(struct prescan *p)
{
	struct token *name = p->at;
	struct token *t = name + 2;
	const struct token *unexpected;

	while (token_is_text(t) || t->kind == TOKEN_COMMA)
		t++;
	unexpected = out_of_order(name + 2, t);
	if (t->kind != TOKEN_RPAREN)
		reject(p, line_rest(name), name[1].line,
		    "'(' after '%.*s' is never closed", TOKEN_SHOW(name));
	else if (unexpected != NULL)
		reject(p, t, unexpected->line,
		    "unexpected '%.*s' in the call of '%.*s'",
		    TOKEN_SHOW(unexpected), TOKEN_SHOW(name));
	else
		take_valued(p, t, FORM_CALL);
}

/* Leaves out a line that is no statement. */
static void
take_other(struct prescan *p)
{
	struct token *t = p->at, *last = line_rest(t);
	struct stmt *s = stmt_new(p, FORM_NONE);

	if (is_name(t) && !has_bad(p, last)) {
		(void)check_name(p, s);
		reject(p, last, 0, NULL);
	} else {
		reject(p, last, t->line, "unexpected '%.*s'%s", TOKEN_SHOW(t),
		    t->kind == TOKEN_WORD && t->text[0] == '['
			? ": a section is written app \"NAME\" { ... }"
			: " where an option should begin");
	}
}

/* ---- sections ---- */

/* Opens a section, whose '{' is the token at distance brace. */
static void
open_section(struct prescan *p, size_t brace)
{
	static const char title[] = "{" PRESCAN_TITLE "=";
	struct token *t = p->at;
	struct stmt *s = stmt_new(p, brace > 1 ? FORM_TITLED : FORM_SECTION);
	bool good = !has_bad(p, t + brace);

	if (good && (brace == 0 || !is_name(t))) {
		findings_mistake(p->findings, s->where,
		    brace > 0
			? "unexpected '%.*s' where a section should begin"
			: "unexpected '%.*s': a section begins with its name",
		    TOKEN_SHOW(t));
		good = false;
	}
	good = good && (s->blank || check_name(p, s));
	if (!good && s->section != NULL)
		s->section->gaps = true;
	s->blank = s->blank || !good;
	if (!s->blank) {
		stmt_put_all(p, s, t);
		stmt_put(p, title, brace > 1 ? strlen(title) : 1);
		if (brace > 1)
			stmt_put_value(p, t + 1);
		s->size = brace > 1;
	}
	p->section = s;
	p->depth++;
	p->at += brace + 1;
}

static void
close_section(struct prescan *p)
{
	if (!p->section->blank)
		stmt_put(p, "\n}", 2);
	p->section = p->section->section;
	p->depth--;
}

char *
prescan(
    const struct source *source, struct findings *findings, struct stmts *out)
{
	/* Quotes add less than twice its size to each sign and word. */
	struct prescan p = { .source = source,
		.findings = findings,
		.at = tokens_read(source, findings),
		.stmts = out,
		.size = 4 * source->len + 64 };
	int line;

	p.text = arena_alloc(findings->arena, p.size, 1);
	while (p.at->kind != TOKEN_END) {
		struct token *t = p.at;
		size_t brace = 0; /* so far from a name is the '{'; 0: none */

		if (token_is_text(t) && t[1].kind == TOKEN_OPEN)
			brace = 1;
		else if (token_is_text(t) && token_is_text(t + 1) &&
		    t->line == t[1].line && t[2].kind == TOKEN_OPEN)
			brace = 2;
		if (t->kind == TOKEN_CLOSE && p.section == NULL) {
			reject(
			    &p, t, t->line, "unexpected '}': nothing is open");
		} else if (t->kind == TOKEN_CLOSE) {
			close_section(&p);
			p.at++;
		} else if (brace == 0 && t->kind != TOKEN_OPEN) {
			if (is_name(t) && is_assignment(t + 1))
				take_option(&p);
			else if (is_name(t) && t[1].kind == TOKEN_LPAREN)
				take_call(&p);
			else
				take_other(&p);
		} else if (p.depth < DEPTH_MAX) {
			open_section(&p, brace);
		} else {
			/* The rest of the file is not read. */
			while (p.depth > 1)
				close_section(&p);
			findings_mistake(findings, where_of(&p, t->line),
			    "sections are nested more than %d deep (the first "
			    "is of line %d)",
			    DEPTH_MAX, p.section->where.line);
			p.section->gaps = true;
			close_section(&p);
			while (p.at->kind != TOKEN_END)
				p.at++;
		}
	}
	/* The last line may have its end. */
	line = p.at->line;
	if (source->len > 0 && source->text[source->len - 1] == '\n')
		line--;
	for (; p.section != NULL; close_section(&p))
		findings_mistake(findings, where_of(&p, line),
		    "missing '}' at the end of the file ('{' is of line %d)",
		    p.section->where.line);
	stmt_put(&p, "\n", 1);
	return p.text;
}
