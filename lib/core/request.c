/* Requests, understood as far as it takes to name one; from strangers. */

#include <string.h>

#include "core/request.h"

/* The FastCGI specification's names and numbers. */
#define FCGI_BEGIN_REQUEST 1
#define FCGI_PARAMS 4
#define FCGI_HEADER_LEN 8
#define FCGI_BEGIN_LEN 16 /* of a whole record */

#define DOTS "..."

static bool
request_put(const uint8_t *s, size_t len, bool whole, char out[REQUEST_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	const char *end = out + REQUEST_SIZE - sizeof(DOTS);
	bool any = len > 0;

	for (; len > 0; s++, len--) {
		bool plain = *s >= ' ' && *s <= '~' && *s != '"' && *s != '\\';

		if (end - out < (plain ? 1 : 4)) {
			whole = false;
			break;
		}
		*out++ = plain ? (char)*s : '\\';
		if (plain)
			continue;
		*out++ = 'x';
		*out++ = digits[*s >> 4];
		*out++ = digits[*s & 15];
	}
	if (any)
		memcpy(out, whole ? "" : DOTS, whole ? 1 : sizeof(DOTS));
	return any;
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
static bool
fastcgi_text(const uint8_t *bytes, size_t len, char out[REQUEST_SIZE])
{
	static const char *const names[] = { "SCRIPT_FILENAME", "REQUEST_URI" };
	const uint8_t *h = bytes + FCGI_BEGIN_LEN, *at = h + FCGI_HEADER_LEN;
	uint8_t both[2 * (REQUEST_SIZE + 1)];
	size_t n = 0, size;

	if (len < FCGI_BEGIN_LEN + FCGI_HEADER_LEN ||
	    bytes[1] != FCGI_BEGIN_REQUEST || h[1] != FCGI_PARAMS)
		return false;
	size = (size_t)h[4] << 8 | h[5];
	if (size > (size_t)(bytes + len - at))
		size = (size_t)(bytes + len - at);
	for (unsigned i = 0; i < 2; i++) {
		const uint8_t *value =
		    fastcgi_find(at, at + size, names[i], &len);

		if (value == NULL || len == 0)
			continue;
		if (n > 0)
			both[n++] = ' ';
		if (len > REQUEST_SIZE)
			len = REQUEST_SIZE;
		memcpy(both + n, value, len);
		n += len;
	}
	return request_put(both, n, true, out);
}

bool
request_text(
    bool fastcgi, const uint8_t *bytes, size_t len, char out[REQUEST_SIZE])
{
	size_t line = 0;

	if (fastcgi)
		return fastcgi_text(bytes, len, out);
	/* Empty lines before a request are left out of account. */
	for (; len > 0 && (*bytes == '\r' || *bytes == '\n'); len--)
		bytes++;
	while (line < len && bytes[line] != '\n')
		line++;
	return request_put(bytes, line - (line > 0 && bytes[line - 1] == '\r'),
	    line < len, out);
}
