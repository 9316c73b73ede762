#ifndef TESTS_BENCH_PEERS_PEERS_H
#define TESTS_BENCH_PEERS_PEERS_H

/*
 * The rules of the peers, each a manager of its own, for `make pareto`.
 *
 * Each has the defaults of its documentation, the number of workers scaled to
 * the app's min_processes and max_processes; the top of each file says how.
 * What these tools do not know is left out: max_requests, max_memory, limits,
 * prefetch, queue_timeout, and a ceiling over several apps (mod_fastcgi knows
 * one).  Their workers start and serve exactly as ours do.
 *
 * What all peers have is in peers.c: workers, and a backlog for each app.  When
 * workers start and stop are the steps of a policy (struct policy_ops).
 *
 * The workers of most peers accept for themselves.  The kernel keeps one
 * backlog for each app: the oldest connection in it goes to a worker that is
 * blocked in accept(), at once and at no cost; of several to the worker that
 * has been blocked longest, for the kernel wakes that.  A worker with a
 * `concurrency` accepts until it has as many.
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
#include "core/deadlines.h"
#include "core/ilist.h"
#include "core/tstamp.h"
#include "sim/simulate.h"

enum policies {
	POLICIES_STATIC,
	POLICIES_FPM_DYNAMIC,
	POLICIES_FPM_ONDEMAND,
	POLICIES_PREFORK,
	POLICIES_UWSGI,
	POLICIES_FASTCGI,
	POLICIES_ANYEVENT,
	POLICIES_LEN
};

/*
 * NULL and errno: no memory. conf has an app and must outlive it; the caller
 * undoes it with m->ops->fini(m).  seed: where in their periods its timers
 * begin.
 */
struct manager *policies_new(
    enum policies policy, const struct conf *conf, uint64_t seed);

struct policy;

/* The rules.  Each function but begin() may be NULL. */
struct policy_ops {
	const char *name; /* of the manager */

	/*
	 * The manager hands connections out itself: to the worker that has the
	 * fewest, be it starting, up to one more than its `concurrency`; of
	 * equals to an idle ready one, else to the one that had the last
	 * change longest ago.  Leaving workers do not count among the
	 * max_processes.
	 */
	bool assigns;

	tspan period; /* of ticked(); 0: that is NULL */

	/* Bytes of what the policy keeps, zero at first; 0: nothing. */
	size_t size; /* struct policy, its first member, included */
	size_t app_size;
	size_t worker_size;

	/* Gives how many workers the app has at first. */
	uint32_t (*begin)(struct policy *p, uint32_t app);

	/* waits: no worker has accepted the request yet. */
	void (*arrived)(struct policy *p, uint32_t app, uint32_t request,
	    bool waits, tstamp now);

	/* A worker has accepted the request. */
	void (*accepted)(
	    struct policy *p, uint32_t worker, uint32_t request, tstamp now);

	/* served: for how long the request was. */
	void (*finished)(
	    struct policy *p, uint32_t worker, tspan served, tstamp now);

	/* Comes once a period for each app. */
	void (*ticked)(struct policy *p, uint32_t app, tstamp now);

	/* The deadline is over, and must be set anew or cleared. */
	void (*due)(struct policy *p, uint32_t number, tstamp now);
};

enum policy_state {
	POLICY_FREE, /* the number of the worker is */
	POLICY_STARTING,
	POLICY_IDLE, /* ready, serves nothing */
	POLICY_BUSY, /* ready, serves something */
	POLICY_LEAVING, /* accepts no more, ends with its last request */
	POLICY_STATES
};

struct policy_worker {
	uint8_t state; /* enum policy_state */
	uint32_t app;
	uint32_t serving; /* requests, held ones included */
	struct ilist held; /* assigned ones, until it is ready */
	struct ilist *place; /* among the workers with room; NULL: none */
	tstamp started; /* 0: this number was never used */
	tstamp active; /* when it last was ready, accepted or finished */
};

struct policy_app {
	const struct conf_app *conf;
	bool served; /* it has connections, so the policy is asked */
	uint32_t base; /* its workers are base … base + numbers - 1 */
	uint32_t numbers; /* max_processes, or twice as many (assigns) */
	uint32_t capacity; /* requests of a worker at most */
	uint32_t count[POLICY_STATES]; /* workers in each state */
	struct ilist free; /* numbers of workers */
	struct ilist queue; /* requests that wait, in order of arrival */

	/*
	 * Workers with room.  They are in open[0], longest blocked first; or,
	 * if they are assigned requests, in open[n] with n requests each.
	 */
	struct ilist *open;
	uint32_t opens; /* number of these lists */
};

/* The fields may be read; but for the deadlines, policy.c changes them. */
struct policy {
	struct manager manager;
	const struct policy_ops *ops;
	const struct conf *conf;
	struct policy_app *apps;
	uint32_t napps;
	struct policy_worker *workers; /* manager.workers of them */
	struct ilink *worker_links;
	struct ilink *request_links;
	tstamp *accepted; /* of each request that is served */
	uint32_t *app_of; /* of each request */
	uint32_t total; /* workers of all apps, leaving ones included */
	uint64_t seed;
	tstamp next; /* call of ticked(); TSTAMP_NEVER: none */

	/* The rules set and clear them: requests + 2 * napps numbers. */
	struct deadlines deadlines;
	void *memory; /* of them */

	void *app_states; /* app_size for each app */
	void *worker_states; /* worker_size for each worker */
};

/* Starts n workers, or as many as numbers are free; gives that number. */
uint32_t policy_start(struct policy *p, uint32_t app, uint32_t n, tstamp now);

/* The worker ends when it has finished what it serves. */
void policy_stop(struct policy *p, uint32_t worker);

/* Lets the workers of the app accept what waits. */
void policy_accept(struct policy *p, struct policy_app *a, tstamp now);

/* Workers that start or are ready. */
static inline bool
policy_is_active(const struct policy_worker *w)
{
	return w->state == POLICY_STARTING || w->state == POLICY_IDLE ||
	    w->state == POLICY_BUSY;
}

static inline uint32_t
policy_active(const struct policy_app *a)
{
	return a->count[POLICY_STARTING] + a->count[POLICY_IDLE] +
	    a->count[POLICY_BUSY];
}

/* Rules that have a file of their own. */
extern const struct policy_ops policy_uwsgi;
extern const struct policy_ops policy_fastcgi;
extern const struct policy_ops policy_anyevent;

#endif
