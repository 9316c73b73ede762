/*
 * One FORK: a template, or a warm worker, is asked to fork a process, which
 * becomes a child of ours (we are its subreaper).
 *
 * A number that is told proves nothing: it may be anybody's. Who the process is
 * the kernel says with its first packet: it must be a child of ours with the
 * user of the app. It may also end unheard, before or after it is named.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/worker.h"
#include "sys/child.h"
#include "sys/fdpass.h"
#include "sys/number.h"
#include "sys/wire.h"

/*
 * Until the process in the middle of the two forks has ended, the new one is
 * its child: it is asked for again after this, or when it has been named.
 */
#define FORK_AGAIN TSPAN_MSECONDS(10)

/* How long a process that was named, or spoke, may be none of our children. */
#define FORK_ORPHAN_TIME TSPAN_SECONDS(1)

/* How long the process of a fork that was given up may take to end. */
#define FORK_GIVEN_UP_TIME TSPAN_SECONDS(60)

/*
 * From the sending of a FORK until its process is known and the answer has
 * come. One that was given up is kept for a while: what it forked may be there
 * all the same, and ends when it sees that its socket is shut.
 */
struct fork {
	TAILQ_ENTRY(fork) next; /* in templates.forks */
	struct supervisor *sup;
	struct worker *w; /* that is forked; NULL: nobody waits for it */
	const struct fork_ops *ops;
	struct worker *by; /* was asked, and may be a template; NULL: is gone */
	uint64_t serial;
	bool answered;
	bool given_up;
	struct loop_io io; /* our end of the channel of the process */
	uid_t uid; /* of the app */
	pid_t session; /* of the process that forks */
	pid_t named; /* the process forked, as that says; 0: not yet */
	tstamp named_at;
	tstamp since;
	struct timer
	    timer; /* who spoke, or was named, may be a child by then */
};

static void
fork_free(struct fork *f)
{
	timer_set(&f->sup->loop.timers, &f->timer, TSTAMP_NEVER);
	TAILQ_REMOVE(&f->sup->templates.forks, f, next);
	free(f);
}

/* The process is known, dead or given up. Returns whose it was to be. */
static struct worker *
fork_settle(struct fork *f, bool given_up)
{
	struct loop *loop = &f->sup->loop;
	struct worker *w = f->w;

	(void)loop_set(loop, &f->io, 0);
	/* Each packet would cost more. */
	(void)fdpass_note_senders(f->io.fd, false);
	w->start.fork = NULL;
	f->w = NULL;
	f->given_up = given_up;
	timer_set(&loop->timers, &f->timer,
	    given_up ? loop_now(loop) + FORK_GIVEN_UP_TIME : TSTAMP_NEVER);
	if (!given_up && (f->answered || f->by == NULL))
		fork_free(f);
	return w;
}

static bool
fork_is_another(const struct fork *f, pid_t pid)
{
	return worker_find(f->sup, pid) != NULL ||
	    worker_is_starting(f->sup, pid);
}

/*
 * A session has processes that one began, and those that they have forked: so
 * what is named there is no stranger, though it may not be the one we wait for.
 */
void
fork_signal(const struct fork *f, int sig)
{
	if (f->named > 1 && reap_is_child(f->named) &&
	    getsid(f->named) == f->session && !fork_is_another(f, f->named))
		(void)child_signal_group(f->named, sig);
}

/*
 * There is no process (pid 0), or not what it should be. One that was named
 * would not be ended by anybody else.
 */
static void
fork_refuse(struct fork *f, pid_t pid, const char *what, tstamp now)
{
	const struct fork_ops *ops = f->ops;
	char why[128];

	if (pid == 0)
		(void)snprintf(why, sizeof(why), "%s", what);
	else
		(void)snprintf(
		    why, sizeof(why), "process %ld %s", (long)pid, what);
	fork_signal(f, SIGKILL);
	ops->refused(fork_settle(f, true), f->by, why, now);
}

static void
fork_died(struct fork *f, const struct reap_death *death, tstamp now)
{
	const struct fork_ops *ops = f->ops;
	struct worker *by = f->by;

	ops->died(fork_settle(f, false), by, death, now);
}

