/* Keepers: their start, their end, and whether they answer. */

#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/keeper.h"
#include "sys/fdpass.h"
#include "sys/log.h"
#include "sys/procinfo.h"

/* Between the beginnings of two keepers of an app, if the first has died. */
#define REST TSPAN_SECONDS(1)

/* How long a packet waits for the number of a descriptor. */
#define ROOM_LIMIT TSPAN_SECONDS(5)

static void check(struct timer *t, tstamp now);
static int take(struct output *o, tstamp now);
static void end(struct output *o, tstamp now);

/* --- coming and going --------------------------------------------------- */

/* With our user where we are not root; then workers have it, too. */
static void
set_spec(struct keeper *k, const struct conf *conf)
{
	k->argv[0] = k->title;
	k->spec.path = k->path;
	k->spec.argv = k->argv;
	for (int i = 0; i < 3; i++)
		k->spec.stdio[i] = -1;
	k->spec.fds = &k->its_end;
	k->spec.nfds = 1;
	k->spec.directory = "/";
	k->spec.set_identity = conf->keeper_changes;
	k->spec.uid = conf->keeper_uid;
	k->spec.gid = conf->keeper_gid;
	child_result_init(&k->result);
}

static void
free_keeper(struct keeper *k)
{
	output_close(&k->output);
	if (k->its_end != -1)
		close(k->its_end);
	timer_set(&k->sup->loop.timers, &k->timer, TSTAMP_NEVER);
	TAILQ_REMOVE(&k->sup->keepers, k, next);
	free(k->left);
	free(k->path);
	free(k->title);
	free(k->app);
	free(k);
}

/* Not started yet; what is sent to it waits in its socket. NULL and errno. */
static struct keeper *
new_keeper(struct group *g)
{
	struct supervisor *s = g->sup;
	struct keeper *k = calloc(1, sizeof(*k));
	int ends[2] = { -1, -1 };

	if (k == NULL)
		return NULL;
	k->sup = s;
	k->group = g;
	k->app = strdup(g->name);
	k->path = strdup(s->config->conf->keeper);
	if (asprintf(&k->title, "apppoold: keeper of %s", g->name) == -1)
		k->title = NULL;
	if (k->app == NULL || k->path == NULL || k->title == NULL ||
	    fdpass_pair(ends) == -1)
		goto fail;
	k->output.take = take;
	k->output.end = end;
	k->its_end = ends[1];
	k->born = loop_now(&s->loop);
	k->asked_at = TSTAMP_NEVER;
	k->no_room_since = TSTAMP_NEVER;
	LIST_INIT(&k->kept);
	timer_init(&k->timer, check);
	set_spec(k, s->config->conf);
	if (output_open(&k->output, &s->outputs, ends[0]) == -1)
		goto fail;
	TAILQ_INSERT_TAIL(&s->keepers, k, next);
	return k;
fail:
	if (ends[0] != -1) {
		close(ends[0]);
		close(ends[1]);
	}
	free(k->path);
	free(k->title);
	free(k->app);
	free(k);
	return NULL;
}

struct keeper *
keeper_current(const struct group *g)
{
	struct keeper *k;

	/* A keeper that answers again makes room for its successor. */
	TAILQ_FOREACH_REVERSE(k, &g->sup->keepers, keepers, next)
		if (k->group == g && !k->frozen && !k->dismissed)
			return k;
	return NULL;
}

static unsigned
count(const struct group *g)
{
	const struct keeper *k;
	unsigned n = 0;

	TAILQ_FOREACH(k, &g->sup->keepers, next)
		n += k->group == g;
	return n;
}

bool
keeper_is_needed(const struct conf_app *conf)
{
	return conf->output == CONF_OUTPUT_LOG || group_has_channels(conf);
}

const char *
keeper_fault(const struct group *g)
{
	if (keeper_current(g) != NULL || count(g) < KEEPER_MAX)
		return NULL;
	return "none of its keepers answers";
}

