#ifndef DAEMON_MEASURE_H
#define DAEMON_MEASURE_H

/*
 * How large processes are, for apps with max_memory: looked at before the end
 * of each session, and now and then also in between. Other apps pay nothing.
 */

#include "daemon/worker.h"

/* Tells the core; nothing for an app without max_memory. */
void measure_worker(struct worker *w, tstamp now);

/* The group has new options. */
void measure_configure(struct group *g, tstamp now);

/* When measure_tick() is due; TSTAMP_NEVER: no app has max_memory. */
tstamp measure_deadline(const struct supervisor *s);
void measure_tick(struct supervisor *s, tstamp now);

#endif
