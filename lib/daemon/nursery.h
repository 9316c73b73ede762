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

/*
 * How long the successor of a process that has become its program is put off,
 * while nobody waits and others are ready: it would be started beside that.
 */
#define NURSERY_REST TSPAN_MSECONDS(3)

/* ACTION_SPAWN. */
void nursery_spawn(struct supervisor *s, uint32_t process, tstamp now);

/* When nursery_tick() is due, and what it does: those that were put off. */
tstamp nursery_deadline(const struct supervisor *s);
void nursery_tick(struct supervisor *s, tstamp now);

/* A worker that is unborn is told to stop: it is never started, and freed. */
void nursery_call_off(struct worker *w, tstamp now);

#endif
