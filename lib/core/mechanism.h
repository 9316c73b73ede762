#ifndef CORE_MECHANISM_H
#define CORE_MECHANISM_H

/*
 * The mechanisms change the tables, keep their lists, sums and deadlines true,
 * and mark each app whose part of them they change (enum app_mark).  They
 * stand in order: each calls those before it, and none after it.
 */

#include "core/tables.h"

/* --- actions.c: the ring of actions ------------------------------------- */

void actions_process(struct pool *p, enum action_kind kind, uint32_t process);
void actions_conn(struct pool *p, enum action_kind kind, uint32_t conn,
    enum action_cause cause);
void actions_app(struct pool *p, enum action_kind kind, uint32_t app);

/* Gives back a lock of the app's limit. */
void actions_unlock(struct pool *p, uint32_t app, uint32_t lock);

/*
 * Tells news of the app; news that are under way are not told twice.
 * process: ILIST_NONE where the news are of no process.
 */
void actions_news(
    struct pool *p, uint32_t app, enum action_news news, uint32_t process);

/* Takes out the oldest action that is still valid; false: there is none. */
bool actions_next(struct pool *p, struct action *out);

/* --- room.c: the lists of an app's processes ---------------------------- */

/* The processes of the app that have room and so many sessions. */
struct ilist *room_list(const struct pool *p, uint32_t app, uint32_t sessions);

/* The number of such lists of the app, by its options. */
uint32_t room_lists(const struct app *a);

/* Empties all lists of the app's processes. */
void room_init(struct pool *p, uint32_t app);

/* Whether the process may be given a connection. */
bool room_has(const struct pool *p, uint32_t process);

/* Puts the process on the list where it belongs now. */
void room_file(struct pool *p, uint32_t process);
void room_unfile(struct pool *p, uint32_t process);

/* The process is busy with so many parts of room_whole(). */
void room_set_busy(struct pool *p, uint32_t process, uint32_t busy);
uint32_t room_whole(const struct app *a);

/* How many more sessions the process can begin at once, where it is filed. */
uint32_t room_places(const struct pool *p, uint32_t process);

/* The process for the next connection, or ILIST_NONE. */
uint32_t room_best(struct pool *p, uint32_t app);

/* Whether room_best() gives a process, also a moment later. */
bool room_exists(const struct pool *p, uint32_t app);

/* The first and next process of any list of the app; ILIST_NONE: the end. */
uint32_t room_first(const struct pool *p, uint32_t app);
uint32_t room_next(const struct pool *p, uint32_t process);

/* --- lifecycle.c: a process, from its start to its end ------------------- */

/*
 * Changes the state of the process by the table of process.c; false: the
 * process caused an event that cannot be in its state.
 */
bool lifecycle_event(struct pool *p, uint32_t process, enum process_event e);

/* The last session that the process may have is running, or is not. */
void lifecycle_expire(struct pool *p, uint32_t process, bool expiring);

/*
 * Whether the process has had max_requests and could serve another session
 * beside those it has: it is to leave, for nobody else has its place.
 */
bool lifecycle_is_spent(const struct pool *p, uint32_t process);

/* Asks for a new process; the caller knows that the ceilings allow it. */
void lifecycle_start(struct pool *p, uint32_t app);

/*
 * The process may be given connections, or counts as accepting them itself.
 * True: it is idle, and an outdated process may leave for it.
 */
bool lifecycle_ready(struct pool *p, uint32_t process);

/*
 * Bounds the sessions of the process by the options of now.  A process that
 * has had as many already may have one more.
 */
void lifecycle_limit(struct pool *p, uint32_t process);

/* A ready process is to be replaced, for this reason; or is not any more. */
void lifecycle_outdate(struct pool *p, uint32_t process, enum process_end why);
void lifecycle_keep(struct pool *p, uint32_t process);

/* Tells the process to stop; false: it was told before, or is gone. */
bool lifecycle_stop(struct pool *p, uint32_t process, enum process_end why);

