#ifndef CONTROL_CONTROL_H
#define CONTROL_CONTROL_H

/* The control socket: a line in, an answer out; see apppoolctl(8). */

#include <stdbool.h>

#include "daemon/state.h"

struct client;

/*
 * Does what the line of a client says. Afterwards its waits, wants and out say
 * how it goes on.
 */
void command_run(struct client *, tstamp now);

/*
 * Registers the control socket with the supervisor as a service, and as what
 * SIGUSR1 calls; run: command_run(). False, logged: no memory.
 */
bool control_register(
    struct supervisor *s, void (*run)(struct client *, tstamp now));

#endif
