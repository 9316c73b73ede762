#ifndef DAEMON_NURSERY_H
#define DAEMON_NURSERY_H

/*
 * Starting workers: a few at a time, so that a thousand of one app do not
 * stand before the one that another app needs now. Apps take turns; one with
 * somebody waiting goes first.
 */

#include "daemon/supervisor.h"

/* Births under way at a time, of all apps and of one. */
#define NURSERY_BIRTHS 16
#define NURSERY_BIRTHS_EACH 4

/* ACTION_SPAWN. */
void nursery_spawn(struct supervisor *s, uint32_t process, tstamp now);

/* A worker that is unborn is told to stop: it is never started, and freed. */
void nursery_call_off(struct worker *w, tstamp now);

#endif
