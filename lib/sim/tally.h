#ifndef SIM_TALLY_H
#define SIM_TALLY_H

/*
 * The present figures of an app and their integrals over time, from which the
 * means, the series and the waste of a result come.
 *
 * The tally of an app is linked to that of all apps together, if there are
 * several: what these functions do is done to both.
 *
 * tally_to() comes before every change of a figure.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"
#include "sim/result.h"

struct tally {
	struct tally *total; /* NULL: this is that, or the only app */
	struct result_app *out;
	tstamp start; /* of the load */
	tstamp now;
	bool closed; /* the load is over: workers count no longer */

	uint32_t processes; /* workers: starting, idle and active */
	uint32_t existing; /* leaving ones included */
	uint32_t busy; /* workers with a request in service */
	uint32_t need; /* workers that the manager finds to be needed */
	uint32_t idle; /* workers that are ready and have no request */
	uint32_t unheld; /* requests that wait and no worker holds */
	uint32_t unread; /* requests that lie in the sockets of workers */

	struct series_bucket *bucket; /* of `now`; NULL: to be looked up */
	tstamp bucket_end;
	double existing_time; /* integral */
	tstamp unread_since; /* beside an idle worker; 0: there is no such */
};

/*
 * The bucket of this time, which is not negative; the width of the series is
 * over 0.
 */
struct series_bucket *tally_bucket_at(struct series *s, tspan at);

/* width: of the first buckets of the series. */
void tally_init(struct tally *t, struct result_app *out, struct tally *total,
    tstamp start, tspan width);

/* Lets time pass for one tally; slow where a bucket ends. */
void tally_pass(struct tally *t, tstamp now);

static inline void
tally_to(struct tally *t, tstamp now)
{
	for (; t != NULL; t = t->total)
		if (now > t->now)
			tally_pass(t, now);
}

/* by: UINT32_MAX is one less. */
static inline void
tally_unheld(struct tally *t, uint32_t by)
{
	for (; t != NULL; t = t->total)
		t->unheld += by;
}

static inline void
tally_unread(struct tally *t, uint32_t by)
{
	for (; t != NULL; t = t->total)
		t->unread += by;
}

/* Adds to the bucket of `now`; false: that is outside the load. */
bool tally_count(struct tally *t, struct series_counts counts);

/* A worker begins with a connection that has waited so long. */
void tally_wait(struct tally *t, tspan wait);

/* The load is over. */
void tally_close(struct tally *t);

/*
 * A request that was given to a worker then is read, or taken back; before it
 * is counted out.
 */
void tally_read(struct tally *t, tstamp given);

/* The end of the run, after tally_to(): this tally alone goes to its result. */
void tally_finish(struct tally *t, tspan length);

#endif
