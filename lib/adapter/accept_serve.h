#ifndef ADAPTER_ACCEPT_SERVE_H
#define ADAPTER_ACCEPT_SERVE_H

/*
 * Between the daemon, who hands out connections, and the program, which calls
 * accept(): a connection is received when a thread waits for it and is given
 * at once, so that what the program did not get stays with the daemon.
 */

#include "adapter/accept_adapter.h"

/* The program has made a call. */
void serve_call(struct adapter *a);

/* Gives to those who wait what there is. */
void serve(struct adapter *a);

/* The program has shut its socket down: nobody shall wait any more. */
void serve_shut(struct adapter *a);

/* A signal that passed us is on its way to the program. */
void serve_doubt(struct adapter *a, int sig);

#endif
