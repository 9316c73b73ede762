#ifndef CORE_TABLES_H
#define CORE_TABLES_H

/* The pool's tables, the lists that link their rows by number, and sums. */

#include "core/action.h"
#include "core/app.h"
#include "core/deadlines.h"

enum conn_state {
	CONN_FREE, /* no connection has this number */
	CONN_WAITING, /* on its app's queue */
	CONN_ASSIGNED, /* promised to a process; the HAND is not carried out */
	CONN_HANDED, /* in the hands of a process */
	CONN_REFUSED, /* counted; its REFUSE is not carried out */
};

/* An accepted connection, from accept() to its one end. */
struct conn {
	uint8_t state; /* enum conn_state */
	uint32_t app;
	uint32_t process; /* ILIST_NONE but when assigned or handed */
	uint32_t retries; /* times taken back from a dead process */
	uint64_t seq; /* order of arrival, unique over the pool's life */
	uint32_t lock; /* of the app's limit that it holds; ILIST_NONE: none */
	bool cleared; /* it needs no lock, or none any more */
	bool former; /* its lock is not of the limit that there is now */
	bool prefetched; /* it lies behind others in its process's socket */
	bool slow; /* ACTION_SLOW was asked for because of it */
	tstamp arrived;
	tstamp handed; /* when it was assigned to its process last */
	tstamp begun; /* since when it is not prefetched, if handed */
};

/* Sizes of the tables, each at least 1. */
struct pool_limits {
	uint32_t apps;
	uint32_t processes; /* leaving ones included */
	uint32_t conns; /* waiting and in the hands of processes */
	uint32_t sessions; /* the largest concurrency + prefetch of all apps */
};

enum pool_phase {
	POOL_RUNNING,
	POOL_STOPPING, /* gracefully, until stop_at at the latest */
	POOL_ENDING, /* at once: only signals and deaths are waited for */
};

/* The first app in line for a place, as it was when others gave last. */
struct place_cache {
	uint32_t app; /* ILIST_NONE: the line was empty */
	uint32_t processes; /* it had so many */
	uint32_t coming; /* places that were about to be free */
};

struct pool {
	struct pool_limits limits;
	struct app *apps;
	struct process *processes;
	struct conn *conns;
	struct ilink *process_links; /* app lists, and the free list */
	struct ilink *conn_links; /* queues and processes' conns, likewise */
	struct ilink *prefetch_links; /* apps' lists of prefetched conns */
	struct ilist *rooms; /* limits.sessions for each app */
	struct ilist free_processes; /* used before, free now */
	struct ilist free_conns;
	struct ilink *app_links;
	struct ilist places; /* apps in line for max_processes, in order */
	struct place_cache place_cache;
	uint32_t places_wanted; /* sum over the apps in line */
	uint32_t surge; /* sum of the apps' surge */
	uint32_t ending; /* processes whose places are free soon */
	uint32_t promised; /* evicted processes with sessions to finish */
	uint32_t denied; /* number of apps that are SPARE_DENIED */
	uint32_t marked; /* sum of the apps' marked */
	struct deadlines app_deadlines;
	struct deadlines process_deadlines;
	struct actions actions;
	struct prng prng;
	uint32_t napps; /* numbers below were used at some time */
	uint32_t nprocesses; /* likewise */
	uint32_t nconns; /* likewise */
	uint32_t max_processes; /* ceiling over all apps */
	uint32_t process_slack; /* so close to it victims are stopped at once */
	uint32_t count; /* sum of app_processes() */
	uint32_t living; /* bound by max_processes: all but stuck ones */
	uint32_t resume_next; /* the app to resume first; see conns_full */
	bool conns_full; /* an app is pending for want of a conn's number */
	uint8_t phase; /* enum pool_phase */
	uint64_t stamps; /* given out to apps, processes and connections */
	tstamp stop_at;
	tspan stop_grace; /* SIGTERM so long before stop_at */
	tstamp now; /* of the latest fact */
};

static inline bool
tables_have_conn(const struct pool *p)
{
	return p->nconns - p->free_conns.count < p->limits.conns;
}

/* The app's process after this one, on any list; ILIST_NONE: first, or end. */
uint32_t room_next(const struct pool *p, uint32_t app, uint32_t process);

#endif
