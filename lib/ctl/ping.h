#ifndef CTL_PING_H
#define CTL_PING_H

/*
 * apppoolctl ping APP: asks the daemon where the app listens, and then the app
 * itself for something, through its own socket, as any client does.
 */

#include "ctl/ctl_private.h"

/* words: "ping", and the app. The exit status. */
int ping_run(struct ctl *ctl, char *const *words);

#endif
