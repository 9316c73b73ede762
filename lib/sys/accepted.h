#ifndef SYS_ACCEPTED_H
#define SYS_ACCEPTED_H

/* Accepted connections that somebody else has got by now. */

#include <stdbool.h>

/*
 * Closes our copy of a connection that was handed on. A worker may have set
 * SO_LINGER, and whoever closes a TCP socket last would wait for it: so that
 * is cleared first. errno stays what it was.
 */
void accepted_close(int fd, bool tcp);

#endif
