/*
 * The keeper: the process, from its start to its end, and what there is for it
 * to do: output, dead workers' channels, and descriptors to be closed.
 *
 * It is told one thing at a time, and the next when that is answered: so a
 * keeper that waits for somebody has one packet unread at most.
 */

#include <sys/mman.h>
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/group.h"
#include "daemon/keeper.h"
#include "daemon/state.h"
#include "sys/child.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/loop.h"
#include "sys/procinfo.h"
#include "sys/uncancelled.h"

/* Between the beginnings of two keepers, if the first dies or is not found. */
#define KEEPER_REST TSPAN_SECONDS(1)

/* How often it is looked at while there is something to do; when it waits for
 * somebody; and when it waits for nothing but its turn. */
#define KEEPER_LOOK TSPAN_MSECONDS(250)
#define KEEPER_PATIENCE TSPAN_SECONDS(1)
#define KEEPER_LIMIT TSPAN_SECONDS(10)

/* For so long it is known that an app has stalled one that is gone by now. */
#define KEEPER_MEMORY TSPAN_SECONDS(60)

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
 * printed empty lines had each dead worker's connections wait for seconds on a
 * busy machine.
 */
#define SOCKET_BYTES (34 * 1024)

/* The time in which the keeper tells the last line of a worker. */
#define LINE_PATIENCE TSPAN_MSECONDS(250)

/* Before something is said again for which there was no room. */
#define RETRY_AFTER TSPAN_MSECONDS(10)

/* A keeper as a process. */
struct keeper {
	TAILQ_ENTRY(keeper) next; /* in keepers.stalled, once it is */
	struct keepers *all;
	struct loop_io io; /* our end of its socket; fd -1: it is stalled */
	int its_end; /* likewise: a copy, for what it has not read */
	struct keeper_page *page; /* NULL: not yet */
	bool told; /* it has not answered yet */
	bool taking; /* what it says may come with descriptors */
	tstamp no_room_since; /* for the next packet; NEVER: there is */
	tstamp begun;
	struct timer timer; /* the next look; of a stalled one, its end */
	uint32_t moves; /* its latest one that was seen, */
	tstamp moved_at; /* at that time */
	struct keeper_app *app; /* that has stalled it; or NULL */
	bool starting; /* in the lane */
	bool dead;
	struct lane_job job;
	char *path; /* owned */
	char *argv[2];
	int fds[2]; /* it is started with */
	struct child_spec spec;
	struct child_result result;
};

/* What there is for a keeper to do, and what it says, is below. */
static void keeper_go_on(struct keepers *all, tstamp now);
static int keeper_heard(
    struct keepers *all, const char *packet, size_t len, int fd, tstamp now);
static void keeper_succeed(struct keepers *all, struct keeper_app *app,
    uint32_t busy, const char *id, tstamp now);
static void keeper_ready(struct loop_io *io, uint32_t events, tstamp now);
static void keeper_look(struct timer *t, tstamp now);

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

/* --- coming and going -------------------------------------------------- */

static void
keeper_free(struct keeper *k)
{
	struct loop *loop = &k->all->sup->loop;

	timer_set(&loop->timers, &k->timer, TSTAMP_NEVER);
	if (k->io.fd != -1) {
		(void)loop_set(loop, &k->io, 0);
		close(k->io.fd);
		close(k->its_end);
	}
	if (k->page != NULL)
		(void)munmap(k->page, sizeof(*k->page));
	keeper_app_put(k->app);
	free(k->path);
	free(k);
}

/* It is dead, or did not start; nothing is lost but what it had in hand. */
static void
keeper_lose(struct keeper *k, tstamp now)
{
	struct keepers *all = k->all;

	all->current = NULL;
	all->rest = k->begun + KEEPER_REST;
	keeper_free(k);
	keeper_succeed(all, NULL, 0, NULL, now);
}

/* In the lane. */
static void
keeper_start(struct lane_job *job)
{
	struct keeper *k = LOOP_OWNER(job, struct keeper, job);
	struct keeper_page *page = MAP_FAILED;
	int memory = memfd_create("apppool-keeper", MFD_CLOEXEC);

	if (memory != -1 && ftruncate(memory, sizeof(*page)) == 0)
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
		    MAP_SHARED, memory, 0);
	if (page == MAP_FAILED) {
		k->result.stage = CHILD_EXEC;
		k->result.error = errno;
	} else {
		k->fds[1] = memory;
		k->page = page;
		(void)child_spawn(&k->spec, &k->result);
	}
	if (memory != -1)
		(void)close(memory);
}

