#ifndef SIM_RESULT_H
#define SIM_RESULT_H

/*
 * The result of a run: what became of the connections, how long they waited,
 * how many processes there were.  For each app, and in total.
 *
 * Time 0 is the start of the load.  Figures of processes are those from time
 * 0 to `length`; connections that are still there then are followed to their
 * ends.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/tstamp.h"

/*
 * A distribution of times.  Each power of two is cut into 64 equal buckets: a
 * percentile is at most 1/64 too high, and never over the maximum, which is
 * exact.  So is whatever is under 64 ns, above all 0.  Times over 2^50 ns (13
 * days) share the last bucket.
 */
#define HISTOGRAM_PART 64
#define HISTOGRAM_LAST 50
#define HISTOGRAM_BUCKETS ((HISTOGRAM_LAST - 5) * HISTOGRAM_PART + 1)

struct histogram {
	uint64_t total;
	double sum; /* nanoseconds */
	tspan max;
	uint64_t counts[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, tspan value);
void histogram_merge(struct histogram *h, const struct histogram *other);

/* The value that a share (0 … 1) of all did not exceed; 0 if there is none. */
tspan histogram_share(const struct histogram *h, double share);

/* The share that did not exceed a value; 1 if there is nothing. */
double histogram_within(const struct histogram *h, tspan value);

/*
 * Figures over time, in few buckets of equal width.  When time runs past the
 * last one, two become one.  A bucket that is not over yet, the last of
 * `used`, holds what came so far.
 */
#define SERIES_BUCKETS 512

enum series_count {
	SERIES_ARRIVED,
	SERIES_REFUSED, /* timed out ones included */
	SERIES_SPAWNED,
	SERIES_COUNTS
};

struct series_bucket {
	double processes; /* integral, in process-nanoseconds, as in status */
	double busy; /* likewise: of those with a session in service */
	double waiting; /* likewise: connections that wait */
	uint32_t most_processes;
	uint32_t most_waiting;
	tspan longest_wait; /* of connections that a process began with */
	uint64_t counts[SERIES_COUNTS];
};

struct series {
	tspan width; /* of a bucket; over 0 */
	uint32_t used;
	struct series_bucket buckets[SERIES_BUCKETS];
};

/* The bucket of this time, which is not negative. */
struct series_bucket *series_at(struct series *s, tspan at);

/*
 * Of an app, or of all together.  Always: arrived = completed + refused +
 * timed_out + lost + unfinished.
 */
struct result_app {
	const char *name; /* of the app; NULL: the total */
	uint32_t max_processes; /* that it may have at most; 0: unknown */

	uint64_t arrived;
	uint64_t completed;
	uint64_t refused; /* by the manager, or for want of a backlog */
	uint64_t overflowed; /* those of `refused` that found it full */
	uint64_t timed_out; /* while they waited */
	uint64_t lost; /* with a process that was killed */
	uint64_t unfinished; /* still there when the run was given up */
	double work; /* service times of all that arrived, in nanoseconds */

	/*
	 * From arrival to the moment at which a process begins with it, be it
	 * in a backlog, in a queue, or unread in the socket of a process; of
	 * the unfinished ones, what they have waited.
	 */
	struct histogram wait;

	uint64_t spawned; /* the first ones included */
	uint64_t spawned_running; /* only those from time 0 on */
	uint64_t ended; /* processes that exited, before the end of the run */
	uint64_t taken; /* connections taken back unread */
	double processes; /* mean; starting, idle and active, as in status */
	double existing; /* mean; leaving ones included */
	double busy; /* mean; with a connection in service */
	tspan target_wait; /* that the manager keeps; 0: none */
	double need; /* mean; processes that this takes, by its estimate */
	uint32_t most_need;
	uint32_t most_processes; /* leaving ones not included */
	uint32_t most_waiting;

	/*
	 * Time in which a connection that no process holds waits although a
	 * process of its app is idle: ready, and without a connection.
	 */
	tspan idle_while_waiting;
	double wasted; /* mean; processes that were idle so */

	/*
	 * Time in which a connection lies unread in the socket of a busy
	 * process while another of its app is idle; and the longest of one.
	 */
	tspan idle_while_unread;
	tspan longest_unread;

	struct series series;
};

struct result {
	const char *manager; /* its name */
	tspan length; /* of the load; a trace's: its last arrival */
	tspan ran; /* virtual time until the last connection had ended */
	uint64_t events; /* arrivals, ends of sessions, starts, exits, ticks */
	struct result_app total;
	struct result_app *apps;
	size_t apps_len;
};

/* Connections turned away, for whatever reason. */
static inline uint64_t
result_refusals(const struct result_app *r)
{
	return r->refused + r->timed_out;
}

/* Adds what is known of each app alone to the total, at the end of a run. */
void result_sum(struct result *r);

/*
 * Memory of zeroes, for this and all else of the simulator.  Without any the
 * program ends, with EX_OSERR.
 */
void *result_alloc(size_t n, size_t size);

/* The result of nothing, for so many apps. */
static inline void
result_init(struct result *r, size_t apps_len)
{
	*r = (struct result){ .apps_len = apps_len };
	r->apps = result_alloc(apps_len, sizeof(*r->apps));
}

static inline void
result_fini(struct result *r)
{
	free(r->apps);
}

#endif
