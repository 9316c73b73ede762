/* The load of an app, and the need of one that promises a wait. */

#include <sys/param.h>

#include <assert.h>
#include <math.h>

#include "core/promise.h"

/* --- load --------------------------------------------------------------- */

void
load_set(struct load *l, double busy, tstamp now)
{
	assert(now >= l->seen);
	l->area += l->busy * (double)(now - l->seen);
	l->seen = now;
	l->busy = busy;
}

double
load_work(const struct load *l, double gain, tspan interval, tstamp now)
{
	tspan length = now - l->updated;
	double sample, weight;

	assert(now >= l->seen);
	if (length <= 0)
		return l->work;
	sample = (l->area + l->busy * (double)(now - l->seen)) / (double)length;
	if (!l->known)
		return sample;
	weight = 1 - pow(1 - gain, (double)length / (double)interval);
	return (1 - weight) * l->work + weight * sample;
}

void
load_update(struct load *l, double gain, tspan interval, tstamp now)
{
	if (now <= l->updated)
		return;
	l->work = load_work(l, gain, interval, now);
	l->area = 0;
	l->known = true;
	l->updated = now;
	l->seen = now;
}

/* --- the last while ------------------------------------------------------- */

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

/*
 * The most steps of the search for the need; more servers are grouped. The
 * search goes beyond max_processes, to a multiple of it, so that an autoscaler
 * sees how many hosts more are needed.
 */
#define SERVERS_MAX 4096
#define SERVERS_BEYOND 4

static void
promise_note(struct promise *p, struct promise_slot figures, tstamp now)
{
	int64_t newest = now / PROMISE_SLOT;
	struct promise_slot *slot = &p->slots[newest % PROMISE_SLOTS];

	if (newest - p->newest > PROMISE_SLOTS)
		p->newest = newest - PROMISE_SLOTS;
	while (p->newest < newest)
		p->slots[++p->newest % PROMISE_SLOTS] =
		    (struct promise_slot){ 0 };
	slot->size = MAX(slot->size, figures.size);
	slot->present = MAX(slot->present, figures.present);
}

struct promise_slot
promise_most(const struct promise *p, tstamp now)
{
	int64_t oldest = now / PROMISE_SLOT - PROMISE_SLOTS + 1;
	struct promise_slot most = { 0 };

	for (int64_t n = p->newest;
	     n >= oldest && n >= 0 && n > p->newest - PROMISE_SLOTS; n--) {
		const struct promise_slot *slot = &p->slots[n % PROMISE_SLOTS];

		most.size = MAX(most.size, slot->size);
		most.present = MAX(most.present, slot->present);
	}
	return most;
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

/*
 * The processes that the connections and sessions added up so far call for; no
 * more than were there at a time, and 0 where too few sessions are known.
 */
static uint32_t
promise_need(const struct promise *p, const struct promise_terms *t)
{
	const struct promise_rate *recent = &p->recent;
	double mean = promise_session(p), variation, rate, rise, group, n;
	uint64_t servers = (uint64_t)t->most * t->each;
	uint32_t present = promise_most(p, p->updated).present;

	if (mean <= 0)
		return 0;
	variation = p->square * p->sessions / (p->time * p->time) - 1;
	mean += tspan_to_seconds(t->overhead);
	/* As many as in the last while, or as a rise shows already. */
	rate = p->steady.seen / p->steady.span;
	rise = (recent->seen - RISE_DEVIATIONS * sqrt(recent->seen)) /
	    recent->span;
	rate = MAX(rate, rise);
	/* Servers in groups would need more of them: never too few. */
	group = servers > SERVERS_MAX ? (double)servers / SERVERS_MAX : 1;
	servers = MIN(servers, SERVERS_MAX);
	n = group *
	    promise_servers(rate * mean / group, mean, variation,
		tspan_to_seconds(t->target),
		(uint32_t)MIN(SERVERS_BEYOND * servers, SERVERS_MAX));
	n = ceil(n / t->each);
	present = present / t->each + (present % t->each > 0 ? 1 : 0);
	if (present < (uint32_t)n)
		return present > 0 ? present : 1;
	return (uint32_t)n;
}

/* Adds what came in the last so many seconds. */
static void
promise_add(
    struct promise_rate *r, double arrived, double length, double halflife)
{
	double left = exp2(-length / halflife);
	/* The time that counts: all of a second, less of a long rest. */
	double weight = (1 - left) * halflife / M_LN2;

	r->seen = left * r->seen + weight / length * arrived;
	r->span = left * r->span + weight;
}

void
promise_update(struct promise *p, const struct promise_terms *t, tstamp now)
{
	double length = tspan_to_seconds(now - p->updated), left;
	double life = ARRIVALS_HALFLIFE, mean = promise_session(p);

	if (length <= 0)
		return;
	life = MAX(life, ARRIVALS_SESSIONS * mean);
	life = MIN(life, SESSIONS_HALFLIFE);
	promise_add(&p->steady, (double)p->arrived, length, life);
	promise_add(&p->recent, (double)p->arrived, length, RISE_HALFLIFE);
	p->arrived = 0;

	left = exp2(-length / SESSIONS_HALFLIFE);
	if (left * p->sessions < SESSIONS_LEAST)
		left = p->sessions > SESSIONS_LEAST
		    ? SESSIONS_LEAST / p->sessions
		    : 1;
	p->sessions *= left;
	p->time *= left;
	p->square *= left;

	/* As many as there were stay, if too many have waited too long. */
	left = exp2(-length / WAITS_HALFLIFE);
	if (p->missed > p->missed_then && p->missed > 1 &&
	    p->missed > WAITS_MARGIN * MISSED * p->given)
		promise_note(p, (struct promise_slot){ .size = t->size }, now);
	p->given *= left;
	p->missed *= left;
	p->missed_then = p->missed;

	p->updated = now;
	promise_note(
	    p, (struct promise_slot){ .present = p->most_present }, now);
	p->most_present = t->present;
	p->need = promise_need(p, t);
	p->sure = p->need > 0 && p->steady.seen >= PROMISE_EVIDENCE;
	promise_note(p, (struct promise_slot){ .size = p->need }, now);

	/* The pause halves, each time that it has long been without regret. */
	while (p->pause > 0 && !p->regretted) {
		tstamp due = p->changed + 2 * p->pause + PROMISE_REGRET;

		if (due > now)
			break;
		p->pause = p->pause > PROMISE_TICK ? p->pause / 2 : 0;
		p->changed = due;
	}
}

void
promise_started(struct promise *p, uint32_t size, tspan pace, tstamp now)
{
	tspan pause = MAX(p->pause, pace);

	promise_note(p, (struct promise_slot){ .size = size }, now);
	p->started = now;
	if (p->stopped == 0 || p->regretted ||
	    now - p->stopped >= PROMISE_REGRET)
		return;
	/* The last stop was a mistake: stops come at longer pauses. */
	pause = MAX(pause, PROMISE_TICK);
	p->pause = MIN(2 * pause, PROMISE_PAUSE_MAX);
	p->regretted = true;
	p->changed = now;
}
