#ifndef SYS_UTF8_H
#define SYS_UTF8_H

/* What counts as text: UTF-8 as RFC 3629 has it. */

#include <stddef.h>

/*
 * How many bytes the character at p takes, 1 to 4, of the len (at least 1)
 * that are there; 0 where no valid character begins.
 */
size_t utf8_length(const char *p, size_t len);

#endif
