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
#include "daemon/tell.h"
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

static void fail(struct template *t, tstamp now, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void arm(struct template *t, tstamp now);

static struct timers *
timers_of(struct supervisor *s)
{
	return &s->loop.timers;
}

/* --- coming and going ---------------------------------------------------- */

static void
hang_up(struct template *t)
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

static void
free_template(struct template *t)
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

/* Starts that waited for a template may go on. */
static void
wake(struct group *g, tstamp now)
{
	if (!TAILQ_EMPTY(&g->queued))
		timer_advance(timers_of(g->sup), &g->start_rest, now);
}

/* The template is none of the app's any more; which then can go on. */
static void
leave_seat(struct template *t, tstamp now)
{
	struct template_seat *seat = t->group->seat;

	if (seat->current == t)
		seat->current = NULL;
	if (seat->coming == t)
		seat->coming = NULL;
	wake(t->group, now);
}

/* The order is answered. Returns the process it was for; NULL: none waits. */
static struct forking *
close_order(struct template *t, struct fork_order *o)
{
	struct forking *f = o->forking;

	TAILQ_REMOVE(&t->open, o, next);
	free(o);
	if (f != NULL)
		f->order = NULL;
	return f;
}

/* What it has not answered is started in another way. */
static void
refuse_open(struct template *t, tstamp now)
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
kill_template(struct template *t)
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

/* The template ends from now on: when it has, template_died() frees it. */
static void
leave(struct template *t, bool killed, tstamp now)
{
	t->state = TEMPLATE_LEAVING;
	t->kill_timeout = t->group->conf->kill_timeout;
	leave_seat(t, now);
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
		free_template(t);
}

/* --- failures ------------------------------------------------------------ */

static void
tell_failure(struct template *t, bool current, const char *text)
{
	struct template_seat *seat = t->group->seat;
	enum log_level level = seat->told ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN;

	seat->told = true;
	tell_app(t->group, level, EVENT_FAILURE, NULL,
	    "template %s (pid %ld) %s%s", t->id, (long)t->pid, text,
	    current ? ": processes are started without it" : "");
}

/* The next one is started later, as after failures of workers. */
static void
count_failure(struct template *t, const char *text, tstamp now)
{
	struct template_seat *seat = t->group->seat;
	const struct conf_app *conf = t->group->conf;

	(void)snprintf(seat->failure, sizeof(seat->failure), "%s", text);
	seat->failures++;
	if (t->from[0] != '\0' && seat->current != NULL)
		return;
	seat->failed = true;
	if (now - t->born >= conf->min_server_life)
		backoff_reset(&seat->backoff);
	backoff_failed(&seat->backoff, t->born, conf->restart_delay,
	    conf->restart_delay_max, &seat->prng, now);
	timer_set(timers_of(t->sup), &seat->timer, seat->backoff.until);
}

/*
 * The template is of no use. It is killed, unless it is dead; one that is not
 * known yet is freed.
 */
static void
fail(struct template *t, tstamp now, const char *fmt, ...)
{
	struct template_seat *seat = t->group->seat;
	bool current = seat->current == t || seat->current == NULL;
	char text[sizeof(seat->failure)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tell_failure(t, current, text);
	if (seat->current == t)
		seat->current = NULL;
	count_failure(t, text, now);
	leave(t, true, now);
}

/* --- its start ------------------------------------------------------------ */

static void ready(struct loop_io *io, uint32_t events, tstamp now);
static void lose_patience(struct timer *timer, tstamp now);

/* A template with a channel, in the list of all; NULL and errno. */
static struct template *
new_template(struct group *g, tstamp now)
{
	struct template *t = calloc(1, sizeof(*t));
	int ends[2];

	if (t == NULL)
		return NULL;
	if (fdpass_pair(ends) == -1) {
		free(t);
		return NULL;
	}
	t->sup = g->sup;
	t->group = g;
	t->channel.fd = ends[0];
	t->channel.ready = ready;
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
	struct template *t = start->owner;
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
	if (t->state == TEMPLATE_LEAVING) {
		if (failed)
			free_template(t);
		return;
	}
	if (failed) {
		/* A start without it fails likewise, and tells. */
		t->group->seat->told = true;
		fail(t, now, "%s", why);
		free_template(t);
		return;
	}
	(void)loop_set(&s->loop, &t->channel, EPOLLIN);
	timer_set(timers_of(s), &t->timer,
	    tstamp_add(now, t->group->conf->start_timeout));
}

/* Starts a template by itself. */
static void
begin(struct group *g, tstamp now)
{
	struct template_seat *seat = g->seat;
	struct template *t = new_template(g, now);
	struct environment_of of = { .group = g, .slot = ENVIRONMENT_TEMPLATE };

	seat->begun = true;
	if (t == NULL)
		goto no_room;
	of.id = t->id;
	of.child_end = &t->its_end;
	of.output = &t->output;
	if (keeper_get(g, now) == NULL ||
	    (t->start = start_new(&of, t, start_done)) == NULL) {
		free_template(t);
		goto no_room;
	}
	seat->coming = t;
	lane_submit(&g->sup->spawner, &t->start->job);
	return;
no_room:
	seat->failed = true;
	timer_set(timers_of(g->sup), &seat->timer,
	    tstamp_add(now, g->conf->restart_delay));
}

/* --- forking -------------------------------------------------------------- */

/*
 * Has the process behind `to` fork one that has its end of a channel, and where
 * the daemon reads its output, pipes of its own. Returns bytes sent, or -1.
 */
static ssize_t
send_fork(struct group *g, int to, struct kept *output, int its_end,
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
	sent = fdpass_send_many(to, text, len, fds, 3);
	close(fds[1]);
	close(fds[2]);
	if (sent == -1)
		kept_leave(output);
	return sent;
}

static uid_t
user_of(const struct group *g)
{
	const struct conf_identity *id = &g->conf->identity;

	return id->change ? id->uid : getuid();
}

/* 0, or -1 and errno. */
static int
send_order(struct template *t, struct forking *f, struct worker *w)
{
	struct fork_order *o = calloc(1, sizeof(*o));
	char text[96];
	int len;

	if (o == NULL)
		return -1;
	len = snprintf(text, sizeof(text), WIRE_FORK " %ju %s %u",
	    (uintmax_t)f->serial, w->id, (unsigned)w->slot);
	if (send_fork(t->group, t->channel.fd, &w->output, w->child_end, text,
		(size_t)len) == -1) {
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
template_ask(struct template *t, struct forking *f, struct worker *w,
    const struct forking_ops *ops)
{
	if (forking_begin(f, t->sup, &w->channel, user_of(t->group), t->session,
		ops) == -1)
		return -1;
	if (send_order(t, f, w) == -1) {
		forking_end(f);
		return -1;
	}
	t->group->seat->forked++;
	if (t->timer.at == TSTAMP_NEVER)
		arm(t, loop_now(&t->sup->loop));
	return 0;
}

void
template_lied(struct group *g, const char *why, tstamp now)
{
	struct template_seat *seat = g->seat;

	if (seat != NULL && seat->current != NULL)
		fail(seat->current, now, "is killed: %s", why);
}

/* --- what it says --------------------------------------------------------- */

/* Sets the timer for the oldest fork that is not answered. */
static void
arm(struct template *t, tstamp now)
{
	tspan limit = t->group->conf->start_timeout;

	if (limit / 2 < FORK_PATIENCE)
		limit /= 2;
	else
		limit = FORK_PATIENCE;
	timer_set(timers_of(t->sup), &t->timer,
	    TAILQ_EMPTY(&t->open) ? TSTAMP_NEVER : tstamp_add(now, limit));
}

/* Workers of older templates leave, one after the other, for new ones. */
static void
replace_workers(struct template *t, tstamp now)
{
	struct supervisor *s = t->sup;

	for (uint32_t n = 0; n < s->pool.nprocesses; n++) {
		struct worker *w = s->workers[n];

		/* What that has loaded it shares with the template. */
		if (w != NULL && w->group == t->group &&
		    strcmp(w->id, t->from) != 0)
			pool_replace(&s->pool, n, now);
	}
}

static void
on_ready(struct template *t, tstamp now)
{
	struct template_seat *seat = t->group->seat;
	struct template *former = seat->current;

	t->state = TEMPLATE_READY;
	timer_set(timers_of(t->sup), &t->timer, TSTAMP_NEVER);
	seat->coming = NULL;
	seat->current = t;
	tell_app(t->group, LOG_LEVEL_INFO,
	    seat->told ? EVENT_RECOVERY : EVENT_READY, NULL,
	    "template %s (pid %ld) is ready after %.3f s%s%s", t->id,
	    (long)t->pid, tspan_to_seconds(now - t->born),
	    t->from[0] == '\0' ? "" : ", forked by worker ", t->from);
	seat->told = false;
	if (former != NULL)
		leave(former, false, now);
	if (t->from[0] != '\0')
		replace_workers(t, now);
	wake(t->group, now);
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
on_forked(struct template *t, uint64_t serial, pid_t pid, tstamp now)
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
on_fail(struct template *t, const char *packet, size_t len, tstamp now)
{
	size_t verb = strlen(WIRE_FAIL " ");
	size_t n = len < verb ? 0 : len - verb;

	fail(t, now, "cannot go on: %.*s", (int)(n > 200 ? 200 : n),
	    packet + (len < verb ? len : verb));
}

static void
take_packet(struct template *t, const char *packet, size_t len, tstamp now)
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
		fail(t, now, "is killed: it broke the protocol");
}

/* Reads a packet. Returns whether there may be more. */
static bool
read_packet(struct template *t, tstamp now)
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
		fail(t, now, "is killed: it sent a descriptor, or too much");
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

static void
ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct template *t = LOOP_OWNER(io, struct template, channel);

	(void)events;
	/* What it says may be its end. */
	for (int left = TURN; left > 0 && read_packet(t, now); left--)
		if (t->channel.fd == -1)
			return;
}

/* --- deadlines ------------------------------------------------------------ */

static void
lose_patience(struct timer *timer, tstamp now)
{
	struct template *t = TIMER_OWNER(timer, struct template, timer);

	switch (t->state) {
	case TEMPLATE_STARTING:
		fail(t, now, "is killed: it was not ready within %g s",
		    tspan_to_seconds(now - t->born));
		break;
	case TEMPLATE_READY:
		fail(t, now, "is killed: it %s",
		    t->silent ? "has shut its socket" : "does not fork");
		break;
	case TEMPLATE_LEAVING:
		/* It may be stuck in the kernel, and delays nothing then. */
		kill_template(t);
		t->state = TEMPLATE_STUCK;
		break;
	case TEMPLATE_STUCK:
		break;
	}
}

/* --- a template forked by a worker --------------------------------------- */

static void
birth_known(struct forking *f, pid_t pid, tstamp now)
{
	struct template *t = LOOP_OWNER(f, struct template, birth);

	forking_end(f);
	t->unknown = false;
	t->pid = pid;
	t->session = getsid(pid);
	t->channel.ready = ready;
	ready(&t->channel, EPOLLIN, now);
}

static void
birth_died(struct forking *f, const struct reap_death *death, tstamp now)
{
	struct template *t = LOOP_OWNER(f, struct template, birth);
	char how[64];

	t->dead = true;
	fail(t, now, "%s", reap_explain(death, how, sizeof(how)));
}

static void
birth_refused(struct forking *f, const char *why, tstamp now)
{
	fail(LOOP_OWNER(f, struct template, birth), now, "%s", why);
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
	forking_heard(&LOOP_OWNER(io, struct template, channel)->birth, now);
}

int
template_refork(struct worker *w, tstamp now)
{
	struct group *g = w->group;
	struct template *t = new_template(g, now);
	char text[96];
	ssize_t len;

	if (t == NULL)
		return -1;
	t->channel.ready = birth_ready;
	if (forking_begin(&t->birth, g->sup, &t->channel, user_of(g),
		getsid(w->pid), &birth_ops) == -1) {
		free_template(t);
		return -1;
	}
	t->unknown = true;
	memcpy(t->from, w->id, sizeof(t->from));
	len = snprintf(text, sizeof(text),
	    WIRE_FORK " %ju %s " WIRE_FORK_TEMPLATE, (uintmax_t)t->birth.serial,
	    t->id);
	len = send_fork(
	    g, w->channel.fd, &t->output, t->its_end, text, (size_t)len);
	if (len == -1) {
		free_template(t);
		return -1;
	}
	w->sent += (uint64_t)len;
	close(t->its_end);
	t->its_end = -1;
	g->seat->coming = t;
	timer_set(timers_of(t->sup), &t->timer,
	    tstamp_add(now, g->conf->start_timeout));
	return 0;
}

bool
template_forked_by(
    const struct worker *w, uint64_t serial, pid_t pid, tstamp now)
{
	struct template *t;

	TAILQ_FOREACH(t, &w->sup->templates, next)
		if (strcmp(t->from, w->id) == 0 && t->birth.serial == serial)
			break;
	if (t == NULL)
		return false;
	if (t->unknown && pid == 0)
		fail(t, now, "could not be forked");
	else if (t->unknown)
		forking_named(&t->birth, pid, now);
	return true;
}

/* --- its end ---------------------------------------------------------------
 */

struct template *
template_find(const struct supervisor *s, pid_t pid)
{
	struct template *t;

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
template_died(struct template *t, const struct reap_death *death, tstamp now)
{
	char how[64];

	t->dead = true;
	if (t->state == TEMPLATE_STARTING)
		fail(t, now, "%s before it was ready",
		    reap_explain(death, how, sizeof(how)));
	else if (t->state == TEMPLATE_READY)
		fail(t, now, "%s", reap_explain(death, how, sizeof(how)));
	free_template(t);
}

bool
template_any(const struct supervisor *s)
{
	const struct template *t;

	TAILQ_FOREACH(t, &s->templates, next)
		if (t->state != TEMPLATE_STUCK)
			return true;
	return false;
}

void
template_kill_all(struct supervisor *s)
{
	struct template *t;

	TAILQ_FOREACH(t, &s->templates, next)
		kill_template(t);
}

void
template_free_all(struct supervisor *s)
{
	struct template *t, *next;

	TAILQ_FOREACH_SAFE(t, &s->templates, next, next)
		free_template(t);
}

/* --- the place of an app ---------------------------------------------------
 */

struct template *
template_of(const struct group *g, uint32_t generation)
{
	struct template *t = g->seat == NULL ? NULL : g->seat->current;

	if (t == NULL || t->silent || g->seat->generation != generation)
		return NULL;
	/* Nobody reads what it prints: it would end by that. */
	if (g->conf->output == CONF_OUTPUT_LOG && t->output.keeper == NULL)
		return NULL;
	return t;
}

bool
template_is_awaited(const struct group *g)
{
	const struct template_seat *seat = g->seat;

	return seat != NULL && seat->coming != NULL && seat->current == NULL &&
	    !seat->failed;
}

void
template_end(struct group *g, tstamp now)
{
	struct template_seat *seat = g->seat;

	if (seat == NULL)
		return;
	timer_set(timers_of(g->sup), &seat->timer, TSTAMP_NEVER);
	seat->begun = false;
	if (seat->coming != NULL)
		leave(seat->coming, false, now);
	if (seat->current != NULL)
		leave(seat->current, false, now);
}

/* Begins anew, for another generation. */
static void
succeed(struct group *g, uint32_t generation, tstamp now)
{
	struct template_seat *seat = g->seat;

	template_end(g, now);
	seat->generation = generation;
	seat->failed = false;
	backoff_reset(&seat->backoff);
	begin(g, now);
}

void
template_update(struct group *g, tstamp now)
{
	struct template_seat *seat = g->seat;
	uint32_t generation = g->sup->pool.apps[g->app].generation;

	if (seat == NULL)
		return;
	if (g->closing || g->muted || g->stopped || g->conf->broken != NULL)
		template_end(g, now);
	else if (!seat->begun || seat->generation != generation)
		succeed(g, generation, now);
	else if (seat->current == NULL && seat->coming == NULL &&
	    now >= seat->backoff.until)
		begin(g, now);
	else if (seat->current != NULL && template_of(g, generation) == NULL &&
	    !seat->current->silent)
		fail(seat->current, now, "has lost its keeper");
}

static void
update_later(struct timer *timer, tstamp now)
{
	struct template_seat *seat =
	    TIMER_OWNER(timer, struct template_seat, timer);

	template_update(seat->group, now);
}

bool
template_configure(struct group *g, tstamp now)
{
	struct template_seat *seat = g->seat;

	if (!g->conf->template) {
		template_forget(g, now);
		return true;
	}
	if (seat == NULL) {
		seat = calloc(1, sizeof(*seat));
		if (seat == NULL)
			return false;
		seat->group = g;
		seat->prng.state = arc4random();
		timer_init(&seat->timer, update_later);
		g->seat = seat;
	}
	/* In this turn its listeners are opened. */
	timer_set(timers_of(g->sup), &seat->timer, now);
	return true;
}

void
template_forget(struct group *g, tstamp now)
{
	struct template *t;

	if (g->seat == NULL)
		return;
	template_end(g, now);
	TAILQ_FOREACH(t, &g->sup->templates, next)
		if (t->group == g)
			t->group = NULL;
	free(g->seat);
	g->seat = NULL;
}

const char *
template_state_name(const struct template_seat *seat)
{
	if (seat->current != NULL)
		return "ready";
	if (seat->coming != NULL)
		return "starting";
	return seat->failed ? "failed" : "none";
}
