/* Requests, understood as far as it takes to name one; from strangers. */

#include <string.h>

#include "core/request.h"

/* The FastCGI specification's names and numbers. */
#define FCGI_BEGIN_REQUEST 1
#define FCGI_PARAMS 4
#define FCGI_HEADER_LEN 8
#define FCGI_BEGIN_LEN 16 /* of a whole record */

#define DOTS "..."

/* Adds to a text of n bytes, and gives its length; REQUEST_SIZE: it is full. */
static size_t
request_put(char out[REQUEST_SIZE], size_t n, const void *what, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (const uint8_t *s = what; len > 0 && n < REQUEST_SIZE; s++, len--) {
		bool plain = *s >= ' ' && *s <= '~' && *s != '"' && *s != '\\';

		if (n + (plain ? 1 : 4) > REQUEST_SIZE - sizeof(DOTS)) {
			memcpy(out + n, DOTS, sizeof(DOTS));
			return REQUEST_SIZE;
		}
		out[n++] = plain ? (char)*s : '\\';
		if (plain)
			continue;
		out[n++] = 'x';
		out[n++] = digits[*s >> 4];
		out[n++] = digits[*s & 15];
	}
	if (n > 0 && n < REQUEST_SIZE)
		out[n] = '\0';
	return n;
}

/* The value of a parameter, as far as it is there; NULL: it is not. */
static const uint8_t *
fastcgi_find(
    const uint8_t *at, const uint8_t *end, const char *name, size_t *len_out)
{
	size_t len[2], left;

	for (;; at += len[0] + len[1]) {
		/* The lengths of name and value have one byte or four each. */
		for (unsigned i = 0; i < 2; i++) {
			bool wide = at < end && *at >= 0x80;

			if (end - at < (wide ? 4 : 1))
				return NULL;
			len[i] = *at++ & 0x7f;
			for (int n = wide ? 3 : 0; n > 0; n--)
				len[i] = len[i] << 8 | *at++;
		}
		left = (size_t)(end - at);
		if (len[0] > left)
			return NULL;
		left -= len[0];
		*len_out = len[1] < left ? len[1] : left;
		if (len[0] == strlen(name) && memcmp(at, name, len[0]) == 0)
			return at + len[0];
		if (len[1] > left)
			return NULL;
	}
}

/* Web servers send parameters, of 64 KiB at most, in one record. */
static size_t
fastcgi_text(const uint8_t *bytes, size_t len, char out[REQUEST_SIZE])
{
	static const char *const names[] = { "SCRIPT_FILENAME", "REQUEST_URI" };
	const uint8_t *h, *at, *end = bytes + len, *value;
	size_t n = 0, size;

	if (len < FCGI_BEGIN_LEN + FCGI_HEADER_LEN ||
	    bytes[1] != FCGI_BEGIN_REQUEST ||
	    bytes[FCGI_BEGIN_LEN + 1] != FCGI_PARAMS)
		return 0;
	h = bytes + FCGI_BEGIN_LEN;
	at = h + FCGI_HEADER_LEN;
	size = (size_t)h[4] << 8 | h[5];
	if (size < (size_t)(end - at))
		end = at + size;
	for (unsigned i = 0; i < 2; i++) {
		value = fastcgi_find(at, end, names[i], &len);
		if (value == NULL || len == 0)
			continue;
		if (n > 0)
			n = request_put(out, n, " ", 1);
		n = request_put(out, n, value, len);
	}
	return n;
}

bool
request_text(
    bool fastcgi, const uint8_t *bytes, size_t len, char out[REQUEST_SIZE])
{
	size_t line = 0, n;

	if (fastcgi)
		return fastcgi_text(bytes, len, out) > 0;
	/* Empty lines before a request are left out of account. */
	for (; len > 0 && (*bytes == '\r' || *bytes == '\n'); len--)
		bytes++;
	while (line < len && bytes[line] != '\n')
		line++;
	n = request_put(
	    out, 0, bytes, line - (line > 0 && bytes[line - 1] == '\r'));
	if (line == len && n > 0)
		n = request_put(out, n, DOTS, sizeof(DOTS) - 1);
	return n > 0;
}
