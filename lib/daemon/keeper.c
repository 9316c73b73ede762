/*
 * What there is for the keeper to do: output, dead workers' channels, and
 * descriptors to be closed; and which of that comes next.
 *
 * It is told one thing at a time, and the next when that is answered: so a
 * keeper that waits for somebody has one packet unread at most.
 */

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/group.h"
#include "daemon/keeper.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/loop.h"
#include "sys/uncancelled.h"

/* The time in which the keeper tells the last line of a worker. */
#define LINE_PATIENCE TSPAN_MSECONDS(250)

/* Before something is said again for which there was no room. */
#define RETRY_AFTER TSPAN_MSECONDS(10)

/* --- apps -------------------------------------------------------------- */

struct keeper_app *
keeper_app_get(struct supervisor *s, const char *name)
{
	struct keeper_app *app;

	TAILQ_FOREACH(app, &s->keepers->apps, next) {
		if (strcmp(app->name, name) == 0) {
			app->refs++;
			return app;
		}
	}
	app = calloc(1, sizeof(*app));
	if (app == NULL || (app->name = strdup(name)) == NULL) {
		free(app);
		return NULL;
	}
	app->all = s->keepers;
	app->refs = 1;
	TAILQ_INSERT_TAIL(&s->keepers->apps, app, next);
	return app;
}

void
keeper_app_put(struct keeper_app *app)
{
	if (app == NULL || --app->refs > 0)
		return;
	TAILQ_REMOVE(&app->all->apps, app, next);
	free(app->closings);
	free(app->name);
	free(app);
}

bool
keeper_is_needed(const struct conf_app *conf)
{
	return conf->program.output == CONF_OUTPUT_LOG ||
	    group_has_channels(conf);
}

/* Something is to be said, at the end of this turn or when there is room. */
static void
keeper_hasten(struct keepers *all)
{
	struct loop *loop = &all->sup->loop;

	if (all->current == NULL || !all->current->told)
		timer_advance(&loop->timers, &all->timer, loop_now(loop));
}

/* --- closing ----------------------------------------------------------- */

static void
keeper_close_here(int fd)
{
	turn_call("close");
	(void)uncancelled_close(fd);
}

/* A close that may wait is left to the keeper, if there is memory. */
static void
keeper_queue_closing(struct keeper_app *app, int fd, bool drain)
{
	size_t room = app->closings_room;
	struct keeper_closing *closings = app->closings;

	if (app->nclosings == room) {
		room = room == 0 ? 16 : 2 * room;
		closings = reallocarray(closings, room, sizeof(*closings));
		if (closings == NULL) {
			keeper_close_here(fd);
			return;
		}
		app->closings = closings;
		app->closings_room = room;
	}
	/* What waits keeps its app. */
	if (app->nclosings == 0)
		app->refs++;
	closings[app->nclosings++] = (struct keeper_closing){ fd, drain };
	keeper_hasten(app->all);
}

void
keeper_close(struct group *g, int fd)
{
	keeper_queue_closing(g->keeper, fd, false);
}

void
keeper_close_conn(struct group *g, int fd, bool tcp, bool drain)
{
	struct linger linger = { 0 };
	socklen_t len = sizeof(linger);
	bool now;

	/*
	 * Of a TCP connection only a look: to set the option would wait for the
	 * lock of the socket, which a process that has a copy may hold. In a
	 * Unix socket nothing lies now, and nothing more can come.
	 */
	if (tcp)
		now =
		    getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len) != 0 ||
		    linger.l_onoff == 0;
	else
		now = shutdown(fd, SHUT_RDWR) == 0 && fdpass_unread(fd) == 0;
	if (now)
		keeper_close_here(fd);
	else
		keeper_queue_closing(g->keeper, fd, drain);
}

/* An app whose descriptors may be closed; NULL: none. */
static struct keeper_app *
keeper_next_closing(const struct keepers *all)
{
	struct keeper_app *app, *first = NULL;

	TAILQ_FOREACH(app, &all->apps, next) {
		if (app->nclosings == 0 || app->stalls >= KEEPER_STALLS)
			continue;
		if (app->stalls == 0)
			return app;
		if (first == NULL)
			first = app;
	}
	return first;
}

