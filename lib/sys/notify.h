#ifndef SYS_NOTIFY_H
#define SYS_NOTIFY_H

/*
 * Messages to the service manager, in the protocol of sd_notify(3). Without a
 * service manager these functions do nothing.
 */

#include <stdbool.h>

#include "core/tstamp.h"

/*
 * Takes NOTIFY_SOCKET, and removes it and WATCHDOG_* from the environment,
 * so that no worker speaks for us. To be called once, before any thread.
 */
void notify_open(void);
void notify_close(void);

/* Whether there is a service manager to be told. */
bool notify_wanted(void);

/* Within which the manager wants WATCHDOG=1, again and again; 0: not at all. */
tspan notify_watchdog(void);

/*
 * Sends lines of KEY=VALUE, separated by newlines, at most 4095 bytes.
 * Never waits. Returns 0 when they were sent or there is no service manager; -1
 * only where trying again later may help (EAGAIN, ENOBUFS, ...): READY=1 must
 * not be lost.
 */
int notify_send(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
