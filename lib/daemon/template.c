/*
 * The templates of apps: their start and end, what they say, and what they, or
 * warm workers, are asked to fork.
 *
 *		is ready	is late			is dead
 * starting	ready		leaves, a failure	gone, a failure
 * ready	a failure	leaves, a failure	gone, a failure
 * leaving	-		is killed, stuck	gone
 * stuck	-		-			gone
 *
 * After a failure workers are started by themselves until the next template is
 * ready, which is started after a pause.
 */

#include <sys/socket.h>

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/action.h"
#include "daemon/carry.h"
#include "daemon/worker.h"
#include "sys/fdpass.h"
#include "sys/number.h"
#include "sys/wire.h"

/* How long a template may take for one fork; at most half of start_timeout. */
#define TEMPLATE_FORK_TIME TSPAN_SECONDS(5)
/* A template that has shut its socket is dead by then, and says why. */
#define TEMPLATE_SILENCE TSPAN_SECONDS(1)
/* Until a worker is asked again, where there was no room for a template. */
#define TEMPLATE_REFORK_PAUSE TSPAN_SECONDS(1)

/*
 * Until the process in the middle of the two forks has ended, the new one is
 * its child: it is asked for again after this, or when it has been named. It
 * may be none of our children for so long in all.
 */
#define FORK_AGAIN TSPAN_MSECONDS(10)
#define FORK_ORPHAN_TIME TSPAN_SECONDS(1)
/* How long the process of a fork that was given up may take to end. */
#define FORK_GIVEN_UP_TIME TSPAN_SECONDS(60)

static void __attribute__((format(printf, 3, 4)))
template_fail(struct template *t, tstamp now, const char *fmt, ...);

/* --- one fork ---------------------------------------------------------- */

/*
 * A template, or a warm worker, is asked by FORK for a process that becomes a
 * child of ours: it forks twice, and we are its subreaper. The number that it
 * tells proves nothing: a template that was taken over could name a worker of
 * another app, and have it killed or counted as its own. Who the process is the
 * kernel says with its first packet: it must be a child of ours with the user
 * of the app, and nobody we know. One that does not speak in time is not looked
 * for, but sees the end of its channel. It may also end unheard, before or
 * after it is named: then the latest unknown dead, by the time of their death,
 * tell whose end that was.
 *
 * A fork lasts until its process is known and the answer has come. One that was
 * given up is kept for a while: its process may be there all the same.
 */
struct fork {
	TAILQ_ENTRY(fork) next; /* in templates.forks */
	struct supervisor *sup;
	struct worker *w; /* that is forked; NULL: nobody waits for it */
	struct worker *by; /* was asked, and may be a template; NULL: is gone */
	uint64_t serial; /* 0: the answer has come */
	struct loop_io io; /* our end of the channel of the process */
	uid_t uid; /* of the app */
	pid_t session; /* of the process that forks */
	pid_t named; /* the process forked, as that says; 0: not yet */
	tstamp named_at;
	tstamp since;
	struct timer timer; /* the next look; without w: it was given up */
};

/* Frees it where nothing of it is to come any more. */
static void
fork_over(struct fork *f)
{
	if (f->w != NULL || f->timer.at != TSTAMP_NEVER ||
	    (f->serial != 0 && f->by != NULL))
		return;
	TAILQ_REMOVE(&f->sup->templates.forks, f, next);
	free(f);
}

/*
 * The process is known by its number, or (0) is given up: then a worker is
 * started by itself, or freed. Else returns whose process it is.
 */
static struct worker *
fork_settle(struct fork *f, pid_t pid, tstamp now)
{
	struct loop *loop = &f->sup->loop;
	struct worker *w = f->w;

	(void)loop_set(loop, &f->io, 0);
	/* Each packet would cost more. */
	(void)setsockopt(
	    f->io.fd, SOL_SOCKET, SO_PASSCRED, &(int){ 0 }, sizeof(int));
	if (w->template == NULL)
		w->group->starts.n--;
	w->start.fork = NULL;
	f->w = NULL;
	timer_set(&loop->timers, &f->timer,
	    pid == 0 ? now + FORK_GIVEN_UP_TIME : TSTAMP_NEVER);
	fork_over(f);
	if (pid != 0)
		worker_started(w, pid, now);
	else if (w->template == NULL)
		start_unforked(w, now);
	return w;
}

