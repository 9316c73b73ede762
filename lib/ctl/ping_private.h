#ifndef CTL_PING_PRIVATE_H
#define CTL_PING_PRIVATE_H

/* What the files ping*.c share. */

#include "ctl/ping_answer.h"
#include "sys/text.h"

/* --- ping_request.c ----------------------------------------------------- */

/* What is sent to ask for path; nothing for raw. */
void ping_request(
    enum conf_protocol protocol, const char *path, struct text *out);

/* --- ping_answer.c ------------------------------------------------------ */

/* It is wrong, for this reason, which is constant. */
void ping_broken(struct ping_answer *a, const char *why);

/* Appends what can be printed of it to text, an array of size bytes. */
void ping_note(char *text, size_t size, const char *data, size_t len);

/* --- ping_head.c -------------------------------------------------------- */

/*
 * Takes what belongs to the head, and counts what is of the body. first: the
 * head begins with the status line of HTTP; else it is that of a CGI program.
 */
void ping_head_put(
    struct ping_answer *a, const char *data, size_t len, bool first);

/* --- ping_fastcgi.c ----------------------------------------------------- */

void ping_fastcgi_put(struct ping_answer *a, const char *data, size_t len);

#endif
