/*
 * Where the processes of an app are filed: who has room, and who is next.
 *
 * A ready process with room is on the room list of as many sessions as it
 * has, its most recently used first.  `lowest` never lies above a list that
 * has a process: a process that is given a connection moves one list up, so
 * finding the next one looks at one list, rarely at more.
 */

#include <assert.h>

#include "core/pool_private.h"

struct ilist *
room_list(const struct pool *p, uint32_t app, uint32_t sessions)
{
	return &p->rooms[(size_t)app * p->limits.sessions + sessions];
}

void
room_init(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	assert(a->options.concurrency >= 1 &&
	    a->options.concurrency <= p->limits.sessions);
	for (uint32_t i = 0; i < a->options.concurrency; i++)
		ilist_init(room_list(p, app, i));
	a->lowest = a->options.concurrency;
}

bool
room_has(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];

	return (x->state == PROCESS_IDLE || x->state == PROCESS_ACTIVE) &&
	    !x->cooling && !x->expiring &&
	    process_sessions(x) < p->apps[x->app].options.concurrency;
}

static uint32_t
room_home(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];

	switch ((enum process_state)x->state) {
	case PROCESS_STARTING:
		return HOME_STARTING;
	case PROCESS_IDLE:
	case PROCESS_ACTIVE:
		if (room_has(p, process))
			return HOME_ROOM + process_sessions(x);
		return HOME_BUSY;
	case PROCESS_RETIRING:
	case PROCESS_STOPPING:
	case PROCESS_DYING:
		return HOME_LEAVING;
	default:
		return HOME_NONE;
	}
}

static struct ilist *
room_at(const struct pool *p, uint32_t app, uint32_t home)
{
	switch (home) {
	case HOME_STARTING:
		return &p->apps[app].starting;
	case HOME_BUSY:
		return &p->apps[app].busy;
	case HOME_LEAVING:
		return &p->apps[app].leaving;
	default:
		assert(home >= HOME_ROOM);
		return room_list(p, app, home - HOME_ROOM);
	}
}

/* How many more sessions fit into a process of this room list. */
static uint32_t
room_places(const struct app *a, uint32_t home)
{
	return a->options.concurrency - (home - HOME_ROOM);
}

void
room_unfile(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];

	if (x->home == HOME_NONE)
		return;
	ilist_remove(room_at(p, x->app, x->home), p->process_links, process);
	if (x->home >= HOME_ROOM)
		a->places -= room_places(a, x->home);
	x->home = HOME_NONE;
}

void
room_file(struct pool *p, uint32_t process)
{
	struct process *x = &p->processes[process];
	struct app *a = &p->apps[x->app];
	uint32_t home = room_home(p, process);

	room_unfile(p, process);
	x->home = home;
	if (home == HOME_NONE)
		return;
	if (home < HOME_ROOM) {
		ilist_push_back(
		    room_at(p, x->app, home), p->process_links, process);
		return;
	}
	ilist_push_front(room_at(p, x->app, home), p->process_links, process);
	a->places += room_places(a, home);
	if (home - HOME_ROOM < a->lowest)
		a->lowest = home - HOME_ROOM;
}

uint32_t
room_best(struct pool *p, uint32_t app)
{
	struct app *a = &p->apps[app];

	for (; a->lowest < a->options.concurrency; a->lowest++) {
		struct ilist *l = room_list(p, app, a->lowest);

		if (!ilist_empty(l))
			return l->first;
	}
	return ILIST_NONE;
}

/* The first process of the lists from `home` on. */
static uint32_t
room_from(const struct pool *p, uint32_t app, uint32_t home)
{
	for (; home < HOME_ROOM + p->apps[app].options.concurrency; home++) {
		struct ilist *l = room_at(p, app, home);

		if (!ilist_empty(l))
			return l->first;
	}
	return ILIST_NONE;
}

uint32_t
room_first(const struct pool *p, uint32_t app)
{
	return room_from(p, app, HOME_STARTING);
}

uint32_t
room_next(const struct pool *p, uint32_t process)
{
	const struct process *x = &p->processes[process];
	uint32_t next = p->process_links[process].next;

	if (next != ILIST_NONE)
		return next;
	return room_from(p, x->app, x->home + 1);
}
