#ifndef CORE_MECHANISM_H
#define CORE_MECHANISM_H

/*
 * What the files of the core have from each other, by the file that defines it.
 * They stand in order: each calls those before it, and none after it.  The
 * mechanisms (actions.c to queue.c) change the tables, keep their lists, sums
 * and deadlines true, and mark each app whose part of them they change (enum
 * app_mark).  The policies (places.c to sizing.c) decide how many processes
 * there are, and which of them go.  settle.c runs what a fact calls for; the
 * facts themselves, core/pool.h, are above all.
 *
 * With `act` a function does what is due, without it tells when something will
 * be, and changes nothing.
 */

#include <sys/param.h>

#include "core/tables.h"

/* Marks of changes after which an app may have too many processes. */
#define MARK_FEWER \
	(MARK_EMPTIED | MARK_PREFETCH | MARK_ROOM | MARK_COUNT | MARK_FAILURE)

/* Marks of changes after which it may have too few, or may start some. */
#define MARK_MORE \
	(MARK_WAITER | MARK_EMPTIED | MARK_PREFETCH | MARK_COUNT | \
	    MARK_FAILURE | MARK_GROWTH)

/* Whether one of these marks is at the app, or was when settling began. */
#define MARKED(a, marks, bits) ((((marks) | (a)->touched) & (bits)) != 0)

/*
 * The app is settled at this time at the latest.  A later deadline may stay
 * early: it costs one look, not one each.
 */
static inline void
settle_by(struct pool *p, uint32_t app, tstamp at)
{
	if (at < deadlines_get(&p->app_deadlines, app))
		deadlines_set(&p->app_deadlines, app, at);
}

/* --- actions.c: the ring of actions ------------------------------------- */

/* of: the process, connection or app, by its kind; detail: cause, or lock. */
void actions_put(
    struct pool *p, enum action_kind kind, uint32_t of, uint32_t detail);

/* News of the app, and of a process or ILIST_NONE, unless under way already. */
void actions_news(
    struct pool *p, uint32_t app, enum action_news news, uint32_t process);

/* Takes out the oldest action that is still valid; false: there is none. */
bool actions_next(struct pool *p, struct action *out);

/* --- room.c: the lists of an app's processes ---------------------------- */

/* The processes of the app that have room and so many sessions. */
static inline struct ilist *
room_list(const struct pool *p, uint32_t app, uint32_t sessions)
{
	return &p->rooms[(size_t)app * p->limits.sessions + sessions];
}

/* Empties the lists that the app has by its options. */
void room_init(struct pool *p, uint32_t app);

bool room_has(const struct pool *p, uint32_t process);

/* Puts the process on the list where it belongs now; or takes it off. */
void room_file(struct pool *p, uint32_t process);
void room_unfile(struct pool *p, uint32_t process);

/* The process is busy with so many parts of the whole. */
void room_set_busy(struct pool *p, uint32_t process, uint32_t busy);

/* How many more sessions the process can begin at once, where it is filed. */
uint32_t room_places(const struct pool *p, uint32_t process);

/* A process of another daemon's goes on the end of its list; see carry.h. */
bool room_put_back(struct pool *p, uint32_t process);

/* --- failure.c: ends of processes that are failures --------------------- */

/*
 * The end of the process is decided, by itself or by us: if it is the fault
 * of the program, the next start of the app waits for it.
 */
void failure_end(struct pool *p, uint32_t process, enum process_end end);

/* --- process.c: a process, from its start to its end ------------------- */

/* Changes the state by its table, which must have the event there. */
void process_event(struct pool *p, uint32_t process, enum process_event e);

/* The last session that the process may have is running, or is not. */
void process_expire(struct pool *p, uint32_t process, bool expiring);

/*
 * Tells the process to stop if it has had max_requests and could serve another
 * session beside those it has: for nobody else has its place.
 */
bool process_spend(struct pool *p, uint32_t process);

/* The caller knows that the ceilings allow it. */
void process_start(struct pool *p, uint32_t app);