/* Who sends the first packet? */
static void
fork_judge(struct fork *f, tstamp now)
{
	const struct fork_ops *ops = f->ops;
	struct loop *loop = &f->sup->loop;
	struct fdpass_sender who = { 0 };
	ssize_t n = fdpass_next_sender(f->io.fd, &who);

	if (n == -1 && fdpass_is_later(errno))
		return;
	if (n <= 0) {
		fork_refuse(f, 0, "no process has its socket", now);
	} else if (who.pid <= 0 || who.uid != f->uid) {
		fork_refuse(
		    f, who.pid, "of another user speaks for a worker", now);
	} else if (reap_is_child(who.pid)) {
		if (fork_is_another(f, who.pid))
			fork_refuse(f, who.pid, "speaks for another one", now);
		else
			ops->known(fork_settle(f, false), who.pid, now);
	} else if (f->named != 0 && now - f->named_at >= FORK_ORPHAN_TIME) {
		fork_refuse(f, who.pid, "speaks and is no child of ours", now);
	} else {
		/* The process in the middle may not have ended yet. */
		(void)loop_set(loop, &f->io, 0);
		timer_set(&loop->timers, &f->timer, now + FORK_AGAIN);
	}
}

static void
fork_heard(struct loop_io *io, uint32_t events, tstamp now)
{
	(void)events;
	fork_judge(LOOP_OWNER(io, struct fork, io), now);
}

static void
fork_go_on(struct timer *timer, tstamp now)
{
	struct fork *f = TIMER_OWNER(timer, struct fork, timer);

	if (f->given_up) {
		f->given_up = false;
		if (f->answered || f->by == NULL)
			fork_free(f);
		return;
	}
	if (f->io.events == 0)
		fork_judge(f, now);
	else if (!reap_is_child(f->named))
		fork_refuse(
		    f, f->named, "was named and is no child of ours", now);
}

bool
fork_answered(struct worker *by, const char *text, size_t len, tstamp now)
{
	const struct templates *all = &by->sup->templates;
	const struct unknown_exit *x = all->exits;
	const char *end = text + len;
	uint64_t serial, pid;
	struct fork *f;

	if (!number_read(&text, end, &serial) || text == end ||
	    *text++ != ' ' || !number_read(&text, end, &pid) || text != end ||
	    pid > INT32_MAX || (pid == 0 && by->template != NULL))
		return false;
	TAILQ_FOREACH(f, &all->forks, next)
		if (f->by == by && f->serial == serial && !f->answered)
			break;
	if (f == NULL)
		return false;
	f->answered = true;
	if (f->w == NULL) {
		/* It is known already, or was given up. */
		if (!f->given_up)
			fork_free(f);
		return true;
	}
	f->named = (pid_t)pid;
	f->named_at = now;
	while (x < all->exits + TEMPLATE_EXITS &&
	    (x->death.pid != f->named || x->at < f->since))
		x++;
	/*
	 * Who has the number now may have it from one that has ended, and so
	 * is asked for first.
	 */
	if (pid == 0)
		fork_refuse(f, 0, "", now);
	else if (fork_is_another(f, f->named))
		fork_refuse(f, f->named, "was named and is another one", now);
	else if (x < all->exits + TEMPLATE_EXITS)
		fork_died(f, &x->death, now);
	else if (f->timer.at != TSTAMP_NEVER)
		fork_judge(f, now);
	else if (!reap_is_child(f->named))
		timer_set(
		    &f->sup->loop.timers, &f->timer, now + FORK_ORPHAN_TIME);
	return true;
}

