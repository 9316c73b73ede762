/* When sessions are over, and when the program is to end. */

#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>

#include "adapter/accept_view.h"
#include "adapter/accept_watch.h"
#include "sys/wire.h"
#include "worker/channel.h"

/* A signal may come when the program does not look: it is repeated. */
#define TERM_INTERVAL MILLISECONDS(1000)

/* So often where the daemon, which would kill it in its time, is gone. */
#define TERMS_MAX 10

/* Sessions that last are looked at so seldom, together. */
#define LOOK_EACH (MILLISECONDS(1) / 4)

/* --- sessions ------------------------------------------------------------ */

static void
end(struct adapter *a, size_t i)
{
	(void)channel_say_serial(
	    a->channel, WIRE_DONE, a->sessions.list[i].serial);
	sessions_remove(&a->sessions, i);
}

/* Whether the program still has it; what we may not see it has not. */
static bool
is_open(struct adapter *a, const struct given *g)
{
	static const char blind[] =
	    WIRE_STATUS " when its sessions end cannot be seen";

	if (a->blind)
		return false;
	switch (view_has_socket(g->tid, g->fd, g->inode, a->door.fd)) {
	case VIEW_YES:
		return true;
	case VIEW_NO:
		return false;
	default:
		a->blind = true;
		(void)channel_say(
		    a->channel, WIRE_BLIND, sizeof(WIRE_BLIND) - 1);
		(void)channel_say(a->channel, blind, sizeof(blind) - 1);
		return false;
	}
}

/*
 * Long sessions are looked at seldom.  One of a thread that comes back anyway
 * is looked at in case that it does not live to do so.
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
	/* Nor do we look all the time where there are many. */
	nanoseconds most =
	    pace[a->manner].most + (nanoseconds)a->sessions.len * LOOK_EACH;

	if (wait < pace[a->manner].least)
		return pace[a->manner].least;
	return wait < most ? wait : most;
}

void
watch_begin(struct adapter *a, struct given *g)
{
	g->look_at = a->now + interval(a, 0);
}

bool
watch_wants_bell(const struct adapter *a)
{
	return a->manner == MANNER_POLLS ||
	    (a->blind && a->manner != MANNER_RETURNS);
}

/* The program has told something of its manner. */
static void
learn(struct adapter *a, bool open)
{
	if (open) {
		a->manner = MANNER_HANDS_ON;
	} else if (a->manner == MANNER_UNKNOWN) {
		if (!door_rings(&a->door))
			a->manner = MANNER_RETURNS;
		else if (a->looked_for)
			a->manner = MANNER_POLLS;
	}
	a->looked_for = false;
}

void
watch_returned(struct adapter *a, pid_t tid)
{
	bool open = false, had = false;

	for (size_t i = a->sessions.len; i-- > 0;) {
		if (a->sessions.list[i].tid != tid)
			continue;
		had = true;
		if (is_open(a, &a->sessions.list[i]))
			open = true;
		else
			end(a, i);
	}
	if (had)
		learn(a, open);
}

/* It is time to look at a session; whether it is over. */
static bool
look(struct adapter *a, struct given *g)
{
	bool open = is_open(a, g);

	g->look_at = a->now + interval(a, a->now - g->began);
	if (open)
		return false;
	if (a->manner == MANNER_HANDS_ON || !view_lives(g->tid))
		/* Or of the program itself, whose end tells more. */
		return !view_is_killed(a->program.pidfd);
	/* A thread that returns needs a moment from closing to accepting. */
	if (g->closed || a->blind) {
		if (a->manner == MANNER_RETURNS)
			a->manner = MANNER_UNKNOWN;
		a->looked_for = true;
		door_ring(&a->door);
	}
	g->closed = true;
	return false;
}

/* --- the end ------------------------------------------------------------- */

void
watch_told(struct adapter *a)
{
	a->terms++;
	a->term_at = a->now + TERM_INTERVAL;
}

/* It may be about to end, where a second signal could be one too many. */
static bool
has_missed_it(const struct adapter *a)
{
	return a->waiters.len > 0 || !a->blocks;
}

/* Without it nobody else is left to end a program that does not want to. */
static bool
daemon_is_gone(const struct adapter *a)
{
	struct pollfd p = { .fd = a->channel };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

void
watch_stop(struct adapter *a)
{
	if (!a->stopped || a->sessions.len > 0 || a->held.fd != -1 ||
	    a->now < a->term_at)
		return;
	if (a->terms >= TERMS_MAX && daemon_is_gone(a))
		(void)kill(a->program.pid, SIGKILL);
	else if (a->terms == 0 || has_missed_it(a))
		(void)kill(a->program.pid, SIGTERM);
	/* The threads that it did not reach. */
	if (a->terms > 0)
		waiters_fail(&a->waiters, a->program.notify, EINTR);
	watch_told(a);
}

void
watch_tick(struct adapter *a)
{
	waiters_review(&a->waiters, a->now);
	for (size_t i = a->sessions.len; i-- > 0;)
		if (a->sessions.list[i].look_at <= a->now &&
		    look(a, &a->sessions.list[i]))
			end(a, i);
}

static nanoseconds
least(nanoseconds a, nanoseconds b)
{
	return a < b ? a : b;
}

nanoseconds
watch_next(const struct adapter *a)
{
	nanoseconds next = sessions_next(&a->sessions);

	/* Of those in doubt it matters when there is something to give. */
	if (a->held.fd != -1 || (a->maybe && !a->stopped))
		next = least(next, waiters_next(&a->waiters));
	if (a->stopped && a->term_at < next && a->sessions.len == 0 &&
	    a->held.fd == -1)
		next = a->term_at;
	return next;
}

void
watch_ended(struct adapter *a, int status)
{
	/* Cut off by a signal or a failure they are lost, and so counted. */
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 ||
	    a->sessions.len == 0)
		return;
	/* Or their end would bring us the next one. */
	adapter_retire(a);
	while (a->sessions.len > 0)
		end(a, a->sessions.len - 1);
}
