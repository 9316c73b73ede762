/* refork_after: workers that are asked to fork a template. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/refork.h"
#include "daemon/seat.h"
#include "sys/fdpass.h"
#include "sys/wire.h"

/* Between two looks at the workers of an app. */
#define PAUSE TSPAN_SECONDS(1)

/* --- one template -------------------------------------------------------- */

static void
birth_known(struct forking *f, pid_t pid, tstamp now)
{
	struct app_template *t = LOOP_OWNER(f, struct app_template, birth);

	forking_end(f);
	t->unknown = false;
	t->pid = pid;
	t->session = getsid(pid);
	t->channel.ready = template_heard;
	template_heard(&t->channel, EPOLLIN, now);
}

static void
birth_died(struct forking *f, const struct reap_death *death, tstamp now)
{
	struct app_template *t = LOOP_OWNER(f, struct app_template, birth);
	char how[64];

	t->dead = true;
	template_fail(t, now, "%s", reap_explain(death, how, sizeof(how)));
}

static void
birth_refused(struct forking *f, const char *why, tstamp now)
{
	template_fail(LOOP_OWNER(f, struct app_template, birth), now,
	    "could not be forked: %s", why);
}

static const struct forking_ops birth_ops = {
	.is_taken = template_is_taken,
	.known = birth_known,
	.died = birth_died,
	.refused = birth_refused,
};

static void
birth_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	(void)events;
	forking_heard(
	    &LOOP_OWNER(io, struct app_template, channel)->birth, now);
}

/* Has the worker fork a template; NULL: it cannot be asked. */
static struct app_template *
ask(struct worker *w, tstamp now)
{
	struct group *g = w->group;
	struct app_template *t = template_new(g, &seat_ops, now);
	char text[96];
	ssize_t len;

	if (t == NULL)
		return NULL;
	t->channel.ready = birth_ready;
	if (forking_begin(&t->birth, g->sup, &t->channel, template_user(g),
		getsid(w->pid), &birth_ops) == -1) {
		template_free(t);
		return NULL;
	}
	t->unknown = true;
	memcpy(t->from, w->id, sizeof(t->from));
	len = snprintf(text, sizeof(text),
	    WIRE_FORK " %ju %s " WIRE_FORK_TEMPLATE, (uintmax_t)t->birth.serial,
	    t->id);
	len = template_send_fork(
	    g, w->channel.fd, &t->output, t->its_end, text, (size_t)len);
	if (len == -1) {
		template_free(t);
		return NULL;
	}
	w->sent += (uint64_t)len;
	w->fork_serial = t->birth.serial;
	close(t->its_end);
	t->its_end = -1;
	timer_set(&t->sup->loop.timers, &t->timer,
	    tstamp_add(now, g->conf->start_timeout));
	return t;
}

bool
refork_answered(const struct worker *w, uint64_t serial, pid_t pid, tstamp now)
{
	struct app_template *t;

	if (serial == 0 || serial != w->fork_serial)
		return false;
	/* The template may have been given up, or be known, by now. */
	TAILQ_FOREACH(t, &w->sup->templates, next)
		if (t->unknown && t->birth.serial == serial)
			break;
	if (t != NULL && pid == 0)
		template_fail(t, now, "could not be forked");
	else if (t != NULL)
		forking_named(&t->birth, pid, now);
	return true;
}

/* --- all workers --------------------------------------------------------- */

/* Whether the template is to be replaced, and another one is not coming. */
static bool
is_due(const struct group *g, tstamp now)
{
	const struct app_template *t =
	    seat_template(g, g->sup->pool.apps[g->app].generation);

	return t != NULL && t->from[0] == '\0' && g->seat->coming == NULL &&
	    now >= g->seat->refork_at;
}

/* Whether the worker may fork when it holds no connection: it stays. */
static bool
is_warm(const struct group *g, const struct worker *w)
{
	const struct process *x = &g->sup->pool.processes[w->process];

	return w->group == g && w->pid != 0 &&
	    x->requests >= g->conf->refork_after && x->outdated == 0 &&
	    !x->expiring && w->generation == g->seat->generation;
}

/* Whether it holds none, or will not before it has read what is sent now. */
static bool
is_between(const struct worker *w, bool done)
{
	const struct process *x = &w->sup->pool.processes[w->process];

	return x->state == PROCESS_IDLE ||
	    (done && x->state == PROCESS_ACTIVE && x->concurrency == 1);
}

static bool
is_asked(struct group *g, struct worker *w, bool done, tstamp now)
{
	if (!is_warm(g, w) || !is_between(w, done))
		return false;
	g->seat->coming = ask(w, now);
	return g->seat->coming != NULL;
}

static void
look(struct timer *timer, tstamp now)
{
	struct group *g = TIMER_OWNER(timer, struct group, refork);
	struct supervisor *s = g->sup;
	bool due = is_due(g, now);

	for (uint32_t n = 0; due && n < s->pool.nprocesses; n++)
		due = s->workers[n] == NULL ||
		    !is_asked(g, s->workers[n], false, now);
	g->refork_due = due;
	timer_set(&s->loop.timers, timer, now + PAUSE);
}

void
refork_done(struct worker *w, tstamp now)
{
	struct group *g = w->group;

	if (g->refork_due && is_due(g, now) && is_asked(g, w, true, now))
		g->refork_due = false;
}

void
refork_init(struct group *g)
{
	timer_init(&g->refork, look);
}

void
refork_configure(struct group *g, tstamp now)
{
	g->refork_due = false;
	timer_set(&g->sup->loop.timers, &g->refork,
	    g->conf->refork_after > 0 ? now + PAUSE : TSTAMP_NEVER);
}

void
refork_fini(struct group *g)
{
	timer_set(&g->sup->loop.timers, &g->refork, TSTAMP_NEVER);
}
