/* The keeper as a process: its start, whether it goes on, and its end. */

#include <sys/mman.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/group.h"
#include "daemon/keeper.h"
#include "daemon/tell.h"
#include "sys/child.h"
#include "sys/fdpass.h"
#include "sys/log.h"
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

/* --- coming and going -------------------------------------------------- */

void
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
	/* The keeper's user may not be able to find it. */
	int program = open(k->path, O_PATH | O_CLOEXEC);
	int memory = memfd_create("apppool-keeper", MFD_CLOEXEC);

	if (memory != -1 && ftruncate(memory, sizeof(*page)) == 0)
		page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
		    MAP_SHARED, memory, 0);
	if (program == -1 || page == MAP_FAILED) {
		k->result.stage = CHILD_EXEC;
		k->result.error = errno;
	} else {
		k->spec.program = program;
		k->fds[1] = memory;
		k->page = page;
		(void)child_spawn(&k->spec, &k->result);
	}
	if (program != -1)
		(void)close(program);
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

static void keeper_ready(struct loop_io *io, uint32_t events, tstamp now);
static void keeper_look(struct timer *t, tstamp now);

/* Not started yet; what it is told waits in its socket. NULL and errno. */
static struct keeper *
keeper_new(struct keepers *all, tstamp now)
{
	static char title[] = "apppoold: keeper";
	const struct conf *conf = all->sup->config->conf;
	struct keeper *k = calloc(1, sizeof(*k));
	int ends[2];

	if (k == NULL)
		return NULL;
	k->path = strdup(conf->keeper);
	if (k->path == NULL || fdpass_pair(ends) == -1) {
		free(k->path);
		free(k);
		return NULL;
	}
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
		.argv = k->argv,
		.stdio = { -1, -1, -1 },
		.fds = k->fds,
		.nfds = 2,
		.directory = "/",
		.set_identity = conf->keeper_changes,
		.uid = conf->keeper_uid,
		.gid = conf->keeper_gid };
	child_result_init(&k->result);
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
		procinfo_read(k->result.pid, &info) == 0 &&
		memchr("DTt", info.state, 3) != NULL))
		keeper_stall(k, busy, now);
	else
		timer_set(&k->all->sup->loop.timers, t, now + KEEPER_LOOK);
}

bool
keeper_tell(struct keeper *k, const char *buf, size_t len, const int *fds,
    size_t n, tstamp now)
{
	if ((n == 0 ? fdpass_send(k->io.fd, buf, len, -1)
		    : fdpass_send_many(k->io.fd, buf, len, fds, n)) == -1)
		return false;
	k->told = true;
	k->taking = buf[0] == KEEPER_TAKE;
	keeper_watch(k, now);
	return true;
}

/* --- what it says ------------------------------------------------------ */

/*
 * Receives a packet; one with a descriptor that has no room here waits until
 * there is some, or comes without it in the end.
 */
static ssize_t
keeper_receive(
    struct keeper *k, char *buf, size_t size, int *fd_out, tstamp now)
{
	ssize_t n;

	*fd_out = -1;
	if (!k->taking)
		return recv(k->io.fd, buf, size, MSG_DONTWAIT);
	n = fdpass_recv_whole(k->io.fd, buf, size, fd_out);
	if (n != -1 || errno != EMFILE) {
		k->no_room_since = TSTAMP_NEVER;
		return n;
	}
	k->no_room_since = tstamp_min(k->no_room_since, now);
	if (now - k->no_room_since < ROOM_LIMIT) {
		errno = EMFILE;
		return -1;
	}
	return fdpass_recv_one(k->io.fd, buf, size, MSG_DONTWAIT, fd_out);
}

/* Takes a packet; false: there is none, or no room for it. */
static bool
keeper_take(struct keeper *k, tstamp now)
{
	struct keepers *all = k->all;
	/* Pages without text in them take no memory. */
	char packet[KEEPER_HEAD_MAX + KEEPER_LINE_MAX];
	int fd, lines;
	ssize_t n = keeper_receive(k, packet, sizeof(packet), &fd, now);

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

void
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
	if (all->work > 0) {
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
