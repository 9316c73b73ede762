#ifndef CORE_PROMISE_H
#define CORE_PROMISE_H

/*
 * The load: how busy the processes of an app have been, decaying exponentially.
 * Busy time is integrated, so that a process that is stuck in a long session is
 * busy; and each interval weighs by its length, so that a late update is as
 * right as an update in time.  Source: the FastCGI process manager's gain and
 * update interval; but that sums ended requests over two windows.
 *
 * The need: how many processes an app needs so that 99 of 100 connections wait
 * no longer than the target.  It is computed once a second, for connections
 * that come independently of each other; but a few clients who come again and
 * again need fewer: never more than there were connections at a time, in the
 * last while.  Source: Erlang's formula for the share that waits (M/M/n), with
 * the exponential tail made longer for sessions that vary more.
 */

#include <stdbool.h>

#include "core/tstamp.h"

/* Begins with the time as `updated` and `seen`. */
struct load {
	double work; /* processes busy, on average, as of `updated` */
	double area; /* busy nanoseconds since then, until `seen` */
	double busy; /* processes busy from `seen` on */
	bool known; /* there was an update */
	tstamp updated;
	tstamp seen;
};

/* So many are busy from now on. */
void load_set(struct load *l, double busy, tstamp now);

/*
 * Takes the time since the last update into the estimate, with the weight
 * `gain` if that is `interval` long.  0 < gain <= 1, interval > 0.
 */
void load_update(struct load *l, double gain, tspan interval, tstamp now);

/* The estimate that an update would give, in processes. */
double load_work(const struct load *l, double gain, tspan interval, tstamp now);

/* Fewer busy processes than this are none. */
#define LOAD_NONE 1e-3

/* Whether the estimate is nothing and updates would leave it so. */
static inline bool
load_at_rest(const struct load *l)
{
	return l->busy <= 0 && l->area <= 0 && l->work < LOAD_NONE;
}

/* The target for which the need is estimated where none is set. */
#define PROMISE_USUAL TSPAN_MSECONDS(20)

/* Time from one estimate to the next. */
#define PROMISE_TICK TSPAN_SECONDS(1)

/* Processes are kept for the greatest need of so long. */
#define PROMISE_HOLD TSPAN_SECONDS(300)
#define PROMISE_SLOT TSPAN_SECONDS(10)
#define PROMISE_SLOTS 31 /* the last one is being filled */

/* A start so soon after a stop is one to regret. */
#define PROMISE_REGRET TSPAN_SECONDS(120)
#define PROMISE_PAUSE_MAX TSPAN_SECONDS(900)

/* Fewer connections, or sessions, than these are no evidence of a need. */
#define PROMISE_EVIDENCE 10

/* Connections, and the seconds in which they came, both decayed. */
struct promise_rate {
	double seen;
	double span;
};

struct promise_slot {
	uint32_t size; /* processes: the need, or what starts or waits proved */
	uint32_t present; /* connections that waited or were served */
};

/* Begins with the time as `updated`, and its slot as `newest`. */
struct promise {
	/* Since the last estimate: */
	uint64_t arrived;
	uint32_t most_present; /* connections that waited or were served */
	/* Added up and, at each estimate, decayed; times in nanoseconds: */
	double sessions;
	double time;
	double square;
	double given; /* connections that processes were given */
	double missed; /* of them, those that had waited longer */
	/* As of the last estimate: */
	double missed_then;
	struct promise_rate steady;
	struct promise_rate recent; /* decays faster */
	tstamp updated;
	uint32_t need; /* processes, of any number; 0: unknown, or none */
	bool sure; /* there is evidence enough to start processes by it */
	/* The greatest figures of PROMISE_HOLD: */
	struct promise_slot slots[PROMISE_SLOTS];
	int64_t newest; /* the newest slot, counted since time 0 */
	/* Stops: */
	tstamp started; /* the last start of the app; 0: none */
	tstamp stopped; /* the last stop for want of need; 0: none */
	tspan pause; /* regret: at least so long from one to the next */
	tstamp changed; /* when that was set, or halved, last */
	bool regretted; /* the last stop has lengthened the pause */
};

/* Terms that the estimate goes by. */
struct promise_terms {
	tspan target; /* longer than 0 */
	uint32_t each; /* sessions that a process serves at a time */
	uint32_t most; /* processes */
	uint32_t present; /* connections that wait or are served now */
	uint32_t size; /* processes that there are now */
	tspan overhead; /* of a process for each session, beside the session */
};

/* A connection has come that wants a process; with it so many are there. */
static inline void
promise_arrived(struct promise *p, uint32_t present)
{
	p->arrived++;
	if (p->most_present < present)
		p->most_present = present;
}

/* A session has ended well after so long. */
static inline void
promise_served(struct promise *p, tspan took)
{
	double t = (double)took;

	p->sessions++;
	p->time += t;
	p->square += t * t;
}

void promise_update(
    struct promise *p, const struct promise_terms *t, tstamp now);

/* The mean session in seconds; 0: too few are known. */
static inline double
promise_session(const struct promise *p)
{
	return p->sessions < PROMISE_EVIDENCE ? 0 : p->time / p->sessions / 1e9;
}

/* Processes that are to be there before anybody waits; 0: that is unknown. */
static inline uint32_t
promise_least(const struct promise *p)
{
	return p->sure ? p->need : 0;
}

/* The greatest figures of the last while: `size` stays, even if not needed. */
struct promise_slot promise_most(const struct promise *p, tstamp now);

/* A process was started; with it there are so many.  pace: as below. */
void promise_started(struct promise *p, uint32_t size, tspan pace, tstamp now);

/* A process was stopped that is not needed. */
static inline void
promise_stopped(struct promise *p, tstamp now)
{
	p->stopped = now;
	p->changed = now;
	p->regretted = false;
}

/* When the pauses allow a stop; pace: the least from a stop or a start on. */
static inline tstamp
promise_stop_due(const struct promise *p, tspan pace)
{
	tstamp last = p->stopped > p->started ? p->stopped : p->started;

	if (last == 0)
		return 0;
	return tstamp_add(last, p->pause > pace ? p->pause : pace);
}

/*
 * The least servers, 1 to `most`, of which 99 of 100 customers wait no longer
 * than `target`, if the work offered keeps so many busy on average, and these
 * are mean and squared coefficient of variation of their times.  For tests.
 */
uint32_t promise_servers(
    double work, double mean, double variation, double target, uint32_t most);

#endif
