#ifndef CONTROL_WAIT_H
#define CONTROL_WAIT_H

/*
 * Clients whose answer ends when apps are ready, or rollouts over: a timer
 * looks at the apps as long as there are such clients.
 */

#include "control/client.h"

void wait_init(struct clients *all);
void wait_fini(struct clients *all);

/*
 * Answers whether the client's app, or every app, is ready; or has the client
 * wait for it.
 */
void wait_until_ready(struct client *cl);

/* Has the client wait for the rollouts under way; false: there are none. */
bool wait_until_rolled_out(struct client *cl);

#endif
