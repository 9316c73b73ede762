/*
 * The lists of an app's processes: which have room; see enum app_home.
 *
 * `lowest` never lies above a list that has a process: a process that is given
 * a connection moves one list up, so finding the next process looks at one
 * list, rarely at more.
 */

#include <assert.h>

#include "core/mechanism.h"

/* Parts of one processor: how busy a process that listens itself can be. */
#define ROOM_WHOLE 1000

static struct ilist *
room_home(const struct pool *p, uint32_t app, uint32_t home)
{
	return home < HOME_ROOM ? &p->apps[app].room.homes[home - HOME_STARTING]
				: room_list(p, app, home - HOME_ROOM);
}

void
room_init(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	assert(a->options.concurrency >= 1 &&
	    a->options.concurrency + a->options.prefetch <= p->limits.sessions);
	a->room.whole =
	    a->options.listens ? ROOM_WHOLE : a->options.concurrency;
	a->room.lists = a->options.concurrency +
	    (a->options.private_queue ? a->options.prefetch : 0);
	for (uint32_t i = HOME_STARTING; i < HOME_ROOM + a->room.lists; i++)
		ilist_init(room_home(p, app, i));
	a->room.lowest = a->room.lists;
}

/*
 * Sessions that the process may have, and so many further ones; but a process
 * of an old generation may serve fewer at a time than new ones.
 */
static uint32_t
room_most(const struct app *a, const struct process *x, uint32_t further)
{
	return x->generation != a->generation &&
		x->concurrency < a->options.concurrency
	    ? x->concurrency
	    : a->options.concurrency + further;
}

bool
room_has(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];

	return (x->state == PROCESS_IDLE || x->state == PROCESS_ACTIVE) &&
	    !x->cooling && !x->expiring &&
	    x->conns.count < room_most(a, x, a->options.prefetch);
}

uint32_t
room_places(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	const struct app *a = &p->apps[x->app];
	uint32_t most = room_most(a, x, 0);

	if (x->home < HOME_ROOM || x->conns.count >= most)
		return 0;
	return most - x->conns.count;
}

void
room_set_busy(struct pool *p, uint32_t process, uint32_t busy)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint32_t whole = a->room.whole;

	busy = MIN(busy, whole);
	if (busy == x->busy)
		return;
	if (a->busy == 0)
		a->touched |= MARK_LOAD;
	a->busy += busy - x->busy;
	x->busy = busy;
	load_set(&a->load, (double)a->busy / whole, p->now);
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
		a->touched |= MARK_ROOM;
	ilist_remove(room_home(p, x->app, x->home), p->process_links, process);
	a->room.places -= x->places;
	x->places = 0;
	x->home = HOME_NONE;
}

void
room_file(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint32_t from = x->home;
	struct ilist *l;

	if (x->state == PROCESS_ACTIVE)
		room_set_busy(p, process, x->conns.count);
	else if (x->state != PROCESS_IDLE || !a->options.listens)
		room_set_busy(p, process, 0);
	room_unfile(p, process);
	if (x->state == PROCESS_GONE)
		return;
	if (x->state == PROCESS_STARTING)
		x->home = HOME_STARTING;
	else if (x->state >= PROCESS_DETACHED)
		x->home = HOME_LEAVING;
	else if (!room_has(p, process))
		x->home = HOME_BUSY;
	else
		x->home = x->conns.count < a->room.lists
		    ? HOME_ROOM + x->conns.count
		    : HOME_PREFETCH;
	/* The change may give the app room that it did not have. */
	if (x->home >= HOME_PREFETCH && x->home != HOME_LEAVING &&
	    (from < HOME_ROOM || (x->home >= HOME_ROOM && x->home <= from)))
		a->touched |= MARK_ROOM;
	l = room_home(p, x->app, x->home);
	if (x->home >= HOME_ROOM && x->outdated == 0 &&
	    (x->home == HOME_ROOM || !a->options.private_queue))
		ilist_push_front(l, p->process_links, process);
	else
		ilist_push_back(l, p->process_links, process);
	x->places = room_places(p, process);
	a->room.places += x->places;
	if (x->home >= HOME_ROOM && x->home - HOME_ROOM < a->room.lowest)
		a->room.lowest = x->home - HOME_ROOM;
}

uint32_t
room_next(const struct pool *p, uint32_t app, uint32_t process)
{
	uint32_t home = HOME_STARTING, next;

	if (process != ILIST_NONE) {
		next = p->process_links[process].next;
		if (next != ILIST_NONE)
			return next;
		home = p->processes[process].home + 1;
	}
	for (; home < HOME_ROOM + p->apps[app].room.lists; home++)
		if (!ilist_empty(room_home(p, app, home)))
			return room_home(p, app, home)->first;
	return ILIST_NONE;
}

bool
room_put_back(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	if (x->home == HOME_NONE || x->home >= HOME_ROOM + a->room.lists)
		return false;
	ilist_push_back(
	    room_home(p, x->app, x->home), p->process_links, process);
	a->busy += x->busy;
	if (x->home >= HOME_ROOM)
		a->room.lowest = MIN(a->room.lowest, x->home - HOME_ROOM);
	return true;
}
