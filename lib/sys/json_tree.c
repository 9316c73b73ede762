/* JSON, read into a tree. */

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sys/json_tree.h"

struct level {
	struct json_value *in; /* an array or an object */
	struct json_value *last; /* in it; NULL: none yet */
};

struct reader {
	char *at;
	struct json_value *values; /* enough for all */
	size_t nvalues;
	struct level levels[JSON_TREE_DEPTH];
	size_t depth;
};

static bool
takes(struct reader *r, char c)
{
	r->at += strspn(r->at, " \t\r\n");
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

/* --- strings ------------------------------------------------------------ */

/* The number of four hexadecimal digits; -1: there are none. */
static long
read_hex(const char *digits)
{
	long n = 0;

	for (int i = 0; i < 4; i++) {
		static const char all[] = "0123456789abcdef0123456789ABCDEF";
		const char *digit =
		    digits[i] == '\0' ? NULL : strchr(all, digits[i]);

		if (digit == NULL)
			return -1;
		n = n << 4 | ((digit - all) & 15);
	}
	return n;
}

static char *
put_utf8(char *to, unsigned long c)
{
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };

	*to++ = (char)(first[more] | c >> 6 * more);
	while (more-- > 0)
		*to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
	return to;
}

/* The character after "\u", a pair of surrogates included; 0: it is none. */
static unsigned long
read_unicode(struct reader *r)
{
	long c = read_hex(r->at), low;

	if (c <= 0)
		return 0;
	r->at += 4;
	if (c < 0xd800 || c > 0xdfff)
		return (unsigned long)c;
	if (c > 0xdbff || r->at[0] != '\\' || r->at[1] != 'u')
		return 0;
	low = read_hex(r->at + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	r->at += 6;
	return 0x10000 +
	    ((unsigned long)(c - 0xd800) << 10 | (unsigned long)(low - 0xdc00));
}

/* The text for an escape is no longer than the escape. */
static char *
read_escape(struct reader *r, char *to)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char means[] = "\"\\/\b\f\n\r\t";
	char c = *r->at++;
	const char *letter = c == '\0' ? NULL : strchr(letters, c);
	unsigned long unicode;

	if (letter != NULL) {
		*to++ = means[letter - letters];
		return to;
	}
	unicode = c == 'u' ? read_unicode(r) : 0;
	return unicode == 0 ? NULL : put_utf8(to, unicode);
}

/* The string behind its first quote, in its place; NULL: it is none. */
static const char *
read_string(struct reader *r)
{
	char *start = r->at, *to = start;

	while (*r->at != '"') {
		if ((unsigned char)*r->at < ' ')
			return NULL;
		if (*r->at != '\\') {
			*to++ = *r->at++;
			continue;
		}
		r->at++;
		to = read_escape(r, to);
		if (to == NULL)
			return NULL;
	}
	r->at++;
	*to = '\0';
	return start;
}

/* --- values ------------------------------------------------------------- */

static bool
read_word(struct reader *r, struct json_value *v)
{
	static const struct {
		const char *word;
		enum json_type type;
	} words[] = {
		{ "null", JSON_NULL },
		{ "false", JSON_FALSE },
		{ "true", JSON_TRUE },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len = strlen(words[i].word);

		if (strncmp(r->at, words[i].word, len) != 0)
			continue;
		r->at += len;
		v->type = words[i].type;
		return true;
	}
	return false;
}

/* strtod() also knows "inf", "0x1p3", "+1" and ".5". */
static bool
read_number(struct reader *r, struct json_value *v)
{
	size_t len = strspn(r->at, "0123456789+-.eE");
	char *end;

	if (strchr("-0123456789", *r->at) == NULL || len == 0)
		return false;
	v->type = JSON_NUMBER;
	v->number = strtod(r->at, &end);
	if (end != r->at + len)
		return false;
	r->at = end;
	return true;
}

static bool
open_level(struct reader *r, struct json_value *v, enum json_type type)
{
	if (r->depth == JSON_TREE_DEPTH)
		return false;
	v->type = type;
	r->levels[r->depth++] = (struct level){ .in = v };
	return true;
}

static bool
read_value(struct reader *r, struct json_value *v)
{
	if (takes(r, '{'))
		return open_level(r, v, JSON_OBJECT);
	if (takes(r, '['))
		return open_level(r, v, JSON_ARRAY);
	if (takes(r, '"')) {
		v->type = JSON_STRING;
		v->string = read_string(r);
		return v->string != NULL;
	}
	return read_word(r, v) || read_number(r, v);
}

static struct json_value *
add_value(struct reader *r, struct level *level)
{
	struct json_value *v = &r->values[r->nvalues++];

	v->number = NAN;
	if (level == NULL)
		return v;
	if (level->last == NULL)
		level->in->first = v;
	else
		level->last->next = v;
	level->last = v;
	return v;
}

/* Reads the next value, or the end of the one that it would be in. */
static bool
read_step(struct reader *r)
{
	struct level *level = r->depth == 0 ? NULL : &r->levels[r->depth - 1];
	struct json_value *v;
	bool in_object;

	if (level == NULL)
		return read_value(r, add_value(r, NULL));
	in_object = level->in->type == JSON_OBJECT;
	if (takes(r, in_object ? '}' : ']')) {
		r->depth--;
		return true;
	}
	if (level->last != NULL && !takes(r, ','))
		return false;
	v = add_value(r, level);
	if (in_object) {
		v->key = takes(r, '"') ? read_string(r) : NULL;
		if (v->key == NULL || !takes(r, ':'))
			return false;
	}
	return read_value(r, v);
}

struct json_value *
json_tree_read(char *text)
{
	struct reader r = { .at = text };
	size_t most = 2; /* values: each has one of these before it, but one */

	for (const char *c = text; *c != '\0'; c++)
		most += *c == ',' || *c == '[' || *c == '{';
	r.values = calloc(most, sizeof(*r.values));
	if (r.values == NULL)
		return NULL;
	do {
		if (!read_step(&r))
			goto fail;
	} while (r.depth > 0);
	if (takes(&r, '\0'))
		return r.values;

fail:
	free(r.values);
	errno = EINVAL;
	return NULL;
}

/* --- looking ------------------------------------------------------------ */

const struct json_value *
json_tree_member(const struct json_value *value, const char *key)
{
	if (value == NULL || value->type != JSON_OBJECT)
		return NULL;
	value = value->first;
	while (value != NULL && strcmp(value->key, key) != 0)
		value = value->next;
	return value;
}

double
json_tree_number(const struct json_value *value, const char *key)
{
	value = json_tree_member(value, key);
	return value == NULL ? NAN : value->number;
}

const char *
json_tree_string(const struct json_value *value, const char *key)
{
	value = json_tree_member(value, key);
	return value == NULL ? NULL : value->string;
}