/* The process is of no use to an app whose template forked it. */
static void
fork_blame(struct worker *by, const char *why, tstamp now)
{
	/* A former template, or a worker, is not killed for it. */
	if (by != NULL && by->template != NULL &&
	    by->template->state == TEMPLATE_READY)
		template_fail(by->template, now, "is killed: %s", why);
}

/*
 * A session has processes that one began, and those that they have forked: so
 * what is named there is no stranger, though it may not be the one we wait for.
 */
void
fork_signal(const struct fork *f, int sig)
{
	if (f->named > 1 && reap_is_child(f->named) &&
	    getsid(f->named) == f->session &&
	    worker_find(f->sup, f->named) == NULL)
		(void)child_signal(f->named, sig, true);
}

/* A process that was named would not be ended by anybody else. */
void
fork_refuse(struct fork *f, pid_t pid, const char *what, tstamp now)
{
	struct template *t = f->w->template;
	struct worker *by = f->by;
	char why[128];

	(void)strlcpy(why, what, sizeof(why));
	if (pid != 0)
		(void)snprintf(
		    why, sizeof(why), "process %ld %s", (long)pid, what);
	fork_signal(f, SIGKILL);
	(void)fork_settle(f, 0, now);
	if (t != NULL)
		template_fail(t, now, "could not be forked%s%s",
		    why[0] == '\0' ? "" : ": ", why);
	else
		fork_blame(by, why, now);
}

/* The process has ended, unheard, and is reaped. */
static void
fork_died(struct fork *f, const struct reap_death *death, tstamp now)
{
	struct worker *by = f->by, *w = f->w;
	const struct process *x;
	bool failed = false;

	if (w->template == NULL) {
		x = &f->sup->pool.processes[w->process];
		failed = !x->asked || x->end == END_START_TIMEOUT;
	}
	w->start.signal = 0;
	(void)fork_settle(f, death->pid, now);
	death_begin(w, death, now);
	/* Things that the template has loaded may be of no use elsewhere. */
	if (failed)
		fork_blame(by, "what it forked ends before it is ready", now);
}

/*
 * ready() of fork.io, and whenever more is known of the process: the number
 * that its first packet comes with, or else the one that it was named with, and
 * whether that has ended. events 0: the time for this is over.
 */
static void
fork_look(struct loop_io *io, uint32_t events, tstamp now)
{
	struct fork *f = LOOP_OWNER(io, struct fork, io);
	const struct unknown_exit *x = f->sup->templates.exits;
	const struct unknown_exit *end = x + TEMPLATE_EXITS;
	struct ucred who = { 0 };
	ssize_t n = fdpass_next_sender(f->io.fd, &who);
	bool silent = n <= 0;
	bool shut = n == 0 || (n == -1 && !fdpass_is_later(errno));
	pid_t pid = silent ? f->named : who.pid;
	struct worker *w;

	while (x < end && (x->death.pid != pid || x->at < f->since))
		x++;
	/*
	 * What has the number now may have it from a process that has ended,
	 * and so is asked for first.
	 */
	if (!silent && (pid <= 0 || who.uid != f->uid)) {
		fork_refuse(f, pid, "of another user speaks for a worker", now);
	} else if (pid != 0 && worker_find(f->sup, pid) != NULL) {
		fork_refuse(f, pid,
		    silent ? "was named and is another one"
			   : "speaks for another one",
		    now);
	} else if (pid != 0 && x < end) {
		fork_died(f, &x->death, now);
	} else if (shut && events == 0) {
		fork_refuse(f, 0, "no process has its socket", now);
	} else if (shut) {
		/* Whose end that was, or by what, may not be known yet. */
		(void)loop_set(&f->sup->loop, &f->io, 0);
		timer_set(
		    &f->sup->loop.timers, &f->timer, now + FORK_ORPHAN_TIME);
	} else if (pid != 0 && reap_is_child(pid)) {
		if (silent)
			return;
		/* The worker has this number, and its packets can be read. */
		w = fork_settle(f, pid, now);
		w->channel.ready(&w->channel, EPOLLIN, now);
	} else if (f->named != 0 && now - f->named_at >= FORK_ORPHAN_TIME) {
		fork_refuse(f, pid,
		    silent ? "was named and is no child of ours"
			   : "speaks and is no child of ours",
		    now);
	} else if (pid != 0) {
		/* The process in the middle may not have ended yet. */
		if (!silent)
			(void)loop_set(&f->sup->loop, &f->io, 0);
		timer_set(&f->sup->loop.timers, &f->timer,
		    silent ? now + FORK_ORPHAN_TIME : now + FORK_AGAIN);
	}
}

