/*
 * How many processes an app must and may have now, and when one may start.  And
 * the ceiling over all apps: max_processes places.  Apps that find none free
 * stand in line for one, first come, first served; and other apps give up
 * processes that they can spare.
 *
 * Source: Passenger's ApplicationPool text, where an idle process of another
 * application makes room.  That alone would let an app that is always busy
 * starve the others, and two of them take a place from each other again and
 * again: so a busy app gives, too, but only to an app that has clearly less.
 */

#include "core/mechanism.h"
#include "core/pool.h"

/* Apps in line that are considered at the end of a session, for its cost. */
#define LINE_MAX_LOOK 32

/* --- an app's own bounds -------------------------------------------------- */

uint32_t
bounds_wanted(const struct pool *p, const struct app *a)
{
	uint32_t min = bounds_least(p, a), need;

	if (a->options.target_wait == 0 || !bounds_kept(p, a) || a->renewing)
		return min;
	need = MIN(promise_least(&a->promise), a->options.max_processes);
	/* Processes of one session are needed until their exit. */
	if (a->options.exit_ends)
		need -= MIN(need, a->expiring);
	return need > min ? need : min;
}

uint32_t
bounds_spare(const struct pool *p, const struct app *a)
{
	uint32_t min = bounds_least(p, a) + a->rollout.surge;
	uint32_t n = bounds_lasting(a);

	return n > min ? n - min : 0;
}

uint32_t
bounds_allowed(const struct app *a, uint32_t n)
{
	uint32_t most = bounds_under_own(a);

	/* Failed starts in a row leave a trial now and then. */
	if (a->failed_starts >= a->options.start_limit && most > 0)
		most = a->in_state[PROCESS_STARTING] == 0 ? 1 : 0;
	return MIN(n, most);
}

tstamp
pool_start_gate(const struct app *a)
{
	const struct backoff *b = &a->backoff;
	tspan most = a->options.restart_delay_max;
	tspan min = a->options.restart_delay;
	/* restart_delay_max may have been made shorter meanwhile. */
	tstamp gate =
	    tstamp_min(b->until, tstamp_add(b->failed_at, most + most / 4));

	if (a->failed_starts >= a->options.start_limit)
		gate = tstamp_add(
		    b->failed_at, a->failure.called && min < most ? min : most);
	else if (app_demand(a) > 0 && app_ready(a) == 0 && b->delay != 0)
		gate = tstamp_min(gate, tstamp_add(b->failed_at, min));
	return gate > a->failure.rest_until ? gate : a->failure.rest_until;
}

bool
bounds_paused(const struct pool *p, const struct app *a)
{
	return app_is_ending(a) || p->phase == POOL_ENDING ||
	    pool_start_gate(a) > p->now;
}

/* --- the ceiling over all apps ------------------------------------------- */

uint32_t
places_free(const struct pool *p, uint32_t leaving)
{
	uint32_t used = p->nprocesses - p->free_processes.count - leaving;
	uint32_t living = p->living - leaving;
	uint32_t places =
	    living < p->max_processes ? p->max_processes - living : 0;

	return MIN(places, p->limits.processes - used);
}

uint32_t
pool_may_have(const struct pool *p, uint32_t app, tstamp now)
{
	const struct app *a = &p->apps[app];
	uint64_t n = app_processes(a);

	if (pool_start_gate(a) > now)
		return app_ready(a);
	n += places_free(p, 0);
	for (uint32_t i = 0; i < p->napps; i++)
		if (i != app && p->apps[i].phase != APP_FREE)
			n += MIN(room_list(p, i, 0)->count,
			    bounds_spare(p, &p->apps[i]));
	return (uint32_t)MIN(n, a->options.max_processes);
}

/*
 * Whether one process moved from one app to the other leaves the first with no
 * fewer.  If target_wait tells the needs of both, what each has counts in
 * proportion to its need.
 */
static bool
places_has_more(
    const struct pool *p, const struct app *from, const struct app *to)
{
	uint64_t first = app_processes(from), second = app_processes(to);
	uint64_t first_need = 1, second_need = 1;

	if (second > 0 && from->options.target_wait > 0 &&
	    to->options.target_wait > 0 && promise_least(&from->promise) > 0 &&
	    promise_least(&to->promise) > 0) {
		first_need = bounds_wanted(p, from);
		second_need = bounds_wanted(p, to);
		if (first_need == 0 || second_need == 0)
			first_need = second_need = 1;
	}
	return first > 1 &&
	    (first - 1) * second_need >= (second + 1) * first_need;
}

/* Whether the app can do without a process, and would not soon want it back. */
static bool
places_can_spare(const struct pool *p, const struct app *a)
{
	uint32_t rest = app_ready(a) - 1;
	double work = app_work(a, p->now);

	if (app_demand(a) > 0)
		return false;
	if (a->options.target_wait > 0)
		return rest >= bounds_wanted(p, a) && work <= rest;
	return a->options.load.grow_threshold <= 0 ||
	    100 * work <= a->options.load.grow_threshold * rest;
}

