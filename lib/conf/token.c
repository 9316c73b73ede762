/* The words and signs of a file. */

#include <ctype.h>
#include <string.h>

#include "conf/token.h"

/* The longest "${NAME:-TEXT}": an end to looking for the end. */
#define VARIABLE_MAX 1024

static struct where
here(const struct tokens *s)
{
	return (struct where){ s->source, s->line };
}

/* The byte n further on; at the end a NUL, which is in no text. */
static char
peek(const struct tokens *s, size_t n)
{
	return s->pos + n < s->source->len ? s->source->text[s->pos + n] : '\0';
}

static bool
at_end(const struct tokens *s)
{
	return s->pos >= s->source->len;
}

/* ---- comments and space ---- */

static void
skip_line(struct tokens *s)
{
	while (!at_end(s) && peek(s, 0) != '\n')
		s->pos++;
}

static void
skip_block_comment(struct tokens *s)
{
	struct where opened = here(s);

	s->pos += 2;
	while (!at_end(s)) {
		if (peek(s, 0) == '*' && peek(s, 1) == '/') {
			s->pos += 2;
			return;
		}
		if (peek(s, 0) == '\n')
			s->line++;
		s->pos++;
	}
	findings_mistake(
	    s->findings, opened, "comment is never closed with '*/'");
}

static void
skip_space(struct tokens *s)
{
	while (!at_end(s)) {
		char c = peek(s, 0);

		if (c == '#' || (c == '/' && peek(s, 1) == '/')) {
			skip_line(s);
		} else if (c == '/' && peek(s, 1) == '*') {
			skip_block_comment(s);
		} else if (isspace((unsigned char)c)) {
			s->line += c == '\n';
			s->pos++;
		} else {
			return;
		}
	}
}

/* ---- variables and escapes ---- */

/*
 * At "${": moves behind its '}'. libconfuse takes any byte for part of the
 * name, quotes and line ends too.
 */
static void
read_variable(struct tokens *s, struct token *t)
{
	for (size_t n = 2; n < VARIABLE_MAX; n++) {
		char c = peek(s, n);

		if (c == '}') {
			t->variables++;
			s->pos += n + 1;
			return;
		}
		if (c == '\0' || c == '\n' || c == '"' || c == '\'')
			break;
	}
	findings_mistake(s->findings, here(s), "'${' without its '}'");
	t->bad = true;
	s->pos += 2;
}

/* At a backslash: true if the escape stands for a NUL byte. */
static bool
escapes_nul(const struct tokens *s)
{
	size_t n = 1;

	if (peek(s, 1) == 'x') {
		if (!isxdigit((unsigned char)peek(s, 2)))
			return false;
		for (n = 2; n < 4 && peek(s, n) == '0'; n++)
			;
		return n == 4 || !isxdigit((unsigned char)peek(s, n));
	}
	for (n = 1; n < 4 && peek(s, n) == '0'; n++)
		;
	return n > 1 && (n == 4 || !isdigit((unsigned char)peek(s, n)));
}

/* At a backslash in a string, which may continue it on the next line. */
static void
read_escape(struct tokens *s, char quote, struct token *t)
{
	if (quote == '"' && escapes_nul(s)) {
		findings_mistake(
		    s->findings, here(s), "a NUL cannot be part of a value");
		t->bad = true;
	}
	s->pos++;
	if (peek(s, 0) == '\r' && peek(s, 1) == '\n')
		s->pos++;
	if (peek(s, 0) == '\n')
		s->line++;
	if (!at_end(s))
		s->pos++;
}

/* ---- tokens ---- */

static void
read_string(struct tokens *s, struct token *t)
{
	char quote = peek(s, 0);

	t->kind = TOKEN_STRING;
	s->pos++;
	for (;;) {
		char c = peek(s, 0);

		if (at_end(s) || c == '\n') {
			findings_mistake(s->findings,
			    (struct where){ s->source, t->line },
			    "string is not closed on its line");
			t->bad = true;
			return;
		}
		if (c == '\\')
			read_escape(s, quote, t);
		else if (quote == '"' && c == '$' && peek(s, 1) == '{')
			read_variable(s, t);
		else
			s->pos++;
		if (c == quote)
			return;
	}
}

/* NULL, or the sign that begins a comment here. */
static const char *
comment_sign(const struct tokens *s)
{
	if (peek(s, 0) == '#')
		return "#";
	if (peek(s, 0) != '/')
		return NULL;
	return peek(s, 1) == '/' ? "//" : peek(s, 1) == '*' ? "/*" : NULL;
}

static void
read_word(struct tokens *s, struct token *t)
{
	t->kind = TOKEN_WORD;
	while (!at_end(s)) {
		char c = peek(s, 0);
		const char *sign = comment_sign(s);

		if (isspace((unsigned char)c) || strchr("{}()=,\"'", c) != NULL)
			break;
		if (c == '+' && peek(s, 1) == '=')
			break;
		if (sign != NULL) {
			/* Or "unix:/run//web" would quietly be "unix:/run". */
			findings_mistake(s->findings, here(s),
			    "'%s' within a word begins a comment: put the "
			    "value in quotes, or a space before the comment",
			    sign);
			t->bad = true;
		}
		if (c == '$' && peek(s, 1) == '{')
			read_variable(s, t);
		else
			s->pos++;
	}
	if (s->source->text[s->pos - 1] == ';') {
		findings_mistake(s->findings, here(s),
		    "unexpected ';': a statement ends without it");
		t->bad = true;
	}
}

/* Reads one of the signs; false if there is none here. */
static bool
read_sign(struct tokens *s, struct token *t)
{
	static const char signs[] = "{}()=,";
	static const enum token_kind kinds[] = { TOKEN_OPEN, TOKEN_CLOSE,
		TOKEN_LPAREN, TOKEN_RPAREN, TOKEN_EQUALS, TOKEN_COMMA };
	const char *sign = strchr(signs, peek(s, 0));

	if (peek(s, 0) == '+' && peek(s, 1) == '=') {
		t->kind = TOKEN_APPEND;
		s->pos += 2;
		return true;
	}
	if (sign == NULL)
		return false;
	t->kind = kinds[sign - signs];
	s->pos++;
	return true;
}

void
tokens_next(struct tokens *s, struct token *out)
{
	skip_space(s);
	*out = (struct token){ .kind = TOKEN_END,
		.line = s->line,
		.text = s->source->text + s->pos };
	if (at_end(s))
		return;
	if (peek(s, 0) == '"' || peek(s, 0) == '\'')
		read_string(s, out);
	else if (!read_sign(s, out))
		read_word(s, out);
	out->len = (size_t)(s->source->text + s->pos - out->text);
}

/* Counts the lines, the one that a NUL makes the last if there is one. */
static int
count_lines(const char *text, size_t len)
{
	int lines = 1;

	for (size_t i = 0; i + 1 < len; i++)
		lines += text[i] == '\n';
	return lines;
}

void
tokens_init(struct tokens *s, struct source *source, struct findings *findings)
{
	const char *nul = memchr(source->text, '\0', source->len);

	*s = (struct tokens){ source, findings, 0, 1 };
	/* Some editors put a byte order mark before the text. */
	if (source->len >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0)
		s->pos = 3;
	source->lines = count_lines(source->text, source->len);
	if (nul == NULL)
		return;
	s->pos = source->len;
	s->line = count_lines(source->text, (size_t)(nul - source->text) + 1);
	findings_mistake(
	    s->findings, here(s), "NUL byte: this is not a text file");
}
