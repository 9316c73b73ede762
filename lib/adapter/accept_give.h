#ifndef ADAPTER_ACCEPT_GIVE_H
#define ADAPTER_ACCEPT_GIVE_H

/* A connection, from the channel into the program. */

#include "adapter/accept_adapter.h"

/* Receives one that can be given, into a->held; false: there is none. */
bool give_take(struct adapter *a);

/* Gives the one we hold to a caller.  Either way that waits no more. */
void give(struct adapter *a, const struct call *caller);

/* Not given: it is the caller who has a problem, or is gone. */
void give_refuse(struct adapter *a, const struct call *c, int error);

#endif
