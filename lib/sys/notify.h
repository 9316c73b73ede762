#ifndef SYS_NOTIFY_H
#define SYS_NOTIFY_H

/*
 * The service manager is told how we are, as sd_notify(3) describes the
 * protocol. Without one, all of this does nothing.
 */

#include <stdbool.h>

/*
 * Takes NOTIFY_SOCKET, and removes it and WATCHDOG_* from the environment,
 * so that no worker speaks for us. To be called once, before any thread.
 */
void notify_open(void);
void notify_close(void);

/* Whether somebody listens. */
bool notify_wanted(void);

/*
 * Sends lines of KEY=VALUE, separated by newlines, at most 4095 bytes.
 * Never waits. Returns 0 when sent or when nobody wants to know; -1 only
 * where trying again later may help (EAGAIN, ENOBUFS, ...): READY=1 must
 * not be lost.
 */
int notify_send(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
