#ifndef CORE_APP_H
#define CORE_APP_H

/* One app: its options, its queue, its processes by what can be done
 * with them, and its figures. */

#include <stdbool.h>
#include <stdint.h>

#include "core/backoff.h"
#include "core/ilist.h"
#include "core/load.h"
#include "core/process.h"
#include "core/tstamp.h"
#include "core/window.h"

/* What the core must know of an app's configuration; see pool.conf(5). */
struct app_options {
	uint32_t min_processes;
	uint32_t max_processes; /* at least 1 and min_processes */
	uint32_t min_idle;
	uint32_t concurrency; /* at least 1; see struct pool_limits */
	uint32_t prefetch;
	uint32_t max_queue;
	uint32_t retry_limit;
	uint32_t start_limit; /* at least 1 */
	uint64_t max_requests; /* 0: no limit */
	uint64_t max_requests_jitter;
	uint64_t max_memory; /* resident bytes; 0: no limit */
	bool sessions; /* false: none are known, and no READY is said */
	bool listens; /* handoff = listen: accepts itself; not with sessions */
	bool exit_ends; /* exit ends a session well: one is all it has */
	bool private_queue; /* queue = private; prefetch is at least 1 */
	bool close_when_full; /* on_full is not wait */
	bool limited; /* a lock is taken before each hand-over */
	tspan queue_timeout; /* 0: none */
	tspan start_delay;
	tspan stop_delay;
	tspan max_idle_time; /* 0: never */
	tspan update_interval; /* longer than 0 */
	double gain; /* over 0, at most 1 */
	double grow_threshold; /* percent, as the next two */
	double multi_threshold;
	double single_threshold;
	tspan kill_interval; /* longer than 0 */
	tspan max_lifetime; /* 0: none */
	tspan max_lifetime_jitter;
	tspan request_timeout; /* 0: none */
	tspan slow_timeout; /* 0: none */
	tspan start_timeout;
	tspan ready_after; /* without sessions: it is ready when it lived so */
	tspan pickup_timeout;
	tspan restart_delay;
	tspan restart_delay_max;
	tspan min_server_life;
	tspan stop_timeout;
	tspan kill_timeout;
};

/*
 * The lists of an app's processes.  A ready process that has room is on the
 * room list of as many sessions as it has: HOME_ROOM + sessions.  So
 * HOME_ROOM + 0 are the idle ones, most recently used first, and so are the
 * others; but those on HOME_PREFETCH, and with a private queue all that are not
 * idle, stand the other way round.  What is outdated stands last.
 */
enum app_home {
	HOME_NONE, /* on no list: the number is free */
	HOME_STARTING,
	HOME_BUSY, /* ready, but no room: full, cooling or expiring */
	HOME_PREFETCH, /* full, but for prefetch */
	HOME_LEAVING, /* retiring, stopping, dying */
	HOME_ROOM,
};

enum app_phase {
	APP_FREE, /* this number is free */
	APP_RUNNING,
	APP_CLOSING, /* serves what waits and what is in its backlog */
	APP_STOPPING, /* refuses what waits; its processes are leaving */
	APP_OVER, /* nothing left; ACTION_OVER has been taken out */
};

/*
 * What of an app has been touched since it was settled last.  Whatever
 * changes one of these things marks it, and settling runs the steps that
 * look at it (settle.c).
 */
enum app_mark {
	MARK_WAITER = 1 << 0, /* a connection has come to wait */
	MARK_EMPTIED = 1 << 1, /* no connection waits any more */
	MARK_PREFETCH = 1 << 2, /* prefetched connections have come or gone */
	MARK_ROOM = 1 << 3, /* a process has gained room, or is the last idle */
	MARK_LOAD = 1 << 4, /* the load may be at rest no longer */
	MARK_COUNT = 1 << 5, /* processes start, leave, expire, are marked */
	MARK_FAILURE = 1 << 6, /* failed starts, or when the next may be */
	MARK_ALL = (1 << 7) - 1,
};