/* Gives the keeper copies of some descriptors of an app, the oldest first. */
static bool
keeper_tell_close(struct keeper *k, struct keeper_app *app, tstamp now)
{
	char buf[1 + KEEPER_APP_SIZE + KEEPER_CLOSE_FDS] = { KEEPER_CLOSE };
	int fds[KEEPER_CLOSE_FDS];
	size_t n = app->nclosings, head;

	if (n > KEEPER_CLOSE_FDS)
		n = KEEPER_CLOSE_FDS;
	(void)strlcpy(buf + 1, app->name, KEEPER_APP_SIZE);
	head = 1 + strlen(buf + 1) + 1;
	for (size_t i = 0; i < n; i++) {
		fds[i] = app->closings[i].fd;
		buf[head + i] =
		    app->closings[i].drain ? KEEPER_DRAIN : KEEPER_PLAIN;
	}
	if (!keeper_tell(k, buf, head + n, fds, n, now))
		return false;
	app->all->closing = app;
	app->all->nclosing = n;
	app->refs++;
	return true;
}

/* The keeper has copies: ours are closed, and none of them is the last. */
static void
keeper_release(struct keepers *all)
{
	struct keeper_app *app = all->closing;

	for (size_t i = 0; i < all->nclosing; i++)
		keeper_close_here(app->closings[i].fd);
	app->nclosings -= all->nclosing;
	memmove(app->closings, app->closings + all->nclosing,
	    app->nclosings * sizeof(*app->closings));
	all->nclosing = 0;
	if (app->nclosings == 0)
		keeper_app_put(app);
}

/* The keeper has closed them, or will some day; or has never had them. */
static void
keeper_end_closing(struct keepers *all)
{
	struct keeper_app *app = all->closing;

	all->closing = NULL;
	all->nclosing = 0;
	keeper_app_put(app);
}

/* --- output ------------------------------------------------------------ */

static void
keeper_move(struct output *o, struct outputs *to)
{
	if (o->in != NULL)
		TAILQ_REMOVE(o->in, o, next);
	TAILQ_INSERT_TAIL(to, o, next);
	o->in = to;
}

/* Tells the last line, or none, to what waits for it. */
static void
keeper_answer(struct output *o, const char *line, size_t len, tstamp now)
{
	void (*last_line)(void *, const char *, size_t, tstamp) = o->last_line;

	timer_set(&o->app->all->sup->loop.timers, &o->patience, TSTAMP_NEVER);
	o->last_line = NULL;
	if (last_line != NULL)
		last_line(o->arg, line, len, now);
}

static void
keeper_lose_patience(struct timer *t, tstamp now)
{
	keeper_answer(TIMER_OWNER(t, struct output, patience), "", 0, now);
}

struct output *
keeper_hold(struct group *g, const char *id, uint32_t process, uid_t owner,
    int its_ends_out[2])
{
	struct keepers *all = g->sup->keepers;
	struct output *o = calloc(1, sizeof(*o));
	int pipes[KEEPER_HOLD_FDS][2], n, error;

	if (o == NULL)
		return NULL;
	/* Only the ends to read do not block. */
	for (n = 0; n < KEEPER_HOLD_FDS; n++) {
		if (pipe2(pipes[n], O_CLOEXEC) == -1)
			goto fail;
		o->ends[n] = pipes[n][0];
		o->its_ends[n] = pipes[n][1];
		if (fcntl(o->ends[n], F_SETFL, O_NONBLOCK) == -1 ||
		    (owner != (uid_t)-1 &&
			fchown(o->its_ends[n], owner, (gid_t)-1) == -1)) {
			n++;
			goto fail;
		}
	}
	o->app = g->keeper;
	o->app->refs++;
	o->process = process;
	memcpy(o->id, id, KEEPER_ID_LEN);
	timer_init(&o->patience, keeper_lose_patience);
	keeper_move(o, &all->unsaid);
	memcpy(its_ends_out, o->its_ends, sizeof(o->its_ends));
	keeper_hasten(all);
	return o;
fail:
	error = errno;
	while (n-- > 0) {
		close(pipes[n][0]);
		close(pipes[n][1]);
	}
	free(o);
	errno = error;
	return NULL;
}

