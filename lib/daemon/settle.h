#ifndef DAEMON_SETTLE_H
#define DAEMON_SETTLE_H

#include "daemon/state.h"

/* Carries out what the pool wants done; once in each turn of the loop. */
void settle_actions(struct supervisor *s);

#endif
