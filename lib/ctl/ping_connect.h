#ifndef CTL_PING_CONNECT_H
#define CTL_PING_CONNECT_H

#include "core/tstamp.h"

/*
 * Connects to an address as the daemon shows it: "127.0.0.1:80", "[::1]:80",
 * "unix:/run/web.sock", "unix:@abstract". A socket that waits no longer than
 * timeout in any call, and is the caller's; or -1 and errno, ETIMEDOUT if that
 * has passed.
 */
int ping_connect(const char *address, tspan timeout);

#endif
