#ifndef DAEMON_SAMPLING_H
#define DAEMON_SAMPLING_H

/*
 * Samples of what processes use, taken in rounds over all workers, a piece in
 * each turn of the loop, so that thousands do not hold it up: their resident
 * size, for apps with max_memory (and at the end of each session); and their
 * processor time, for apps whose processes accept connections themselves.
 * Other apps pay nothing.
 */

#include "daemon/worker.h"

/* Before the first group. */
void sampling_init(struct supervisor *s);

/* The group is new, or has other options. */
void sampling_configure(struct group *g, tstamp now);

/* A process has been started. */
void sampling_started(struct worker *w, tstamp now);

/* Tells the core how large it is; nothing for an app without max_memory. */
void sampling_memory(struct worker *w, tstamp now);

#endif