/*
 * The process leaves dispatch and all counts, and is told to stop when it has
 * no session any more.
 */
void lifecycle_detach(struct pool *p, uint32_t process);

/*
 * Goes on to a later step of stopping, and does nothing if the process is
 * past it.  True: this is the first that tells the process to stop.
 */
bool lifecycle_escalate(struct pool *p, uint32_t process,
    enum process_step step, enum process_end why);

/* Frees the number of a process that is dead or never lived. */
void lifecycle_free(struct pool *p, uint32_t process);

/* When something comes due in the life of the process. */
tstamp lifecycle_deadline(const struct pool *p, uint32_t process);

/* Sets its deadline anew, after something that moves it. */
void lifecycle_arm(struct pool *p, uint32_t process);

/* Outcomes of lifecycle_tick() that policies must know. */
enum lifecycle_due {
	DUE_NOTHING,
	DUE_READY, /* as lifecycle_ready() tells by true */
	DUE_LATE, /* it was not ready within start_timeout */
};

/* Does what is due in the life of the process. */
enum lifecycle_due lifecycle_tick(struct pool *p, uint32_t process);

/* --- prefetch.c: connections behind others in a process's socket --------- */

/* The connection was put on its process's conns, last. */
void prefetch_given(struct pool *p, uint32_t conn);

/* The connection is about to be taken off its process's conns. */
void prefetch_leaves(struct pool *p, uint32_t conn);

/* The process has received all that it was given; or it is dead. */
void prefetch_none(struct pool *p, uint32_t process);

/* Recomputes what counts as prefetched after `concurrency` changed. */
void prefetch_sort(struct pool *p, uint32_t process);

/* Asks for the oldest, if it is due and no other request is under way. */
void prefetch_recall(struct pool *p, uint32_t app);

/* Whether the oldest has lain long enough and another process has room. */
bool prefetch_is_due(const struct pool *p, uint32_t app);
tstamp prefetch_deadline(const struct pool *p, uint32_t app);

/* --- queue.c: connections that wait, for a lock or for a process --------- */

/* Whether a connection may be accepted for the app. */
bool queue_may_accept(const struct pool *p, uint32_t app);

/* Takes a new connection in, to wait if no process has room; its number. */
uint32_t queue_admit(struct pool *p, uint32_t app);

/* Hands out what waits, as far as there is room. */
void queue_serve(struct pool *p, uint32_t app);

/* Takes a waiter off its list; it must go somewhere else at once. */
void queue_leave(struct pool *p, uint32_t conn);

/* Takes an assigned or handed connection off its process. */
void queue_detach(struct pool *p, uint32_t conn);

/* The number of a connection that is on no list may be used again. */
void queue_free(struct pool *p, uint32_t conn);

/* Puts a connection from its process back to its place by arrival. */
void queue_return(struct pool *p, uint32_t conn);

/*
 * Since when the longest waiting connection waits, in the queue or in the
 * backlog of a paused listener; TSTAMP_NEVER: there is none.
 */
tstamp queue_since(const struct pool *p, uint32_t app);

/* Counts a waiting connection out and asks for its refusal. */
void queue_refuse(struct pool *p, uint32_t conn, enum action_cause cause);
void queue_refuse_all(struct pool *p, uint32_t app, enum action_cause cause);

/* Refuses what waited for queue_timeout. */
void queue_expire(struct pool *p, uint32_t app);
tstamp queue_deadline(const struct pool *p, uint32_t app);

/* The waiter needs no lock any more: it has this one, or ILIST_NONE. */
void queue_clear(struct pool *p, uint32_t conn, uint32_t lock);

/* Locks that connections of the app have are of a former limit. */
void queue_forget_locks(struct pool *p, uint32_t app);

/* Asks for as many locks as the app has places for. */
void queue_ask_locks(struct pool *p, uint32_t app);
tstamp queue_lock_deadline(const struct pool *p, uint32_t app);

/* The app is limited now and was not, or the other way round. */
void queue_set_limited(struct pool *p, uint32_t app, bool limited);

#endif
