/* The invariants, for tests, simulation and fuzzing. */

#include <assert.h>

#include "core/mechanism.h"

#include "pool_check.h"

/* Sums of a walk over an app's lists. */
struct tally {
	uint32_t in_state[PROCESS_STATES];
	uint32_t expiring;
	uint32_t outdated;
	uint32_t stuck;
	uint32_t apart;
	uint32_t sessions;
	uint32_t prefetched;
	uint32_t busy;
	uint32_t places;
};

static void
check_conns(struct pool *p, uint32_t process, struct tally *t)
{
	const struct process *x = &p->processes[process];
	bool prefetched = false;
	uint32_t n = 0;

	for (uint32_t c = x->conns.first; c != ILIST_NONE;
	     c = p->conn_links[c].next) {
		const struct conn *conn = &p->conns[c];

		assert(conn->process == process && conn->app == x->app);
		assert(conn->state == CONN_HANDED ||
		    (conn->state == CONN_ASSIGNED &&
			x->state != PROCESS_DYING));
		/* Prefetched ones are the last part of the list. */
		prefetched = prefetched || c == x->prefetched;
		assert(conn->prefetched == prefetched);
		t->prefetched += prefetched ? 1 : 0;
		n++;
	}
	assert(prefetched == (x->prefetched != ILIST_NONE));
	assert(n == x->conns.count);
	t->sessions += n;
}

static void
check_process(struct pool *p, uint32_t process, struct tally *t)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];
	bool room = room_has(p, process);

	t->in_state[x->state]++;
	t->expiring += x->expiring ? 1 : 0;
	t->outdated += x->outdated != 0 ? 1 : 0;
	t->busy += x->busy;
	t->places += room_places(p, process);
	t->stuck += x->stuck ? 1 : 0;
	t->apart += x->apart ? 1 : 0;
	assert(x->apart || !x->stuck);
	check_conns(p, process, t);
	switch ((enum process_state)x->state) {
	case PROCESS_STARTING:
		assert(x->home == HOME_STARTING && !x->asked && !x->ready);
		assert(x->conns.count == 0);
		break;
	case PROCESS_IDLE:
	case PROCESS_ACTIVE:
		assert((x->state == PROCESS_IDLE) == (x->conns.count == 0));
		assert(x->ready && !x->asked);
		assert(room ==
		    (x->home >= HOME_PREFETCH && x->home != HOME_LEAVING));
		assert(x->home < HOME_ROOM ||
		    x->home == HOME_ROOM + x->conns.count);
		break;
	case PROCESS_DETACHED:
		assert(x->asked && x->apart && x->step == STEP_NONE);
		assert(x->home == HOME_LEAVING && x->conns.count > 0);
		break;
	default:
		assert(x->home == HOME_LEAVING && x->outdated == 0);
		assert(x->state != PROCESS_STOPPING || x->conns.count == 0);
		break;
	}
	assert(deadlines_get(&p->process_deadlines, process) <=
	    process_live(p, process, false));
	/* Work conservation.  What is handed ahead by choice is not owed. */
	assert(!room || ilist_empty(app_servable(a)) ||
	    (a->options.prefetch_auto && x->home == HOME_PREFETCH));
	assert(x->request_limit == 0 || x->handed <= x->request_limit);
}

static void
check_queue(struct pool *p, uint32_t app, const struct ilist *queue)
{
	const struct app *a = &p->apps[app];
	uint64_t before = 0;
	uint32_t n = 0;

	for (uint32_t c = queue->first; c != ILIST_NONE;
	     c = p->conn_links[c].next) {
		assert(p->conns[c].state == CONN_WAITING);
		assert(p->conns[c].app == app);
		assert(p->conns[c].process == ILIST_NONE);
		assert(!a->options.limited ||
		    p->conns[c].cleared == (queue == &a->cleared));
		assert(p->conns[c].seq > before);
		before = p->conns[c].seq;
		n++;
	}
	assert(n == queue->count);
}

static void
check_ahead(struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp before = 0;

	for (uint32_t c = a->prefetched.first; c != ILIST_NONE;
	     c = p->prefetch_links[c].next) {
		assert(p->conns[c].prefetched && p->conns[c].app == app);
		assert(p->conns[c].handed >= before);
		before = p->conns[c].handed;
	}
	assert(queue_recall_due(p, a) > p->now || a->taking ||
	    deadlines_get(&p->app_deadlines, app) <= p->now);
}

/* All that is possible has been asked for, or has a deadline. */
static void
check_woken(struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	tstamp at = deadlines_get(&p->app_deadlines, app);

	/* An app that has to give a place to another one is looked at now. */
	assert(at <= p->now || at <= settle_steps(p, app, MARK_ALL, false));
	assert(a->intake.accepting != ACCEPTING_PENDING ||
	    !pool_may_accept(p, app) || p->conns_full);
	if (app_is_ending(a) || app_demand(a) == 0)
		return;
	/*
	 * A process, a place, ACTION_RESUME, or time will bring it on; and
	 * the end of leaving processes what they have prefetched.
	 */
	assert(app_processes(a) > 0 || a->places_wanted > 0 ||
	    app_demand(a) == a->prefetched.count ||
	    a->intake.accepting == ACCEPTING_RESUMING || at != TSTAMP_NEVER);
}

static void
check_promise(const struct app *a)
{
	const struct promise *m = &a->promise;

	assert(m->sessions >= 0 && m->time >= 0 && m->square >= 0);
	assert(m->missed >= 0 && m->missed <= m->given);
	assert(!m->sure || m->need > 0);
	assert(m->pause >= 0 && m->pause <= PROMISE_PAUSE_MAX);
}

