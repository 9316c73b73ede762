#ifndef CORE_POOL_PRIVATE_H
#define CORE_POOL_PRIVATE_H

/*
 * What the parts of the pool offer each other: room (which process is free),
 * queue (connections), life (processes), sizing (how many).  Nothing here is
 * for other folders.
 */

#include "core/pool.h"

/* --- pool.c ------------------------------------------------------------- */

void pool_act(struct pool *p, struct action a);
void pool_act_process(struct pool *p, enum action_kind kind, uint32_t process);
void pool_act_conn(struct pool *p, enum action_kind kind, uint32_t conn,
    enum action_cause cause);
void pool_act_app(struct pool *p, enum action_kind kind, uint32_t app);

/* Told once until it is taken out. process may be ILIST_NONE. */
void pool_tell(
    struct pool *p, uint32_t app, enum action_news news, uint32_t process);

/* --- pool_conns.c ------------------------------------------------------- */

/* Whether there is a number for one more connection. */
bool pool_has_numbers(const struct pool *p);

/* --- settle.c ----------------------------------------------------------- */

/* Time has come to `now`; it never goes back. */
void pool_at(struct pool *p, tstamp now);

/* After each fact: everything that follows from it for the app. */
void pool_settle(struct pool *p, uint32_t app);

/* Resumes an app that is pending for want of a number, if there is one. */
void pool_resume_full(struct pool *p);

/* Tells every process of the app to stop. */
void pool_tell_all(struct pool *p, uint32_t app, enum process_end why);

/* When the app must be settled if nothing happens to it before. */
tstamp pool_app_deadline(const struct pool *p, uint32_t app);

/* Sets the app's deadline anew, after something that moves it. */
void pool_arm_app(struct pool *p, uint32_t app);

/* Something was done to the app on behalf of another: it is settled soon. */
void pool_revisit(struct pool *p, uint32_t app);

/* --- room.c: the lists of an app's processes ---------------------------- */

/* The room list of processes of the app with so many sessions. */
struct ilist *room_list(const struct pool *p, uint32_t app, uint32_t sessions);

/* How many room lists the app has, by its options. */
uint32_t room_lists(const struct app *a);

/* Makes its room lists empty. */
void room_init(struct pool *p, uint32_t app);

/* Whether the process may be given a connection. */
bool room_has(const struct pool *p, uint32_t process);

/* Puts the process on the list where it belongs now. */
void room_file(struct pool *p, uint32_t process);
void room_unfile(struct pool *p, uint32_t process);

/* It is busy with so many parts of the whole. */
void room_set_busy(struct pool *p, uint32_t process, uint32_t busy);
uint32_t room_whole(const struct app *a);

/* How many more sessions it can begin at once, where it is filed. */
uint32_t room_places(const struct pool *p, uint32_t process);

/* The process for the next connection, or ILIST_NONE. */
uint32_t room_best(struct pool *p, uint32_t app);

/* Whether there is one. */
bool room_exists(const struct pool *p, uint32_t app);

/* The first and next process of any list of the app; ILIST_NONE: the end. */
uint32_t room_first(const struct pool *p, uint32_t app);
uint32_t room_next(const struct pool *p, uint32_t process);

/* --- queue.c: connections ----------------------------------------------- */

/* Hands out what waits, as far as there is room. */
void queue_serve(struct pool *p, uint32_t app);

/* Takes a new connection in. */
uint32_t queue_admit(struct pool *p, uint32_t app);

/* Puts it on the list where it waits now, by its order of arrival. */
void queue_insert(struct pool *p, uint32_t conn);

/* Takes a waiter off its list; it must go somewhere else at once. */
void queue_leave(struct pool *p, uint32_t conn);

/* A waiter needs no lock any more: it has this one, or ILIST_NONE. */
void queue_clear(struct pool *p, uint32_t conn, uint32_t lock);

/* The waiter that has waited longest; ILIST_NONE: nobody waits. */
uint32_t queue_first(const struct pool *p, uint32_t app);

