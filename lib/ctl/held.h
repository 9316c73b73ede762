#ifndef CTL_HELD_H
#define CTL_HELD_H

/*
 * For -t: an address that is in use is no mistake if the daemon that answers
 * on the control socket of the very same file holds it.
 */

#include <stdbool.h>

#include "conf/conf.h"

/*
 * Asks the daemon on the control socket of this file what it holds. Waits for
 * it a second at most; without one nothing is held. Not for the daemon.
 */
void held_ask(const char *file);

/* For conf_load(). */
bool held_by_us(const struct conf_listen *where);

#endif
