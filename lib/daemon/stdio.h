#ifndef DAEMON_STDIO_H
#define DAEMON_STDIO_H

/*
 * handoff = stdio: a process has one session, and the end of the one is the
 * end of the other.
 */

#include "daemon/worker.h"

/*
 * It is dead, and the pool does not know yet: if it had received its
 * connection, that is completed by an exit, of whatever status, and lost by a
 * signal.
 */
void stdio_died(struct worker *w, tstamp now);

#endif