/*
 * Always: accepted = completed + refused + timed_out + abandoned + lost +
 * waiting (app_waiting()) + sessions.
 */
struct app_figures {
	uint64_t accepted; /* connections that accept() returned */
	uint64_t completed;
	uint64_t refused;
	uint64_t timed_out;
	uint64_t abandoned; /* their client left while they waited */
	uint64_t lost; /* with a process that had received them */
	uint64_t retaken; /* taken back from a process that had not */
	uint64_t spawned;
	uint64_t spawn_failures;
	uint64_t exits[PROCESS_ENDS];
	uint32_t sessions; /* assigned and handed connections */
	uint32_t max_waiting; /* largest queue so far */
};

struct app {
	struct app_options options;
	uint8_t phase; /* enum app_phase */
	uint8_t touched; /* enum app_mark, several */
	bool failed; /* start_limit failed starts and none ready */
	bool refused_while_down; /* since a process was ready last */
	bool announced; /* NEWS_READY has been told */
	bool done; /* a job has ended well, and none has failed since */
	bool full; /* NEWS_FULL has been told; until the queue empties */
	bool pending; /* connections wait in the backlog, accepting is paused */
	bool resuming; /* an ACTION_RESUME is under way */
	bool taking; /* an ACTION_TAKE is under way */
	bool renewing; /* each connection has a process of its own */
	bool drained; /* closing, and its backlog is empty */
	bool haunted; /* over, but for processes that are stuck */
	bool wants_place; /* on the pool's list of places */
	uint32_t wanted; /* places, if so */
	uint32_t news; /* bit of each enum action_news that is under way */
	uint64_t stamp; /* unique over the pool's life */
	uint64_t over; /* stamp of the ACTION_OVER under way; 0: none */
	uint32_t generation;
	uint32_t in_state[PROCESS_STATES]; /* number of its processes */
	uint32_t expiring; /* number of its processes */
	uint32_t outdated; /* number of its ready processes */
	uint32_t rollout_size; /* outdated when the latest rollout began */
	bool given_up; /* that rollout: its generation does not live */
	uint32_t surge; /* processes beyond the ceilings; see app_rolling() */
	uint32_t stuck; /* number of its processes */
	uint32_t lowest; /* no room list below this one has a process */
	struct ilist starting; /* its processes by app_home; HOME_ROOM: rooms */
	struct ilist occupied; /* HOME_BUSY */
	struct ilist prefetching; /* HOME_PREFETCH */
	struct ilist leaving;
	struct ilist queue; /* waiters, in order of arrival */
	struct ilist cleared; /* waiters with a lock, if limited; likewise */
	struct ilist prefetched; /* handed ones that are, in that order */
	uint32_t places; /* further sessions that its processes have room for */
	uint32_t lock_requests; /* asked for and not answered */
	tstamp lock_after; /* no lock is asked for before; 0: at any time */
	tstamp lock_free_until; /* none is needed until then (limit_fail) */
	struct backoff backoff;
	uint32_t failed_starts; /* since a process served or lived on */
	uint32_t pace; /* starts at the next growth */
	tstamp grown; /* the last growth; 0: since the queue was empty none */
	tstamp added; /* when it came into the pool */
	uint32_t first; /* it begins with so many; 0: it has begun */
	bool spare_denied; /* there was no place for one of min_idle */
	tstamp short_since; /* min_idle are not there since then; 0: they are */
	struct load load;
	uint32_t busy; /* sum of its processes' busy */
	uint32_t backlog; /* connections in it, as reported; of who listens */
	uint32_t marked; /* processes that are not needed, by load */
	uint32_t victims; /* of them, to be stopped now, at the pace of stops */
	tstamp kill_at; /* when those that are marked become victims */
	tstamp shrunk; /* the last stop of an idle process; 0: none */
	tstamp rest_until; /* no start before: the system had no room */
	tstamp pending_since; /* if pending */
	tspan idle_while_waiting; /* closed intervals only */
	tstamp waste_since; /* of the open interval; 0: none is open */
	struct app_figures figures;
	struct window queue_wait;
	struct window session_time;
};