bool
fork_begin(struct worker *w, struct worker *by, const struct fork_ops *ops)
{
	struct group *g = w->group;
	struct supervisor *s = g->sup;
	const struct conf_identity *id = &g->conf->program.identity;
	bool keeps = g->conf->program.output == CONF_OUTPUT_LOG;
	int fds[3] = { w->child_end, -1, -1 }, len;
	struct fork *f = calloc(1, sizeof(*f));
	char text[96], slot[16] = WIRE_FORK_TEMPLATE;
	ssize_t sent = -1;

	if (f == NULL)
		return false;
	*f = (struct fork){ .sup = s, .w = w, .ops = ops, .by = by };
	f->serial = ++s->templates.serial;
	f->io = (struct loop_io){ .fd = w->channel.fd, .ready = fork_heard };
	f->uid = id->change ? id->uid : getuid();
	f->session = getsid(by->pid);
	f->since = loop_now(&s->loop);
	timer_init(&f->timer, fork_go_on);
	if (w->template == NULL)
		(void)snprintf(slot, sizeof(slot), "%u", (unsigned)w->slot);
	len = snprintf(text, sizeof(text), WIRE_FORK " %ju %s %s",
	    (uintmax_t)f->serial, w->id, slot);
	if (keeps)
		w->output = keeper_hold(g, w->id, w->process,
		    id->change ? id->uid : (uid_t)-1, fds + 1);
	if (fdpass_note_senders(f->io.fd, true) != -1 &&
	    loop_set(&s->loop, &f->io, EPOLLIN) != -1 &&
	    keeps == (w->output != NULL))
		sent = fdpass_send_many(
		    by->channel.fd, text, (size_t)len, fds, keeps ? 3 : 1);
	keeper_born(w->output);
	if (sent == -1) {
		(void)loop_set(&s->loop, &f->io, 0);
		free(f);
		return false;
	}
	by->pickup.sent += (uint64_t)sent;
	w->start.fork = f;
	TAILQ_INSERT_TAIL(&s->templates.forks, f, next);
	return true;
}

struct worker *
fork_give_up(struct worker *w)
{
	struct fork *f = w->start.fork;

	fork_signal(f, SIGKILL);
	(void)fork_settle(f, true);
	return f->by;
}

bool
fork_owes(const struct worker *by)
{
	const struct fork *f;

	TAILQ_FOREACH(f, &by->sup->templates.forks, next)
		if (f->by == by && !f->answered)
			return true;
	return false;
}

void
fork_refuse_all(struct worker *by, tstamp now)
{
	struct fork *f, *after;

	TAILQ_FOREACH_SAFE(f, &by->sup->templates.forks, next, after) {
		const struct fork_ops *ops = f->ops;

		if (f->by == by && !f->answered && f->w != NULL)
			ops->refused(fork_settle(f, true), NULL, NULL, now);
	}
}

void
fork_forget(const struct worker *by)
{
	struct fork *f, *after;

	TAILQ_FOREACH_SAFE(f, &by->sup->templates.forks, next, after) {
		if (f->by != by)
			continue;
		f->by = NULL;
		if (f->w == NULL && !f->given_up)
			fork_free(f);
	}
}

void
fork_reap(struct supervisor *s, const struct reap_death *death, tstamp now)
{
	struct templates *all = &s->templates;
	pid_t session = TAILQ_EMPTY(&all->forks) ? 0 : getsid(death->pid);
	struct fork *f, *named = NULL;
	bool forked = false;

	/*
	 * Its number may not have been told yet. So its session decides whether
	 * the rest of its group ends with it: that of the one that forks, and
	 * so no other app's.
	 */
	TAILQ_FOREACH(f, &all->forks, next) {
		bool awaited =
		    f->w != NULL && (f->named == 0 || f->named == death->pid);

		if (f->session == session && (awaited || f->given_up))
			forked = true;
		if (awaited && f->named != 0)
			named = f;
	}
	if (forked)
		reap_take(death->pid);
	else
		reap_stranger(death->pid);
	if (named != NULL) {
		fork_died(named, death, now);
	} else if (!TAILQ_EMPTY(&all->forks)) {
		/* It may be named yet. */
		all->exits[all->next_exit] =
		    (struct unknown_exit){ .death = *death, .at = now };
		all->next_exit = (all->next_exit + 1) % TEMPLATE_EXITS;
	}
}

void
fork_fini(struct supervisor *s)
{
	struct fork *f;

	while ((f = TAILQ_FIRST(&s->templates.forks)) != NULL)
		fork_free(f);
}
