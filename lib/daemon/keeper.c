/*
 * The keeper: the process, from its start to its end, and what there is for it
 * to do: output, unread channels, and descriptors to be closed.
 */

#include <sys/socket.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/carry.h"
#include "daemon/group.h"
#include "daemon/keeper.h"
#include "sys/fdpass.h"
#include "sys/procinfo.h"

/* Between the beginnings of two keepers, if the first dies or is not found. */
#define KEEPER_REST TSPAN_SECONDS(1)

/* How often it is looked at while there is something to do; when it waits for
 * somebody; and when it waits for nothing but its turn. */
#define KEEPER_LOOK TSPAN_MSECONDS(250)
#define KEEPER_PATIENCE TSPAN_SECONDS(1)
#define KEEPER_LIMIT TSPAN_SECONDS(10)

/* For so long it is known that an app has stalled one that is gone by now. */
#define KEEPER_MEMORY TSPAN_SECONDS(60)

/* Descriptors that wait to be closed for which there is more room at a time. */
#define CLOSINGS_ROOM 64

/* How long a packet waits for the number of a descriptor. */
#define ROOM_LIMIT TSPAN_SECONDS(5)

/*
 * What all workers together may print in a period; those that say more wait
 * meanwhile, and nothing is left out. A line is one of these, a packet of lines
 * as many, however little it brings.
 */
#define LINES_WORK 128
#define LINES_PACKET 8
#define LINES_PERIOD TSPAN_MSECONDS(1)

/*
 * Bytes that wait in the keeper's socket: half of them are the kernel's own,
 * and the longest line has room. An answer comes behind the lines that wait
 * there: with the kernel's usual size they were 9,000, and a worker that
 * printed empty lines had each dead worker's connections wait for seconds.
 */
#define SOCKET_BYTES (34 * 1024)

/* The time in which the keeper has read the output of a dead worker. */
#define LINE_PATIENCE TSPAN_MSECONDS(250)

/* Before something is said again for which there was no room. */
#define RETRY_AFTER TSPAN_MSECONDS(10)

struct keeper {
	TAILQ_ENTRY(keeper) next; /* in keepers.stalled, once it is */
	struct keepers *all;
	struct helper h; /* io.fd -1: it is stalled */
	char told; /* the verb that it has not answered; 0: none */
	tstamp no_room_since; /* for the next packet; NEVER: there is */
	struct timer timer; /* the next look; of a stalled one, its end */
	uint32_t moves; /* its latest one that was seen, */
	tstamp moved_at; /* at that time */
	struct keeper_app *app; /* that has stalled it; or NULL */
};

/* There is something to say, at the end of this turn or at the next answer. */
static void
keeper_hasten(struct keepers *all)
{
	struct loop *loop = &all->sup->loop;

	if (all->current == NULL || all->current->told == 0)
		timer_advance(&loop->timers, &all->timer, loop_now(loop));
}

static void
keeper_close_here(int fd)
{
	turn_call("close");
	fdpass_close(fd);
}

/* --- apps -------------------------------------------------------------- */

static struct keeper_app *
keeper_app_find(const struct keepers *all, const char *name)
{
	struct keeper_app *app;

	TAILQ_FOREACH(app, &all->apps, next)
		if (strcmp(app->name, name) == 0)
			break;
	return app;
}

