/* Text that grows up to a bound. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/text.h"
#include "sys/utf8.h"

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

/* Room for len more bytes. */
static bool
text_reserve(struct text *t, size_t len)
{
	size_t size = t->size == 0 ? TEXT_FIRST : t->size;
	char *data;

	if (t->failed || len > t->max - t->len) {
		t->failed = true;
		return false;
	}
	if (len <= t->size - t->len)
		return true;
	while (size - t->len < len)
		size *= 2;
	if (size > t->max)
		size = t->max;
	data = realloc(t->data, size);
	if (data == NULL) {
		t->failed = true;
		return false;
	}
	t->data = data;
	t->size = size;
	return true;
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

/* Also the controls U+0080 to U+009F, which are two bytes each. */
static bool
is_plain(const char *s, size_t n)
{
	unsigned char c = (unsigned char)s[0];

	if (n == 1)
		return c >= ' ' && c != 0x7f;
	return n != 0 && !(c == 0xc2 && (unsigned char)s[1] < 0xa0);
}

void
text_escaped(struct text *t, const char *s, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t n = utf8_length(s + at, len - at);

		if (is_plain(s + at, n)) {
			text_put(t, s + at, n);
			at += n;
		} else {
			text_printf(t, "\\x%02x", (unsigned char)s[at++]);
		}
	}
}
