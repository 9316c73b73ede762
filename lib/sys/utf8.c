/* UTF-8, RFC 3629: no overlong forms, no surrogates, nothing past 10FFFF. */

#include "sys/utf8.h"

size_t
utf8_length(const char *p, size_t len)
{
	const unsigned char *b = (const void *)p;
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t n;

	if (b[0] < 0x80)
		return 1;
	if (b[0] < 0xc2 || b[0] > 0xf4)
		return 0;

	n = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
	if (len < n)
		return 0;

	/* The table of section 4: the first byte narrows the second. */
	switch (b[0]) {
	case 0xe0:
		low = 0xa0;
		break;
	case 0xed:
		high = 0x9f;
		break;
	case 0xf0:
		low = 0x90;
		break;
	case 0xf4:
		high = 0x8f;
		break;
	}
	if (b[1] < low || b[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if (b[i] < 0x80 || b[i] > 0xbf)
			return 0;
	}
	return n;
}