struct keeper_app *
keeper_app_get(struct supervisor *s, const char *name)
{
	struct keeper_app *app = keeper_app_find(s->keepers, name);

	if (app != NULL) {
		app->refs++;
		return app;
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

/* --- closing ----------------------------------------------------------- */

void
keeper_close(struct keeper_app *app, int fd, bool drain)
{
	struct keeper_closing *closings = app->closings;

	if (app->nclosings % CLOSINGS_ROOM == 0)
		closings = reallocarray(closings,
		    app->nclosings + CLOSINGS_ROOM, sizeof(*closings));
	if (closings == NULL) {
		keeper_close_here(fd);
		return;
	}
	app->closings = closings;
	/* A descriptor that waits keeps its app. */
	if (app->nclosings == 0)
		app->refs++;
	closings[app->nclosings++] = (struct keeper_closing){ fd, drain };
	keeper_hasten(app->all);
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
		keeper_close(g->keeper, fd, drain);
}

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
	if (app->nclosings == 0)
		keeper_app_put(app);
}

/* --- output ------------------------------------------------------------ */

static void
keeper_move(struct output *o, bool said)
{
	struct keepers *all = o->app->all;

	if (o->said == said)
		return;
	TAILQ_REMOVE(said ? &all->unsaid : &all->said, o, next);
	TAILQ_INSERT_TAIL(said ? &all->said : &all->unsaid, o, next);
	o->said = said;
}

static void
keeper_answer(struct output *o, tstamp now)
{
	void (*over)(void *, tstamp) = o->over;

	timer_set(&o->app->all->sup->loop.timers, &o->patience, TSTAMP_NEVER);
	o->over = NULL;
	if (over != NULL)
		over(o->arg, now);
}

static void
keeper_lose_patience(struct timer *t, tstamp now)
{
	keeper_answer(TIMER_OWNER(t, struct output, patience), now);
}

struct output *
keeper_hold(
    struct group *g, const char *id, uint32_t process, int its_ends_out[2])
{
	const struct conf_identity *owner = &g->conf->program.identity;
	struct keepers *all = g->sup->keepers;
	struct output *o = calloc(1, sizeof(*o));
	int pipe[2], n, error;

	if (o == NULL)
		return NULL;
	for (n = 0; n < KEEPER_HOLD_FDS; n++) {
		if (pipe2(pipe, O_CLOEXEC) == -1)
			goto fail;
		o->ends[n] = pipe[0];
		o->its_ends[n] = pipe[1];
		/* Only the ends to read do not block. */
		if (fcntl(pipe[0], F_SETFL, O_NONBLOCK) == -1 ||
		    (owner->change &&
			fchown(pipe[1], owner->uid, (gid_t)-1) == -1)) {
			n++;
			goto fail;
		}
	}
	o->app = g->keeper;
	o->app->refs++;
	o->process = process;
	memcpy(o->id, id, KEEPER_ID_LEN);
	timer_init(&o->patience, keeper_lose_patience);
	TAILQ_INSERT_TAIL(&all->unsaid, o, next);
	memcpy(its_ends_out, o->its_ends, sizeof(o->its_ends));
	keeper_hasten(all);
	return o;
fail:
	error = errno;
	while (n-- > 0) {
		close(o->ends[n]);
		close(o->its_ends[n]);
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
			keeper_close(o->app, o->its_ends[i], false);
		o->its_ends[i] = -1;
	}
}

static void
keeper_free_output(struct output *o)
{
	struct keepers *all = o->app->all;

	timer_set(&all->sup->loop.timers, &o->patience, TSTAMP_NEVER);
	TAILQ_REMOVE(o->said ? &all->said : &all->unsaid, o, next);
	keeper_app_put(o->app);
	free(o);
}

/*
 * Ends the reading of an output: our ends are closed by the keeper; or here, if
 * a stalled keeper has copies. Frees it if the worker is gone.
 */
static void
keeper_give_up(struct output *o, bool here, tstamp now)
{
	for (size_t i = 0; i < KEEPER_HOLD_FDS; i++) {
		if (o->ends[i] != -1 && here)
			keeper_close_here(o->ends[i]);
		else if (o->ends[i] != -1)
			keeper_close(o->app, o->ends[i], false);
		o->ends[i] = -1;
	}
	if (!o->gone) {
		keeper_move(o, true);
		return;
	}
	keeper_answer(o, now);
	keeper_free_output(o);
}

bool
keeper_leave(struct output **of, void (*over)(void *arg, tstamp now), void *arg,
    tstamp now)
{
	struct output *o = *of;
	struct keepers *all;

	if (o == NULL)
		return false;
	all = o->app->all;
	/* Without its pipes, or a keeper that reads them, there is no more. */
	if (o->gone || o->ends[0] == -1 || all->current == NULL)
		over = NULL;
	if (over == NULL)
		*of = NULL;
	o->over = over;
	o->arg = arg;
	timer_set(&all->sup->loop.timers, &o->patience,
	    over == NULL ? TSTAMP_NEVER : now + LINE_PATIENCE);
	if (o->gone)
		return false;
	o->gone = true;
	keeper_ends_given(o);
	if (o->ends[0] == -1) {
		keeper_free_output(o);
		return false;
	}
	keeper_move(o, false);
	keeper_hasten(all);
	return over != NULL;
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

static void
keeper_end_retake(struct retake *r, bool complete, tstamp now)
{
	struct keepers *all = r->app->all;

	TAILQ_REMOVE(&all->retakes, r, next);
	r->end(r, complete, now);
}

/* --- what it says ------------------------------------------------------ */

/* Logs lines, or that there were more; returns the number of the lines. */
static int
keeper_log(const struct keepers *all, const char *packet, size_t len)
{
	const char *app = packet + KEEPER_HEAD, *last = packet + len;
	const char *at = memchr(app, '\0', (size_t)(last - app)), *end;
	char id[KEEPER_ID_LEN + 1] = "";
	struct event line = { .kind = EVENT_STDOUT,
		.level = LOG_LEVEL_INFO,
		.app = app,
		.id = id };
	const struct keeper_app *known;
	uint32_t bytes;
	int lines = 0;

	if (at == NULL || at++ >= app + KEEPER_APP_SIZE)
		return 0;
	memcpy(id, packet + 1, KEEPER_ID_LEN);
	if (packet[0] == KEEPER_ERRORS) {
		line.kind = EVENT_STDERR;
		known = keeper_app_find(all, app);
		if (known != NULL)
			line.level = known->errors;
	}
	if (packet[0] == KEEPER_LEFT_OUT) {
		if (last - at != sizeof(bytes))
			return 0;
		memcpy(&bytes, at, sizeof(bytes));
		log_warnx(
		    "%s: %u bytes of the last output of worker %s left out",
		    app, (unsigned)bytes, id);
		return 0;
	}
	for (; at <= last; at = end + 1, lines++) {
		end = memchr(at, '\n', (size_t)(last - at));
		if (end == NULL)
			end = last;
		line.text = at;
		line.len = (size_t)(end - at);
		tell_said(all->sup, &line);
	}
	return lines;
}

/*
 * A packet, and the descriptor with it, which is the callee's now; -1: there is
 * none. Returns the lines in it.
 */
static int
keeper_heard(
    struct keeper *k, const char *packet, size_t len, int fd, tstamp now)
{
	struct keepers *all = k->all;
	struct output *o = TAILQ_FIRST(&all->unsaid);
	struct retake *r = TAILQ_FIRST(&all->retakes);
	const char *rest = packet + KEEPER_HEAD, told = k->told;
	bool whole = len >= KEEPER_HEAD;
	int lines = 0;

	switch (packet[0]) {
	case KEEPER_OUTPUT:
	case KEEPER_ERRORS:
	case KEEPER_LEFT_OUT:
		lines = whole ? keeper_log(all, packet, len) : 0;
		break;
	case KEEPER_TAKEN:
		if (told != KEEPER_TAKE || !whole)
			break;
		r->message(r, rest, len - KEEPER_HEAD, fd, now);
		return 0;
	case KEEPER_DONE:
		if (told == 0)
			break;
		k->told = 0;
		all->closes = told == KEEPER_CLOSE && all->nclosing > 0;
		keeper_hasten(all);
		if (told == KEEPER_TAKE) {
			keeper_end_retake(r, true, now);
		} else if (told == KEEPER_HOLD) {
			/* Of a worker that is gone by now there is more. */
			o->held = true;
			keeper_move(o, !o->gone);
		} else if (told == KEEPER_LEAVE) {
			keeper_give_up(o, false, now);
		} else if (all->closes && !k->h.dead) {
			/* A dead keeper has no copies any more. */
			keeper_release(all);
		}
		break;
	default:
		break;
	}
	if (fd != -1)
		keeper_close_here(fd);
	return lines;
}

/* From now on it is looked at, until it has nothing to do. */
static void
keeper_watch(struct keeper *k, tstamp now)
{
	struct keeper_page *page = k->h.page;

	if (k->h.starting || k->timer.at != TSTAMP_NEVER)
		return;
	atomic_store(&page->watched, 1);
	k->moves = atomic_load(&page->moves);
	k->moved_at = now;
	timer_set(&k->all->sup->loop.timers, &k->timer, now + KEEPER_LOOK);
}

/*
 * Takes a packet; false: there is none, or no room for its descriptor, without
 * which it comes in the end.
 */
static bool
keeper_take(struct keeper *k, tstamp now)
{
	/* Pages without text in them take no memory. */
	char packet[KEEPER_HEAD_MAX + KEEPER_LINE_MAX];
	int fd = -1, lines;
	ssize_t n;

	if (k->told != KEEPER_TAKE) {
		n = recv(k->h.io.fd, packet, sizeof(packet), MSG_DONTWAIT);
	} else {
		n = fdpass_recv_one(k->h.io.fd, packet, sizeof(packet),
		    MSG_DONTWAIT | MSG_PEEK, &fd);
		if (n != -1 || errno != EMFILE) {
			k->no_room_since = TSTAMP_NEVER;
		} else {
			k->no_room_since = tstamp_min(k->no_room_since, now);
			if (now - k->no_room_since < ROOM_LIMIT)
				return false;
			n = fdpass_recv_one(k->h.io.fd, packet, sizeof(packet),
			    MSG_DONTWAIT, &fd);
		}
	}
	if (n <= 0)
		return false;
	lines = keeper_heard(k, packet, (size_t)n, fd, now);
	if (lines > 0)
		k->all->work -= LINES_PACKET + lines;
	if (!k->h.dead)
		keeper_watch(k, now);
	return true;
}

/* The timer keepers.lines: a period is over, or there may be room. */
static void
keeper_listen(struct timer *t, tstamp now)
{
	struct keepers *all = TIMER_OWNER(t, struct keepers, lines);
	struct keeper *k = all->current;

	if (k != NULL && loop_set(&all->sup->loop, &k->h.io, EPOLLIN) == -1)
		timer_set(&all->sup->loop.timers, t, now + LINES_PERIOD);
}

static void
keeper_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct keeper *k = LOOP_OWNER(io, struct keeper, h.io);
	struct keepers *all = k->all;

	(void)events;
	if (now - all->period >= LINES_PERIOD) {
		all->period = now;
		all->work = LINES_WORK;
	}
	/* Lines before an answer are few, and no rest delays it. */
	if ((k->told != 0 || all->work > 0) &&
	    (keeper_take(k, now) || errno == EAGAIN || errno == EINTR))
		return;
	(void)loop_set(&all->sup->loop, io, 0);
	timer_set(&all->sup->loop.timers, &all->lines, now + LINES_PERIOD);
}

/* --- another keeper, or none ------------------------------------------- */

static void
keeper_free(struct keeper *k)
{
	timer_set(&k->all->sup->loop.timers, &k->timer, TSTAMP_NEVER);
	helper_end(&k->h);
	keeper_app_put(k->app);
	free(k);
}

/*
 * There is another keeper from now on. This one waits with `busy` (a verb of
 * keeper_wire.h) for the worker in its page, which is the fault of its app; or,
 * if that is 0, is dead or does not say for whom it waits.
 */
static void
keeper_succeed(struct keeper *k, uint32_t busy, tstamp now)
{
	struct keepers *all = k->all;
	const struct keeper_page *page = k->h.page;
	struct output *o, *next;
	bool held, culprit, failed;

	/* Descriptors that it was given and had not closed are as they were. */
	all->current = NULL;
	all->closes = false;
	while ((o = TAILQ_FIRST(&all->said)) != NULL)
		keeper_move(o, false);
	/*
	 * The next keeper holds each output; or nobody does, if that has
	 * stalled the former one, or its app has too often.
	 */
	TAILQ_FOREACH_SAFE(o, &all->unsaid, next, next) {
		held = o->held && busy != 0;
		culprit = held && o->app == k->app &&
		    memcmp(o->id, page->id, KEEPER_ID_LEN) == 0;
		failed = o->app->stalls >= KEEPER_STALLS;
		o->held = false;
		if (o->ends[0] != -1 && !culprit && !failed)
			continue;
		if ((culprit || failed) && o->process != KEEPER_NO_PROCESS &&
		    !o->gone)
			pool_unheard(&all->sup->pool, o->process, !failed, now);
		keeper_give_up(o, held, now);
	}
	/*
	 * A dead keeper may have had what was taken of a living worker; not one
	 * that was never started, which has no page.
	 */
	if (k->told == KEEPER_TAKE &&
	    (busy == KEEPER_TAKE ||
		(page != NULL && TAILQ_FIRST(&all->retakes)->living &&
		    atomic_load(&page->busy) == KEEPER_TAKE)))
		keeper_end_retake(TAILQ_FIRST(&all->retakes), false, now);
	keeper_hasten(all);
}

/* The keeper is dead, or did not start: what it had in hand is lost. */
static void
keeper_lose(struct keeper *k, tstamp now)
{
	k->all->rest = k->h.began + KEEPER_REST;
	keeper_succeed(k, 0, now);
	keeper_free(k);
}

static void
keeper_forget(struct timer *t, tstamp now)
{
	struct keeper *k = TIMER_OWNER(t, struct keeper, timer);
	struct keepers *all = k->all;

	(void)now;
	if (k->app != NULL)
		k->app->stalls--;
	TAILQ_REMOVE(&all->stalled, k, next);
	keeper_free(k);
	/* Descriptors of its app may be closed now. */
	keeper_hasten(all);
}

/*
 * The keeper is left alone, and ends when the kernel lets it go. What it has
 * not read is taken from its socket: as we have copies, no close is the last.
 */
static void
keeper_stall(struct keeper *k, uint32_t busy, tstamp now)
{
	struct keepers *all = k->all;
	struct supervisor *s = all->sup;
	const struct keeper_page *page = k->h.page;
	long pid = (long)k->h.result.pid;
	char unread[KEEPER_SAID_MAX];
	const struct group *g = NULL;
	struct fdpass_got got;

	(void)kill(k->h.result.pid, SIGKILL);
	while (fdpass_recv(
		   k->h.fds[0], unread, sizeof(unread), MSG_DONTWAIT, &got) > 0)
		for (size_t i = 0; i < got.nfds; i++)
			(void)close(got.fds[i]);
	if (busy != 0 && (k->app = keeper_app_get(s, page->app)) != NULL)
		k->app->stalls++;
	/* No app is at fault if the keeper was stopped while it slept. */
	if (k->app == NULL)
		log_warnx("keeper (pid %ld) does not answer: another takes "
			  "over",
		    pid);
	while (k->app != NULL && (g = group_next(s, g)) != NULL)
		if (g->keeper == k->app)
			tell_app(g, LOG_LEVEL_WARN, EVENT_FAILURE, NULL,
			    "keeper (pid %ld) does not answer, stalled by this "
			    "app: another takes over%s",
			    pid,
			    k->app->stalls < KEEPER_STALLS
				? ""
				: ", but for this app");
	keeper_succeed(k, busy, now);
	helper_end(&k->h);
	timer_init(&k->timer, keeper_forget);
	TAILQ_INSERT_TAIL(&all->stalled, k, next);
}

/*
 * The timer. What the keeper waits for may be us; and without a turn on a
 * processor it is not at fault, unless that lasts. One that waits for somebody
 * sleeps where no turn of the processor helps it.
 */
static void
keeper_look(struct timer *t, tstamp now)
{
	struct keeper *k = TIMER_OWNER(t, struct keeper, timer);
	struct keeper_page *page = k->h.page;
	struct procinfo info;
	uint32_t moves = atomic_load(&page->moves), busy;

	if (!k->told && atomic_load(&page->busy) == 0) {
		atomic_store(&page->watched, 0);
		/* The keeper may have become busy while it was watched. */
		if (atomic_load(&page->busy) == 0)
			return;
		atomic_store(&page->watched, 1);
	}
	if (moves != k->moves || k->all->lines.at != TSTAMP_NEVER)
		k->moved_at = now;
	k->moves = moves;
	busy = atomic_load(&page->busy);
	if (now - k->moved_at >= KEEPER_LIMIT ||
	    (now - k->moved_at >= KEEPER_PATIENCE &&
		procinfo_read(k->h.result.pid, false, &info) == 0 &&
		(info.state == 'D' || info.state == 'T' || info.state == 't')))
		keeper_stall(k, busy, now);
	else
		timer_set(&k->all->sup->loop.timers, t, now + KEEPER_LOOK);
}

bool
keeper_exited(struct supervisor *s, pid_t pid, tstamp now)
{
	struct keepers *all = s->keepers;
	struct keeper *k = all->current;

	if (k != NULL && k->h.result.pid == pid) {
		k->h.dead = true;
		/* The lane still has it. */
		if (k->h.starting)
			return true;
		while (keeper_take(k, now))
			continue;
		if (!s->stopping)
			log_warnx("keeper (pid %ld) died: another takes over",
			    (long)pid);
		keeper_lose(k, now);
		return true;
	}
	TAILQ_FOREACH(k, &all->stalled, next) {
		if (k->h.dead || k->h.result.pid != pid)
			continue;
		k->h.dead = true;
		timer_set(&s->loop.timers, &k->timer,
		    k->app == NULL ? now : now + KEEPER_MEMORY);
		return true;
	}
	return false;
}

size_t
keeper_sights(const struct group *g, struct keeper_sight out[KEEPER_SIGHTS])
{
	const struct keepers *all = g->sup->keepers;
	const struct keeper *k;
	size_t n = 0;

	TAILQ_FOREACH(k, &all->stalled, next)
		if (!k->h.dead && (k->app == NULL || k->app == g->keeper) &&
		    n < KEEPER_SIGHTS)
			out[n++] =
			    (struct keeper_sight){ k->h.result.pid, false };
	k = all->current;
	if (k != NULL && !k->h.starting && n < KEEPER_SIGHTS &&
	    keeper_is_needed(g->conf) && g->keeper->stalls < KEEPER_STALLS)
		out[n++] = (struct keeper_sight){ k->h.result.pid, true };
	return n;
}

/* --- its start --------------------------------------------------------- */

static void
keeper_started(struct helper *h, tstamp now)
{
	struct keeper *k = LOOP_OWNER(h, struct keeper, h);
	bool failed = h->result.error != 0;
	char why[256];

	if (failed && !k->all->ails)
		log_warnx("%s",
		    child_explain(&h->spec, &h->result, why, sizeof(why)));
	k->all->ails = failed;
	/* Where there is no room for it there may be some soon. */
	k->all->unstarted = failed && !child_no_room(&h->result);
	if (failed || h->dead) {
		keeper_lose(k, now);
		return;
	}
	/* The keeper may have gone without a look until now. */
	keeper_watch(k, now);
}

static void
keeper_init_one(struct keeper *k, struct keepers *all)
{
	*k = (struct keeper){ .all = all,
		.h.sup = all->sup,
		.h.io = { .fd = -1, .ready = keeper_ready },
		.h.fds = { -1, -1 },
		.h.page_size = sizeof(struct keeper_page),
		.h.started = keeper_started,
		.no_room_since = TSTAMP_NEVER };
	timer_init(&k->timer, keeper_look);
}

struct keeper *
keeper_get(struct keepers *all, tstamp now)
{
	static char title[] = "apppoold: keeper";
	static char *const argv[] = { title, NULL };
	const int bytes = SOCKET_BYTES;
	struct keeper *k;
	unsigned blameless = 0;

	if (all->current != NULL || now < all->rest)
		return all->current;
	/* Each new keeper is stopped: a system like that is left alone. */
	TAILQ_FOREACH(k, &all->stalled, next)
		blameless += k->app == NULL;
	k = blameless < KEEPER_STALLS ? malloc(sizeof(*k)) : NULL;
	if (k == NULL)
		goto fail;
	keeper_init_one(k, all);
	if (!helper_start(&k->h, all->sup->config->keeper, argv, now))
		goto fail;
	(void)setsockopt(
	    k->h.fds[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	all->current = k;
	return k;
fail:
	free(k);
	all->rest = now + KEEPER_REST;
	return NULL;
}

/* --- what is said next ------------------------------------------------- */

/*
 * Tells the keeper something, of a worker or of none (id NULL), with
 * descriptors; false: there is no room.
 */
static bool
keeper_tell(struct keeper *k, char verb, const char *id, const char *app,
    const char *how, const int *fds, size_t n, tstamp now)
{
	char buf[KEEPER_HEAD_MAX + KEEPER_CLOSE_FDS + 1] = { verb };
	size_t len = KEEPER_HEAD, of_how = strlen(how);

	if (id != NULL)
		memcpy(buf + 1, id, KEEPER_ID_LEN);
	(void)strlcpy(buf + len, app, KEEPER_APP_SIZE);
	len += strlen(buf + len) + 1;
	(void)strlcpy(buf + len, how, sizeof(buf) - len);
	if (fdpass_send_many(k->h.io.fd, buf, len + of_how, fds, n) == -1)
		return false;
	k->told = verb;
	if (k->all->lines.at != TSTAMP_NEVER)
		timer_set(&k->all->sup->loop.timers, &k->all->lines, now);
	keeper_watch(k, now);
	return true;
}

/*
 * Gives the keeper, if there is one, copies of some descriptors of an app, the
 * oldest first; or has it close what it was given (app NULL).
 */
static bool
keeper_tell_close(struct keepers *all, struct keeper_app *app, tstamp now)
{
	char how[KEEPER_CLOSE_FDS + 1] = "";
	int fds[KEEPER_CLOSE_FDS];
	size_t n = 0;

	for (; app != NULL && n < app->nclosings && n < KEEPER_CLOSE_FDS; n++) {
		fds[n] = app->closings[n].fd;
		how[n] = app->closings[n].drain ? KEEPER_DRAIN : KEEPER_PLAIN;
	}
	all->closing = app;
	all->nclosing = n;
	return all->current != NULL &&
	    keeper_tell(all->current, KEEPER_CLOSE, NULL,
		app == NULL ? "" : app->name, how, fds, n, now);
}

/* Whether there is something to say, beside what is said now. */
static bool
keeper_has_work(const struct keepers *all)
{
	return all->closes || !TAILQ_EMPTY(&all->retakes) ||
	    !TAILQ_EMPTY(&all->unsaid) || keeper_next_closing(all) != NULL;
}

static void
keeper_go_on(struct timer *t, tstamp now)
{
	struct keepers *all = TIMER_OWNER(t, struct keepers, timer);
	bool told = false;
	struct keeper *k = all->current;
	struct keeper_app *app;
	struct retake *r, *next;
	struct output *o;

	if (k != NULL && k->told != 0)
		return;
	/* No keeper answers, or is for the app any more. */
	TAILQ_FOREACH_SAFE(r, &all->retakes, next, next)
		if (now >= r->limit || r->app->stalls >= KEEPER_STALLS)
			keeper_end_retake(r, false, now);
	/* Without work a keeper is only tried for the apps that need it. */
	if (!keeper_has_work(all) && !all->unstarted)
		return;
	k = keeper_get(all, now);
	o = TAILQ_FIRST(&all->unsaid);
	app = keeper_next_closing(all);
	if (k == NULL) {
		/* There will be another one. */
	} else if (all->closes) {
		told = keeper_tell_close(all, NULL, now);
	} else if (!TAILQ_EMPTY(&all->retakes)) {
		/* Apps that have not stalled a keeper come first. */
		TAILQ_FOREACH(r, &all->retakes, next)
			if (r->app->stalls == 0)
				break;
		if (r == NULL)
			r = TAILQ_FIRST(&all->retakes);
		TAILQ_REMOVE(&all->retakes, r, next);
		TAILQ_INSERT_HEAD(&all->retakes, r, next);
		r->limit = tstamp_min(r->limit, now + KEEPER_TAKE_LIMIT);
		told = keeper_tell(k, KEEPER_TAKE, r->id, r->app->name,
		    r->living ? KEEPER_ONE : "", &r->child_end, 1, now);
	} else if (o != NULL) {
		told = keeper_tell(k, o->held ? KEEPER_LEAVE : KEEPER_HOLD,
		    o->id, o->app->name, "", o->ends,
		    o->held ? 0 : KEEPER_HOLD_FDS, now);
	} else if (app != NULL) {
		/* Other apps are first the next time. */
		TAILQ_REMOVE(&all->apps, app, next);
		TAILQ_INSERT_TAIL(&all->apps, app, next);
		turn_for(TURN_NO_APP);
		told = keeper_tell_close(all, app, now);
	} else {
		return;
	}
	if (told)
		return;
	timer_advance(&all->sup->loop.timers, &all->timer,
	    all->rest > now ? all->rest : now + RETRY_AFTER);
	TAILQ_FOREACH(r, &all->retakes, next)
		r->limit = tstamp_min(r->limit, now + KEEPER_TAKE_LIMIT);
}

/* --- beginning and end ------------------------------------------------- */

void
keeper_hear_out(struct supervisor *s, tstamp until)
{
	struct keepers *all = s->keepers;
	tstamp now = loop_now(&s->loop), half = now + (until - now) / 2;
	struct keeper_app *app, *next_app;
	struct output *o, *next;

	while (all->current != NULL &&
	    (all->current->told != 0 || keeper_has_work(all)) &&
	    loop_now(&s->loop) < half)
		(void)loop_turn(&s->loop, half);
	/*
	 * The daemon ends, and without it our copies: none of them is to be the
	 * last. A keeper has all from now on, and closes it when it ends.
	 */
	now = loop_now(&s->loop);
	TAILQ_CONCAT(&all->unsaid, &all->said, next);
	TAILQ_FOREACH_SAFE(o, &all->unsaid, next, next) {
		o->said = false;
		keeper_ends_given(o);
		keeper_give_up(o, o->held, now);
	}
	TAILQ_FOREACH_SAFE(app, &all->apps, next, next_app) {
		for (size_t n = app->nclosings; n > 0; n -= all->nclosing) {
			(void)keeper_tell_close(all, app, now);
			keeper_release(all);
		}
	}
	if (all->current != NULL) {
		all->current->told = 0;
		(void)shutdown(all->current->h.io.fd, SHUT_WR);
	}
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
	TAILQ_INIT(&all->retakes);
	timer_init(&all->timer, keeper_go_on);
	timer_init(&all->lines, keeper_listen);
	return 0;
}

void
keeper_fini(struct supervisor *s)
{
	struct keepers *all = s->keepers;
	struct keeper *k;
	struct output *o;

	while ((k = TAILQ_FIRST(&all->stalled)) != NULL) {
		TAILQ_REMOVE(&all->stalled, k, next);
		keeper_free(k);
	}
	if (all->current != NULL)
		keeper_free(all->current);
	TAILQ_CONCAT(&all->said, &all->unsaid, next);
	while ((o = TAILQ_FIRST(&all->said)) != NULL) {
		o->said = true;
		keeper_free_output(o);
	}
	timer_set(&s->loop.timers, &all->timer, TSTAMP_NEVER);
	timer_set(&s->loop.timers, &all->lines, TSTAMP_NEVER);
	free(all);
	s->keepers = NULL;
}

/* --- carried over ------------------------------------------------------ */

static bool
output_restore(struct carry *c, struct group *g, void *record)
{
	struct output *o = record;

	if (c->output == NULL)
		return false;
	o->app = g->keeper;
	o->app->refs++;
	o->said = true;
	for (int n = 0; n < KEEPER_HOLD_FDS; n++)
		o->its_ends[n] = -1;
	timer_init(&o->patience, keeper_lose_patience);
	TAILQ_INSERT_TAIL(&c->sup->keepers->said, o, next);
	*c->output = o;
	return true;
}

static const struct carry_field output_fields[] = { CARRY_NUMBER(
							struct output, process),
	CARRY_TEXT(struct output, id), CARRY_FD(struct output, ends[0]),
	CARRY_FD(struct output, ends[1]), CARRY(struct output, held) };

CARRY_KIND(carry_output, "output", struct output, output_fields, .of_app = true,
    .made = true, .restore = output_restore);

static bool
keeper_restore(struct carry *c, struct group *g, void *record)
{
	struct keepers *all = c->sup->keepers;
	struct keeper *k = all->current == NULL ? malloc(sizeof(*k)) : NULL;

	(void)g;
	if (k == NULL)
		return false;
	keeper_init_one(k, all);
	all->current = k;
	if (!carry_copy(c, k, record) || !helper_map(&k->h))
		return false;
	keeper_watch(k, c->now);
	return true;
}

static const struct carry_field keeper_fields[] = { CARRY_HELPER(
    struct keeper, h) };

static void
keeper_carry(struct carry *c)
{
	struct keeper row;

	if (c->sup->keepers->current == NULL)
		return;
	/* After a period of too many lines it is read again. */
	row = *c->sup->keepers->current;
	row.h.io.events = EPOLLIN;
	carry_put(c, CARRIED_KEEPER, 0, &row);
}

static const char *
keeper_busy(const struct supervisor *s)
{
	const struct keepers *all = s->keepers;

	if (!TAILQ_EMPTY(&all->stalled))
		return "the keeper is stalled";
	if (keeper_has_work(all) ||
	    (all->current != NULL &&
		(all->current->told != 0 || all->current->h.starting)))
		return "the keeper is busy";
	return NULL;
}

CARRY_KIND(carry_keeper, "keeper", struct keeper, keeper_fields,
    .restore = keeper_restore, .put = keeper_carry, .busy = keeper_busy);
