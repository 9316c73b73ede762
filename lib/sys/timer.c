/* Timers in a red-black tree, by their time and the order of setting. */

#include <assert.h>

#include "sys/timer.h"
#include "sys/turn.h"

/* libbsd's tree.h uses it in static functions and does not define it. */
#ifndef __unused
#define __unused __attribute__((unused))
#endif

static int
compare(const struct timer *a, const struct timer *b)
{
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

RB_GENERATE_STATIC(timer_tree, timer, entry, compare)

void
timers_init(struct timers *all)
{
	RB_INIT(&all->tree);
	all->seq = 0;
}

void
timer_init(struct timer *t, void (*fire)(struct timer *, tstamp now))
{
	*t = (struct timer){ .at = TSTAMP_NEVER, .fire = fire };
}

void
timer_set(struct timers *all, struct timer *t, tstamp at)
{
	struct timer *other;

	if (t->at != TSTAMP_NEVER)
		RB_REMOVE(timer_tree, &all->tree, t);
	t->at = at;
	if (at == TSTAMP_NEVER)
		return;
	t->seq = ++all->seq;
	other = RB_INSERT(timer_tree, &all->tree, t);
	assert(other == NULL);
}

void
timer_advance(struct timers *all, struct timer *t, tstamp at)
{
	if (at < t->at)
		timer_set(all, t, at);
}

tstamp
timers_first(struct timers *all)
{
	const struct timer *first = RB_MIN(timer_tree, &all->tree);

	return first == NULL ? TSTAMP_NEVER : first->at;
}

/* The first that is due and was set before this call; NULL: there is none. */
static struct timer *
next_due(struct timers *all, uint64_t seq, tstamp now)
{
	struct timer *t;

	RB_FOREACH(t, timer_tree, &all->tree) {
		if (t->at > now)
			return NULL;
		if (t->seq <= seq)
			return t;
	}
	return NULL;
}

void
timers_fire(struct timers *all, tstamp now)
{
	uint64_t seq = all->seq;
	struct timer *t;

	while ((t = next_due(all, seq, now)) != NULL) {
		timer_set(all, t, TSTAMP_NEVER);
		turn_for(TURN_NO_APP);
		t->fire(t, now);
	}
}