/* From a process back to its place in the queue, which is by arrival. */
void queue_return(struct pool *p, uint32_t conn);

/* Counts a waiting connection out and asks for its refusal. */
void queue_refuse(struct pool *p, uint32_t conn, enum action_cause cause);
void queue_refuse_all(struct pool *p, uint32_t app, enum action_cause cause);

/* Refuses what waited for queue_timeout. */
void queue_expire(struct pool *p, uint32_t app);
tstamp queue_deadline(const struct pool *p, uint32_t app);

/* Takes an assigned or handed connection off its process. */
void queue_detach(struct pool *p, uint32_t conn);

/* The number of a connection that is on no list may be used again. */
void queue_free(struct pool *p, uint32_t conn);

/* --- prefetch.c: connections that lie behind others in a process's socket ---
 */

/* It was put on its process's conns, last. */
void prefetch_given(struct pool *p, uint32_t conn);

/* It is about to be taken off its process's conns. */
void prefetch_leaves(struct pool *p, uint32_t conn);

/* The process turns out to have received all it was given; or it is dead. */
void prefetch_none(struct pool *p, uint32_t process);

/* Sorts out anew what is ahead, for another concurrency. */
void prefetch_sort(struct pool *p, uint32_t process);

/* Asks for the oldest, if it has lain long enough and another has room. */
void prefetch_recall(struct pool *p, uint32_t app);
bool prefetch_is_due(const struct pool *p, uint32_t app);
tstamp prefetch_deadline(const struct pool *p, uint32_t app);

/* --- limit.c: a lock before each hand-over ------------------------------ */

/* Asks for as many locks as there are places for. */
void limit_update(struct pool *p, uint32_t app);
tstamp limit_deadline(const struct pool *p, uint32_t app);

/* Gives back the lock that the connection holds, if it does. */
void limit_unlock(struct pool *p, uint32_t conn);

/* The app is limited now and was not, or the other way round. */
void limit_switch(struct pool *p, uint32_t app, bool limited);

/* --- lifecycle.c: processes --------------------------------------------------
 */

/* A state change of the table; false: the process is to blame for it. */
bool lifecycle_event(struct pool *p, uint32_t process, enum process_event e);

/* Its last allowed session is running, or is not. */
void lifecycle_expire(struct pool *p, uint32_t process, bool expiring);

/* Asks for a new process; the caller knows that the ceilings allow it. */
void lifecycle_begin(struct pool *p, uint32_t app);

/* It may be given connections, or counts as one that accepts them. */
void lifecycle_ready(struct pool *p, uint32_t process);

/*
 * How many sessions it may have, by the options of now. One that has had as
 * many already may have one more.
 */
void lifecycle_limit(struct pool *p, uint32_t process);

/* Tells it to stop, because of `why`, unless it was told already. */
void lifecycle_tell(struct pool *p, uint32_t process, enum process_end why);

/* Goes on to a later step of stopping; does nothing if it is past it. */
void lifecycle_escalate(struct pool *p, uint32_t process,
    enum process_step step, enum process_end why);

/* Frees the number of a process that is dead or never lived. */
void lifecycle_free(struct pool *p, uint32_t process);

/* --- timing.c: what comes due in the life of a process ------------------ */

/* Its deadline is due; or something that moves its deadline has changed. */
void timing_tick(struct pool *p, uint32_t process);
tstamp timing_deadline(const struct pool *p, uint32_t process);
void timing_arm(struct pool *p, uint32_t process);

/* --- failure.c: what the end of a process means for its app --------------- */

/* It has died in this way. */
void failure_account(struct pool *p, uint32_t process, enum process_end how);

/* Its end is decided: is it a failure? An end that we ask for comes later. */
void failure_end(struct pool *p, uint32_t process, enum process_end end);

/* It could not be started; for_good: nor would the next one be. */
void failure_failed_start(struct pool *p, uint32_t process, bool for_good);

/* Marks the app failed if it is, or no longer. */
void failure_judge(struct pool *p, uint32_t app);