/* The longest idle process that the app can give, or ILIST_NONE. */
static uint32_t
places_idle_to_give(const struct pool *p, uint32_t from, uint32_t to)
{
	const struct app *a = &p->apps[from];
	bool more;

	if (a->phase == APP_FREE || from == to ||
	    ilist_empty(room_list(p, from, 0)) || bounds_spare(p, a) == 0)
		return ILIST_NONE;
	more = places_has_more(p, a, &p->apps[to]);
	/* While connections wait the process would be wanted back at once. */
	if (!more &&
	    (app_waiting(a) > 0 || a->intake.accepting != ACCEPTING_OPEN))
		return ILIST_NONE;
	/* Even a busy app must give to one that has so much less. */
	if (!more && app_processes(&p->apps[to]) > 0 && !places_can_spare(p, a))
		return ILIST_NONE;
	return room_list(p, from, 0)->last;
}

bool
places_evict(struct pool *p, uint32_t to)
{
	uint32_t victim = ILIST_NONE;
	double lowest = 0;

	for (uint32_t app = 0; app < p->napps; app++) {
		uint32_t idle = places_idle_to_give(p, app, to);
		double load;

		if (idle == ILIST_NONE)
			continue;
		load = app_load(&p->apps[app], p->now);
		if (victim == ILIST_NONE || load < lowest ||
		    (load <= lowest &&
			p->processes[idle].used < p->processes[victim].used)) {
			victim = idle;
			lowest = load;
		}
	}
	if (victim == ILIST_NONE)
		return false;
	process_stop(p, victim, END_EVICTED);
	settle_by(p, p->processes[victim].app, p->now);
	return true;
}

void
places_want(struct pool *p, uint32_t app, uint32_t n, bool missing)
{
	struct app *a = &p->apps[app];
	uint32_t wanted = a->places_wanted;

	/* The app keeps its place in the line, unless it goes to the head. */
	if (wanted > 0 && (n == 0 || missing)) {
		a->touched |= MARK_COUNT;
		ilist_remove(&p->places, p->app_links, app);
	}
	if (missing)
		ilist_push_front(&p->places, p->app_links, app);
	else if (n > 0 && wanted == 0)
		ilist_push_back(&p->places, p->app_links, app);
	p->places_wanted += n - wanted;
	a->places_wanted = n;
	while (n > wanted && p->places_wanted > places_free(p, p->ending) &&
	    places_evict(p, app))
		;
}

bool
places_yield(struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];
	uint32_t to, wanted = 0, left = LINE_MAX_LOOK;
	bool spares;

	if (p->places_wanted <= places_free(p, p->ending) ||
	    bounds_spare(p, a) == 0)
		return false;
	/* Retiring processes that were evicted may be enough for the line. */
	if (x->state != PROCESS_IDLE &&
	    p->places_wanted <= places_free(p, p->ending + p->promised))
		return false;
	spares = x->state == PROCESS_IDLE && places_can_spare(p, a);
	/* Processes that leave already serve the apps before the one found. */
	for (to = p->places.first; to != ILIST_NONE && left > 0;
	     to = p->app_links[to].next, left--) {
		if (to == x->app)
			continue;
		wanted += p->apps[to].places_wanted;
		if (wanted <= places_free(p, p->ending) ||
		    (!spares && app_processes(&p->apps[to]) > 0 &&
			!places_has_more(p, a, &p->apps[to])))
			continue;
		/* The apps before it could not have been given this place. */
		ilist_remove(&p->places, p->app_links, to);
		ilist_push_front(&p->places, p->app_links, to);
		process_stop(p, process, END_EVICTED);
		return true;
	}
	return false;
}

void
places_offer(struct pool *p, uint32_t app)
{
	while (!ilist_empty(&p->places) &&
	    p->places_wanted > places_free(p, p->ending)) {
		uint32_t idle = places_idle_to_give(p, app, p->places.first);

		if (idle == ILIST_NONE)
			return;
		process_stop(p, idle, END_EVICTED);
	}
}

/*
 * Other apps give more if another app is the first in line, or has fewer
 * processes, or if a place that it waited for went to a minimum.
 */
void
places_reconsider(struct pool *p)
{
	struct place_cache had = p->place_cache,
			   has = { .app = p->places.first };

	if (has.app != ILIST_NONE) {
		has.processes = app_processes(&p->apps[has.app]);
		has.coming = places_free(p, p->ending);
	}
	p->place_cache = has;
	if (has.app == ILIST_NONE ||
	    (has.app == had.app && has.processes >= had.processes &&
		has.coming >= had.coming))
		return;
	while (p->places_wanted > places_free(p, p->ending) &&
	    places_evict(p, has.app))
		;
}
