/* The words and signs of a file. */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/token.h"

/* The longest "${NAME:-TEXT}": an end to looking for the end. */
#define VARIABLE_MAX 1024

/* Reports a mistake that begins in that line; t: the token with it, or NULL. */
static void
report(struct tokens *s, int line, struct token *t, const char *text)
{
	findings_mistake(
	    s->findings, (struct where){ s->source, line }, "%s", text);
	if (t != NULL)
		t->bad = true;
}

/* ---- comments and space ---- */

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
skip_block_comment(struct tokens *s)
{
	const char *end = strstr(s->at + 2, "*/");

	if (end == NULL) {
		report(s, s->line, NULL, "comment is never closed with '*/'");
		end = s->at + strlen(s->at) - 2;
	}
	for (; s->at < end + 2; s->at++)
		s->line += *s->at == '\n';
}

static void
skip_space(struct tokens *s)
{
	for (;;) {
		const char *sign = comment_sign(s->at);

		if (sign != NULL && sign[1] == '*')
			skip_block_comment(s);
		else if (sign != NULL)
			s->at += strcspn(s->at, "\n");
		else if (isspace((unsigned char)*s->at))
			s->line += *s->at++ == '\n';
		else
			return;
	}
}

/* ---- tokens ---- */

/*
 * Reports a variable of the len bytes at text that is not set and has no
 * default. The environment of whoever asks for rules and sizes only says
 * nothing.
 */
static void
check_variable(struct tokens *s, const char *text, size_t len)
{
	struct arena *a = s->findings->arena;
	char *name = arena_strndup(a, text, len);
	char *preset = strstr(name, ":-");

	if (preset != NULL || (s->findings->flags & CONF_INSIDE) != 0 ||
	    getenv(name) != NULL)
		return;
	report(s, s->line, NULL,
	    arena_printf(a,
		"variable '%s' is not set: write ${%s:-TEXT} for a default, "
		"or put the value in single quotes to keep it as it is",
		name, name));
}

/*
 * At "${": moves behind its '}'. libconfuse takes any byte for part of the
 * name, quotes and line ends too.
 */
static void
read_variable(struct tokens *s, struct token *t)
{
	size_t len = 2;

	/* The NUL at the end is one of these, too. */
	while (len < VARIABLE_MAX && strchr("}\n\"'", s->at[len]) == NULL)
		len++;
	if (s->at[len] == '}' && len < VARIABLE_MAX) {
		t->variables++;
		check_variable(s, s->at + 2, len - 2);
		s->at += len + 1;
		return;
	}
	report(s, s->line, t, "'${' without its '}'");
	s->at += 2;
}

/* At a backslash: true if the escape stands for a NUL byte. */
static bool
escapes_nul(const char *p)
{
	const char *digits = p[1] == 'x' ? p + 2 : p + 1;
	size_t most = p[1] == 'x' ? 2 : 3;
	size_t zeros = strspn(digits, "0");

	if (zeros >= most)
		return true;
	return zeros > 0 &&
	    !(p[1] == 'x' ? isxdigit((unsigned char)digits[zeros])
			  : isdigit((unsigned char)digits[zeros]));
}

/* At a backslash in a string, which may continue it on the next line. */
static void
read_escape(struct tokens *s, char quote, struct token *t)
{
	if (quote == '"' && escapes_nul(s->at))
		report(s, s->line, t, "a NUL cannot be part of a value");
	s->at++;
	if (s->at[0] == '\r' && s->at[1] == '\n')
		s->at++;
	s->line += *s->at == '\n';
	if (*s->at != '\0')
		s->at++;
}

static void
read_string(struct tokens *s, struct token *t)
{
	char quote = *s->at++;

	t->kind = TOKEN_STRING;
	while (*s->at != quote) {
		if (*s->at == '\0' || *s->at == '\n') {
			report(
			    s, t->line, t, "string is not closed on its line");
			return;
		}
		if (*s->at == '\\')
			read_escape(s, quote, t);
		else if (quote == '"' && s->at[0] == '$' && s->at[1] == '{')
			read_variable(s, t);
		else
			s->at++;
	}
	s->at++;
}

static void
read_word(struct tokens *s, struct token *t)
{
	t->kind = TOKEN_WORD;
	while (*s->at != '\0' && !isspace((unsigned char)*s->at) &&
	    strchr("{}()=,\"'", *s->at) == NULL &&
	    (s->at[0] != '+' || s->at[1] != '=')) {
		const char *sign = comment_sign(s->at);

		/* Or "unix:/run//web" would quietly be "unix:/run". */
		if (sign != NULL)
			report(s, s->line, t,
			    arena_printf(s->findings->arena,
				"'%s' within a word begins a comment: put the "
				"value in quotes, or a space before the "
				"comment",
				sign));
		if (s->at[0] == '$' && s->at[1] == '{')
			read_variable(s, t);
		else
			s->at++;
	}
	if (s->at[-1] == ';')
		report(s, s->line, t,
		    "unexpected ';': leave it out, a statement ends without "
		    "it");
}

/* Reads one of the signs; false if there is none here. */
static bool
read_sign(struct tokens *s, struct token *t)
{
	static const char signs[] = "{}()=,";
	static const enum token_kind kinds[] = { TOKEN_OPEN, TOKEN_CLOSE,
		TOKEN_LPAREN, TOKEN_RPAREN, TOKEN_EQUALS, TOKEN_COMMA };
	const char *sign = strchr(signs, *s->at);

	if (s->at[0] == '+' && s->at[1] == '=') {
		t->kind = TOKEN_APPEND;
		s->at += 2;
		return true;
	}
	if (sign == NULL)
		return false;
	t->kind = kinds[sign - signs];
	s->at++;
	return true;
}

void
tokens_next(struct tokens *s, struct token *out)
{
	skip_space(s);
	*out =
	    (struct token){ .kind = TOKEN_END, .line = s->line, .text = s->at };
	if (*s->at == '\0')
		return;
	if (*s->at == '"' || *s->at == '\'')
		read_string(s, out);
	else if (!read_sign(s, out))
		read_word(s, out);
	out->len = (size_t)(s->at - out->text);
}

void
tokens_init(struct tokens *s, struct source *source, struct findings *findings)
{
	const char *nul = memchr(source->text, '\0', source->len);

	*s = (struct tokens){ source, findings, source->text, 1 };
	source->lines = 1;
	for (size_t i = 0; i + 1 < source->len; i++)
		source->lines += source->text[i] == '\n';
	/* Some editors put a byte order mark before the text. */
	if (strncmp(source->text, "\xef\xbb\xbf", 3) == 0)
		s->at += 3;
	if (nul == NULL)
		return;
	for (; s->at < nul; s->at++)
		s->line += *s->at == '\n';
	report(s, s->line, NULL, "NUL byte: this is not a text file");
}
