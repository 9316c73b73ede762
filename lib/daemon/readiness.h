#ifndef DAEMON_READINESS_H
#define DAEMON_READINESS_H

/*
 * Whether the daemon is ready, and how it is, for the terminal that -D was
 * typed at and for the service manager.
 */

#include "daemon/state.h"

void readiness_init(struct supervisor *s);

/* Before the first turn. */
void readiness_begin(struct supervisor *s, tstamp now);

/* After the settling of each turn. */
void readiness_turn(struct supervisor *s, tstamp now);

#endif
