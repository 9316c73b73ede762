#ifndef CORE_POOL_H
#define CORE_POOL_H

/*
 * The pool decides which process gets which connection, when processes start
 * and stop, and what becomes of their failures.
 *
 * The caller tells what happened (functions in the past tense, `now` last),
 * takes actions out with pool_next_action(), carries them out in their order,
 * and calls pool_tick() at pool_deadline().  The pool makes no system call,
 * looks at no clock and allocates nothing.  The same facts at the same times
 * give the same actions.
 *
 * Apps, processes and connections are numbers: 0 … limit-1, reused after
 * their end.  A connection costs O(1) or O(log n) in processes and O(1) in
 * waiters.  No function fails: `now` that runs backwards, a number that stands
 * for nothing living, or a fact that cannot be is the caller's bug, an assert.
 *
 * Sources of the rules: Passenger's ApplicationPool text (idle list, most
 * recently used first, ceilings), AnyEvent::Fork::Pool (start, stop, idle),
 * PoolCounter (bounded queue, wake one).
 */

#include "core/tables.h"

/* How long a process that could not be given a connection has no room. */
#define POOL_COOL TSPAN_MSECONDS(10)

/* How long nothing is started after the system had no room for a process. */
#define POOL_NO_ROOM_REST TSPAN_MSECONDS(250)

/* Bytes that pool_init() or pool_move() needs for these limits. */
size_t pool_memory(const struct pool_limits *limits);

/*
 * memory: pool_memory() zeroed bytes, aligned as malloc does; the caller
 * frees them after the pool's end.  Pages that are never used stay untouched.
 * now: later than 0.
 */
void pool_init(struct pool *p, const struct pool_limits *limits, void *memory,
    uint32_t max_processes, uint64_t seed, tstamp now);

/*
 * Moves everything to other zeroed memory, for limits none of which is smaller,
 * and serves what those held up.  The caller may free the former memory then.
 */
void pool_move(struct pool *p, const struct pool_limits *limits, void *memory);

/* --- apps --------------------------------------------------------------- */

/* Adds an app, asks for its first processes, and gives its number. */
uint32_t pool_app_add(struct pool *p, const struct app_options *o, tstamp now);

/* Changes sizes and timeouts in place; not `sessions` or `listens`. */
void pool_app_change(
    struct pool *p, uint32_t app, const struct app_options *o, tstamp now);

/* Replaces every process of the app by one of a newer generation. */
void pool_app_restart(struct pool *p, uint32_t app, tstamp now);

/*
 * The same without a canary; while there is one, it ends as if it had failed,
 * and the older processes stay.
 */
void pool_app_roll_back(struct pool *p, uint32_t app, tstamp now);

/*
 * While this is on each connection is served by a process that was started
 * after it arrived, and that serves no other.  Without `sessions`: no change.
 */
void pool_app_renew(struct pool *p, uint32_t app, bool on, tstamp now);

/*
 * The app runs, and will be held for this reason, or END_SHUTDOWN: the pool
 * will stop. It goes on as before, but no balancer should send it connections.
 * 0: it goes on running.
 */
void pool_app_hold_soon(
    struct pool *p, uint32_t app, enum process_end why, tstamp now);

/*
 * Processes that the app could have now if connections came: those it has, and
 * as many as there are places for, free ones or ones of idle processes that
 * other apps can give. While no start is tried: those that are ready.
 */
uint32_t pool_may_have(const struct pool *p, uint32_t app, tstamp now);

/*
 * The app is held: it serves what waits, its processes leave, and none is
 * started but for what waits; NEWS_AT_REST comes when none is left.  why:
 * END_DRAINED, nothing more is accepted; or END_STOPPED, after that or at once,
 * where the caller goes on telling pool_arrived() for connections in the
 * backlog of its listeners, and then pool_app_drained().
 */
void pool_app_hold(
    struct pool *p, uint32_t app, enum process_end why, tstamp now);

/*
 * The app is held no longer (and was not emptying), or comes back between
 * pool_app_close() and ACTION_OVER, while the pool runs: it begins anew, with
 * what waits and the processes that were not told to stop.
 */
void pool_app_resume(struct pool *p, uint32_t app, tstamp now);

/*
 * The app leaves.  The caller goes on telling pool_arrived() for connections
 * in the backlog of its listeners, then pool_app_drained().  Processes leave
 * when nothing waits, and after stop_timeout in any case.  ACTION_OVER comes
 * when none is left but stuck ones, and again when these have ended, too.
 */
