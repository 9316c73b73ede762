/*
 * The text that libconfuse gets to see instead of the file.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

/*
 * A word that is a value goes in quotes: libconfuse drops a '*' or '+' in a
 * bare one and takes what is on both sides for two values.
 */
static void
copy_word(const char *text, unsigned len, FILE *out)
{
	fputc('"', out);
	for (unsigned i = 0; i < len; i++) {
		if (text[i] == '\\')
			fputc('\\', out);
		fputc(text[i], out);
	}
	fputc('"', out);
}

/* A string as it is, but that a line continued with a backslash is joined. */
static void
copy_string(const char *text, unsigned len, FILE *out)
{
	for (unsigned i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 1 < len) {
			unsigned next = text[i + 1] == '\r' ? i + 2 : i + 1;

			if (next < len && text[next] == '\n') {
				i = next;
				continue;
			}
			fputc(text[i++], out);
		}
		fputc(text[i], out);
	}
}

static bool
is_empty_list(const struct conf_source *source, unsigned i)
{
	const struct conf_token *t = &source->tokens[i];
	unsigned first = source->stmts[t->stmt].first;
	enum conf_token_kind sign = source->tokens[first + 1].kind;

	return i == first + 2 && t[1].kind == CONF_TOKEN_CLOSE &&
	    (sign == CONF_TOKEN_EQUALS || sign == CONF_TOKEN_APPEND);
}

/*
 * A title gets its place added: libconfuse would stop at a second section of
 * one name, and conf_build() says that better.
 */
static void
copy_title(const struct conf_source *source, unsigned i, FILE *out)
{
	const struct conf_token *t = &source->tokens[i];
	const char *text = source->text + t->offset;

	if (t->kind == CONF_TOKEN_WORD)
		fprintf(out, "\"%.*s%c%zu.%u\"", (int)t->len, text,
		    CONF_TITLE_MARK, source->order, t->stmt);
	else
		fprintf(out, "%.*s%c%zu.%u%c", (int)t->len - 1, text,
		    CONF_TITLE_MARK, source->order, t->stmt, *text);
}

static void
copy_token(const struct conf_source *source, unsigned i, FILE *out)
{
	const struct conf_token *t = &source->tokens[i];
	const struct conf_stmt *s = &source->stmts[t->stmt];
	const char *text = source->text + t->offset;

	if (s->title && i == s->first + 1)
		copy_title(source, i, out);
	else if (t->kind == CONF_TOKEN_WORD && i != s->first)
		copy_word(text, t->len, out);
	else if (t->kind == CONF_TOKEN_STRING)
		copy_string(text, t->len, out);
	else if (t->kind == CONF_TOKEN_CLOSE)
		fputc('}', out); /* it may not be in the file */
	else
		fprintf(out, "%.*s", (int)t->len, text);
	if (t->kind == CONF_TOKEN_OPEN && is_empty_list(source, i))
		fputs("\"" CONF_EMPTY_LIST "\"", out);
}

char *
conf_copy(const struct conf_source *source, size_t *len_out)
{
	char *copy = NULL;
	FILE *out = open_memstream(&copy, len_out);

	if (out == NULL)
		return conf_strdup("");
	for (unsigned i = 0; i < source->tokens_len; i++) {
		if (!source->tokens[i].blank)
			copy_token(source, i, out);
		fputc('\n', out);
	}
	/* fmemopen() does not like an empty buffer. */
	fputc('\n', out);
	fclose(out);
	return copy;
}
