#ifndef DAEMON_SPAWN_H
#define DAEMON_SPAWN_H

/*
 * Starting workers: a few at a time, so that a thousand of one app do not
 * hold up the worker that another app needs now. Apps take turns; an app with
 * connections that wait goes first.
 */

#include "daemon/worker.h"

struct action;

/* Starts under way at a time, of all apps and of one. */
#define SPAWN_MAX 16
#define SPAWN_MAX_EACH 4

/* The group is new. */
void spawn_init(struct group *g);

/* ACTION_SPAWN. */
void spawn_process(struct supervisor *s, const struct action *a, tstamp now);

/* A queued worker is told to stop: it is never started, and freed. */
void spawn_call_off(struct worker *w, tstamp now);

/*
 * A worker that a template was to fork is killed, and cannot be found: it sees
 * the end of its channel, and is freed.
 */
void spawn_abandon(struct worker *w, tstamp now);

/* After the settling of each turn: starts put off may be wanted by now. */
void spawn_hasten(struct supervisor *s, tstamp now);

#endif
