/* The need of an app that promises a wait. */

#include <math.h>

#include "core/promise.h"

/* The share of connections that may wait longer. */
#define MISSED 0.01

/*
 * Half-lives, in seconds.  Connections that come are remembered for longer if
 * their sessions are long: for so many sessions.
 */
#define ARRIVALS_HALFLIFE 30.0
#define ARRIVALS_SESSIONS 10.0
#define SESSIONS_HALFLIFE 600.0

/* A rise is seen sooner, where it is so many standard deviations of chance. */
#define RISE_HALFLIFE 1.0
#define RISE_DEVIATIONS 2.0

/*
 * The estimate may be wrong: processes stay if more connections have waited too
 * long, in the last while, than this part of those that may.
 */
#define WAITS_HALFLIFE 300.0
#define WAITS_MARGIN 0.5

/* So many sessions are remembered however long ago they were. */
#define SESSIONS_LEAST 20.0

/* The most steps of the search for the need; more servers are grouped. */
#define SERVERS_MAX 4096

void
promise_init(struct promise *p, tstamp now)
{
	*p = (struct promise){ .updated = now, .newest = now / PROMISE_SLOT };
}

double
promise_session(const struct promise *p)
{
	return p->sessions < PROMISE_EVIDENCE ? 0 : p->time / p->sessions / 1e9;
}

/* --- the last while ------------------------------------------------------- */

