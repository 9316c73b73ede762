#ifndef CONTROL_STATUS_H
#define CONTROL_STATUS_H

/*
 * One snapshot of everything, written out in bounded pieces, as JSON or for
 * people, so that the status of thousands of workers holds up no hand-over.
 */

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buckets.h"
#include "core/counter.h"
#include "core/limiter.h"
#include "core/process.h"
#include "daemon/worker.h"
#include "sys/json.h"
#include "sys/procinfo.h"
#include "sys/text.h"

/* A string of the snapshot: its offset in status.strings. */
#define STATUS_NO_STRING SIZE_MAX

#define STATUS_NO_SLOT UINT32_MAX

struct status_worker {
	uint32_t process; /* its number in the pool */
	uint32_t slot; /* STATUS_NO_SLOT: none yet, and no id */
	uint32_t generation;
	uint32_t sessions;
	uint64_t requests;
	pid_t pid; /* 0: not started yet */
	uint8_t state; /* enum process_state */
	bool stuck;
	bool counts; /* sessions and requests are known */
	char id[WORKER_ID_LEN + 1];
	tstamp started;
	tstamp since; /* idle, or busy, since then; or seen in use last */
	size_t text; /* string: its own words, or none */
};

struct status_keeper {
	pid_t pid;
	bool answers;
};

struct status_template {
	const char *state; /* NULL: the app is to have no template */
	pid_t pid; /* 0: none */
	size_t id; /* string, or none */
	size_t from; /* string: the worker that forked it, or none */
	size_t failure; /* string: the last one, or none */
	tspan age;
	uint64_t forked;
	uint64_t failures;
};

struct status_app {
	uint32_t number; /* in the pool */
	uint32_t first; /* index of its first worker in status.workers */
	uint32_t count;
	size_t name; /* string */
	size_t listen; /* string: the first of so many */
	size_t nlisten;
	size_t failure; /* string: the last failure, or none */
	size_t given_up_for; /* string: the failure of a rollout, or none */
	const char *state;
	enum conf_handoff handoff;
	bool sessions; /* the app has figures of sessions */
	bool listens; /* handoff listen: figures of backlog and load alone */
	uint32_t min_processes;
	uint32_t max_processes;
	bool resized; /* by an operator: the file says another size, */
	struct group_size file_size; /* this one */
	uint32_t max_queue;
	uint32_t prefetch; /* in force now */
	uint32_t processes;
	uint32_t stuck;
	uint32_t in_state[PROCESS_STATES];
	double load; /* percent */
	double work; /* processes */
	bool rolling;
	bool given_up;
	uint32_t generation;
	uint32_t rollout_size; /* processes that the rollout is to replace */
	uint32_t outdated; /* of them, not replaced yet */
	uint32_t waiting;
	tspan oldest_wait; /* 0: none waits */
	tspan backoff; /* from now; 0: none */
	tspan idle_while_waiting;
	tspan start_time; /* 0: unknown */
	tspan target_wait; /* 0: none */
	uint32_t need; /* processes for that; 0: unknown */
	struct app_figures figures;
	struct buckets queue_wait; /* since the app is there */
	struct buckets session_time;
	struct status_keeper keepers[KEEPER_MAX];
	uint32_t nkeepers;
	struct status_template template;
	size_t limit; /* string: the server of its limit, or none */
	size_t limit_key; /* string, if there is a limit */
	uint32_t limit_workers;
	struct limiter_figures locks;
};

struct status_spans {
	tspan p50;
	tspan p90;
	tspan p99;
	tspan max;
};

/* Measured as the app is written: too slow for a snapshot of all apps. */
struct status_measured {
	long backlog; /* -1: unknown */
	int64_t template_rss; /* -1: unknown */
	bool known; /* the app is still there, and so all below is known */
	double kept; /* the share within target_wait; -1: none, or unknown */
	double rate; /* connections that processes were given in a second */
	struct status_spans queue_wait;
	struct status_spans session_time;
};

struct status;

/* A format: its parts, or one function for all of it. */
struct status_writer {
	/*
	 * NULL, or writes the next item and moves on; at the end it sets
	 * ended. It has begun, family, app and app_begun to find its way.
	 */
	void (*step)(struct status *);
	void (*head)(struct status *);
	void (*app)(struct status *, const struct status_app *,
	    const struct status_measured *);
	/* info NULL: unknown. worker NULL: no workers are in the snapshot. */
	void (*worker)(struct status *, const struct status_worker *,
	    const struct procinfo *info);
	void (*app_end)(struct status *); /* NULL: nothing to write */
	void (*tail)(struct status *); /* likewise */
};

struct status {
	struct supervisor *sup; /* to measure; outlives the snapshot */
	const struct status_writer *writer;
	tstamp at; /* of the snapshot */
	tspan uptime;
	uint64_t generation;
	size_t config; /* string: the file */
	bool stopping;
	uint32_t max_processes;
	uint32_t processes;
	uint32_t living;
	uint32_t active;
	uint32_t waiting;
	bool counts; /* there is a counter: counter and its addresses */
	size_t counter_listen; /* string: the first of so many */
	size_t counter_nlisten;
	struct counter_service_figures counter;
	struct status_app *apps;
	size_t napps;
	struct status_worker *workers; /* by app */
	size_t nworkers;
	struct text strings; /* each with its NUL */
	/* How far the snapshot is written: */
	bool begun;
	bool ended;
	size_t family; /* of metrics */
	size_t app;
	bool app_begun;
	size_t worker;
	struct text piece;
	struct json json;
};

static inline const char *
status_string(const struct status *st, size_t string)
{
	return string == STATUS_NO_STRING ? NULL : st->strings.data + string;
}

/*
 * Copies what is to be shown; app NULL: all. NULL and errno (ENOENT: no such
 * app).
 */
struct status *status_take(struct supervisor *s, const char *app,
    const struct status_writer *writer, tstamp now);

/* st may be NULL. */
void status_free(struct status *st);

/* Bytes of memory it takes. */
size_t status_size(const struct status *st);

/*
 * Connections in the kernel that the app has not accepted yet; -1: unknown.
 * Measured now.
 */
long status_backlog(const struct status *st, const struct status_app *a);

/* The resident bytes of the template; -1: unknown. Measured now. */
int64_t status_template_rss(
    const struct status *st, const struct status_app *a);

/*
 * The share of the connections of the last minute that waited no longer than
 * target_wait; -1: unknown, or none came.  Measured now.
 */
double status_kept(const struct status *st, const struct status_app *a);

/*
 * Gives the next piece, which stays until the next call; NULL: that was all.
 */
const char *status_next(struct status *st, size_t *len_out);

#endif