void pool_app_close(struct pool *p, uint32_t app, tstamp now);
void pool_app_drained(struct pool *p, uint32_t app, tstamp now);

/* Frees the number of an app after ACTION_OVER, if no process is stuck. */
void pool_app_free(struct pool *p, uint32_t app);

/* Changes the global ceiling, and process_slack (0 after pool_init()). */
void pool_resize(
    struct pool *p, uint32_t max_processes, uint32_t slack, tstamp now);

/*
 * From now on the caller closes one app after the other. What is left gets
 * SIGTERM `grace` before the end of budget, then SIGKILL.
 */
void pool_stop(struct pool *p, tspan budget, tspan grace, tstamp now);

/* SIGTERM now, SIGKILL after `grace`; again: if the grace is shorter. */
void pool_stop_now(struct pool *p, tspan grace, tstamp now);

/* --- connections -------------------------------------------------------- */

/*
 * Whether a connection may be accepted for the app: its queue or one of its
 * processes has room (where a full queue turns connections away: always).
 */
bool pool_may_accept(const struct pool *p, uint32_t app);

/*
 * accept() returned a connection; pool_may_accept() was true just before.
 * Gives its number, which stays until its one end: pool_session_over(),
 * pool_abandoned(), the death of its process, or an ACTION_REFUSE.
 */
uint32_t pool_arrived(struct pool *p, uint32_t app, tstamp now);

/*
 * Parked connections are the caller's, and have no number; the pool counts
 * them.  pool_held(): accept() returned one that says nothing yet.  Others come
 * by SESSION_PARKED.
 */
void pool_held(struct pool *p, uint32_t app, tstamp now);

/* As pool_arrived(), for a parked connection on which there is a request. */
uint32_t pool_unparked(struct pool *p, uint32_t app, tstamp now);

/* How a parked connection has ended; one that was served is completed. */
enum park_end {
	PARK_SERVED,
	PARK_ABANDONED, /* its client left before it was served */
	PARK_TIMED_OUT, /* the same, after too long */
	PARK_REFUSED, /* the same, for others */
};
void pool_park_ended(
    struct pool *p, uint32_t app, enum park_end end, tstamp now);

/*
 * A listener of the app is readable and pool_may_accept() is false: the
 * caller does not look at it until ACTION_RESUME.
 */
void pool_accept_paused(struct pool *p, uint32_t app, tstamp now);

/* After ACTION_RESUME: the backlog is empty, the caller looks again. */
void pool_accept_resumed(struct pool *p, uint32_t app, tstamp now);

/*
 * So many connections lie in the backlog of an app that listens itself, and
 * wait for its processes, or for its first process.
 */
void pool_backlog(struct pool *p, uint32_t app, uint32_t depth, tstamp now);

/* The client of a waiting connection has left; the number is free. */
void pool_abandoned(struct pool *p, uint32_t conn, tstamp now);

/*
 * ACTION_HAND could not be carried out: the connection goes back to the head
 * of the queue, the process has no room for POOL_COOL or until it speaks.
 */
void pool_hand_failed(struct pool *p, uint32_t conn, tstamp now);

/*
 * The answer to ACTION_TAKE, before which the app has no other: this connection
 * was received back from its process; or ILIST_NONE: when it was asked for the
 * process had received all that it was given.  Until then the process has the
 * connections, and says nothing; it may be dead, but not pool_died().
 */
void pool_taken(struct pool *p, uint32_t process, uint32_t conn, tstamp now);

/* --- a limit in front of an app ----------------------------------------- */

enum limit_answer {
	LIMIT_GRANTED,
	LIMIT_DENIED, /* too many wait for a lock */
	LIMIT_TIMED_OUT,
	LIMIT_CLOSED, /* no server answers, and none is asked before `until` */
	LIMIT_OPEN, /* the same, and no lock is needed before `until` */
};

/*
 * The answer to an ACTION_LOCK.  lock: what was granted, any number but
 * ILIST_NONE, which ACTION_UNLOCK gives back.
 */
void pool_lock_answered(struct pool *p, uint32_t app, enum limit_answer answer,
    uint32_t lock, tstamp until, tstamp now);

/*
 * Other servers have the locks of the app now, or another key.  Connections
 * that wait, or come back from their processes, give theirs back.  Requests
 * that are not answered are asked there.
 */
void pool_limit_moved(struct pool *p, uint32_t app, tstamp now);

