#ifndef CONTROL_STATUS_H
#define CONTROL_STATUS_H

/*
 * One snapshot of everything, written out in bounded pieces, as JSON or for
 * people, so that the status of thousands of workers holds up no hand-over.
 */

#include <stdbool.h>
#include <stddef.h>

#include "daemon/supervisor.h"

struct status;

/*
 * Copies what is to be shown; app NULL: all. NULL and errno (ENOENT: no such
 * app).
 */
struct status *status_take(
    struct supervisor *s, const char *app, bool json, tstamp now);

/* st may be NULL. */
void status_free(struct status *st);

/* Bytes of memory it takes. */
size_t status_size(const struct status *st);

/*
 * Gives the next piece, which stays until the next call; NULL: that was all.
 */
const char *status_next(struct status *st, size_t *len_out);

struct dump;

/*
 * Begins to write the state to dump_file, or to the log; piece by piece, in
 * the closer's lane. *slot is the dump while it is under way, and NULL
 * afterwards; nothing is begun while it is not NULL.
 */
void status_dump(struct supervisor *s, struct dump **slot, tstamp now);

/* The slot ends before the dump. */
void status_dump_forget(struct dump *d);

#endif
