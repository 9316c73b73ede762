/* Processes that others have been asked to fork for us. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/forking.h"
#include "sys/child.h"
#include "sys/fdpass.h"

/*
 * Until the process in the middle of the two forks has ended, the new one is
 * its child: it is asked for again after this, or when it has been named.
 */
#define AGAIN TSPAN_MSECONDS(10)

/* How long a process that was named, or spoke, may be none of our children. */
#define ORPHAN_PATIENCE TSPAN_SECONDS(1)

/*
 * The process is not what it should be: what the one that forks is told of.
 * The process that was named would not be ended by anybody else.
 */
static void
refuse(struct forking *f, pid_t pid, const char *what, tstamp now)
{
	char why[128];

	(void)forking_signal(f, SIGKILL);
	(void)snprintf(why, sizeof(why), "process %ld %s", (long)pid, what);
	f->ops->refused(f, why, now);
}

/* The process in the middle may not have ended yet. */
static void
await_orphan(struct forking *f, pid_t pid, tstamp now)
{
	if (f->named != 0 && now - f->named_at >= ORPHAN_PATIENCE) {
		refuse(f, pid, "speaks and is no child of ours", now);
		return;
	}
	(void)loop_set(&f->sup->loop, f->channel, 0);
	timer_set(&f->sup->loop.timers, &f->again, now + AGAIN);
}

static void
judge(struct forking *f, tstamp now)
{
	struct fdpass_sender who = { 0 };
	ssize_t n = fdpass_next_sender(f->channel->fd, &who);

	if (n == -1 && fdpass_is_later(errno))
		return;
	if (n <= 0) {
		f->ops->refused(f, "no process has its socket", now);
		return;
	}
	if (who.pid <= 0 || who.uid != f->uid) {
		refuse(f, who.pid, "of another user speaks for a worker", now);
		return;
	}
	if (!reap_is_child(who.pid)) {
		await_orphan(f, who.pid, now);
		return;
	}
	(void)loop_set(&f->sup->loop, f->channel, EPOLLIN);
	if (f->ops->is_taken(f->sup, who.pid))
		refuse(f, who.pid, "speaks for another one", now);
	else
		f->ops->known(f, who.pid, now);
}

static void
ask_again(struct timer *t, tstamp now)
{
	struct forking *f = TIMER_OWNER(t, struct forking, again);

	if (f->channel->events == 0)
		judge(f, now);
	else if (!reap_is_child(f->named))
		refuse(f, f->named, "was named and is no child of ours", now);
}

int
forking_begin(struct forking *f, struct supervisor *s, struct loop_io *channel,
    uid_t uid, pid_t session, const struct forking_ops *ops)
{
	*f = (struct forking){ .sup = s,
		.ops = ops,
		.serial = ++s->fork_serial,
		.channel = channel,
		.uid = uid,
		.session = session,
		.since = loop_now(&s->loop) };
	timer_init(&f->again, ask_again);
	if (fdpass_note_senders(channel->fd, true) == -1 ||
	    loop_set(&s->loop, channel, EPOLLIN) == -1)
		return -1;
	TAILQ_INSERT_TAIL(&s->forkings, f, next);
	return 0;
}

void
forking_end(struct forking *f)
{
	struct supervisor *s = f->sup;

	if (f->order != NULL)
		f->order->forking = NULL;
	/* Each packet would cost more. */
	if (f->channel->fd != -1)
		(void)fdpass_note_senders(f->channel->fd, false);
	timer_set(&s->loop.timers, &f->again, TSTAMP_NEVER);
	TAILQ_REMOVE(&s->forkings, f, next);
	if (TAILQ_EMPTY(&s->forkings))
		memset(s->exits, 0, sizeof(s->exits));
}

void
forking_heard(struct forking *f, tstamp now)
{
	judge(f, now);
}

/* Whether the process has ended since it was asked for. */
static bool
find_exit(const struct forking *f, struct reap_death *out)
{
	const struct unknown_exit *x = f->sup->exits;

	for (unsigned i = 0; i < UNKNOWN_EXITS; i++) {
		if (x[i].death.pid == f->named && x[i].at >= f->since) {
			*out = x[i].death;
			return true;
		}
	}
	return false;
}

void
forking_named(struct forking *f, pid_t pid, tstamp now)
{
	struct reap_death death;

	f->named = pid;
	f->named_at = now;
	if (find_exit(f, &death))
		f->ops->died(f, &death, now);
	else if (f->ops->is_taken(f->sup, pid))
		refuse(f, pid, "was named and is another one", now);
	else if (f->again.at != TSTAMP_NEVER)
		judge(f, now);
	else if (!reap_is_child(pid))
		timer_set(
		    &f->sup->loop.timers, &f->again, now + ORPHAN_PATIENCE);
}

void
forking_exited(struct supervisor *s, const struct reap_death *death, tstamp now)
{
	struct forking *f;

	if (TAILQ_EMPTY(&s->forkings))
		return;
	TAILQ_FOREACH(f, &s->forkings, next) {
		if (f->named == death->pid) {
			f->ops->died(f, death, now);
			return;
		}
	}
	s->exits[s->next_exit] =
	    (struct unknown_exit){ .death = *death, .at = now };
	s->next_exit = (s->next_exit + 1) % UNKNOWN_EXITS;
}

/*
 * A session has processes that one began, and those that they have forked: so
 * what is named there is no stranger, though it may not be the one we wait for.
 */
static bool
is_ours(const struct forking *f)
{
	return f->named > 1 && reap_is_child(f->named) &&
	    getsid(f->named) == f->session &&
	    !f->ops->is_taken(f->sup, f->named);
}

bool
forking_signal(const struct forking *f, int sig)
{
	if (!is_ours(f))
		return false;
	(void)child_signal_group(f->named, sig);
	return true;
}
