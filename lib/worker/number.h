#ifndef WORKER_NUMBER_H
#define WORKER_NUMBER_H

/* Numbers as the worker protocol writes them: unsigned, decimal, bare. */

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the number that begins at *text and moves *text behind it.  Returns
 * false, nothing changed, if there is none or it is too large.
 */
static inline bool
number_read(const char **text, uint64_t *out)
{
	const char *p = *text;
	uint64_t n = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	if (p == *text)
		return false;
	*text = p;
	*out = n;
	return true;
}

/* Writes the number so that it ends before `end`; gives its first digit. */
static inline char *
number_write(char *end, uint64_t n)
{
	do {
		*--end = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	return end;
}

#endif