static void
keeper_started(struct lane_job *job, tstamp now)
{
	struct keeper *k = LOOP_OWNER(job, struct keeper, job);
	bool failed = k->result.error != 0;
	char why[256];

	k->starting = false;
	if (failed && !k->all->ails)
		log_warnx("%s",
		    child_explain(&k->spec, &k->result, why, sizeof(why)));
	k->all->ails = failed;
	/* Where there is no room for it there may be some soon. */
	k->all->unstarted = failed && !child_no_room(&k->result);
	if (failed || k->dead) {
		keeper_lose(k, now);
		return;
	}
	/* It may have gone without a look until now. */
	atomic_store(&k->page->watched, 1);
	k->moved_at = now;
	timer_set(&k->all->sup->loop.timers, &k->timer, now + KEEPER_LOOK);
}

/* Not started yet; what it is told waits in its socket. NULL and errno. */
static struct keeper *
keeper_new(struct keepers *all, tstamp now)
{
	static char title[] = "apppoold: keeper";
	const struct conf *conf = all->sup->config;
	struct keeper *k = calloc(1, sizeof(*k));
	int ends[2], size = SOCKET_BYTES;

	if (k == NULL)
		return NULL;
	k->path = strdup(conf->keeper);
	if (k->path == NULL || fdpass_pair(ends) == -1) {
		free(k->path);
		free(k);
		return NULL;
	}
	(void)setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	k->all = all;
	k->io.fd = ends[0];
	k->io.ready = keeper_ready;
	k->its_end = k->fds[0] = ends[1];
	k->no_room_since = TSTAMP_NEVER;
	k->begun = now;
	timer_init(&k->timer, keeper_look);
	/* With our user where we are not root; then workers have it, too. */
	k->argv[0] = title;
	k->spec = (struct child_spec){ .path = k->path,
		.opened = true,
		.argv = k->argv,
		.stdio = { -1, -1, -1 },
		.fds = k->fds,
		.nfds = 2,
		.directory = "/",
		.set_identity = conf->keeper_changes,
		.uid = conf->keeper_uid,
		.gid = conf->keeper_gid };
	if (loop_set(&all->sup->loop, &k->io, EPOLLIN) == -1) {
		keeper_free(k);
		return NULL;
	}
	k->starting = true;
	k->job.work = keeper_start;
	k->job.done = keeper_started;
	lane_submit(&all->sup->spawner, &k->job);
	return k;
}

struct keeper *
keeper_get(struct keepers *all, tstamp now)
{
	const struct keeper *k;
	unsigned blameless = 0;

	if (all->current != NULL || now < all->rest)
		return all->current;
	/* Somebody stops each: a system like that is left alone, too. */
	TAILQ_FOREACH(k, &all->stalled, next)
		blameless += k->app == NULL;
	if (blameless < KEEPER_STALLS)
		all->current = keeper_new(all, now);
	if (all->current == NULL)
		all->rest = now + KEEPER_REST;
	return all->current;
}

/* --- whether it goes on ------------------------------------------------ */

/* From now on it is looked at, until it has nothing to do. */
static void
keeper_watch(struct keeper *k, tstamp now)
{
	if (k->starting || k->timer.at != TSTAMP_NEVER)
		return;
	atomic_store(&k->page->watched, 1);
	k->moves = atomic_load(&k->page->moves);
	k->moved_at = now;
	timer_set(&k->all->sup->loop.timers, &k->timer, now + KEEPER_LOOK);
}

/* Nobody remembers it any more. */
static void
keeper_forget(struct timer *t, tstamp now)
{
	struct keeper *k = TIMER_OWNER(t, struct keeper, timer);
	struct keepers *all = k->all;

	if (k->app != NULL)
		k->app->stalls--;
	TAILQ_REMOVE(&all->stalled, k, next);
	keeper_free(k);
	/* What is left of its app may be closed now. */
	keeper_go_on(all, now);
}

/*
 * It is left alone, and ends when the kernel lets it go. What it has not read
 * is taken from its socket: we have copies of all that, so no close is the
 * last.
 */
