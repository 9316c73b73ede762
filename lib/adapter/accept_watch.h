#ifndef ADAPTER_ACCEPT_WATCH_H
#define ADAPTER_ACCEPT_WATCH_H

/* When sessions are over, and when the program is to end. */

#include "adapter/accept_adapter.h"

/* A session is about to begin: when to look at it first. */
void watch_begin(struct adapter *a, struct given *g);

/* The thread accepts again. */
void watch_returned(struct adapter *a, pid_t tid);

/* Whether the program must be called to accept() when a session ends. */
bool watch_wants_bell(const struct adapter *a);

/* If no connection comes any more and none is held: asks it to end. */
void watch_stop(struct adapter *a);

/* It has just been asked to, by somebody else. */
void watch_told(struct adapter *a);

/* Looks at what is due, and when something is due next. */
void watch_tick(struct adapter *a);
nanoseconds watch_next(const struct adapter *a);

/* The program has ended; its sessions are over if it did so well. */
void watch_ended(struct adapter *a, int status);

#endif
