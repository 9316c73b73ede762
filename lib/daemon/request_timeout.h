#ifndef DAEMON_REQUEST_TIMEOUT_H
#define DAEMON_REQUEST_TIMEOUT_H

/*
 * Sessions over slow_timeout or request_timeout: a report says where their
 * processes hang. That is looked up in a lane, and logged when it is known.
 */

#include "daemon/worker.h"

struct action;

/* ACTION_SLOW: a session is over slow_timeout old. */
void request_timeout_slow(
    struct supervisor *s, const struct action *a, tstamp now);

/*
 * A session is over request_timeout old: reports it, and then sends SIGTERM,
 * which would end what is to be reported. The signal does not wait for long.
 */
void request_timeout_terminate(struct worker *w, tstamp now);

#endif
