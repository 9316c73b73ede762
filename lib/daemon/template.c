/* Templates: their start, what they are asked and say, their end. */

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/closing.h"
#include "daemon/template.h"
#include "sys/fdpass.h"
#include "sys/number.h"
#include "sys/wire.h"

/* How long a template may take for one fork; at most half of start_timeout. */
#define FORK_PATIENCE TSPAN_SECONDS(5)

/* A template that has shut its socket is dead by then, and says why. */
#define SILENCE TSPAN_SECONDS(1)

/* Packets read from one template in one turn at most. */
#define TURN 16

static void arm(struct app_template *t, tstamp now);

static struct timers *
timers_of(struct supervisor *s)
{
	return &s->loop.timers;
}

/* --- coming and going ---------------------------------------------------- */

static void
hang_up(struct app_template *t)
{
	int fd = t->channel.fd;

	if (fd == -1)
		return;
	(void)loop_set(&t->sup->loop, &t->channel, 0);
	(void)shutdown(fd, SHUT_RDWR);
	t->channel.fd = -1;
	if (t->refuses || t->group == NULL)
		close(fd);
	else
		closing_give(t->group, fd);
}

void
template_free(struct app_template *t)
{
	assert(TAILQ_EMPTY(&t->open) && t->start == NULL);
	if (t->unknown)
		forking_end(&t->birth);
	hang_up(t);
	if (t->its_end != -1)
		close(t->its_end);
	kept_leave(&t->output);
	timer_set(timers_of(t->sup), &t->timer, TSTAMP_NEVER);
	TAILQ_REMOVE(&t->sup->templates, t, next);
	free(t);
}

/* The order is answered. Returns the process it was for; NULL: none waits. */
static struct forking *
close_order(struct app_template *t, struct fork_order *o)
{
	struct forking *f = o->forking;

	TAILQ_REMOVE(&t->open, o, next);
	free(o);
	if (f != NULL)
		f->order = NULL;
	return f;
}

/* Workers that it has not forked yet are started in another way. */
static void
refuse_open(struct app_template *t, tstamp now)
{
	struct fork_order *o;
	struct forking *f;

	while ((o = TAILQ_FIRST(&t->open)) != NULL) {
		f = close_order(t, o);
		if (f != NULL)
			f->ops->refused(f, NULL, now);
	}
}

/* Kills it with its group; one that is not known yet, if that can be. */
static void
kill_template(struct app_template *t)
{
	pid_t starting = t->start == NULL ? 0 : t->start->result.pid;

	if (t->dead)
		return;
	if (t->pid != 0)
		(void)child_signal_group(t->pid, SIGKILL);
	else if (starting != 0)
		(void)child_signal(starting, SIGKILL);
	else if (t->unknown)
		(void)forking_signal(&t->birth, SIGKILL);
}

void
template_leave(struct app_template *t, bool killed, tstamp now)
{
	t->state = TEMPLATE_LEAVING;
	t->kill_timeout = t->group->conf->kill_timeout;
	if (killed)
		kill_template(t);
	else
		(void)fdpass_send(
		    t->channel.fd, WIRE_STOP, sizeof(WIRE_STOP) - 1, -1);
	hang_up(t);
	timer_set(
	    timers_of(t->sup), &t->timer, tstamp_add(now, t->kill_timeout));
	refuse_open(t, now);
	if (t->unknown)
		template_free(t);
}

