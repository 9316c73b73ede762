#ifndef CORE_CONN_H
#define CORE_CONN_H

/* One accepted connection, from accept() to its one end. */

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"

enum conn_state {
	CONN_FREE, /* no connection */
	CONN_WAITING, /* on its app's queue */
	CONN_ASSIGNED, /* promised to a process; the HAND is not carried out */
	CONN_HANDED, /* in the hands of a process */
	CONN_REFUSED, /* counted; its REFUSE is not carried out */
};

struct conn {
	uint8_t state; /* enum conn_state */
	uint32_t app;
	uint32_t process; /* ILIST_NONE but when assigned or handed */
	uint32_t retries; /* times taken back from a dead process */
	uint64_t seq; /* order of arrival, unique over the pool's life */
	uint32_t lock; /* of the app's limit that it holds; ILIST_NONE: none */
	bool cleared; /* it needs no lock, or none any more */
	bool prefetched; /* it lies behind others in its process's socket */
	bool slow; /* ACTION_SLOW was asked for because of it */
	tstamp arrived;
	tstamp handed; /* when it was assigned to its process last */
	tstamp begun; /* since when it is not prefetched, if handed */
};

#endif
