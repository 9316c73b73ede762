/*
 * The words and signs of a file, as libconfuse's scanner has them where that
 * does what a reader expects. Where it does not, there is a mistake with the
 * right line: strings, comments and ${ that nothing closes (libconfuse reads on
 * to wherever the next one is), NUL bytes, comment signs within a word, escapes
 * at which it stops.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "conf/room.h"

/* The longest "${NAME:-TEXT}": an end to looking for the end. */
#define VARIABLE_MAX 1024

/* A way through a file. */
struct scan {
	const struct source *source;
	struct findings *findings;
	const char *at;
	int line;
};

/* Reports a mistake that begins in that line; t: the token with it, or NULL. */
static void __attribute__((format(printf, 4, 5)))
scan_bad(struct scan *s, int line, struct token *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	findings_mistake(s->findings, (struct where){ s->source, line }, "%s",
	    arena_vprintf(s->findings->arena, fmt, ap));
	va_end(ap);
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
scan_space(struct scan *s)
{
	for (;;) {
		const char *sign = comment_sign(s->at);
		const char *end;

		if (sign != NULL && sign[1] == '*') {
			end = strstr(s->at + 2, "*/");
			if (end == NULL) {
				scan_bad(s, s->line, NULL,
				    "comment is never closed with '*/'");
				end = s->at + strlen(s->at) - 2;
			}
			for (; s->at < end + 2; s->at++)
				s->line += *s->at == '\n';
		} else if (sign != NULL) {
			s->at += strcspn(s->at, "\n");
		} else if (isspace((unsigned char)*s->at)) {
			s->line += *s->at++ == '\n';
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
scan_variable(struct scan *s, struct token *t)
{
	const char *name;
	size_t len = 2;

	/* The NUL at the end is one of these, too. */
	while (len < VARIABLE_MAX && strchr("}\n\"'", s->at[len]) == NULL)
		len++;
	if (s->at[len] != '}' || len == VARIABLE_MAX) {
		scan_bad(s, s->line, t, "'${' without its '}'");
		s->at += 2;
		return;
	}
	name = arena_strndup(s->findings->arena, s->at + 2, len - 2);
	s->at += len + 1;
	/* Callers that want rules and sizes only have another environment. */
	if (strstr(name, ":-") == NULL && getenv(name) == NULL &&
	    (s->findings->flags & CONF_INSIDE) == 0)
		scan_bad(s, s->line, NULL,
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
scan_escape(struct scan *s, struct token *t)
{
	bool hex = s->at[1] == 'x';
	const char *digits = s->at + 1 + hex;
	size_t octal = strspn(digits, "01234567");
	size_t len = strspn(digits, "0123456789");
	size_t most = hex ? 2 : 3;
	size_t zeros = strspn(digits, "0");
	bool more = hex ? isxdigit((unsigned char)digits[zeros])
			: isdigit((unsigned char)digits[zeros]);

	if (zeros >= most || (zeros > 0 && !more))
		scan_bad(s, s->line, t, "a NUL cannot be part of a value");
	else if (!hex && (len > octal || len > most))
		scan_bad(s, s->line, t, "bad escape sequence '%.*s'",
		    (int)len + 1, s->at);
	else if (!hex && octal == most && digits[0] > '3')
		scan_bad(s, s->line, t, "invalid octal number '%.*s'",
		    (int)len + 1, s->at);
}

static void
scan_string(struct scan *s, struct token *t)
{
	char quote = *s->at++;

	t->kind = TOKEN_STRING;
	while (*s->at != quote) {
		if (*s->at == '\0' || *s->at == '\n') {
			scan_bad(
			    s, t->line, t, "string is not closed on its line");
			return;
		}
		if (quote == '"' && s->at[0] == '$' && s->at[1] == '{') {
			scan_variable(s, t);
			continue;
		}
		if (*s->at++ != '\\')
			continue;
		if (quote == '"') {
			s->at--;
			scan_escape(s, t);
			s->at++;
		}
		/* A string may go on in the next line. */
		if (s->at[0] == '\r' && s->at[1] == '\n')
			s->at++;
		s->line += *s->at == '\n';
		if (*s->at != '\0')
			s->at++;
	}
	s->at++;
}

static void
scan_word(struct scan *s, struct token *t)
{
	t->kind = TOKEN_WORD;
	while (*s->at != '\0' && !isspace((unsigned char)*s->at) &&
	    strchr("{}()=,\"'", *s->at) == NULL &&
	    (s->at[0] != '+' || s->at[1] != '=')) {
		const char *sign = comment_sign(s->at);

		/* Or "unix:/run//web" would quietly be "unix:/run". */
		if (sign != NULL)
			scan_bad(s, s->line, t,
			    "'%s' within a word begins a comment: put the "
			    "value in quotes, or a space before the comment",
			    sign);
		if (s->at[0] == '$' && s->at[1] == '{')
			scan_variable(s, t);
		else
			s->at++;
	}
	if (s->at[-1] == ';')
		scan_bad(s, s->line, t,
		    "unexpected ';': leave it out, a statement ends without "
		    "it");
}

/* Reads the next token; at the end, and then for ever, a TOKEN_END. */
static void
scan_token(struct scan *s, struct token *t)
{
	static const char signs[] = "{}()=,";
	static const enum token_kind kinds[] = { TOKEN_OPEN, TOKEN_CLOSE,
		TOKEN_LPAREN, TOKEN_RPAREN, TOKEN_EQUALS, TOKEN_COMMA };
	const char *sign;

	scan_space(s);
	*t =
	    (struct token){ .kind = TOKEN_END, .line = s->line, .text = s->at };
	sign = strchr(signs, *s->at);
	if (*s->at == '\0')
		return;
	if (*s->at == '"' || *s->at == '\'') {
		scan_string(s, t);
	} else if (s->at[0] == '+' && s->at[1] == '=') {
		t->kind = TOKEN_APPEND;
		s->at += 2;
	} else if (sign != NULL) {
		t->kind = kinds[sign - signs];
		s->at++;
	} else {
		scan_word(s, t);
	}
	t->len = (size_t)(s->at - t->text);
}

struct token *
tokens_read(const struct source *source, struct findings *findings)
{
	struct scan s = { source, findings, source->text, 1 };
	const char *nul = memchr(source->text, '\0', source->len);
	struct token *list =
	    arena_grow(findings->arena, NULL, 0, sizeof(*list));
	unsigned ends = 0;

	/* Some editors put a byte order mark before the text. */
	if (strncmp(source->text, "\xef\xbb\xbf", 3) == 0)
		s.at += 3;
	if (nul != NULL) {
		for (; s.at < nul; s.at++)
			s.line += *s.at == '\n';
		scan_bad(&s, s.line, NULL, "NUL byte: this is not a text file");
	}
	for (size_t len = 1; ends < 4; len++) {
		list = arena_grow(findings->arena, list, len, sizeof(*list));
		scan_token(&s, &list[len]);
		ends += list[len].kind == TOKEN_END;
	}
	return list + 1;
}
