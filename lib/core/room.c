/*
 * The lists of an app's processes: which have room, and which is next.
 *
 * A ready process with room is on the room list of as many sessions as it
 * has; see app.h.  `lowest` never lies above a list that has a process: a
 * process that is given a connection moves one list up, so finding the next
 * process looks at one list, rarely at more.
 */

#include <assert.h>

#include "core/mechanism.h"

/* Parts of one processor: how busy a process that listens itself can be. */
#define ROOM_WHOLE 1000

struct ilist *
room_list(const struct pool *p, uint32_t app, uint32_t sessions)
{
	return &p->rooms[(size_t)app * p->limits.sessions + sessions];
}

/* Sessions that a process may be given. */
static uint32_t
capacity(const struct app *a)
{
	return a->options.concurrency + a->options.prefetch;
}

uint32_t
room_lists(const struct app *a)
{
	return a->options.private_queue ? capacity(a) : a->options.concurrency;
}

static struct ilist *
list_at(const struct pool *p, uint32_t app, uint32_t home)
{
	return home < HOME_ROOM ? &p->apps[app].homes[home - HOME_STARTING]
				: room_list(p, app, home - HOME_ROOM);
}

void
room_init(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	assert(
	    a->options.concurrency >= 1 && capacity(a) <= p->limits.sessions);
	for (uint32_t i = HOME_STARTING; i < HOME_ROOM + room_lists(a); i++)
		ilist_init(list_at(p, app, i));
	a->lowest = room_lists(a);
}

/* A process of an old generation may serve fewer at a time than new ones. */
static bool
is_bounded(const struct app *a, const struct process *x)
{
	return x->generation != a->generation &&
	    x->concurrency < a->options.concurrency;
}

bool
room_has(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];

	return (x->state == PROCESS_IDLE || x->state == PROCESS_ACTIVE) &&
	    !x->cooling && !x->expiring &&
	    process_sessions(x) <
	    (is_bounded(a, x) ? x->concurrency : capacity(a));
}

static uint32_t
home_of(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];

	switch ((enum process_state)x->state) {
	case PROCESS_STARTING:
		return HOME_STARTING;
	case PROCESS_IDLE:
	case PROCESS_ACTIVE:
		if (!room_has(p, process))
			return HOME_BUSY;
		if (process_sessions(x) < room_lists(&p->apps[x->app]))
			return HOME_ROOM + process_sessions(x);
		return HOME_PREFETCH;
	case PROCESS_DETACHED:
	case PROCESS_RETIRING:
	case PROCESS_STOPPING:
	case PROCESS_DYING:
		return HOME_LEAVING;
	default:
		return HOME_NONE;
	}
}

uint32_t
room_places(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];
	uint32_t most =
	    is_bounded(a, x) ? x->concurrency : a->options.concurrency;

	if (x->home < HOME_ROOM || process_sessions(x) >= most)
		return 0;
	return most - process_sessions(x);
}

uint32_t
room_whole(const struct app *a)
{
	return a->options.listens ? ROOM_WHOLE : a->options.concurrency;
}

void
room_set_busy(struct pool *p, uint32_t process, uint32_t busy)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint32_t whole = room_whole(a);

	if (busy > whole)
		busy = whole;
	if (busy == x->busy)
		return;
	if (a->busy == 0)
		app_touch(a, MARK_LOAD);
	a->busy += busy - x->busy;
	x->busy = busy;
	load_set(&a->load, (double)a->busy / whole, p->now);
}

/* The sessions of the process that keep it busy have changed. */
static void
count_busy(struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];

	if (x->state == PROCESS_ACTIVE)
		room_set_busy(p, process, process_sessions(x));
	else if (x->state != PROCESS_IDLE || !p->apps[x->app].options.listens)
		room_set_busy(p, process, 0);
}

void
room_unfile(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	if (x->home == HOME_NONE)
		return;
	if (x->home == HOME_ROOM &&
	    p->process_links[process].next == ILIST_NONE)
		app_touch(a, MARK_ROOM);
	ilist_remove(list_at(p, x->app, x->home), p->process_links, process);
	a->places -= x->places;
	x->places = 0;
	x->home = HOME_NONE;
}

