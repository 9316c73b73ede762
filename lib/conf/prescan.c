/*
 * The statements of a file. libconfuse itself would stop at its first mistake,
 * miscount lines behind comments and take a missing '}' for the end of the
 * file. The prescan reads the words and signs as libconfuse's scanner has them
 * where that does what a reader expects, and finds
 *
 *	NAME = VALUE, NAME += { VALUE, ... }, NAME(VALUE, ...),
 *	NAME { ... }, NAME "TITLE" { ... }
 *
 * It tells which names are unknown or in the wrong place and what cannot be a
 * statement at all. libconfuse parses each value of the others, and so meets
 * neither an unknown name nor a mistake. It ends the process when it gets no
 * memory: see source_affordable().
 */

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>

#include <confuse.h>

#include "conf/room.h"

/* The longest "${NAME:-TEXT}": an end to looking for the end. */
#define VARIABLE_MAX 1024

/* ---- words and signs ---- */

struct prescan {
	const struct source *source;
	struct findings *findings;
	const char *next; /* what is not read yet */
	int line; /* of that */
	struct token *at; /* where the current statement begins */
	struct stmt *section; /* the innermost that is open, or NULL */
	struct stmts *stmts;
	cfg_t *cfg; /* of libconfuse, to parse one value after the other */
};

static struct where
where_of(const struct prescan *p, int line)
{
	return (struct where){ p->source, line };
}

/* Reports a mistake that begins in that line; t: the token with it, or NULL. */
#define scan_bad(p, line, t, ...) \
	scan_tell(p, line, t, arena_printf((p)->findings->arena, __VA_ARGS__))

static void
scan_tell(struct prescan *p, int line, struct token *t, const char *why)
{
	findings_mistake(p->findings, where_of(p, line), "%s", why);
	if (t != NULL)
		t->bad = true;
}

/* NULL, or the sign that begins a comment at p. */
static const char *
comment_sign(const char *p)
{
	if (*p == '#')
		return "#";
	if (*p != '/')
		return NULL;
	return p[1] == '/' ? "//" : p[1] == '*' ? "/*" : NULL;
}

static void
scan_space(struct prescan *p)
{
	for (;;) {
		const char *sign = comment_sign(p->next);
		const char *end;

		if (sign != NULL && sign[1] == '*') {
			end = strstr(p->next + 2, "*/");
			if (end == NULL) {
				scan_bad(p, p->line, NULL,
				    "comment is never closed with '*/'");
				end = p->next + strlen(p->next) - 2;
			}
			for (; p->next < end + 2; p->next++)
				p->line += *p->next == '\n';
		} else if (sign != NULL) {
			p->next += strcspn(p->next, "\n");
		} else if (isspace((unsigned char)*p->next)) {
			p->line += *p->next++ == '\n';
		} else {
			return;
		}
	}
}

/*
 * At "${": moves behind its '}'. libconfuse takes any byte for part of the
 * name, quotes and line ends too.
 */
static void
scan_variable(struct prescan *p, struct token *t)
{
	const char *name;
	size_t len = 2;

	/* The NUL at the end is one of these, too. */
	while (len < VARIABLE_MAX && strchr("}\n\"'", p->next[len]) == NULL)
		len++;
	if (p->next[len] != '}' || len == VARIABLE_MAX) {
		scan_bad(p, p->line, t, "'${' without its '}'");
		p->next += 2;
		return;
	}
	name = arena_strndup(p->findings->arena, p->next + 2, len - 2);
	p->next += len + 1;
	/* Callers that want rules and sizes only have another environment. */
	if (strstr(name, ":-") == NULL && getenv(name) == NULL &&
	    (p->findings->flags & CONF_INSIDE) == 0)
		scan_bad(p, p->line, NULL,
		    "variable '%s' is not set: write ${%s:-TEXT} for a "
		    "default, or put the value in single quotes to keep it as "
		    "it is",
		    name, name);
}

