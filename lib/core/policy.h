#ifndef CORE_POLICY_H
#define CORE_POLICY_H

/*
 * The policies decide how many processes there are, and which of them go.
 * They stand in order: each calls those before it, and none after it; an
 * earlier policy returns what a later one must know.
 */

#include "core/mechanism.h"

/* --- failure.c: what the end of a process means for its app -------------- */

/*
 * The end of the process is decided, by itself or by us: if it is the fault
 * of the program, the next start of the app waits for it.
 */
void failure_end(struct pool *p, uint32_t process, enum process_end end);

/* The process could not be started, nor would the next one be. */
void failure_spawn(struct pool *p, uint32_t process);

/*
 * Marks the app failed if it is, or no longer; the waiters of a failed app
 * are refused.
 */
void failure_judge(struct pool *p, uint32_t app);

/* --- bounds.c: how many processes an app must and may have --------------- */

/* Whether the app is kept at its minimum: not if it is leaving. */
bool bounds_kept(const struct pool *p, const struct app *a);

/* The minimum that is kept now. */
uint32_t bounds_least(const struct pool *p, const struct app *a);

/* The same, or what target_wait needs to last, if that is more. */
uint32_t bounds_wanted(const struct pool *p, const struct app *a);

/* Processes that will not leave after their present session. */
uint32_t bounds_lasting(const struct app *a);

/*
 * How many of these are beyond the minimum, and beyond what a rollout has more
 * for a time.
 */
uint32_t bounds_spare(const struct pool *p, const struct app *a);

/* How many more processes the app's own ceiling allows. */
uint32_t bounds_under_own(const struct app *a);

/* How many of n starts the app's own limits allow. */
uint32_t bounds_allowed(const struct app *a, uint32_t n);

/* No process of the app is started before this time. */
tstamp bounds_gate(const struct app *a);

/* Whether no process of the app may be started now. */
bool bounds_paused(const struct pool *p, const struct app *a);

/* --- places.c: the ceiling over all apps -------------------------------- */

/* How many more processes the ceiling and the table allow. */
uint32_t places_free(const struct pool *p);

/*
 * Asks for n places, in order of asking; but a minimum that is not kept
 * (`missing`) comes before all growth.  Other apps may have to give theirs.
 */
void places_want(struct pool *p, uint32_t app, uint32_t n, bool missing);
void places_drop(struct pool *p, uint32_t app);

/*
 * Stops an idle process of another app, which this one needs more, unless a
 * place is about to be free.
 */
void places_make(struct pool *p, uint32_t app);

/*
 * A session of the process has ended; true: the process leaves for another
 * app.
 */
bool places_yield(struct pool *p, uint32_t process);

/*
 * Something has happened to the app: idle processes that it could not give
 * before, or did not have, leave for the first app in line.
 */
void places_offer(struct pool *p, uint32_t app);

/* The first app in line may have changed: others give what it needs. */
void places_reconsider(struct pool *p);

/* --- shrink.c: fewer processes ------------------------------------------ */

void shrink_update(struct pool *p, uint32_t app);
tstamp shrink_deadline(const struct pool *p, uint32_t app);

/* The load was updated: marks one process if so many are not needed. */
void shrink_mark(struct pool *p, uint32_t app);

/* Whether a ceiling was lowered under what there is. */
bool shrink_over(const struct pool *p, const struct app *a);

/* Whether one process fewer would still be enough. */
bool shrink_allowed(const struct pool *p, const struct app *a);

/* kill_interval may have become shorter. */
void shrink_retime(struct pool *p, uint32_t app);

/* Whether the load would still be low with one more marked. */
bool shrink_needless(const struct pool *p, const struct app *a);

/* Stops one that target_wait does not need, if it is time for that. */
void shrink_promised(struct pool *p, uint32_t app);

/* A start is wanted: stops what is marked, if all places are nearly taken. */
void shrink_slack(struct pool *p);

/* --- rollout.c: processes that are to be replaced ------------------------ */

/* Every process of the app is to be replaced by one of a newer generation. */
void rollout_begin(struct pool *p, uint32_t app);

/* The same for this process alone, which is ready. */
void rollout_add(struct pool *p, uint32_t process);

/* A new process is ready: an outdated process leaves. */
void rollout_replace(struct pool *p, uint32_t app);

/*
 * A session of the process has ended; true: the process was outdated, there
 * is no room for it and its replacement, and it leaves.
 */
bool rollout_yield(struct pool *p, uint32_t process);

/* Starts what replaces outdated processes, as the ceilings allow. */
void rollout_update(struct pool *p, uint32_t app);
tstamp rollout_deadline(const struct pool *p, uint32_t app);

/* --- sizing.c: more processes ------------------------------------------- */

/* Starts what the app's minimum and its waiters call for. */
void sizing_grow(struct pool *p, uint32_t app);
tstamp sizing_grow_deadline(const struct pool *p, uint32_t app);

/* Starts one of min_idle, if one is missing long enough. */
void sizing_spare(struct pool *p, uint32_t app);
tstamp sizing_spare_deadline(const struct pool *p, uint32_t app);

/* Updates the load estimate, and starts or marks a process by it. */
void sizing_estimate(struct pool *p, uint32_t app);
tstamp sizing_estimate_deadline(const struct pool *p, uint32_t app);

/* Keeps target_wait: estimates the need, and starts or stops by it. */
void sizing_promise(struct pool *p, uint32_t app);
tstamp sizing_promise_deadline(const struct pool *p, uint32_t app);

/* A place is free and the app is the first in line for one. */
void sizing_take_place(struct pool *p, uint32_t app);

/* A process of the app was detached: another one takes its place at once. */
void sizing_succeed(struct pool *p, uint32_t app);

/* The app goes: its part of the pool's sums goes with it. */
void sizing_release(struct pool *p, uint32_t app);

#endif
