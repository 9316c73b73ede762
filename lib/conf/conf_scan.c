/*
 * Cuts a file into tokens, as libconfuse's scanner would where that does what
 * a reader expects, and says with the right line what is wrong where it does
 * not: strings, comments and ${ that nothing closes (libconfuse reads on to
 * wherever the next one is), NUL bytes, comment signs within a word.
 */

#include <ctype.h>
#include <string.h>

#include "conf/conf_private.h"

struct scanner {
	struct conf_source *source;
	struct conf_findings *findings;
	size_t pos;
	int line;
};

static struct conf_where
here(const struct scanner *s)
{
	return (struct conf_where){ s->source, s->line };
}

/* The byte n further on; a NUL, which is in no text, at its end. */
static char
peek(const struct scanner *s, size_t n)
{
	return s->pos + n < s->source->len ? s->source->text[s->pos + n] : '\0';
}

static bool
at_end(const struct scanner *s)
{
	return s->pos >= s->source->len;
}

static struct conf_token *
token_add(struct scanner *s, enum conf_token_kind kind)
{
	struct conf_source *source = s->source;
	struct conf_token *token;

	source->tokens = conf_grow(
	    source->tokens, source->tokens_len, sizeof(*source->tokens));
	token = &source->tokens[source->tokens_len++];
	memset(token, 0, sizeof(*token));
	token->kind = (unsigned char)kind;
	token->offset = (unsigned)s->pos;
	token->line = s->line;
	token->stmt = CONF_STMT_NONE;
	return token;
}

static void
skip_line(struct scanner *s)
{
	while (!at_end(s) && peek(s, 0) != '\n')
		s->pos++;
}

static void
skip_block_comment(struct scanner *s)
{
	struct conf_where opened = here(s);

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
	conf_mistake(s->findings, opened, "comment is never closed with '*/'");
}

/* "NAME:-TEXT"; an end to looking for the end. */
#define VARIABLE_MAX 1024

/*
 * At "${": moves behind its '}'. libconfuse takes any byte for part of the
 * name, quotes and line ends too.
 */
static bool
scan_variable(struct scanner *s)
{
	for (size_t n = 2; n < VARIABLE_MAX; n++) {
		char c = peek(s, n);

		if (c == '}') {
			s->pos += n + 1;
			return true;
		}
		if (c == '\0' || c == '\n' || c == '"' || c == '\'')
			break;
	}
	conf_mistake(s->findings, here(s), "'${' without its '}'");
	s->pos += 2;
	return false;
}

/* At a backslash: true if the escape stands for a NUL byte. */
static bool
escapes_nul(const struct scanner *s)
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

/* At a backslash in a string. */
static bool
scan_escape(struct scanner *s, char quote)
{
	bool good = true;

	if (quote == '"' && escapes_nul(s)) {
		conf_mistake(
		    s->findings, here(s), "a NUL cannot be part of a value");
		good = false;
	}
	s->pos++;
	if (peek(s, 0) == '\r' && peek(s, 1) == '\n')
		s->pos++;
	if (peek(s, 0) == '\n')
		s->line++;
	if (!at_end(s))
		s->pos++;
	return good;
}

static void
scan_string(struct scanner *s)
{
	char quote = peek(s, 0);
	struct conf_token *token = token_add(s, CONF_TOKEN_STRING);
	struct conf_where opened = here(s);

	s->pos++;
	for (;;) {
		char c = peek(s, 0);

		if (at_end(s) || c == '\n') {
			conf_mistake(s->findings, opened,
			    "string is not closed on its line");
			token->bad = true;
			break;
		}
		if (c == quote) {
			s->pos++;
			break;
		}
		if (c == '\\')
			token->bad |= !scan_escape(s, quote);
		else if (quote == '"' && c == '$' && peek(s, 1) == '{')
			token->bad |= !scan_variable(s);
		else
			s->pos++;
	}
	token->len = (unsigned)s->pos - token->offset;
}

