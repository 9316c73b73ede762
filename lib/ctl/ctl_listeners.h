#ifndef CTL_CTL_LISTENERS_H
#define CTL_CTL_LISTENERS_H

/*
 * For -t: an address in use is no mistake if the daemon that answers on the
 * control socket of the very same file listens on it.
 */

#include <stdbool.h>

#include "conf/conf.h"

/*
 * Asks the daemon on the control socket of this file for its listeners, and
 * waits a second at most. Without an answer it has none. Not for the daemon.
 */
void ctl_listeners_ask(const char *file);

/* Whether the daemon listens there: for conf_load(). */
bool ctl_listeners_has(const struct conf_listen *where);

#endif
