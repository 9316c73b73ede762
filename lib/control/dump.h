#ifndef CONTROL_DUMP_H
#define CONTROL_DUMP_H

/*
 * The state, written to dump_file or to the log: piece by piece, in the
 * looker's lane, for disks block.
 */

#include "daemon/state.h"

struct dump;

/*
 * Begins a dump. *slot is the dump while it is under way, and NULL afterwards;
 * nothing is begun while it is not NULL.
 */
void dump_start(struct supervisor *s, struct dump **slot, tstamp now);

/* The slot is gone before the dump has ended. */
void dump_forget(struct dump *d);

#endif