static void
fork_due(struct timer *timer, tstamp now)
{
	struct fork *f = TIMER_OWNER(timer, struct fork, timer);

	if (f->w != NULL)
		fork_look(&f->io, 0, now);
	else
		fork_over(f);
}

bool
fork_answered(struct worker *by, const char *text, size_t len, tstamp now)
{
	const char *end = text + len;
	uint64_t serial, pid;
	struct fork *f;

	if (!number_read(&text, end, &serial) || text == end ||
	    *text++ != ' ' || !number_read(&text, end, &pid) || text != end ||
	    serial == 0 || pid > INT32_MAX ||
	    (pid == 0 && by->template != NULL))
		return false;
	TAILQ_FOREACH(f, &by->sup->templates.forks, next)
		if (f->by == by && f->serial == serial)
			break;
	if (f == NULL)
		return false;
	f->serial = 0;
	f->named = (pid_t)pid;
	f->named_at = now;
	if (f->w == NULL)
		fork_over(f);
	else if (pid == 0)
		fork_refuse(f, 0, "", now);
	else
		fork_look(&f->io, EPOLLIN, now);
	return true;
}

/*
 * Has `by` fork the worker or template, whose ends of the channel and of its
 * output go with the message. False: there is no room.
 */
static bool
fork_begin(struct worker *w, struct worker *by)
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
	*f = (struct fork){ .sup = s, .w = w, .by = by };
	f->serial = ++s->templates.serial;
	f->io = (struct loop_io){ .fd = w->channel.fd, .ready = fork_look };
	f->uid = id->change ? id->uid : getuid();
	f->session = getsid(by->pid);
	f->since = loop_now(&s->loop);
	timer_init(&f->timer, fork_due);
	if (w->template == NULL)
		(void)snprintf(slot, sizeof(slot), "%u", (unsigned)w->slot);
	len = snprintf(text, sizeof(text), WIRE_FORK " %ju %s %s",
	    (uintmax_t)f->serial, w->id, slot);
	if (keeps)
		w->output = keeper_hold(g, w->id, w->process, fds + 1);
	if (setsockopt(f->io.fd, SOL_SOCKET, SO_PASSCRED, &(int){ 1 },
		sizeof(int)) != -1 &&
	    loop_set(&s->loop, &f->io, EPOLLIN) != -1 &&
	    keeps == (w->output != NULL))
		sent = fdpass_send_many(
		    by->channel.fd, text, (size_t)len, fds, keeps ? 3 : 1);
	keeper_ends_given(w->output);
	if (sent == -1) {
		(void)loop_set(&s->loop, &f->io, 0);
		free(f);
		return false;
	}
	by->pickup.sent += (uint64_t)sent;
	if (w->template == NULL)
		g->starts.n++;
	w->start.fork = f;
	TAILQ_INSERT_TAIL(&s->templates.forks, f, next);
	return true;
}

bool
fork_is_asked(const struct worker *by)
{
	const struct fork *f;

	TAILQ_FOREACH(f, &by->sup->templates.forks, next)
		if (f->by == by && f->serial != 0)
			return true;
	return false;
}

void
fork_forget(const struct worker *by)
{
	struct fork *f, *after;

	TAILQ_FOREACH_SAFE(f, &by->sup->templates.forks, next, after)
		if (f->by == by) {
			f->by = NULL;
			fork_over(f);
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
		if (f->w != NULL && f->named == death->pid)
			named = f;
		if (f->session == session &&
		    (f->w == NULL ? f->timer.at != TSTAMP_NEVER
				  : f == named || f->named == 0))
			forked = true;
	}
	reap_take(death->pid, forked);
	if (TAILQ_EMPTY(&all->forks))
		return;
	/* The fork may be named yet. */
	all->exits[all->next_exit] =
	    (struct unknown_exit){ .death = *death, .at = now };
	all->next_exit = (all->next_exit + 1) % TEMPLATE_EXITS;
	if (named != NULL)
		fork_look(&named->io, EPOLLIN, now);
}

/* --- the end of a template --------------------------------------------- */

static void
template_patience(struct template *t, tspan span)
{
	struct loop *loop = &t->w->sup->loop;

	timer_set(&loop->timers, &t->timer, tstamp_add(loop_now(loop), span));
}

