#ifndef COUNTER_LIMITER_PRIVATE_H
#define COUNTER_LIMITER_PRIVATE_H

/* What limiter.c and lock.c share: a limit, and the connections for it. */

#include <sys/queue.h>

#include "counter/limiter.h"
#include "sys/log.h"

/* How long a server has to accept, and to answer beyond what it may wait. */
#define LIMITER_CONNECT TSPAN_MSECONDS(250)
#define LIMITER_LATE TSPAN_SECONDS(1)

/* How long nobody is asked after one that did not answer. */
#define LIMITER_REST TSPAN_SECONDS(1)

/* Idle connections that are kept for the next requests. */
#define LIMITER_SPARE 16

/* Longest line of an answer. */
#define LIMITER_LINE 128

enum lock_state {
	LOCK_IDLE, /* connected, holds nothing */
	LOCK_CONNECTING, /* its request is sent when it is connected */
	LOCK_ASKING,
	LOCK_HELD,
	LOCK_RELEASING,
	LOCK_GONE, /* held by the core, but its connection is lost */
};

/* One connection, and the lock it may hold. */
struct lock {
	TAILQ_ENTRY(lock) next; /* in locks, or in idle */
	struct limiter *limiter;
	struct loop_io io;
	uint32_t token; /* what the core knows it by */
	enum lock_state state;
	tstamp deadline; /* of the answer */
	char line[LIMITER_LINE];
	size_t len;
};

TAILQ_HEAD(locks, lock);

struct limiter {
	struct loop *loop;
	struct poolcounter *own; /* the counter of this daemon */
	const char *app; /* for the log */
	const struct limiter_events *events;
	void *events_arg;
	struct conf_listen where; /* of the server; strings not owned */
	bool local; /* our own counter */
	char server[160]; /* for the log */
	char request[512];
	tspan timeout;
	struct locks locks; /* all but the idle ones */
	struct locks idle;
	unsigned nidle;
	struct lock **tokens; /* by token; NULL: free */
	uint32_t ntokens;
	struct timer check; /* no deadline of a lock is earlier */
	struct limiter_figures figures;
	struct log_rate rate;
};

/* --- limiter.c ---------------------------------------------------------- */

/* A request has no answer: there will be none for a while. */
void limiter_unreachable(struct limiter *l, const char *why, tstamp now);

/* --- lock.c ------------------------------------------------------------- */

/*
 * Another connection, which asks for a lock as soon as it can. NULL and
 * errno.
 */
struct lock *lock_new(struct limiter *l, tstamp now);
void lock_free(struct lock *k);

/* An idle one asks; one that holds a lock gives it back. */
void lock_ask(struct lock *k, tstamp now);
void lock_release(struct lock *k, tstamp now);

/* It is of no more use; what it stood for is settled. */
void lock_fail(struct lock *k, const char *why, tstamp now);

#endif
