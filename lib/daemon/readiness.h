#ifndef DAEMON_READINESS_H
#define DAEMON_READINESS_H

/*
 * Telling those who wait for it how we are: the terminal that -D was typed
 * at, and the service manager.
 */

#include "daemon/supervisor.h"

void readiness_tick(struct supervisor *s, tstamp now);
tstamp readiness_deadline(const struct supervisor *s);

#endif
