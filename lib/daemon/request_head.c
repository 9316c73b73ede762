/* The head of a request, as far as it has come. */

#include <string.h>

#include "daemon/request_head.h"

/* The longest name of a method that is waited for. */
#define METHOD_MAX 32

/* Bytes that are no method in capitals are for a process to refuse. */
static bool
begins_request(const char *bytes, size_t len)
{
	size_t n = 0;

	while (n < len && n < METHOD_MAX &&
	    ((bytes[n] >= 'A' && bytes[n] <= 'Z') || bytes[n] == '-' ||
		bytes[n] == '_'))
		n++;
	return n == len || (n > 0 && bytes[n] == ' ');
}

/* Whether an empty line is there. A line may end without a CR, too. */
static bool
has_empty_line(const char *bytes, size_t len)
{
	const char *end = bytes + len, *at = bytes;

	while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		at++;
		if (at < end && *at == '\r')
			at++;
		if (at < end && *at == '\n')
			return true;
	}
	return false;
}

bool
request_head_lacks(const char *bytes, size_t len)
{
	/* Empty lines before a request are left out of account. */
	while (len > 0 && (*bytes == '\r' || *bytes == '\n')) {
		bytes++;
		len--;
	}
	return len < REQUEST_HEAD_MAX && begins_request(bytes, len) &&
	    memchr(bytes, '\0', len) == NULL && !has_empty_line(bytes, len);
}
