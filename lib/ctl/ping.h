#ifndef CTL_PING_H
#define CTL_PING_H

/*
 * apppoolctl ping APP: asks the daemon where the app listens, and then the app
 * itself for something, through its own socket, as any client does.
 */

#include "ctl/ask.h"

struct ping_options {
	const char *path; /* --path; NULL: not given */
	const char *timeout; /* --timeout; NULL: not given */
};

/* words: "ping", and the app. The exit status. */
int ping_run(
    const struct ask *daemon, const struct ping_options *o, char *const *words);

#endif
