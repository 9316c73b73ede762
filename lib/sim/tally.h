#ifndef SIM_TALLY_H
#define SIM_TALLY_H

/*
 * What there is of one app at this moment, and its integral over time, which
 * is where the means, the series and the waste of a result come from.
 *
 * tally_to() comes before every change.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/tstamp.h"
#include "sim/result.h"

struct tally {
	struct result_app *out;
	tstamp start; /* of the load */
	tstamp now;
	bool closed; /* the load is over: processes count no longer */

	uint32_t processes; /* starting, idle and active */
	uint32_t existing; /* leaving ones included */
	uint32_t busy; /* with a connection in service */
	uint32_t idle; /* ready and without one */
	uint32_t unheld; /* connections that wait and no process holds */
	uint32_t unread; /* that lie in the sockets of processes */

	struct series_bucket *bucket; /* of `now`; NULL: to be looked up */
	tstamp bucket_end;
	double existing_time; /* integral */
	tstamp unread_since; /* beside an idle one; 0: it is not so */
};

/* width: of the first buckets of its series. */
void tally_init(
    struct tally *t, struct result_app *out, tstamp start, tspan width);

/* Lets time pass; slow where it is not the present bucket. */
void tally_pass(struct tally *t, tstamp now);

static inline void
tally_to(struct tally *t, tstamp now)
{
	if (now > t->now)
		tally_pass(t, now);
}

/* The bucket of now, for what is counted one by one; NULL: outside. */
struct series_bucket *tally_bucket(struct tally *t);

/* The load is over. */
void tally_close(struct tally *t);

/*
 * A connection that a process was given then is read, or taken back; before
 * it is counted out.
 */
void tally_read(struct tally *t, tstamp given);

/* The end of the run, after tally_to(): fills in what was integrated. */
void tally_finish(struct tally *t, tspan length);

#endif
