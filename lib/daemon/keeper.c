/*
 * What there is for the keeper to do: output, dead workers' channels, and
 * descriptors to be closed; and which of that comes next.
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
#define PATIENCE TSPAN_MSECONDS(250)

/* Before something is said again for which there was no room. */
#define RETRY_AFTER TSPAN_MSECONDS(10)

/* --- apps ----------------------------------------------------------------- */

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

const char *
keeper_fault(const struct group *g)
{
	if (!keeper_is_needed(g->conf))
		return NULL;
	if (g->keeper->stalls >= KEEPER_STALLS)
		return "it has stalled the keeper again and again";
	return g->sup->keepers->unstarted ? "apppool-keeper does not start"
					  : NULL;
}

/* Something is to be said, at the end of this turn or when there is room. */
static void
keeper_hasten(struct keepers *all)
{
	struct loop *loop = &all->sup->loop;

	if (all->current == NULL || keeper_is_free(all->current))
		timer_advance(&loop->timers, &all->timer, loop_now(loop));
}

/* --- closing -------------------------------------------------------------- */

/* A close that may wait is left to others, if there is memory. */
static void
keeper_close_here(int fd)
{
	turn_call("close");
	(void)uncancelled_close(fd);
}

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

bool
keeper_is_full(const struct group *g)
{
	return g->keeper->nclosings > KEEPER_CLOSINGS;
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

/* --- output --------------------------------------------------------------- */

static void
keeper_move(struct kept *o, struct kepts *to)
{
	if (o->in != NULL)
		TAILQ_REMOVE(o->in, o, next);
	TAILQ_INSERT_TAIL(to, o, next);
	o->in = to;
}

/* Tells the last line, or none, whoever waits for it. */
static void
keeper_answer(struct kept *o, const char *line, size_t len, tstamp now)
{
	void (*words)(void *, const char *, size_t, tstamp) = o->words;

	timer_set(&o->app->all->sup->loop.timers, &o->patience, TSTAMP_NEVER);
	o->words = NULL;
	if (words != NULL)
		words(o->arg, line, len, now);
}

static void
keeper_lose_patience(struct timer *t, tstamp now)
{
	keeper_answer(TIMER_OWNER(t, struct kept, patience), "", 0, now);
}

/* A pipe, of which only the end to read does not block. 0, or -1 and errno. */
static int
keeper_open_pipe(int *end, int *its_end, uid_t owner)
{
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC) == -1)
		return -1;
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != -1 &&
	    (owner == (uid_t)-1 || fchown(ends[1], owner, (gid_t)-1) != -1)) {
		*end = ends[0];
		*its_end = ends[1];
		return 0;
	}
	error = errno;
	close(ends[0]);
	close(ends[1]);
	errno = error;
	return -1;
}