/* An app that is at rest, or over (NULL: gone), may have waited for its end. */
static void
template_gone(struct group *g)
{
	if (g != NULL && g->over)
		apps_over(g->sup,
		    &(struct action){ .kind = ACTION_OVER, .app = g->app },
		    loop_now(&g->sup->loop));
	else if (g != NULL && (g->hold.muted || g->hold.stopped))
		app_cgroup_leave(g);
}

static void
template_free(struct template *t)
{
	struct worker *w = t->w;
	struct group *g = w->group;

	if (w->start.fork != NULL) {
		fork_signal(w->start.fork, SIGKILL);
		(void)fork_settle(w->start.fork, 0, loop_now(&w->sup->loop));
	}
	timer_set(&w->sup->loop.timers, &t->timer, TSTAMP_NEVER);
	TAILQ_REMOVE(&w->sup->templates.all, t, next);
	free(t);
	worker_free(w);
	template_gone(g);
}

bool
template_leaves(const struct group *g)
{
	const struct template *t;

	TAILQ_FOREACH(t, &g->sup->templates.all, next)
		if (t->w->group == g && t->state != TEMPLATE_STUCK)
			return true;
	return false;
}

/*
 * The template is freed when it has ended; one without a number at once.
 * Workers that it has not forked yet are started by themselves.
 */
static void
template_leave(struct template *t, bool killed, tstamp now)
{
	struct worker *w = t->w;
	struct templating *of = w->group->templating;
	struct fork *f, *after;

	t->state = TEMPLATE_LEAVING;
	if (of->current == t)
		of->current = NULL;
	if (of->coming == t)
		of->coming = NULL;
	if (killed)
		worker_signal(w, SIGKILL);
	else
		(void)fdpass_send(
		    w->channel.fd, WIRE_STOP, sizeof(WIRE_STOP) - 1, -1);
	channel_close(w);
	template_patience(t, w->group->conf->pool.kill_timeout);
	TAILQ_FOREACH_SAFE(f, &w->sup->templates.forks, next, after)
		if (f->by == w && f->serial != 0 && f->w != NULL)
			(void)fork_settle(f, 0, now);
	if (w->pid == 0 && w->start.result == NULL)
		template_free(t);
}

/*
 * The template is of no use, and leaves. Where a worker was to fork it while
 * another one is at work, none is asked for a while, and that is all.
 */
static void
template_fail(struct template *t, tstamp now, const char *fmt, ...)
{
	struct worker *w = t->w;
	struct templating *of = w->group->templating;
	const struct app_options *o = &w->group->conf->pool;
	bool current = of->current == t || of->current == NULL;
	pid_t pid = w->pid != 0 ? w->pid : w->leaving.death.pid;
	char number[32] = "";
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(of->failure, sizeof(of->failure), fmt, ap);
	va_end(ap);
	if (pid != 0)
		(void)snprintf(number, sizeof(number), " (pid %ld)", (long)pid);
	/* Once; a start without it fails likewise, and tells. */
	tell_app(w->group,
	    of->told || (pid == 0 && t->from[0] == '\0') ? LOG_LEVEL_DEBUG
							 : LOG_LEVEL_WARN,
	    EVENT_FAILURE, NULL, "template %s%s %s%s", w->id, number,
	    of->failure, current ? ": processes are started without it" : "");
	of->told = true;
	of->failures++;
	if (t->from[0] != '\0')
		of->refork_at = tstamp_add(now, o->restart_delay_max);
	if (t->from[0] == '\0' || current) {
		of->failed = true;
		if (now - t->begun >= o->min_server_life)
			of->backoff = (struct backoff){ 0 };
		backoff_failed(&of->backoff, t->begun, o->restart_delay,
		    o->restart_delay_max, &of->prng, now);
		timer_set(&w->sup->loop.timers, &of->timer, of->backoff.until);
	}
	template_leave(t, true, now);
}

void
template_tried(struct template *t, const char *why, tstamp now)
{
	struct worker *w = t->w;
	bool dead = w->leaving.death.pid != 0;

	if (w->child_end != -1)
		close(w->child_end);
	w->child_end = -1;
	if (t->state >= TEMPLATE_LEAVING && why != NULL)
		template_free(t);
	else if (t->state >= TEMPLATE_LEAVING)
		/* The template's socket is shut; but it may not look there. */
		worker_signal(w, SIGKILL);
	else if (why == NULL)
		template_patience(t, w->group->conf->pool.start_timeout);
	else
		template_fail(t, now, "%s%s", why,
		    dead && t->state == TEMPLATE_STARTING
			? " before it was ready"
			: "");
}