/* --- processes ---------------------------------------------------------- */

/*
 * ACTION_SPAWN waits for others to be carried out; or not any more: then
 * start_timeout begins to run.
 */
void pool_start_queued(
    struct pool *p, uint32_t process, bool queued, tstamp now);

void pool_spawned(struct pool *p, uint32_t process, tstamp now);

/*
 * ACTION_SPAWN failed, and the number is free.  no_room: the system lacked
 * memory, descriptors or processes for now, which is no failure of the app;
 * else the program cannot be started as it is, and an app without a ready
 * process has failed.  A process that was told to stop meanwhile counts not.
 */
void pool_spawn_failed(
    struct pool *p, uint32_t process, bool no_room, tstamp now);

/* The process said something, of whatever kind: it no longer cools. */
void pool_spoke(struct pool *p, uint32_t process, tstamp now);

/* How a session has ended of which its process tells. */
enum session_end {
	SESSION_DONE,
	SESSION_PARKED, /* its connection is the caller's now */
	SESSION_LOST,
};

/*
 * The process said READY; or DONE, PARK or LOST of the connection.  False: it
 * could not rightly say so; the caller tells pool_quit().
 */
bool pool_ready(struct pool *p, uint32_t process, tstamp now);
bool pool_session_over(struct pool *p, uint32_t process, uint32_t conn,
    enum session_end end, tstamp now);

/*
 * The process said BLIND: when its sessions end cannot be known.  It gets
 * connections in turn with the others, and no session of it is ever too long.
 */
void pool_blind(struct pool *p, uint32_t process, tstamp now);

/*
 * The process is to be replaced by one of a newer generation, as all of an app
 * are by pool_app_restart(); it may be leaving already.
 */
void pool_replace(struct pool *p, uint32_t process, tstamp now);

/*
 * The process is given no more connections, finishes those that it has, for
 * however long, and counts for no minimum and no ceiling: its successor starts
 * at once.  It may be leaving already.
 */
void pool_detach(struct pool *p, uint32_t process, tstamp now);

/*
 * The process said RETIRE, END_RETIRED: it finishes what it has.  Or FAIL, or
 * what it must not, END_FAIL, END_NONSENSE: it is killed.
 */
void pool_quit(
    struct pool *p, uint32_t process, enum process_end why, tstamp now);

/*
 * A connection lies unread in the socket of the process, which has received
 * nothing since then: after pickup_timeout the process is killed.
 */
void pool_unread(struct pool *p, uint32_t process, tstamp since, tstamp now);

/* The resident size of the process, in bytes; best told before DONE. */
void pool_measured(
    struct pool *p, uint32_t process, uint64_t memory, tstamp now);

/*
 * The process's output is not read any more: it is replaced; or, if no
 * other can be started, told to stop.
 */
void pool_unheard(
    struct pool *p, uint32_t process, bool replaceable, tstamp now);

/*
 * A process that listens itself has kept so many processors busy since the
 * last report (1 is all that counts), and may have connections, if in_use.
 */
void pool_worked(struct pool *p, uint32_t process, double processors,
    bool in_use, tstamp now);

/*
 * Such processes have been looked at, and those in use told of; the look began
 * then. Without a look in the second half of max_idle_time none stops for that.
 */
void pool_looked(struct pool *p, uint32_t app, tstamp began, tstamp now);

/*
 * The process is dead; how: END_EXIT up to END_RETIRED.  Then come
 * pool_retaken() for each connection it never received, and pool_gone(),
 * which counts its other sessions as lost and frees the number.
 */
void pool_died(
    struct pool *p, uint32_t process, enum process_end how, tstamp now);
void pool_retaken(struct pool *p, uint32_t conn, tstamp now);
void pool_gone(struct pool *p, uint32_t process, tstamp now);

/* --- time and actions --------------------------------------------------- */

/* When pool_tick() is due, if nothing happens before. */
tstamp pool_deadline(const struct pool *p);
void pool_tick(struct pool *p, tstamp now);

/* Takes out the oldest action that is still valid; false: there is none. */
bool pool_next_action(struct pool *p, struct action *out);

/*
 * Since when the longest waiting connection waits, in the queue or in the
 * backlog of a paused listener; TSTAMP_NEVER: there is none.
 */
tstamp pool_waiting_since(const struct pool *p, uint32_t app);

/* The time before which no process of the app is started; may be past. */
tstamp pool_start_gate(const struct app *a);

#endif
