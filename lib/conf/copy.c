/* The copy of a file that libconfuse parses. */

#include <string.h>

#include "conf/copy.h"

void
copy_init(struct copy *c, struct arena *arena)
{
	*c = (struct copy){ .arena = arena };
	c->lines = arena_grow(arena, NULL, 0, sizeof(*c->lines));
	c->lines[c->lines_len++] = (struct copy_line){ NULL, 1 };
}

static void
put(struct copy *c, const char *text, size_t len)
{
	if (c->size - c->len < len) {
		char *larger = arena_alloc(c->arena, 2, c->size + len);

		if (c->len > 0)
			memcpy(larger, c->text, c->len);
		c->text = larger;
		c->size = 2 * (c->size + len);
	}
	memcpy(c->text + c->len, text, len);
	c->len += len;
}

/*
 * Begins a line of the copy, unless the last one is for the same line of the
 * file and the same statement.
 */
static void
begin_line(struct copy *c, struct stmt *stmt, int line)
{
	const struct copy_line *last = &c->lines[c->lines_len - 1];

	if (last->stmt == stmt && last->line == line)
		return;
	c->lines =
	    arena_grow(c->arena, c->lines, c->lines_len, sizeof(*c->lines));
	c->lines[c->lines_len++] = (struct copy_line){ stmt, line };
	put(c, "\n", 1);
}

void
copy_text(
    struct copy *c, struct stmt *stmt, int line, const char *text, size_t len)
{
	begin_line(c, stmt, line);
	put(c, text, len);
}

/*
 * Bare words get quotes: libconfuse drops a '*' or '+' in them and takes the
 * parts around it for two values.
 */
static void
put_word(struct copy *c, const struct token *t)
{
	put(c, "\"", 1);
	for (size_t i = 0; i < t->len; i++) {
		if (t->text[i] == '\\')
			put(c, "\\", 1);
		put(c, t->text + i, 1);
	}
	put(c, "\"", 1);
}

/*
 * Strings stay as they are, but that a backslash at the end of a line goes with
 * the line end.
 */
static void
put_string(struct copy *c, const struct token *t)
{
	for (size_t i = 0; i < t->len; i++) {
		if (t->text[i] == '\\' && i + 1 < t->len) {
			size_t next = t->text[i + 1] == '\r' ? i + 2 : i + 1;

			if (next < t->len && t->text[next] == '\n') {
				i = next;
				continue;
			}
			put(c, t->text + i++, 1);
		}
		put(c, t->text + i, 1);
	}
}

void
copy_value(struct copy *c, struct stmt *stmt, const struct token *t)
{
	begin_line(c, stmt, t->line);
	if (t->kind == TOKEN_STRING)
		put_string(c, t);
	else
		put_word(c, t);
	if (t->len > c->longest)
		c->longest = t->len;
	if (t->variables > c->variables)
		c->variables = t->variables;
}