struct keeper *
keeper_get(struct group *g, tstamp now)
{
	struct keeper *k = keeper_current(g);

	if (k != NULL)
		return k;
	if (now < g->keeper_rest || keeper_fault(g) != NULL) {
		errno = EAGAIN;
		return NULL;
	}
	return new_keeper(g);
}

/* Has the keeper pass on what is left and exit; then its socket ends. */
static void
dismiss(struct keeper *k)
{
	if (k->dismissed)
		return;
	if (!k->taken) {
		free_keeper(k);
		return;
	}
	k->dismissed = true;
	(void)shutdown(k->output.io.fd, SHUT_WR);
	timer_set(&k->sup->loop.timers, &k->timer, TSTAMP_NEVER);
}

void
keeper_spare(struct keeper *k)
{
	if (LIST_EMPTY(&k->kept) && k->group != NULL &&
	    keeper_current(k->group) != k)
		dismiss(k);
}

/* The keeper is dead, or could not be started. */
static void
lose(struct keeper *k, tstamp now)
{
	k->dead = true;
	k->sup->keeper_ops->silent(k, now);
	free_keeper(k);
}

/* --- whether it answers ------------------------------------------------- */

void
keeper_expect(struct keeper *k, tstamp now)
{
	if (k->asked_at != TSTAMP_NEVER || k->frozen || k->dismissed)
		return;
	k->asked_at = now;
	timer_set(&k->sup->loop.timers, &k->timer, now + KEEPER_PATIENCE);
}

static void
answered(struct keeper *k, tstamp now)
{
	if (k->dismissed)
		return;
	k->sup->keeper_ops->answered(k);
	k->asked_at = TSTAMP_NEVER;
	timer_set(&k->sup->loop.timers, &k->timer, now + KEEPER_PATIENCE);
	if (!k->frozen)
		return;
	k->frozen = false;
	log_info(
	    "%s: keeper (pid %ld) answers again", k->app, (long)k->result.pid);
	keeper_spare(k);
}

/* Whether the keeper waits where no turn of the processor helps it. */
static bool
is_stuck(const struct keeper *k)
{
	struct procinfo info;

	return k->its_end == -1 && procinfo_read(k->result.pid, &info) == 0 &&
	    (info.state == 'D' || info.state == 'T' || info.state == 't');
}

static void
freeze(struct keeper *k, tstamp now)
{
	k->frozen = true;
	log_warnx("%s: keeper (pid %ld) does not answer: another takes over%s",
	    k->app, (long)k->result.pid,
	    LIST_EMPTY(&k->kept) ? ""
				 : ", and the processes whose output it reads "
				   "are replaced");
	k->sup->keeper_ops->silent(k, now);
	keeper_spare(k);
}

/* The timer: asks, or the answer is late. */
static void
check(struct timer *t, tstamp now)
{
	struct keeper *k = TIMER_OWNER(t, struct keeper, timer);
	const char ping = KEEPER_PING;

	/* Without room it has not read what was said before. */
	(void)fdpass_send(k->output.io.fd, &ping, 1, -1);
	if (k->asked_at == TSTAMP_NEVER) {
		keeper_expect(k, now);
		return;
	}
	/* A start can take long, and is not the keeper's. */
	if (k->its_end != -1)
		k->asked_at = now;
	/* Nor is what waits for its turn here. */
	if (!k->output.busy &&
	    (now - k->asked_at >= KEEPER_LIMIT || is_stuck(k)))
		freeze(k, now);
	else
		timer_set(&k->sup->loop.timers, t, now + KEEPER_PATIENCE);
}

/* --- what it says ------------------------------------------------------- */

/*
 * Receives a packet; one with a descriptor that has no room here waits until
 * there is some, or comes without it in the end.
 */
static ssize_t
receive(struct keeper *k, char *buf, size_t size, int *fd_out, tstamp now)
{
	int sock = k->output.io.fd;
	ssize_t n;

	*fd_out = -1;
	/* Only what is taken back comes with descriptors. */
	if (k->takes == 0)
		return recv(sock, buf, size, MSG_DONTWAIT);
	n = fdpass_recv_whole(sock, buf, size, fd_out);
	if (n != -1 || errno != EMFILE) {
		k->no_room_since = TSTAMP_NEVER;
		return n;
	}
	k->no_room_since = tstamp_min(k->no_room_since, now);
	if (now - k->no_room_since < ROOM_LIMIT) {
		errno = EMFILE;
		return -1;
	}
	return fdpass_recv_one(sock, buf, size, MSG_DONTWAIT, fd_out);
}