static void
template_late(struct timer *timer, tstamp now)
{
	struct template *t = TIMER_OWNER(timer, struct template, timer);

	if (t->state >= TEMPLATE_LEAVING) {
		/* Stuck in the kernel, perhaps: it delays nothing. */
		worker_signal(t->w, SIGKILL);
		t->state = TEMPLATE_STUCK;
		template_gone(t->w->group);
	} else if (t->silent) {
		template_fail(t, now, "is killed: it has shut its socket");
	} else if (t->state == TEMPLATE_READY) {
		template_fail(t, now, "is killed: it does not fork");
	} else {
		template_fail(t, now, "is killed: it was not ready within %g s",
		    tspan_to_seconds(now - t->begun));
	}
}

/* --- what it says ------------------------------------------------------ */

static void
template_serve(struct template *t, tstamp now)
{
	struct group *g = t->w->group;
	struct templating *of = g->templating;
	struct template *former = of->current;
	struct worker *w;

	t->state = TEMPLATE_READY;
	template_patience(t, TSTAMP_NEVER);
	of->coming = NULL;
	of->current = t;
	tell_app(g, LOG_LEVEL_INFO, of->told ? EVENT_RECOVERY : EVENT_READY,
	    NULL, "template %s (pid %ld) is ready after %.3f s%s%s", t->w->id,
	    (long)t->w->pid, tspan_to_seconds(now - t->begun),
	    t->from[0] == '\0' ? "" : ", forked by worker ", t->from);
	of->told = false;
	of->failure[0] = '\0';
	if (former != NULL)
		template_leave(former, false, now);
	if (t->from[0] == '\0')
		return;
	/*
	 * Workers of older templates leave, one after the other, for new ones;
	 * not the one that forked it: pages that it has loaded are shared.
	 */
	TAILQ_FOREACH(w, &g->workers, next)
		if (strcmp(w->id, t->from) != 0)
			pool_replace(&g->sup->pool, w->process, now);
}

/* Sets the timer if a fork is not answered. */
static void
template_arm(struct template *t)
{
	tspan limit = t->w->group->conf->pool.start_timeout / 2;

	template_patience(t,
	    fork_is_asked(t->w) ? tstamp_min(limit, TEMPLATE_FORK_TIME)
				: TSTAMP_NEVER);
}

/* ready() of its channel: reads a packet, which may be its end. */
static void
template_heard(struct loop_io *io, uint32_t events, tstamp now)
{
	const size_t fail = strlen(WIRE_FAIL), forked = strlen(WIRE_FORKED " "),
		     unfit = strlen(WIRE_UNFIT " ");
	struct worker *w = LOOP_OWNER(io, struct worker, channel);
	struct template *t = w->template;
	struct templating *of = w->group->templating;
	struct timers *timers = &w->sup->loop.timers;
	bool started = t->from[0] == '\0';
	char packet[WIRE_MAX + 1];
	struct fdpass_got got;
	ssize_t n = fdpass_recv(io->fd, packet, WIRE_MAX, MSG_DONTWAIT, &got);
	size_t len = n < 0 ? 0 : (size_t)n;

	(void)events;
	if (n == -1 && fdpass_is_later(errno))
		return;
	for (size_t i = 0; n != -1 && i < got.nfds; i++)
		keeper_close(w->group->keeper, got.fds[i], false);
	packet[len] = '\0';
	if (n <= 0) {
		/* The end of the process tells more, if it comes. */
		t->silent = true;
		(void)loop_set(&w->sup->loop, io, 0);
		template_patience(t, TEMPLATE_SILENCE);
	} else if (got.nfds > 0 || got.lost_fds || got.truncated) {
		template_fail(
		    t, now, "is killed: it sent a descriptor, or too much");
	} else if (len == strlen(WIRE_READY) &&
	    memcmp(packet, WIRE_READY, len) == 0 &&
	    t->state == TEMPLATE_STARTING) {
		template_serve(t, now);
	} else if (len >= fail && memcmp(packet, WIRE_FAIL, fail) == 0 &&
	    (len == fail || packet[fail] == ' ')) {
		template_fail(t, now, "cannot go on:%.200s", packet + fail);
	} else if (len > unfit && memcmp(packet, WIRE_UNFIT " ", unfit) == 0) {
		template_fail(
		    t, now, "cannot be forked: %.200s", packet + unfit);
		/* Another one could not be forked either, until a restart. */
		if (started) {
			of->backoff.until = TSTAMP_NEVER;
			timer_set(timers, &of->timer, TSTAMP_NEVER);
		}
	} else if (len > forked &&
	    memcmp(packet, WIRE_FORKED " ", forked) == 0 &&
	    fork_answered(w, packet + forked, len - forked, now)) {
		if (t->state == TEMPLATE_READY)
			template_arm(t);
	} else {
		template_fail(t, now, "is killed: it broke the protocol");
	}
}