/*
 * At a backslash in double quotes. libconfuse takes a NUL for the end of the
 * value, and stops at digits that are no octal number of a byte.
 */
static void
scan_escape(struct prescan *p, struct token *t)
{
	bool hex = p->next[1] == 'x';
	const char *digits = p->next + 1 + hex;
	size_t octal = strspn(digits, "01234567");
	size_t len = strspn(digits, "0123456789");
	size_t most = hex ? 2 : 3;
	size_t zeros = strspn(digits, "0");
	bool more = hex ? isxdigit((unsigned char)digits[zeros])
			: isdigit((unsigned char)digits[zeros]);

	if (zeros >= most || (zeros > 0 && !more))
		scan_bad(p, p->line, t, "a NUL cannot be part of a value");
	else if (!hex && (len > octal || len > most))
		scan_bad(p, p->line, t, "bad escape sequence '%.*s'",
		    (int)len + 1, p->next);
	else if (!hex && octal == most && digits[0] > '3')
		scan_bad(p, p->line, t, "invalid octal number '%.*s'",
		    (int)len + 1, p->next);
}

static void
scan_string(struct prescan *p, struct token *t)
{
	char quote = *p->next++;

	t->kind = TOKEN_STRING;
	while (*p->next != quote) {
		if (*p->next == '\0' || *p->next == '\n') {
			scan_bad(
			    p, t->line, t, "string is not closed on its line");
			return;
		}
		if (quote == '"' && p->next[0] == '$' && p->next[1] == '{') {
			scan_variable(p, t);
			continue;
		}
		if (*p->next++ != '\\')
			continue;
		if (quote == '"') {
			p->next--;
			scan_escape(p, t);
			p->next++;
		}
		/* A string may go on in the next line. */
		if (p->next[0] == '\r' && p->next[1] == '\n')
			p->next++;
		p->line += *p->next == '\n';
		if (*p->next != '\0')
			p->next++;
	}
	p->next++;
}

static void
scan_word(struct prescan *p, struct token *t)
{
	t->kind = TOKEN_WORD;
	while (*p->next != '\0' && !isspace((unsigned char)*p->next) &&
	    strchr("{}()=,\"'", *p->next) == NULL &&
	    (p->next[0] != '+' || p->next[1] != '=')) {
		const char *sign = comment_sign(p->next);

		/* Or "unix:/run//web" would quietly be "unix:/run". */
		if (sign != NULL)
			scan_bad(p, p->line, t,
			    "'%s' within a word begins a comment: put the "
			    "value in quotes, or a space before the comment",
			    sign);
		if (p->next[0] == '$' && p->next[1] == '{')
			scan_variable(p, t);
		else
			p->next++;
	}
	if (p->next[-1] == ';')
		scan_bad(p, p->line, t,
		    "unexpected ';': leave it out, a statement ends without "
		    "it");
}

/* Reads the next token; at the end, and then for ever, a TOKEN_END. */
static void
scan_token(struct prescan *p, struct token *t)
{
	static const char signs[] = "{}()=,";
	static const enum token_kind kinds[] = { TOKEN_OPEN, TOKEN_CLOSE,
		TOKEN_LPAREN, TOKEN_RPAREN, TOKEN_EQUALS, TOKEN_COMMA };
	const char *sign;

	scan_space(p);
	*t = (struct token){
		.kind = TOKEN_END, .line = p->line, .text = p->next
	};
	sign = strchr(signs, *p->next);
	if (*p->next == '\0')
		return;
	if (*p->next == '"' || *p->next == '\'') {
		scan_string(p, t);
	} else if (p->next[0] == '+' && p->next[1] == '=') {
		t->kind = TOKEN_APPEND;
		p->next += 2;
	} else if (sign != NULL) {
		t->kind = kinds[sign - signs];
		p->next++;
	} else {
		scan_word(p, t);
	}
	t->len = (size_t)(p->next - t->text);
}

