#ifndef DAEMON_STOP_H
#define DAEMON_STOP_H

/* The end of the daemon, as it is asked for. */

#include "daemon/state.h"

/* SIGTERM and SIGQUIT: the apps serve what waits, within stop_timeout. */
void stop_gracefully(struct supervisor *s, tstamp now);

/* The processes end within their kill_timeout. */
void stop_now(struct supervisor *s, tstamp now);

/* SIGINT, and SIGTERM again: stops now, and the next time kills. */
void stop_again(struct supervisor *s, tstamp now);

/* Whether nothing is left but processes that SIGKILL does not end. */
bool stop_is_over(const struct supervisor *s);

#endif