static void
keeper_stall(struct keeper *k, uint32_t busy, tstamp now)
{
	struct keepers *all = k->all;
	struct supervisor *s = all->sup;
	char unread[KEEPER_SAID_MAX], id[KEEPER_ID_LEN];
	struct fdpass_got got;

	(void)kill(k->result.pid, SIGKILL);
	while (fdpass_recv(
		   k->its_end, unread, sizeof(unread), MSG_DONTWAIT, &got) > 0)
		for (size_t i = 0; i < got.nfds; i++)
			(void)close(got.fds[i]);
	(void)loop_set(&s->loop, &k->io, 0);
	close(k->io.fd);
	close(k->its_end);
	k->io.fd = -1;
	memcpy(id, k->page->id, sizeof(id));
	if (busy != 0 && (k->app = keeper_app_get(s, k->page->app)) != NULL)
		k->app->stalls++;
	/* Nobody's fault is told if it has been stopped while it slept. */
	if (k->app == NULL)
		log_warnx(
		    "keeper (pid %ld) does not answer: another takes over",
		    (long)k->result.pid);
	for (uint32_t n = 0; k->app != NULL && n < s->pool.napps; n++)
		if (s->groups[n] != NULL && s->groups[n]->keeper == k->app)
			tell_app(s->groups[n], LOG_LEVEL_WARN, EVENT_FAILURE,
			    NULL,
			    "keeper (pid %ld) does not answer, stalled by this "
			    "app: another takes over%s",
			    (long)k->result.pid,
			    k->app->stalls < KEEPER_STALLS
				? ""
				: ", but for this app");
	(void)munmap(k->page, sizeof(*k->page));
	k->page = NULL;
	timer_init(&k->timer, keeper_forget);
	TAILQ_INSERT_TAIL(&all->stalled, k, next);
	all->current = NULL;
	keeper_succeed(all, k->app, busy, id, now);
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
	struct keeper_page *page = k->page;
	struct procinfo info;
	uint32_t moves = atomic_load(&page->moves), busy;

	if (!k->told && atomic_load(&page->busy) == 0) {
		atomic_store(&page->watched, 0);
		/* It may be busy now, and have seen that it was watched. */
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
		procinfo_read(k->result.pid, false, &info) == 0 &&
		memchr("DTt", info.state, 3) != NULL))
		keeper_stall(k, busy, now);
	else
		timer_set(&k->all->sup->loop.timers, t, now + KEEPER_LOOK);
}

/* Tells it something, with descriptors; false: there is no room. */
static bool
keeper_tell(struct keeper *k, const char *buf, size_t len, const int *fds,
    size_t n, tstamp now)
{
	if (fdpass_send_many(k->io.fd, buf, len, fds, n) == -1)
		return false;
	k->told = true;
	k->taking = buf[0] == KEEPER_TAKE;
	if (k->all->lines.at != TSTAMP_NEVER)
		timer_set(&k->all->sup->loop.timers, &k->all->lines, now);
	keeper_watch(k, now);
	return true;
}

/* --- what it says ------------------------------------------------------ */

/*
 * Takes a packet; false: there is none, or no room for it. One with a
 * descriptor that has no room here waits until there is some, or comes without
 * it in the end.
 */
static bool
keeper_take(struct keeper *k, tstamp now)
{
	struct keepers *all = k->all;
	/* Pages without text in them take no memory. */
	char packet[KEEPER_HEAD_MAX + KEEPER_LINE_MAX];
	int fd = -1, lines;
	ssize_t n;

	if (!k->taking) {
		n = recv(k->io.fd, packet, sizeof(packet), MSG_DONTWAIT);
	} else {
		n = fdpass_recv_one(k->io.fd, packet, sizeof(packet),
		    MSG_DONTWAIT | MSG_PEEK, &fd);
		if (n != -1 || errno != EMFILE) {
			k->no_room_since = TSTAMP_NEVER;
		} else {
			k->no_room_since = tstamp_min(k->no_room_since, now);
			if (now - k->no_room_since < ROOM_LIMIT) {
				errno = EMFILE;
				return false;
			}
			n = fdpass_recv_one(k->io.fd, packet, sizeof(packet),
			    MSG_DONTWAIT, &fd);
		}
	}
	if (n <= 0)
		return false;
	/* What a dead one had copies of, it has no more. */
	if (k->dead && packet[0] == KEEPER_DONE)
		return true;
	if (packet[0] == KEEPER_DONE || packet[0] == KEEPER_EMPTY)
		k->told = false;
	lines = keeper_heard(all, packet, (size_t)n, fd, now);
	if (lines > 0)
		all->work -= LINES_PACKET + lines;
	if (k->dead)
		return true;
	keeper_watch(k, now);
	if (!k->told)
		keeper_go_on(all, now);
	return true;
}

