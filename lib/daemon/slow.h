#ifndef DAEMON_SLOW_H
#define DAEMON_SLOW_H

/*
 * Sessions that take too long: where their processes hang. That is looked up
 * in a lane, and told when it is known.
 */

#include "daemon/worker.h"

struct action;

/* ACTION_SLOW: a session is over slow_timeout old. */
void slow_session(struct supervisor *s, const struct action *a, tstamp now);

/*
 * A session is over request_timeout old: tells it, and then sends SIGTERM,
 * which would end what is to be told.
 */
void slow_terminate(struct worker *w, tstamp now);

/* Sends it also if nobody has come back with an answer for a while. */
void slow_second(struct worker *w, tstamp now);

/* It is dead. */
void slow_forget(struct worker *w);

#endif