/*
 * Returns all tokens; an empty one stands before them, four TOKEN_END behind,
 * for looking back and ahead. A file with a NUL byte has none.
 */
static struct token *
read_tokens(struct prescan *p)
{
	const struct source *source = p->source;
	const char *nul = memchr(source->text, '\0', source->len);
	struct arena *arena = p->findings->arena;
	struct token *list = arena_grow(arena, NULL, 0, sizeof(*list));
	unsigned ends = 0;

	/* Editors may put a byte order mark before the text. */
	if (strncmp(p->next, "\xef\xbb\xbf", 3) == 0)
		p->next += 3;
	if (nul != NULL) {
		for (; p->next < nul; p->next++)
			p->line += *p->next == '\n';
		scan_bad(p, p->line, NULL, "NUL byte: this is not a text file");
	}
	for (size_t len = 1; ends < 4; len++) {
		list = arena_grow(arena, list, len, sizeof(*list));
		scan_token(p, &list[len]);
		ends += list[len].kind == TOKEN_END;
	}
	return list + 1;
}

/* ---- tokens ---- */

static bool
is_assignment(const struct token *t)
{
	return t->kind == TOKEN_EQUALS || t->kind == TOKEN_APPEND;
}

static bool
is_name(const struct token *t)
{
	/* Names elsewhere have dots and hyphens. */
	return t->kind == TOKEN_WORD && strspn(t->text, NAME_BYTES) >= t->len;
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

/* True if a mistake in a token from p->at to last has been reported. */
static bool
has_bad(const struct prescan *p, const struct token *last)
{
	for (const struct token *t = p->at; t <= last; t++)
		if (t->bad)
			return true;
	return false;
}

/* Goes on behind last: the section lacks that. Reports why, unless NULL. */
static void
leave_out(struct prescan *p, struct token *last, int line, const char *why)
{
	if (why != NULL)
		findings_mistake(p->findings, where_of(p, line), "%s", why);
	if (p->section != NULL)
		p->section->gaps = true;
	p->at = last + 1;
}

/* The same, but no reason where a mistake in it was reported. */
#define reject(p, last, line, ...) \
	leave_out(p, last, line, \
	    has_bad(p, last) \
		? NULL \
		: arena_printf((p)->findings->arena, __VA_ARGS__))

/* ---- statements ---- */

/* Keeps libconfuse from printing a mistake, which value_of() reports. */
static void
value_error(cfg_t *cfg, const char *fmt, va_list ap)
{
	(void)cfg;
	(void)fmt;
	(void)ap;
}

/*
 * The value of the token, as libconfuse parses it. Bare words get quotes:
 * libconfuse drops a '*' or '+' in them and takes the parts around it for two
 * values. A backslash at the end of a line goes with the line end, which may be
 * one of Windows.
 */
static char *
value_of(struct prescan *p, const struct token *t)
{
	bool word = t->kind == TOKEN_WORD;
	struct arena *a = p->findings->arena;
	/* A sign may get a backslash. */
	char *text = arena_alloc(a, 2 * t->len + sizeof("v=\"\"\n"), 1);
	char *out = stpcpy(text, word ? "v=\"" : "v=");

	for (size_t i = 0; i < t->len; i++) {
		bool escape = t->text[i] == '\\';
		size_t next = escape && t->text[i + 1] == '\r' ? i + 2 : i + 1;

		if (escape && !word && t->text[next] == '\n') {
			i = next;
			continue;
		}
		if (escape)
			*out++ = '\\';
		if (escape && !word)
			i++;
		*out++ = t->text[i];
	}
	strcpy(out, word ? "\"\n" : "\n");
	if (cfg_parse_buf(p->cfg, text) != CFG_SUCCESS)
		findings_mistake(p->findings, where_of(p, t->line),
		    "cannot read the value %.*s", TOKEN_SHOW(t));
	return arena_strdup(a, cfg_getstr(p->cfg, "v"));
}

/* Adds the statement at p->at, whose values stand among the tokens to last. */
static void
stmt_add(struct prescan *p, struct stmt *s, const struct token *last)
{
	s->values = arena_alloc(
	    p->findings->arena, (size_t)(last - p->at) + 1, sizeof(*s->values));
	for (const struct token *t = p->at + 1; t <= last; t++)
		if (token_is_text(t))
			s->values[s->len++] = value_of(p, t);
	STAILQ_INSERT_TAIL(p->stmts, s, next);
}

static struct stmt *
stmt_new(struct prescan *p, enum form form)
{
	struct stmt *s = arena_alloc(p->findings->arena, 1, sizeof(*s));

	s->name = arena_strndup(p->findings->arena, p->at->text, p->at->len);
	s->where = where_of(p, p->at->line);
	s->form = form;
	s->section = p->section;
	s->option = options_find(s->section != NULL, s->name);
	s->blank = p->section != NULL && p->section->blank;
	return s;
}

/* The first token from t to before end that breaks "VALUE, ..."; or NULL. */
static const struct token *
out_of_order(const struct token *t, const struct token *end)
{
	for (bool value = true; t < end; t++, value = !value)
		if (value ? !token_is_text(t) : t->kind != TOKEN_COMMA)
			return t;
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
	} else if (has_bad(p, last) || s->blank ||
	    !names_check(p->findings, s, p->at)) {
		leave_out(p, last, 0, NULL);
	} else if (unexpected != NULL) {
		reject(p, last, unexpected->line,
		    "unexpected '%.*s' in the list of option '%s': write "
		    "{ \"a\", \"b\" }",
		    TOKEN_SHOW(unexpected), s->name);
	} else {
		s->append = t[1].kind == TOKEN_APPEND;
		stmt_add(p, s, last);
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
			scan_bad(p, t->line, t,
			    "'%.*s=' in a list: put NAME=VALUE in quotes",
			    TOKEN_SHOW(t - 1));
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

/* Takes "NAME(VALUE, ...)". libconfuse leaks memory at a wrong call. */
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
		(void)names_check(p->findings, s, p->at);
		leave_out(p, last, 0, NULL);
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
	good = good && (s->blank || names_check(p->findings, s, p->at));
	if (!good && s->section != NULL)
		s->section->gaps = true;
	s->blank = s->blank || !good;
	if (!s->blank)
		stmt_add(p, s, t + brace);
	p->section = s;
	p->at += brace + 1;
}

void
prescan(
    const struct source *source, struct findings *findings, struct stmts *out)
{
	cfg_opt_t options[] = { CFG_STR("v", "", CFGF_NONE), CFG_END() };
	struct prescan p = { .source = source,
		.findings = findings,
		.next = source->text,
		.line = 1,
		.stmts = out,
		.cfg = cfg_init(options, CFGF_NONE) };
	int line;

	if (p.cfg == NULL)
		fatal("no memory for the configuration");
	cfg_set_error_function(p.cfg, value_error);
	p.at = read_tokens(&p);
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
			p.section = p.section->section;
			p.at++;
		} else if (brace == 0 && t->kind != TOKEN_OPEN) {
			if (is_name(t) && is_assignment(t + 1))
				take_option(&p);
			else if (is_name(t) && t[1].kind == TOKEN_LPAREN)
				take_call(&p);
			else
				take_other(&p);
		} else {
			open_section(&p, brace);
		}
	}
	/* The last line may have its end. */
	line = p.at->line;
	if (source->len > 0 && source->text[source->len - 1] == '\n')
		line--;
	for (; p.section != NULL; p.section = p.section->section)
		findings_mistake(findings, where_of(&p, line),
		    "missing '}' at the end of the file ('{' is of line %d)",
		    p.section->where.line);
	cfg_free(p.cfg);
}
