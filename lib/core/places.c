/*
 * The ceiling over all apps: max_processes places.  Apps that find none free
 * wait for one, first come, first served; and others give up processes that
 * they can spare.
 *
 * Source: Passenger's ApplicationPool text, where an idle process of another
 * application is stopped to make room.  That alone would let an app that is
 * always busy starve the others, and let two of them take a place from each
 * other again and again, a spawn each time: so a busy app gives, too, but
 * only to one that has clearly less.
 */

#include <assert.h>

#include "core/policy.h"

/* Of those in line: at the end of a session there is no time for more. */
#define LOOKED_AT 32

/* How many places are free when so many have left. */
static uint32_t
free_without(const struct pool *p, uint32_t leaving)
{
	uint32_t used = p->nprocesses - p->free_processes.count - leaving;
	uint32_t table = p->limits.processes - used;
	uint32_t living = p->living - leaving;
	uint32_t places =
	    living < p->max_processes ? p->max_processes - living : 0;

	return places < table ? places : table;
}

uint32_t
places_free(const struct pool *p)
{
	return free_without(p, 0);
}

void
places_drop(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	if (!app_waits_for_place(a))
		return;
	app_touch(a, MARK_COUNT);
	p->wanted -= a->wanted;
	a->wanted = 0;
	ilist_remove(&p->places, p->app_links, app);
}

/*
 * Whether more is waited for than is free, or will be soon by those that are
 * leaving. Of those that have sessions to finish nobody knows when.
 */
static bool
is_short(const struct pool *p)
{
	return p->wanted > free_without(p, p->ending);
}

/* Whether `to` has so much less than `from` that even a busy one must give. */
static bool
is_unfair(const struct app *from, const struct app *to)
{
	return app_processes(to) == 0 ||
	    app_processes(from) >= app_processes(to) + 2;
}

/* Whether the app would not soon want back a process that it gives. */
static bool
can_spare(const struct pool *p, const struct app *a)
{
	uint32_t rest = app_ready(a) - 1;
	double work = app_work(a, p->now);

	return app_demand(a) == 0 &&
	    (a->options.grow_threshold <= 0 ||
		100 * work <= a->options.grow_threshold * rest);
}

/* The longest idle process that the app can give, or ILIST_NONE. */
static uint32_t
gift_of(const struct pool *p, uint32_t from, uint32_t to)
{
	const struct app *a = &p->apps[from];

	if (a->phase == APP_FREE || from == to ||
	    ilist_empty(room_list(p, from, 0)) ||
	    bounds_lasting(a) <= bounds_least(p, a))
		return ILIST_NONE;
	/* With somebody waiting it would be wanted back before it is gone. */
	if ((app_waiting(a) > 0 || app_is_pending(a)) &&
	    app_processes(a) < app_processes(&p->apps[to]) + 2)
		return ILIST_NONE;
	if (!is_unfair(a, &p->apps[to]) && !can_spare(p, a))
		return ILIST_NONE;
	return room_list(p, from, 0)->last;
}

/* Stops an idle process of the least loaded app that can give one. */
static bool
evict(struct pool *p, uint32_t to)
{
	uint32_t victim = ILIST_NONE;
	double least = 0;

	for (uint32_t app = 0; app < p->napps; app++) {
		uint32_t gift = gift_of(p, app, to);
		double load;

		if (gift == ILIST_NONE)
			continue;
		load = app_load(&p->apps[app], p->now);
		if (victim == ILIST_NONE || load < least ||
		    (load <= least &&
			p->processes[gift].used < p->processes[victim].used)) {
			victim = gift;
			least = load;
		}
	}
	if (victim == ILIST_NONE)
		return false;
	(void)lifecycle_stop(p, victim, END_EVICTED);
	tables_revisit(p, p->processes[victim].app);
	return true;
}

void
places_want(struct pool *p, uint32_t app, uint32_t n, bool missing)
{
	struct app *a = &p->apps[app];
	bool more = n > a->wanted;

	assert(n > 0);
	if (app_waits_for_place(a) && !missing) {
		p->wanted += n - a->wanted;
		a->wanted = n;
	} else {
		places_drop(p, app);
		a->wanted = n;
		p->wanted += n;
		if (missing)
			ilist_push_front(&p->places, p->app_links, app);
		else
			ilist_push_back(&p->places, p->app_links, app);
	}
	while (more && is_short(p) && evict(p, app))
		;
}

/*
 * The app that a process of `from` leaves for: the first in line to whom it
 * must give, or can give if it spares one; not itself, nor one for whom those
 * that are leaving set places free.
 */
static uint32_t
heir_of(const struct pool *p, uint32_t from, bool spares)
{
	const struct app *a = &p->apps[from];
	uint32_t to, wanted = 0, left = LOOKED_AT;

	for (to = p->places.first; to != ILIST_NONE && left > 0;
	     to = p->app_links[to].next, left--) {
		if (to == from)
			continue;
		wanted += p->apps[to].wanted;
		if (wanted > free_without(p, p->ending) &&
		    (spares || is_unfair(a, &p->apps[to])))
			return to;
	}
	return ILIST_NONE;
}

bool
places_yield(struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];
	uint32_t heir;

	if (!is_short(p) || bounds_lasting(a) <= bounds_least(p, a))
		return false;
	/* One that has other sessions does not leave beside one that does. */
	if (x->state != PROCESS_IDLE &&
	    p->wanted <= free_without(p, p->ending + p->promised))
		return false;
	heir = heir_of(p, x->app, x->state == PROCESS_IDLE && can_spare(p, a));
	if (heir == ILIST_NONE)
		return false;
	/* Who stands before it could not have been given this place. */
	ilist_remove(&p->places, p->app_links, heir);
	ilist_push_front(&p->places, p->app_links, heir);
	(void)lifecycle_stop(p, process, END_EVICTED);
	return true;
}

void
places_offer(struct pool *p, uint32_t app)
{
	while (!ilist_empty(&p->places) && is_short(p)) {
		uint32_t gift = gift_of(p, app, p->places.first);

		if (gift == ILIST_NONE)
			return;
		(void)lifecycle_stop(p, gift, END_EVICTED);
	}
}

/*
 * Another one is the first in line, or has less, or what it waited for went
 * to a minimum: it may be given more.
 */
void
places_reconsider(struct pool *p)
{
	struct place_cache had = p->place_cache,
			   has = { .app = p->places.first };

	if (has.app != ILIST_NONE) {
		has.processes = app_processes(&p->apps[has.app]);
		has.coming = free_without(p, p->ending);
	}
	p->place_cache = has;
	if (has.app == ILIST_NONE ||
	    (has.app == had.app && has.processes >= had.processes &&
		has.coming >= had.coming))
		return;
	while (is_short(p) && evict(p, has.app))
		;
}
