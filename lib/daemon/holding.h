#ifndef DAEMON_HOLDING_H
#define DAEMON_HOLDING_H

/*
 * Which processes of an app hold connections that they have accepted
 * themselves. It is looked up elsewhere (the kernel's list of sockets, and
 * the descriptors of each process), and the core is told of those that do:
 * they are in use, though they may use no processor. And they do accept.
 */

#include "daemon/group.h"

/* Asks for a look, if the app has more processes than it must. */
void holding_look(struct group *g, tstamp now);

/*
 * Asks for a look, whatever there is, as somebody waits beside processes of
 * which none has been seen to accept; at most one a second.
 */
void holding_ask(struct group *g, tstamp now);

/* Nobody waits for it any more. */
void holding_forget(struct group *g);

#endif