/* --- its start --------------------------------------------------------- */

/* The template has a worker, and is on the list; false and errno. */
static bool
template_begin(struct template *t, struct group *g)
{
	t->w = worker_new(g, WORKER_TEMPLATE);
	if (t->w == NULL)
		return false;
	t->timer.fire = template_late;
	t->w->template = t;
	t->w->channel.ready = template_heard;
	TAILQ_INSERT_TAIL(&g->sup->templates.all, t, next);
	return true;
}

/* A template with a channel; NULL and errno. */
static struct template *
template_new(struct group *g, tstamp now)
{
	struct template *t = malloc(sizeof(*t));

	if (t == NULL)
		return NULL;
	*t = (struct template){ .begun = now, .timer.at = TSTAMP_NEVER };
	if (!template_begin(t, g)) {
		free(t);
		return NULL;
	}
	if (channel_open(t->w) == 0)
		return t;
	template_free(t);
	return NULL;
}

/* --- the templates of an app ------------------------------------------- */

/* The template that workers of this generation come from; NULL: none. */
static struct template *
template_of(const struct group *g, uint32_t generation)
{
	const struct templating *of = g->templating;
	struct template *t = of == NULL ? NULL : of->current;

	if (t == NULL || t->silent || of->generation != generation)
		return NULL;
	/* A template whose output is not read would end by that. */
	if (g->conf->program.output == CONF_OUTPUT_LOG &&
	    (t->w->output == NULL || t->w->output->ends[0] == -1))
		return NULL;
	return t;
}

bool
template_fork(struct worker *w)
{
	struct template *t = template_of(
	    w->group, w->sup->pool.processes[w->process].generation);

	if (t == NULL || !fork_begin(w, t->w))
		return false;
	if (t->timer.at == TSTAMP_NEVER)
		template_arm(t);
	w->group->templating->forked++;
	return true;
}

/*
 * The worker is asked if the template at work is to be replaced, and the worker
 * stays, and holds no connection, or will not before it has read what is sent
 * now, as its session is over.
 */
void
template_served(struct worker *w, tstamp now)
{
	struct group *g = w->group;
	struct templating *of = g->templating;
	const struct process *x = &w->sup->pool.processes[w->process];
	struct template *t;

	if (of == NULL || g->conf->refork_after == 0 ||
	    x->requests < g->conf->refork_after || of->coming != NULL ||
	    now < of->refork_at || w->pid == 0)
		return;
	t = template_of(g, w->sup->pool.apps[g->app].generation);
	if (t == NULL || t->from[0] != '\0' ||
	    x->generation != of->generation || x->outdated != 0 ||
	    x->expiring ||
	    (x->state != PROCESS_IDLE &&
		(x->state != PROCESS_ACTIVE || x->concurrency != 1)))
		return;
	of->refork_at = now + TEMPLATE_REFORK_PAUSE;
	t = template_new(g, now);
	if (t == NULL)
		return;
	if (!fork_begin(t->w, w)) {
		template_free(t);
		return;
	}
	memcpy(t->from, w->id, sizeof(t->from));
	of->coming = t;
	template_tried(t, NULL, now);
}