static uint32_t
most_of(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void
note(struct promise *p, struct promise_slot figures, tstamp now)
{
	int64_t newest = now / PROMISE_SLOT;
	struct promise_slot *slot = &p->slots[newest % PROMISE_SLOTS];

	if (newest - p->newest > PROMISE_SLOTS)
		p->newest = newest - PROMISE_SLOTS;
	while (p->newest < newest)
		p->slots[++p->newest % PROMISE_SLOTS] =
		    (struct promise_slot){ 0 };
	slot->size = most_of(slot->size, figures.size);
	slot->present = most_of(slot->present, figures.present);
}

/* The greatest figures of the last while. */
static struct promise_slot
greatest(const struct promise *p, tstamp now)
{
	int64_t oldest = now / PROMISE_SLOT - PROMISE_SLOTS + 1;
	struct promise_slot most = { 0 };

	for (int64_t n = p->newest;
	     n >= oldest && n >= 0 && n > p->newest - PROMISE_SLOTS; n--) {
		const struct promise_slot *slot = &p->slots[n % PROMISE_SLOTS];

		most.size = most_of(most.size, slot->size);
		most.present = most_of(most.present, slot->present);
	}
	return most;
}

uint32_t
promise_most(const struct promise *p, tstamp now)
{
	return greatest(p, now).size;
}

/* --- need --------------------------------------------------------------- */

uint32_t
promise_servers(
    double work, double mean, double variation, double target, uint32_t most)
{
	double tail = variation > 1 ? 2 / (1 + variation) : 1;
	double lost = 1; /* the share that n servers without a queue lose */

	for (uint32_t n = 1; n < most; n++) {
		double waits;

		lost = work * lost / (n + work * lost);
		if (n <= work)
			continue;
		waits = lost / (1 - work / n * (1 - lost));
		if (waits * exp(-(n - work) * tail * target / mean) <= MISSED)
			return n;
	}
	return most;
}

/* The same in processes, each of which is as many servers. */
static uint32_t
processes(
    const struct promise_terms *t, double rate, double mean, double variation)
{
	uint64_t most = (uint64_t)t->most * t->each;
	/* Servers in groups would need more of them: never too few. */
	double group = most > SERVERS_MAX ? (double)most / SERVERS_MAX : 1;
	double servers = group *
	    promise_servers(rate * mean / group, mean, variation,
		tspan_to_seconds(t->target),
		most > SERVERS_MAX ? SERVERS_MAX : (uint32_t)most);
	double n = ceil(servers / t->each);

	return n < t->most ? (uint32_t)n : t->most;
}

/*
 * Connections in a second: as many as in the last while, or as a rise that is
 * no chance shows already.
 */
static double
rate(const struct promise *p)
{
	const struct promise_rate *recent = &p->recent;
	double steady = p->steady.seen / p->steady.span;
	double rise = (recent->seen - RISE_DEVIATIONS * sqrt(recent->seen)) /
	    recent->span;

	return rise > steady ? rise : steady;
}

static uint32_t
need(const struct promise *p, const struct promise_terms *t)
{
	double mean = promise_session(p), variation;
	uint32_t present = greatest(p, p->updated).present, n;

	if (mean <= 0)
		return 0;
	variation = p->square * p->sessions / (p->time * p->time) - 1;
	mean += tspan_to_seconds(t->overhead);
	n = processes(t, rate(p), mean, variation);
	present = present / t->each + (present % t->each > 0 ? 1 : 0);
	return present < n ? (present > 0 ? present : 1) : n;
}

/* Adds what came in the last so many seconds. */
static void
add(struct promise_rate *r, double arrived, double length, double halflife)
{
	double left = exp2(-length / halflife);
	/* The time that counts: all of a second, less of a long rest. */
	double weight = (1 - left) * halflife / M_LN2;

	r->seen = left * r->seen + weight / length * arrived;
	r->span = left * r->span + weight;
}

/* Takes the connections of the last so many seconds into the rate. */
static void
count_arrivals(struct promise *p, double length)
{
	double life = ARRIVALS_HALFLIFE, mean = promise_session(p);

	if (ARRIVALS_SESSIONS * mean > life)
		life = ARRIVALS_SESSIONS * mean;
	if (life > SESSIONS_HALFLIFE)
		life = SESSIONS_HALFLIFE;
	add(&p->steady, (double)p->arrived, length, life);
	add(&p->recent, (double)p->arrived, length, RISE_HALFLIFE);
	p->arrived = 0;
}

static void
forget_sessions(struct promise *p, double length)
{
	double left = exp2(-length / SESSIONS_HALFLIFE);

	if (left * p->sessions < SESSIONS_LEAST)
		left = p->sessions > SESSIONS_LEAST
		    ? SESSIONS_LEAST / p->sessions
		    : 1;
	p->sessions *= left;
	p->time *= left;
	p->square *= left;
}

/* As many processes as there were stay, if too many have waited too long. */
static void
judge_waits(struct promise *p, uint32_t size, double length, tstamp now)
{
	double left = exp2(-length / WAITS_HALFLIFE);

	if (p->missed > p->missed_then && p->missed > 1 &&
	    p->missed > WAITS_MARGIN * MISSED * p->given)
		note(p, (struct promise_slot){ .size = size }, now);
	p->given *= left;
	p->missed *= left;
	p->missed_then = p->missed;
}

uint32_t
promise_least(const struct promise *p)
{
	return p->sure ? p->need : 0;
}

/* --- stops --------------------------------------------------------------- */

/* The last stop was a mistake: stops come at longer pauses. */
static void
regret(struct promise *p, tspan pace, tstamp now)
{
	tspan pause = p->pause > pace ? p->pause : pace;

	if (pause < PROMISE_TICK)
		pause = PROMISE_TICK;
	p->pause =
	    pause < PROMISE_PAUSE_MAX / 2 ? 2 * pause : PROMISE_PAUSE_MAX;
	p->regretted = true;
	p->changed = now;
}

/* Halves the pause, each time that it has long been without a regret. */
static void
forgive(struct promise *p, tstamp now)
{
	while (p->pause > 0 && !p->regretted) {
		tstamp due = p->changed + 2 * p->pause + PROMISE_REGRET;

		if (due > now)
			return;
		p->pause = p->pause > PROMISE_TICK ? p->pause / 2 : 0;
		p->changed = due;
	}
}

void
promise_started(struct promise *p, uint32_t size, tspan pace, tstamp now)
{
	note(p, (struct promise_slot){ .size = size }, now);
	p->started = now;
	if (p->stopped != 0 && !p->regretted &&
	    now - p->stopped < PROMISE_REGRET)
		regret(p, pace, now);
}

void
promise_stopped(struct promise *p, tstamp now)
{
	p->stopped = now;
	p->changed = now;
	p->regretted = false;
}

tstamp
promise_stop_due(const struct promise *p, tspan pace)
{
	tstamp last = p->stopped > p->started ? p->stopped : p->started;

	return last == 0 ? 0
			 : tstamp_add(last, p->pause > pace ? p->pause : pace);
}

/* --- all ----------------------------------------------------------------- */

void
promise_update(struct promise *p, const struct promise_terms *t, tstamp now)
{
	double length = tspan_to_seconds(now - p->updated);

	if (length <= 0)
		return;
	count_arrivals(p, length);
	forget_sessions(p, length);
	judge_waits(p, t->size, length, now);
	p->updated = now;
	note(p, (struct promise_slot){ .present = p->most_present }, now);
	p->most_present = t->present;
	p->need = need(p, t);
	p->sure = p->need > 0 && p->steady.seen >= PROMISE_EVIDENCE;
	note(p, (struct promise_slot){ .size = p->need }, now);
	forgive(p, now);
}