static bool
starts_comment(const struct scanner *s)
{
	return peek(s, 0) == '#' ||
	    (peek(s, 0) == '/' && (peek(s, 1) == '/' || peek(s, 1) == '*'));
}

static void
scan_word(struct scanner *s)
{
	struct conf_token *token = token_add(s, CONF_TOKEN_WORD);

	while (!at_end(s)) {
		char c = peek(s, 0);

		if (isspace((unsigned char)c) || strchr("{}()=,\"'", c) != NULL)
			break;
		if (c == '+' && peek(s, 1) == '=')
			break;
		if (starts_comment(s)) {
			/* Or "unix:/run//web" would quietly be "unix:/run". */
			conf_mistake(s->findings, here(s),
			    "'%s' within a word begins a comment: put the "
			    "value in quotes, or a space before the comment",
			    c == '#'                ? "#"
				: peek(s, 1) == '/' ? "//"
						    : "/*");
			token->bad = true;
			s->pos++;
		}
		if (c == '$' && peek(s, 1) == '{')
			token->bad |= !scan_variable(s);
		else
			s->pos++;
	}
	token->len = (unsigned)s->pos - token->offset;
	if (s->source->text[s->pos - 1] == ';') {
		conf_mistake(s->findings, here(s),
		    "unexpected ';': a statement ends without it");
		token->bad = true;
	}
}

/* One of the signs; false if there is none here. */
static bool
scan_sign(struct scanner *s)
{
	static const char signs[] = "{}()=,";
	static const enum conf_token_kind kinds[] = { CONF_TOKEN_OPEN,
		CONF_TOKEN_CLOSE, CONF_TOKEN_LPAREN, CONF_TOKEN_RPAREN,
		CONF_TOKEN_EQUALS, CONF_TOKEN_COMMA };
	const char *sign;

	if (peek(s, 0) == '+' && peek(s, 1) == '=') {
		token_add(s, CONF_TOKEN_APPEND)->len = 2;
		s->pos += 2;
		return true;
	}
	sign = strchr(signs, peek(s, 0));
	if (sign == NULL)
		return false;
	token_add(s, kinds[sign - signs])->len = 1;
	s->pos++;
	return true;
}

static void
scan_one(struct scanner *s)
{
	char c = peek(s, 0);

	if (c == '\n') {
		s->line++;
		s->pos++;
	} else if (isspace((unsigned char)c)) {
		s->pos++;
	} else if (c == '#' || (c == '/' && peek(s, 1) == '/')) {
		skip_line(s);
	} else if (c == '/' && peek(s, 1) == '*') {
		skip_block_comment(s);
	} else if (c == '"' || c == '\'') {
		scan_string(s);
	} else if (!scan_sign(s)) {
		scan_word(s);
	}
}

/* False, and said, if there is a NUL: then it is no text at all. */
static bool
is_text(struct scanner *s)
{
	const char *text = s->source->text;
	const char *nul = memchr(text, '\0', s->source->len);
	int line = 1;

	if (nul == NULL)
		return true;
	for (const char *p = text; p < nul; p++)
		line += *p == '\n';
	conf_mistake(s->findings, (struct conf_where){ s->source, line },
	    "NUL byte: this is not a text file");
	return false;
}

void
conf_scan(struct conf_source *source, struct conf_findings *findings)
{
	struct scanner s = { source, findings, 0, 1 };

	if (is_text(&s)) {
		/* Some editors put a byte order mark before the text. */
		if (source->len >= 3 &&
		    memcmp(source->text, "\xef\xbb\xbf", 3) == 0)
			s.pos = 3;
		while (!at_end(&s))
			scan_one(&s);
	}
	source->lines = s.line;
	if (source->len > 0 && source->text[source->len - 1] == '\n' &&
	    s.line > 1)
		source->lines--;
	token_add(&s, CONF_TOKEN_END);
	source->tokens_len--;
}