void
template_fail(struct app_template *t, tstamp now, const char *fmt, ...)
{
	char text[TEMPLATE_FAILURE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	t->ops->failed(t, text, now);
	template_leave(t, true, now);
}

/* --- its start ------------------------------------------------------------ */

static void lose_patience(struct timer *timer, tstamp now);

struct app_template *
template_new(struct group *g, const struct template_ops *ops, tstamp now)
{
	struct app_template *t = calloc(1, sizeof(*t));
	int ends[2];

	if (t == NULL)
		return NULL;
	if (fdpass_pair(ends) == -1) {
		free(t);
		return NULL;
	}
	t->sup = g->sup;
	t->group = g;
	t->ops = ops;
	t->channel.fd = ends[0];
	t->channel.ready = template_heard;
	t->its_end = ends[1];
	t->refuses = fdpass_refuse(ends[0]);
	t->born = now;
	worker_make_id(t->id);
	kept_init(&t->output, KEPT_NO_PROCESS, t->id);
	timer_init(&t->timer, lose_patience);
	TAILQ_INIT(&t->open);
	TAILQ_INSERT_TAIL(&g->sup->templates, t, next);
	return t;
}

/* Its start is over, well or not; it may have been told to leave meanwhile. */
static void
start_done(struct lane_job *job, tstamp now)
{
	struct start *start = LOOP_OWNER(job, struct start, job);
	struct app_template *t = start->owner;
	struct supervisor *s = t->sup;
	bool failed = start_failed(start);
	char why[256];

	t->start = NULL;
	close(t->its_end);
	t->its_end = -1;
	if (failed)
		start_explain(start, why, sizeof(why));
	else
		t->pid = t->session = start->result.pid;
	start_free(start, s, now);
	if (failed) {
		t->unstarted = true;
		if (t->state == TEMPLATE_STARTING)
			template_fail(t, now, "%s", why);
		template_free(t);
		return;
	}
	if (t->state != TEMPLATE_STARTING) {
		/* Its socket is shut; but it may not look there. */
		kill_template(t);
		return;
	}
	(void)loop_set(&s->loop, &t->channel, EPOLLIN);
	timer_set(timers_of(s), &t->timer,
	    tstamp_add(now, t->group->conf->start_timeout));
}

struct app_template *
template_start(struct group *g, const struct template_ops *ops, tstamp now)
{
	struct app_template *t = template_new(g, ops, now);
	struct environment_of of = { .group = g, .slot = ENVIRONMENT_TEMPLATE };

	if (t == NULL)
		return NULL;
	of.id = t->id;
	of.child_end = &t->its_end;
	of.output = &t->output;
	if (keeper_get(g, now) == NULL ||
	    (t->start = start_new(&of, t, start_done)) == NULL) {
		template_free(t);
		return NULL;
	}
	lane_submit(&g->sup->spawner, &t->start->job);
	return t;
}

/* --- forking -------------------------------------------------------------- */

ssize_t
template_send_fork(struct group *g, int to, struct kept *output, int its_end,
    const char *text, size_t len)
{
	const struct conf_identity *id = &g->conf->identity;
	int fds[3] = { its_end, -1, -1 };
	ssize_t sent;

	if (g->conf->output != CONF_OUTPUT_LOG)
		return fdpass_send(to, text, len, its_end);
	if (kept_hold(g, output, id->change ? id->uid : (uid_t)-1, fds + 1) ==
	    -1)
		return -1;
	/* The worker may be a new one, in the place of one that died. */
	keeper_start_alone(keeper_current(g));
	sent = fdpass_send_many(to, text, len, fds, 3);
	close(fds[1]);
	close(fds[2]);
	if (sent == -1)
		kept_leave(output);
	return sent;
}

uid_t
template_user(const struct group *g)
{
	const struct conf_identity *id = &g->conf->identity;

	return id->change ? id->uid : getuid();
}

/* 0, or -1: there is no room. */
static int
send_order(struct app_template *t, struct forking *f, struct worker *w)
{
	struct fork_order *o = calloc(1, sizeof(*o));
	char text[96];
	int len;

	if (o == NULL)
		return -1;
	len = snprintf(text, sizeof(text), WIRE_FORK " %ju %s %u",
	    (uintmax_t)f->serial, w->id, (unsigned)w->slot);
	if (template_send_fork(t->group, t->channel.fd, &w->output,
		w->child_end, text, (size_t)len) == -1) {
		free(o);
		return -1;
	}
	o->serial = f->serial;
	o->forking = f;
	f->order = o;
	TAILQ_INSERT_TAIL(&t->open, o, next);
	return 0;
}

int
template_ask(struct app_template *t, struct forking *f, struct worker *w,
    const struct forking_ops *ops)
{
	if (forking_begin(f, t->sup, &w->channel, template_user(t->group),
		t->session, ops) == -1)
		return -1;
	if (send_order(t, f, w) == -1) {
		forking_end(f);
		return -1;
	}
	if (t->timer.at == TSTAMP_NEVER)
		arm(t, loop_now(&t->sup->loop));
	return 0;
}

/* --- what it says --------------------------------------------------------- */

/* Sets the timer for the oldest fork that is not answered. */
static void
arm(struct app_template *t, tstamp now)
{
	tspan limit = t->group->conf->start_timeout;

	if (limit / 2 < FORK_PATIENCE)
		limit /= 2;
	else
		limit = FORK_PATIENCE;
	timer_set(timers_of(t->sup), &t->timer,
	    TAILQ_EMPTY(&t->open) ? TSTAMP_NEVER : tstamp_add(now, limit));
}

static void
on_ready(struct app_template *t, tstamp now)
{
	t->state = TEMPLATE_READY;
	timer_set(timers_of(t->sup), &t->timer, TSTAMP_NEVER);
	t->ops->ready(t, now);
}

/* "SERIAL PID" behind the verb. */
static bool
parse_forked(const char *at, const char *end, uint64_t *serial, uint64_t *pid)
{
	return number_read(&at, end, serial) && at < end && *at++ == ' ' &&
	    number_read(&at, end, pid) && at == end && *pid <= INT32_MAX;
}

/* False: that was not asked. */
static bool
on_forked(struct app_template *t, uint64_t serial, pid_t pid, tstamp now)
{
	struct fork_order *o;
	struct forking *f;

	TAILQ_FOREACH(o, &t->open, next)
		if (o->serial == serial)
			break;
	if (o == NULL || pid == 0)
		return false;
	f = close_order(t, o);
	arm(t, now);
	if (f != NULL)
		forking_named(f, pid, now);
	return true;
}

static bool
begins(const char *packet, size_t len, const char *verb)
{
	size_t n = strlen(verb);

	return len >= n && memcmp(packet, verb, n) == 0 &&
	    (len == n || packet[n] == ' ');
}

static void
on_fail(struct app_template *t, const char *packet, size_t len, tstamp now)
{
	size_t verb = strlen(WIRE_FAIL " ");
	size_t n = len < verb ? 0 : len - verb;

	template_fail(t, now, "cannot go on: %.*s", (int)(n > 200 ? 200 : n),
	    packet + (len < verb ? len : verb));
}

static void
take_packet(struct app_template *t, const char *packet, size_t len, tstamp now)
{
	const char *forked = packet + sizeof(WIRE_FORKED);
	uint64_t serial, pid;

	if (begins(packet, len, WIRE_READY) && t->state == TEMPLATE_STARTING &&
	    len == strlen(WIRE_READY))
		on_ready(t, now);
	else if (begins(packet, len, WIRE_FAIL))
		on_fail(t, packet, len, now);
	else if (!begins(packet, len, WIRE_FORKED) ||
	    len < sizeof(WIRE_FORKED) ||
	    !parse_forked(forked, packet + len, &serial, &pid) ||
	    !on_forked(t, serial, (pid_t)pid, now))
		template_fail(t, now, "is killed: it broke the protocol");
}

/* Reads a packet. Returns whether there may be more. */
static bool
read_packet(struct app_template *t, tstamp now)
{
	char buf[WIRE_MAX];
	struct fdpass_got got;
	ssize_t n =
	    fdpass_recv(t->channel.fd, buf, sizeof(buf), MSG_DONTWAIT, &got);

	if (n == -1 && fdpass_is_later(errno))
		return false;
	for (size_t i = 0; n != -1 && i < got.nfds; i++)
		closing_give(t->group, got.fds[i]);
	if (n > 0 && (got.nfds > 0 || got.lost_fds || got.truncated)) {
		template_fail(
		    t, now, "is killed: it sent a descriptor, or too much");
	} else if (n > 0) {
		take_packet(t, buf, (size_t)n, now);
		return true;
	} else {
		/* The end of the process tells more, if it comes. */
		t->silent = true;
		(void)loop_set(&t->sup->loop, &t->channel, 0);
		timer_set(timers_of(t->sup), &t->timer, now + SILENCE);
	}
	return false;
}

void
template_heard(struct loop_io *io, uint32_t events, tstamp now)
{
	struct app_template *t = LOOP_OWNER(io, struct app_template, channel);

	(void)events;
	/* A packet may bring its end. */
	for (int left = TURN; left > 0 && read_packet(t, now); left--)
		if (t->channel.fd == -1)
			return;
}

/* --- deadlines ------------------------------------------------------------ */

static void
lose_patience(struct timer *timer, tstamp now)
{
	struct app_template *t = TIMER_OWNER(timer, struct app_template, timer);

	switch (t->state) {
	case TEMPLATE_STARTING:
	case TEMPLATE_READY:
		if (t->silent)
			template_fail(
			    t, now, "is killed: it has shut its socket");
		else if (t->state == TEMPLATE_READY)
			template_fail(t, now, "is killed: it does not fork");
		else
			template_fail(t, now,
			    "is killed: it was not ready within %g s",
			    tspan_to_seconds(now - t->born));
		break;
	case TEMPLATE_LEAVING:
		/* The process may be stuck in the kernel: it delays nothing. */
		kill_template(t);
		t->state = TEMPLATE_STUCK;
		break;
	case TEMPLATE_STUCK:
		break;
	}
}

/* --- its end ------------------------------------------------------------- */

struct app_template *
template_find(const struct supervisor *s, pid_t pid)
{
	struct app_template *t;

	TAILQ_FOREACH(t, &s->templates, next)
		if (t->pid == pid ||
		    (t->start != NULL && t->start->result.pid == pid))
			return t;
	return NULL;
}

bool
template_is_taken(struct supervisor *s, pid_t pid)
{
	return worker_find(s, pid) != NULL || template_find(s, pid) != NULL;
}

void
template_died(
    struct app_template *t, const struct reap_death *death, tstamp now)
{
	char how[64];

	t->dead = true;
	if (t->state == TEMPLATE_STARTING)
		template_fail(t, now, "%s before it was ready",
		    reap_explain(death, how, sizeof(how)));
	else if (t->state == TEMPLATE_READY)
		template_fail(
		    t, now, "%s", reap_explain(death, how, sizeof(how)));
	template_free(t);
}

bool
template_any(const struct supervisor *s)
{
	const struct app_template *t;

	TAILQ_FOREACH(t, &s->templates, next)
		if (t->state != TEMPLATE_STUCK)
			return true;
	return false;
}

void
template_kill_all(struct supervisor *s)
{
	struct app_template *t;

	TAILQ_FOREACH(t, &s->templates, next)
		kill_template(t);
}

void
template_orphan(struct group *g)
{
	struct app_template *t;

	TAILQ_FOREACH(t, &g->sup->templates, next)
		if (t->group == g)
			t->group = NULL;
}

void
template_free_all(struct supervisor *s)
{
	struct app_template *t, *next;

	TAILQ_FOREACH_SAFE(t, &s->templates, next, next)
		template_free(t);
}
