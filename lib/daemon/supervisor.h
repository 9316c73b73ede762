#ifndef DAEMON_SUPERVISOR_H
#define DAEMON_SUPERVISOR_H

/* The daemon's loop: facts in, actions out. */

#include "daemon/state.h"

/*
 * Takes config over and makes the loop and its lanes. 0, or an exit status of
 * sysexits.h, the reason having been logged. Call it before there is any
 * thread: it forks.
 */
int supervisor_init(struct supervisor *s, struct config *config);

/*
 * Opens the services, which were registered in between, and the listeners,
 * and asks for the first processes. Returns as supervisor_init().
 */
int supervisor_open(struct supervisor *s);

/* Runs until everything has stopped. Gives the exit status. */
int supervisor_run(struct supervisor *s);
void supervisor_fini(struct supervisor *s);

#endif
