#ifndef SYS_HOLDER_H
#define SYS_HOLDER_H

/* Which process listens at an address that is taken. */

#include <stdbool.h>
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

/*
 * The text of errno, which it keeps, after listener_open() of spec has failed:
 * with the holder, if `look` allows to look for one, or the right that is
 * missing. Returns buf.
 */
const char *holder_explain(
    const struct listener_spec *spec, bool look, char *buf, size_t size);

#endif
