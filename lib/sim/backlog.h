#ifndef SIM_BACKLOG_H
#define SIM_BACKLOG_H

/*
 * Managers whose workers accept for themselves, as those of most peers do.
 * The kernel keeps one backlog for each app: the oldest connection in it goes
 * to a worker that is blocked in accept(), at once and at no cost; of several
 * to the one that has been blocked longest, for that is whom the kernel
 * wakes.  A worker with a `concurrency` accepts until it has as many.
 *
 * When workers start and stop is a policy's: struct backlog is the first
 * member of each.  Apps are managed each for itself.
 *
 * The backlog holds as many connections as pool.conf(5) allows ours to keep
 * waiting: `backlog` and `max_queue` together.
 *
 * An app without connections (handoff = none, or listen) has min_processes,
 * with us and so with every policy.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "core/ilist.h"
#include "core/tstamp.h"
#include "sim/manager.h"

struct backlog;

/* A policy.  Each function but first() may be NULL. */
struct backlog_ops {
	const char *name; /* of the manager */

	/* Of ticked(), which is NULL if this is 0. */
	tspan period;

	/* How many workers are there when the first connection comes. */
	uint32_t (*first)(const struct conf_app *app);

	/* waits: no worker has accepted it; else one has, already. */
	void (*arrived)(struct backlog *b, uint32_t app, uint32_t request,
	    bool waits, tstamp now);

	/* One that waited has been accepted. */
	void (*begun)(struct backlog *b, uint32_t request);

	/* One was served for so long. */
	void (*finished)(
	    struct backlog *b, uint32_t worker, tspan served, tstamp now);

	/* Once a period for each app. */
	void (*ticked)(struct backlog *b, uint32_t app, tstamp now);

	/* When it wants woken() besides, and that. */
	tstamp (*due)(const struct backlog *b);
	void (*woken)(struct backlog *b, tstamp now);

	/* Frees what the policy has allocated, but not the policy itself. */
	void (*fini)(struct backlog *b);
};

enum worker_state {
	WORKER_NONE, /* the number is free */
	WORKER_STARTING,
	WORKER_READY,
	WORKER_LEAVING, /* accepts no more, ends with its last session */
};

struct backlog_worker {
	uint8_t state; /* enum worker_state */
	uint32_t app;
	uint32_t serving;
	tstamp born;
	tstamp active; /* when it last was ready, accepted or finished */
};

struct backlog_app {
	const struct conf_app *conf;
	bool served; /* it has connections, so the policy is asked */
	uint32_t base; /* its workers are base … base + max_processes - 1 */
	uint32_t starting; /* number of its workers */
	uint32_t idle; /* number of its workers: ready, serve nothing */
	uint32_t busy; /* number of its workers: ready, serve something */
	uint32_t leaving; /* number of its workers */
	struct ilist free; /* numbers of workers */
	struct ilist open; /* ready and with room, longest blocked first */
	struct ilist queue; /* requests that wait, in order of arrival */
};

/* The fields may be read; only the functions below change them. */
struct backlog {
	struct manager manager;
	const struct backlog_ops *ops;
	struct backlog_app *apps;
	uint32_t napps;
	struct backlog_worker *workers; /* manager.workers of them */
	struct ilink *worker_links;
	struct ilink *request_links;
	tstamp *begun; /* of each request that is served */
	uint32_t total; /* workers of all apps, leaving ones included */
	uint64_t seed;
	tstamp next; /* call of ticked(); TSTAMP_NEVER: none */
};

/*
 * A policy of `size` zeroed bytes. NULL and errno: no memory.  conf must
 * outlive it.  seed: ticks come at another part of the period each time.
 */
struct backlog *backlog_new(size_t size, const struct backlog_ops *ops,
    const struct conf *conf, uint64_t seed);

/* Undoes backlog_new(), after what the policy calls fini(). */
void backlog_free(struct backlog *b);

/* All that exist, leaving ones included: those of `max_children` and such. */
uint32_t backlog_living(const struct backlog_app *a);

/* Those of them that do not leave. */
uint32_t backlog_active(const struct backlog_app *a);

/* Whether it is one of these. */
static inline bool
backlog_is_active(const struct backlog_worker *w)
{
	return w->state == WORKER_STARTING || w->state == WORKER_READY;
}

/* Starts n workers, or as many as max_processes allows; gives that number. */
uint32_t backlog_start(struct backlog *b, uint32_t app, uint32_t n, tstamp now);

/* The worker ends when it has finished what it serves. */
void backlog_stop(struct backlog *b, uint32_t worker);

/* Of the idle workers: the longest blocked, and the one with the longest
 * life.  ILIST_NONE: there is none. */
uint32_t backlog_longest_blocked(const struct backlog *b, uint32_t app);
uint32_t backlog_oldest_idle(const struct backlog *b, uint32_t app);

#endif
