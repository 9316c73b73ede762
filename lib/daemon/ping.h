#ifndef DAEMON_PING_H
#define DAEMON_PING_H

/*
 * apppoolctl ping APP: asks the daemon where the app listens, and then the app
 * itself for something, through its own socket, as any client does.
 */

#include "daemon/ctl_private.h"

/* words: "ping", and the app. The exit status. */
int ping_run(struct ctl *ctl, char *const *words);

#endif