static int
take(struct output *o, tstamp now)
{
	struct keeper *k = LOOP_OWNER(o, struct keeper, output);
	/* Pages without text in them take no memory. */
	char packet[KEEPER_HEAD + KEEPER_LINE_MAX];
	int fd, lines;
	ssize_t n = receive(k, packet, sizeof(packet), &fd, now);

	if (n == -1 && errno == EMFILE)
		return OUTPUT_NO_ROOM;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return OUTPUT_NOTHING;
	if (n <= 0)
		return OUTPUT_ENDED;
	lines = k->sup->keeper_ops->heard(k, packet, (size_t)n, fd, now);
	/* Lines are an answer, too: the keeper goes on. */
	answered(k, now);
	return lines;
}

static void
end(struct output *o, tstamp now)
{
	struct keeper *k = LOOP_OWNER(o, struct keeper, output);

	if (!k->dismissed) {
		log_warnx("%s: keeper (pid %ld) died%s", k->app,
		    (long)k->result.pid,
		    LIST_EMPTY(&k->kept) ? "" : ": its processes are replaced");
		if (k->group != NULL)
			k->group->keeper_rest = k->born + REST;
	}
	lose(k, now);
}

/* --- its start ---------------------------------------------------------- */

struct keeper *
keeper_new_one(const struct group *g)
{
	struct keeper *k = keeper_current(g);

	if (k == NULL || k->taken)
		return NULL;
	k->taken = true;
	return k;
}

bool
keeper_start(struct keeper *k)
{
	int fd = open(k->path, O_PATH | O_CLOEXEC), status;

	if (fd == -1) {
		k->result.stage = CHILD_EXEC;
		k->result.error = errno;
		return false;
	}
	/* The keeper's user may not be able to find it. */
	k->spec.program = fd;
	status = child_spawn(&k->spec, &k->result);
	(void)close(fd);
	return status == 0;
}

void
keeper_started(struct keeper *k, tstamp now)
{
	/* From now on the socket ends with the process. */
	close(k->its_end);
	k->its_end = -1;
	if (k->result.error != 0)
		lose(k, now);
}

static void
start_work(struct lane_job *job)
{
	(void)keeper_start(LOOP_OWNER(job, struct keeper, job));
}

static void
start_done(struct lane_job *job, tstamp now)
{
	struct keeper *k = LOOP_OWNER(job, struct keeper, job);
	char why[256];

	if (k->result.error != 0) {
		log_warnx("%s",
		    child_explain(&k->spec, &k->result, why, sizeof(why)));
		if (k->group != NULL)
			k->group->keeper_rest = now + REST;
	}
	keeper_started(k, now);
}

void
keeper_start_alone(struct keeper *k)
{
	if (k->taken)
		return;
	k->taken = true;
	k->job.work = start_work;
	k->job.done = start_done;
	lane_submit(&k->sup->spawner, &k->job);
}

/* --- the end ------------------------------------------------------------ */

void
keeper_dismiss_all(struct supervisor *s, const struct group *g)
{
	struct keeper *k, *next;

	TAILQ_FOREACH_SAFE(k, &s->keepers, next, next) {
		if (g != NULL && k->group != g)
			continue;
		k->group = NULL;
		dismiss(k);
	}
}

bool
keeper_any_answers(const struct supervisor *s)
{
	const struct keeper *k;

	TAILQ_FOREACH(k, &s->keepers, next)
		if (!k->frozen)
			return true;
	return false;
}

void
keeper_free_all(struct supervisor *s)
{
	struct keeper *k, *next;

	TAILQ_FOREACH_SAFE(k, &s->keepers, next, next)
		free_keeper(k);
}
