#ifndef ADAPTER_ACCEPT_ADAPTER_H
#define ADAPTER_ACCEPT_ADAPTER_H

/* All that the parts of apppool-accept share. */

#include <sys/socket.h>

#include <stdbool.h>
#include <stdint.h>

#include "adapter/accept_door.h"
#include "adapter/accept_memory.h"
#include "adapter/accept_program.h"
#include "adapter/accept_sessions.h"
#include "adapter/accept_waiters.h"

/*
 * When a session is over the program does not say.  What shows it depends on
 * the manner in which the program goes on:
 *
 *	returns		the thread that accepted it accepts again
 *	polls		it polls first, so that we must ring for that
 *	hands on	it accepts further ones meanwhile, so that we must look
 *			from time to time whether it has closed the connection
 */
enum manner {
	MANNER_UNKNOWN,
	MANNER_RETURNS,
	MANNER_POLLS,
	MANNER_HANDS_ON,
};

/* A connection received and not yet given. */
struct held {
	int fd; /* -1: there is none */
	uint64_t serial;
	bool nonblocking;
	struct sockaddr_storage peer;
	socklen_t peer_len;
};

struct adapter {
	int channel; /* to the daemon */
	struct door door;
	struct program program;
	struct memory memory; /* the program's */
	struct waiters waiters;
	struct sessions sessions;
	enum manner manner;
	bool blocks; /* the last accept() that found nothing */
	bool blind; /* we may not look at the program's descriptors */
	bool looked_for; /* the bell rings to see whether it polls */
	bool strange; /* a socket we could not recognise was told of */
	bool ready; /* READY has been said */
	bool retired; /* RETIRE has been said */
	bool shut; /* the program has shut its socket down */
	bool stopped; /* no connection will come any more */
	bool maybe; /* there may be a message in the channel */
	struct held held;
	nanoseconds now; /* of this turn */
	nanoseconds term_at; /* when to ask the program to end */
	unsigned terms; /* how often it has been asked */
};

/* READY, and RETIRE: said once, and the latter when it makes sense. */
void adapter_ready(struct adapter *a);
void adapter_retire(struct adapter *a);

/* Tells the daemon that we cannot go on, and ends. */
_Noreturn void adapter_fail(struct adapter *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