struct kept *
keeper_hold(struct group *g, const char *id, uint32_t process, uid_t owner,
    int its_ends_out[2])
{
	struct keepers *all = g->sup->keepers;
	struct kept *o = calloc(1, sizeof(*o));
	int error;

	if (o == NULL)
		return NULL;
	if (keeper_open_pipe(&o->ends[0], &o->its_ends[0], owner) == -1) {
		error = errno;
		goto fail;
	}
	if (keeper_open_pipe(&o->ends[1], &o->its_ends[1], owner) == -1) {
		error = errno;
		close(o->ends[0]);
		close(o->its_ends[0]);
		goto fail;
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
	free(o);
	errno = error;
	return NULL;
}

void
keeper_born(struct kept *o)
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
keeper_give_up(struct kept *o, bool here)
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
keeper_free_kept(struct kept *o)
{
	struct keepers *all = o->app->all;

	timer_set(&all->sup->loop.timers, &o->patience, TSTAMP_NEVER);
	TAILQ_REMOVE(o->in, o, next);
	keeper_app_put(o->app);
	free(o);
}

/* There is nothing more to say of it. */
static void
keeper_end_kept(struct kept *o, tstamp now)
{
	if (o->words != NULL)
		keeper_answer(o, "", 0, now);
	keeper_free_kept(o);
}

bool
keeper_leave(struct kept *o,
    void (*words)(void *arg, const char *line, size_t len, tstamp now),
    void *arg, tstamp now)
{
	struct keepers *all;

	if (o == NULL)
		return false;
	all = o->app->all;
	/* Without its pipes, or a keeper that reads them, there is no line. */
	if (o->gone || o->ends[0] == -1 || all->current == NULL)
		words = NULL;
	o->words = words;
	o->arg = arg;
	timer_set(&all->sup->loop.timers, &o->patience,
	    words == NULL ? TSTAMP_NEVER : now + PATIENCE);
	if (o->gone)
		return words != NULL;
	o->gone = true;
	keeper_born(o);
	keeper_move(o, &all->unsaid);
	keeper_hasten(all);
	return words != NULL;
}

/* Gives the keeper copies of the pipes of some workers, as many as have room.
 */
static bool
keeper_tell_hold(struct keepers *all, struct keeper *k, tstamp now)
{
	char buf[KEEPER_SAID_MAX] = { KEEPER_HOLD };
	int fds[FDPASS_MAX] = { 0 };
	struct kept *o, *next;
	size_t len = 1, n = 0, count = 0;

	TAILQ_FOREACH(o, &all->unsaid, next) {
		if (o->held || o->ends[0] == -1 ||
		    n + KEEPER_HOLD_FDS > FDPASS_MAX ||
		    len + KEEPER_ID_LEN + KEEPER_APP_SIZE > sizeof(buf))
			break;
		memcpy(buf + len, o->id, KEEPER_ID_LEN);
		len += KEEPER_ID_LEN;
		(void)strlcpy(buf + len, o->app->name, KEEPER_APP_SIZE);
		len += strlen(buf + len) + 1;
		memcpy(fds + n, o->ends, sizeof(o->ends));
		n += KEEPER_HOLD_FDS;
		count++;
	}
	if (!keeper_tell(k, buf, len, fds, n, now))
		return false;
	for (o = TAILQ_FIRST(&all->unsaid); count > 0; count--, o = next) {
		next = TAILQ_NEXT(o, next);
		o->held = true;
		if (!o->gone)
			keeper_move(o, &all->said);
	}
	return true;
}

/* Dead workers of one app: so the keeper is at nobody else's at that time. */
static bool
keeper_tell_leave(struct keepers *all, struct keeper *k, tstamp now)
{
	char buf[KEEPER_SAID_MAX] = { KEEPER_LEAVE };
	struct kept *o = TAILQ_FIRST(&all->unsaid), *next;
	const struct keeper_app *app = o->app;
	size_t len = 1, count = 0;

	for (; o != NULL && o->held && o->gone && o->app == app &&
	     len + KEEPER_ID_LEN <= sizeof(buf);
	     o = TAILQ_NEXT(o, next), count++) {
		memcpy(buf + len, o->id, KEEPER_ID_LEN);
		len += KEEPER_ID_LEN;
	}
	if (!keeper_tell(k, buf, len, NULL, 0, now))
		return false;
	for (o = TAILQ_FIRST(&all->unsaid); count > 0; count--, o = next) {
		next = TAILQ_NEXT(o, next);
		keeper_move(o, &all->leaving);
	}
	return true;
}

/* --- taking back ---------------------------------------------------------- */

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

/* --- what is said next ---------------------------------------------------- */

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

/* Outputs that there is nothing to tell of are no more in the way. */
static void
keeper_pass_over(struct keepers *all, tstamp now)
{
	struct kept *o;

	while ((o = TAILQ_FIRST(&all->unsaid)) != NULL) {
		if (o->ends[0] == -1 && o->gone)
			keeper_end_kept(o, now);
		else if (o->ends[0] == -1 || (o->held && !o->gone))
			keeper_move(o, &all->said);
		else
			break;
	}
}

void
keeper_go_on(struct keepers *all, tstamp now)
{
	const char closed = KEEPER_CLOSED;
	struct keeper *k = all->current;
	struct keeper_app *app;
	bool told;

	if (k != NULL && !keeper_is_free(k))
		return;
	keeper_end_late(all, false, now);
	keeper_pass_over(all, now);
	app = keeper_next_closing(all);
	if (all->closing == NULL && TAILQ_EMPTY(&all->retakes) &&
	    TAILQ_EMPTY(&all->unsaid) && app == NULL && !all->unstarted)
		return;
	k = keeper_get(all, now);
	if (k == NULL)
		told = false;
	else if (all->closing != NULL)
		told = keeper_tell(k, &closed, 1, NULL, 0, now);
	else if (!TAILQ_EMPTY(&all->retakes))
		told = keeper_tell_take(all, k, now);
	else if (!TAILQ_EMPTY(&all->unsaid))
		told = TAILQ_FIRST(&all->unsaid)->held
		    ? keeper_tell_leave(all, k, now)
		    : keeper_tell_hold(all, k, now);
	else if (app == NULL)
		return;
	else {
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

bool
keeper_has_work(const struct keepers *all)
{
	return all->current != NULL &&
	    (!keeper_is_free(all->current) || all->closing != NULL ||
		!TAILQ_EMPTY(&all->unsaid) || keeper_next_closing(all) != NULL);
}

/* --- what it says --------------------------------------------------------- */

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

/* It has done what it was told. */
static void
keeper_did(struct keepers *all, tstamp now)
{
	struct kept *o;

	if (all->nclosing > 0)
		keeper_release(all);
	else if (all->closing != NULL)
		keeper_end_closing(all);
	while ((o = TAILQ_FIRST(&all->leaving)) != NULL) {
		keeper_give_up(o, false);
		keeper_end_kept(o, now);
	}
}

int
keeper_heard(
    struct keepers *all, const char *packet, size_t len, int fd, tstamp now)
{
	struct retake *r = all->retaken;
	bool whole = len >= KEEPER_HEAD;
	struct kept *o;
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
		keeper_did(all, now);
		break;
	default:
		break;
	}
	if (fd != -1)
		keeper_close_here(fd);
	return lines;
}

/* --- another keeper ------------------------------------------------------- */

/*
 * Has the next keeper hold the output; or nobody, if that has stalled the
 * former one, or its app has too often. held: whether that has it.
 */
static void
keeper_hand_on(struct kept *o, bool culprit, bool held, tstamp now)
{
	struct keepers *all = o->app->all;
	bool failed = o->app->stalls >= KEEPER_STALLS;

	o->held = false;
	keeper_move(o, &all->unsaid);
	if (!culprit && !failed)
		return;
	keeper_give_up(o, held);
	if (o->process != KEEPER_NO_PROCESS && !o->gone)
		pool_unheard(&all->sup->pool, o->process, !failed, now);
}

void
keeper_succeed(struct keepers *all, struct keeper_app *app, uint32_t busy,
    const char *id, tstamp now)
{
	struct kepts *lists[] = { &all->unsaid, &all->leaving, &all->said };
	struct retake *r = all->retaken;
	struct kept *o, *last;

	/* What it was given and had not closed itself is as it was. */
	keeper_end_closing(all);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		last = TAILQ_LAST(lists[i], kepts);
		while ((o = TAILQ_FIRST(lists[i])) != NULL) {
			bool culprit = o->held && busy != 0 && app == o->app &&
			    memcmp(o->id, id, KEEPER_ID_LEN) == 0;
			keeper_hand_on(o, culprit, o->held && busy != 0, now);
			if (o == last)
				break;
		}
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
void
keeper_give_all(struct keepers *all)
{
	struct kepts *lists[] = { &all->unsaid, &all->leaving, &all->said };
	struct keeper *k = all->current;
	struct keeper_app *app, *next;
	struct kept *o;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		TAILQ_FOREACH(o, lists[i], next) {
			keeper_born(o);
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
keeper_drop_all(struct keepers *all)
{
	struct kepts *lists[] = { &all->unsaid, &all->leaving, &all->said };
	struct kept *o;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		while ((o = TAILQ_FIRST(lists[i])) != NULL)
			keeper_free_kept(o);
}