/* The timer keepers.lines: a period is over, or there may be room. */
static void
keeper_listen(struct timer *t, tstamp now)
{
	struct keepers *all = TIMER_OWNER(t, struct keepers, lines);
	struct keeper *k = all->current;

	if (k != NULL && loop_set(&all->sup->loop, &k->io, EPOLLIN) == -1)
		timer_set(&all->sup->loop.timers, t, now + LINES_PERIOD);
}

static void
keeper_ready(struct loop_io *io, uint32_t events, tstamp now)
{
	struct keeper *k = LOOP_OWNER(io, struct keeper, io);
	struct keepers *all = k->all;
	bool took = true;

	(void)events;
	if (now - all->period >= LINES_PERIOD) {
		all->period = now;
		all->work = LINES_WORK;
	}
	/* Lines before an answer are few, and no rest delays it. */
	if (k->told || all->work > 0) {
		took = keeper_take(k, now);
		if (took || errno == EAGAIN || errno == EINTR)
			return;
	}
	(void)loop_set(&all->sup->loop, io, 0);
	timer_set(&all->sup->loop.timers, &all->lines, now + LINES_PERIOD);
}

/* --- its end ----------------------------------------------------------- */

bool
keeper_exited(struct supervisor *s, pid_t pid, tstamp now)
{
	struct keepers *all = s->keepers;
	struct keeper *k = all->current;

	if (k != NULL && k->result.pid == pid) {
		k->dead = true;
		/* The lane still has it. */
		if (k->starting)
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
		if (k->dead || k->result.pid != pid)
			continue;
		k->dead = true;
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
		if (!k->dead && (k->app == NULL || k->app == g->keeper) &&
		    n < KEEPER_SIGHTS)
			out[n++] =
			    (struct keeper_sight){ k->result.pid, false };
	k = all->current;
	if (k != NULL && !k->starting && n < KEEPER_SIGHTS &&
	    keeper_is_needed(g->conf) && g->keeper->stalls < KEEPER_STALLS)
		out[n++] = (struct keeper_sight){ k->result.pid, true };
	return n;
}

/* --- closing ----------------------------------------------------------- */

/* Something is to be said, at the end of this turn or when there is room. */
static void
keeper_hasten(struct keepers *all)
{
	struct loop *loop = &all->sup->loop;

	if (all->current == NULL || !all->current->told)
		timer_advance(&loop->timers, &all->timer, loop_now(loop));
}

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

/* Tells the keeper what is next, if it is free. */
static void
keeper_go_on(struct keepers *all, tstamp now)
{
	const char closed = KEEPER_CLOSED;
	struct keeper *k = all->current;
	struct keeper_app *app;
	struct output *o;
	bool told = false;

	if (k != NULL && k->told)
		return;
	keeper_end_late(all, false, now);
	/* Outputs that there is nothing to tell of are no more in the way. */
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

/*
 * A packet, and the descriptor with it, which is the callee's now; -1: there is
 * none. Returns the lines in it.
 */
static int
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
	case KEEPER_LAST_LINE:
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

/*
 * There is another keeper from now on. The former one waits with `busy` (a verb
 * of keeper_wire.h) for the worker of this identifier, or, if that is 0, is
 * dead or does not say for whom it waits; app: whose fault that is, or NULL.
 */
static void
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

void
keeper_hear_out(struct supervisor *s, tstamp until)
{
	struct keepers *all = s->keepers;
	struct outputs *lists[] = { &all->unsaid, &all->leaving, &all->said };
	tstamp half = loop_now(&s->loop) + (until - loop_now(&s->loop)) / 2;
	struct keeper_app *app, *next;
	struct keeper *k;
	struct output *o;

	while (all->current != NULL &&
	    (all->current->told || all->closing != NULL ||
		!TAILQ_EMPTY(&all->unsaid) ||
		keeper_next_closing(all) != NULL) &&
	    loop_now(&s->loop) < half)
		(void)loop_turn(&s->loop, half);
	/*
	 * The daemon ends, and without it our copies: none of them is to be the
	 * last. A keeper has all from now on, and closes it when it ends.
	 */
	k = all->current;
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
			    !keeper_tell_close(k, app, loop_now(&s->loop))) {
				all->closing = app;
				all->nclosing = app->nclosings;
				app->refs++;
			}
			keeper_release(all);
		}
		keeper_app_put(app);
	}
	keeper_end_closing(all);
	if (k != NULL)
		(void)shutdown(k->io.fd, SHUT_WR);
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