void
template_update(struct group *g, tstamp now)
{
	struct templating *of = g->templating;
	uint32_t generation = g->sup->pool.apps[g->app].generation;
	bool none = g->closing || g->hold.muted || g->hold.stopped ||
	    g->conf->broken != NULL || !g->conf->template ||
	    (g->conf->handoff == CONF_HANDOFF_ACCEPT && !group_has_library(g));
	struct template *t;

	if (of == NULL)
		return;
	if (none || !of->begun || of->generation != generation) {
		timer_set(&g->sup->loop.timers, &of->timer, TSTAMP_NEVER);
		if (of->coming != NULL)
			template_leave(of->coming, false, now);
		if (of->current != NULL)
			template_leave(of->current, false, now);
		of->begun = !none;
		if (none)
			return;
		of->generation = generation;
		of->failed = false;
		of->refork_at = now;
		of->backoff = (struct backoff){ 0 };
	}
	t = of->current;
	if (t != NULL && !t->silent && template_of(g, generation) == NULL)
		template_fail(t, now, "has lost its keeper");
	if (of->current != NULL || of->coming != NULL)
		return;
	/* After a failure there is a pause. */
	if (now >= of->backoff.until) {
		t = template_new(g, now);
		if (t != NULL && start_program(t->w) == 0) {
			of->coming = t;
			return;
		}
		if (t != NULL)
			template_free(t);
		/* There is no room. */
		of->failed = true;
		of->backoff.until =
		    tstamp_add(now, g->conf->pool.restart_delay);
	}
	timer_set(&g->sup->loop.timers, &of->timer, of->backoff.until);
}

static void
template_go_on(struct timer *timer, tstamp now)
{
	template_update(
	    TIMER_OWNER(timer, struct templating, timer)->group, now);
}

void
template_configure(struct group *g, tstamp now)
{
	struct templating *of = g->templating;
	struct template *t;

	if (!g->conf->template || g->closing) {
		if (of == NULL)
			return;
		template_update(g, now);
		TAILQ_FOREACH(t, &g->sup->templates.all, next)
			if (t->w->group == g)
				t->w->group = NULL;
		free(of);
		g->templating = NULL;
		return;
	}
	if (of == NULL) {
		of = calloc(1, sizeof(*of));
		if (of == NULL) {
			log_warn("%s: it has no template", g->conf->name);
			return;
		}
		of->group = g;
		of->prng.state = arc4random();
		timer_init(&of->timer, template_go_on);
		g->templating = of;
	}
	/* In this turn its listeners are opened. */
	timer_advance(&g->sup->loop.timers, &of->timer, now);
}

/* --- carried over ------------------------------------------------------ */

static bool
templating_restore(struct carry *c, struct group *g, void *record)
{
	return g->templating != NULL && carry_copy(c, g->templating, record);
}

#define F(m) CARRY(struct templating, m)
static const struct carry_field templating_fields[] = { F(begun), F(generation),
	F(failed), F(told), F(backoff.delay), F(backoff.failed_at),
	F(backoff.until), F(refork_at), F(forked), F(failures),
	CARRY_TEXT(struct templating, failure),
	CARRY_TIMER(struct templating, timer) };
#undef F

static bool
template_restore(struct carry *c, struct group *g, void *record)
{
	struct template *t = record, **place;
	struct templating *of = g->templating;

	if (of == NULL || t->state > TEMPLATE_READY)
		return false;
	place = t->state == TEMPLATE_READY ? &of->current : &of->coming;
	if (*place != NULL || !template_begin(t, g))
		return false;
	*place = t;
	c->template = t->w;
	return true;
}

static const struct carry_field template_fields[] = { CARRY(struct template,
							  state),
	CARRY_TEXT(struct template, from), CARRY(struct template, silent),
	CARRY(struct template, begun), CARRY_TIMER(struct template, timer) };

static void
template_carry(struct carry *c, const struct group *g)
{
	const struct template *t;

	if (g->templating == NULL)
		return;
	carry_put(c, CARRIED_TEMPLATING, g->app, g->templating);
	TAILQ_FOREACH(t, &c->sup->templates.all, next)
		if (t->w->group == g) {
			carry_put(c, CARRIED_TEMPLATE, g->app, t);
			worker_carry(c, t->w);
		}
}

static const char *
template_busy(const struct supervisor *s)
{
	const struct template *t;

	if (!TAILQ_EMPTY(&s->templates.forks))
		return "a template is forking";
	TAILQ_FOREACH(t, &s->templates.all, next)
		if (t->state > TEMPLATE_READY || t->w->pid == 0)
			return "a template is starting or leaving";
	return NULL;
}

CARRY_KIND(carry_templating, "templating", struct templating, templating_fields,
    .of_app = true, .restore = templating_restore, .put_app = template_carry);

CARRY_KIND(carry_template, "template", struct template, template_fields,
    .of_app = true, .made = true, .restore = template_restore,
    .busy = template_busy);
