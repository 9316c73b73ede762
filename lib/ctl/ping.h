#ifndef CTL_PING_H
#define CTL_PING_H

/*
 * apppoolctl ping APP: asks the daemon where the app listens, and then the app
 * itself for something, through its own socket, as any client does.
 */

#include "ctl/ask.h"

/*
 * words: "ping", and the app; path NULL: "/". The answer has to be whole within
 * the timeout of `daemon`, or 5 s. The exit status.
 */
int ping_run(const struct ask *daemon, const char *path, char *const *words);

#endif
