#ifndef DAEMON_WORKTIME_H
#define DAEMON_WORKTIME_H

/*
 * How much processor time those processes use that accept connections
 * themselves, and whether they hold any: their load, and who is not needed.
 */

#include "daemon/worker.h"

/* A process has begun; the group has new options. */
void worktime_born(struct worker *w, tstamp now);
void worktime_configure(struct group *g, tstamp now);

/* When worktime_tick() is due; TSTAMP_NEVER: there is no such process. */
tstamp worktime_deadline(const struct supervisor *s);
void worktime_tick(struct supervisor *s, tstamp now);

#endif
