#ifndef CORE_REQUEST_H
#define CORE_REQUEST_H

/* The request that a connection begins with, as text for people. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_PEEK 4096 /* bytes of it that are looked at */
#define REQUEST_SIZE 201 /* of the longest text, with its NUL */

/*
 * Of HTTP the first line; of FastCGI SCRIPT_FILENAME and REQUEST_URI.  Other
 * bytes than printable ASCII, quotes and backslashes are \xHH; for what has no
 * room, or has not come yet, "..." stands at the end.  False: there is no text,
 * and out is untouched.
 */
bool request_text(
    bool fastcgi, const uint8_t *bytes, size_t len, char out[REQUEST_SIZE]);

#endif