void
keeper_ends_given(struct output *o)
{
	for (size_t i = 0; o != NULL && i < KEEPER_HOLD_FDS; i++) {
		if (o->its_ends[i] != -1)
			keeper_queue_closing(o->app, o->its_ends[i], false);
		o->its_ends[i] = -1;
	}
}

/*
 * Nobody reads it any more: ours are closed by the keeper; or here, if one that
 * is stalled has copies.
 */
static void
keeper_give_up(struct output *o, bool here)
{
	for (size_t i = 0; i < KEEPER_HOLD_FDS; i++) {
		if (o->ends[i] != -1 && here)
			keeper_close_here(o->ends[i]);
		else if (o->ends[i] != -1)
			keeper_queue_closing(o->app, o->ends[i], false);
		o->ends[i] = -1;
	}
}

static void
keeper_free_output(struct output *o)
{
	timer_set(&o->app->all->sup->loop.timers, &o->patience, TSTAMP_NEVER);
	TAILQ_REMOVE(o->in, o, next);
	keeper_app_put(o->app);
	free(o);
}

bool
keeper_leave(struct output *o,
    void (*last_line)(void *arg, const char *line, size_t len, tstamp now),
    void *arg, tstamp now)
{
	struct keepers *all;

	if (o == NULL)
		return false;
	all = o->app->all;
	/* Without its pipes, or a keeper that reads them, there is no line. */
	if (o->gone || o->ends[0] == -1 || all->current == NULL)
		last_line = NULL;
	o->last_line = last_line;
	o->arg = arg;
	timer_set(&all->sup->loop.timers, &o->patience,
	    last_line == NULL ? TSTAMP_NEVER : now + LINE_PATIENCE);
	if (o->gone)
		return false;
	o->gone = true;
	keeper_ends_given(o);
	keeper_move(o, &all->unsaid);
	keeper_hasten(all);
	return last_line != NULL;
}

/* Outputs that there is nothing to tell of are no more in the way. */
static void
keeper_pass_over(struct keepers *all, tstamp now)
{
	struct output *o;

	while ((o = TAILQ_FIRST(&all->unsaid)) != NULL) {
		if (o->ends[0] == -1 && o->gone) {
			keeper_answer(o, "", 0, now);
			keeper_free_output(o);
		} else if (o->ends[0] == -1 || (o->held && !o->gone)) {
			keeper_move(o, &all->said);
		} else {
			break;
		}
	}
}

/*
 * Gives the keeper copies of the pipes of workers, as many as have room; or
 * tells which workers are dead, of one app: so the keeper is at nobody else's
 * at that time.
 */
static bool
keeper_tell_outputs(struct keepers *all, struct keeper *k, tstamp now)
{
	struct output *first = TAILQ_FIRST(&all->unsaid), *o, *next;
	bool leave = first->held;
	char buf[KEEPER_SAID_MAX] = { leave ? KEEPER_LEAVE : KEEPER_HOLD };
	int fds[FDPASS_MAX] = { 0 };
	size_t len = 1, n = 0, count = 0;

	TAILQ_FOREACH(o, &all->unsaid, next) {
		if (len + KEEPER_ID_LEN + KEEPER_APP_SIZE > sizeof(buf) ||
		    o->held != leave ||
		    (leave ? !o->gone || o->app != first->app
			   : o->ends[0] == -1 ||
				n + KEEPER_HOLD_FDS > FDPASS_MAX))
			break;
		count++;
		memcpy(buf + len, o->id, KEEPER_ID_LEN);
		len += KEEPER_ID_LEN;
		if (leave)
			continue;
		(void)strlcpy(buf + len, o->app->name, KEEPER_APP_SIZE);
		len += strlen(buf + len) + 1;
		memcpy(fds + n, o->ends, sizeof(o->ends));
		n += KEEPER_HOLD_FDS;
	}
	if (!keeper_tell(k, buf, len, fds, n, now))
		return false;
	for (o = first; count > 0; count--, o = next) {
		next = TAILQ_NEXT(o, next);
		o->held = true;
		/* Of a worker that is gone by now there is more to tell. */
		if (leave || !o->gone)
			keeper_move(o, leave ? &all->leaving : &all->said);
	}
	return true;
}