/* True: it is idle, and an outdated process may leave for it. */
bool process_ready(struct pool *p, uint32_t process);

/*
 * Bounds the sessions of the process by the options of now.  A process that
 * has had as many already may have one more.
 */
void process_limit(struct pool *p, uint32_t process);

/* A ready process is to be replaced, for this reason; 0: not any more. */
void process_outdate(struct pool *p, uint32_t process, enum process_end why);

/*
 * Goes on to a later step of stopping, unless the process is past it; the first
 * that we ask for gives the reason.
 */
void process_escalate(struct pool *p, uint32_t process, enum process_step step,
    enum process_end why);

/* The first step, for a process that was not told to stop before. */
void process_stop(struct pool *p, uint32_t process, enum process_end why);

/* The process leaves dispatch and all counts, and stops without a session. */
void process_detach(struct pool *p, uint32_t process);

/* Frees the number of a process that is dead or never lived. */
void process_free(struct pool *p, uint32_t process);

/* The process was another daemon's: it is counted, and put on its list. */
bool process_put_back(struct pool *p, uint32_t process);

/* Steps of its life that are due; process_arm() sets its deadline anew. */
tstamp process_live(struct pool *p, uint32_t process, bool act);
void process_arm(struct pool *p, uint32_t process);

/* --- queue.c: connections that wait, for a lock or for a process --------- */

/* Takes a new connection in, to wait if no process has room; its number. */
uint32_t queue_admit(struct pool *p, uint32_t app);

/* The connection is over: takes it off its list, and frees its number. */
void queue_free(struct pool *p, uint32_t conn);

/*
 * Puts an assigned or handed connection back to its place by arrival; its
 * process goes on without it.
 */
void queue_return(struct pool *p, uint32_t conn);

/* The process has received all that it was given before then; or it is dead. */
void queue_received(struct pool *p, uint32_t process, tstamp before);

/* Counts a waiting connection out and asks for its refusal. */
void queue_refuse(struct pool *p, uint32_t conn, enum action_cause cause);
void queue_refuse_all(struct pool *p, uint32_t app, enum action_cause cause);

/* The waiter needs no lock any more: it has this one, or ILIST_NONE. */
void queue_clear(struct pool *p, uint32_t conn, uint32_t lock);

/* Locks that connections of the app have are of a former limit. */
void queue_forget_locks(struct pool *p, uint32_t app);

/* Other options are in force; all processes are filed by these. */
void queue_change(struct pool *p, uint32_t app, const struct app_options *o);

/*
 * Hands out what waits, takes back what was prefetched and could be served
 * elsewhere, refuses what waited for queue_timeout, asks for as many locks as
 * there are places.
 */
tstamp queue_step(struct pool *p, uint32_t app, unsigned marks, bool act);

/* When the oldest prefetched may be taken back; TSTAMP_NEVER: no room. */
tstamp queue_recall_due(const struct pool *p, const struct app *a);

/* --- places.c: how many processes an app must and may have --------------- */

/* Whether the app is kept at its minimum: not if it is leaving. */
static inline bool
bounds_kept(const struct pool *p, const struct app *a)
{
	return p->phase != POOL_ENDING && a->phase == APP_RUNNING;
}

/* The minimum that is kept now. */
static inline uint32_t
bounds_least(const struct pool *p, const struct app *a)
{
	return bounds_kept(p, a) && !a->renewing ? a->options.min_processes : 0;
}

/* Processes that will not leave after their present session. */
static inline uint32_t
bounds_lasting(const struct app *a)
{
	return app_processes(a) - a->expiring;
}

/* How many more processes the app's own ceiling allows. */
static inline uint32_t
bounds_under_own(const struct app *a)
{
	uint32_t n = app_processes(a);

	return n < a->options.max_processes ? a->options.max_processes - n : 0;
}

/* The minimum, or what target_wait needs to last, if that is more. */
uint32_t bounds_wanted(const struct pool *p, const struct app *a);

/* Lasting processes beyond the minimum, and what a rollout has more. */
uint32_t bounds_spare(const struct pool *p, const struct app *a);

