/* Text that grows up to a bound. */

#include <sys/param.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/text.h"

/* The first allocation; each further one doubles. */
#define TEXT_FIRST 512

void
text_init(struct text *t, size_t max)
{
	*t = (struct text){ .max = max };
}

void
text_fini(struct text *t)
{
	free(t->data);
	t->data = NULL;
}

void
text_clear(struct text *t)
{
	t->len = 0;
	t->failed = false;
}

static bool
text_reserve(struct text *t, size_t len)
{
	size_t size = t->size == 0 ? TEXT_FIRST : t->size;
	char *data;

	t->failed = t->failed || len > t->max - t->len;
	if (t->failed || len <= t->size - t->len)
		return !t->failed;
	while (size - t->len < len)
		size *= 2;
	size = MIN(size, t->max);
	data = realloc(t->data, size);
	t->failed = data == NULL;
	if (!t->failed) {
		t->data = data;
		t->size = size;
	}
	return !t->failed;
}

void
text_put(struct text *t, const char *s, size_t len)
{
	if (len == 0 || !text_reserve(t, len))
		return;
	memcpy(t->data + t->len, s, len);
	t->len += len;
}

void
text_puts(struct text *t, const char *s)
{
	text_put(t, s, strlen(s));
}

void
text_printf(struct text *t, const char *fmt, ...)
{
	char buf[256];
	va_list ap, again;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(buf, sizeof(buf), fmt, ap);
	if (len < (int)sizeof(buf)) {
		text_put(t, buf, len < 0 ? 0 : (size_t)len);
	} else if (text_reserve(t, (size_t)len + 1)) {
		(void)vsnprintf(t->data + t->len, (size_t)len + 1, fmt, again);
		t->len += (size_t)len;
	}
	va_end(again);
	va_end(ap);
}

size_t
text_char_length(const char *p, size_t len)
{
	const unsigned char *b = (const void *)p;
	unsigned char low, high;
	size_t n;

	if (b[0] < 0x80)
		return 1;
	if (b[0] < 0xc2 || b[0] > 0xf4)
		return 0;

	n = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
	if (len < n)
		return 0;

	/* The table of section 4: the first byte narrows the second. */
	low = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;
	high = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf;
	if (b[1] < low || b[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (b[i] < 0x80 || b[i] > 0xbf)
			return 0;
	return n;
}

void
text_pieces(
    const char *s, size_t len, enum text_as as, text_piece *put, void *arg)
{
	size_t from = 0, at = 0;
	char escape[8];

	while (at < len) {
		size_t n = text_char_length(s + at, len - at);
		unsigned char c = (unsigned char)s[at];
		/* Controls are U+0000 to U+001F and U+007F to U+009F. */
		bool plain = n == 1
		    ? c >= ' ' && c != 0x7f
		    : n > 1 && (c != 0xc2 || (unsigned char)s[at + 1] >= 0xa0);

		if (s[at] == '\t')
			plain = as == TEXT_LINE;
		else if (as == TEXT_JSON && (s[at] == '"' || s[at] == '\\'))
			plain = false;
		if (plain) {
			at += n;
			continue;
		}
		if (at > from)
			put(arg, s + from, at - from);
		if (as != TEXT_JSON) {
			n = 1;
			(void)snprintf(escape, sizeof(escape), "\\x%02x", c);
		} else if (n == 0) {
			n = 1;
			(void)strcpy(escape, "\\ufffd");
		} else if (s[at] == '\n' || s[at] == '\t') {
			(void)strcpy(escape, s[at] == '\n' ? "\\n" : "\\t");
		} else if (s[at] == '"' || s[at] == '\\') {
			(void)snprintf(escape, sizeof(escape), "\\%c", s[at]);
		} else {
			/* U+0000 to U+009F: the last byte is the number. */
			(void)snprintf(escape, sizeof(escape), "\\u%04x",
			    (unsigned char)s[at + n - 1]);
		}
		put(arg, escape, strlen(escape));
		at += n;
		from = at;
	}
	if (at > from)
		put(arg, s + from, at - from);
}

void
text_escaped(struct text *t, const char *s, size_t len)
{
	text_pieces(s, len, TEXT_TERMINAL, text_put_piece, t);
}

/* --- the known name nearest to a mistyped word ------------------------ */

/* Longer than any name we know by more than any distance we accept. */
#define WORD_MAX_LEN 64

/*
 * How many letters have to be changed, added, left out or swapped to make b of
 * a; WORD_MAX_LEN if one of them is longer than that.
 */
static unsigned
suggest_distance(const char *a, const char *b)
{
	/* Of the beginnings of a and b that have so many letters. */
	unsigned d[WORD_MAX_LEN + 1][WORD_MAX_LEN + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > WORD_MAX_LEN || b_len > WORD_MAX_LEN)
		return WORD_MAX_LEN;
	for (unsigned j = 0; j <= b_len; j++)
		d[0][j] = j;
	for (unsigned i = 1; i <= a_len; i++) {
		d[i][0] = i;
		for (unsigned j = 1; j <= b_len; j++) {
			d[i][j] = MIN(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
			    MIN(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] = MIN(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[a_len][b_len];
}

const char *
suggest_nearest(const char *word, const char *const *names)
{
	/* A short word resembles too much to be far off. */
	unsigned best = strlen(word) < 4 ? 2 : strlen(word) < 8 ? 3 : 4;
	const char *nearest = NULL;

	for (; *names != NULL; names++) {
		unsigned distance = suggest_distance(word, *names);

		if (distance < best) {
			best = distance;
			nearest = *names;
		}
	}
	return nearest;
}