/* --- taking back ------------------------------------------------------- */

void
keeper_take_back(struct group *g, struct retake *r)
{
	struct keepers *all = g->sup->keepers;

	r->app = g->keeper;
	r->limit = TSTAMP_NEVER;
	TAILQ_INSERT_TAIL(&all->retakes, r, next);
	keeper_hasten(all);
}

/* The rest of what was to be taken back is lost, or there is none. */
static void
keeper_end_retake(struct retake *r, bool complete, tstamp now)
{
	struct keepers *all = r->app->all;

	TAILQ_REMOVE(&all->retakes, r, next);
	if (all->retaken == r)
		all->retaken = NULL;
	r->end(r, complete, now);
}

/* Those of an app that has not stalled a keeper come first. */
static bool
keeper_tell_take(struct keepers *all, struct keeper *k, tstamp now)
{
	char buf[KEEPER_HEAD_MAX] = { KEEPER_TAKE };
	struct retake *r;

	TAILQ_FOREACH(r, &all->retakes, next)
		if (r->app->stalls == 0)
			break;
	if (r == NULL)
		r = TAILQ_FIRST(&all->retakes);
	memcpy(buf + 1, r->id, KEEPER_ID_LEN);
	(void)strlcpy(buf + KEEPER_HEAD, r->app->name, KEEPER_APP_SIZE);
	if (!keeper_tell(k, buf, KEEPER_HEAD + strlen(buf + KEEPER_HEAD) + 1,
		&r->child_end, 1, now))
		return false;
	all->retaken = r;
	if (r->limit == TSTAMP_NEVER)
		r->limit = now + KEEPER_TAKE_LIMIT;
	return true;
}

/* Those of an app that no keeper is for; or, without one, of any in the end. */
static void
keeper_end_late(struct keepers *all, bool none, tstamp now)
{
	struct retake *r, *next;

	TAILQ_FOREACH_SAFE(r, &all->retakes, next, next) {
		if (none && r->limit == TSTAMP_NEVER)
			r->limit = now + KEEPER_TAKE_LIMIT;
		if (r != all->retaken &&
		    (now >= r->limit || r->app->stalls >= KEEPER_STALLS))
			keeper_end_retake(r, false, now);
	}
}

/* --- what is said next, and what is answered --------------------------- */

void
keeper_go_on(struct keepers *all, tstamp now)
{
	const char closed = KEEPER_CLOSED;
	struct keeper *k = all->current;
	struct keeper_app *app;
	bool told = false;

	if (k != NULL && k->told)
		return;
	keeper_end_late(all, false, now);
	keeper_pass_over(all, now);
	app = keeper_next_closing(all);
	if (all->closing == NULL && TAILQ_EMPTY(&all->retakes) &&
	    TAILQ_EMPTY(&all->unsaid) && app == NULL && !all->unstarted)
		return;
	k = keeper_get(all, now);
	if (k == NULL) {
		/* There will be another one. */
	} else if (all->closing != NULL) {
		told = keeper_tell(k, &closed, 1, NULL, 0, now);
	} else if (!TAILQ_EMPTY(&all->retakes)) {
		told = keeper_tell_take(all, k, now);
	} else if (!TAILQ_EMPTY(&all->unsaid)) {
		told = keeper_tell_outputs(all, k, now);
	} else if (app == NULL) {
		return;
	} else {
		/* Others are first the next time. */
		TAILQ_REMOVE(&all->apps, app, next);
		TAILQ_INSERT_TAIL(&all->apps, app, next);
		turn_for(TURN_NO_APP);
		told = keeper_tell_close(k, app, now);
	}
	if (told)
		return;
	timer_advance(&all->sup->loop.timers, &all->timer,
	    all->rest > now ? all->rest : now + RETRY_AFTER);
	keeper_end_late(all, true, now);
}