/* How many of n starts the app's own limits allow; whether none is for now. */
uint32_t bounds_allowed(const struct app *a, uint32_t n);
bool bounds_paused(const struct pool *p, const struct app *a);

/* How many more the ceiling and the table allow when so many have left. */
uint32_t places_free(const struct pool *p, uint32_t leaving);

/*
 * Asks for n places, in order of asking; but a minimum that is not kept
 * (`missing`) comes before all growth.  Other apps may have to give theirs.
 * n = 0: for none any more.
 */
void places_want(struct pool *p, uint32_t app, uint32_t n, bool missing);

/* Stops an idle process of the least loaded app that can give one. */
bool places_evict(struct pool *p, uint32_t to);

/* A session of the process has ended; true: it leaves for another app. */
bool places_yield(struct pool *p, uint32_t process);

/* Idle processes that the app can give now leave for the first in line. */
void places_offer(struct pool *p, uint32_t app);

/* The first app in line may have changed: others give what it needs. */
void places_reconsider(struct pool *p);

/* --- rollout.c: processes that are to be replaced ------------------------ */

/*
 * The process, which is ready, or for ILIST_NONE every process of the app, is
 * to be replaced by one of a newer generation.
 */
void rollout_add(struct pool *p, uint32_t app, uint32_t process);

/* A new process is ready: an outdated process leaves. */
void rollout_replace(struct pool *p, uint32_t app);

/* A session of the process has ended, which a canary may have to know. */
void canary_session(
    struct pool *p, const struct process *x, bool lost, tspan took);

/*
 * A session of the process has ended; true: the process was outdated, there
 * is no room for it and its replacement, and it leaves.
 */
bool rollout_yield(struct pool *p, uint32_t process);

/* Starts what replaces outdated processes, as the ceilings allow. */
tstamp rollout_step(struct pool *p, uint32_t app, bool act);

/* --- sizing.c: fewer processes, and more ---------------------------------- */

/* Whether a ceiling was lowered under what there is. */
bool sizing_is_over(const struct pool *p, const struct app *a);

/* Stops what was idle for too long, is over a ceiling, or was marked. */
tstamp sizing_shrink(struct pool *p, uint32_t app, bool act);

/* Starts what the minimum, the waiters and the beginning call for. */
tstamp sizing_grow(struct pool *p, uint32_t app, bool act);

/* Starts one of min_idle if one is missing long enough. */
tstamp sizing_spare(struct pool *p, uint32_t app, bool act);

/* Updates the load estimate, and starts a process or marks one by it. */
tstamp sizing_load(struct pool *p, uint32_t app, bool act);

/* Estimates the need; with target_wait starts or stops by it. */
tstamp sizing_promise(struct pool *p, uint32_t app, bool act);

/* A place is free and the app is the first in line for one. */
void sizing_take_place(struct pool *p, uint32_t app);

/*
 * How long a connection waits before a process is started for it: at most
 * start_delay, and no longer than a start takes; with target_wait as long as
 * one in a hundred may, unless as many wait as the processes can serve.
 */
tspan sizing_patience(const struct app *a);

/* --- settle.c: what follows from a fact ---------------------------------- */

/*
 * A fact begins with settle_at(): time has come to `now`, and never goes back.
 * It notes what happened, and ends with settle_app() for the app it concerns,
 * which does all that these marks, and those at the app, call for.
 */
void settle_at(struct pool *p, tstamp now);
void settle_app(struct pool *p, uint32_t app, unsigned marks);

/* Gives what became free, places and numbers, to apps that wait for them. */
void settle_places(struct pool *p);
void settle_numbers(struct pool *p);

/*
 * The steps that may follow from a fact, in their order, each with what calls
 * for it: a mark calls once, other conditions call as long as they hold.  With
 * `act` the steps are made; without it the earliest time is told at which one
 * that these marks call for is due.
 */
tstamp settle_steps(struct pool *p, uint32_t app, unsigned marks, bool act);

#endif
