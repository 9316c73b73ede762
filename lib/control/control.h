#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

/*
 * The control socket: a line in, an answer out, for many clients at a time.
 * See apppoolctl(8).
 */

#include <stdbool.h>

#include "daemon/state.h"

/*
 * Registers the control socket with the supervisor as a service, and as what
 * SIGUSR1 calls. False, logged: no memory.
 */
bool control_register(struct supervisor *s);

#endif