static void
keeper_due(struct timer *t, tstamp now)
{
	keeper_go_on(TIMER_OWNER(t, struct keepers, timer), now);
}

/* Logs lines, or that there were more; returns the number of the lines. */
static int
keeper_log(const char *packet, size_t len)
{
	const char *app = packet + KEEPER_HEAD, *last = packet + len;
	const char *at = memchr(app, '\0', (size_t)(last - app)), *newline;
	char id[KEEPER_ID_LEN + 1] = "";
	enum log_level level =
	    packet[0] == KEEPER_ERRORS ? LOG_LEVEL_WARN : LOG_LEVEL_INFO;
	uint32_t bytes;
	int lines = 1;

	if (at == NULL)
		return 0;
	at++;
	memcpy(id, packet + 1, KEEPER_ID_LEN);
	if (packet[0] == KEEPER_LEFT_OUT) {
		if (last - at != sizeof(bytes))
			return 0;
		memcpy(&bytes, at, sizeof(bytes));
		log_warnx(
		    "%s: %u bytes of the last output of worker %s left out",
		    app, (unsigned)bytes, id);
		return 0;
	}
	while ((newline = memchr(at, '\n', (size_t)(last - at))) != NULL) {
		log_output(level, app, id, at, (size_t)(newline - at));
		at = newline + 1;
		lines++;
	}
	log_output(level, app, id, at, (size_t)(last - at));
	return lines;
}

int
keeper_heard(
    struct keepers *all, const char *packet, size_t len, int fd, tstamp now)
{
	struct retake *r = all->retaken;
	bool whole = len >= KEEPER_HEAD;
	struct output *o;
	int lines = 0;

	switch (packet[0]) {
	case KEEPER_OUTPUT:
	case KEEPER_ERRORS:
	case KEEPER_LEFT_OUT:
		lines = whole ? keeper_log(packet, len) : 0;
		break;
	case KEEPER_WORDS:
		TAILQ_FOREACH(o, &all->leaving, next)
			if (whole &&
			    memcmp(o->id, packet + 1, KEEPER_ID_LEN) == 0)
				break;
		if (o != NULL)
			keeper_answer(
			    o, packet + KEEPER_HEAD, len - KEEPER_HEAD, now);
		break;
	case KEEPER_TAKEN:
		if (!whole || r == NULL)
			break;
		r->message(r, packet + KEEPER_HEAD, len - KEEPER_HEAD, fd, now);
		return 0;
	case KEEPER_EMPTY:
		if (r != NULL)
			keeper_end_retake(r, true, now);
		break;
	case KEEPER_DONE:
		if (all->nclosing > 0)
			keeper_release(all);
		else if (all->closing != NULL)
			keeper_end_closing(all);
		while ((o = TAILQ_FIRST(&all->leaving)) != NULL) {
			keeper_give_up(o, false);
			keeper_answer(o, "", 0, now);
			keeper_free_output(o);
		}
		break;
	default:
		break;
	}
	if (fd != -1)
		keeper_close_here(fd);
	return lines;
}

/* --- another keeper, or none ------------------------------------------- */

