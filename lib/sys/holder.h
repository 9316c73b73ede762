#ifndef SYS_HOLDER_H
#define SYS_HOLDER_H

/* Which process listens at an address that is taken. */

#include <stddef.h>

#include "sys/listener.h"

/* Room for every text of holder_find(), with its NUL. */
#define HOLDER_SIZE 64

/*
 * Writes "nginx (pid 4711)" for a process that listens where spec would, and
 * returns buf, of HOLDER_SIZE bytes; NULL: it cannot be seen. Goes through the
 * descriptors of all processes, so not for a loop.
 */
const char *holder_find(const struct listener_spec *spec, char *buf);

#endif
