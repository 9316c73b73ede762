#ifndef CONTROL_WAIT_H
#define CONTROL_WAIT_H

/*
 * Clients whose answer ends when something has come about in the apps: a timer
 * looks at them as long as there are such clients.
 */

#include "control/client.h"

void wait_init(struct clients *all);
void wait_fini(struct clients *all);

/*
 * Has the client wait as long as goes_on returns true, which is asked at once
 * and then now and then; it says how far things are, and tells the client the
 * end. Without goes_on true, the answer is there already.
 */
void wait_while(
    struct client *cl, bool (*goes_on)(struct client *, struct progress *out));

/*
 * Answers whether the client's app, or every app, is ready; or has the client
 * wait for it.
 */
void wait_until_ready(struct client *cl);

/* Has the client wait for the rollouts under way; false: there are none. */
bool wait_until_rolled_out(struct client *cl);

/* The client has the events that happen, each soon after. */
void wait_for_events(struct client *cl);

#endif