void
keeper_succeed(struct keepers *all, struct keeper_app *app, uint32_t busy,
    const char *id, tstamp now)
{
	struct outputs *lists[] = { &all->unsaid, &all->leaving, &all->said };
	struct retake *r = all->retaken;
	struct output *o, *last = NULL;
	bool held, culprit, failed;

	/* What it was given and had not closed itself is as it was. */
	keeper_end_closing(all);
	/*
	 * The next keeper holds each output; or nobody does, if that has
	 * stalled the former one, or its app has too often.
	 */
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		last = TAILQ_LAST(lists[i], outputs);
		do {
			o = TAILQ_FIRST(lists[i]);
			if (o == NULL)
				break;
			held = o->held && busy != 0;
			culprit = held && app == o->app &&
			    memcmp(o->id, id, KEEPER_ID_LEN) == 0;
			failed = o->app->stalls >= KEEPER_STALLS;
			o->held = false;
			keeper_move(o, &all->unsaid);
			if (!culprit && !failed)
				continue;
			keeper_give_up(o, held);
			if (o->process != KEEPER_NO_PROCESS && !o->gone)
				pool_unheard(
				    &all->sup->pool, o->process, !failed, now);
		} while (o != last);
	}
	all->retaken = NULL;
	if (r != NULL && busy == KEEPER_TAKE)
		keeper_end_retake(r, false, now);
	keeper_hasten(all);
}

/*
 * The daemon ends, and without it our copies: none of them is to be the last. A
 * keeper has all from now on, and closes it when it ends.
 */
static void
keeper_give_all(struct keepers *all)
{
	struct outputs *lists[] = { &all->unsaid, &all->leaving, &all->said };
	struct keeper *k = all->current;
	struct keeper_app *app, *next;
	struct output *o;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		TAILQ_FOREACH(o, lists[i], next) {
			keeper_ends_given(o);
			keeper_give_up(o, o->held);
		}
	}
	TAILQ_FOREACH_SAFE(app, &all->apps, next, next) {
		app->refs++;
		while (app->nclosings > 0) {
			keeper_end_closing(all);
			if (k == NULL ||
			    !keeper_tell_close(
				k, app, loop_now(&all->sup->loop))) {
				all->closing = app;
				all->nclosing = app->nclosings;
				app->refs++;
			}
			keeper_release(all);
		}
		keeper_app_put(app);
	}
	keeper_end_closing(all);
}

void
keeper_hear_out(struct supervisor *s, tstamp until)
{
	struct keepers *all = s->keepers;
	tstamp half = loop_now(&s->loop) + (until - loop_now(&s->loop)) / 2;

	while (all->current != NULL &&
	    (all->current->told || all->closing != NULL ||
		!TAILQ_EMPTY(&all->unsaid) ||
		keeper_next_closing(all) != NULL) &&
	    loop_now(&s->loop) < half)
		(void)loop_turn(&s->loop, half);
	keeper_give_all(all);
	if (all->current != NULL)
		(void)shutdown(all->current->io.fd, SHUT_WR);
	while (all->current != NULL && loop_now(&s->loop) < until)
		(void)loop_turn(&s->loop, until);
}

int
keeper_init(struct supervisor *s)
{
	struct keepers *all = calloc(1, sizeof(*all));

	s->keepers = all;
	if (all == NULL)
		return -1;
	all->sup = s;
	TAILQ_INIT(&all->stalled);
	TAILQ_INIT(&all->apps);
	TAILQ_INIT(&all->said);
	TAILQ_INIT(&all->unsaid);
	TAILQ_INIT(&all->leaving);
	TAILQ_INIT(&all->retakes);
	timer_init(&all->timer, keeper_due);
	timer_init(&all->lines, keeper_listen);
	return 0;
}

void
keeper_fini(struct supervisor *s)
{
	struct keepers *all = s->keepers;
	struct outputs *lists[] = { &all->unsaid, &all->leaving, &all->said };
	struct keeper *k;
	struct output *o;

	while ((k = TAILQ_FIRST(&all->stalled)) != NULL) {
		TAILQ_REMOVE(&all->stalled, k, next);
		keeper_free(k);
	}
	if (all->current != NULL)
		keeper_free(all->current);
	all->current = NULL;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		while ((o = TAILQ_FIRST(lists[i])) != NULL)
			keeper_free_output(o);
	timer_set(&s->loop.timers, &all->timer, TSTAMP_NEVER);
	timer_set(&s->loop.timers, &all->lines, TSTAMP_NEVER);
	free(all);
	s->keepers = NULL;
}
