/* The connections the program has, and when their sessions are over. */

#include <assert.h>
#include <stdlib.h>

#include "adapter/accept.h"
#include "sys/wire.h"
#include "worker/worker.h"

/* The list grows by so many sessions. */
#define GROWTH 16

/* Many sessions are looked at no oftener than this, each. */
#define LOOK_EACH (MILLISECONDS(1) / 4)

bool
sessions_reserve(struct sessions *s)
{
	struct session *list;

	if (s->len < s->room)
		return true;
	list = reallocarray(s->list, s->room + GROWTH, sizeof(*list));
	if (list == NULL)
		return false;
	s->list = list;
	s->room += GROWTH;
	return true;
}

/* Ends session i; the last one takes its place. */
static void
sessions_end(struct adapter *a, size_t i)
{
	struct sessions *s = &a->sessions;

	assert(i < s->len);
	(void)channel_say_serial(a->channel, WIRE_DONE, s->list[i].serial);
	s->list[i] = s->list[--s->len];
}

void
sessions_end_all(struct adapter *a)
{
	while (a->sessions.len > 0)
		sessions_end(a, a->sessions.len - 1);
}

/* Whether the program still has it; false as well where we may not look. */
static bool
is_open(struct adapter *a, const struct session *s)
{
	if (a->blind)
		return false;
	switch (view_has(s->tid, s->fd, a->listener.fd, s->inode)) {
	case VIEW_YES:
		return true;
	case VIEW_NO:
		return false;
	default:
		a->blind = true;
		daemon_say(a, WIRE_BLIND);
		daemon_say(
		    a, WIRE_STATUS " when its sessions end cannot be seen");
		return false;
	}
}

/*
 * Returns the time from a look at a session of that age to the next: long
 * sessions are looked at seldom. Where the thread comes back anyway, the look
 * is for the case that the thread dies first.
 */
static nanoseconds
interval(const struct adapter *a, nanoseconds age)
{
	static const struct {
		nanoseconds least;
		nanoseconds most;
		int part; /* of the age */
	} pace[] = {
		[MANNER_UNKNOWN] = { MILLISECONDS(1), MILLISECONDS(1000), 4 },
		[MANNER_RETURNS] = { MILLISECONDS(100), MILLISECONDS(1000), 4 },
		[MANNER_POLLS] = { MILLISECONDS(100), MILLISECONDS(1000), 4 },
		[MANNER_HANDS_ON] = { MILLISECONDS(1), MILLISECONDS(50), 8 },
	};
	nanoseconds wait = age / pace[a->manner].part;
	/* With many sessions, looking must not take all the time. */
	nanoseconds most =
	    pace[a->manner].most + (nanoseconds)a->sessions.len * LOOK_EACH;

	if (wait < pace[a->manner].least)
		return pace[a->manner].least;
	return wait < most ? wait : most;
}

void
sessions_begin(struct adapter *a, const struct session *s)
{
	struct session *new = &a->sessions.list[a->sessions.len];

	assert(a->sessions.len < a->sessions.room);
	*new = *s;
	new->began = a->now;
	new->look_at = a->now + interval(a, 0);
	a->sessions.len++;
}

void
sessions_returned(struct adapter *a, const struct call *c)
{
	bool open = false, had = false;

	for (size_t i = a->sessions.len; i-- > 0;) {
		if (a->sessions.list[i].tid != c->tid)
			continue;
		had = true;
		if (is_open(a, &a->sessions.list[i]))
			open = true;
		else if (call_waits(a->program.notify, c))
			sessions_end(a, i);
		else
			/* Killed meanwhile, it has no descriptors left. */
			return;
	}
	if (!had)
		return;
	/* The open descriptor, or its end, shows the program's manner. */
	if (open) {
		a->manner = MANNER_HANDS_ON;
	} else if (a->manner == MANNER_UNKNOWN) {
		if (a->listener.bell == -1)
			a->manner = MANNER_RETURNS;
		else if (a->looked_for)
			a->manner = MANNER_POLLS;
	}
	a->looked_for = false;
}

/* Looks at a session that is due; returns whether it is over. */
static bool
session_look(struct adapter *a, struct session *s)
{
	bool open = is_open(a, s);

	s->look_at = a->now + interval(a, a->now - s->began);
	if (open)
		return false;
	if (a->manner == MANNER_HANDS_ON || !view_lives(s->tid))
		/* The end of the program itself tells more. */
		return !view_is_killed(a->program.pidfd);
	/* A thread that returns needs a moment from closing to accepting. */
	if (s->closed || a->blind) {
		if (a->manner == MANNER_RETURNS)
			a->manner = MANNER_UNKNOWN;
		a->looked_for = true;
		listener_ring(&a->listener);
	}
	s->closed = true;
	return false;
}

void
sessions_look(struct adapter *a)
{
	for (size_t i = a->sessions.len; i-- > 0;)
		if (a->sessions.list[i].look_at <= a->now &&
		    session_look(a, &a->sessions.list[i]))
			sessions_end(a, i);
}

nanoseconds
sessions_next(const struct sessions *s)
{
	nanoseconds next = NEVER;

	for (size_t i = 0; i < s->len; i++)
		if (s->list[i].look_at < next)
			next = s->list[i].look_at;
	return next;
}