static void
check_app(struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];
	const struct app_figures *f = &a->figures;
	struct tally t = { .stuck = 0 };

	for (uint32_t n = room_next(p, app, ILIST_NONE); n != ILIST_NONE;
	     n = room_next(p, app, n)) {
		assert(p->processes[n].app == app);
		check_process(p, n, &t);
	}
	for (unsigned s = 0; s < PROCESS_STATES; s++)
		assert(t.in_state[s] == a->in_state[s]);
	assert(t.expiring == a->expiring && t.stuck == a->stuck);
	assert(t.apart == a->apart);
	assert(t.outdated == a->outdated && t.busy == a->busy);
	assert(t.prefetched == a->prefetched.count);
	assert(a->shrinking.victims <= a->shrinking.marked);
	assert(t.sessions == f->sessions);
	check_queue(p, app, &a->queue);
	check_queue(p, app, &a->cleared);
	assert(a->options.limited || ilist_empty(&a->cleared));
	check_ahead(p, app);
	for (uint32_t i = 0; i < a->room.lists; i++) {
		const struct ilist *l = room_list(p, app, i);

		assert(i >= a->room.lowest || ilist_empty(l));
	}
	assert(t.places == a->room.places);
	assert(f->accepted ==
	    f->completed + f->refused + f->timed_out + f->abandoned + f->lost +
		app_waiting(a) + f->sessions + f->parked);
	assert(a->start_time >= 0 && a->growing.pace >= 1);
	assert(sizing_patience(a) <= APP_TOLERANCE * a->options.start_delay);
	check_promise(a);
	assert(!a->leaving.at_rest || a->phase == APP_HELD);
	assert((!a->leaving.at_rest && a->phase != APP_OVER) ||
	    app_living(a) == a->stuck);
	check_woken(p, app);
}

/* A refused connection keeps its number until its REFUSE is taken out. */
static void
check_numbers(struct pool *p, uint32_t held)
{
	uint32_t used = 0, refused = 0;

	for (uint32_t c = 0; c < p->nconns; c++) {
		used += p->conns[c].state != CONN_FREE ? 1 : 0;
		refused += p->conns[c].state == CONN_REFUSED ? 1 : 0;
	}
	assert(used == p->nconns - p->free_conns.count);
	assert(used == held + refused);
}

/*
 * The first app in line, if it has no process, waits for no place that an idle
 * process could give at once.
 */
static void
check_places(struct pool *p)
{
	uint32_t first = p->places.first;

	if (first == ILIST_NONE || app_processes(&p->apps[first]) > 0 ||
	    p->ending > 0)
		return;
	for (uint32_t app = 0; app < p->napps; app++) {
		const struct app *a = &p->apps[app];

		assert(app == first || a->phase == APP_FREE ||
		    ilist_empty(room_list(p, app, 0)) ||
		    bounds_spare(p, a) == 0 || app_waiting(a) > 0 ||
		    a->intake.accepting != ACCEPTING_OPEN);
	}
}

/* Processes whose places are about to be free, or will be in the end. */
static void
check_ending(struct pool *p)
{
	uint32_t ending = 0, promised = 0;

	for (uint32_t n = 0; n < p->nprocesses; n++) {
		const struct process *x = &p->processes[n];

		if (x->apart)
			continue;
		if (x->state == PROCESS_STOPPING || x->state == PROCESS_DYING)
			ending++;
		if (x->state == PROCESS_RETIRING && x->end == END_EVICTED)
			promised++;
	}
	assert(ending == p->ending && promised == p->promised);
}

/* The heap has the earliest deadline first, and each number where it is. */
static void
check_deadlines(const struct deadlines *d)
{
	for (uint32_t i = 0; i < d->count; i++) {
		assert(d->where[d->heap[i].number] == i + 1);
		assert(i == 0 || d->heap[(i - 1) / 2].at <= d->heap[i].at);
	}
}

void
pool_check(struct pool *p)
{
	uint32_t count = 0, living = 0, conns = 0, used = 0, resuming = 0;
	uint32_t wanted = 0, marked = 0, surge = 0, denied = 0;

	for (uint32_t app = 0; app < p->napps; app++) {
		const struct app *a = &p->apps[app];

		if (a->phase == APP_FREE) {
			assert(a->places_wanted == 0);
			assert(deadlines_get(&p->app_deadlines, app) ==
			    TSTAMP_NEVER);
			continue;
		}
		check_app(p, app);
		count += app_processes(a);
		living += app_living(a) - a->apart;
		used += app_living(a);
		resuming += a->intake.accepting == ACCEPTING_RESUMING ? 1 : 0;
		wanted += a->places_wanted;
		marked += a->shrinking.marked;
		surge += a->rollout.surge;
		denied += a->growing.spare == SPARE_DENIED ? 1 : 0;
		conns += app_waiting(a) + a->figures.sessions;
	}
	assert(count == p->count && living == p->living);
	assert(used == p->nprocesses - p->free_processes.count);
	assert(ilist_empty(&p->places) || places_free(p, 0) == 0);
	assert(wanted == p->places_wanted && marked == p->marked &&
	    surge == p->surge);
	assert(denied == p->denied);
	check_ending(p);
	check_places(p);
	assert(!p->conns_full || !tables_have_conn(p) || resuming > 0);
	check_numbers(p, conns);
	assert(p->app_deadlines.count <= p->napps);
	check_deadlines(&p->app_deadlines);
	check_deadlines(&p->process_deadlines);
}
