#ifndef SYS_NUMBER_H
#define SYS_NUMBER_H

/*
 * Numbers as our protocols write them: unsigned, in decimal, digits only.
 * Pure arithmetic, for libapppool, the adapters, and a child before its exec.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Digits that the largest number has, and that number_read() takes at most. */
#define NUMBER_DIGITS 20

/*
 * Reads the number that begins at *at, moves *at behind its digits and returns
 * true. Stops at the first other character, and at end. Returns false, nothing
 * changed, if there is no digit, or more than *out can hold.
 */
static inline bool
number_read(const char **at, const char *end, uint64_t *out)
{
	const char *p = *at;
	uint64_t n = 0;

	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	if (p == *at || p - *at > NUMBER_DIGITS)
		return false;
	*at = p;
	*out = n;
	return true;
}

/* The same for a text of len bytes that is a number and nothing else. */
static inline bool
number_parse(const char *text, size_t len, uint64_t *out)
{
	const char *at = text;
	uint64_t n;

	if (!number_read(&at, text + len, &n) || at != text + len)
		return false;
	*out = n;
	return true;
}

/*
 * Writes the number so that its last digit stands before end; returns its
 * first digit. The NUMBER_DIGITS bytes before end must be the caller's.
 */
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