/* Whether the process stands before those that are on its list already. */
static bool
goes_first(const struct app *a, const struct process *x)
{
	if (x->home < HOME_ROOM || x->outdated != 0)
		return false;
	return x->home == HOME_ROOM || !a->options.private_queue;
}

/* Whether a move to this list may give the app room that it did not have. */
static bool
gains(uint32_t from, uint32_t to)
{
	if (to < HOME_PREFETCH || to == HOME_LEAVING)
		return false;
	return from < HOME_ROOM || (to >= HOME_ROOM && to <= from);
}

void
room_file(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint32_t from = x->home;
	struct ilist *l;

	count_busy(p, process);
	room_unfile(p, process);
	x->home = home_of(p, process);
	if (gains(from, x->home))
		app_touch(a, MARK_ROOM);
	if (x->home == HOME_NONE)
		return;
	l = list_at(p, x->app, x->home);
	if (goes_first(a, x))
		ilist_push_front(l, p->process_links, process);
	else
		ilist_push_back(l, p->process_links, process);
	x->places = room_places(p, process);
	a->places += x->places;
	if (x->home >= HOME_ROOM && x->home - HOME_ROOM < a->lowest)
		a->lowest = x->home - HOME_ROOM;
}

/* The process that was used longest ago, of the newest generation. */
static uint32_t
least_recent(const struct pool *p, const struct ilist *l)
{
	uint32_t n = l->last;

	while (n != l->first && p->processes[n].outdated != 0)
		n = p->process_links[n].prev;
	return n;
}

/* Whether the session of the process is not a long one yet. */
static bool
is_brief(const struct pool *p, const struct app *a, uint32_t process)
{
	uint32_t conn = p->processes[process].conns.first;

	return p->now - p->conns[conn].begun <= 2 * a->usual;
}

/*
 * The process that is handed a connection ahead: the one that was given one
 * least recently.  Where the pool decides by itself, none is whose session
 * has lasted long already.
 */
static uint32_t
best_ahead(const struct pool *p, const struct app *a)
{
	const struct ilist *l = app_home(a, HOME_PREFETCH);

	if (!a->options.prefetch_auto || ilist_empty(l))
		return l->first;
	if (!app_prefetches(a))
		return ILIST_NONE;
	if (is_brief(p, a, l->first))
		return l->first;
	return is_brief(p, a, l->last) ? l->last : ILIST_NONE;
}

uint32_t
room_best(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	for (; a->lowest < room_lists(a); a->lowest++) {
		struct ilist *l = room_list(p, app, a->lowest);

		if (ilist_empty(l))
			continue;
		/* A blind process may still have what it was given last. */
		if (p->processes[l->first].blind &&
		    goes_first(a, &p->processes[l->first]))
			return least_recent(p, l);
		return l->first;
	}
	return best_ahead(p, a);
}

bool
room_exists(const struct pool *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	for (uint32_t i = a->lowest; i < room_lists(a); i++)
		if (!ilist_empty(room_list(p, app, i)))
			return true;
	/* Time may take the place behind a session away before it is used. */
	return !a->options.prefetch_auto && best_ahead(p, a) != ILIST_NONE;
}

/* The first process on the lists from `home` on. */
static uint32_t
first_from(const struct pool *p, uint32_t app, uint32_t home)
{
	for (; home < HOME_ROOM + room_lists(&p->apps[app]); home++) {
		struct ilist *l = list_at(p, app, home);

		if (!ilist_empty(l))
			return l->first;
	}
	return ILIST_NONE;
}

uint32_t
room_first(const struct pool *p, uint32_t app)
{
	return first_from(p, app, HOME_STARTING);
}

uint32_t
room_next(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	uint32_t next = p->process_links[process].next;

	if (next != ILIST_NONE)
		return next;
	return first_from(p, x->app, x->home + 1);
}