/* --- sizing.c: how many processes --------------------------------------- */

/* Starts and stops what the app's demand, idleness and ceilings call for. */
void sizing_update(struct pool *p, uint32_t app);
tstamp sizing_deadline(const struct pool *p, uint32_t app);

/* A place is free and the app is the first who asked for one. */
void sizing_take_place(struct pool *p, uint32_t app);

/* The app goes: its part of the pool's sums goes with it. */
void sizing_release(struct pool *p, uint32_t app);

/* Whether it is kept at its minimum: not if it is leaving. */
bool sizing_kept(const struct pool *p, const struct app *a);

/* How many of n starts the app's own limits allow. */
uint32_t sizing_allowed(const struct app *a, uint32_t n);

/* The minimum that is kept now. */
uint32_t sizing_least(const struct pool *p, const struct app *a);

/* Processes that will not leave after their present session. */
uint32_t sizing_lasting(const struct app *a);

/* Whether nothing may be started now. */
bool sizing_paused(const struct pool *p, const struct app *a);

/* --- spare.c: processes that nobody waits for yet ------------------------ */

/* One more, only where there is a place for it now. */
bool spare_add(struct pool *p, uint32_t app);

/* Starts those that the app begins with, as far as there are places. */
void spare_begin(struct pool *p, uint32_t app);

/* Starts one of min_idle, if one is missing long enough. */
void spare_keep(struct pool *p, uint32_t app);

tstamp spare_deadline(const struct pool *p, uint32_t app);

/* --- shrink.c: fewer processes ------------------------------------------ */

void shrink_update(struct pool *p, uint32_t app);
tstamp shrink_deadline(const struct pool *p, uint32_t app);

/* The load was updated: marks one process if so many are not needed. */
void shrink_mark(struct pool *p, uint32_t app);

/* Whether a ceiling was lowered under what there is. */
bool shrink_over(const struct pool *p, const struct app *a);

/* kill_interval may have become shorter. */
void shrink_retime(struct pool *p, uint32_t app);

/* Whether the load would still be low with one more marked. */
bool shrink_needless(const struct pool *p, const struct app *a);

/* A start is wanted: stops what is marked, if all places are nearly taken. */
void shrink_slack(struct pool *p);

/* --- places.c: the ceiling over all apps -------------------------------- */

/* How many more processes it allows, and the table. */
uint32_t places_free(const struct pool *p);

/*
 * Asks for n places, in order of asking; but a minimum that is not kept
 * (`missing`) comes before all growth.  Others may have to give theirs.
 */
void places_want(struct pool *p, uint32_t app, uint32_t n, bool missing);
void places_drop(struct pool *p, uint32_t app);

/* A session of the process ended: it may have to leave for another app. */
bool places_yield(struct pool *p, uint32_t process);

/*
 * Something has happened to the app: an idle process that it could not give
 * before, or did not have, may now leave for the first in line.
 */
void places_offer(struct pool *p, uint32_t app);

/* Gives places that became free to the apps that wait for them. */
void places_serve(struct pool *p);

/* --- rollout.c: processes that are to be replaced ------------------------ */

/* It is to be replaced, for this reason. */
void rollout_condemn(struct pool *p, uint32_t process, enum process_end why);

/* It is to be replaced no longer, or leaves. */
void rollout_forget(struct pool *p, uint32_t process);

/* A new process is ready: one that is to be replaced leaves. */
void rollout_relieve(struct pool *p, uint32_t app);

/* Every process of the app is to be replaced by a newer one. */
void rollout_begin(struct pool *p, uint32_t app);

/*
 * A session of the process has ended: if it is to be replaced, and there is no
 * room for both, it leaves; true: it does.
 */
bool rollout_yield(struct pool *p, uint32_t process);

/* Starts what replaces the others, as the ceilings allow. */
void rollout_update(struct pool *p, uint32_t app);
tstamp rollout_deadline(const struct pool *p, uint32_t app);

#endif