static inline void
app_touch(struct app *a, enum app_mark marks)
{
	a->touched |= (uint8_t)marks;
}

/* Starting, idle and active: what min and max bound. */
static inline uint32_t
app_processes(const struct app *a)
{
	return a->in_state[PROCESS_STARTING] + a->in_state[PROCESS_IDLE] +
	    a->in_state[PROCESS_ACTIVE];
}

static inline uint32_t
app_ready(const struct app *a)
{
	return a->in_state[PROCESS_IDLE] + a->in_state[PROCESS_ACTIVE];
}

/* Whether its processes are for no connections at all (handoff = none). */
static inline bool
app_has_jobs(const struct app *a)
{
	return !a->options.sessions && !a->options.listens;
}

/*
 * Whether it has the processes that it keeps. One that has a process for each
 * connection keeps none; a job may be done at any time.
 */
static inline bool
app_is_ready(const struct app *a)
{
	return a->renewing || a->done ||
	    app_ready(a) >= a->options.min_processes;
}

/* After start_limit failed starts in a row, while no process is ready. */
static inline bool
app_has_failed(const struct app *a)
{
	return a->failed;
}

/* Whether NEWS_READY has been told since the app was added or restarted. */
static inline bool
app_is_announced(const struct app *a)
{
	return a->announced;
}

/* Whether the latest rollout was given up: its generation did not live. */
static inline bool
app_gave_up_rollout(const struct app *a)
{
	return a->given_up;
}

/* Whether the app stands in line for a place under max_processes. */
static inline bool
app_waits_for_place(const struct app *a)
{
	return a->wants_place;
}

/* Whether one of min_idle is missing for want of a place. */
static inline bool
app_lacks_spare(const struct app *a)
{
	return a->spare_denied;
}

/* All that exist, leaving ones included. */
static inline uint32_t
app_living(const struct app *a)
{
	return app_processes(a) + a->leaving.count;
}

static inline uint32_t
app_waiting(const struct app *a)
{
	return a->queue.count + a->cleared.count;
}

/*
 * A connection must come in before a lock can be asked for, or a process be
 * started for it alone.  With private queues none wait in common, unless
 * there is nobody yet to queue with.
 */
static inline uint32_t
app_max_queue(const struct app *a)
{
	uint32_t n = a->options.max_queue;

	if (a->options.private_queue &&
	    (!a->options.close_when_full || app_ready(a) > 0))
		n = 0;
	/* Who wakes an app that has no process is not turned away for that. */
	if (n == 0 &&
	    (a->options.limited || a->renewing ||
		(a->options.close_when_full && app_ready(a) == 0)))
		n = 1;
	return n;
}

/* A newer generation is coming. */
static inline bool
app_rolling(const struct app *a)
{
	return a->surge > 0;
}

/* Waiters that go to the next process with room. */
static inline const struct ilist *
app_servable(const struct app *a)
{
	return a->options.limited ? &a->cleared : &a->queue;
}

/*
 * Connections that want a process: waiters, those prefetched by a busy
 * process, and one for a paused listener, unless it wants a process that is
 * younger.  While locks are asked for, more processes would be of no use.
 */
static inline uint32_t
app_demand(const struct app *a)
{
	uint32_t prefetched = a->places > 0 ? 0 : a->prefetched.count;

	if (a->options.limited && a->places > 0)
		return a->cleared.count;
	if (a->options.listens)
		return a->backlog;
	return app_waiting(a) + prefetched +
	    (a->pending && !a->renewing ? 1 : 0);
}

/* The load estimate: processes busy, and percent of those that are ready. */
double app_work(const struct app *a, tstamp now);
double app_load(const struct app *a, tstamp now);

/* The word of status and logs: running, starting, failed, stopping, …. */
const char *app_state_name(const struct app *a);

#endif
