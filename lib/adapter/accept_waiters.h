#ifndef ADAPTER_ACCEPT_WAITERS_H
#define ADAPTER_ACCEPT_WAITERS_H

/* The threads of the program that wait in accept(). */

#include <stdbool.h>
#include <stddef.h>

#include "adapter/accept_call.h"
#include "adapter/accept_sessions.h"

struct waiter {
	struct call call;
	/* To be looked at then, and given nothing before; 0: never in doubt. */
	nanoseconds doubted;
};

/* Those that came last are last. */
struct waiters {
	struct waiter *list;
	size_t len;
	size_t room;
};

/* It waits from now on.  false: no memory. */
bool waiters_add(struct waiters *w, const struct call *c, int notify);

/* Its thread has called again, so that it waits no more. */
void waiters_forget(struct waiters *w, pid_t tid);

/*
 * A signal is on its way to the program.  Until then those who wait now may be
 * about to leave, and what they are given might be lost.
 */
void waiters_doubt(struct waiters *w, nanoseconds until);

/* The calls of all fail with this errno. */
void waiters_fail(struct waiters *w, int notify, int error);

/*
 * The one that came last and is not in doubt: it has the best chance to find
 * what it needs still in the caches.  Those that are gone are forgotten.
 * NULL: none; else valid until the next call of one of these.
 */
const struct call *waiters_last(struct waiters *w, int notify);

/* Looks whether those whose time has come have seen the signal. */
void waiters_review(struct waiters *w, nanoseconds now);

/* When the first is to be looked at for that; INT64_MAX: none is in doubt. */
nanoseconds waiters_next(const struct waiters *w);

#endif
